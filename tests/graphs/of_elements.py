"""Programs of maps, loops, branches and calls."""
from __future__ import annotations

import math

import dace
import numpy as np

from tests.graphs.pairs import M, N, Pair, numbers

# maps and tasklets

@dace.program
def pointwise(x: dace.float64[N], y: dace.float64[N]):
    return np.sum(np.sin(x) * y + x / y - 2.0 * np.exp(-x))


def pointwise_twin(x, y):
    return np.sum(np.sin(x) * y + x / y - 2.0 * np.exp(-x))


@dace.program
def tasklet_map(x: dace.float64[N], y: dace.float64[N]):
    for i in dace.map[0:N]:
        with dace.tasklet:
            a << x[i]
            b >> y[i]
            t = a * a
            b = math.sin(t) + t / 2 if t > 1 else t ** 3


def tasklet_map_twin(x, y):
    for i in range(len(x)):
        t = x[i] * x[i]
        y[i] = np.sin(t) + t / 2 if t > 1 else t ** 3


@dace.program
def strided_maps(A: dace.float64[N, M]):
    B = np.zeros_like(A)
    for i, j in dace.map[0:N:2, 1:M:3]:
        B[i, j] = A[i, j] * A[i, j - 1]
    for i in dace.map[1:N - 1]:
        for j in dace.map[i:M]:
            B[i, j] += A[j % 3, i]
    return np.sum(B * A)


def strided_maps_twin(A):
    B = np.zeros_like(A)
    n, m = A.shape
    for i in range(0, n, 2):
        for j in range(1, m, 3):
            B[i, j] = A[i, j] * A[i, j - 1]
    for i in range(1, n - 1):
        for j in range(i, m):
            B[i, j] += A[j % 3, i]
    return np.sum(B * A)


@dace.program
def sum_by_wcr(x: dace.float64[N], s: dace.float64[1]):
    for i in dace.map[0:N]:
        with dace.tasklet:
            a << x[i]
            b >> s(1, lambda p, q: p + q)[0]
            b = a * a * a


def sum_by_wcr_twin(x, s):
    for i in range(len(x)):
        s[0] += x[i] * x[i] * x[i]


@dace.program
def product_and_extremes(x: dace.float64[N], s: dace.float64[3]):
    for i in dace.map[0:N]:
        with dace.tasklet:
            a << x[i]
            b >> s(1, lambda p, q: p * q)[0]
            c >> s(1, lambda p, q: max(p, q))[1]
            d >> s(1, lambda p, q: min(p, q))[2]
            b = a
            c = a * 2
            d = -a


def product_and_extremes_twin(x, s):
    for i in range(len(x)):
        s[0] *= x[i]
        s[1] = max(s[1], x[i] * 2)
        s[2] = min(s[2], -x[i])


@dace.program
def scattered(x: dace.float64[N], to: dace.int64[N], y: dace.float64[M]):
    for i in dace.map[0:N]:
        y[to[i]] += x[i] * x[i]


def scattered_twin(x, to, y):
    for i in range(len(x)):
        y[to[i]] += x[i] * x[i]


@dace.program
def gathered(x: dace.float64[N], where: dace.int64[M]):
    s = np.zeros((1,), dtype=np.float64)
    for i in range(M):
        k = where[i]
        s[0] = s[0] + np.sin(x[k]) * x[i]
    return s[0]


def gathered_twin(x, where):
    s = np.zeros((1,), dtype=np.float64)
    for i in range(len(where)):
        s[0] = s[0] + np.sin(x[where[i]]) * x[i]
    return s[0]


# control flow

@dace.program
def jacobi(A: dace.float64[N], B: dace.float64[N], steps: dace.int64):
    for t in range(1, steps):
        B[1:-1] = 0.3 * (A[:-2] + A[1:-1] + A[2:])
        A[1:-1] = 0.3 * B[1:-1] * (B[:-2] + B[1:-1] + B[2:])


def jacobi_twin(A, B, steps):
    for _ in range(1, steps):
        B[1:-1] = 0.3 * (A[:-2] + A[1:-1] + A[2:])
        A[1:-1] = 0.3 * B[1:-1] * (B[:-2] + B[1:-1] + B[2:])


@dace.program
def in_order(A: dace.float64[N, N]):
    for i in range(1, N - 1):
        for j in range(1, N - 1):
            A[i, j] = (A[i - 1, j] + A[i, j - 1] * A[i, j] + A[i + 1, j] + A[i, j + 1]) / 4.0


def in_order_twin(A):
    n = A.shape[0]
    for i in range(1, n - 1):
        for j in range(1, n - 1):
            A[i, j] = (A[i - 1, j] + A[i, j - 1] * A[i, j] + A[i + 1, j] + A[i, j + 1]) / 4.0


@dace.program
def backwards(x: dace.float64[N]):
    for i in range(N - 2, -1, -1):
        x[i] = x[i] * x[i + 1] + 1.0


def backwards_twin(x):
    for i in range(len(x) - 2, -1, -1):
        x[i] = x[i] * x[i + 1] + 1.0


@dace.program
def halved(x: dace.float64[N]):
    s = np.sum(x * x)
    while s > 0.5:
        s = s * 0.5 + 0.01 * x[0]
    return s


def halved_twin(x):
    s = np.sum(x * x)
    while s > 0.5:
        s = s * 0.5 + 0.01 * x[0]
    return s


@dace.program
def branches(x: dace.float64[N], mode: dace.int64):
    s = 0.0
    for i in range(N):
        if x[i] > 1.2:
            s += x[i] * x[i]
        elif x[i] > 0.8 and i > 1:
            s += 3.0 * x[i]
        else:
            s -= np.cos(x[i])
    if mode == 2:
        s = s * s
    return s


def branches_twin(x, mode):
    s = 0.0
    for i in range(len(x)):
        if x[i] > 1.2:
            s += x[i] * x[i]
        elif x[i] > 0.8 and i > 1:
            s += 3.0 * x[i]
        else:
            s -= np.cos(x[i])
    if mode == 2:
        s = s * s
    return s


@dace.program
def left_early(x: dace.float64[N]):
    s = 0.0
    for i in range(N):
        if x[i] < 0.7:
            continue
        s += x[i] * x[i]
        if s > 3.0:
            break
    return s


def left_early_twin(x):
    s = 0.0
    for i in range(len(x)):
        if x[i] < 0.7:
            continue
        s += x[i] * x[i]
        if s > 3.0:
            break
    return s


@dace.program
def counted_by_data(x: dace.float64[N], counts: dace.int64[N]):
    s = 0.0
    for i in range(N):
        k = 0
        while k < counts[i]:
            s = s * 0.9 + x[i]
            k = k + 1
    return s


def counted_by_data_twin(x, counts):
    s = 0.0
    for i in range(len(x)):
        k = 0
        while k < counts[i]:
            s = s * 0.9 + x[i]
            k = k + 1
    return s


@dace.program
def stopped_by_data(x: dace.float64[N]):
    s = 0.0
    i = 0
    while i < N and x[i] > 0.4:
        s += x[i] * x[i]
        i += 1
    return s


def stopped_by_data_twin(x):
    s = 0.0
    i = 0
    while i < len(x) and x[i] > 0.4:
        s += x[i] * x[i]
        i += 1
    return s


# nested calls, views

@dace.program
def square_into(a: dace.float64[M], out: dace.float64[M]):
    out[:] = a * a + 1.0


@dace.program
def calls(A: dace.float64[N, M]):
    B = np.empty_like(A)
    for i in range(N):
        square_into(A[i], B[i])
    return np.sum(B[1:] * A[:-1])


def calls_twin(A):
    B = A * A + 1.0
    return np.sum(B[1:] * A[:-1])


def scaled(a, factor):
    return factor * a


@dace.program
def calls_plain(x: dace.float64[N]):
    y = scaled(x, 2.0)
    z = scaled(y, x[0])
    return np.sum(z * x)


def calls_plain_twin(x):
    return np.sum(x[0] * 2.0 * x * x)


@dace.program
def reshaped(A: dace.float64[6, 4]):
    v = np.reshape(A, [24])
    w = np.reshape(v * v, [3, 8])
    return np.sum(w[1, :] * w[2, :]) + v[5]


def reshaped_twin(A):
    v = np.reshape(A, (24,))
    w = np.reshape(v * v, (3, 8))
    return np.sum(w[1, :] * w[2, :]) + v[5]


@dace.program
def slices(A: dace.float64[N, M]):
    row = A[1]
    block = A[1:3, ::2]
    return np.sum(block * block) * row[2] + np.sum(A[:, 0])


def slices_twin(A):
    row = A[1]
    block = A[1:3, ::2]
    return np.sum(block * block) * row[2] + np.sum(A[:, 0])


@dace.program
def written_slices(A: dace.float64[N, M], x: dace.float64[M]):
    A[0, :] = x * 2.0
    A[1:3, 1] += x[0]
    A[:, 0] = A[:, 1] * A[:, 2]


def written_slices_twin(A, x):
    A[0, :] = x * 2.0
    A[1:3, 1] += x[0]
    A[:, 0] = A[:, 1] * A[:, 2]


PAIRS = (
    Pair(pointwise, pointwise_twin, (numbers(5), numbers(5, seed=1))),
    Pair(tasklet_map, tasklet_map_twin, (numbers(5), numbers(5, seed=1)), "y"),
    Pair(strided_maps, strided_maps_twin, (numbers(5, 7),)),
    Pair(sum_by_wcr, sum_by_wcr_twin, (numbers(5), numbers(1)), "s"),
    Pair(product_and_extremes, product_and_extremes_twin, (numbers(5), np.array([0.7, 0.1, 0.2])), "s"),
    Pair(scattered, scattered_twin, (numbers(5), np.array([1, 3, 1, 0, 3]), numbers(4)), "y"),
    Pair(gathered, gathered_twin, (numbers(5), np.array([4, 0, 4]))),
    Pair(jacobi, jacobi_twin, (numbers(7), numbers(7, seed=1), 4), "A"),
    Pair(in_order, in_order_twin, (numbers(5, 5),), "A"),
    Pair(backwards, backwards_twin, (numbers(5),), "x"),
    Pair(halved, halved_twin, (numbers(4),)),
    Pair(branches, branches_twin, (numbers(8), 2)),
    Pair(left_early, left_early_twin, (numbers(9),)),
    Pair(counted_by_data, counted_by_data_twin, (numbers(4), np.array([2, 0, 3, 1]))),
    Pair(stopped_by_data, stopped_by_data_twin, (numbers(8),)),
    Pair(calls, calls_twin, (numbers(3, 4),)),
    Pair(calls_plain, calls_plain_twin, (numbers(4),)),
    Pair(reshaped, reshaped_twin, (numbers(6, 4),)),
    Pair(slices, slices_twin, (numbers(4, 5),)),
    Pair(written_slices, written_slices_twin, (numbers(4, 5), numbers(5)), "A"),
)
