"""Algorithms as users write them: eliminations, pivoting, recurrences, searches, early exits."""
from __future__ import annotations

import numpy as np
import pytest

import sdfgad
from sdfgad.frontend import parse
from tests.support.oracle import numerical_gradient, program_gradient, program_tangent, rebuildable, undoable

RNG = np.random.default_rng(0)
X = RNG.uniform(0.2, 0.9, 6)
A = RNG.uniform(0.2, 0.9, (4, 4)) + 2 * np.eye(4)
B = RNG.uniform(0.2, 0.9, 4)


def temporary_in_steps_of_two(x):
    y = np.ones(6)
    for t in range(5, -1, -2):
        h = np.sin(x) * t
        y[1:] = y[1:] * h[:-1] * h[1:]
    return (y * y).sum()


def temporary_in_a_while_loop(x):
    s = 1.0
    y = x * 1.0
    while s < 3.0:
        h = np.sin(y)
        h[1:] = h[1:] * h[:-1]
        y = h * y + 0.5
        s = s + y.sum()
    return s * y[0]


def table_filled_on_the_way(x):
    h = np.zeros(6)
    s = 0.0
    for t in range(4):
        h[t] = x[t] * x[t + 1]
        for k in range(t):
            s += h[k] * h[t] * x[k]
    return s


def temporary_of_two_branches(x):
    s = 0.0
    for t in range(6):
        if x[t] > 0.5:
            h = x * x[t]
        else:
            h = np.exp(x)
        s += (h[1:] * h[:-1]).sum()
        x = x * 0.9 + 0.05 * h
    return s


def gauss_and_jordan(a, b):
    a, b = a.copy(), b.copy()
    n = len(b)
    for i in range(n):
        p = a[i, i]
        a[i, :] = a[i, :] / p
        b[i] /= p
        for j in range(n):
            if j != i:
                f = a[j, i]
                a[j, :] -= f * a[i, :]
                b[j] -= f * b[i]
    return (b * b).sum()


def elimination_with_pivots(a, b):
    a, b = a.copy(), b.copy()
    n = len(b)
    for k in range(n - 1):
        p = k + np.argmax(np.abs(a[k:, k]))
        if p != k:
            row = a[k].copy()
            a[k] = a[p]
            a[p] = row
            right = b[k]
            b[k] = b[p]
            b[p] = right
        for i in range(k + 1, n):
            f = a[i, k] / a[k, k]
            a[i, k:] -= f * a[k, k:]
            b[i] -= f * b[k]
    x = np.zeros(n)
    for i in range(n - 1, -1, -1):
        x[i] = (b[i] - a[i, i + 1:] @ x[i + 1:]) / a[i, i]
    return (x * x).sum()


def newton_until_converged(x):
    y = x.copy()
    for _ in range(20):
        d = y * y - 2.0 * x
        y = y - d / (2 * y)
        if np.abs(d).max() < 1e-10:
            break
    return (y * np.arange(6)).sum()


def runge_and_kutta(x):
    f = lambda u: np.sin(u) * u - 0.1 * u**3  # noqa: E731
    u = x.copy()
    for _ in range(3):
        k1 = f(u)
        k2 = f(u + 0.05 * k1)
        k3 = f(u + 0.05 * k2)
        k4 = f(u + 0.1 * k3)
        u = u + 0.1 / 6 * (k1 + 2 * k2 + 2 * k3 + k4)
    return (u**2).sum()


def two_levels_in_turn(x):
    a, b = x.copy(), x * 0.5
    for _ in range(6):
        c = 2 * a * b - np.roll(a, 1) * 0.3
        a, b = b, c
    return (a * b).sum()


def power_iteration(a):
    v = np.ones(4)
    for _ in range(6):
        w = a @ v
        v = w / np.linalg.norm(w)
    return v @ (a @ v)


def gram_and_schmidt(a):
    a = a.copy()
    q, r = np.zeros((4, 4)), np.zeros((4, 4))
    for k in range(4):
        r[k, k] = np.sqrt(np.dot(a[:, k], a[:, k]))
        q[:, k] = a[:, k] / r[k, k]
        for j in range(k + 1, 4):
            r[k, j] = np.dot(q[:, k], a[:, j])
            a[:, j] -= q[:, k] * r[k, j]
    return (r * r * r).sum() + q[0, 1]


def best_bracketing(x):
    table = np.zeros((6, 6))
    for i in range(5, -1, -1):
        for j in range(i + 1, 6):
            table[i, j] = max(table[i, j - 1], table[i + 1, j])
            for k in range(i, j):
                table[i, j] = max(table[i, j], table[i, k] + table[k + 1, j] + x[i] * x[k] * x[j])
    return table[0, 5]


def softmax(a):
    e = np.exp(a - np.max(a, axis=1, keepdims=True))
    return ((e / e.sum(axis=1, keepdims=True))[:, 1] ** 2).sum()


def recursion(x):
    def go(u, n):
        return u if n == 0 else go(np.sin(u) * u + 0.1, n - 1)

    return go(x, 4).sum()


def bins(x):
    k = (x * 4).astype(int)
    c = np.zeros(5)
    for i in range(6):
        c[k[i]] = c[k[i]] * 0.5 + x[i] * x[i]
    return (c * c * c).sum()


def breaks_and_continues(x):
    s = 0.0
    for i in range(6):
        for j in range(6):
            if x[j] * i > 1.2:
                break
            if j == 2:
                continue
            s += x[i] * x[j] * s + x[j]
        if s > 50:
            break
    return s


def complex_states(x):
    z = x + 1j * x[::-1]
    for _ in range(3):
        z = z * z * 0.5 + np.conj(z) * 0.1j
    return np.abs(np.fft.fft(z)[1:4]).sum()


def library_calls(a, b):
    y = np.linalg.solve(a, b)
    return (np.linalg.inv(a) @ y).sum() + np.linalg.cholesky(a @ a.T)[3, 1]


def strongest_neighbour(a):
    a = a / 3
    best = np.empty_like(a)
    for _ in range(2):
        for i in range(4):
            for j in range(4):
                winner = a[i, j]
                for ii in range(max(0, i - 1), min(i + 2, 4)):
                    for jj in range(max(0, j - 1), min(j + 2, 4)):
                        close = 1.0 - np.abs(a[ii, jj] - a[i, j]) / 2.0
                        if close * a[ii, jj] > winner:
                            winner = close * a[ii, jj]
                best[i, j] = winner
        a[:] = best
    return (a * a).sum()


def masked_attention(a):
    scores = np.where(np.triu(np.ones((4, 4)), k=1) > 0, -np.inf, a @ a.T)
    p = np.exp(scores - scores.max(axis=-1, keepdims=True))
    return ((p / p.sum(axis=-1, keepdims=True)) @ a)[2].sum()


def signals_and_samples(x):
    half = np.fft.rfft(x) * np.fft.rfftfreq(6, 0.5)
    smooth = np.convolve(np.fft.irfft(half), x[:3], mode="same")
    chosen = np.select([x > 0.7, x > 0.4], [smooth, x**2], default=0.5)
    turned = np.abs(np.fft.ifft2(np.fft.fftshift(np.outer(chosen, x)))) ** 2
    return turned.sum() + np.median(x) * np.median(chosen[:5]) + np.nansum(np.pad(chosen, 2, mode="reflect") * 2)


def running_products(x):
    return (np.cumprod(x) * np.cumsum(x)).sum() + np.prod(x)


def standardised(a):
    a = a - a.mean(axis=0)
    a /= np.sqrt((a * a).mean(axis=0))
    return (a.T @ a)[0, 1] + (a**3).sum()


def steps_that_depend_on_data(x):
    s = 0.0
    i = 0
    while i < 5 and s < 2.0:
        s += x[i] * x[i + 1] if x[i] > 0.4 else x[i]
        i += 1 if x[i] < 0.8 else 2
    return s * x[i % 6]


def loops_named_like_those_of_passes(a, b):
    total = np.zeros((4, 4, 4))
    kept = np.zeros((4, 4))
    for k in range(4):
        for c0 in range(k + 1):
            left = np.outer(a[k], b) @ a
            total[k] += left @ (a * b[k - c0])
            kept[k] = total[k] @ b
    return total.sum() + (kept * kept).sum()


CASES = [
    *((f, (X,)) for f in (
        temporary_in_steps_of_two, temporary_in_a_while_loop, table_filled_on_the_way, temporary_of_two_branches,
        newton_until_converged, runge_and_kutta, two_levels_in_turn, best_bracketing, recursion, bins,
        breaks_and_continues, complex_states, signals_and_samples, running_products, steps_that_depend_on_data)),
    *((f, (A,)) for f in (power_iteration, gram_and_schmidt, softmax, standardised, strongest_neighbour,
                          masked_attention)),
    *((f, (A, B)) for f in (gauss_and_jordan, elimination_with_pivots, library_calls,
                              loops_named_like_those_of_passes)),
]
every_algorithm = pytest.mark.parametrize("fn, args", CASES, ids=[f.__name__ for f, _ in CASES])


@every_algorithm
def test_both_modes_and_every_plan(fn, args):
    parsed = parse(fn, args)
    held = parsed.collect([a.copy() for a in args])
    wrt = [parsed.traced[n] for n in parsed.parameters]
    value, found = program_gradient(parsed.program, held, wrt)
    np.testing.assert_allclose(value, fn(*(a.copy() for a in args)), rtol=1e-12)
    for k, name in enumerate(wrt):
        numerical = numerical_gradient(lambda *a: fn(*(p.copy() for p in a)), args, k)
        np.testing.assert_allclose(found[name], numerical, rtol=1e-7, atol=1e-7)
        _, pushed = program_tangent(parsed.program, held, {name: np.ones_like(args[k])})
        np.testing.assert_allclose(pushed, found[name].sum(), rtol=1e-11, atol=1e-12)
    chosen = rebuildable(parsed.program, wrt)
    _, rebuilt = program_gradient(parsed.program, held, wrt, recompute=chosen)
    for name in wrt:
        np.testing.assert_allclose(rebuilt[name], found[name], rtol=1e-12, atol=1e-12)
    _, undone = program_gradient(parsed.program, held, wrt, undone=undoable(parsed.program))
    for name in wrt:
        np.testing.assert_array_equal(undone[name], found[name])


@pytest.mark.slow
@every_algorithm
def test_compiled(fn, args):
    assert sdfgad.check_grads(fn, *args).ok


def test_a_record_beside_a_value_that_is_made_again_is_stored():
    """It goes by the same array and another name, which nobody may ask to make again."""
    plan = sdfgad.grad(strongest_neighbour).plan(A)
    assert not any(name.startswith("close@") for name in plan.recomputed)
