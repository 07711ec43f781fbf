"""Iterations that end when they have converged: the last two arguments are a tolerance and the most iterations."""
from __future__ import annotations

import numpy as np


def jacobi(A, b, tol, most):
    x = np.zeros_like(b)
    d = np.diag(A)
    for _ in range(most):
        y = (b - A @ x + d * x) / d
        error = np.max(np.abs(y - x))
        x[:] = y
        if error < tol:
            break
    return np.sum(x * x)


def conjugate_gradients(A, b, tol, most):
    x = np.zeros_like(b)
    r = b - A @ x
    p = r.copy()
    before = r @ r
    for _ in range(most):
        q = A @ p
        alpha = before / (p @ q)
        x = x + alpha * p
        r = r - alpha * q
        after = r @ r
        if np.sqrt(after) < tol:
            break
        p = r + (after / before) * p
        before = after
    return np.sum(x * x * b)


def newton(a, x, tol, most):
    for _ in range(most):
        f = x * x * x + x - a
        if np.max(np.abs(f)) < tol:
            break
        x = x - f / (3 * x * x + 1)
    return np.sum(x * np.sin(x) * a)


def newton_system(A, x, tol, most):
    """A library call in the loop, and a return out of it."""
    for k in range(most):
        f = A @ x + x * x * x - 1.0
        if np.sum(f * f) < tol:
            return np.sum(x) * (k + 2.0)
        x = x - np.linalg.solve(A + np.diag(3 * x * x), f)
    return np.sum(x * x)


def power_iteration(A, v, tol, most):
    value = 0.0
    for _ in range(most):
        w = A @ v
        last, value = value, np.sqrt(np.sum(w * w))
        v = w / value
        if abs(value - last) < tol:
            break
    else:
        value = value * 2.0
    return value + np.sum(v * v * v)


def picard(u, f, tol, most):
    n = 0
    for _ in range(most):
        old = u.copy()
        u[1:-1] = 0.5 * np.sin(old[:-2]) * old[2:] + f[1:-1] * np.cos(old[1:-1])
        n += 1
        if np.max(np.abs(u - old)) < tol:
            break
    return np.sum(u * u) * n


def downwards_in_twos(x, w, tol, most):
    y = x * 1.0
    for k in range(2 * most, 0, -2):
        t = np.sin(y) * w
        y = 0.5 * y + 0.5 * t * t / k
        if np.sum(y * y) < tol:
            break
    return np.sum(y * x)


def steps_in_time(u, f, tol, most):
    """An iteration in every step of a counted loop."""
    for k in range(5):
        x = u * 1.0
        for _ in range(most):
            y = u + 0.3 * np.sin(x) * f + 0.02 * k
            change = np.sum((y - x) ** 2)
            x = y
            if change < tol * (k + 1):
                break
        u = 0.9 * x * np.cos(u)
    return np.sum(u * u)


def sweeps(A, b, tol, most):
    """Gauss and Seidel: a triangle in every iteration."""
    n = b.size
    x = np.zeros_like(b)
    for _ in range(most):
        old = x.copy()
        for i in range(n):
            s = 0.0
            for j in range(i):
                s += A[i, j] * x[j]
            x[i] = (b[i] - s - A[i, i + 1:] @ old[i + 1:]) / A[i, i] + 0.01 * x[i] * x[i]
        if np.sum((x - old) ** 2) < tol:
            break
    return np.sum(x * x)


def factors_again(A, b, tol, most):
    """Each iteration overwrites ever smaller blocks of a matrix."""
    x = np.ones_like(b)
    for _ in range(most):
        M = A + np.diag(x * x)
        for k in range(b.size - 1):
            M[k + 1:, k] = M[k + 1:, k] / M[k, k]
            M[k + 1:, k + 1:] -= np.outer(M[k + 1:, k], M[k, k + 1:])
        y = b / np.diag(M)
        done = np.sum((y - x) ** 2) < tol
        x[:] = y
        if done:
            break
    return np.sum(x * x * b)


def two_levels(x, w, tol, most):
    """Both loops end when they like; the inner one skips what it does not need."""
    y = x * 0.5
    for _ in range(most):
        z = y * w
        for k in range(most):
            if k % 3 == 1:
                continue
            z = z * 0.5 + 0.1 * np.sin(z * y)
            if np.sum(z * z) < 10 * tol:
                break
        before = y
        y = 0.7 * y + 0.2 * z + 0.05 * x
        if np.sum((y - before) ** 2) < tol:
            break
    return np.sum(y * y * x)


def picked(x, w, tol, most):
    """Data decides which elements change."""
    k = 0
    for _ in range(most):
        at = np.argmax(x)
        x[at] = x[at] * 0.6 * w[k % w.size] + 0.01
        x[:at] = x[:at] * 0.9
        k += 1
        if np.max(x) < tol * 1e3:
            break
    return np.sum(x * w) * k


def own_counter(x, w, tol, most):
    y, error, n = x * 1.0, 1.0, 0
    while n < most and error > tol:
        z = np.sin(y) * w + 0.2 * x
        error = np.sum((z - y) ** 2)
        y = z
        n += 1
    return np.sum(y * y) * (n + 1)


def endless_with_exits(x, w, tol, most):
    y, n = x * 1.0, 0
    while True:
        n += 1
        if n > most:
            break
        z = 0.6 * np.sin(y) * w
        if n % 4 == 2:
            y = y * 0.9 + 0.1 * z
            continue
        error = np.sum((z - y) ** 2)
        y = y * 0.3 + 0.7 * z
        if error < tol:
            return np.sum(y) * 2.0
    return np.sum(y * y * x)


def while_or_else(x, w, tol, most):
    y, n = x * 1.0, 0
    while n < most:
        y = y * 0.5 + 0.3 * y * w
        n += 1
        if np.sum(y * y) < 1e3 * tol:
            break
    else:
        y = y * y
    return np.sum(y * x)


def inside_a_while_loop(x, w, tol, most):
    y, s = x * 1.0, 1.0
    while s > 0.2:
        for _ in range(most):
            z = np.tanh(y * w)
            y = 0.5 * (y + z)
            if np.sum((z - y) ** 2) < tol:
                break
        s = 0.6 * s + 0.01 * y[0]
        x = x * y
    return np.sum(x) * s


def around_a_while_loop(x, w, tol, most):
    y = x * 1.0
    for _ in range(most):
        e, z = 1.0, y * w
        while e > 0.05:
            z = z * 0.7 + 0.1 * np.sin(y)
            e = e * (0.5 + 0.01 * z[1])
        change = np.sum((y - z) ** 2)
        y = 0.4 * y + 0.6 * z
        if change < tol:
            break
    return np.sum(y * y)


def data(n: int = 6, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).uniform(0.3, 0.9, n)


def matrix(n: int = 6) -> np.ndarray:
    a = np.random.default_rng(1).uniform(0.1, 1.0, (n, n))
    return (a + a.T) / 2 + n * np.eye(n)


SYSTEMS = (jacobi, conjugate_gradients, newton_system, power_iteration, sweeps, factors_again)
"""Programs of a matrix and a vector."""
VECTORS = (newton, picard, downwards_in_twos, steps_in_time, two_levels, picked, own_counter, endless_with_exits,
           while_or_else, inside_a_while_loop, around_a_while_loop)
"""Programs of two vectors."""


def arguments(fn, n: int = 6) -> tuple[np.ndarray, ...]:
    """Arrays for a program."""
    return (matrix(n), data(n)) if fn in SYSTEMS else (data(n), data(n, 7))
