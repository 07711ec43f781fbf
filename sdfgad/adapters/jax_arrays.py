"""Functions of JAX arrays: `custom_vjp` around `pure_callback`, twice, so that there are second derivatives.

JAX pairs cotangents with tangents without a conjugate: its cotangent of a complex number is the conjugate of the one
that sdfgad means.
"""
from __future__ import annotations

import contextvars
import functools
from collections.abc import Callable, Sequence
from typing import Any

import jax
import numpy as np
from jax import numpy as jnp

from sdfgad.adapters.bridge import Bridge, FixedCall, third_derivative
from sdfgad.arrays import Spec, special_class
from sdfgad.errors import DtypeError
from sdfgad.tracebacks import shortened

_ARRAYS = (jax.Array, np.ndarray, np.floating, np.complexfloating)


def adapted(bridge: Bridge) -> Callable[..., Any]:
    """The function of a bridge, for JAX arrays."""

    @functools.wraps(bridge.fn)
    @shortened
    def called(*args: Any, **keywords: Any) -> Any:
        call, given = bridge.call(args, keywords, _stand_in)
        site = TracedCall(call, tuple(_allowed(s) for s in call.kinds))
        arrays = tuple(jnp.asarray(g, dtype=s.dtype) for g, s in zip(given, site.given, strict=True))
        return call.rebuilt(value(site, arrays))

    return called


class TracedCall:
    """A place where a function is traced. given: shapes and dtypes of its arguments in JAX."""

    def __init__(self, call: FixedCall, given: tuple[jax.ShapeDtypeStruct, ...]) -> None:
        self.call, self.given = call, given
        self._settings = contextvars.copy_context()

    @property
    def results(self) -> tuple[jax.ShapeDtypeStruct, ...]:
        """Shapes and dtypes of its results."""
        return tuple(_allowed(s) for s in self.call.results)

    @property
    def tangents(self) -> tuple[jax.ShapeDtypeStruct, ...]:
        """Those of results that have cotangents."""
        return tuple(_allowed(s) for s in self.call.tangents)

    def run(self, shapes: Sequence[jax.ShapeDtypeStruct], product: Callable[..., Sequence[np.ndarray]],
            *given: Any) -> tuple[jax.Array, ...]:
        """What a product of the call gives, as JAX arrays of these shapes. given: tuples of arrays.

        JAX runs it in a thread of its own, with the settings of where it was traced.
        """
        def compute(*tuples: Any) -> tuple[np.ndarray, ...]:
            arrays = [[np.asarray(a) for a in found] for found in tuples]
            made = self._settings.copy().run(product, *arrays)
            return tuple(np.asarray(m, s.dtype) for m, s in zip(made, shapes, strict=True))

        return tuple(jax.pure_callback(compute, tuple(shapes), *given, vmap_method="sequential"))


@functools.partial(jax.custom_vjp, nondiff_argnums=(0,))
def value(site: TracedCall, given: tuple[jax.Array, ...]) -> tuple[jax.Array, ...]:
    """The arrays that a function gives."""
    return site.run(site.results, site.call.values, given)


def _value_forward(site: TracedCall, given: Any) -> tuple[Any, Any]:
    """Which arguments have derivatives is part of how the residuals are built, and therefore known when traced."""
    arrays = tuple(g.value for g in given)
    return value(site, arrays), (arrays, tuple(() if g.perturbed else None for g in given))


def _value_backward(site: TracedCall, residuals: Any, cotangents: Any) -> tuple[Any]:
    given, marks = residuals
    wrt = tuple(k for k, mark in enumerate(marks) if mark is not None and site.call.smooth[k])
    seeds = tuple(_array(cotangents[k]) for k in site.call.seeded)
    if wrt:
        site.call.prepare(wrt)  # so that what is refused is refused here, and not in a thread of JAX
    found = dict(zip(wrt, pulled(site, wrt, given, seeds), strict=True)) if wrt else {}
    return (tuple(found.get(k) for k in range(len(given))),)


value.defvjp(_value_forward, _value_backward, symbolic_zeros=True)


@functools.partial(jax.custom_vjp, nondiff_argnums=(0, 1))
def pulled(site: TracedCall, wrt: tuple[int, ...], given: Any, seeds: Any) -> tuple[jax.Array, ...]:
    """The cotangents of some arguments, both as JAX means them."""
    found = site.run([site.given[k] for k in wrt], functools.partial(_pulled, site.call, wrt), given, _conjugate(seeds))
    return _conjugate(found)


def _pulled(call: FixedCall, wrt: tuple[int, ...], given: Any, seeds: Any) -> list[np.ndarray]:
    return call.pulled(given, seeds, wrt)


def _pulled_forward(site: TracedCall, wrt: tuple[int, ...], given: Any, seeds: Any) -> tuple[Any, Any]:
    return pulled(site, wrt, given, seeds), (given, seeds)


def _pulled_backward(site: TracedCall, wrt: tuple[int, ...], residuals: Any, along: Any) -> tuple[Any, Any]:
    given, seeds = residuals
    rows = tuple(k for k, smooth in enumerate(site.call.smooth) if smooth)
    found = curved(site, wrt, rows, given, seeds, along)
    by_given = dict(zip(rows, found[:len(rows)], strict=True))
    return tuple(by_given.get(k) for k in range(len(given))), tuple(found[len(rows):])


pulled.defvjp(_pulled_forward, _pulled_backward)


@functools.partial(jax.custom_vjp, nondiff_argnums=(0, 1, 2))
def curved(site: TracedCall, wrt: tuple[int, ...], rows: tuple[int, ...], given: Any, seeds: Any,
           along: Any) -> tuple[jax.Array, ...]:
    """What cotangents of `pulled` make of the arguments in `rows`, and of the seeds."""
    shapes = (*(site.given[k] for k in rows), *site.tangents)
    found = site.run(shapes, functools.partial(_curved, site.call, wrt, rows), given, _conjugate(seeds), along)
    # The cotangents were conjugated, and so were the seeds: what is paired with the former is not conjugated again.
    return *_conjugate(found[:len(rows)]), *found[len(rows):]


def _curved(call: FixedCall, wrt: tuple[int, ...], rows: tuple[int, ...], given: Any, seeds: Any,
            along: Any) -> list[np.ndarray]:
    return [*call.curved(given, seeds, wrt, along, rows), *call.pushed(given, wrt, along)]


def _curved_forward(site: TracedCall, wrt: tuple[int, ...], rows: tuple[int, ...], *given: Any) -> tuple[Any, Any]:
    raise third_derivative(site.call.bridge.what)


def _curved_backward(site: TracedCall, wrt: tuple[int, ...], rows: tuple[int, ...], residuals: Any, grads: Any) -> Any:
    raise third_derivative(site.call.bridge.what)


curved.defvjp(_curved_forward, _curved_backward)


def _stand_in(leaf: Any) -> Any:
    """The kind of an array. One without dimensions is a number, which nobody can update; a Python number stays one."""
    if isinstance(leaf, np.ndarray) and special_class(leaf) is not None or not isinstance(leaf, _ARRAYS):
        return None
    kind = jax.typeof(leaf)
    if not isinstance(kind.dtype, np.dtype):
        raise DtypeError(f"an array of {kind.dtype}, which NumPy has not")
    if kind.shape or kind.dtype.kind not in "fc":
        return Spec(kind.shape, kind.dtype)
    number = kind.dtype.type(0)
    return number.item() if kind.weak_type else number


def _allowed(spec: Spec) -> jax.ShapeDtypeStruct:
    """The kind of array that JAX has for one of NumPy's."""
    return jax.ShapeDtypeStruct(spec.shape, jax.dtypes.canonicalize_dtype(spec.dtype))


def _conjugate(arrays: Sequence[Any]) -> tuple[Any, ...]:
    return tuple(jnp.conj(a) if jnp.iscomplexobj(a) else a for a in arrays)


def _array(cotangent: Any) -> jax.Array:
    if isinstance(cotangent, jax.custom_derivatives.SymbolicZero):
        return jnp.zeros(cotangent.shape, cotangent.dtype)
    found: jax.Array = cotangent
    return found
