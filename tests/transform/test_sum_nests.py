"""Sums of products in another order: the same numbers with less work."""
from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

import sdfgad
from sdfgad.frontend import parse
from sdfgad.ir.program import Loop, Program
from sdfgad.ir.walk import statements
from sdfgad.transform.normal.bounds import bound_loops
from sdfgad.transform.sums.sum_nests import factorise_sums
from tests.support.oracle import check_same


def self_energy(s, g, h, d, near):  # type: ignore[no-untyped-def]
    """Blocks gathered over neighbours, a condition on two loop variables, temporaries in every iteration."""
    for e in range(g.shape[0]):
        for q in range(d.shape[0]):
            for w in range(d.shape[1]):
                for a in range(near.shape[0]):
                    for b in range(near.shape[1]):
                        if e - w >= 0:
                            left = g[e - w, near[a, b]] @ h[a, b]
                            right = h[a, b] * d[q, w, a, b]
                            s[e, a] += left @ right


def chain(y, a, b, x):  # type: ignore[no-untyped-def]
    for i in range(a.shape[0]):
        for j in range(a.shape[1]):
            for k in range(b.shape[1]):
                y[i] += a[i, j] * b[j, k] * x[k]


def downwards(y, a, b, x):  # type: ignore[no-untyped-def]
    for i in range(a.shape[0] - 1, -1, -1):
        for j in range(a.shape[1]):
            for k in range(j, b.shape[1]):
                y[i] -= a[i, j] * (b[j, k] * x[k])


def repeated(y, a, b, x):  # type: ignore[no-untyped-def]
    for _ in range(3):
        for i in range(a.shape[0]):
            for j in range(a.shape[1]):
                for k in range(b.shape[1]):
                    y[i] += a[i, j] * b[j, k] * x[k]


def recurrence(y, a, b, x):  # type: ignore[no-untyped-def]
    for i in range(a.shape[0]):
        for j in range(a.shape[1]):
            for k in range(a.shape[0]):
                y[i] += a[i, j] * b[j, k] * y[k]


def kept(y, a, b, x):  # type: ignore[no-untyped-def]
    t = np.zeros(b.shape[1])
    for i in range(a.shape[0]):
        for j in range(a.shape[1]):
            t[:] = b[j, :] * x
            y[i] += a[i, j] * np.sum(t)
    return t


def dear(y, a, b, x):  # type: ignore[no-untyped-def]
    for i in range(a.shape[0]):
        for j in range(a.shape[1]):
            y[i] += a[i, j] * b[i, j]


def numbers() -> tuple[np.ndarray, ...]:
    rng = np.random.default_rng(1)
    return rng.random(5), rng.random((5, 6)), rng.random((6, 7)), rng.random(7)


def blocks() -> tuple[np.ndarray, ...]:
    rng = np.random.default_rng(2)

    def some(*shape: int) -> np.ndarray:
        return rng.random(shape) + 1j * rng.random(shape)

    return some(4, 5, 3, 3), some(4, 5, 3, 3), some(5, 2, 3, 3), some(3, 2, 5, 2), rng.integers(0, 5, (5, 2))


def changed(fn: Callable, arguments: tuple) -> tuple[Program, Program]:
    """Before and after, which compute the same."""
    before = bound_loops(parse(fn, arguments).program)
    after = factorise_sums(before.but(live_out=frozenset(())))
    check_same(before, after, dict(zip(before.arguments, arguments, strict=True)), tolerance=1e-12)
    return before, after


def loops(p: Program) -> int:
    return sum(isinstance(s, Loop) for s in statements(p.body))


@pytest.mark.parametrize(("fn", "arguments"), [(chain, numbers()), (downwards, numbers()), (self_energy, blocks())])
def test_products_in_a_better_order(fn: Callable, arguments: tuple) -> None:
    before, after = changed(fn, arguments)
    assert loops(before) > 0 and loops(after) == 0
    assert any("factor" in name for name in after.arrays)
    assert not {"left", "right"} & {n for n, a in after.arrays.items() if a.role == "transient"}


@pytest.mark.parametrize("fn", [repeated, recurrence, dear])
def test_what_is_left_alone(fn: Callable) -> None:
    """A loop that repeats a sum, a sum that reads its target, a sum that takes no less work in any order."""
    before, after = changed(fn, numbers())
    assert after is before or loops(after) > 0


def test_temporaries_somebody_reads_afterwards_stay() -> None:
    before = parse(kept, numbers()).program
    assert factorise_sums(p := before.but(live_out=frozenset(("t",)))) is p


def test_gradient_in_a_better_order() -> None:
    s, g, h, d, near = blocks()
    real = tuple(np.ascontiguousarray(v.real) for v in (s, g, h, d))
    grads = sdfgad.grad(self_energy, wrt=("g", "h", "d"), output="s", reduce="sum")(*real, near)

    def total(*values: np.ndarray) -> float:
        out = real[0].copy()
        self_energy(out, *values, near)
        return float(out.sum())

    for k, grad in enumerate(grads):
        step = np.random.default_rng(3).random(grad.shape)
        shifted = [[v + sign * 1e-6 * step if n == k else v for n, v in enumerate(real[1:])] for sign in (1, -1)]
        slope = (total(*shifted[0]) - total(*shifted[1])) / 2e-6
        np.testing.assert_allclose(np.sum(grad * step), slope, rtol=1e-6)
