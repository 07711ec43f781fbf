"""Language constructs and NumPy functions: each small program gives NumPy's value, dtype and changed arguments."""
from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from tests.frontend.checking import check

A34 = np.arange(12.0).reshape(3, 4) / 7 - 0.6
A44 = np.cos(np.arange(16.0)).reshape(4, 4)
V4 = np.array([0.3, -0.7, 1.1, 0.4])
V6 = np.array([0.3, 0.7, 1.1, -0.4, 0.9, 0.6])
F6 = V6.astype(np.float32)
I6 = np.array([0, 2, 2, 5, 1, 0])
Z3 = np.array([0.3 + 1j, 0.7 - 0.2j, -1.1 + 0.5j])
SCALE = 2.5
WEIGHTS = np.array([0.5, 1.0, 2.0, 4.0])
CONFIG = (2, 3, "mean")

CASES: list[tuple[Callable[..., Any], tuple[Any, ...]]] = []


def case(*arguments: Any) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    def add(fn: Callable[..., Any]) -> Callable[..., Any]:
        CASES.append((fn, arguments))
        return fn

    return add


# control flow

@case(V6, 4)
def range_forms(x, n):
    s = 0.0
    for i in range(n):
        s += x[i]
    for i in range(1, n):
        s += 2 * x[i]
    for i in range(5, 0, -2):
        s += 3 * x[i]
    for i in range(n, n):
        s += 100.0
    return s, i


@case(V6)
def triangular(x):
    s = 0.0
    for i in range(6):
        for j in range(i):
            s += x[i] * x[j]
        for j in range(i, 6):
            s -= x[j]
    return s


@case(V6)
def while_with_counter(x):
    k = 0
    s = 0.0
    while k < 5 and s < 100:
        s = s + x[k]
        k += 1
    return s, k


@case(V6)
def while_true_break(x):
    s = 1.0
    n = 0
    while True:
        s = s * 1.5 + x[0]
        n += 1
        if s > 9:
            break
    return s, n


@case(V6)
def int_then_float(x):
    s = 0
    udiff = 1
    n = 0
    while udiff > 0.01:
        s = s + x[0]
        udiff = udiff / 2.0
        n += 1
    return s, udiff, n


@case(V6)
def continue_in_loop(x):
    s = 0.0
    for i in range(6):
        if x[i] < 0:
            continue
        s += x[i]
        if s > 2.0:
            continue
        s *= 1.1
    return s


@case(V6)
def break_nested(x):
    s = 0.0
    for i in range(4):
        for j in range(6):
            if x[j] < i - 1.5:
                break
            s += x[j] * i
        if s > 3:
            break
        s += 0.25
    return s


@case(V6)
def for_else(x):
    for i in range(6):
        if x[i] > 5:
            r = 1.0
            break
    else:
        r = x[0]
    return r


@case(V6)
def for_else_taken(x):
    r = 0.0
    for i in range(6):
        if x[i] < 0:
            r = x[i]
            break
    else:
        r = 5.0
    return r


@case(V6)
def early_return(x):
    if x[0] > 0.5:
        return x[1] * 2
    y = x * 2
    if y[1] > 1:
        return y[2]
    return y.sum()


@case(V6)
def return_in_loop(x):
    for i in range(6):
        if x[i] < 0:
            return x[i] * 10
    return 1.0


@case(V6)
def return_in_nested_loop(x):
    s = 0.0
    for i in range(6):
        for j in range(6):
            s += x[i] * x[j]
            if s > 1.3:
                return s * i
        s += 0.01
    return s


@case(V6)
def return_index(x):
    for i in range(6):
        if x[i] < 0:
            return i
    return -1


@case(V6)
def return_array_in_loop(x):
    y = x.copy()
    for i in range(5):
        y = y * 1.5
        if y[0] > 1.0:
            return y
    return x


@case(V6)
def conditional_expression(x):
    a = x[0] if x[1] > 0.5 else x[2]
    b = x if x[3] > 0 else x * 2
    return a + b.sum()


@case(V6)
def guarded_index(x):
    s = 0.0
    for i in range(6):
        if i > 0 and x[i - 1] > 0:
            s += x[i]
        if i == 5 or x[i + 1] < 0:
            s -= x[i]
    return s


@case(V6)
def chained_comparison(x):
    n = 0
    for i in range(6):
        if 0 < x[i] <= 0.7:
            n += 1
    return n


@case(V6, True, None, "a")
def compile_time_branches(x, flag, option, mode):
    if flag and option is None:
        y = x * 2
    else:
        y = undefined_name  # noqa: F821
    if mode == "b":
        y = y + 1
    elif mode in ("a", "c"):
        y = y - 1
    return y


@case(V6)
def if_elif_else(x):
    y = np.zeros(6)
    for i in range(6):
        if x[i] < 0:
            t = -x[i]
        elif x[i] < 0.5:
            t = x[i] * x[i]
        else:
            t = 1.0
        y[i] = t
    return y


@case(V6)
def branch_on_index(x):
    y = np.empty(6)
    for i in range(6):
        if i == 0:
            y[i] = x[i]
        elif i < 3:
            y[i] = y[i - 1] + x[i]
        else:
            y[i] = y[i - 1] * x[i]
    return y


@case(V6)
def branch_writes_array(x):
    if x[0] > 0:
        x[1:3] = 5.0
        y = x * 1
    else:
        y = x + 1
    return y


@case(V6)
def int_phi(x):
    k = 0
    if x[0] > 0:
        k = 2
    return x[k] + k


@case(V6)
def loop_variable_after(x):
    for i in range(3):
        pass
    for j in range(2, 9, 3):
        pass
    return x[i] + j


@case(V6)
def last_value_after_loop(x):
    for i in range(6):
        t = x[i] * 2
        v = x[i:]
    return t + v[0]


@case(A34)
def iterate_rows(A):
    s = np.zeros(4)
    for row in A:
        s += row * row
    for k, row in enumerate(A):
        s = s + k * row
    for r, q in zip(A, A[::-1]):
        s -= r * q
    return s


@case(V6)
def iterate_lists(x):
    s = 0.0
    for c in [1.0, 2.0]:
        s += c * x[0]
    for k, c in enumerate((0.5, 0.25), start=2):
        s += c * x[k]
    for a, b in zip((1, 2), [3.0, 4.0]):
        s += a * b * x[a]
    for i in reversed(range(3)):
        s = s * 2 + x[i]
    return s


@case(V6)
def comprehension(x):
    parts = [x[i] * i for i in range(4) if i != 2]
    return np.stack(parts), sum([c for c in parts])


@case(V6)
def list_building(x):
    out = []
    for i in [0, 1, 2]:
        out.append(x[i] * 2)
    out += [x[3]]
    return np.array(out)


@case(V6)
def unrolled_fallback(x):
    t = 0.0
    for i in range(4):
        y = np.zeros(2 ** i)
        y[:] = x[i]
        t += y.sum()
    return t


@case(V6)
def list_in_range_loop(x):
    out = []
    for i in range(4):
        out.append(x[i] + i)
    return np.array(out)


@case(V6)
def tuple_state(x):
    a, b = x[0], x[1]
    for i in range(5):
        a, b = b, a + b
    return a, b


@case(V6)
def swap_buffers(x):
    u = x.copy()
    un = np.zeros(6)
    for t in range(5):
        un[1:-1] = u[1:-1] + 0.1 * (u[2:] - u[:-2])
        u, un = un, u
    return u + 2 * un


@case(V6, np.zeros(6))
def swap_arguments(u, un):
    for t in range(3):
        un[:] = u * 1.5
        u, un = un, u
    return u


@case(V6)
def rebinding_array(x):
    for t in range(3):
        x = x * 2 - x[0]
    return x


@case(V6)
def rebinding_after_update(x):
    y = x
    for t in range(3):
        y = y * 2
        y[0] = 1.0
    return y


@case(V6)
def previous_row(x):
    prev = x[0]
    s = 0.0
    for i in range(1, 6):
        s += x[i] - prev
        prev = x[i]
    return s


@case(A34)
def previous_array_row(A):
    prev = A[0]
    s = np.zeros(4)
    for i in range(1, 3):
        s = s + A[i] * prev
        prev = A[i]
    return s


@case(V6)
def shape_changes(x):
    while x.shape[0] > 1:
        n = x.shape[0] // 2
        x = x[:n] + x[n:2 * n]
    return x[0]


@case(V6)
def pass_and_docstring(x):
    """A docstring."""
    pass
    return x[...] * 1


@case(V6)
def assert_and_del(x):
    assert x.shape[0] == 6, "six"
    y = x * 2
    z = y + 1
    del y
    return z


@case(V6)
def errstate(x):
    with np.errstate(divide="ignore", invalid="ignore"):
        y = np.log(x)
        if x[0] > 0:
            y = y * 2
    return y


# functions

def helper(a, b=2.0, *, scale=1.0):
    if b > 100:
        return a
    c = a * b
    return c * scale + SCALE


def several(a):
    return a[0], a[1:] * 2


def add_to(a, v):
    a += v


def relu(x):
    return np.maximum(x, 0)


def factorial_like(x, n):
    return x if n == 0 else x * factorial_like(x, n - 1)


@case(V6)
def helper_calls(x):
    y = helper(x) + helper(x, 3.0) + helper(b=1.5, a=x, scale=x[0])
    first, rest = several(y)
    add_to(y, first)
    return relu(y), rest


@case(V6)
def recursion(x):
    return factorial_like(x, 4)


@case(V6)
def nested_functions(x):
    k = 3.0

    def inner(v, w=k):
        return v * w + x[0]

    square = lambda v: v * v  # noqa: E731
    return inner(square(x)) + inner(2.0, 1.0)


def _closure(factor: float, table: np.ndarray) -> Callable[..., Any]:
    def scaled(x):
        return x * factor + table[0]

    return scaled


CASES.append((_closure(1.5, np.array([3.0, 4.0])), (V6,)))
CASES.append((lambda x: x * 2 + np.sin(x), (V6,)))


@case(V6)
def module_constants(x):
    n, m, mode = CONFIG
    y = x[:4] * WEIGHTS * SCALE
    return y[n] + m if mode == "mean" else y[0]


@case(V6, (V4, A34), [V6 * 2, 3.0])
def nested_arguments(x, pair, items):
    v, m = pair
    m[0] += v
    return x + items[0] * items[1], m @ v


@case(V6)
def star_arguments(x):
    def total(*parts):
        s = 0.0
        for p in parts:
            s = s + p
        return s

    args = (x[0], x[1])
    return total(*args, x[2])


# numbers

@case(V6, 1.5, np.float32(2.5), 3)
def scalars(x, a, b, n):
    return a * b, a * n, x * a, x * b, n / 2, n // 2, n ** 2, a ** 2, b * n, a / n, -a, +b


@case(F6, 1.5, np.float64(2.5))
def weak_and_strong(x, a, b):
    return x * a, x * b, x + 1, x * np.float32(0.1), x.sum() * a, x.sum() * 2, x[0] * b, np.sqrt(x) + 0.1


@case(I6, 1.5, F6)
def integer_promotion(i, a, f):
    return i + 1, i * a, i / 2, i // 2, i % 4, i ** 2, i * f, np.sqrt(i), np.sin(i), -i, i.sum(), i.mean(), i > 1


@case(np.array([True, False, True]), V6)
def booleans(b, x):
    return b + b, b * 2, ~b, b & (x[:3] > 0), b | b, b ^ b, b.sum(), b.any(), b.all(), np.logical_not(x), b.mean(), b + 1.5


@case(np.array([1, 2, 3], np.int32), np.array([1.5, 2.5, 3.5], np.float32), np.array([1, 2, 3], np.uint8))
def small_types(i, f, u):
    return i * f, i + 1, u + 1, u * i, f / 2, i / 2, (i * 2.0), u.sum(), i.sum(), np.arange(3, dtype=np.int32) + i


@case(Z3, V4, 2.0 + 1j)
def complex_numbers(z, x, c):
    return (z * c, z.real + x[:3], z.imag, np.conj(z), abs(z), z * 2, z ** 2, np.exp(z), z.conj() * x[:3], z.sum(),
            z / (1 + 2j), 1j * x, np.abs(z).sum(), z.T, np.real(z), np.imag(x), np.sqrt(z))


@case(Z3)
def complex_scalar(z):
    s = 0j
    for k in range(3):
        s += z[k] * z[k].conjugate()
        if abs(z[k]) < 1:
            s = -s
    return s, complex(s.real, 1.0)


@case(V6)
def conversions(x):
    k = int(x[2] * 3)
    return (float(x[0]), k, x[k], bool(x[0] > 1), x.astype(np.float32), x.astype(int), np.float32(x[0]), np.int64(x[2]),
            x.astype("float32").dtype == np.float32, x[1:2].item(), int(2.7), float(3))


@case(V6)
def math_functions(x):
    return (math.sqrt(x[0]), math.exp(x[1]) * x, math.pi, math.sin(1.0), math.floor(x[2]), math.ceil(x[2]),
            math.atan2(x[0], x[1]), math.log(x[2]), math.pow(x[0], 2), math.fabs(x[3]), math.hypot(x[0], x[1]))


@case(F6)
def python_floats_stay_weak(x):
    h = math.sqrt(2.0 * float(x[0]) + 1)
    t = 0.5
    for k in range(2):
        t = t * 0.5
    return x * h, x * t, x * float(x[1])


@case(V6)
def builtins_on_scalars(x):
    return (max(x[0], x[1]), min(x[0], x[1], 0.1), max(3, 4), abs(x[3]), sum((x[0], x[1], 2)), min([x[0], x[2]]), len(x),
            max(x), min(x), sum(x), round(2.6), divmod(7, 3), pow(x[0], 2))


@case(V6, 3)
def integer_arithmetic(x, n):
    s = 0.0
    for i in range(n):
        j = 2 * i + 1
        k = (j - 1) // 2
        m = j % 2
        s += x[j - i] * k + m + i ** 2 + (-i) + abs(i - 2) + max(i, 1) + i / 2
    return s


@case(V6, I6)
def data_integers(x, idx):
    k = idx[1]
    s = x[k]
    for i in range(5):
        lo = idx[i]
        s += x[lo] * lo + x[lo - 1]
    m = idx[3] + 1
    return s, k * 2, m / 2, x[:k].sum()


@case(V6, I6)
def data_integers_written(x, idx):
    k = idx[1]
    idx[1] = 4
    s = x[k] + x[idx[1]]
    for i in range(3):
        k = idx[i]
        idx[i + 1] = (k + 1) % 6
        s += x[k]
    return s


# elementwise functions

@case(np.abs(V6) + 0.1)
def ufuncs(x):
    return [np.sqrt(x), np.cbrt(x), np.exp(x), np.exp2(x), np.expm1(x), np.log(x), np.log2(x), np.log10(x), np.log1p(x),
            np.sin(x), np.cos(x), np.tan(x), np.arcsin(x / 3), np.arccos(x / 3), np.arctan(x), np.sinh(x), np.cosh(x),
            np.tanh(x), np.arcsinh(x), np.arccosh(x + 1), np.arctanh(x / 3), np.square(x), np.reciprocal(x),
            np.negative(x), np.positive(x), np.absolute(x), np.fabs(x), np.sign(x - 0.5), np.floor(x), np.ceil(x),
            np.trunc(x), np.rint(x), np.deg2rad(x), np.rad2deg(x), np.radians(x), np.sinc(x), np.round(x),
            np.heaviside(x - 0.5, 0.5), np.isnan(x), np.isfinite(x), np.isinf(x), np.nan_to_num(x)]


@case(V6, V6[::-1].copy())
def binary_ufuncs(x, y):
    return [np.add(x, y), np.subtract(x, y), np.multiply(x, y), np.divide(x, y), np.power(np.abs(x), y),
            np.maximum(x, y), np.minimum(x, y), np.fmax(x, y), np.fmin(x, y), np.arctan2(x, y), np.hypot(x, y),
            np.copysign(x, y), np.floor_divide(x, y), np.mod(x, y), np.remainder(x, y), np.logaddexp(x, y),
            np.less(x, y), np.greater_equal(x, y), np.equal(x, y), np.logical_and(x > 0, y > 0), x // 0.3, x % 0.3, 2 ** x]


@case(V6, np.array([np.nan, 1.0, -np.inf, np.inf, 0.0, 2.0]))
def special_values(x, y):
    return [np.maximum(x, y), np.minimum(x, y), y.max(), np.max(x), np.isnan(y), np.isinf(y), y > 0, np.where(y > 0, y, x),
            np.fmax(x, y), np.clip(y, -1, 1), y == y, np.sqrt(y), y.sum()]


@case(V6)
def out_arguments(x):
    y = np.empty(6)
    np.multiply(x, 2, out=y)
    np.add(y, x, y)
    z = np.zeros_like(x)
    np.sqrt(np.abs(y), out=z)
    np.copyto(y, z)
    np.sum(np.ones((6, 3)), axis=1, out=z)
    z.fill(3.0)
    return y, z


@case(V6)
def where_and_clip(x):
    return (np.where(x > 0.5, x, 0), np.where(x > 0, np.log(np.abs(x)), -1.0), np.clip(x, 0, 0.8), x.clip(0.1, None),
            np.clip(x, None, 0.5), np.where(True, x, 2 * x), np.clip(x, -x, x + 1))


# reductions

@case(A34)
def reductions(A):
    return [A.sum(), A.sum(axis=0), A.sum(1), np.sum(A, axis=-1, keepdims=True), A.mean(), A.mean(axis=0),
            np.mean(A, 1, keepdims=True), A.max(), A.max(axis=0), np.min(A, axis=1), A.min(), A.prod(), A.prod(axis=0),
            np.prod(A, axis=1, keepdims=True), A.std(), A.std(axis=0), A.var(axis=1), np.var(A, ddof=1), A.cumsum(),
            np.cumsum(A, axis=0), np.cumsum(A, axis=1), np.cumprod(A, axis=1), np.amax(A), np.ptp(A), np.average(A),
            A.argmax(), A.argmin(), np.argmax(A, axis=0), np.argmin(A, axis=1), np.count_nonzero(A > 0), (A > 0).any(),
            (A > 0).all(axis=0), np.any(A > 1, axis=1), A.trace(), np.sum(A, axis=(0, 1)), np.sum(A, initial=2.0),
            np.linalg.norm(A), np.linalg.norm(A, axis=0), np.linalg.norm(A[0]), np.average(A, axis=0, weights=A * A + 1)]


@case(np.arange(24.0).reshape(2, 3, 4))
def reductions_3d(A):
    return [A.sum(axis=(0, 2)), A.max(axis=(1, 2), keepdims=True), A.mean(axis=1), A.sum(axis=-1), np.std(A, axis=0)]


# shapes

@case(A34)
def shapes(A):
    n, m = A.shape
    return [A.T, A.reshape(4, 3), A.reshape(-1), A.ravel(), A.flatten(), A.T.reshape(3, 4), A[:, None, :] * A[None],
            A[np.newaxis, 1], np.expand_dims(A, 1), np.squeeze(A[None]), A.transpose(1, 0), np.swapaxes(A, 0, 1),
            np.moveaxis(A, 0, 1), np.flip(A), np.flip(A, 0), A[::-1, ::2], np.fliplr(A), np.flipud(A), np.rot90(A),
            np.broadcast_to(A[0], (3, 4)) + 1, A.reshape(2, 2, 3).sum(axis=1), A.reshape((3, 2, 2)), n * m, A.size, A.ndim,
            np.atleast_2d(A[0]), np.reshape(A, (4, -1)), A.reshape(A.shape[0], -1), np.ravel(A.T), A.reshape(4, 3, order="F")]


@case(A34, V4)
def joins(A, v):
    return [np.concatenate((A, A)), np.concatenate([A, A[:, :2]], axis=1), np.stack((v, v * 2)), np.stack([v, v], axis=1),
            np.hstack((v, v)), np.hstack((A, A)), np.vstack((A, v)), np.column_stack((v, v)), np.append(v, v[0]),
            np.repeat(v, 3), np.repeat(A, 2, axis=1), np.tile(v, 2), np.tile(A, (2, 2)), np.roll(v, 1), np.roll(A, -1, axis=0),
            np.roll(A, 1, axis=1), np.roll(A, 5), np.pad(v, 1), np.pad(A, ((1, 0), (0, 2))), np.outer(v, v), np.kron(v, v),
            np.kron(A, A), np.diff(v), np.diff(A, axis=0), np.split(v, 2)[1], np.array_split(v, [1, 3])[1], np.dstack((A, A)),
            np.cross(v[:3], v[1:]), np.gradient(v), np.trapezoid(v), np.ediff1d(v), np.roll(A, (1, 1), axis=(0, 1))]


@case(A44, V4)
def matrix_parts(A, v):
    B = A.copy()
    np.fill_diagonal(B, 2.0)
    return [np.diag(A), np.diag(v), np.diag(A, 1), np.diag(v, -1), np.triu(A), np.tril(A, -1), np.triu(A, 1), np.trace(A),
            np.eye(3), np.eye(2, 4, 1), np.identity(3), np.tri(3), B, A.diagonal(), np.diagonal(A, -1)]


@case(3, V6)
def creation(n, x):
    return [np.zeros(n), np.zeros((2, n)), np.ones(n, dtype=np.float32), np.full((2, 2), 7.0), np.full(3, 2), np.zeros_like(x),
            np.ones_like(x, dtype=int), np.full_like(x, 2), np.arange(n), np.arange(1, 7, 2), np.arange(0.0, 1.0, 0.25),
            np.arange(5, 0, -1), np.linspace(0, 1, 5), np.linspace(x[0], x[1], 4), np.linspace(0, 1, 4, endpoint=False),
            np.array([1, 2, 3]), np.array([[1.0, 2], [3, 4]]), np.array([x[0], 2.0]), np.array([x, x * 2]), np.array(3.0),
            np.asarray(x), np.meshgrid(np.arange(2), np.arange(3)), np.meshgrid(x, x[:2], indexing="ij"), np.mgrid[0:2, 0:3],
            np.mgrid[0:1:3j], np.indices((2, 3)), np.array([[x[0], 1], [x[1], x[2]]]), np.array((1, 2.5)), np.ogrid[0:2, 0:3][1],
            np.arange(3, dtype=np.float32), np.ndarray((2,), dtype=np.float64) * 0, np.logspace(0, 1, 3)]


@case(V6)
def literal_written(x):
    w = np.array([1.0, 2.0, 3.0])
    w[1] = x[0]
    idx = np.array([0, 1, 2])
    idx[0] = 3
    return w, x[idx]


# indexing

@case(A34, V6, I6)
def gathers(A, x, idx):
    return [x[idx], A[:, [0, 2]], A[[0, 2]], A[[0, 1], [1, 2]], A[1, [0, 3]], x[idx[1:3]], x[[1, -1]], A[idx[:2], 1:3],
            np.take(x, idx), A[:, None, [0, 1]], x[idx.reshape(2, 3)], x[-idx], A[idx[:3, None] % 3, idx[:2]], x[idx % 3 + 1],
            np.take(A, [0, 1], axis=1)]


@case(A34, V6, I6)
def scatters(A, x, idx):
    y = np.zeros(6)
    y[idx] = x
    y[idx] += 1.0
    y[[0, 1]] = 7.0
    y[[1, 1]] = [3.0, 4.0]
    A[:, [0, 2]] *= 2
    A[[0, 1], [1, 2]] = 5.0
    z = np.zeros((6, 2))
    np.add.at(z, idx, x[:, None] * np.ones(2))
    np.subtract.at(y, idx, 0.5)
    np.add.at(y, (idx,), x)
    z[idx, 1] = x
    return y, z


@case(V6, A34)
def masks(x, A):
    y = x.copy()
    y[y > 0.5] = 0.0
    m = x > 0.5
    y[m] = x[m] * 2 + 1
    y[~m] += 10
    A[A < 0] = 1.5
    A[A > 0.5] *= 2.0
    z = np.zeros(6)
    z[m] = np.sqrt(x[m])
    w = x[m]
    s = w.sum() + w.mean() + np.max(x[m]) + (w * w).sum() + len(w) + w.size + np.std(w)
    rows = A[:, 0] > 0
    A[rows] = 3.0
    return y, z, s, np.mean(x[x > 0]), x[m].min(), np.sum(x[m] > 0.6), np.count_nonzero(x[m]), A[rows].sum(axis=0)


@case(A34)
def slices(A):
    return [A[1:, :-1], A[-1], A[::2], A[::-1], A[1:100], A[5:], A[:, -2:], A[..., 0], A[0, ...], A[2:0:-1, 3:1:-1], A[-2:-1]]


@case(V6, 2)
def dynamic_slices(x, n):
    s = 0.0
    for i in range(6):
        s += x[:i].sum() + x[i:].sum() * 2 + np.sum(x[max(0, i - n):i + n]) * 3 + x[i:i + 1][0]
        s += (x[i::2]).sum() + x[:i][::-1].sum() + x[-i - 1:].sum()
    return s


@case(V6)
def dynamic_temporaries(x):
    s = 0.0
    for i in range(1, 6):
        t = x[:i] * 2
        u = np.exp(t)
        v = np.zeros(i)
        v += u
        s += np.dot(u, x[:i]) + v.max() + t[-1] + t[i - 1]
    return s


@case(A44, 0)
def symbolic_matrix_products(A, unused):
    s = 0.0
    for i in range(1, 4):
        s += (A[:i, :i] @ A[:i, 0]).sum() + (A[:i, :] @ A[:, :i]).sum() + A[0, :i] @ A[:i, 1]
        s += (A[0] @ A[:, :i]).sum()
    return s


# views and aliasing

@case(V6, A34)
def view_updates(x, A):
    v = x[1:4]
    v += 1
    w = v[::-1]
    w[0] = 100.0
    r = A.reshape(-1)
    r[3] = -5.0
    f = A.ravel()
    f[0] = 9.0
    t = A.T
    t[1] = 2.0
    c = A.flatten()
    c[:] = 0
    d = A.T.reshape(-1)
    d[:] = 1.0
    q = A[1][1:3]
    q *= 2
    np.diag(A)
    return x[3], A


@case(V6)
def overlapping_updates(x):
    x[1:] = x[:-1]
    x[:-1] += x[1:]
    x[::-1] = x * 1
    x[2:5] = x[1:4] * x[3:6]
    x[::2] = x[1::2]
    x[:3], x[3:] = x[3:] * 2, x[:3] * 3
    return x


@case(V6)
def alias_of_name(x):
    y = x
    y[0] = 5.0
    z = y
    z += 1
    w = x + 0
    w[0] = 0
    return x is not None, z


@case(V6)
def scalar_is_a_copy(x):
    t = x[0]
    x[0] = 9.0
    u = t
    t += 1
    return t, u, x[0]


@case(V6)
def chained_assignment(x):
    y = np.zeros(6)
    z = np.zeros(6)
    y[1:] = z[:-1] = x[:-1] * 2
    a = b = x * 3
    a[0] = 7
    return y, z, b


@case(A34)
def update_through_function(A):
    def row(M, i):
        return M[i]

    r = row(A, 1)
    r -= A[0]
    add_to(A[2], 1.0)
    return r


@case(np.array(2.5), V6)
def zero_dimensional(a, x):
    a[...] = a * 2
    a += 1
    b = np.zeros(())
    b[()] = x[0]
    c = b + 1
    return a * x, b, c


@case(V6)
def integer_in_place(x):
    n = np.zeros(6, dtype=int)
    n[:] = x * 3
    n += 1
    n[2] = 7.9
    x[0] = 3
    x //= 0.2
    x %= 3
    x **= 2
    n <<= 1
    return n, x


# linear algebra

@case(A34, A44, V4)
def products(A, B, v):
    return [A @ B, A @ v, v @ B, v @ v, np.dot(A, v), np.matmul(A, B), A.dot(B), B.T @ B, np.vdot(v, v), np.inner(v, v),
            np.inner(A, A), np.tensordot(A, B, 1), np.tensordot(A, A, ((0, 1), (0, 1))), np.einsum("ij,jk->ik", A, B),
            np.einsum("ij,j", A, v), np.einsum("ii", B), np.einsum("ij->ji", A), np.einsum("i,j->ij", v, v),
            np.einsum("ij,ij->", A, A), np.einsum("ij,jk,kl->il", A, B, B), np.linalg.multi_dot((A, B, v)), 2 * A @ B,
            np.einsum("ij,ij->i", A, A)]


@case(np.arange(24.0).reshape(2, 3, 4), np.arange(24.0).reshape(2, 4, 3), A44)
def batched_products(A, B, C):
    return [A @ B, A @ C, np.matmul(A, B[0]), np.einsum("bij,bjk->bik", A, B), np.tensordot(A, C, axes=1),
            np.einsum("bij,jk->bik", A, C), A[0] @ B]


@case(A44 + 5 * np.eye(4), V4, A44 @ A44.T + np.eye(4))
def systems(A, b, S):
    return [np.linalg.solve(A, b), np.linalg.solve(A, A.T), np.linalg.inv(A), np.linalg.cholesky(S)]


@case(Z3, V4)
def transforms(z, x):
    return [np.fft.fft(z), np.fft.ifft(z), np.fft.fft(x), np.fft.fft(np.stack((x, x))), np.fft.fft(np.ones((2, 3)), axis=0)]


@case(V6, A34)
def statistics(x, A):
    counts, edges = np.histogram(x, 3)
    weighted = np.histogram(x, bins=3, weights=x * 2)[0]
    return [np.sort(x), np.argsort(x), x[np.argsort(x)], np.cov(A), np.cov(A, rowvar=False), np.bincount(np.array([0, 2, 1]), minlength=3),
            counts, edges, weighted, np.corrcoef(A), np.interp(0.5, np.array([0.0, 1.0]), np.array([2.0, 3.0]))]


@case(V6)
def dtype_attributes(x):
    eps = np.finfo(x.dtype).eps
    return x * eps, np.zeros(2, x.dtype), np.finfo(np.float64).max > 1, x.dtype == np.float64


@case(np.zeros((0,)), np.zeros((0, 3)))
def empty_arrays(x, A):
    return x.sum(), x * 2, A.sum(axis=0), A @ np.ones(3), A.T @ A, np.concatenate((x, x)), A.reshape(3, 0)


@pytest.mark.parametrize("fn, arguments", CASES, ids=[c[0].__name__ for c in CASES])
def test_case(fn: Callable[..., Any], arguments: tuple[Any, ...]) -> None:
    check(fn, *arguments)
