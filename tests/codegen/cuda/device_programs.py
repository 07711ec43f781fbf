"""Small programs, each with something that a graphics processor does in its own way, and arguments for them."""
from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np


@dataclass(frozen=True)
class DeviceCase:
    """A function of arrays with a number as its value."""

    function: Callable[..., Any]
    arguments: tuple[Any, ...]

    def own(self) -> tuple[Any, ...]:
        """Fresh arguments."""
        return tuple(a.copy() if isinstance(a, np.ndarray) else a for a in self.arguments)


def stencil(a: np.ndarray, b: np.ndarray, steps: int) -> float:
    """Neighbours: no two of these maps may be one kernel."""
    for _ in range(steps):
        b[1:-1, 1:-1] = 0.2 * (a[1:-1, 1:-1] + a[1:-1, :-2] + a[1:-1, 2:] + a[2:, 1:-1] * a[:-2, 1:-1])
        a[1:-1, 1:-1] = 0.2 * (b[1:-1, 1:-1] + b[1:-1, :-2] + b[1:-1, 2:] + b[2:, 1:-1] * b[:-2, 1:-1])
    return np.sum(a * a)


def rows(x: np.ndarray, w: np.ndarray) -> float:
    """Each row is made of the one before, in place: a loop inside a kernel, forwards and backwards."""
    for i in range(1, x.shape[0]):
        x[i] = np.sin(x[i - 1]) * x[i] + w
    return np.sum(x * x[::-1])


def triangle(a: np.ndarray, b: np.ndarray) -> float:
    """Rows of changing length, steps of two, and sums of pairs that go to both."""
    total = 0.0
    f = np.zeros_like(b)
    for i in range(b.shape[0]):
        for j in range(b.shape[0]):
            d = np.tanh(b[i] - 0.5 * b[j])
            f[i] += d * b[j]
            f[j] -= d
    for i in range(a.shape[0]):
        for j in range(i + 1):
            total += a[i, j] * b[j] * b[i]
    for i in range(a.shape[0] - 1, 0, -1):
        b[i] = b[i] * a[i, i] + np.sum(a[i, :i] * b[:i])
    return total + np.sum(b[1::2] * b[0:-1:2]) + np.sum(f * f)


def sums(x: np.ndarray, y: np.ndarray) -> float:
    """Sums of all, of rows, of columns; products, the largest and the smallest."""
    long = np.sum(x * x) * np.max(x) + np.min(x)
    return long + np.sum(np.sum(y, axis=0) ** 2) + np.sum(np.max(y, axis=1) * np.prod(y[:, :3], axis=1))


def places(x: np.ndarray, at: np.ndarray, ends: np.ndarray) -> float:
    """Elements and bounds that data name: sums meet where nobody knows beforehand."""
    y = np.zeros(x.shape[0])
    for k in range(at.shape[0]):
        y[at[k]] += x[k % x.shape[0]] ** 2
    for i in range(ends.shape[0] - 1):
        for k in range(ends[i], ends[i + 1]):
            y[i] += x[at[k]] * x[i]
    top = np.zeros(7)
    np.maximum.at(top, at[:x.shape[0]] % 7, x)
    return np.sum(x[at] * y[at[::-1]]) + np.sum(top * top)


def decisions(x: np.ndarray, y: np.ndarray) -> float:
    """Branches of the host, and an end that data decide."""
    if np.sum(x) > 1.0:
        for i in range(1, x.shape[0]):
            x[i] = x[i] * x[i - 1]
    else:
        x[:] = x * x
    for _ in range(9):
        y[:] = np.cos(y) * y
        if np.sum(y) < 3.0:
            break
    return np.sum(x * y)


def halving(x: np.ndarray) -> float:
    """A loop of unknown length, whose derivative would keep one entry for each iteration."""
    while np.sum(x * x) > 1.0:
        x[:] = 0.9 * np.sin(x[::-1]) * np.cos(x)
    return np.sum(x)


def attention(a: np.ndarray, b: np.ndarray, v: np.ndarray) -> float:
    """Products, and the largest and the sum of rows."""
    scores = a @ b.T
    near = np.exp(scores - np.max(scores, axis=-1, keepdims=True))
    return np.sum((near / np.sum(near, axis=-1, keepdims=True)) @ v * (a @ v[0, :, np.newaxis])) + v[0] @ v[1]


def bodies(position: np.ndarray, velocity: np.ndarray, mass: np.ndarray) -> float:
    """Pairs: sums that go to both of them."""
    for _ in range(3):
        gap = position[np.newaxis] - position[:, np.newaxis]
        near = (np.sum(gap * gap, axis=2) + 0.1) ** -1.5
        velocity += 0.01 * np.sum(gap * near[:, :, np.newaxis] * mass[np.newaxis, :, np.newaxis], axis=1)
        position += 0.01 * velocity
    return np.sum(position * velocity)


def convolution(image: np.ndarray, kernel: np.ndarray) -> float:
    out = np.zeros((image.shape[0] - 2, image.shape[1] - 2, kernel.shape[2]))
    for i in range(out.shape[0]):
        for j in range(out.shape[1]):
            out[i, j] = np.sum(image[i:i + 3, j:j + 3, np.newaxis] * kernel, axis=(0, 1))
    return np.sum(np.maximum(out, 0.2) * out)


def short(x: np.ndarray, k: np.ndarray) -> float:
    """Single precision, whole numbers and truth values."""
    keep = (k % 3 == 1) | (x > np.float32(0.8))
    chosen = np.where(keep, np.sqrt(x), x * np.float32(2.0) ** (k // 2))
    return np.sum(np.clip(chosen, np.float32(0.3), np.float32(6.0)) * x, dtype=np.float32)


def waves(x: np.ndarray, z: np.ndarray, at: np.ndarray) -> float:
    """Complex numbers: functions of them, sums that meet, long sums, products, both parts."""
    w = np.exp(1j * x) * np.sqrt(z) + z ** 2 / (2.0 + np.conj(z)) - np.tanh(z) * np.log(z)
    y = np.zeros_like(z)
    for k in range(at.shape[0]):
        y[at[k]] += w[k] * z[at[k]]
    total = np.sum(w) * np.prod(z[:5]) + np.sum(np.sin(y) * np.arctan(z))
    return np.real(total) + np.imag(total) ** 2 + np.sum(np.abs(y) * np.angle(w))


def _cases() -> dict[str, DeviceCase]:
    rng = np.random.default_rng(3)
    at = rng.integers(0, 40, 90)
    return {
        "stencil": DeviceCase(stencil, (rng.random((20, 23)), rng.random((20, 23)), 3)),
        "rows": DeviceCase(rows, (rng.random((9, 300)), rng.random(300))),
        "triangle": DeviceCase(triangle, (rng.random((40, 40)) * 0.1, rng.random(40))),
        "sums": DeviceCase(sums, (rng.random(17_000), rng.random((6, 40)))),
        "places": DeviceCase(places, (rng.random(40), at, np.array([0, 3, 3, 40, 90]))),
        "decisions": DeviceCase(decisions, (rng.random(30), rng.random(30))),
        "attention": DeviceCase(attention, (rng.random((3, 40)), rng.random((40, 40)), rng.random((40, 40)))),
        "bodies": DeviceCase(bodies, (rng.random((12, 3)), rng.random((12, 3)), rng.random(12))),
        "convolution": DeviceCase(convolution, (rng.random((9, 8)), rng.random((3, 3, 5)))),
        "waves": DeviceCase(waves, (rng.random(40), rng.random(40) + 1j * (rng.random(40) - 0.5), at[:40])),
        "short": DeviceCase(short, (rng.random(600, dtype=np.float32), rng.integers(-2, 5, 600))),
    }


CASES = _cases()
