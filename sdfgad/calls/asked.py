"""Which arguments are differentiated: `wrt=`, by name or position."""
from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from sdfgad.arrays import Spec
from sdfgad.calls.arguments import Bound, is_differentiable, signature_of
from sdfgad.errors import DtypeError, UsageError
from sdfgad.foreign.device_array import DeviceArray
from sdfgad.trees import paths


def absent_of(wrt: Any, bound: Bound) -> dict[str, None]:
    """Arguments named in `wrt` that another rank has, by name."""
    names = wrt if isinstance(wrt, (tuple, list)) else (wrt,)
    return {n: None for n in names if isinstance(n, str) and n in bound.values and bound.values[n] is None}


@dataclass(frozen=True)
class Leaves:
    """As `wrt`: the names of arrays and numbers among the arguments, which somebody has looked up already."""

    names: tuple[str, ...]


def asked_wrt(wrt: Any, argnums: Any) -> Any:
    """The arguments asked for, under the one name or the other; UsageError for both, and for argnums that are none."""
    if argnums is None:
        return wrt
    if wrt is not None:
        raise UsageError("wrt and argnums say the same: give one of them", code="SG204")
    entries = argnums if isinstance(argnums, (tuple, list)) else (argnums,)
    if not all(isinstance(n, (int, np.integer)) and not isinstance(n, bool) for n in entries):
        raise UsageError(f"argnums={argnums!r}: an int or a tuple of ints is asked for", code="SG204",
                         help="wrt= takes names")
    return tuple(map(int, entries)) if entries is argnums else int(argnums)


def resolve_wrt(fn: Callable[..., Any], bound: Bound, wrt: Any, together: bool = False) -> tuple[str, ...]:
    """Names of the leaves to differentiate: given by name or position, or every floating or complex array; every float
    where there is no array at all. together: other ranks may have some of them, which are None here."""
    if isinstance(wrt, Leaves):
        return wrt.names
    if wrt is None:
        arrays = any(isinstance(v, (np.ndarray, Spec)) for v in bound.leaves.values())
        found = tuple(n for n, v in bound.leaves.items()
                      if (hasattr(v, "dtype") or not arrays) and is_differentiable(v))
        if not found:
            raise UsageError("no argument is a floating or complex array: name a scalar with wrt=", code="SG204",
                             help=f"the arguments are {_told(bound)}")
        return found
    names: list[str] = []
    positions = _positions(fn, bound)
    for entry in wrt if isinstance(wrt, (tuple, list)) else (wrt,):
        inside = isinstance(entry, str) and entry in bound.leaves  # also what lies in a container, as "p.c"
        name = entry if inside else _parameter_name(entry, list(bound.values), list(positions))
        value = {**positions, **bound.values}.get(name, name)
        names += [] if together and value is None else _leaves_of(name, value, bound)
    if len(set(names)) != len(names):
        raise UsageError(f"wrt names an argument twice: {', '.join(names)}", code="SG204")
    return tuple(names)


def _positions(fn: Callable[..., Any], bound: Bound) -> dict[str, Any]:
    """What positions count: the arguments, and each of those behind `*`."""
    known = signature_of(fn).parameters
    return {path: part for n, value in bound.values.items() for path, part in (
        [(f"{n}[{k}]", part) for k, part in enumerate(value)] if known[n].kind is known[n].VAR_POSITIONAL
        else [(n, value)])}


def _parameter_name(entry: Any, parameters: list[str], positions: list[str]) -> str:
    if isinstance(entry, str) and entry in parameters:
        return entry
    counts = isinstance(entry, (int, np.integer)) and not isinstance(entry, bool)
    if counts and -len(positions) <= entry < len(positions):
        return positions[entry]
    raise UsageError(f"no argument at position {entry}: the function has {len(positions)} arguments" if counts else
                     f"wrt={entry!r}: no argument of this name", code="SG204",
                     help=f"the arguments are {', '.join(positions if counts else parameters)}")


def _told(bound: Bound) -> str:
    """Every argument with what it is, and what would make a floating array of it."""
    return ", ".join(text for name, value in bound.values.items() for text in _kinds(name, value)) or "none"


def _kinds(name: str, value: Any) -> list[str]:
    if isinstance(value, list) and all(isinstance(v, (bool, int, float, list)) for v in value):
        return [f"{name}: list (make it an array: np.asarray({name}))"]
    return [f"{path}: {_kind(path, leaf)}" for path, leaf in paths(name, value)]


def _kind(path: str, value: Any) -> str:
    if hasattr(type(value), "__array__") and not isinstance(value, (np.ndarray, np.generic, DeviceArray)):
        return f"{type(value).__name__} (make it an array: np.asarray({path}))"
    if not hasattr(value, "dtype") or not hasattr(value, "shape"):
        return type(value).__name__ + (f" (make it floating: float({path}))" if type(value) is int else "")
    kind = np.dtype(value.dtype)
    if not value.shape:
        return kind.name
    return f"{kind.name} array" + (f" (make it floating: {path}.astype(float))" if kind.kind in "biu" else "")


def _leaves_of(name: str, value: Any, bound: Bound) -> list[str]:
    """The differentiable leaves of an argument: itself, or those in it."""
    inside = (f"{name}[", f"{name}.")
    found = [n for n, v in bound.leaves.items()
             if (n == name or (n.startswith(inside) and name not in bound.leaves)) and is_differentiable(v)]
    if not found:
        kind = value.dtype.name if hasattr(value, "dtype") else type(value).__name__
        told = ", ".join(_kinds(name, value))
        raise DtypeError(f"wrt={name!r}: an argument of type {kind} carries no gradient",
                         help="only floating and complex arrays and numbers do, alone or in a tuple, list, dict, "
                              f"namedtuple, dataclass or SimpleNamespace; {told}")
    return found
