"""Arrays that depend on sizes alone become constants, with NumPy's values."""
from __future__ import annotations

import numpy as np
import pytest

from sdfgad.frontend import parse
from sdfgad.ir.expr import call
from sdfgad.ir.index import ix
from sdfgad.ir.program import If, Loop, Program
from sdfgad.transform.normal.tables import _Known, tabulate
from tests.codegen.build_programs import B1, F8, add, index, load, mapped, mul, num, program, span, store
from tests.support.point_loops import run
from tests.support.thresholds import change


def use(*makers: object, where: str = "i", t: int = 6, extra: int = 0) -> Program:
    last = mapped([span("i", 6)], store("y", ["i"], mul(load("x", "i"), load("t", where))))
    return program([*makers, last], {"x": ((6,), F8), "y": ((6,), F8)},  # type: ignore[list-item]
                   {"t": ((t,), F8), "s": ((6 + extra,), F8)})


def fill(target: str = "t", low: int = 0, high: int = 6, value: object = None) -> object:
    value = value or call("exp", mul(num(0.25), index("k", F8)))
    return mapped([span("k", low, high)], store(target, ["k"], value))  # type: ignore[arg-type]


def results(made: Program) -> np.ndarray:
    memory = {"x": np.linspace(1.0, 2.0, 6), "y": np.zeros(6)}
    run(made, memory)
    return memory["y"]


def test_a_table_of_exponentials() -> None:
    before = use(fill())
    after = tabulate(before.but(live_out=frozenset(())))
    assert len(after.body) == 1 and after.arrays["t"].role == "constant"
    np.testing.assert_array_equal(after.constants["t"], np.exp(0.25 * np.arange(6)))
    np.testing.assert_array_equal(results(after), results(before))


def test_made_in_pieces_from_other_known_arrays() -> None:
    part = fill("s", value=add(index("k", F8), num(1.0)))
    halves = fill(high=4, value=call("sqrt", load("s", "k"))), fill(low=4, value=call("sqrt", load("s", ix("k") - 1)))
    before = use(part, *halves)
    after = tabulate(before.but(live_out=frozenset(())))
    assert set(after.constants) == {"t"}
    np.testing.assert_array_equal(results(after), results(before))


def test_twiddle_factors_of_a_function() -> None:
    def turn(x, n):  # type: ignore[no-untyped-def]
        rows, columns = np.mgrid[0:n, 0:n]
        twiddle = np.exp(-2.0j * np.pi * rows * columns / n)
        return np.sum(np.real(x * twiddle))

    made = parse(turn, (np.ones((4, 4)), 4)).program
    after = tabulate(made.but(live_out=frozenset(())))
    found = [v for v in after.constants.values() if v.dtype.kind == "c"]
    np.testing.assert_allclose(found[0], np.exp(-0.5j * np.pi * np.outer(np.arange(4), np.arange(4))), atol=1e-15)


@pytest.mark.parametrize("makers", [
    (fill(value=load("x", "k")),),
    (fill(value=index("k", F8)),),
    (fill(high=5),),
    (fill(), fill(high=1, value=num(3.0))),
    (fill(), mapped([span("k", 6)], store("t", ["k"], num(1.0), "+"))),
    (Loop(span("r", 2), (fill(),)),),
    (If(call("lt", num(0.0), num(1.0), dtype=B1), (fill(),), ()),),
    (fill("s", high=3), fill(value=call("exp", load("s", "k")))),
], ids=["from an argument", "cheap", "not whole", "written twice", "added to", "in a loop", "under a condition",
        "from a place not filled"])
def test_everything_else_stays(makers: tuple) -> None:
    made = use(*makers)
    assert tabulate(made.but(live_out=frozenset(()))).constants == {}


def test_results_and_large_arrays_stay(monkeypatch: pytest.MonkeyPatch) -> None:
    made = use(fill())
    assert tabulate(p := made.but(live_out=frozenset(("t",)))) is p
    change(monkeypatch, table_bytes=40)
    assert tabulate(p := made.but(live_out=frozenset(()))) is p


def test_what_no_table_is_made_of_is_not_carried_out() -> None:
    """A gradient clears arrays as large as its arguments."""
    made = use(fill("s", value=num(0.0)), fill())
    assert set(_Known(made).values) == {"t"}
