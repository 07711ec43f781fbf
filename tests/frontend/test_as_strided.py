"""Views made of the strides of an array, wherever it lies in memory."""
from __future__ import annotations

import re

import numpy as np
import pytest
from numpy.lib.stride_tricks import as_strided

from sdfgad.errors import UnsupportedError
from sdfgad.frontend import parse
from tests.frontend.checking import check, check_both_modes

A = np.sin(np.arange(30.0)).reshape(5, 6)
IMAGES = np.cos(np.arange(72.0)).reshape(2, 1, 6, 6)


def blocks(a):
    return as_strided(a, shape=(3, 4, 3, 3), strides=a.strides + a.strides)


def patches(x):
    x = np.pad(x, ((0, 0), (0, 0), (1, 1), (1, 1)))
    n, c, h, w = x.shape
    sn, sc, sh, sw = x.strides
    size = (h - 3) // 2 + 1
    return as_strided(x, (n, size, size, c, 3, 3), (sn, 2 * sh, sw * 2, sc, sh, sw), writeable=False)


def frames(x):
    step = x.strides[0]
    return as_strided(x, shape=((x.size - 4) // 3 + 1, 4), strides=(3 * step, step))


def windows(x):
    x = np.concatenate([x[:1], x[1:] - 0.9 * x[:-1]])
    return as_strided(x, (x.size // 2 - 1, 4), (2 * x.itemsize, x.itemsize))


def of_bytes(a):
    b = a[:3] * 2.0 if a.ndim > 1 else np.tile(a, (3, 1))
    b = np.ascontiguousarray(b)
    row = b.shape[1] * b.itemsize
    return as_strided(b, (3,), (row + 8,)), as_strided(b[:, ::2], (2, 2, 2), (row, 16, row))


def of_copies(a):
    part = a[..., ::2]
    return [as_strided(p, (2, 2), (8, 8)) for p in (
        part.copy(), np.array(part), part.astype(float), part + 0, part[..., ::-1] * 1, np.ascontiguousarray(part),
        np.concatenate([part, part]), part if a.ndim > 1 else part.ravel(), np.where(part > 0, part, 1.0))]


def others(a):
    part = a[1:, ::2]
    return [as_strided(a, (5,), (a.strides[0] + a.strides[1],)), as_strided(a[0], (4, 6), (0, *a[0].strides)),
            as_strided(part, (2, 2, 3), (part.strides[0] * 2, *part.strides)), as_strided(a), as_strided(a, (0, 9))]


@pytest.mark.parametrize("fn, argument", [
    (blocks, A), (blocks, np.asfortranarray(A)), (blocks, A[::-1, ::-1]), (patches, IMAGES), (frames, A[0]),
    (frames, A[:, 2][::-1]), (others, A), (others, np.asfortranarray(A)),
    (windows, A[0]), (windows, A[:, 2][::-1]), (of_bytes, A), (of_bytes, A[0]), (of_bytes, np.asfortranarray(A)),
    (of_copies, A[0])])
def test_steps_lead_where_they_do_in_memory(fn, argument):
    check(fn, argument)


def test_derivatives_of_patches():
    check_both_modes(lambda x: np.sum(np.tanh(patches(x)) ** 2 * np.arange(3.0)), (IMAGES,))


@pytest.mark.parametrize("fn, text", [
    (lambda a: as_strided(a, (2, 6), (a.strides[0], a.strides[0])), "from one row into another"),
    (lambda a: as_strided(a, (5, 7), a.strides), "from one row into another"),
    (lambda a: as_strided(a.T + 1, (2, 5), (40, 8)), "40 as a stride"),
    (lambda a: as_strided(a.T, (2, 2), (4, 8)), "4 as a stride"),
    (lambda a: as_strided(np.ascontiguousarray(a), (2, 6), (44, 8)), "44 as a stride"),
    (lambda a: as_strided(np.ascontiguousarray(a), (2, 7), (48, 8)), "from one row into another"),
    (lambda a: as_strided(a, (2, 2), a.T.strides), "as a stride"),
    (lambda a: as_strided(a, (2,), a.strides), "1 sizes and 2 strides"),
    (lambda a: a * (2 if a.strides == (48, 8) else 1), "a comparison of strides"),
    (lambda a: a * (2 if 8 in a.strides else 1), "a comparison of strides"),
    (lambda a: a * (2 if isinstance(a.strides[0], int) else 1), "the class of"),
    (lambda a: a * (a.strides[0] // a.itemsize), "where an array or a number is needed"),
    (lambda a: (a, a.strides), "a value of type Stride")])
def test_bytes_in_memory_are_not_known(fn, text):
    with pytest.raises(UnsupportedError, match=re.escape(text)):
        parse(fn, (A,))
