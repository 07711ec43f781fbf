"""Maps as Python functions give what going down the tree gives, bit by bit."""
from __future__ import annotations

import numpy as np
import pytest

from sdfgad.ir import algebra
from sdfgad.ir.expr import Expr, Index, Load, Local, call, const
from sdfgad.ir.index import Elem, Ix, ix
from sdfgad.ir.program import Array, Let, Map, Program, Range, Store
from tests.support import point_loops
from tests.support.cases import CASES
from tests.support.oracle import reversed_program

F8, I8 = np.dtype(np.float64), np.dtype(np.int64)
N = 6


@pytest.fixture(params=[0, 1 << 60], ids=["functions", "tree"], autouse=True)
def _either(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(point_loops, "WORTH_LOOPS", request.param)


def x_at(index: Ix) -> Expr:
    return Load("x", (index,), F8)


def filled(value: Expr, at: Ix | None = None, op: str | None = None, domain: tuple[Range, ...] = (),
           lets: tuple[Let, ...] = ()) -> np.ndarray:
    """`y` behind a map over `i` that puts a value into it."""
    i = Range("i", ix(0), ix(N))
    stmt = Map(domain or (i,), (*lets, Store("y", (at or ix("i"),), value, op)))
    arrays = {n: Array(n, (N,), t, role="argument") for n, t in (("x", F8), ("y", F8), ("k", I8))}
    memory = {"x": np.linspace(0.5, 3.0, N), "y": np.ones(N), "k": np.array([2, 0, 1, 5, 4, 3])}
    point_loops.run(Program("p", arrays, ("x", "y", "k"), (stmt,), ()), memory)
    return memory["y"]


X = np.linspace(0.5, 3.0, N)


def test_indices() -> None:
    places = (ix("i") * 7 + 3) % N
    np.testing.assert_array_equal(filled(x_at(places)), X[(np.arange(N) * 7 + 3) % N])
    np.testing.assert_array_equal(filled(x_at(ix(looked_up("i")))), X[[2, 0, 1, 5, 4, 3]])
    np.testing.assert_array_equal(filled(x_at(ix("i") // 2)), X[np.arange(N) // 2])
    np.testing.assert_array_equal(filled(Index(ix("i") * ix("i") - 4, F8)), np.arange(N) ** 2 - 4.0)


def looked_up(variable: str) -> Ix:
    return Ix((((Elem("k", (ix(variable),)),), 1),))


@pytest.mark.parametrize(("op", "expected"), [
    ("+", X + 1), ("*", X), ("max", np.maximum(X, 1)), ("min", np.minimum(X, 1))])
def test_accumulation(op: str, expected: np.ndarray) -> None:
    np.testing.assert_array_equal(filled(x_at(ix("i")), op=op), expected)


def test_a_branch_that_is_not_taken_may_lie_outside() -> None:
    inside = call("lt", Index(ix("i"), I8), const(N - 1, I8), dtype=bool)
    np.testing.assert_array_equal(filled(algebra.select(inside, x_at(ix("i") + 1), const(-1.0, F8))), [*X[1:], -1])


def test_values_with_names_and_shared_ones() -> None:
    double = Let("d", algebra.mul(const(2.0, F8), x_at(ix("i"))))
    square = algebra.mul(Local("d", F8), Local("d", F8))
    np.testing.assert_array_equal(filled(algebra.add(square, square), lets=(double,)), 8 * X * X)


def test_a_range_that_depends_on_another_and_goes_down() -> None:
    domain = (Range("i", ix(N - 1), ix(0), -2), Range("j", ix(0), ix("i")))
    np.testing.assert_array_equal(filled(const(1.0, F8), op="+", domain=domain), [1, 2, 1, 4, 1, 6])


@pytest.mark.parametrize("shift", [1, -1])
def test_outside(shift: int) -> None:
    with pytest.raises(IndexError, match="is outside shape"):
        filled(x_at(ix("i") + shift))
    with pytest.raises(IndexError, match="is outside shape"):
        filled(const(0.0, F8), at=ix("i") + shift)


@pytest.mark.parametrize("name", CASES)
def test_gradients(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Both ways, whichever comes first."""
    case = CASES[name]()
    made = reversed_program(case.program, case.wrt).program
    held: list[dict[str, np.ndarray]] = [{}, {}]
    for limit, keep in zip((0, 1 << 60), held, strict=True):
        monkeypatch.setattr(point_loops, "WORTH_LOOPS", limit)
        point_loops.run(made, {n: case.arrays[n].copy() for n in made.arguments}, keep)
    assert held[0].keys() == held[1].keys()
    for array, value in held[0].items():
        np.testing.assert_array_equal(value, held[1][array], err_msg=array)


def test_what_branches_share_too_often_is_left_to_the_tree() -> None:
    value, positive = x_at(ix("i")), call("lt", const(0, F8), x_at(ix("i")), dtype=bool)
    for _ in range(20):
        value = call("select", positive, call("neg", value), call("sqrt", value), dtype=F8)
    stmt = Map((Range("i", ix(0), ix(N)),), (Store("y", (ix("i"),), value),))
    assert point_loops.point_loops(stmt) is None
