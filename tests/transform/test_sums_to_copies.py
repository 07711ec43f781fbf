"""Sums that are copied next are made in the copy when nobody looks at them elsewhere; results stay the same."""
from __future__ import annotations

import numpy as np
import pytest

import sdfgad
from sdfgad.codegen.cpu.schedule.sums.sums_to_copies import sum_to_copies
from sdfgad.ir.index import Ix, ix
from sdfgad.ir.program import Array, Loop, Map, Program, Range, Stmt, Store
from sdfgad.ir.walk import statements
from tests.support.build import F8, I8, at, each, lit, loop, number_at, one, position, put, span, when
from tests.support.oracle import check_same, numerical_gradient

N, M = 10, 6
I, J, T = ix("i"), ix("j"), ix("t")
UP, ROW = span("j", 1, N - 1), span("i", 0, M)
SHAPES = {"a": (N, M), "p": (N,), "s": (), "out": (N, M)}
OWN = {"q": (N, M), "v": (N, M), "w": (M, N)}


def build(*body: Stmt, dtype: np.dtype = F8) -> Program:
    """v and w start from an argument; q ends in another one."""
    cells = (span("c", 0, N), span("d", 0, M))
    first = each(cells, put("v", ("c", "d"), at("a", "c", "d")), put("w", ("d", "c"), at("a", "c", "d") * 3.0),
                 put("q", ("c", "d"), position(7)))
    last = each(cells, put("out", ("c", "d"), at("q", "c", "d")))
    arrays = {n: Array(n, shape, dtype, "argument") for n, shape in SHAPES.items()}
    arrays |= {n: Array(n, shape, dtype) for n, shape in OWN.items()} | {"k": Array("k", (N,), I8, "argument")}
    return Program("p", arrays, (*SHAPES, "k"), (first, *body, last))


def changed(*body: Stmt, keep: tuple[str, ...] = (), start: Program | None = None) -> bool:
    """Whether the pass does anything; what is kept stays the same to the bit."""
    before = (start or build(*body)).but(live_out=frozenset(keep))
    after = sum_to_copies(before)
    check_same(before, after, {"k": np.arange(N) % 3})
    return after != before


def chain(step: int = 1, source: str = "v", j: Ix = J) -> tuple[Store, Store]:
    def place(n: Ix) -> tuple[Ix, Ix]:
        return (n, I) if source == "v" else (I, n)

    here = at(source, *place(j))
    return put("q", (j, I), here), put(source, place(j + step), at("p", j) * here, "+")


def stored(program: Program, name: str) -> int:
    return sum(isinstance(s, Map) and any(isinstance(p, Store) and p.array == name for p in s.body)
               for s in statements(program.body))


@pytest.mark.parametrize("source", ["v", "w"])
def test_sums_are_made_in_the_copy(source: str):
    made = sum_to_copies(build(loop(UP, each(ROW, *chain(source=source)))).but(live_out=frozenset(())))
    assert stored(made, source) == 1
    assert changed(loop(UP, each(ROW, *chain(source=source))))


@pytest.mark.parametrize(("r", "step"), [
    (span("j", N - 2, 0, step=-1), -1), (span("j", N - 1, 0, step=-1), -1), (span("j", 3, 5), 1),
    (span("j", 0, N - 1), 1),
], ids=str)
def test_either_way(r: Range, step: int):
    assert changed(loop(r, each(ROW, *chain(step))))


@pytest.mark.parametrize(("r", "step"), [
    (span("j", 1, N - 1), -1), (span("j", 1, N - 2), 2), (span("j", 1, 2), 1), (span("j", 4, 4), 1),
    (span("j", 1, N - 2, step=2), 2), (span("j", 1, N - 2, step=2), 1), (span("j", 1, N - 1), 0),
], ids=str)
def test_other_steps(r: Range, step: int):
    assert not changed(loop(r, each(ROW, *chain(step))))


def test_factors_may_be_anything_else():
    copy, _ = chain()
    for value in (at("v", J, I) * at("v", J, I) - at("a", J, I), at("a", J, I), -at("v", J, I) / at("s")):
        assert changed(loop(UP, each(ROW, copy, put("v", (J + 1, I), value, "+"))))


COPY, SUM = chain()
CLEAR = put("v", (J, I), lit(0.0))


@pytest.mark.parametrize("parts", [
    (SUM, COPY), (COPY, SUM, put("out", (J, I), lit(1.0))), (COPY, put("out", (J, I), at("v", J, I) * 3.0), SUM),
    (SUM, put("out", (J, I), at("v", J, I), "+"), COPY, CLEAR), (COPY, SUM, CLEAR),
    (SUM, COPY, put("v", (J, I), at("a", J, I))),
], ids=range(6))
def test_what_else_an_iteration_does(parts: tuple[Store, ...]):
    """It reads the copy; what replaces the sum in the iteration stays where somebody looks at that."""
    look = one("s", (), at("v", 4, 2))
    assert changed(loop(UP, each(ROW, *parts)))
    assert changed(loop(UP, each(ROW, *parts)), look) == any(p.array == "v" and p.index == (J, I) for p in parts)
    made = sum_to_copies(build(loop(UP, each(ROW, *parts))).but(live_out=frozenset(())))
    assert stored(made, "v") == 1, "nobody looks at what replaces it"


@pytest.mark.parametrize("parts", [
    (COPY,), (COPY, SUM, put("q", (J - 1, I), lit(1.0))), (COPY, put("v", (J + 1, I), at("v", J, I))),
    (COPY, SUM, CLEAR, put("out", (J, I), at("v", J, I))), (COPY, CLEAR, SUM),
    (COPY, SUM, put("v", (J, I), lit(2.0), "*")),
    (COPY, SUM, put("v", (J - 1, I), lit(0.0))), (COPY, SUM, put("out", (J, I), at("q", J, I))),
    (COPY, SUM, put("out", (J, I), at("v", J - 1, I))), (COPY, SUM, put("v", (J + 1, I), at("s"), "+")),
    (COPY, put("v", (J + 1, I), at("v", J, I), "*")), (put("q", (J, I), at("v", J, I), "+"), SUM),
    (put("q", (J, I), at("v", J, I) * 1.5), SUM), (COPY, put("v", (J + 1, I), at("v", J - 1, I), "+")),
    (COPY, put("v", (J + 1, I), at("v", J + 1, I), "+")), (COPY, put("v", (J + 1, I), at("q", J - 1, I), "+")),
    (put("q", (0, I), at("v", J, I)), SUM), (put("q", (J, 0), at("v", J, I)), SUM),
    (put("q", (J, number_at("k", I)), at("v", J, I)), SUM), (COPY, put("v", (J + 1, 5 - I), at("v", J, I), "+")),
    (COPY, put("v", (J + 1, I), at("a", number_at("k", J), I), "+")), (put("v", (J, I), at("v", J, I)), SUM),
    (put("out", (J, I), at("v", J, I)), SUM), (put("q", (J + I, 0), at("v", J, I)), SUM),
], ids=range(24))
def test_left_alone(parts: tuple[Store, ...]):
    row = span("i", 0, 1) if parts[0].index == (J + I, ix(0)) else ROW
    assert not changed(loop(UP, each(row, *parts)))


def test_loops_that_do_more():
    assert not changed(loop(UP, each(ROW, *chain()), one("s", (), lit(0.0))))
    assert not changed(loop(UP, each(span("i", 0, J * 0 + 1), COPY), each(ROW, SUM)))
    assert not changed(loop(span("t", 0, 3), loop(span("j", T, N - 1), each(ROW, *chain()))))
    assert not changed(loop(span("j", 1, M), each(span("i", 0, J), *chain())))
    assert not changed(Loop(span("j", 1, N - 1), (each(ROW, *chain()),), private=("s",)))


@pytest.mark.parametrize("look", [
    one("s", (), at("v", 4, 2)), one("s", (), at("v", 2, 0)),
    each(span("d", 0, M), put("out", (0, "d"), at("v", "d", "d"))),
    when(at("s").compare("gt", 0.0), (one("s", (), at("v", 3, 3)),)),
    loop(span("t", 0, 2), one("s", (), at("v", T + 3, 3))),
], ids=["one", "the first", "the diagonal", "maybe", "in a loop"])
def test_somebody_looks_at_a_sum(look: Stmt):
    assert not changed(loop(UP, each(ROW, *chain())), look)
    clear = each((span("c", 2, N), span("d", 0, M)), put("v", ("c", "d"), lit(0.0)))
    assert changed(loop(UP, each(ROW, *chain())), clear, look)
    assert not changed(loop(UP, each(ROW, *chain())), when(at("s").compare("gt", 0.0), (clear,)), look)


def test_somebody_looks_at_the_last_sum():
    """It stays where it was."""
    assert changed(loop(UP, each(ROW, *chain())), one("s", (), at("v", N - 1, M - 1)))


def test_somebody_looks_beside_the_sums():
    for look in (at("v", 1, 3), at("v", 0, 0), at("w", 3, 3)):
        assert changed(loop(UP, each(ROW, *chain())), one("s", (), look))
    assert changed(loop(UP, each(span("i", 1, M), *chain())), one("s", (), at("v", 5, 0)))


def test_arrays_that_are_kept_or_the_callers():
    assert not changed(loop(UP, each(ROW, *chain())), keep=("v",))
    for role, name in (("argument", "v"), ("argument", "q")):
        before = build(loop(UP, each(ROW, *chain())))
        arrays = {**before.arrays, name: Array(name, (N, M), F8, role)}
        assert not changed(start=before.but(arrays=arrays, arguments=(*before.arguments, name)))
    single = build(loop(UP, each(ROW, *chain())))
    assert not changed(start=single.but(arrays={**single.arrays, "q": Array("q", (N, M), np.dtype("f4"))}))


def test_again_and_again():
    """What the next iteration of a loop around finds counts as well."""
    renew = each((span("c", 0, N), span("d", 0, M)), put("v", ("c", "d"), at("a", "c", "d") * at("q", "c", "d")))
    inner = loop(UP, each(ROW, *chain()))
    rounds = span("t", 0, 3)
    assert changed(loop(rounds, inner, renew))
    assert changed(loop(rounds, renew, inner))
    assert not changed(loop(rounds, inner))
    some = each((span("c", 0, N - 1), span("d", 0, M)), put("v", ("c", "d"), at("a", "c", "d") * at("q", "c", "d")))
    assert changed(loop(rounds, some, inner))
    assert changed(loop(rounds, one("s", (), at("v", N - 1, 0)), some, inner))
    assert not changed(loop(rounds, renew, inner), one("s", (), at("v", 4, 4)))
    assert changed(loop(rounds, inner, renew), one("s", (), at("v", 4, 4)))


def sweeps(u, steps):
    """Recurrences one way and back, again and again."""
    n = u.shape[0]
    for _ in range(steps):
        v = np.zeros_like(u)
        q = np.zeros_like(u)
        for j in range(1, n - 1):
            q[j, 1:-1] = (u[j, 1:-1] + 0.5 * u[j, :-2] + 0.25 * q[j - 1, 1:-1]) / 1.5
        for j in range(n - 2, 0, -1):
            v[j, 1:-1] = 0.3 * v[j + 1, 1:-1] + q[j, 1:-1]
        u[1:-1, 1:-1] = v[1:-1, 1:-1] + 0.1 * v[1:-1, :-2]
    return np.sum(u * u)


def systems(a, b, c, u, steps):
    """Tridiagonal systems by elimination and substitution, one for each column."""
    n = u.shape[0]
    for _ in range(steps):
        p = np.zeros_like(u)
        q = np.zeros_like(u)
        p[0] = c[0] / b[0]
        q[0] = u[0] / b[0]
        for i in range(1, n):
            by = b[i] - a[i] * p[i - 1]
            p[i] = c[i] / by
            q[i] = (u[i] - a[i] * q[i - 1]) / by
        u[n - 1] = q[n - 1]
        for i in range(n - 2, -1, -1):
            u[i] = q[i] - p[i] * u[i + 1]
    return np.sum(u * u)


@pytest.mark.parametrize("steps", [1, 2])
def test_gradients_of_systems(steps: int):
    rng = np.random.default_rng(steps)
    given = [rng.random((6, 4)) + k for k in (0.0, 3.0, 0.0, 1.0)]
    found = sdfgad.grad(systems)(*(g.copy() for g in given), steps)
    for k, one_found in enumerate(found):
        expected = numerical_gradient(lambda *g: systems(*(v.copy() for v in g), steps), given, k)
        np.testing.assert_allclose(one_found, expected, rtol=1e-6, atol=1e-8)


@pytest.mark.parametrize(("size", "steps"), [(4, 1), (5, 2), (12, 3)])
def test_gradients_of_sweeps(size: int, steps: int):
    u = np.random.default_rng(size).random((size, size + 1))
    found = sdfgad.grad(sweeps, wrt="u")(u.copy(), steps)
    np.testing.assert_allclose(found, numerical_gradient(lambda u: sweeps(u.copy(), steps), [u]), rtol=1e-6, atol=1e-8)
