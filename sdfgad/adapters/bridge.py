"""What another library asks of a function that it differentiates: values and products, of arrays in a fixed order."""
from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from sdfgad.arrays import Spec
from sdfgad.calls.arguments import Bound, as_called, bind, is_differentiable
from sdfgad.calls.buffers import reusable
from sdfgad.calls.directions import seeds_of
from sdfgad.config import settings
from sdfgad.errors import UnsupportedError, UsageError
from sdfgad.ir.program import View
from sdfgad.memory import parse_bytes
from sdfgad.rooms import begun_again
from sdfgad.trees import leaves, mapped, paths
from sdfgad.verbs.options import check_options
from sdfgad.verbs.pipeline import Derivative, Primal, Request, derive, primal
from sdfgad.verbs.pushforwards import Pushforward, pushforward
from sdfgad.verbs.second import DerivativeFunction, curvature_of, refuse_options
from sdfgad.verbs.together import agreed, refuse_ranks
from sdfgad.verbs.translations import once


def check_function(fn: Any, what: str) -> None:
    """UsageError for what is no function of NumPy arrays."""
    if isinstance(fn, DerivativeFunction):
        raise UsageError(f"{what} of what sdfgad has made of a function", code="SG205",
                         help="give it the function itself; the other library asks for the derivatives")
    check_options(fn, None, None, None)


@dataclass(frozen=True)
class Bridge:
    """A function and what is asked of it, as for `vjp`. what: the name of the adapter."""

    fn: Callable[..., Any]
    output: Any
    memory_limit: Any
    source: str
    what: str

    def call(self, args: Sequence[Any], keywords: Mapping[str, Any],
             stand_in: Callable[[Any], Any]) -> tuple[FixedCall, list[Any]]:
        """One call, from what the other library has for arrays, and these. stand_in: a `Spec` or a number of the same
        kind for each of them, None for whatever is no array."""
        refuse_ranks(self.what, self.fn, args, keywords)
        found = bind(self.fn, args, keywords)
        given: dict[str, Any] = {p: leaf for n, v in found.values.items() for p, leaf in paths(n, v)}
        values = {n: mapped(lambda leaf: _or_itself(stand_in(leaf), leaf), v) for n, v in found.values.items()}
        call, named = as_called(self.fn, Bound(values, {}, ()))
        bound = bind(self.fn, call, named)
        return FixedCall(self, bound), [given[n] for n in bound.leaves]


def _or_itself(found: Any, leaf: Any) -> Any:
    return leaf if found is None else found


@dataclass(frozen=True, eq=False)
class FixedCall:
    """A function with arguments of fixed shapes and dtypes, which are given as arrays in the order of `names`.

    Cotangents and tangents are those of sdfgad: the gradient of a complex number is steepest ascent.
    """

    bridge: Bridge
    bound: Bound

    @cached_property
    def names(self) -> tuple[str, ...]:
        """The arguments that are arrays, and numbers that are not fixed."""
        return tuple(self.bound.leaves)

    @cached_property
    def kinds(self) -> tuple[Spec, ...]:
        """Their shapes and dtypes."""
        return tuple(Spec(np.shape(v), np.dtype(getattr(v, "dtype", type(v)))) if not isinstance(v, Spec) else v
                     for v in self.bound.leaves.values())

    @cached_property
    def smooth(self) -> tuple[bool, ...]:
        """Which of them may have derivatives."""
        return tuple(is_differentiable(v) for v in self.bound.leaves.values())

    @cached_property
    def form(self) -> Any:
        """What a call gives, with views in place of arrays; UnsupportedError where a shape is not known before it."""
        code = self._primal()
        form = code.program.returns
        if self.bridge.output is not None:
            form = code.outputs if isinstance(self.bridge.output, (tuple, list)) else code.outputs[0]
        if any(n.const is None for v in leaves(form) if isinstance(v, View) for n in v.shape):
            raise UnsupportedError(f"{self.bridge.what} of a function that returns an array whose shape is known only "
                                   "in a call", code="SG103", help="return an array as long as it can get, with zeros")
        return form

    @cached_property
    def results(self) -> tuple[Spec, ...]:
        """Shapes and dtypes of the arrays that a call gives."""
        return tuple(_kind(v) for v in leaves(self.form) if _is_array(v))

    @cached_property
    def seeded(self) -> tuple[int, ...]:
        """Which of them have cotangents."""
        arrays = [v for v in leaves(self.form) if _is_array(v)]
        return tuple(k for k, v in enumerate(arrays) if isinstance(v, View) and v.dtype.kind in "fc")

    @cached_property
    def tangents(self) -> tuple[Spec, ...]:
        """Shapes and dtypes of their tangents."""
        return tuple(self.results[k] for k in self.seeded)

    def rebuilt(self, arrays: Sequence[Any]) -> Any:
        """What a call gives, with these in place of its arrays."""
        left = iter(arrays)
        return mapped(lambda v: next(left) if _is_array(v) else v, self.form)

    @begun_again
    def values(self, arrays: Sequence[np.ndarray]) -> list[np.ndarray]:
        """The arrays that a call gives: contiguous ones that nobody else has."""
        tree, named = self._primal().run(self._filled(arrays), frozenset())
        output = self.bridge.output
        found = tree if output is None else tuple(named) if isinstance(output, (tuple, list)) else named[0]
        kept: list[np.ndarray] = list(arrays)
        for value in (v for v, form in zip(leaves(found), leaves(self.form), strict=True) if _is_array(form)):
            kept.append(_own(value, kept))
        made = kept[len(arrays):]
        if tuple(Spec(a.shape, a.dtype) for a in made) != self.results:
            raise UsageError(f"{self.bridge.what}: the function gives other arrays than when it was looked at",
                             code="SG205", help="what it takes from around it has changed; trace it again")
        return made

    def prepare(self, wrt: Sequence[int]) -> None:
        """Compile what `pulled` needs, and find what would be refused."""
        if self.seeded:
            self._derivative(wrt).compiled()

    @begun_again
    def pulled(self, arrays: Sequence[np.ndarray], seeds: Sequence[Any], wrt: Sequence[int]) -> list[np.ndarray]:
        """The cotangents of the arguments `wrt` for one seed of each result that has cotangents."""
        if not self.seeded or not wrt:
            return self._zeros(wrt)
        derivative = self._derivative(wrt)
        _, found = derivative.run(self._filled(arrays), frozenset(), seeds_of(derivative.outputs, seeds))
        return [_own(g, arrays) for g in found.values()]

    @begun_again
    def curved(self, arrays: Sequence[np.ndarray], seeds: Sequence[Any], wrt: Sequence[int],
               along: Sequence[np.ndarray], rows: Sequence[int]) -> list[np.ndarray]:
        """The derivative of `pulled` at `rows`, along a vector for each of `wrt`; also what a cotangent of `pulled` by
        `wrt` makes of `rows`, as the Hessian of the weighted outputs is symmetric."""
        refuse_options({"memory_limit": self.bridge.memory_limit})
        if not self.seeded or not wrt or not rows:
            return self._zeros(rows)
        bound = self._filled(arrays)
        request = Request(self._named(rows), self.bridge.output, seeds=True)
        code = curvature_of(self.bridge.fn, bound, request, self._named(wrt), self.bridge.source)
        given = [np.asarray(s) for s in seeds]
        _, found = code.run(bound, dict(zip(self._named(wrt), along, strict=True)), tuple(given))
        return [_own(h, arrays) for h in found]

    @begun_again
    def pushed(self, arrays: Sequence[np.ndarray], wrt: Sequence[int],
               along: Sequence[np.ndarray]) -> list[np.ndarray]:
        """The tangents of the results that have cotangents, along a vector for each of `wrt`."""
        if not self.seeded or not wrt:
            return [np.zeros(s.shape, s.dtype) for s in self.tangents]
        _, tangents = self.tangent(wrt).run(self._filled(arrays), dict(zip(self._named(wrt), along, strict=True)))
        found = [t for t, form in zip(leaves(tangents), leaves(self.form), strict=True) if _is_array(form)]
        return [_own(found[k], arrays) for k in self.seeded]

    def tangent(self, wrt: Sequence[int]) -> Pushforward:
        """What `pushed` needs, compiled."""
        bridge, names = self.bridge, self._named(wrt)
        made: Pushforward = once(bridge.fn, ("jvp", self.bound.signature, names, repr(bridge.output), None),
                                 lambda: pushforward(bridge.fn, self.bound, names, bridge.output, bridge.source))
        return made

    def _named(self, places: Sequence[int]) -> tuple[str, ...]:
        return tuple(self.names[k] for k in places)

    def _filled(self, arrays: Sequence[np.ndarray]) -> Bound:
        """The call with data in it."""
        given = zip(self.bound.leaves.items(), arrays, strict=True)
        return Bound(self.bound.values, {n: _like(a, form) for (n, form), a in given}, self.bound.signature)

    def _zeros(self, places: Sequence[int]) -> list[np.ndarray]:
        return [np.zeros(self.kinds[k].shape, self.kinds[k].dtype) for k in places]

    @cached_property
    def _limit(self) -> int | None:
        """The same for all calls, also where it is a share of what is free."""
        return parse_bytes(settings(memory_limit=self.bridge.memory_limit).memory_limit, reusable())

    def _primal(self) -> Primal:
        bridge = self.bridge
        made: Primal = once(
            bridge.fn, ("primal", self.bound.signature, repr(bridge.output)),
            lambda: agreed(None, lambda: primal(bridge.fn, self.bound, bridge.output, bridge.source)))
        return made

    def _derivative(self, wrt: Sequence[int]) -> Derivative:
        bridge = self.bridge
        request = Request(self._named(wrt), bridge.output, seeds=True, limit=self._limit)
        made: Derivative = once(bridge.fn, ("vjp", self.bound.signature, repr(request)),
                                lambda: derive(bridge.fn, self.bound, request, bridge.source))
        return made


def _is_array(leaf: Any) -> bool:
    return isinstance(leaf, (View, np.ndarray))


def _kind(leaf: Any) -> Spec:
    if isinstance(leaf, View):
        return Spec(tuple(n.const or 0 for n in leaf.shape), leaf.dtype)
    return Spec(leaf.shape, leaf.dtype)


def _like(array: np.ndarray, form: Any) -> Any:
    """A number where the function is to get one."""
    if isinstance(form, np.generic):
        return array[()]
    return type(form)(array) if isinstance(form, (float, complex)) else array


def _own(value: Any, others: Sequence[np.ndarray]) -> np.ndarray:
    """A contiguous array that may be written, and shares memory with none of the others."""
    array = np.asarray(value, order="C")
    shared = not array.flags.writeable or any(np.may_share_memory(array, o) for o in others)
    return array.copy() if shared else array


def derivative_of_tangent(what: str) -> UnsupportedError:
    """The refusal of a derivative of what forward mode gives."""
    return UnsupportedError(f"the derivative of a tangent of what {what} has made", code="SG123",
                            help="second derivatives are taken of the gradient, in forward or reverse mode")


def third_derivative(what: str) -> UnsupportedError:
    """The refusal of what would be one derivative more than there are rules for."""
    return UnsupportedError(f"a third derivative through {what}", code="SG123",
                            help="second derivatives are the last ones; use detach() or stop_gradient where a higher "
                                 "one is not meant")
