"""Functions of JAX arrays: operations of JAX around `pure_callback`, with the rules by which it differentiates them.

The value has a tangent, `pushed`. That is linear in its tangents, and turned around it is `pulled`, the cotangents of
the arguments. The tangent of these is `curved`, by the Hessian of the weighted outputs, which turned around is itself.

JAX pairs cotangents with tangents without a conjugate: its cotangent of a complex number is the conjugate of the one
that sdfgad means.
"""
from __future__ import annotations

import contextvars
import functools
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import jax
import numpy as np
from jax import numpy as jnp
from jax.extend.core import Primitive
from jax.interpreters import ad, batching, mlir

from sdfgad.adapters.bridge import Bridge, FixedCall, derivative_of_tangent, third_derivative
from sdfgad.arrays import Spec, special_class
from sdfgad.errors import DtypeError
from sdfgad.verbs.tracebacks import shortened

_ARRAYS = (jax.Array, np.ndarray, np.floating, np.complexfloating)


def adapted(bridge: Bridge) -> Callable[..., Any]:
    """The function of a bridge, for JAX arrays."""

    @functools.wraps(bridge.fn)
    @shortened
    def called(*args: Any, **keywords: Any) -> Any:
        call, given = bridge.call(args, keywords, _stand_in)
        site = TracedCall(call, tuple(_allowed(s) for s in call.kinds))
        arrays = tuple(jnp.asarray(g, dtype=s.dtype) for g, s in zip(given, site.given, strict=True))
        return call.rebuilt(VALUE.bind(*arrays, asked=Asked(site)))

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


@dataclass(frozen=True)
class Asked:
    """What of an operation is no array. wrt: arguments that tangents belong to, or whose cotangents are asked for.
    rows: of a curvature, the arguments whose cotangents change. Operands are the arguments of the function, seeds, and
    vectors along which a derivative is taken, in this order."""

    site: TracedCall
    wrt: tuple[int, ...] = ()
    rows: tuple[int, ...] = ()

    @property
    def given(self) -> int:
        return len(self.site.given)

    @property
    def seeds(self) -> int:
        return len(self.site.call.seeded)

    def split(self, operands: Sequence[Any], *sizes: int) -> list[tuple[Any, ...]]:
        """The arguments, and the other operands in groups of so many; the rest is the last group."""
        ends = np.cumsum([0, self.given, *sizes, len(operands)])
        ends[-1] = len(operands)
        return [tuple(operands[i:j]) for i, j in zip(ends, ends[1:], strict=False)]


def _value(asked: Asked, *given: Any) -> tuple[jax.Array, ...]:
    site = asked.site
    return site.run(site.results, site.call.values, given)


def _pushed(asked: Asked, *operands: Any) -> tuple[jax.Array, ...]:
    site, (given, along) = asked.site, asked.split(operands)[:2]
    if site.call.seeded:
        site.call.tangent(asked.wrt)  # so that what is refused is refused here, and not in a thread of JAX
    return site.run(site.tangents, lambda given, along: site.call.pushed(given, asked.wrt, along), given, along)


def _pulled(asked: Asked, *operands: Any) -> tuple[jax.Array, ...]:
    site, (given, seeds) = asked.site, asked.split(operands)[:2]
    site.call.prepare(asked.wrt)
    return _conjugate(site.run([site.given[k] for k in asked.wrt], lambda given, seeds: site.call.pulled(
        given, seeds, asked.wrt), given, _conjugate(seeds)))


def _curved(asked: Asked, *operands: Any) -> tuple[jax.Array, ...]:
    """The cotangents were conjugated, and so were the seeds: what is paired with the former is not conjugated again."""
    site, (given, seeds, along) = asked.site, asked.split(operands, asked.seeds)[:3]
    return _conjugate(site.run([site.given[k] for k in asked.rows], lambda given, seeds, along: site.call.curved(
        given, seeds, asked.wrt, along, asked.rows), given, _conjugate(seeds), along))


def _operation(name: str, run: Callable[..., Any], shapes: Callable[[Asked], Sequence[jax.ShapeDtypeStruct]]) -> Any:
    """What JAX knows as one operation. A batch is one call after the other."""
    made = Primitive(f"sdfgad_{name}")
    made.multiple_results = True
    made.def_impl(lambda *operands, asked: run(asked, *operands))
    made.def_abstract_eval(lambda *operands, asked: [jax.core.ShapedArray(s.shape, s.dtype) for s in shapes(asked)])
    mlir.register_lowering(made, mlir.lower_fun(lambda *operands, asked: run(asked, *operands), multiple_results=True))

    def batched(operands: Sequence[Any], axes: Sequence[Any], *, asked: Asked) -> tuple[Any, Any]:
        some = tuple(jnp.moveaxis(o, a, 0) for o, a in zip(operands, axes, strict=True) if a is not None)

        def each(here: Any) -> Any:
            left = iter(here)
            whole = (o if a is None else next(left) for o, a in zip(operands, axes, strict=True))
            return made.bind(*whole, asked=asked)

        found = jax.lax.map(each, some)
        return found, [0] * len(found)

    batching.primitive_batchers[made] = batched
    return made


VALUE = _operation("value", _value, lambda asked: asked.site.results)
PUSHED = _operation("pushed", _pushed, lambda asked: asked.site.tangents)
PULLED = _operation("pulled", _pulled, lambda asked: [asked.site.given[k] for k in asked.wrt])
CURVED = _operation("curved", _curved, lambda asked: [asked.site.given[k] for k in asked.rows])


def _tangent_of_value(given: Sequence[Any], tangents: Sequence[Any], *, asked: Asked) -> tuple[Any, Any]:
    call = asked.site.call
    wrt = tuple(k for k, t in enumerate(tangents) if type(t) is not ad.Zero and call.smooth[k])
    out = VALUE.bind(*given, asked=asked)
    found: dict[int, Any] = {}
    if wrt and call.seeded:
        along = PUSHED.bind(*given, *(tangents[k] for k in wrt), asked=replace(asked, wrt=wrt))
        found = dict(zip(call.seeded, along, strict=True))
    return out, [found[k] if k in found else _nothing(o) for k, o in enumerate(out)]


def _tangent_of_tangent(operands: Sequence[Any], tangents: Sequence[Any], *, asked: Asked) -> tuple[Any, Any]:
    if _moving(tangents[:asked.given]):
        raise derivative_of_tangent(asked.site.call.bridge.what)
    along = map(ad.instantiate_zeros, tangents[asked.given:])
    return PUSHED.bind(*operands, asked=asked), PUSHED.bind(*operands[:asked.given], *along, asked=asked)


def _tangent_of_cotangent(operands: Sequence[Any], tangents: Sequence[Any], *, asked: Asked) -> tuple[Any, Any]:
    given, parts = asked.given, []
    wrt = tuple(k for k in _moving(tangents[:given]) if asked.site.call.smooth[k])
    if wrt:
        parts.append(CURVED.bind(*operands, *(tangents[k] for k in wrt), asked=replace(asked, wrt=wrt, rows=asked.wrt)))
    if _moving(tangents[given:]):
        seeds = map(ad.instantiate_zeros, tangents[given:])
        parts.append(PULLED.bind(*operands[:given], *seeds, asked=asked))
    out = PULLED.bind(*operands, asked=asked)
    if not parts:
        return out, [_nothing(o) for o in out]
    return out, [functools.reduce(jnp.add, each) for each in zip(*parts, strict=True)]


def _tangent_of_curvature(operands: Sequence[Any], tangents: Sequence[Any], *, asked: Asked) -> tuple[Any, Any]:
    most = asked.given + asked.seeds
    if _moving(tangents[:most]):
        raise third_derivative(asked.site.call.bridge.what)
    along = map(ad.instantiate_zeros, tangents[most:])
    return CURVED.bind(*operands, asked=asked), CURVED.bind(*operands[:most], *along, asked=asked)


def _moving(tangents: Sequence[Any]) -> tuple[int, ...]:
    """Which operands have a tangent."""
    return tuple(k for k, t in enumerate(tangents) if type(t) is not ad.Zero)


def _nothing(of: Any) -> ad.Zero:
    """The tangent of what does not change."""
    return ad.Zero(jax.typeof(of).to_tangent_aval())


def _turned(other: Any, change: Callable[[Asked], Asked], first: Callable[[Asked], int]) -> Callable[..., Any]:
    """The transpose of an operation that is linear in its last operands: another operation on the others."""
    def transposed(cotangents: Sequence[Any], *operands: Any, asked: Asked) -> list[Any]:
        held = operands[:first(asked)]
        found = other.bind(*held, *map(ad.instantiate_zeros, cotangents), asked=change(asked))
        return [*[None] * len(held), *(g if ad.is_undefined_primal(o) else None
                                       for g, o in zip(found, operands[len(held):], strict=True))]

    return transposed


ad.primitive_jvps.update({VALUE: _tangent_of_value, PUSHED: _tangent_of_tangent, PULLED: _tangent_of_cotangent,
                          CURVED: _tangent_of_curvature})
# The Hessian of the weighted outputs is symmetric.
ad.primitive_transposes.update({
    PUSHED: _turned(PULLED, lambda asked: asked, lambda asked: asked.given),
    PULLED: _turned(PUSHED, lambda asked: asked, lambda asked: asked.given),
    CURVED: _turned(CURVED, lambda asked: replace(asked, wrt=asked.rows, rows=asked.wrt),
                    lambda asked: asked.given + asked.seeds)})


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
