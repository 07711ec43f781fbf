"""Index arrays that hold even or cyclic rows of places are written out; all others stay."""
from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import sdfgad
from sdfgad.ir.expr import Expr, Index, Load, call, const
from sdfgad.ir.index import elem, ix
from sdfgad.ir.program import Array, If, Map, Program, Range, Stmt, Store
from sdfgad.ir.walk import reads, statements
from sdfgad.transform.normal.places import write_out_places
from tests.frontend.checking import check_both_modes
from tests.support.build import BOOL, F8, I8, at, each, loop, put, span
from tests.support.oracle import check_same

N, M = 12, 3
K = Index(ix("k"), I8)


def number(value: int) -> Expr:
    return const(value, I8)


def binary(fn: str, a: Expr, b: Expr) -> Expr:
    return call(fn, a, b, dtype=BOOL if fn in ("gt", "lt") else I8)


def fill(value: Expr, r: Range = span("k", 0, N), name: str = "p") -> Map:
    return Map((r,), (Store(name, (ix(r.var),), value),))


AHEAD = binary("mod", binary("add", K, number(1)), number(N))
BEHIND = call("select", binary("gt", K, number(0)), binary("sub", K, number(1)), number(N - 1), dtype=I8)
MIRROR = call("select", binary("gt", K, number(0)), binary("sub", K, number(1)), number(0), dtype=I8)
STEPS = binary("sub", binary("mul", K, number(2)), number(5))
P = elem("p", ("i",))


def use(place: Any = P % N) -> Map:
    return each(span("i", 0, N), put("y", ("i",), at("x", place)))


def left(*body: Stmt, seen: tuple[str, ...] = (), constants: dict[str, np.ndarray] | None = None,
         live: frozenset[str] = frozenset()) -> bool:
    """Whether anybody still looks at the index array; the meaning stays."""
    arrays = {n: Array(n, (N,), F8, "argument") for n in "xy"} | {"p": Array("p", (N,), I8)}
    before = Program("p", arrays, ("x", "y"), body, constants=constants or {}, live=live)
    after = write_out_places(before.but(live_out=frozenset(seen)))
    check_same(before, after)
    return any("p" in reads(s) for s in statements(after.body))


@pytest.mark.parametrize("value", [AHEAD, BEHIND, STEPS, K], ids=["ahead", "behind", "steps", "here"])
def test_rows_are_written_out(value: Expr) -> None:
    assert not left(fill(value), use())


def test_in_loops_and_as_numbers() -> None:
    read = Map((span("i", 0, N),), (Store("y", (ix("i"),), call("cast", Load("p", (ix("i"),), I8), dtype=F8)),))
    assert not left(loop(span("t", 0, M), fill(AHEAD), use()), read)


def test_constant_tables() -> None:
    assert not left(use(), constants={"p": (np.arange(N) + 5) % N})


def test_remainders_that_change_nothing_are_dropped() -> None:
    arrays = {n: Array(n, (N,), F8, "argument") for n in "xy"} | {"p": Array("p", (N - 2,), I8)}
    inner = each(span("i", 0, N - 2), put("y", ("i",), at("x", P % N)))
    shifted = fill(binary("add", K, number(1)), span("k", 0, N - 2))
    made = write_out_places(Program("p", arrays, ("x", "y"), (shifted, inner)).but(live_out=frozenset(())))
    assert made.body == (each(span("i", 0, N - 2), put("y", ("i",), at("x", ix("i") + 1))),)


@pytest.mark.parametrize("body, seen", [
    ((fill(MIRROR), use()), ()),
    ((fill(AHEAD), fill(number(0), span("k", 0, 1)), use()), ()),
    ((fill(AHEAD, span("k", 0, N - 1)), fill(number(0), span("k", N - 1, N)), use()), ()),
    ((fill(AHEAD), use()), ("p",)),
    ((fill(AHEAD), If(binary("lt", Load("p", (ix(3),), I8), number(5)), (use(),), ())), ()),
], ids=["a mirror", "changed", "in parts", "seen", "decides"])
def test_left_alone(body: tuple[Stmt, ...], seen: tuple[str, ...]) -> None:
    assert left(*body, seen=seen)


def test_tables_that_may_change_stay() -> None:
    assert left(use(), constants={"p": (np.arange(N) + 5) % N}, live=frozenset({"p"}))


def gathered(u: Any, steps: int) -> Any:
    n = u.shape[0]
    ahead, behind = (np.arange(n) + 1) % n, (np.arange(n) - 1) % n
    for _ in range(steps):
        u = u + 0.1 * (u[ahead] - 2.0 * u + u[behind] + u[:, ahead] - u[:, behind]) * u
    return np.sum(u ** 2)


def chosen(u: Any, steps: int) -> Any:
    n, m = u.shape
    v = np.empty_like(u)
    for _ in range(steps):
        for i in range(n):
            behind = i - 1 if i > 0 else n - 1
            ahead = i + 1 if i < n - 1 else 0
            for j in range(m):
                v[i, j] = u[i, j] + 0.1 * u[i, j] * (u[ahead, j] - 2.0 * u[i, j] + u[behind, j])
        u[:, :] = v
    return np.sum(u ** 2)


@pytest.mark.parametrize("function", [gathered, chosen])
@pytest.mark.parametrize("n", [1, 2, 3, 9])
def test_gradients(function: Any, n: int) -> None:
    """Also where both neighbours are the same point, or the point itself."""
    rng = np.random.default_rng(n)
    u, d = rng.random((n, n)), rng.random((n, n))
    found = sdfgad.grad(function, wrt="u")(u, 3)
    h = 1e-6
    slope = (function(u + h * d, 3) - function(u - h * d, 3)) / (2 * h)
    np.testing.assert_allclose(np.sum(found * d), slope, rtol=1e-7)


def _of_several_dimensions(x):
    i, j = np.mgrid[0:4, 0:3]
    a = np.zeros((4, 3))
    a[i, j] = x[i] * x[j + 1]
    a[j, i % 3] += x[i + j]
    return np.sum(a * a * (i + 2 * j))


def _of_which_one_is_changed(x):
    g = np.mgrid[0:4, 0:3]
    g[0, 1, 1] = 0
    return np.sum(x[g[0]] * x[g[1] + 2] * g[1] * g[0])


def _by_rows_and_columns(x):
    i, j = np.indices((4, 3))
    k, m = np.meshgrid(np.arange(7), np.arange(5))
    return sum(np.sum(x[i[:, n]] * x[j[:, n + 1]] * x[i[n, :]][0]) for n in range(2)) + np.sum((x[k] * x[m]) ** 2)


@pytest.mark.parametrize("fn", [_of_several_dimensions, _of_which_one_is_changed, _by_rows_and_columns])
def test_grids(fn: Any) -> None:
    check_both_modes(fn, (np.linspace(0.35, 3.1, 7),))


def test_parts_of_a_grid_are_written_out() -> None:
    arrays = {n: Array(n, (N,), F8, "argument") for n in "xy"} | {"p": Array("p", (2, N), I8)}
    parts = tuple(Map((span("k", 0, N),), (Store("p", (ix(part), ix("k")), value),))
                  for part, value in ((0, Index(ix(N - 1) - ix("k"), I8)), (1, K)))
    use = each(span("i", 0, N), put("y", (elem("p", (ix(1), ix("i"))) % N,), at("x", elem("p", (ix(0), ix("i"))))))
    before = Program("p", arrays, ("x", "y"), (*parts, use)).but(live_out=frozenset("y"))
    after = write_out_places(before)
    check_same(before, after)
    assert "p" not in reads(after.body[-1])
