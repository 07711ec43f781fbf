"""Graphs of DaCe as functions that can be differentiated."""
from __future__ import annotations

import copy
import inspect
import sys
from collections.abc import Mapping
from functools import lru_cache, reduce
from importlib import import_module
from keyword import iskeyword
from typing import TYPE_CHECKING, Any

import numpy as np

from sdfgad.arrays import Spec
from sdfgad.errors import UsageError
from sdfgad.frontend.graphs.programs import graph_of, is_dace, parameters_of
from sdfgad.frontend.library_function import called_from_python
from sdfgad.frontend.syntax.surroundings import Surroundings
from sdfgad.later import later

if TYPE_CHECKING:
    from sdfgad.frontend.graphs.preparing import structured
else:
    structured = later("sdfgad.frontend.graphs.preparing", "structured")

RETURN = "__return"


class GraphFunction:
    """A `dace.SDFG`, or a function decorated with `@dace.program`, with the parameters of a Python function.

    Called, it runs what DaCe makes of it. It has no dictionary: others may take over what functions have.
    """

    __slots__ = ("__name__", "__signature__", "__weakref__", "_graphs", "_origin", "_program")

    def __init__(self, origin: Any, program: bool, name: str, signature: inspect.Signature) -> None:
        self._origin, self._program = origin, program
        self.__name__, self.__signature__ = name, signature
        self._graphs: dict[Any, tuple[Any, Surroundings]] = {}

    def __call__(self, *args: Any, **keywords: Any) -> Any:
        given = self.__signature__.bind(*args, **keywords)
        given.apply_defaults()
        found = self._origin(**{n: v for n, v in given.arguments.items() if v is not None})
        return tuple(map(_own, found)) if isinstance(found, tuple) else _own(found)

    def __deepcopy__(self, memo: Any) -> GraphFunction:
        """Itself, as of any function."""
        return self

    def __reduce__(self) -> tuple[Any, ...]:
        """A program is found again by its name, as functions are."""
        if self._program and self._origin.methodobj is not None:
            return _method, (self._origin.methodobj, self.__name__)
        if self._program:
            return _named, (self._origin.f.__module__, self._origin.f.__qualname__)
        return from_sdfg, (self._origin,)

    def graph(self, values: Mapping[str, Any]) -> tuple[Any, Surroundings]:
        """The graph for a call with these arguments, and what it was made from; DaCe is asked once for each kind."""
        if not self._program:
            return self._origin, Surroundings()
        key = None if _annotated(self._origin) else tuple((n, _kind(v)) for n, v in values.items())
        found = self._graphs.get(key)
        if found is None or not found[1].unchanged():
            examples = {} if key is None else {n: _example(v) for n, v in values.items()}
            found = self._graphs[key] = graph_of(self._origin, self.__name__, examples)
        return found


def from_sdfg(sdfg: Any) -> GraphFunction:
    """A graph of DaCe as a function to differentiate: `grad(from_sdfg(sdfg))`, and so for all other verbs.

    sdfg: a `dace.SDFG`; a copy of it is kept. The parameters are its arguments, in the order of `arg_names` where the
    graph has that, else sorted by name as DaCe does it; symbols that no shape tells follow, to be given by name. Arrays
    have the dtypes of the graph (DtypeError), in any shape that its symbols allow (UsageError). The function returns
    what the graph has in `__return`, of one element as a number; other results are arguments that the graph writes,
    which `output="name"` names. What the graph is given is left as it is.

    The meaning is that of the C++ that DaCe generates: integers divide without rest, and numbers change their dtype at
    connectors. What cannot be read is an UnsupportedError with the node, its state and the line that it comes from.
    UsageError for anything but a graph.

    >>> gradient = sdfgad.grad(sdfgad.from_sdfg(sdfg), wrt="A")
    """
    if not is_dace(sdfg, "SDFG"):
        raise UsageError(f"from_sdfg of {type(sdfg).__name__}", code="SG205",
                         help="pass a dace.SDFG; a @dace.program goes straight to sdfgad.grad")
    kept = structured(copy.deepcopy(sdfg))
    return GraphFunction(kept, False, kept.name, inspect.Signature(list(_parameters(kept).values())))


def _named(module: str, name: str) -> Any:
    """The program that a module has under a name."""
    return as_function(reduce(getattr, name.split("."), import_module(module)))


def _method(owner: Any, name: str) -> Any:
    return as_function(getattr(owner, name))


def as_function(fn: Any) -> Any:
    """The function itself, or what a program or graph of DaCe and a function of NumPy are as one in Python; UsageError
    for a compiled one that gives something else than its function returns (`forward(f, output=...)`)."""
    if getattr(fn, "chosen_output", None) is not None:
        raise UsageError(f"forward({fn.__name__}, output=...) in place of a function", code="SG205",
                         help="give output= to what takes the function itself")
    fn = called_from_python(fn)
    if "dace" in sys.modules and is_dace(fn, "SDFG"):
        raise UsageError(f"{fn.name} is a graph", code="SG205", help="pass sdfgad.from_sdfg(graph)")
    if "dace" in sys.modules and is_dace(fn, "DaceProgram"):
        return _of_program(fn)
    # Objects that are compared by what is in them have no place in tables; their method, which they are called by, has.
    return fn.__call__ if callable(fn) and type(fn).__hash__ is None else fn


@lru_cache(maxsize=64)
def _of_program(program: Any) -> GraphFunction:
    if program.methodobj is None and program.objname is not None:
        raise UsageError(f"{program.f.__name__} is a method", code="SG205",
                         help="take it from an object: sdfgad.grad(thing.method)")
    if program.objname is None and next(iter(program.signature.parameters), "") == "self":
        raise UsageError(f"{program.f.__name__} is a method, and @dace.program knows no objects", code="SG205",
                         help="decorate it with @dace.method, and take it from an object: sdfgad.grad(thing.method)")
    starred = [p.name for p in parameters_of(program) if p.kind in (p.VAR_POSITIONAL, p.VAR_KEYWORD)]
    if starred:
        raise UsageError(f"{program.f.__name__} has the parameter *{starred[0]}", code="SG205",
                         help="name every argument of a @dace.program")
    plain = [p.replace(annotation=inspect.Parameter.empty) for p in parameters_of(program)]
    return GraphFunction(program, True, program.f.__name__, inspect.Signature(plain))


def _parameters(sdfg: Any) -> dict[str, inspect.Parameter]:
    listed = {n: d for n, d in sdfg.arglist().items() if not n.startswith(RETURN)}
    told = {str(s) for n in listed if n in sdfg.arrays for s in sdfg.arrays[n].free_symbols}
    first = [n for n in sdfg.arg_names if n in listed]
    order = [*first, *(n for n in listed if n not in first)]
    strange = [n for n in order if not n.isidentifier() or iskeyword(n)]
    if strange:
        raise UsageError(f"the argument {strange[0]!r} of {sdfg.name} is no name in Python", code="SG205",
                         help="give the container another name: sdfg.replace(old, new)")
    plain, named = inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY
    made = {n: inspect.Parameter(n, plain) for n in order if n in sdfg.arrays or n in first}
    return made | {n: inspect.Parameter(n, named, default=None if n in told else inspect.Parameter.empty)
                   for n in order if n not in made}


def _annotated(program: Any) -> bool:
    """Whether every parameter says what it is, so that one graph is all there is."""
    # DaCe takes the default of an argument that is not given for a part of the program.
    return not program.constant_args and all(
        p.default is p.empty and p.annotation is not p.empty and _descriptor(program, p.annotation)
        for p in parameters_of(program))


def _descriptor(program: Any, annotation: Any) -> bool:
    found = program._evaluate_annotation(annotation)
    return type(found).__module__.split(".")[0] == "dace"


def _own(result: Any) -> Any:
    """A result that the next call leaves alone; what has one element is a number."""
    return result if result is None else result.flat[0] if result.size == 1 else result.copy()


def _kind(value: Any) -> Any:
    if isinstance(value, (np.ndarray, Spec)):
        return value.shape, np.dtype(value.dtype).str
    return type(value) if isinstance(value, (float, complex)) else (type(value), repr(value))


def _example(value: Any) -> Any:
    """An array that nobody fills, of the shape and dtype of the argument."""
    return np.empty(value.shape, value.dtype) if isinstance(value, (np.ndarray, Spec)) else value
