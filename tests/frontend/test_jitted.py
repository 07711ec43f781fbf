"""Functions that numba compiles, made outside and inside of a function. numba need not be there: classes of its names
do what its own do."""
from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest

from sdfgad.errors import UnsupportedError
from sdfgad.frontend import parse
from tests.frontend.checking import check_both_modes
from tests.frontend.test_progress_bars import of_package


@of_package("numba.core.decorators")
def njit(given=None, **options):
    return given if callable(given) else njit


@of_package("numba.np.ufunc.dufunc")
class DUFunc:
    def __init__(self, function, *types):
        self.__wrapped__, self.types, self._frozen = function, list(types), bool(types)
        self.nin = function.__code__.co_argcount

    def __call__(self, *arguments):
        return np.vectorize(self.__wrapped__, otypes=[float])(*arguments)[()]


@of_package("numba.np.ufunc.decorators")
def vectorize(function):
    return DUFunc(function)


@of_package("numba.np.ufunc.gufunc")
class GUFunc:
    def __init__(self, function, inputs, outputs, *types, arrays=()):
        self.__wrapped__, self.types, self._frozen = function, list(types), bool(types)
        known = [SimpleNamespace(args=tuple(SimpleNamespace(ndim=int(a)) for a in arrays))] if arrays else []
        self.gufunc_builder = SimpleNamespace(sin=inputs, sout=outputs, _sigs=known)
        self.boxed = arrays or [bool(a) for a in inputs]

    def __call__(self, *given):
        axes = [*self.gufunc_builder.sin, *self.gufunc_builder.sout]
        inputs = [np.asarray(a) for a in given[:len(self.gufunc_builder.sin)]]
        loops = np.broadcast_shapes(*(a.shape[:a.ndim - len(s)] for a, s in zip(inputs, axes, strict=False)))
        sizes = {n: s for a, names in zip(inputs, axes, strict=False) for n, s in zip(names, a.shape[a.ndim - len(
            names):], strict=True)}
        inputs = [np.broadcast_to(a, (*loops, *a.shape[a.ndim - len(s):])) for a, s in zip(inputs, axes, strict=False)]
        outs = [*given[len(inputs):]] or [np.empty((*loops, *(sizes[n] for n in axes[-1])))]
        for at in np.ndindex(loops):
            rows = [a[at] if s else np.reshape(a[at], 1) if box else a[at]
                    for a, s, box in zip(inputs, axes, self.boxed, strict=False)]
            self.__wrapped__(*rows, *(o[at] if axes[-1] else o[(*at, None)] for o in outs))
        return None if len(given) > len(inputs) else outs[0][()]


def larger(a, b):
    if a > b:
        return a * b
    return a + b


def averaged(a, width, r):
    total, count = 0.0, width[0]
    for i in range(count):
        total += a[i]
        r[i] = total / (i + 1)
    for i in range(count, len(a)):
        total += a[i] - a[i - count]
        r[i] = total / count


def inner_product(a, b, r):
    r[0] = 0.0
    for i in range(len(a)):
        r[0] += a[i] * b[i]


def scaled(a, b, r):
    for i in range(len(a)):
        r[i] = a[i] * b


of_numbers, of_doubles, of_singles = DUFunc(larger), DUFunc(larger, "dd->d"), DUFunc(larger, "ff->f")
moving = GUFunc(averaged, [("n",), ()], [("n",)], "dl->d", arrays=(1, 1, 1))
dot = GUFunc(inner_product, [("n",), ("n",)], [()], "dd->d", arrays=(1, 1, 1))
scale = GUFunc(scaled, [("n",), ()], [("n",)])


def made_inside(x):
    @njit(cache=True, parallel=True)
    def square(y):
        return y * y

    @njit("float64(float64)", fastmath=True)
    def twice(y):
        return y + y

    @vectorize
    def least(a, b):
        return min(a, b) * b

    return np.sum(square(x)) + np.sum(njit(lambda y: y * np.sin(y))(twice(x))) + np.sum(least(x, 0.8))


def of_elements(x):
    return np.sum(of_numbers(x, x[::-1])) * np.sum(of_doubles(np.outer(x, x), x)) + of_doubles(x[0], 2)


def of_rows(x):
    blocks, sums, rows = np.outer(x, x), np.zeros(x.shape[0]), np.zeros((2, x.shape[0]))
    dot(blocks, x, sums)
    scale(blocks[:2], x[:2], rows)
    return np.sum(moving(blocks, 2)[1:]) * dot(x, x) + np.sum(dot(blocks, x) * sums) + np.sum(rows * rows)


@pytest.mark.parametrize("fn", [made_inside, of_elements, of_rows])
def test_functions_that_numba_compiles(fn):
    check_both_modes(fn, (np.array([0.9, 0.4, 1.7, 1.2]),))


@of_package("numba.stencils.stencil")
class StencilFunc:
    def __call__(self, x):
        return x


stencil = StencilFunc()


@pytest.mark.parametrize("fn, told", [
    (lambda x: np.sum(of_singles(x, x)), "without a signature of float64"),
    (lambda x: np.sum(scale(x, 2.0)), "without a signature of these types"),
    (lambda x: np.sum(dot(x, x[1:])), "arguments of these shapes"),
    (lambda x: np.sum(stencil(x)), "a function of numba.stencil"),
    (lambda x: njit(lambda y: y, locals={"y": "float32"})(x).sum(), "types of local names"),
])
def test_what_numba_would_convert_is_refused(fn, told):
    with pytest.raises(UnsupportedError, match=told):
        parse(fn, (np.ones(3),), {})
