"""What the code of the reference target does, statement by statement, against the reference semantics."""
from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest

import sdfgad
from sdfgad.codegen.program import compile_program
from sdfgad.codegen.reference.forms import graph_form
from sdfgad.errors import MemoryLimitError
from sdfgad.ir.expr import call
from sdfgad.ir.index import elem, floordiv, ix, maximum, minimum, mod
from sdfgad.ir.program import If, Let, Loop, Pop, Push, While
from tests.codegen.build_programs import (
    B1,
    F8,
    I8,
    add,
    agree,
    at,
    compare,
    index,
    load,
    mapped,
    mul,
    num,
    program,
    span,
    store,
)
from tests.support.point_loops import run

I1, C16 = np.dtype("i1"), np.dtype("c16")


@pytest.fixture(autouse=True)
def reference() -> Iterator[None]:
    with sdfgad.config(target="reference"):
        yield


def test_elements_that_are_known_beforehand() -> None:
    """Steps, falling ranges, triangles, several stores, a value that is stored and read again, shifted loads."""
    i, j = ix("i"), ix("j")
    made = program([
        mapped([span("i", 1, 7, step=2), span("j", i + 1)], store("A", ["i", "j"], add(load("A", i - 1, j), num(1.0)))),
        mapped([span("i", 7, 2, step=-1)], store("B", ["i"], load("A", i, 0)), store("B", [0], load("A", 0, 0), "+")),
        mapped([span("i", 6, -1, step=-3)], store("C", ["i"], load("B", "i")), store("C", [i + 1], load("C", "i"))),
        mapped([span("i", maximum(ix(2), ix(1)), minimum(ix(9), ix(6)))],
               Let("t", mul(load("A", "i", 1), load("A", "i", 1))),
               store("D", ["i"], call("add", load("D", "i"), num(2.0))), store("D", ["i"], load("D", "i"), "+")),
        mapped([span("i", 8), span("j", 8)], store("s", [], mul(load("A", "i", "j"), load("A", "j", "i")), "+")),
        mapped([], store("s", [], num(0.5), "*"), store("D", [0], load("s")), store("s", [], load("D", 0), "max")),
    ], {"A": ((8, 8), F8), "B": ((8,), F8), "C": ((8,), F8), "D": ((8,), F8), "s": ((), F8)})
    agree(made, threads=(1,))


def test_indices_from_data_and_floor_division() -> None:
    i = ix("i")
    where, row = elem("where", (i,)), elem("where", (elem("k", ()),))
    made = program([
        mapped([span("i", 5)], store("A", [where], load("B", "i"), "+")),
        mapped([span("i", 5)], store("B", ["i"], load("A", mod(i * 3 - 7, 5)))),
        mapped([span("i", 5)], store("B", [floordiv(i * 2, 2)],
                                     call("cast", index(floordiv(i - 3, 2) * i + row), dtype=F8), "+")),
        Loop(span("i", elem("where", (ix(0),)), elem("k", ()) + 3), (
            mapped([span("j", elem("where", (i - i,)), 4)], store("A", ["j"], load("B", "i"), "+")),)),
        mapped([], store("n", [], num(1, I8))),
        mapped([], store("A", [elem("n", ())], load("B", elem("n", ()) + 1), "min")),
    ], {"A": ((5,), F8), "B": ((5,), F8), "where": ((5,), I8), "k": ((), I8)}, {"n": ((), I8)})
    agree(made, {"where": np.array([1, 4, 0, 4, 2]), "k": np.array(2)}, threads=(1,))


def test_a_branch_that_is_not_taken_touches_nothing() -> None:
    """Elements far outside are not looked at; what both branches load is loaded from memory of its own."""
    i = ix("i")
    inside = compare("lt", index(i * 1_000_000_000), num(2_000_000_000, I8))
    chosen = call("select", inside, load("A", i * 1_000_000_000 - i * 999_999_999), num(-1.0), dtype=F8)
    positive = compare("gt", load("B", "i"), num(0.0))
    nested = call("select", positive, add(chosen, load("B", "i")), chosen, dtype=F8)
    made = program([mapped([span("i", 50)], store("B", ["i"], nested))], {"A": ((2,), F8), "B": ((50,), F8)})
    agree(made, threads=(1,))
    far = mapped([span("i", 50)], store("B", ["i"], call(
        "select", compare("eq", index("i"), num(0, I8)), load("A", i * 10**15), num(2.0), dtype=F8)))
    agree(program([far], {"A": ((2,), F8), "B": ((50,), F8)}), threads=(1,))


def test_products_of_counters_have_64_bits() -> None:
    i = ix("i")
    made = program([mapped([span("i", 100_000)], store("A", ["i"], index(i * i * 3)))], {"A": ((100_000,), I8)})
    agree(made, threads=(1,), calls=1)


def test_accumulating_stores_of_all_kinds() -> None:
    """NaN wins, integers wrap around, truths join."""
    j = span("j", 4)
    body = [mapped([span("i", 3), j], store("m", ["i"], load("A", "i", "j"), "max"),
                   store("l", ["i"], load("A", "i", "j"), "min"), store("p", ["i"], load("A", "i", "j"), "*")),
            mapped([span("i", 3), j], store("n", [0], load("N", "i", "j", dtype=I8), "+"),
                   store("q", [], load("N", "i", "j", dtype=I8), "*")),
            mapped([span("i", 3), j], store("h", [], load("H", "i", "j", dtype=I1), "+")),
            mapped([span("i", 3), j], store("b", [], load("T", "i", "j", dtype=B1), "+"),
                   store("c", [], call("not", load("T", "i", "j", dtype=B1)), "max")),
            mapped([span("i", 3), j], store("z", [], load("Z", "i", "j", dtype=C16), "*"),
                   store("w", ["i"], load("Z", "i", "j", dtype=C16), "+"))]
    made = program(body, {
        "A": ((3, 4), F8), "m": ((3,), F8), "l": ((3,), F8), "p": ((3,), F8), "N": ((3, 4), I8), "n": ((1,), I8),
        "q": ((), I8), "H": ((3, 4), I1), "h": ((), I1), "T": ((3, 4), B1), "b": ((), B1), "c": ((), B1),
        "Z": ((3, 4), C16), "z": ((), C16), "w": ((3,), C16)})
    values = np.arange(12.0).reshape(3, 4) / 7
    values[1, 2] = np.nan
    agree(made, {"A": values, "N": np.full((3, 4), 2**62 + 3), "H": np.full((3, 4), 77, "i1"), "q": np.array(3),
                 "T": np.eye(3, 4) > 2, "b": np.array(False), "c": np.array(False)}, threads=(1,))


def test_loops_that_end_early_and_branches() -> None:
    i = ix("i")
    step = (If(compare("gt", load("A", "i"), num(0.0)), (mapped([], store("s", [], load("A", "i"), "+")),),
               (mapped([], store("s", [], num(-1.0), "*")),)),
            mapped([], store("done", [], compare("gt", load("s"), num(1.5)))))
    again = (mapped([], store("s", [], num(0.5), "*")), mapped([], store("n", [], num(1, I8), "+")),
             mapped([], store("more", [], compare("gt", call("abs", load("s")), num(0.01)))))
    made = program([
        mapped([], store("s", [], num(0.0)), store("done", [], num(False, B1)), store("more", [], num(True, B1)),
               store("n", [], num(0, I8))),
        Loop(span("i", 9, -1, step=-1), step, until="done"),
        While("more", again, "n"),
        Loop(span("i", 0, elem("n", ())), (mapped([], store("A", [mod(i, 10)], load("s"), "+")),)),
    ], {"A": ((10,), F8), "s": ((), F8), "n": ((), I8)}, {"done": ((), B1), "more": ((), B1)})
    agree(made, threads=(1,))


def test_tapes_show_what_is_on_top() -> None:
    """A number, rows of changing length, entries that are written again after they were taken off, a limit."""
    used = at("i")
    keep = mapped([span("j", "i")], store("row", ["j"], mul(load("A", "j"), load("A", "i"))))
    fill = (Push("row", used), Push("one", ()), keep, mapped([], store("one", [], load("A", "i"))),
            mapped([], store("A", ["i"], num(0.5), "*")))
    take = (Pop("row", used), Pop("one", ()), mapped([span("j", "i")], store("S", ["j"], load("row", "j"), "+")),
            mapped([span("j", "i")], store("row", ["j"], load("one"))),
            mapped([span("j", "i")], store("S", ["j"], load("row", "j"), "+")))
    made = program([Loop(span("i", 9), fill), Loop(span("i", 8, -1, step=-1), take),
                    Push("one", ()), mapped([], store("one", [], num(3.0))),
                    Push("one", ()), mapped([], store("one", [], num(4.0))),
                    Pop("one", ()), mapped([], store("S", [0], load("one"), "+")),
                    Pop("one", ()), mapped([], store("S", [1], load("one"), "+"))],
                   {"A": ((9,), F8), "S": ((9,), F8)}, tapes={"row": ((9,), F8), "one": ((), F8)})
    executable = agree(made, threads=(1,))
    assert executable.tape_peak == 8 * (36 + 9)
    executable.tape_limit = 100
    with pytest.raises(MemoryLimitError, match="tape"):
        executable({"A": np.ones(9), "S": np.ones(9)})
    executable.tape_limit = None
    expected = {"A": np.ones(9), "S": np.ones(9)}
    run(made, expected)
    found = {"A": np.ones(9), "S": np.ones(9)}
    executable(found)  # what the exception left behind is gone
    np.testing.assert_allclose(found["S"], expected["S"])


def test_constants_and_empty_arrays() -> None:
    made = program([mapped([span("i", 3)], store("A", ["i"], load("table", "i"), "+")),
                    mapped([span("i", 0)], store("none", ["i", 0], num(1.0)))],
                   {"A": ((3,), F8), "none": ((0, 3), F8)}, constants={"table": np.array([1.0, np.inf, -0.0])})
    agree(made, threads=(1,))


def test_huge_arrays_are_counted_by_loops() -> None:
    """Counters of DaCe's maps have 32 bits. Nothing is compiled here: nobody has the memory."""
    body = [mapped([span("i", 1 << 16), span("j", 1 << 16)], store("A", ["i", "j"], num(0.0)))]
    form = graph_form(program(body, {"A": ((1 << 16, 1 << 16), F8)}))
    assert isinstance(form.body[0], Loop) and form.body[0].range.var == "i"


def test_the_same_program_for_another_target_is_another_entry() -> None:
    made = program([mapped([span("i", 3)], store("A", ["i"], num(2.0), "*"))], {"A": ((3,), F8)})
    with sdfgad.config(target="cpu"):
        plain = compile_program(made)
    assert compile_program(made).folder != plain.folder
