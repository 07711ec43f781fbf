"""Functions and methods decorated by DaCe as graphs: what its front end makes of them, and from what."""
from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Mapping
from itertools import chain
from types import FunctionType, ModuleType
from typing import TYPE_CHECKING, Any

import numpy as np

from sdfgad.errors import SourceLine, UnsupportedError, unsupported
from sdfgad.frontend.syntax.surroundings import LIBRARIES, Surroundings
from sdfgad.later import later

if TYPE_CHECKING:
    from sdfgad.frontend.graphs.frames import line_of
    from sdfgad.frontend.graphs.preparing import structured
else:
    line_of = later("sdfgad.frontend.graphs.frames", "line_of")
    structured = later("sdfgad.frontend.graphs.preparing", "structured")

_OF_THE_FRONT_END = (ArithmeticError, AssertionError, AttributeError, LookupError, NameError, RuntimeError, SyntaxError,
                     TypeError, ValueError)
"""How DaCe's front end says that it does not take a program, beside its own exceptions."""


def is_dace(thing: Any, name: str) -> bool:
    """Whether its class is one of DaCe's, which is not imported to find that out."""
    return any(c.__name__ == name and c.__module__.split(".")[0] == "dace" for c in type(thing).__mro__)


def graph_of(program: Any, name: str, examples: Mapping[str, Any]) -> tuple[Any, Surroundings]:
    """What DaCe's front end makes of a program for such arguments, and what it was made from. DaCe's `simplify` is not
    run: it merges states in which an element is read and then written.

    Arrays around the program are constants of the graph, as they are now. UnsupportedError for what the front end does
    not take, and for calls that it hands to Python.
    """
    from dace.frontend.python import common, parser
    from dace.sdfg.validation import InvalidSDFGError

    program.global_vars = parser._get_locals_and_globals(program.f)
    try:
        found = program.to_sdfg(simplify=False, **examples)
    except (common.DaceSyntaxError, InvalidSDFGError, *_OF_THE_FRONT_END) as reason:
        raise _not_taken(program, name, reason) from reason
    made, around = structured(found), _around(program)
    for label, value in program.__sdfg_closure__().items():
        if isinstance(value, np.ndarray) and label in made.arrays:
            kept = np.array(value)
            made.add_constant(label, kept, made.arrays[label])
            around.watched.append((value, kept))
        elif label in made.arrays or label in made.symbols:
            raise _handed_to_python(made, label, value)
    return made, around


def parameters_of(program: Any) -> list[inspect.Parameter]:
    """Those that a call gives: without the object of a method."""
    return [p for p in program.signature.parameters.values() if p.name != program.objname]


def _not_taken(program: Any, name: str, reason: Exception) -> UnsupportedError:
    """DaCe's front end keeps the line that it was at in the visitor that raised the exception."""
    place, traceback = None, reason.__traceback__
    while traceback is not None:
        place = getattr(traceback.tb_frame.f_locals.get("self"), "current_lineinfo", place)
        traceback = traceback.tb_next
    lines = (str(reason) or type(reason).__name__).splitlines()
    source = None if place is None or not place.filename else SourceLine(
        place.filename, place.start_line, max(place.start_column, 0), 0, name)
    return unsupported(source, f"a program that DaCe's front end does not take: {lines[0]}",
                       "rewrite it so that DaCe compiles it", "SG110")


def _handed_to_python(sdfg: Any, label: str, value: Any) -> UnsupportedError:
    """A call of a function that DaCe does not know."""
    nodes = [n for n, _ in sdfg.all_nodes_recursive() if type(n).__name__ == "Tasklet" and label in n.code.as_string]
    what = f"{label}, {type(value).__name__} from around the program" if not callable(value) else \
        f"a call that DaCe hands to Python: `{label}`"
    source = next((line for n in nodes if (line := line_of(n, sdfg.name)) is not None), None)
    return unsupported(source, f"{what} (graph {sdfg.name})", "write it with arrays, loops and functions of math",
                       "SG110")


def _around(program: Any) -> Surroundings:
    """What the code of a program names around it: functions that it calls and attributes of objects included."""
    found, waiting, seen = Surroundings(), [program], set[int]()
    while waiting:
        one = waiting.pop()
        if id(one) in seen:
            continue
        seen.add(id(one))
        for place, name, value in _named_in(one):
            found.note(place, name, value)
            called = getattr(value, "f", value)
            if is_dace(value, "DaceProgram"):
                waiting.append(value)
            elif isinstance(called, FunctionType):
                waiting.append(called)
            elif _is_users(value) and id(value) not in seen:
                seen.add(id(value))
                _note_attributes(found, value, seen)
    return found


def _named_in(one: Any) -> Iterator[tuple[Any, str, Any]]:
    """Where code looks something up, under which name, and what it finds."""
    code: Callable[..., Any] = getattr(one, "f", one)
    cells = inspect.getclosurevars(code)
    for name, value in chain(cells.globals.items(), cells.nonlocals.items()):
        yield (cells.nonlocals if name in cells.nonlocals else code.__globals__), name, value
    owner = getattr(one, "methodobj", None)
    for name in code.__code__.co_names if owner is not None else ():
        if hasattr(owner, name):
            yield owner, name, getattr(owner, name)


def _note_attributes(found: Surroundings, owner: Any, seen: set[int]) -> None:
    """Attributes of an object of the user's, and of objects in them."""
    for name, value in vars(owner).items():
        found.note(owner, name, value)
        if _is_users(value) and id(value) not in seen:
            seen.add(id(value))
            _note_attributes(found, value, seen)


def _is_users(value: Any) -> bool:
    return not isinstance(value, (ModuleType, type, FunctionType)) and hasattr(value, "__dict__") and type(
        value).__module__.split(".")[0] not in LIBRARIES


__all__ = ("graph_of", "is_dace", "parameters_of")
