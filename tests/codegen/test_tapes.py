"""Growable tapes in native code, against the reference interpreter."""
from __future__ import annotations

import numpy as np
import pytest

from sdfgad.codegen.compiling.build import SOURCE
from sdfgad.errors import MemoryLimitError
from sdfgad.ir.expr import call
from sdfgad.ir.index import elem
from sdfgad.ir.program import Loop, Pop, Push, While
from tests.codegen.build_programs import B1, F8, I8, agree, at, compare, load, mapped, mul, num, program, span, store


def test_tape_over_a_while_loop() -> None:
    n = 1000
    grow = mapped([span("i", n)], store("A", ["i"], call("mul", load("A", "i"), num(1.5))))
    count = mapped([], store("n", [], call("add", load("n", dtype=I8), num(1, I8))))
    again = mapped([], store("go", [], compare("lt", call("abs", load("A", 0)), num(50.0))))
    keep = mapped([span("i", n)], store("old", ["i"], load("A", "i")))
    add_up = mapped([span("i", n)], store("S", ["i"], load("old", "i"), "+"))
    arrays = {"A": ((n,), F8), "S": ((n,), F8), "n": ((), I8)}
    made = program([mapped([], store("n", [], num(0, I8))), mapped([], store("go", [], num(True, B1))),
                    While("go", (Push("old", at(n)), count, keep, grow, again), "n"),
                    Loop(span("k", elem("n", ())), (Pop("old", at(n)), add_up))], arrays, {"go": ((), B1)},
                   tapes={"old": ((n,), F8)})
    executable = agree(made, tolerance=1e-9)
    assert executable.tape_peak % (8 * n) == 0 and executable.tape_peak > 0


@pytest.mark.parametrize("rows", [60, 200])
def test_entries_of_changing_length_fill_several_blocks(shared: bool, rows: int) -> None:
    """Triangles, a scalar beside them, and entries with nothing in them."""
    row, used = span("j", "i"), at("i", 3)
    push = (Push("part", used), Push("one", ()))
    fill = (mapped([row, span("k", 3)], store("part", ["j", "k"], mul(load("A", "j"), load("A", "i")))),
            mapped([], store("one", [], load("A", "i"))), mapped([], store("A", ["i"], num(0.5))))
    take = (mapped([row, span("k", 3)], store("S", ["i"], mul(load("part", "j", "k"), load("one")), "+")),
            mapped([], store("A", ["i"], load("one"))))
    made = program([Loop(span("i", rows), (*push, *fill)),
                    Loop(span("i", rows - 1, -1, step=-1), (Pop("part", used), Pop("one", ()), *take))],
                   {"A": ((rows,), F8), "S": ((rows,), F8)}, tapes={"part": ((rows, 3), F8), "one": ((), F8)})
    executable = agree(made)
    entries = 8 * rows + sum(24 * i if 24 * i < 4096 else -(-24 * i // 64) * 64 for i in range(rows))
    assert executable.tape_peak == entries


def test_tape_over_its_limit_raises() -> None:
    fill = mapped([span("i", 1000)], store("t", ["i"], load("A", "i")))
    body = [Push("t", at(1000)), fill, Pop("t", at(1000)), mapped([], store("A", [0], load("t", 1)))]
    executable = agree(program(body, {"A": ((1000,), F8)}, tapes={"t": ((1000,), F8)}))
    executable.tape_limit = 4000
    with pytest.raises(MemoryLimitError, match="tape"):
        executable({"A": np.zeros(1000)})
    executable.tape_limit = 8000
    executable({"A": np.zeros(1000)})


def test_nothing_is_compiled_for_tapes_that_are_not_there() -> None:
    executable = agree(program([mapped([span("i", 5)], store("A", ["i"], num(0.5)))], {"A": ((5,), F8)}))
    assert executable.tape_peak == 0
    assert "sg::Tapes" not in (executable.folder / SOURCE).read_text()
