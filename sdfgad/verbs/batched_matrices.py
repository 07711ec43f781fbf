"""Matrices of derivatives for all elements of a batch: `vmap(hessian(f))`, `vmap(jacobian(f))`."""
from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from math import prod
from typing import Any

import numpy as np

from sdfgad.calls.arguments import Bound, as_called
from sdfgad.calls.asked import Leaves
from sdfgad.calls.device_calls import on_device
from sdfgad.calls.results import one_or_all
from sdfgad.config import within
from sdfgad.errors import UsageError
from sdfgad.verbs.matrices import MatrixFunction, MatrixRequest, either_way, in_columns, one_array, refuse_complex
from sdfgad.verbs.over_batch import BatchObjective, OverBatch, Vmapped, moved
from sdfgad.verbs.products import jvp, vjp
from sdfgad.verbs.second import Differentiated, is_single
from sdfgad.verbs.tracebacks import shortened

Axes = Mapping[str, int | None]


class BatchedMatrix(OverBatch):
    """What `vmap(hessian(f))` and `vmap(jacobian(f))` are.

    No element depends on the arguments of another one: a tangent that is the same for all of them gives one column of
    each matrix, a seed one row. So there are as many products as for a single element.
    """

    def __init__(self, matrix: MatrixFunction, in_axes: Any, out_axes: Any) -> None:
        super().__init__(matrix.fn, matrix.shown_as, in_axes, out_axes)
        self._asked: MatrixRequest = matrix.asked
        if self._asked.sparsity is not None or isinstance(self._asked.output, str) or not isinstance(out_axes, int):
            raise UsageError("vmap of a matrix with sparsity, or this output= or out_axes", code="SG205",
                             help="leave it out; output takes one position, out_axes one number")
        self._made: dict[Any, Any] = {}

    @shortened
    def __call__(self, *args: Any, **keywords: Any) -> Any:
        with within(device=self._asked.device):
            return self._called(args, keywords)

    def _called(self, args: Sequence[Any], keywords: Mapping[str, Any]) -> Any:
        gradient = self._asked.gradient
        bound, axes, (along, *others) = self.asked(args, keywords, self._asked.wrt,
                                                   *([] if gradient is None else [gradient.wrt]))
        refuse_complex(bound, (*along, *(n for names in others for n in names)))
        if on_device(bound):
            raise UsageError("matrices for a batch of arrays on a graphics processor", code="SG212",
                             help="pass copies of the arguments in the memory of the host")
        single = is_single(self._asked.wrt, along)
        if gradient is None:
            found = self._first(bound, axes, along)
            return one_or_all({n: moved(m, 0, self._out_axes) for n, m in found.items()}, bound, single)
        rows, = others
        blocks = self._second(gradient, bound, axes, rows, along)
        found = {a: one_or_all({b: moved(m, 0, self._out_axes) for b, m in row.items()}, bound, single)
                 for a, row in blocks.items()}
        return one_or_all(found, bound, gradient.single(rows))

    def _second(self, gradient: Differentiated, bound: Bound, axes: Axes, rows: Sequence[str],
                along: Sequence[str]) -> dict[str, dict[str, Any]]:
        """For each pair of arguments the derivatives of the gradient by one along the other."""
        def make() -> Differentiated:
            places, named = self.places(bound, axes)
            of = BatchObjective(self.fn, places, 0, named, gradient.output, gradient.reduce is not None)
            return Differentiated(of, Leaves(tuple(rows)), 0, None, gradient.device, gradient.source)

        summed = self._once(axes, make)
        columns: dict[str, dict[str, list[Any]]] = {a: {b: [] for b in along} for a in rows}
        for name, given in _units(bound, axes, along):
            for a, product in zip(rows, summed.tangent(bound, rows, given)[1], strict=True):
                columns[a][name].append(moved(product, axes[a] or 0, 0))
        size = _size(bound, axes)
        return {a: {b: in_columns(made, (size, *_own_shape(bound, axes, a)), _own_shape(bound, axes, b))
                    for b, made in row.items()} for a, row in columns.items()}

    def _first(self, bound: Bound, axes: Axes, names: tuple[str, ...]) -> dict[str, Any]:
        """The derivatives of the output by each argument, by columns or by rows."""
        places, named = self.places(bound, axes)
        fn = self._once(axes, lambda: Vmapped(self.fn, places, 0, named))
        values, more = as_called(self.fn, bound)
        asked = {"output": self._asked.output, "source": self._asked.source}
        shapes = {n: _own_shape(bound, axes, n) for n in names}

        def by_columns() -> dict[str, Any]:
            columns: dict[str, list[Any]] = {n: [] for n in names}
            for name, given in _units(bound, axes, names):
                out, tangent = jvp(fn, values, given, **asked, **more)
                one_array(out)
                columns[name].append(tangent)
            return {n: in_columns(made, np.shape(out), shapes[n]) for n, made in columns.items()}

        def by_rows(out: Any, pullback: Any) -> dict[str, Any]:
            own = np.shape(out)[1:]
            rows = [pullback(_alike(len(out), own, out.dtype, k, 0)) for k in range(prod(own))]
            return {n: _in_rows([moved(r[n], axes[n] or 0, 0) for r in rows], np.shape(out), shapes[n]) for n in names}

        return either_way(self._asked.mode, sum(map(prod, shapes.values())), by_columns,
                          lambda: vjp(fn, *values, wrt=Leaves(names), **asked, **more), by_rows, _size(bound, axes))

    def _once(self, axes: Axes, make: Any) -> Any:
        """Functions are translated once for each that there is."""
        key = tuple(axes.items())
        if key not in self._made:
            self._made[key] = make()
        return self._made[key]


def _units(bound: Bound, axes: Axes, names: Sequence[str]) -> Iterator[tuple[str, dict[str, Any]]]:
    """For each number of an element the argument that it belongs to, and tangents along it, alike for all elements."""
    leaves = {n: np.asarray(bound.leaves[n]) for n in names}
    for name in names:
        for k in range(prod(_own_shape(bound, axes, name))):
            yield name, {n: _alike(v.shape[axes[n] or 0], _own_shape(bound, axes, n), v.dtype,
                                   k if n == name else None, axes[n] or 0) for n, v in leaves.items()}


def _alike(size: int, own: tuple[int, ...], dtype: np.dtype, k: int | None, axis: int) -> np.ndarray:
    """Zeros for each of so many elements, with a one at place k of each."""
    found = np.zeros((size, prod(own)), dtype)
    if k is not None:
        found[:, k] = 1
    return np.ascontiguousarray(np.moveaxis(found.reshape(size, *own), 0, axis))


def _own_shape(bound: Bound, axes: Axes, name: str) -> tuple[int, ...]:
    """That of one element."""
    shape, axis = np.shape(bound.leaves[name]), axes[name] or 0
    return (*shape[:axis], *shape[axis + 1:])


def _size(bound: Bound, axes: Axes) -> int:
    """The number of elements."""
    return next(np.shape(bound.leaves[n])[axis] for n, axis in axes.items() if axis is not None)


def _in_rows(rows: Sequence[Any], shape: tuple[int, ...], along: tuple[int, ...]) -> np.ndarray:
    made = np.stack([np.asarray(r) for r in rows], axis=1) if rows else np.zeros(0)
    return made.reshape(*shape, *along)
