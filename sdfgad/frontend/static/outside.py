"""Values of the Python program around the translated function."""
from __future__ import annotations

from types import FunctionType, ModuleType
from typing import Any

import numpy as np

from sdfgad.frontend.elements.elementwise import constant_array
from sdfgad.frontend.state.context import Context
from sdfgad.frontend.state.module_names import CONSTANTS, refused
from sdfgad.frontend.state.values import Value, contained
from sdfgad.trees import assembled, is_named


def outside(ctx: Context, value: Any, label: str) -> Value:
    """A value of the surrounding Python program: arrays become constant containers."""
    if isinstance(value, np.ndarray):
        ctx.surroundings.arrays[id(value)] = value
        return constant_array(ctx, value, label)
    if isinstance(value, (tuple, list)) and any(isinstance(v, np.ndarray) for v in contained(value)):
        items = {k: outside(ctx, v, label) for k, v in enumerate(value)}
        if isinstance(value, list):
            return list(items.values())
        return assembled(type(value) if is_named(type(value)) else tuple, items)
    return value


def found_outside(ctx: Context, place: Any, name: str, value: Any) -> Value:
    """`value`, found in a scope or object outside under `name`, which later calls look up again. Of a name of a
    module that the program has assigned, what it is now."""
    assigned = ctx.builder.held.modules.find(vars(place) if isinstance(place, ModuleType) else place, name)
    if assigned is not None:
        return assigned.now
    ctx.surroundings.note(place, name, value)
    return outside(ctx, value, name)


def bind_global(ctx: Context, name: str, value: Value) -> None:
    """`value` under a name of the module that the function stands in; what the name was, later calls look up again."""
    if not isinstance(value, CONSTANTS):
        raise refused(name, ctx.here, "")
    around = ctx.frame.code.globals

    def before() -> Any:
        if name not in around:
            raise refused(name, ctx.here, ", which has no value before the call")
        return found_outside(ctx, around, name, around[name])

    ctx.builder.held.modules.assign(around, name, before, value, ctx.here)


def settle_contents(ctx: Context) -> frozenset[str]:
    """Constants of the program whose contents may change between calls; those of all others are watched.

    Indices and bounds are proven with the contents of integer arrays, and data that are not laid out as the program
    needs them were copied.
    """
    ctx.builder.held.modules.settle()
    live = set()
    for value, stored in ctx.outside.values():
        name = stored.view.array
        data = ctx.builder.constants.get(name)
        if data is None or id(value) not in ctx.surroundings.arrays:
            continue
        seen = value.dtype.kind in "iu" or name in ctx.builder.held.exact.looked_at
        if not seen and np.shares_memory(data, value):
            live.add(name)
        else:
            ctx.builder.constants[name] = kept = np.array(data)
            ctx.surroundings.watched.append((value, kept))
    return frozenset(live)


def defaults_of(ctx: Context, function: FunctionType) -> tuple[tuple[Value, ...], dict[str, Value]]:
    """The defaults of parameters, and of those that are given by name alone."""
    for name in ("__defaults__", "__kwdefaults__"):
        if getattr(function, name):
            ctx.surroundings.note(function, name, getattr(function, name))
    return (tuple(outside(ctx, d, "default") for d in function.__defaults__ or ()),
            {k: outside(ctx, v, k) for k, v in (function.__kwdefaults__ or {}).items()})
