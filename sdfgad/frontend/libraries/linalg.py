"""Matrix products, contractions, factorisations and orders: library operations where there is one."""
from __future__ import annotations

from collections.abc import Sequence
from string import ascii_letters

import numpy as np

from sdfgad.arrays import native
from sdfgad.frontend.arrays.casting import check_casting, copyto
from sdfgad.frontend.arrays.layout import contracted
from sdfgad.frontend.arrays.masking import CHOSEN
from sdfgad.frontend.arrays.submatrices import times
from sdfgad.frontend.arrays.views import check_writable, remap
from sdfgad.frontend.bodies import matrix as matrix_bodies
from sdfgad.frontend.bodies import order as order_bodies
from sdfgad.frontend.bodies import shape as shape_bodies
from sdfgad.frontend.elements.elementwise import (
    apply,
    as_array,
    convert,
    describe,
    expand,
    promote,
    same_size,
    shape_text,
    strong,
)
from sdfgad.frontend.functions.arithmetic import items_of
from sdfgad.frontend.functions.reductions import constant_start, reduce_map, sum_
from sdfgad.frontend.functions.shaping import axis_numbers, permuted, reshaped, squeeze
from sdfgad.frontend.libraries.matrix_operations import factorable, factorised, library, square, stored, system_dtype
from sdfgad.frontend.state.builder import reads_of
from sdfgad.frontend.state.context import Context
from sdfgad.frontend.state.values import ArrayValue, Lazy, ListValue, Shape, Value, ViewValue
from sdfgad.ir.expr import Expr, call
from sdfgad.ir.index import Ix, ix
from sdfgad.ir.program import axis


def matmul(ctx: Context, a: Value, b: Value, out: Value = None) -> Value:
    """`a @ b`."""
    if isinstance(a, CHOSEN) or isinstance(b, CHOSEN):
        return times(ctx, a, b)
    if isinstance(out, Lazy) and out.shape:  # made in the call itself
        out = ctx.builder.fresh_copy(out, ctx.label or "out")
    left, right = as_array(ctx, a), as_array(ctx, b)
    if not left.shape or not right.shape:
        raise ctx.refuse("a matrix product with a number", "use *", "SG103")
    inner = (left.shape[-1], right.shape[-2 if right.ndim > 1 else 0])
    if not same_size(ctx, *inner):
        raise ctx.refuse(f"a matrix product of shapes {shape_text(left.shape)} and {shape_text(right.shape)}",
                         code="SG103")
    if left.ndim == 1 and right.ndim == 1 and left.dtype == right.dtype == np.bool_:
        result: Value = ctx.invoke(ctx, np.any, [apply(ctx, np.logical_and, left, right)], {})
    elif left.ndim == 1 and right.ndim == 1:
        products = apply(ctx, np.multiply, left, right)
        result = sum_(ctx, products, dtype=as_array(ctx, products).dtype)
    elif left.ndim <= 2 and right.ndim <= 2:
        return _matrix_product(ctx, left, right, out)
    else:
        result = _batched(ctx, left, right)
    return _into(ctx, result, out)


def _into(ctx: Context, result: Value, out: Value) -> Value:
    if out is None:
        return result
    if not isinstance(out, ViewValue):
        raise ctx.refuse(f"out={describe(out)}", "pass an array", "SG105")
    check_writable(ctx, out)
    value = as_array(ctx, result)
    check_casting(ctx, value, out.dtype)
    ctx.builder.assign(out, expand(ctx, value, out.shape))
    return out


def _matrix_product(ctx: Context, a: ArrayValue, b: ArrayValue, out: Value) -> Value:
    kind = promote(ctx, (a, b))
    left, right = (stored(ctx, v, kind) for v in (a, b))
    shape = (*left.shape[:-1], *right.shape[1:])
    numbers = all(n.const is not None for n in (*left.shape, *right.shape))
    if kind.kind not in "fc" or not numbers or any(n.const == 0 for n in (*left.shape, *right.shape)):
        return _into(ctx, _summed(ctx, left, right, kind), out)
    if isinstance(out, ViewValue) and not out.readonly and out.dtype == kind and (
            out.view.array not in left.reads | right.reads):
        ctx.builder.library("matmul", (out.view,), (left.view, right.view))
        return out
    array = ctx.builder.declare(shape, kind, ctx.label or "product")
    result = ctx.builder.view(array, shape)
    ctx.builder.library("matmul", (result.view,), (left.view, right.view))
    return _into(ctx, result, out)


def _summed(ctx: Context, a: ViewValue, b: ViewValue, kind: np.dtype) -> ViewValue:
    """The product as a plain sum, for sizes that depend on loops and for integers."""
    rows, columns = a.shape[:-1], b.shape[1:]
    shape = (*rows, a.shape[-1], *columns)
    here = len(rows)
    left = remap(ctx, a, shape, [ix(axis(k)) for k in range(here + 1)])
    right = remap(ctx, b, shape, [ix(axis(here + k)) for k in range(len(columns) + 1)])
    return _sum_of_products(ctx, (left, right), shape, (here,), kind)


def _sum_of_products(ctx: Context, parts: Sequence[ArrayValue], shape: Shape, over: tuple[int, ...],
                     kind: np.dtype) -> ViewValue:
    def element(position: tuple[Ix, ...]) -> Expr:
        result = parts[0].at(position)
        for part in parts[1:]:
            result = call("mul" if kind.kind != "b" else "and", result, part.at(position), dtype=kind)
        return result

    reads = frozenset().union(*(p.reads for p in parts))
    product = ctx.builder.lazy(shape, kind, element, reads, parts=tuple(parts))
    return reduce_map(ctx, product, over, "+" if kind.kind != "b" else "max", kind, constant_start(0, kind))


def _batched(ctx: Context, a: ArrayValue, b: ArrayValue) -> Value:
    """Stacks of matrices: one product when the right one is a single matrix, else a loop."""
    if b.ndim <= 2:
        rows = ix(1)
        for n in a.shape[:-1]:
            rows = rows * n
        flat = reshaped(ctx, a, (rows, a.shape[-1]))
        product = as_array(ctx, matmul(ctx, flat, b))
        return reshaped(ctx, product, (*a.shape[:-1], *b.shape[1:]))
    return ctx.invoke(ctx, shape_bodies.batched_matmul, [a, b], {})


def dot(ctx: Context, a: Value, b: Value, out: Value = None) -> Value:
    """`np.dot`."""
    if isinstance(a, CHOSEN) or isinstance(b, CHOSEN):
        return times(ctx, a, b)
    left, right = as_array(ctx, a), as_array(ctx, b)
    if not left.shape or not right.shape:
        # Numbers of Python's are arrays here, which have a say in what the result is.
        left, right = (as_array(ctx, convert(ctx, v, v.dtype)) for v in (left, right))
        return _into(ctx, apply(ctx, np.multiply, left, right), out)
    if right.ndim <= 2:
        return matmul(ctx, left, right, out)
    return _into(ctx, tensordot(ctx, left, right, ((left.ndim - 1,), (right.ndim - 2,))), out)


def vdot(ctx: Context, a: Value, b: Value) -> Value:
    left, right = (strong(ctx, ctx.invoke(ctx, np.ravel, [v], {})) for v in (a, b))
    return matmul(ctx, apply(ctx, np.conjugate, left) if left.dtype.kind == "c" else left, right)


def tensordot(ctx: Context, a: Value, b: Value, axes: Value = 2) -> Value:
    """`np.tensordot`."""
    left, right = strong(ctx, a), strong(ctx, b)
    if isinstance(axes, (int, np.integer)):
        if axes > min(left.ndim, right.ndim):
            raise ctx.refuse(f"np.tensordot over {axes} axes of {describe(left)} and {describe(right)}",
                             "they have fewer", "SG103")
        first, second = tuple(range(left.ndim - axes, left.ndim)), tuple(range(axes))
    else:
        first, second = (axis_numbers(ctx, k, v.ndim)
                         for k, v in zip(items_of(ctx, axes), (left, right), strict=True))
        if len(first) != len(second):
            raise ctx.refuse(f"np.tensordot over {len(first)} and {len(second)} axes", "name as many", "SG103")
    names = iter("abcdefghijklmnopqrstuvwxyz")
    left_names = [next(names) for _ in left.shape]
    right_names = [left_names[first[second.index(k)]] if k in second else next(names) for k in range(right.ndim)]
    kept = [n for k, n in enumerate(left_names) if k not in first] + [
        n for k, n in enumerate(right_names) if k not in second]
    return contract(ctx, [left, right], ["".join(left_names), "".join(right_names)], "".join(kept))


def einsum_path(ctx: Context, subscripts: Value, *operands: Value, optimize: Value = "greedy") -> Value:
    """`np.einsum_path`: NumPy's, which looks at shapes alone."""
    shapes = [as_array(ctx, v).shape for v in operands]
    if not isinstance(subscripts, str) or any(n.const is None for s in shapes for n in s):
        raise ctx.refuse("np.einsum_path without letters, or of sizes only known at run time", code="SG103")
    path, told = np.einsum_path(subscripts, *(np.empty([n.const or 0 for n in s]) for s in shapes), optimize=optimize)
    return ListValue(list(path), len(ctx.builder.regions)), told


def einsum(ctx: Context, subscripts: Value, *operands: Value, optimize: Value = False, dtype: Value = None,
           casting: Value = "safe") -> Value:
    """`np.einsum` with letters."""
    if not isinstance(subscripts, str):
        subscripts, operands = _lettered(ctx, [subscripts, *operands])
    values = [strong(ctx, v) for v in operands]
    if dtype is not None:
        values = [as_array(ctx, convert(ctx, v, native(np.dtype(dtype)))) for v in values]
    inputs, arrow, output = _without_ellipsis(ctx, subscripts.replace(" ", ""), values).partition("->")
    names = inputs.split(",")
    if len(names) != len(values) or any(len(n) != v.ndim for n, v in zip(names, values, strict=True)):
        raise ctx.refuse(f"np.einsum subscripts {subscripts!r} that do not fit the operands", code="SG103")
    if not arrow:
        joined = "".join(names)
        output = "".join(sorted(c for c in set(joined) if joined.count(c) == 1))
    if not {*output} <= {*inputs} or len({*output}) < len(output):
        raise ctx.refuse(f"np.einsum subscripts {subscripts!r}, whose result has a letter twice or of its own",
                         code="SG103")
    before, given = reads_of(*values), tuple(names)
    values, names = _without_repeated_axes(ctx, values, names)
    while len(values) > 2:
        pair = "".join(dict.fromkeys(names[0] + names[1]))
        needed = set(output).union(*names[2:])
        between = "".join(c for c in pair if c in needed)
        values[:2] = [as_array(ctx, contract(ctx, values[:2], names[:2], between))]
        names[:2] = [between]
    return contracted(ctx, contract(ctx, values, names, output), given, output, bool(optimize), before)


def _lettered(ctx: Context, items: Sequence[Value]) -> tuple[str, tuple[Value, ...]]:
    """`a, [0, 1], b, [1, 2], [0, 2]`   ->   `"ab,bc->ac", a, b`."""
    names = [items_of(ctx, v) for v in items[1::2]]
    last = [items_of(ctx, items[-1])] if len(items) % 2 else []
    known = dict(enumerate(ascii_letters)) | {Ellipsis: "..."}
    if any(k is not Ellipsis and (not isinstance(k, int) or k not in known) for n in (*names, *last) for k in n):
        raise ctx.refuse("np.einsum without a string", "name every dimension", "SG101")
    inputs, output = (["".join(known[k] for k in n) for n in found] for found in (names, last))
    return ",".join(inputs) + "".join("->" + text for text in output), tuple(items[:2 * len(names):2])


def _without_ellipsis(ctx: Context, subscripts: str, values: Sequence[ArrayValue]) -> str:
    """Letters for the dimensions that an ellipsis stands for, the last ones of all operands being the same."""
    inputs, arrow, output = subscripts.partition("->")
    names = inputs.split(",")
    if "..." not in subscripts or len(names) != len(values):
        return subscripts
    if arrow and "..." not in output:
        raise ctx.refuse(f"np.einsum subscripts {subscripts!r}, whose result lacks the ellipsis", code="SG103")
    free = "".join(c for c in ascii_letters if c not in subscripts)
    counts = [v.ndim - len(n) + 3 if "..." in n else 0 for n, v in zip(names, values, strict=True)]
    most = max(counts)
    filled = [n.replace("...", free[most - max(k, 0):most]) for n, k in zip(names, counts, strict=True)]
    if not arrow:
        joined = inputs.replace(",", "").replace(".", "")
        output = "..." + "".join(sorted(c for c in set(joined) if joined.count(c) == 1))
    return ",".join(filled) + "->" + output.replace("...", free[:most])


def _without_repeated_axes(ctx: Context, values: Sequence[ArrayValue],
                           names: Sequence[str]) -> tuple[list[ArrayValue], list[str]]:
    """`mn,md->mnd` of one row and three   ->   `n,md->mnd`: one is the same for all three."""
    sizes = [pair for v, n in zip(values, names, strict=True) for pair in zip(n, v.shape, strict=True)]
    many = {c for c, size in sizes if size.const != 1}
    once = [[k for k, c in enumerate(n) if v.shape[k].const == 1 and c in many and n.count(c) == 1]
            for v, n in zip(values, names, strict=True)]
    return ([as_array(ctx, squeeze(ctx, v, tuple(axes))) if axes else v for v, axes in zip(values, once, strict=True)],
            ["".join(c for k, c in enumerate(n) if k not in axes) for n, axes in zip(names, once, strict=True)])


def contract(ctx: Context, values: list[ArrayValue], names: list[str], output: str) -> Value:
    """Multiply elementwise and sum over the letters missing from `output`."""
    sizes = _sizes(ctx, values, names)
    if len(values) == 2 and (fast := _as_matmul(ctx, values, names, output, sizes)) is not None:
        return fast
    summed = [c for c in sizes if c not in output]
    order = [*output, *summed]
    shape = tuple(sizes[c] for c in order)
    kind = promote(ctx, values)
    parts = [remap(ctx, stored(ctx, v, kind), shape, [ix(axis(order.index(c))) for c in n])
             for v, n in zip(values, names, strict=True)]
    if not summed:
        result = parts[0]
        for part in parts[1:]:
            result = apply(ctx, np.multiply, result, part)
        return result
    return _sum_of_products(ctx, parts, shape, tuple(range(len(output), len(order))), kind)


def _sizes(ctx: Context, values: Sequence[ArrayValue], names: Sequence[str]) -> dict[str, Ix]:
    sizes: dict[str, Ix] = {}
    for value, letters in zip(values, names, strict=True):
        for c, n in zip(letters, value.shape, strict=True):
            if c in sizes and not same_size(ctx, sizes[c], n):
                raise ctx.refuse(f"a contraction of unequal sizes {sizes[c]} and {n}", code="SG103")
            sizes.setdefault(c, n)
    return sizes


def _as_matmul(ctx: Context, values: Sequence[ArrayValue], names: Sequence[str], output: str,
               sizes: dict[str, Ix]) -> Value | None:
    """One matrix product, when every letter is in the output of one operand only, or summed over both."""
    a, b = names
    both = [c for c in a if c in b]
    plain = len(set(a)) == len(a) and len(set(b)) == len(b) and all(c in output for c in a + b if c not in both)
    left, right = [c for c in a if c not in both], [c for c in b if c not in both]
    floats = promote(ctx, values).kind in "fc" and all(n.const is not None for n in sizes.values())
    if not plain or not both or any(c in output for c in both) or not (left and right) or not floats:
        return None

    def matrix(value: ArrayValue, letters: str, rows: list[str], columns: list[str]) -> ArrayValue:
        moved = permuted(ctx, value, [letters.index(c) for c in (*rows, *columns)])
        return reshaped(ctx, moved, (_total(sizes, rows), _total(sizes, columns)))

    product = as_array(ctx, matmul(ctx, matrix(values[0], a, left, both), matrix(values[1], b, both, right)))
    full = reshaped(ctx, product, tuple(sizes[c] for c in (*left, *right)))
    return permuted(ctx, full, [(left + right).index(c) for c in output])


def _total(sizes: dict[str, Ix], letters: Sequence[str]) -> Ix:
    total = ix(1)
    for c in letters:
        total = total * sizes[c]
    return total


# linear systems

def solve(ctx: Context, a: Value, b: Value) -> Value:
    """`np.linalg.solve`: a factorisation, which derivatives and other right-hand sides use again, and a solution."""
    matrix, right = as_array(ctx, a), as_array(ctx, b)
    if max(matrix.ndim, right.ndim) > 2:
        return ctx.invoke(ctx, matrix_bodies.solve_each, [matrix, right], {})
    square(ctx, matrix, "a linear system")
    if right.ndim not in (1, 2) or not same_size(ctx, matrix.shape[0], right.shape[0]):
        raise ctx.refuse(f"a right-hand side with {describe(right)}", code="SG103")
    kind = system_dtype(promote(ctx, (matrix, right)))
    factors = factorised(ctx, *factorable(ctx, "inv", [stored(ctx, matrix, kind)]))
    return library(ctx, "solve", right.shape, [*factors, stored(ctx, right, kind)], kind)


def solve_triangular(ctx: Context, a: Value, b: Value, trans: Value = 0, lower: bool = False,
                     unit_diagonal: bool = False, overwrite_b: bool = False, check_finite: bool = True) -> Value:
    """`scipy.linalg.solve_triangular`."""
    matrix, right = as_array(ctx, a), as_array(ctx, b)
    square(ctx, matrix, "a triangular system")
    if trans in (1, "T", 2, "C"):
        matrix, lower = permuted(ctx, matrix, (1, 0)), not lower
        if trans in (2, "C") and matrix.dtype.kind == "c":
            matrix = as_array(ctx, apply(ctx, np.conjugate, matrix))
    elif trans not in (0, "N"):
        raise ctx.refuse(f"trans={trans!r}", code="SG101")
    kind = system_dtype(promote(ctx, (matrix, right)))
    return library(ctx, "trsolve", right.shape, [stored(ctx, matrix, kind), stored(ctx, right, kind)], kind,
                    lower=bool(lower), unit=bool(unit_diagonal))


def argsort(ctx: Context, a: Value, axis: Value = -1, kind: Value = None, stable: Value = None) -> Value:
    """`np.argsort`: of a vector one operation, of more row by row."""
    value = as_array(ctx, a)
    if kind not in (None, "stable", "mergesort", "quicksort") or not value.shape:
        raise ctx.refuse(f"np.argsort of {describe(value)} with kind={kind!r}", code="SG103")
    if axis is None:
        value = as_array(ctx, ctx.invoke(ctx, np.ravel, [value], {}))
    if value.ndim > 1:
        return ctx.invoke(ctx, order_bodies.argsort_rows, [value, axis], {})
    source = ctx.builder.materialise(value, "operand")
    result = library(ctx, "argsort", source.shape, [source], np.dtype(np.int64))
    size = source.shape[0].const
    ctx.builder.know(result.view.array, (0, None if size is None else max(size - 1, 0)))
    return result


def sort(ctx: Context, a: Value, axis: Value = -1, kind: Value = None, stable: Value = None) -> Value:
    """`np.sort`: the elements in the order that `np.argsort` names."""
    value = ctx.builder.materialise(as_array(ctx, a), "operand")
    if axis is not None and value.ndim > 1:
        return ctx.invoke(ctx, order_bodies.sort_rows, [value, axis], {})
    return ctx.invoke(ctx, np.take, [value, argsort(ctx, value, axis)], {})


def sort_in_place(ctx: Context, a: Value, axis: Value = -1) -> None:
    """`a.sort()`."""
    copyto(ctx, a, sort(ctx, a, axis))


def partition_in_place(ctx: Context, a: Value, kth: Value, axis: Value = -1) -> None:
    """`a.partition(kth)`."""
    copyto(ctx, a, ctx.invoke(ctx, np.partition, [a, kth, axis], {}))
