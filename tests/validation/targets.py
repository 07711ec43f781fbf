"""Small programs for passes that change nothing in the samples."""
from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

import numpy as np

_rng = np.random.default_rng(17)
N = 12
X = _rng.uniform(-0.9, 0.9, N)
A = _rng.uniform(-0.9, 0.9, (N, N))
B = _rng.uniform(-0.9, 0.9, (3, N, N))


def sums_of_products(A, B):
    s = 0.0
    for i in range(A.shape[0]):
        s += np.sum(A[i] @ B[i])
    return s * s


def neighbours(x):
    around = (np.arange(x.shape[0]) + 1) % x.shape[0]
    return np.sum(x[around] * x * x)


def sweeps(A):
    A = A.copy()
    for _ in range(4):
        for i in range(1, A.shape[0] - 1):
            for j in range(1, A.shape[1] - 1):
                A[i, j] = 0.3 * (A[i, j - 1] + A[i - 1, j] + A[i + 1, j] + A[i, j + 1])
    return np.sum(A * A)


def two_steps(x):
    x = x.copy()
    y = np.zeros(x.shape[0])
    for _ in range(3):
        y[:] = np.sin(x)
        for _ in range(2):
            y[1:] = y[1:] * y[:-1]
        x[:] = x + y
    return np.sum(x * x)


def ring(x):
    for _ in range(2):
        x = x + 0.1 * (np.roll(x, 1) - x) * np.roll(x, -2)
        y = np.sin(x)
        x = x * (y - np.roll(y, 3))
    return np.sum(x)


def spectrum(x):
    for _ in range(2):
        y = np.fft.ifft(np.fft.fft(x) * np.arange(x.shape[0]))
        x = x + 0.1 * np.real(y) * np.real(y)
    return np.sum(x)


def ensemble(x, c):
    x = x.copy()
    for _ in range(3):
        x = x + 0.1 * c[0] * x * x[::-1]
    return np.sum(x * x)


def waves(e, h, c):
    for _ in range(3):
        h[:-1] = h[:-1] + 0.5 * (e[1:] - e[:-1])
        e[1:-1] = e[1:-1] + c[1:-1] * (h[1:-1] - h[:-2])
    return np.sum(e * e)


def sum_of_sums(x, A):
    x += np.sum(A, axis=0)
    s = np.sum(x)
    return s * s


TARGETS: Mapping[str, tuple[Callable[..., Any], Mapping[str, np.ndarray]]] = MappingProxyType({
    "sums_of_products": (sums_of_products, {"A": B, "B": B[::-1].copy()}),
    "neighbours": (neighbours, {"x": X}),
    "sweeps": (sweeps, {"A": A}),
    "two_steps": (two_steps, {"x": X}),
    "ring": (ring, {"x": X}),
    "spectrum": (spectrum, {"x": X}),
    "sum_of_sums": (sum_of_sums, {"x": X, "A": A}),
    "waves": (waves, {"e": X, "h": X[::-1].copy(), "c": 0.3 * X}),
    "ensemble": (ensemble, {"x": _rng.uniform(-0.9, 0.9, (2, 64)), "c": X[:1].copy()})})
