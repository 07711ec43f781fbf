"""Arrays used in ways that are not taken: message, file and line."""
from __future__ import annotations

import itertools
from collections.abc import Callable
from functools import reduce
from typing import Any

import numpy as np
import pytest
from scipy import sparse

from tests.frontend.refusing import I6, TABLE, A, Refusal, X, Z, check_refusal, collector

MASKED = np.ma.array(X, mask=X > 0)

CASES: list[Refusal] = []
refused = collector(CASES)


@refused(0, "a return value of a size only known at run time", X)
def as_long_as_data_say(x):
    return x[:np.argmax(x)] * 2


@refused(0, "a return value of a size only known at run time", X)
def parts_as_long_as_data_say(x):
    return np.sum(x), [x[np.argmin(x):]]


@refused(1, "np.round to an integer known only at run time", X)
def rounded_as_data_say(x):
    return np.round(x, np.argmax(x))


@refused(1, "a boolean mask combined with other indices", A)
def mask_behind_a_slice(a):
    return np.stack([a, a], axis=2)[:, a[0] > 0].sum()


@refused(2, "columns selected by a mask combined with rows", A)
def array_through_a_mask_behind_a_slice(a):
    a = a.copy()
    a[:, a[0] > 0] = a[:, 0]
    return a


@refused(2, "a boolean mask combined with other indices", A)
def mask_behind_a_slice_of_fewer_dimensions(a):
    b = np.stack([a, a], axis=2)
    b[:, a[0] > 0] = a[:, a[0] > 0]
    return b


@refused(1, "a boolean mask combined with other indices", A)
def mask_and_new_dimension(a):
    return a[a[:, 0] > 0, None].sum()


@refused(1, "all singular vectors", A)
def svd(a):
    return np.linalg.svd(a)[2][0]


@refused(1, "a call of", X)
def unknown_builtin(x):
    return hash(x)


@refused(0, "an array of class matrix", np.matrix(A))
def matrix_argument(a):
    return a * a


@refused(1, "an array of class MaskedArray", X)
def masked_array_from_outside(x):
    return x * MASKED


@refused(1, "an element by element product of a sparse array", sparse.csr_array(A), X)
def sparse_matrix(a, x):
    return a * x[:4]


@refused(2, "looked for among values only known at run time", X)
def list_item_by_value(x):
    items = [x[0], x[1]]
    items.remove(x[1])
    return items[0]


@refused(1, "an iterator without an end", X)
def endless_repetition(x):
    for k in itertools.repeat(2.0):
        x = x * k
    return x


@refused(1, "functools.reduce of nothing", X)
def reduction_of_nothing(x):
    return reduce(np.add, x[:0])


@refused(1, "the attribute 'tobytes'", X)
def unknown_method(x):
    return x.tobytes()


@refused(1, "the truth of an array", X)
def truth_of_array(x):
    if x > 1:
        return x
    return x * 2


@refused(1, "shapes (6,), (3, 4) that do not agree", X, A)
def shapes_disagree(x, a):
    return x + a


@refused(1, "a matrix product of shapes (3, 4) and (6,)", X, A)
def product_shapes(x, a):
    return a @ x


@refused(1, "reshaped to", X)
def bad_reshape(x):
    return x.reshape(4, 2)


@refused(2, "index 7, which is out of bounds", X)
def out_of_bounds(x):
    if x[0] > 100:
        return x[7]
    return x[0]


@refused(1, "2 indices for an array", X)
def too_many_indices(x):
    return x[1, 2]


@refused(1, "an index of dtype float64", X)
def float_index(x):
    return x[x]


@refused(1, "complex numbers stored in an array of dtype float64", X, Z)
def complex_into_real(x, z):
    x[:3] = z


@refused(1, "an update that stores float64 in an array of dtype int64", I6)
def float_into_int(i):
    i += 0.5


@refused(1, "numpy.subtract of bool and bool", X)
def subtract_booleans(x):
    return (x > 0) - (x > 1)


@refused(2, "an update of 'TABLE'", X)
def writes_module_array(x):
    t = TABLE
    t[0] = x[0]
    return t


@refused(3, "an update of 'z', which is one of several arrays", X, X.copy())
def update_of_carried(x, y):
    z = x
    while z[0] < 5:
        z[1] = 2.0
        z = z + y
    return x


@refused(4, "after one of them was updated", X, X.copy())
def read_of_stale(x, y):
    z = x
    while y[0] < 5:
        y[:] = y + 1
        x[0] = z[1]
        z = y
    return x


@refused(3, "a list changed inside a loop or branch", X)
def list_in_branch(x):
    out = []
    if x[0] > 0:
        out.append(x[1])
    return out


@refused(0, "a list whose length data decide", np.ones(200))
def list_that_grows_as_data_say(x):
    out = []
    for i in range(200):
        if x[i] > 0:
            out.append(x[i])
    return out


@refused(3, "'y', which changes its shape", np.ones(200))
def growing_array(x):
    y = x[:1]
    for i in range(150):
        y = np.concatenate((y, x[:i]))
    return y


@refused(1, "a slice with a step", X, I6)
def slice_step(x, idx):
    return x[::idx[1]]


@refused(2, "a size only known at run time", X, I6)
def run_time_size(x, idx):
    n = idx[3]
    return np.zeros(n)


@refused(2, "a recursion", X)
def endless_recursion(x):
    def again(v):
        return again(v * 2)

    return again(x)


CASES[-1] = (CASES[-1][0], (X,), 2, "calls nested more than")


@refused(3, "a recursion", X)
def recursion_in_branches(x):
    def reflected(v):
        if v < 0.5:
            return np.pi / (np.sin(np.pi * v) * reflected(1 - v))
        return np.sqrt(v)

    return reflected(x[0])


CASES[-1] = (CASES[-1][0], (X,), 3, "calls in branches")


@refused(2, "a raise of something other than an exception class", X)
def raises(x):
    if x[0] > 0:
        raise x
    return x


@refused(2, "a bare raise", X)
def raises_again(x):
    if x[0] > 0:
        raise
    return x


@refused(2, "an exception that cannot be made", X)
def raises_without_arguments(x):
    if x[0] > 0:
        raise UnicodeDecodeError
    return x


@refused(1, "a loop over a number", X)
def loop_over_scalar(x):
    for v in x[0]:
        x += v


@refused(1, "a call of 'open'", X)
def with_file(x):
    with open("f") as f:
        return x, f


@refused(1, "whose result lacks the ellipsis", A)
def einsum_ellipsis(a):
    return np.einsum("...i->", a)


@refused(1, "these arguments of a library function", X)
def pad_wider_than_the_array(x):
    return np.pad(x, x.size, mode="reflect", reflect_type="odd")


@refused(1, "these arguments of a library function", X)
def pad_with_what_was_there(x):
    return np.pad(x, 1, mode="empty")


@refused(1, "an item chosen at run time among items of different kinds or shapes", X, I6)
def tuple_item(x, idx):
    return (x[:2], x[:3])[idx[0]]


@refused(1, "this call of sum", X)
def unknown_keyword(x):
    return np.sum(x, bogus=1)


@refused(2, "a choice at run time between", X)
def conditional_shapes(x):
    y = x * 2
    return y[:2] if x[0] > 0 else y[:3]


@refused(1, "values of dtype float16", X)
def half_precision(x):
    return x.astype(np.float16)


@refused(1, "an assignment to the attribute 'shape'", X)
def attribute_target(x):
    x.shape = (2, 3)


@refused(1, "view in another type", X)
def numbers_taken_for_others(x):
    return x.view(np.int64)


@refused(1, "a deletion", X)
def deletes_item(x):
    del x[0]


@refused(1, "a comparison of identities", X)
def identity(x):
    return 1.0 if x is x[0] else 2.0


@refused(1, "the builtin extremum of arrays", X)
def builtin_max(x):
    return max(x, 1.0)


@refused(1, "the length of a number", X)
def length_of_number(x):
    return len(x[0])



@pytest.mark.parametrize("fn, arguments, line, what", CASES, ids=[c[0].__name__ for c in CASES])
def test_refusal(fn: Callable[..., Any], arguments: tuple[Any, ...], line: int, what: str) -> None:
    check_refusal(fn, arguments, line, what)
