"""Views that NumPy lets nobody write: refused as targets, copies of them and everything else taken as before."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from sdfgad.errors import UnsupportedError
from sdfgad.frontend import parse
from tests.frontend.checking import check

A = np.arange(9.0).reshape(3, 3)
X = np.arange(1.0, 4.0)
window = np.lib.stride_tricks.sliding_window_view

def diagonal(A, x):
    return np.diagonal(A)


def method(A, x):
    return A.diagonal(1)


def diag(A, x):
    return np.diag(A)


def of_a_result(A, x):
    return np.diagonal(A * A)


def spread(A, x):
    return np.broadcast_to(x, (2, 3))


def same_shape(A, x):
    return np.broadcast_to(x, (3,))


def windows(A, x):
    return window(x, 2)


def imaginary(A, x):
    return A.imag


def arrays(A, x):
    return np.broadcast_arrays(x, A)[0]


def turned(A, x):
    return np.broadcast_to(x, (2, 3)).T


def part(A, x):
    return np.diagonal(A)[1:]


def row(A, x):
    return np.broadcast_to(x, (1, 3)).ravel()


def more_axes(A, x):
    return np.diag(A)[None]


def real(A, x):
    return np.diagonal(A + 1j * A).real


def conjugate(A, x):
    return np.diagonal(A).conj()


def as_array(A, x):
    return np.asarray(np.diagonal(A))


def squeezed(A, x):
    return np.squeeze(window(A, (3, 3)))


def as_type(A, x):
    return np.diagonal(A).astype(float, copy=False)


def behind_loop(A, x):
    for k in range(2):
        last = window(x, 2)[k]
    return last


VIEWS = [diagonal, method, diag, of_a_result, spread, same_shape, windows, imaginary, arrays, turned, part, row,
         more_axes, real, conjugate, as_array, squeezed, as_type, behind_loop]


def elements(view, A, x):
    d = view(A, x)
    d[...] = 1.0
    return np.sum(A) + np.sum(d)


def masked(view, A, x):
    d = view(A, x)
    d[d > 1] = 1.0
    return np.sum(A) + np.sum(d)


def updated(view, A, x):
    d = view(A, x)
    d += 1.0
    return np.sum(A) + np.sum(d)


def out(view, A, x):
    d = view(A, x)
    np.multiply(d, 2.0, out=d)
    return np.sum(A) + np.sum(d)


def filled(view, A, x):
    d = view(A, x)
    d.fill(2.0)
    return np.sum(A) + np.sum(d)


def copied(view, A, x):
    d = view(A, x).copy()
    d[...] = d * 2.0
    return np.sum(A) + np.sum(d)


def refused_by_both(fn: Callable[..., Any], *arguments: Any) -> UnsupportedError:
    """NumPy does not run it, and neither does the front end."""
    with pytest.raises(ValueError, match="read-only"):
        fn(*(np.array(a) if isinstance(a, np.ndarray) else a for a in arguments))
    with pytest.raises(UnsupportedError, match="read-only") as caught:
        parse(fn, arguments)
    return caught.value


@pytest.mark.parametrize("view", VIEWS)
@pytest.mark.filterwarnings("ignore")
def test_no_view_is_written(view: Callable[..., Any]) -> None:
    if view is arrays:  # NumPy warns where it has the same element more than once
        with pytest.raises(UnsupportedError, match="read-only"):
            parse(elements, (view, A, X))
    else:
        for write in (elements, masked, updated, out, filled):
            error = refused_by_both(write, view, A, X)
            assert error.line == write.__code__.co_firstlineno + 2, write.__name__
    check(copied, view, A, X)


def products(A, x):
    np.matmul(A, x, out=np.diagonal(A))


def sums(A, x):
    np.add.at(np.diagonal(A), [0, 1], 1.0)


def in_a_row(A, x):
    np.broadcast_to(x, (3, 3)).sort()


def on_a_diagonal(A, x):
    np.fill_diagonal(np.broadcast_to(x, (3, 3)), 1.0)


def copies(A, x):
    np.copyto(np.diagonal(A), x)


def by_a_function(A, x):
    np.put(np.broadcast_to(x, (3,)), [0], 1.0)


def on_one_path(A, x):
    d = np.zeros(3)
    if x[0] > 0:
        d = np.diagonal(A)
    d[0] = 1.0


def in_a_later_iteration(A, x):
    d = np.zeros(3)
    for _ in range(3):
        d[0] = 1.0
        d = np.diagonal(A * x[0])


def either(A, x):
    d = np.diagonal(A) if x[0] > 0 else np.diagonal(A * A)
    d[0] = 1.0


@pytest.mark.parametrize("fn", [products, sums, in_a_row, on_a_diagonal, copies, by_a_function, on_one_path,
                                in_a_later_iteration, either])
def test_other_ways_to_write(fn: Callable[..., Any]) -> None:
    if fn is sums:  # NumPy forgets to look
        with pytest.raises(UnsupportedError, match="read-only"):
            parse(fn, (A, X))
    else:
        refused_by_both(fn, A, X)


def bound_again(A, x):
    d = np.diagonal(A * A)
    total = 0.0
    for k in range(4):
        d = d * 2.0
        d[1:] = d[1:] + x[0]
        total += np.sum(d)
    np.fill_diagonal(A, x)
    B = np.einsum("ii->i", A)
    B[1] = 7.0
    same, other = np.broadcast_arrays(A, x)
    same[0, 1] = 3.0
    return total, A, other


def test_what_may_be_written() -> None:
    check(bound_again, A, X)
