"""From what the caller passes to the arrays a compiled program takes: binding, checking, copying."""
from __future__ import annotations

import inspect
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, lru_cache, partial
from importlib.metadata import version
from math import prod
from pathlib import Path
from types import FunctionType, MethodType
from typing import Any

import numpy as np

from sdfgad import __version__
from sdfgad.arrays import TURNED, DistributedArray, Spec, how_it_lies, in_memory, special_class
from sdfgad.callers import called
from sdfgad.checkpoint.outlook import About, Argument
from sdfgad.codegen.targets import chosen
from sdfgad.config import thread_count
from sdfgad.errors import UsageError
from sdfgad.foreign.device_array import DeviceArray
from sdfgad.foreign.reading import adopted
from sdfgad.frontend.libraries.batches import BatchedFunction
from sdfgad.ir.program import Array
from sdfgad.trees import contents, step
from sdfgad.trees import leaves as leaves_of


@dataclass(frozen=True)
class Bound:
    """The arguments of one call by parameter name, and the arrays among them by array name. outside: what arrays from
    outside of the function hold for this call, by container, where it is not what they hold when it runs."""

    values: Mapping[str, Any]
    leaves: Mapping[str, Any]
    signature: tuple[Any, ...]
    outside: Mapping[str, np.ndarray] = field(default_factory=dict)


def bind(fn: Callable[..., Any], args: Sequence[Any], keywords: Mapping[str, Any]) -> Bound:
    """Match arguments to parameters as Python would; UsageError when it would not."""
    values = in_order(fn, args, keywords)
    if values is None:
        try:
            bound = signature_of(fn).bind(*args, **keywords)
        except TypeError as error:
            raise UsageError(f"{getattr(fn, '__name__', 'the function')}: {error}", code="SG205") from error
        bound.apply_defaults()
        values = {n: v for n, v in bound.arguments.items() if n not in _held(fn) or n in keywords}
    if isinstance(fn, BatchedFunction):
        left = left_to_defaults(fn, args, keywords)
        values = {n: v for n, v in values.items() if n not in left}
    values = adopted(values)
    leaves: dict[str, Any] = {}
    signature = tuple([(name, _signature(name, value, leaves)) for name, value in values.items()])
    return Bound(values, leaves, signature)


def _held(fn: Callable[..., Any]) -> Mapping[str, Any]:
    """Arguments that a partial holds by name: they belong to the function, not to the call."""
    return fn.keywords if isinstance(fn, partial) else {}


def left_to_defaults(fn: Callable[..., Any], args: Sequence[Any], keywords: Mapping[str, Any]) -> frozenset[str]:
    """Parameters that a call leaves to a default that holds arrays. They belong to the function: all elements of a
    batch share them."""
    held = _parameters(fn).of_arrays
    if not held:
        return held
    parameters = signature_of(fn).parameters
    left = held - signature_of(fn).bind(*args, **keywords).arguments.keys()
    places = [n for n, p in parameters.items() if p.kind is not inspect.Parameter.KEYWORD_ONLY]
    behind = [n for k, n in enumerate(places) if left & {*places[:k]} and _holds_arrays(keywords.get(n))]
    if behind:  # it would have no place, which in_axes says the axis of
        raise UsageError(f"a batch with {behind[0]!r} by name behind an array that is left to its default",
                         code="SG205", help="pass the arguments before it, too")
    return left


def _holds_arrays(value: Any) -> bool:
    return any(np.ndim(leaf) for leaf in leaves_of(value))


def as_called(fn: Callable[..., Any], bound: Bound) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """The arguments by position and those by name."""
    call = inspect.BoundArguments(signature_of(fn), dict(bound.values))
    return call.args, call.kwargs


def by_parameter(fn: Callable[..., Any], bound: Bound, tangents: Sequence[Any], given: int) -> dict[str, Any]:
    """One for each of the `given` arguments of a call, or of those left to their defaults as well, in their order; a
    tuple for what `*names` takes. UsageError for another number."""
    kinds = [p.kind for n, p in signature_of(fn).parameters.items() if n in bound.values]
    starred = inspect.Parameter.VAR_POSITIONAL in kinds
    if len(tangents) != given and (starred or len(tangents) != len(bound.values)):
        raise UsageError(f"{given} arguments, {len(tangents)} tangents", code="SG205",
                         help="give one for each argument, None for zero, or by name: {'x': v}")
    first = kinds.index(inspect.Parameter.VAR_POSITIONAL) if starred else len(tangents)
    found = dict(zip(bound.values, tangents[:first], strict=False))
    return {**found, list(bound.values)[first]: tuple(tangents[first:])} if starred else found


def in_order(fn: Callable[..., Any], args: Sequence[Any], keywords: Mapping[str, Any]) -> dict[str, Any] | None:
    """What `inspect` finds where every parameter takes one argument, in a small part of the time; None otherwise."""
    plain, skipped = _plain_of(fn)
    if plain is None or len(args) > plain.positional - skipped:
        return None
    values = dict(zip(plain.names[skipped:], args, strict=False))
    used = 0
    for name in plain.names[skipped + len(args):]:
        if name in keywords and name in plain.by_name:
            values[name] = keywords[name]
            used += 1
        elif name in plain.defaults:
            values[name] = plain.defaults[name]
        else:
            return None
    return values if used == len(keywords) else None


def positional(fn: Callable[..., Any]) -> int | None:
    """How many arguments may be given by position; None unless every parameter takes one."""
    plain, skipped = _plain_of(fn)
    return None if plain is None else plain.positional - skipped


def _plain_of(fn: Callable[..., Any]) -> tuple[_Plain | None, int]:
    """The parameters of a function, and how many of them a method has already."""
    # What is remembered of methods belongs to their functions: it would keep the objects alive.
    return (_parameters(fn.__func__).plain, 1) if type(fn) is MethodType else (_parameters(fn).plain, 0)


@dataclass(frozen=True)
class _Plain:
    """Parameters that take one argument each: the first so many by position, `by_name` by name."""

    names: tuple[str, ...]
    positional: int
    by_name: frozenset[str]
    defaults: Mapping[str, Any]


_MOST_AROUND = 100
"""Functions around a function that are looked through."""


class _Parameters:
    """What is known of the parameters of a function, as long as nobody replaces its defaults."""

    def __init__(self, fn: Callable[..., Any]) -> None:
        self._inner = _innermost(fn)
        self._defaults = _defaults(self._inner)
        self._held = _held(fn)
        self._batched = isinstance(fn, BatchedFunction)
        self.signature = _signature_of(fn)

    @property
    def current(self) -> bool:
        now = _defaults(self._inner)
        return len(now) == len(self._defaults) and all(a is b for a, b in zip(now, self._defaults, strict=True))

    @cached_property
    def of_arrays(self) -> frozenset[str]:
        """Those whose defaults hold arrays."""
        return frozenset(n for n, p in self.signature.parameters.items()
                         if n not in self._held and _holds_arrays(p.default))

    @cached_property
    def plain(self) -> _Plain | None:
        """All of them, if none takes whatever is left over or is held by a partial."""
        found = self.signature.parameters
        kinds = [p.kind for p in found.values()]
        held = self.of_arrays if self._batched else self._held
        if held or any(p in (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD) for p in kinds):
            return None
        by_name = frozenset(n for n, p in found.items() if p.kind is not inspect.Parameter.POSITIONAL_ONLY)
        defaults = {n: p.default for n, p in found.items() if p.default is not inspect.Parameter.empty}
        return _Plain(tuple(found), len(kinds) - kinds.count(inspect.Parameter.KEYWORD_ONLY), by_name, defaults)


def _innermost(fn: Any) -> Any:
    """The function whose defaults are those of what is around it."""
    for _ in range(_MOST_AROUND):
        inner = fn.func if isinstance(fn, partial) else fn.__func__ if isinstance(fn, MethodType) else \
            getattr(fn, "__wrapped__", None)
        if inner is None:
            break
        fn = inner
    return fn if isinstance(fn, FunctionType) else type(fn).__call__


def _defaults(fn: Any) -> tuple[Any, ...]:
    """What stands for the defaults of a function: none of it is ever changed without being replaced."""
    by_name = getattr(fn, "__kwdefaults__", None) or {}
    return (getattr(fn, "__defaults__", None), *by_name.keys(), *by_name.values())


def _parameters(fn: Callable[..., Any]) -> _Parameters:
    found = _found_before(fn)
    if not found or not found[0].current:
        found[:] = [_Parameters(fn)]
    return found[0]


@lru_cache(maxsize=256)
def _found_before(fn: Callable[..., Any]) -> list[_Parameters]:
    return []


def signature_of(fn: Callable[..., Any]) -> inspect.Signature:
    return inspect.signature(fn) if type(fn) is MethodType else _parameters(fn).signature


def _signature_of(fn: Callable[..., Any]) -> inspect.Signature:
    try:
        return inspect.signature(fn)
    except ValueError as error:
        raise UsageError(f"the arguments of {called(fn)!r} are not known: it is no Python function", code="SG205",
                         help="pass a function written in Python, as lambda x: np.sum(x)") from error


def _signature(name: str, value: Any, leaves: dict[str, Any]) -> Any:
    """What the compiled program depends on: shape and dtype of numbers, the value of everything else."""
    if type(value) is np.ndarray:  # what follows says the same of it, and takes longer
        leaves[name] = value
        return (value.shape, value.dtype.str, False, None, None if value.flags.c_contiguous else TURNED)
    if type(value) in BY_VALUE:
        return (type(value).__name__, repr(value))
    if isinstance(value, (np.ndarray, Spec)) or (isinstance(value, np.generic) and value.dtype.kind in "fc"):
        leaves[name] = value
        kind = np.dtype(value.dtype).str
        return (value.shape, kind, isinstance(value, np.generic), special_class(value), how_it_lies(value))
    if isinstance(value, (float, complex)) and not isinstance(value, bool):
        leaves[name] = value
        return type(value).__name__
    inside = contents(value)
    if inside is not None:
        form = type(value)
        return (form, *[(k, _signature(name + step(form, k), v, leaves)) for k, v in inside.items()])
    if isinstance(value, (np.generic, np.dtype, range, slice)):
        return (type(value).__name__, repr(value))
    return _Itself(value)


BY_VALUE = frozenset({int, bool, str, type(None)})


@dataclass(frozen=True, eq=False)
class _Itself:
    """A function or object among the arguments: it alone, and it stays alive as long as what was compiled for it.

    What is found in it is looked up at every call.
    """

    thing: Any

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Itself) and other.thing is self.thing

    def __hash__(self) -> int:
        return id(self.thing)


def is_differentiable(value: Any) -> bool:
    """Whether a leaf carries a gradient."""
    if isinstance(value, (float, complex)):
        return True
    return np.dtype(value.dtype).kind in "fc"


def check_donated(bound: Bound, donate: Collection[str]) -> None:
    """UsageError for a name in `donate` that no array has: nothing would be given away, and nobody would be told."""
    unknown = sorted(set(donate) - bound.leaves.keys())
    if unknown:
        raise UsageError(f"donate: there is no argument {unknown[0]!r}", code="SG205",
                         help=f"arguments: {', '.join(bound.leaves)}")


def refuse_specs(bound: Bound, whole: bool = False, host: bool = False) -> None:
    """UsageError where data is needed and a stand-in was given. whole: or a block of a distributed array. host: or data
    of a graphics processor."""
    for name, value in bound.leaves.items():
        if host and isinstance(value, DeviceArray):
            raise UsageError(f"argument {name!r} lies on a graphics processor", code="SG212",
                             help="pass a copy in the memory of the host, where SciPy works")
        if isinstance(value, DistributedArray):
            if value.first is None and whole:
                raise UsageError(f"argument {name!r} is a block of a distributed array, and all of it is needed",
                                 code="SG205", help="pass the whole array, or use grad or forward with distribute=")
            if value.first is None:
                raise UsageError(f"argument {name!r} is a block of a distributed array, and distribute= does not cut "
                                 "it", code="SG205")
        elif isinstance(value, Spec) and not isinstance(value, DeviceArray):
            raise UsageError(f"argument {name!r} is a spec: a call needs data", code="SG205")


def about(fn: Callable[..., Any], bound: Bound, wrt: tuple[str, ...]) -> About:
    """The call, as a report shows it."""
    arrays = tuple(_described(name, value) for name, value in bound.leaves.items())
    symbols = {n: int(v) for n, v in bound.values.items()
               if isinstance(v, (int, np.integer)) and not isinstance(v, bool)}
    code = getattr(fn, "__code__", None)
    versions = {"sdfgad": __version__, "numpy": np.__version__, "dace": version("dace")}
    file = Path(code.co_filename).name if code else ""
    device = "gpu" if chosen().on_device else "cpu"
    return About(file, wrt, arrays, symbols, device, thread_count() or 0, versions)


def _described(name: str, value: Any) -> Argument:
    kind = np.dtype(value.dtype) if hasattr(value, "dtype") else np.dtype(type(value))
    shape = tuple(int(n) for n in getattr(value, "shape", ()))
    return Argument(name, shape, kind.name, prod(shape) * kind.itemsize)


def windowed(given: Any, array: Array | None) -> Any:
    """The part of an argument that a rank has of it."""
    value = in_memory(given)
    if value is not given or array is None or array.window is None:
        return value
    return np.asarray(value)[tuple(slice(*side) for side in array.window)]


def as_input(value: Any, array: Array, room: np.ndarray | None) -> np.ndarray:
    """A C-contiguous array as the program wants it; a copy in `room` when the program writes it.

    Most arguments are arrays of just the right kind, or floats: the functions for all others take several times as
    long for an array of a few numbers.
    """
    if isinstance(value, DistributedArray):
        window = array.window or tuple((0, n) for n in array.shape)
        if room is None and value.fills(window):
            return value.local
        return value.within(window, np.empty(array.shape, array.dtype) if room is None else room)
    value = windowed(value, array)
    right = type(value) is np.ndarray and value.dtype == array.dtype and value.shape == array.shape
    if room is not None:
        if right:
            room[...] = value
        else:
            np.copyto(room, np.reshape(value, array.shape), casting="unsafe")
        return room
    if right and value.flags.carray:
        return value
    if type(value) is float and not array.shape:
        return np.array(value, array.dtype)
    found = np.ascontiguousarray(value, dtype=array.dtype).reshape(array.shape)
    return found if found.flags.aligned else found.copy()
