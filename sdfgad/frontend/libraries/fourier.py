"""Discrete Fourier transforms: library operations on the rows of a matrix."""
from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np

from sdfgad.frontend.bodies import signal as signal_bodies
from sdfgad.frontend.elements.elementwise import as_array
from sdfgad.frontend.functions.shaping import permuted, reshaped
from sdfgad.frontend.libraries.matrix_operations import library, stored, system_dtype
from sdfgad.frontend.state.context import Context
from sdfgad.frontend.state.values import ArrayValue, Value, ViewValue
from sdfgad.ir.index import ix


def transform(inverse: bool) -> Callable[..., Value]:
    """`np.fft.fft` or `np.fft.ifft`. Signals of real numbers stay what they are: half the work."""

    def rule(ctx: Context, a: Value, n: Value = None, axis: Value = -1, norm: Value = None) -> Value:
        value = as_array(ctx, a)
        if not value.shape:
            raise ctx.refuse("the Fourier transform of a number", code="SG103")
        if n is not None or norm not in (None, "backward", "forward"):
            scaled = signal_bodies.scaled_ifft if inverse else signal_bodies.scaled_fft
            return ctx.invoke(ctx, scaled, [value, n, axis, norm], {})
        attrs = {"inverse": inverse, "scaled": inverse is (norm != "forward")}
        if value.ndim == 2 and axis in (0, -2):
            return _of_columns(ctx, value, attrs)
        moved = ctx.invoke(ctx, np.moveaxis, [value, axis, -1], {})
        rows = ix(1)
        for m in moved.shape[:-1]:
            rows = rows * m
        shape = moved.shape if moved.ndim <= 2 else (rows, moved.shape[-1])
        source = stored(ctx, reshaped(ctx, moved, shape), system_dtype(value.dtype))
        result = library(ctx, "fft", shape, [source], _complex(value), **attrs)
        return ctx.invoke(ctx, np.moveaxis, [reshaped(ctx, result, moved.shape), -1, axis], {})

    return rule


def _of_columns(ctx: Context, value: ArrayValue, attrs: Mapping[str, object]) -> Value:
    """The result lies in memory as the matrix does: what is computed with it next runs along the rows of both."""
    source = permuted(ctx, stored(ctx, value, system_dtype(value.dtype)), (1, 0))
    result = ctx.builder.view(ctx.builder.declare(value.shape, _complex(value), ctx.label or "fft"), value.shape)
    columns = permuted(ctx, result, (1, 0))
    assert isinstance(source, ViewValue) and isinstance(columns, ViewValue)
    ctx.builder.library("fft", (columns.view,), (source.view,), **attrs)
    return result


def _complex(value: ArrayValue) -> np.dtype:
    return np.result_type(system_dtype(value.dtype), np.complex64)
