"""Functions for `scipy.optimize`, which minimises over one vector of real numbers."""
from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from sdfgad.adapters.bridge import check_function
from sdfgad.arrays import native
from sdfgad.calls.arguments import Bound, as_called, bind, refuse_specs
from sdfgad.calls.asked import Leaves, asked_wrt, resolve_wrt
from sdfgad.errors import UsageError
from sdfgad.frontend.graphs.function import as_function
from sdfgad.trees import is_named, paths, with_leaves
from sdfgad.verbs.api import GradFunction
from sdfgad.verbs.matrices import hvp
from sdfgad.verbs.second import refuse_options
from sdfgad.verbs.tracebacks import shortened


@shortened
def as_scipy(fn: Callable[..., Any], example: Any, wrt: Any = None, *, argnums: Any = None, output: Any = None,
             reduce: str | None = None, memory_limit: Any = None, device: str | None = None,
             source: str | None = None) -> tuple[VectorObjective, np.ndarray, Callable[[Any], Any]]:
    """`(fun, x0, unflatten)` for `scipy.optimize.minimize(fun, x0, jac=True)`.

    example: the arguments of a call as a tuple, or the only one. wrt: those to minimise over, as in `grad`, each an
    array, a number or a container of them; the others stay what they are in the example. argnums, output, reduce,
    memory_limit, device, source: as in `grad`.

    `fun(x)` is `(value, gradient)`, a float and a vector of float64. `fun.hessp(x, p)` is the Hessian times a vector,
    for methods that take `hessp=`. x0 is the vector of the example. `unflatten(x)` is the argument for a vector, or a
    tuple of arguments where several are minimised over, and `fun.flatten(argument)` the vector for such arguments, as
    for bounds. A complex number has two places in the vector, its real and its imaginary part.

    Raises UsageError for an example that does not fit, and what `grad` and `hvp` raise.
    """
    check_function(fn := as_function(fn), "as_scipy")
    wrt = asked_wrt(wrt, argnums)
    args = example if isinstance(example, tuple) and not is_named(type(example)) else (example,)
    bound = bind(fn, args, {})
    refuse_specs(bound, True, True)
    vector = _Vector(fn, bound, resolve_wrt(fn, bound, wrt))
    fun = VectorObjective(vector, memory_limit, device, {"output": output, "reduce": reduce, "source": source})
    return fun, vector.joined(bound.leaves), fun.unflatten


class VectorObjective:
    """A function of one vector, with its gradient, as `as_scipy` makes it."""

    def __init__(self, vector: _Vector, memory_limit: Any, device: str | None, options: Mapping[str, Any]) -> None:
        self._vector, self._limit, self._options = vector, memory_limit, options
        self._gradient = GradFunction(vector.fn, wrt=Leaves(vector.names), memory_limit=memory_limit, device=device,
                                      **options)

    def __call__(self, x: Any) -> tuple[float, np.ndarray]:
        """`(value, gradient)` at a vector."""
        __tracebackhide__ = True
        args, keywords = self._vector.call(x)
        value, gradient = self._gradient.value_and_grad(*args, **keywords)
        return float(value), self._vector.joined(gradient)

    @shortened
    def hessp(self, x: Any, p: Any) -> np.ndarray:
        """The Hessian at `x` times `p`. UsageError with a memory limit, which second derivatives do not keep."""
        refuse_options({"memory_limit": self._limit})
        vector, (args, keywords) = self._vector, self._vector.call(x)
        return vector.joined(hvp(vector.fn, args, vector.split(p), wrt=Leaves(vector.names), **self._options,
                                 **keywords))

    @shortened
    def unflatten(self, x: Any) -> Any:
        """The argument for a vector, or a tuple of those that are minimised over."""
        values = self._vector.values(np.array(x))
        found = tuple(values[n] for n in self._vector.owners)
        return found if len(found) > 1 else found[0]

    @shortened
    def flatten(self, arguments: Any) -> np.ndarray:
        """The vector for what `unflatten` gives; UsageError for anything else."""
        owners = self._vector.owners
        given = arguments if len(owners) > 1 else (arguments,)
        if not isinstance(given, tuple) or len(given) != len(owners):
            raise UsageError(f"flatten takes a tuple of {len(owners)} arguments: {', '.join(owners)}", code="SG205")
        leaves = {p: leaf for n, v in zip(owners, given, strict=True) for p, leaf in paths(n, v)}
        return self._vector.joined(leaves)


@dataclass(frozen=True)
class _Vector:
    """Where the numbers of arguments lie in one vector. names: the arrays and numbers in it, in order."""

    fn: Callable[..., Any]
    bound: Bound
    names: tuple[str, ...]

    @cached_property
    def owners(self) -> tuple[str, ...]:
        """The arguments that have parts in the vector."""
        return tuple(n for n, v in self.bound.values.items() if any(p in self.names for p, _ in paths(n, v)))

    @cached_property
    def size(self) -> int:
        return sum(_size(self.bound.leaves[n]) for n in self.names)

    def split(self, x: Any) -> dict[str, Any]:
        """The parts of a vector by name, of the kinds that the example has."""
        vector = np.asarray(x)
        if vector.shape != (self.size,) or not np.can_cast(vector.dtype, np.float64, "same_kind"):
            raise UsageError(f"a vector of {self.size} real numbers is asked for, and this is an array of shape "
                             f"{vector.shape} and dtype {vector.dtype}", code="SG205")
        whole, at, parts = np.ascontiguousarray(vector, np.float64), 0, {}
        for name in self.names:
            form = self.bound.leaves[name]
            parts[name] = _part(whole[at:at + _size(form)], form)
            at += _size(form)
        return parts

    def values(self, x: Any) -> dict[str, Any]:
        """All arguments, with the numbers of a vector."""
        parts = self.split(x)
        return {n: with_leaves(n, v, parts) for n, v in self.bound.values.items()}

    def call(self, x: Any) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """The arguments by position and those by name."""
        return as_called(self.fn, Bound(self.values(x), {}, ()))

    def joined(self, leaves: Any) -> np.ndarray:
        """The vector of arrays and numbers that are found by name."""
        if any(n not in leaves or np.shape(leaves[n]) != np.shape(self.bound.leaves[n]) for n in self.names):
            raise UsageError("what is to be one vector is built in another way than the example", code="SG205")
        parts = [np.asarray(leaves[n]).ravel() for n in self.names]
        kinds = [np.complex128 if np.iscomplexobj(self.bound.leaves[n]) else np.float64 for n in self.names]
        return np.concatenate([p.astype(k).view(np.float64) for p, k in zip(parts, kinds, strict=True)])


def _size(form: Any) -> int:
    return int(np.size(form)) * (2 if np.iscomplexobj(form) else 1)


def _part(numbers: np.ndarray, form: Any) -> Any:
    """Real numbers as what stands in the example."""
    found = numbers.view(np.complex128) if np.iscomplexobj(form) else numbers
    if isinstance(form, np.ndarray):
        return found.reshape(form.shape).astype(native(form.dtype), copy=False)
    return type(form)(found[0])
