"""Functions for a batch: a loop over its elements around the body of the function, so that one program does all.

for k in range(n): y[k] = f(x[k], w)

What is independent in it becomes maps, and the program is differentiated like any other.
"""
from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from inspect import Parameter, signature
from types import FunctionType
from typing import Any

import numpy as np

from sdfgad.errors import OutputError
from sdfgad.frontend.arrays.indexing import subscript
from sdfgad.frontend.elements.elementwise import as_array, describe
from sdfgad.frontend.functions.arithmetic import items_of, kept
from sdfgad.frontend.merging.merge import kind_of
from sdfgad.frontend.merging.structures import Form, form_of, items_in, leaves_of, rebuilt
from sdfgad.frontend.state.context import Context
from sdfgad.frontend.state.values import ArrayValue, Function, Grown, Record, Value, ViewValue
from sdfgad.frontend.syntax.replaced import ReplacedFunction
from sdfgad.trees import contents


@dataclass(eq=False)
class BatchedFunction(ReplacedFunction):
    """A function of one element, to be run for each element of a batch.

    in_axes: where the axis of the batch lies in the arguments, None for those that all elements share: one number for
    all, or one entry for each; an entry may be a container like its argument. out_axes: where it lies in the results.
    named: where it lies in arguments that are passed by name, by default as in all, or in front.
    """

    function: Callable[..., Any]
    in_axes: Any = 0
    out_axes: Any = 0
    named: Mapping[str, Any] | None = None

    def __post_init__(self) -> None:
        self.stand_for(self.function)

    def finish(self, ctx: Context, results: Value, form: Value) -> Value:
        """The value of the call, from results whose first axis is that of the batch."""
        return _placed(ctx, results, self.out_axes)


@dataclass(eq=False)
class SummedBatch(BatchedFunction):
    """The same, which returns `(objective, results)`: the sum of all elements, whose gradient by what belongs to one
    element is that of the element alone.

    output, reduce, aux: as they are asked for of one element.
    """

    output: int | None = None
    reduce: bool = False
    aux: bool = False

    def finish(self, ctx: Context, results: Value, form: Value) -> Value:
        values, aux = _pair(results) if self.aux else (results, None)
        if self.output is not None:
            values = items_of(ctx, values)[self.output]
        parts = [v for _, v in leaves_of(values) if isinstance(v, ArrayValue) and v.dtype.kind in "fc"]
        if not self.reduce and (len(parts) != 1 or parts[0].ndim != 1 or parts[0].dtype.kind != "f"):
            raise OutputError("what is differentiated is not one real scalar for each element of the batch",
                              help='pass reduce="sum" to grad, or name an output by its position')
        total: Value = 0.0
        for part in parts:
            real = ctx.invoke(ctx, np.real, [part], {})
            total = ctx.invoke(ctx, np.add, [total, ctx.invoke(ctx, np.sum, [real], {})], {})
        return total, ((values, _placed(ctx, aux, self.out_axes)) if self.aux else values)


def _pair(results: Value) -> tuple[Value, Value]:
    if not isinstance(results, tuple) or len(results) != 2:
        raise OutputError("has_aux: the function has to return a pair (objective, aux)",
                          help="write return objective, aux")
    return results[0], results[1]


@dataclass(eq=False)
class Batch:
    """One run over a batch. form: how the result of an element is built; fixed: parts of it that are no numbers."""

    of: BatchedFunction
    form: list[Form | None] = field(default_factory=list)
    fixed: list[tuple[Value, ...]] = field(default_factory=list)
    size: int = 0


def vmap(ctx: Context, fn: Value, in_axes: Value = 0, out_axes: Value = 0) -> Value:
    """`sdfgad.vmap` where it is called inside of a function that is translated."""
    return BatchedFunction(fn, _known(in_axes), _known(out_axes))


def _known(axes: Value) -> Any:
    """Axes that were written down in containers, in those of Python."""
    items = items_in(axes)
    if items is None:
        return axes
    found = {k: _known(v) for k, v in items.items()}
    return found if isinstance(axes, Record) else tuple(found.values())


def begun(ctx: Context, of: BatchedFunction, arguments: Sequence[Value], keywords: Mapping[str, Value]) -> list[Value]:
    """What the loop over a batch, `bodies/mapping.py`, is called with."""
    named = Record(dict, {n: kept(ctx, v) for n, v in keywords.items()}, len(ctx.builder.regions))
    return [Batch(of), tuple(kept(ctx, a) for a in arguments), named]


def size_of(ctx: Context, batch: Batch, arguments: Value, keywords: Value) -> int:
    """The number of elements, which all arguments with an axis of the batch agree on."""
    found = {}
    for path, value, axis in _leaves(ctx, batch.of, arguments, keywords):
        if axis is not None:
            found[path] = value.shape[axis].const
    sizes = set(found.values())
    if len(sizes) != 1 or None in sizes or 0 in sizes:
        told = ", ".join(f"{n} of {path}" for path, n in found.items()) or "none"
        raise ctx.refuse(f"a batch whose arguments have no common number of elements: {told}",
                         "in_axes says which axis of each argument is that of the batch; its length has to be the same "
                         "everywhere, and not 0", "SG103")
    batch.size = sizes.pop() or 0
    return batch.size


def _leaves(ctx: Context, of: BatchedFunction, arguments: Value, keywords: Value) -> Iterator[tuple[str, Any, Any]]:
    """Each leaf of the arguments, where it is, and its axis of the batch, which counts from the front."""
    given = items_of(ctx, arguments)
    yield from _each(ctx, given, _axes_of(ctx, of, given))
    plain = 0 if isinstance(of.in_axes, (tuple, list)) else of.in_axes
    yield from _each(ctx, list(keywords.items.values()), [(of.named or {}).get(n, plain) for n in keywords.items])


def _axes_of(ctx: Context, of: BatchedFunction, given: Sequence[Value]) -> list[Any]:
    """One entry for each argument; others are of parameters that are left to their defaults, or of numbers."""
    count = len(given)
    if not isinstance(of.in_axes, (tuple, list)):
        return [of.in_axes] * count
    beyond = [leaf for v in given[len(of.in_axes):] for _, leaf in leaves_of(v)]
    untold = any(isinstance(leaf, ArrayValue) and leaf.ndim for leaf in beyond)
    if untold or len(of.in_axes) > max(count, _places(of.function)):
        raise ctx.refuse(f"in_axes with {len(of.in_axes)} entries for {count} arguments",
                         "None stands for an argument that all elements share", "SG102")
    return [*of.in_axes, *[None] * count][:count]


def _places(function: Any) -> int:
    """How many arguments a function takes by position, as far as anybody knows."""
    if isinstance(function, Function):
        taken = function.code.node.args
        return len(taken.posonlyargs) + len(taken.args)
    kinds = [p.kind for p in signature(function).parameters.values()] if isinstance(function, FunctionType) else []
    return sum(kind in (Parameter.POSITIONAL_ONLY, Parameter.POSITIONAL_OR_KEYWORD) for kind in kinds)


def _each(ctx: Context, values: Sequence[Value], axes: Sequence[Any]) -> Iterator[tuple[str, Any, Any]]:
    for number, (value, axis) in enumerate(zip(values, axes, strict=True)):
        yield from _with_axes(ctx, f"argument {number}", value, axis)


def _with_axes(ctx: Context, path: str, value: Value, axis: Any) -> Iterator[tuple[str, Any, Any]]:
    items = items_in(value)
    if items is None:
        yield path, value, _axis(ctx, path, value, axis)
        return
    inner = contents(axis)
    if inner is not None and list(inner) != list(items):
        raise ctx.refuse(f"in_axes of {path}, built in another way than the argument",
                         "give a number or None for all of it, or a container like it", "SG102")
    for key, item in items.items():
        yield from _with_axes(ctx, f"{path}[{key!r}]", item, axis if inner is None else inner[key])


def _axis(ctx: Context, path: str, value: Value, axis: Any) -> int | None:
    """The axis of the batch in a leaf; numbers, flags and texts are the same for all elements."""
    if axis is None or not isinstance(value, ArrayValue) or value.scalar:
        return None
    if not isinstance(axis, int) or isinstance(axis, bool) or not -value.ndim <= axis < value.ndim:
        told = axis if isinstance(axis, (int, str, float)) else describe(axis)
        raise ctx.refuse(f"axis {told!r} of {path}, which has {value.ndim} axes",
                         "in_axes takes an axis of the argument, or None for one that all elements share", "SG102")
    return axis % value.ndim


def result_of(ctx: Context, batch: Batch, arguments: Value, keywords: Value, k: Value) -> tuple[Value, ...]:
    """The numbers and arrays in what the function gives for element k."""
    shared = {v.view.array: ctx.builder.versions.get(v.view.array, 0) for _, v, axis in
              _leaves(ctx, batch.of, arguments, keywords) if axis is None and isinstance(v, ViewValue)}
    leaves = iter([_element(ctx, v, axis, k) for _, v, axis in _leaves(ctx, batch.of, arguments, keywords)])
    depth = len(ctx.builder.regions)
    given = [rebuilt(form_of(a), leaves, depth) for a in items_of(ctx, arguments)]
    named = {n: rebuilt(form_of(a), leaves, depth) for n, a in keywords.items.items()}
    value = _visible(ctx, batch.of.function, given, named)
    changed = [array for array, version in shared.items() if ctx.builder.versions.get(array, 0) != version]
    if changed:
        raise ctx.refuse(f"an update of {ctx.builder.label(changed[0])}, which all elements of a batch share",
                         "copy it first, or give each element its own", "SG102")
    return _taken_apart(ctx, batch, value)


def _visible(ctx: Context, function: Callable[..., Any], given: list[Value], named: Mapping[str, Value]) -> Value:
    """Call the user's function, whose lines are to be seen, from a body that is not."""
    frame = ctx.frame
    quiet, frame.quiet = frame.quiet, False
    try:
        return ctx.invoke(ctx, function, given, named)
    finally:
        frame.quiet = quiet


def _element(ctx: Context, value: Value, axis: int | None, k: Value) -> Value:
    if axis is None:
        return value
    rows = ctx.invoke(ctx, np.moveaxis, [value, axis, 0], {})
    found = subscript(ctx, rows, (k, Ellipsis))
    return ViewValue(found.view, scalar=not found.shape) if isinstance(found, ViewValue) else found


def _taken_apart(ctx: Context, batch: Batch, value: Value) -> tuple[Value, ...]:
    form, numbers, fixed = form_of(value), [], []
    for path, leaf in leaves_of(value):
        leaf = kept(ctx, leaf, "result")
        if isinstance(leaf, ViewValue) and not leaf.shape:
            leaf = replace(leaf, scalar=True)
        if kind_of(leaf) is not None:
            numbers.append(leaf)
            fixed.append(_NUMBER)
        elif leaf is None or isinstance(leaf, (str, np.dtype, type)):
            fixed.append(leaf)
        else:
            raise ctx.refuse(f"{describe(leaf)} returned for an element of a batch{' at ' + path if path else ''}",
                             "return arrays and numbers", "SG102")
    if batch.form and (batch.form[0] != form or batch.fixed[0] != tuple(fixed)):
        raise ctx.refuse("a batch whose elements give results of several kinds", code="SG104")
    batch.form[:], batch.fixed[:] = [form], [tuple(fixed)]
    if not numbers:
        raise ctx.refuse("a function for a batch that returns no array and no number", code="SG102")
    return tuple(numbers)


_NUMBER = object()


def together(ctx: Context, batch: Batch, rows: Value) -> Value:
    """What `BatchedFunction.finish` makes of the results of all elements."""
    arrays = iter(_stacked(ctx, batch, rows))
    leaves = [next(arrays) if part is _NUMBER else part for part in batch.fixed[0]]
    whole = rebuilt(batch.form[0], iter(leaves), len(ctx.builder.regions))
    return batch.of.finish(ctx, whole, batch.form[0])


def _stacked(ctx: Context, batch: Batch, rows: Value) -> list[Value]:
    if isinstance(rows, Grown):
        return [subscript(ctx, ViewValue(r.view), slice(0, batch.size)) for r in rows.rows]
    parts = [items_of(ctx, row) for row in items_of(ctx, rows)]
    return [ctx.invoke(ctx, np.stack, [tuple(as_array(ctx, v) for v in column)], {})
            for column in zip(*parts, strict=True)]


def _placed(ctx: Context, value: Value, out_axes: Any) -> Value:
    """The results with the axis of the batch where it is asked for."""
    items = items_in(value)
    if items is None:
        return _moved(ctx, value, out_axes)
    inner = contents(out_axes)
    if inner is not None and list(inner) != list(items):
        raise ctx.refuse("out_axes, built in another way than the result",
                         "give a number for all of it, or a container like it", "SG102")
    leaves = [leaf for key, item in items.items()
              for _, leaf in leaves_of(_placed(ctx, item, out_axes if inner is None else inner[key]))]
    return rebuilt(form_of(value), iter(leaves), len(ctx.builder.regions))


def _moved(ctx: Context, value: Value, axis: Any) -> Value:
    if not isinstance(value, ArrayValue):
        return value
    if not isinstance(axis, int) or isinstance(axis, bool) or not -value.ndim <= axis < value.ndim:
        raise ctx.refuse(f"out_axes={axis!r} for a result with {value.ndim} axes",
                         "out_axes takes the axis of the result that is that of the batch", "SG102")
    return value if axis == 0 else ctx.invoke(ctx, np.moveaxis, [value, 0, axis], {})
