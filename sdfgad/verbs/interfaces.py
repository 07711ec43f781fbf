"""From a gradient program to the interface of a library: which array is which argument, and what has to be checked."""
from __future__ import annotations

from collections.abc import Iterator, Mapping
from math import prod
from pathlib import Path
from typing import Any

import numpy as np

from sdfgad import __version__
from sdfgad.callers import warn
from sdfgad.calls.arguments import Bound
from sdfgad.codegen.compiling.build import Meta
from sdfgad.codegen.compiling.toolchain import NATIVE, cpu_model, processor
from sdfgad.codegen.export.interface import (
    KINDS,
    Addend,
    IndexCheck,
    Interface,
    Objective,
    Parameter,
    Slot,
    parameter_names,
)
from sdfgad.config import asked_threads, thread_count
from sdfgad.errors import UnsupportedError, UnusedArgumentWarning, UsageError, unsupported
from sdfgad.ir.program import Program, View, views_of
from sdfgad.ir.walk import all_writes
from sdfgad.plans.recipe import workers
from sdfgad.plans.request import is_number
from sdfgad.trees import leaves, paths
from sdfgad.verbs.pipeline import Derivative

LONGEST_TEXT = 60
"""Characters of a constant that a header shows."""


def interface_of(found: Derivative, bound: Bound, name: str, meta: Meta) -> Interface:
    """Of the library with this name. meta: what the code of the program says of it."""
    program, parsed = found.program, found.parsed
    limit, predicted = found.request.limit, found.plan.predicted
    wrt = found.request.wrt
    inputs, gradients = parameter_names(tuple(parsed.traced), wrt)
    checks = tuple(_checks(found, dict(zip(parsed.traced.values(), inputs, strict=True))))
    source = parsed.program.source
    return Interface(
        name=name, function=program.name, place=f"{Path(source.file).name}:{source.line}" if source else "Python",
        inputs=tuple(_input(found, path, n, {n for c in checks for n in c.access.arrays})
                     for path, n in zip(parsed.traced, inputs, strict=True)),
        gradients=tuple(_gradient(found, bound, path, n) for path, n in zip(wrt, gradients, strict=True)),
        value=_value(found), slots=tuple(_slots(program, meta)), constants=_constants(program, meta), checks=checks,
        fixed=tuple(_fixed(found, bound)), failures=tuple(_raised(e.error()) for e in program.failures),
        room_bytes=meta.transient_bytes,
        tape_limit=None if limit is None else max(0, limit - predicted.peak_bytes),
        grows=any(a.role == "tape" for a in program.arrays.values()), limit=limit, predicted=predicted.peak_bytes,
        threads=workers(), exact=asked_threads(thread_count()) < 0, processor=_processor(), version=__version__)


def _processor() -> str:
    return f"{cpu_model().rpartition(' ')[0]} and equal ones" if processor() == NATIVE else f"any {processor()}"


def _input(found: Derivative, path: str, name: str, steering: set[str]) -> Parameter:
    array = found.parsed.traced[path]
    a = found.parsed.program.arrays[array]
    _check_kind(path, a.dtype)
    used = array in found.program.arguments and array in found.program.arrays
    return Parameter(name, path, a.shape, a.dtype, array if used else None, array in steering)


def _gradient(found: Derivative, bound: Bound, path: str, name: str) -> Parameter:
    leaf, array = bound.leaves[path], found.made.gradients[found.parsed.traced[path]]
    if array is None:
        warn(f"the output does not depend on {path!r}: its gradient is zero", UnusedArgumentWarning)
    dtype = np.dtype(getattr(leaf, "dtype", type(leaf))).newbyteorder("=")
    return Parameter(name, path, tuple(int(n) for n in getattr(leaf, "shape", ())), dtype, array)


def _check_kind(path: str, dtype: np.dtype) -> None:
    if dtype.name not in KINDS:
        raise UnsupportedError(f"the argument {path!r} of type {dtype.name} in a library", code="SG104",
                               help=f"libraries take {', '.join(KINDS)}")


def _checks(found: Derivative, names: Mapping[str, str]) -> Iterator[IndexCheck]:
    """What Python looks at before each call: whether indices that come with the arguments stay inside. names: of the
    inputs in C, by their arrays."""
    for access in found.parsed.accesses:
        known = {r.var for r in access.domain}
        parts = (access.index, *(i for r in access.domain for i in (r.start, r.stop)))
        if not access.arrays <= names.keys() or any(i.symbols - known for i in parts):
            raise unsupported(access.source, "an index that an exported library cannot check", code="SG105",
                              help="let it depend on loops and on integer arrays among the arguments alone")
        arrays = ((n, found.parsed.program.arrays[n]) for n in sorted(access.arrays))
        yield IndexCheck(access, tuple((names[n], n, KINDS[a.dtype.name].c, a.shape) for n, a in arrays))


def _value(found: Derivative) -> Objective:
    """The number that was differentiated, from what the program leaves behind."""
    returns, request = found.program.returns, found.request
    views = [v for v in views_of(returns) if v.dtype.kind in "fc"]
    if request.reduce:
        # Sums come in double precision; NumPy's have the precision of what they add up.
        kinds = (np.empty(0, v.dtype).real.dtype for v in found.outputs)
        return Objective(np.dtype(np.float64), total=True,
                     terms=tuple(_term(found, v, kind) for v, kind in zip(views, kinds, strict=True)))
    everything = list(leaves(returns))
    if len(everything) != 1:
        raise UsageError(f"{found.program.name} returns {len(everything)} values, and a library gives the one that is "
                         "differentiated", code="SG205", help="say which: output=0 is the first one")
    if views:
        return Objective(views[0].dtype, (_term(found, views[0], views[0].dtype),))
    return Objective(np.dtype(np.float64), number=float(next(n for n in everything if is_number(n))))


def _term(found: Derivative, view: View, kind: np.dtype) -> Addend:
    index = [i.const for i in view.at(())]
    if view.shape or None in index:
        raise unsupported(found.parsed.program.source, "a result of which it is known only in a call where it lies",
                          "return a copy of it: float(result)")
    shape = found.program.arrays[view.array].shape
    offset = sum(i * prod(shape[k + 1:]) for k, i in enumerate(index) if i is not None)
    return Addend(view.array, offset, view.dtype, kind)


def _slots(program: Program, meta: Meta) -> Iterator[Slot]:
    written = frozenset(program.arguments) & all_writes(program.body)
    for name in meta.arguments:
        a = program.arrays[name]
        yield Slot(name, a.bytes, a.dtype, name in written)


def _constants(program: Program, meta: Meta) -> dict[str, np.ndarray]:
    return {n: np.ascontiguousarray(program.constants[n], dtype=program.arrays[n].dtype)
            for n in meta.arguments if n in program.constants}


def _fixed(found: Derivative, bound: Bound) -> Iterator[tuple[str, str]]:
    """What of the call, and of what is around the function, is part of the library."""
    for name, value in bound.values.items():
        for path, leaf in paths(name, value) if name not in bound.leaves else ():
            if path not in bound.leaves:
                yield path, _shown(leaf)
    for name, array in found.parsed.outside:
        yield name, f"an array from outside, {array.dtype.name} {array.shape}, as it was"


def _shown(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= LONGEST_TEXT else f"{text[:LONGEST_TEXT]}..."


def _raised(error: BaseException) -> str:
    return f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
