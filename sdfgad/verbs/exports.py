"""Gradients as libraries for programs that are not Python."""
from __future__ import annotations

import platform
from collections.abc import Callable, Mapping
from os import PathLike
from pathlib import Path
from typing import Any

from sdfgad.callers import called
from sdfgad.calls.arguments import Bound, bind
from sdfgad.calls.asked import resolve_wrt
from sdfgad.codegen.compiling.toolchain import BASELINES, NATIVE, written_for
from sdfgad.codegen.export.interface import is_library_name
from sdfgad.codegen.export.library import write_library
from sdfgad.codegen.notebook import without_viewer
from sdfgad.codegen.targets import chosen
from sdfgad.config import chosen_target, config, settings
from sdfgad.errors import UnsupportedError, UsageError, unsupported
from sdfgad.frontend.graphs.function import as_function
from sdfgad.ir.called import calls_of
from sdfgad.ir.messages import messages
from sdfgad.memory import parse_bytes
from sdfgad.names import safe
from sdfgad.plans.pins import Names, pins_of
from sdfgad.plans.progress import progress
from sdfgad.plans.request import Request
from sdfgad.verbs.api import GradFunction
from sdfgad.verbs.compiled import Compiled
from sdfgad.verbs.interfaces import interface_of
from sdfgad.verbs.options import check_options
from sdfgad.verbs.pipeline import Derivative, derive
from sdfgad.verbs.tracebacks import shortened


@shortened
def export(fn: Callable[..., Any], *args: Any, folder: str | PathLike[str], name: str | None = None, wrt: Any = None,
           output: Any = None, reduce: str | None = None, memory_limit: Any = None, portable: bool | str = False,
           threads: int | None = None, device: str | None = None, plan: Any = None, store: Names = (),
           recompute: Names = (), snapshot: Names = (), source: str | None = None, **keywords: Any) -> Path:
    """Value and gradient of a NumPy function for these arguments or `spec`s as a library in C, which needs no Python.

    Into `folder`, which is made where it is missing and given back: `lib<name>.so`; `<name>.h` for C99 and C++, which
    says what every argument is; `<name>Config.cmake`; `plan.json`; examples in C, C++ and Fortran. name: by default the
    function's. wrt, output, reduce, memory_limit, plan, store, recompute, snapshot, source: as in `grad`; the value is
    what is differentiated, one number. A gradient that `grad` or `value_and_grad` made brings its own ones. keywords:
    arguments passed by name.

    Arrays and floats of the function are arguments of the C function, arrays in C order. Shapes, dtypes, integers,
    strings, flags and arrays found around the function are part of the library, as they are now.

    portable: for every x86-64 processor since about 2013, True or "v3", or since about 2009, "v2", not for the one at
    hand alone. threads: the most that may share the work of a call, by default what the settings say; the limit holds
    for so many.

    Raises what `grad` raises, UnsupportedError also for device="gpu" and for indices that depend on arrays among the
    arguments and on others from outside, UsageError for a name that C cannot take, for a folder that cannot be written
    and for functions of several results without `output`.

    >>> sdfgad.export(cost, sdfgad.spec((100, 100)), 0.1, folder="cost", portable=True)
    """
    fn, options = _undecorated(fn, {
        "wrt": wrt, "output": output, "reduce": reduce, "memory_limit": memory_limit, "device": device, "plan": plan,
        "store": store, "recompute": recompute, "snapshot": snapshot, "source": source})
    fn = as_function(fn)
    check_options(fn, options["reduce"], options["device"], options["plan"])
    _check_device(options["device"])
    name = _library_name(fn, name)
    bound = bind(fn, args, keywords)
    _check_order(bound)
    with written_for(_processor(portable)), config(device="cpu", num_threads=threads):
        found = _derived(fn, bound, options)
        with progress(f"exporting the gradient of {called(fn)}"):
            _write(Path(folder), name, found, bound)
    return Path(folder)


def _derived(fn: Callable[..., Any], bound: Bound, options: Mapping[str, Any]) -> Derivative:
    limit = parse_bytes(settings(memory_limit=options["memory_limit"]).memory_limit)
    pins = pins_of(options["store"], options["recompute"], options["snapshot"])
    if options["plan"] is not None and pins:
        raise UsageError("plan= says already what is stored: leave out store, recompute and snapshot", code="SG205")
    request = Request(resolve_wrt(fn, bound, options["wrt"]), options["output"], options["reduce"], True, False, limit,
                      options["plan"], pins)
    return derive(fn, bound, request, options["source"] or "")


def _write(folder: Path, name: str, found: Derivative, bound: Bound) -> None:
    for first in messages(found.parsed.program.body):
        raise unsupported(first.source, "a message between ranks in an exported library",
                          "export what is between the messages", "SG121")
    for call in calls_of(found.parsed.program.body):
        raise unsupported(call.source, "a function that stays Python in an exported library",
                          "export what is around it", "SG121")
    with without_viewer():
        code = chosen().generate(found.program, found.keep, found.loose)
    write_library(folder, interface_of(found, bound, name, code.meta), code.text, code.uses_blas, found.plan.to_json())


def _undecorated(fn: Any, given: dict[str, Any]) -> tuple[Any, dict[str, Any]]:
    """The function of a gradient, and the options that were given to it where none are given now."""
    if isinstance(fn, (Compiled, GradFunction)) and fn.options["distribute"] is not None:
        raise UnsupportedError("an exported library of a distributed program", help="export it without distribute=",
                               code="SG124")
    if isinstance(fn, Compiled):
        return fn.fn, {**given, "device": given["device"] or fn.options["device"]}
    if not isinstance(fn, GradFunction):
        return fn, given
    if fn.options["spill"] is not None:
        raise UnsupportedError("an exported library whose snapshots lie on disk", help="export it without spill=")
    if fn.options["has_aux"]:
        raise UnsupportedError("an exported library that gives more than the value and its gradient",
                               help="export a function that returns the objective alone")
    return fn.fn, {n: fn.options[n] if value in (None, ()) else value for n, value in given.items()}


def _check_device(device: str | None) -> None:
    if platform.system() != "Linux":
        raise UnsupportedError(f"an exported library on {platform.system()}", help="export it on Linux")
    target = chosen_target(device)
    if target != "cpu":
        raise UnsupportedError(f"an exported library for {'graphics processors' if target == 'cuda' else target}",
                               help='libraries are made for the processor: export with device="cpu" and target "cpu"')


def _library_name(fn: Callable[..., Any], name: str | None) -> str:
    found = safe(called(fn)) if name is None else name
    if not isinstance(found, str) or not is_library_name(found):
        raise UsageError(f"a library cannot be called {found!r}", code="SG205",
                         help="give name= at most 40 letters, digits and underscores that begin with a letter and mean "
                              "nothing else in C")
    return found


def _processor(portable: bool | str) -> str:
    if portable is False:
        return NATIVE
    levels = {level.rpartition("-")[2]: level for level in BASELINES}
    level = levels["v3"] if portable is True else levels.get(str(portable), str(portable))
    if level not in BASELINES:
        raise UsageError(f"portable={portable!r}", code="SG205", help='portable is False, True, "v3" or "v2"')
    if platform.machine().lower() not in ("x86_64", "amd64"):
        raise UnsupportedError(f"a portable library on {platform.machine()}",
                               help="leave out portable: the library is made for processors like this one")
    return level


def _check_order(bound: Bound) -> None:
    """A translation may depend on the order in memory."""
    for name, value in bound.leaves.items():
        if not getattr(getattr(value, "flags", None), "c_contiguous", True):
            raise UsageError(f"argument {name!r} is not in C order, in which a library takes arrays", code="SG205",
                             help="give an array in C order or a sdfgad.spec of its shape")
