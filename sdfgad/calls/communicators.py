"""The communicator of the ranks that call a function together: in its arguments, or where the function finds it."""
from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from inspect import getclosurevars, unwrap
from types import CodeType, FunctionType, MethodType, ModuleType
from typing import Any

from sdfgad.ranks import is_communicator, library
from sdfgad.trees import contents

DEEPEST = 4
"""Objects within objects that are looked into."""
MOST_FUNCTIONS = 300


def communicator_of(fn: Callable[..., Any], args: Sequence[Any], keywords: Mapping[str, Any]) -> Any | None:
    """The largest communicator among the arguments and what hangs on them; else among what the function, and those it
    calls, name. None where there is none, and where mpi4py is not loaded."""
    if library() is None:
        return None
    found = [c for v in (*args, *keywords.values(), *_held(fn)) for c in _inside(v, 0)]
    found = found or list(_named(fn))
    return max(found, key=lambda c: c.Get_size(), default=None)


def _held(fn: Any) -> Iterator[Any]:
    """What a method, a partial or an object that can be called brings along."""
    if isinstance(fn, MethodType):
        yield fn.__self__
    elif isinstance(fn, partial):
        yield from (*fn.args, *fn.keywords.values(), *_held(fn.func))
    elif not isinstance(fn, FunctionType):
        yield fn  # an object that is called


def _inside(value: Any, depth: int) -> Iterator[Any]:
    if is_communicator(value):
        yield value
        return
    if depth == DEEPEST or isinstance(value, (type, ModuleType, FunctionType)):
        return
    parts = contents(value)
    held = parts.values() if parts is not None else getattr(value, "__dict__", {}).values()
    for one in held:
        yield from _inside(one, depth + 1)


def _named(fn: Any) -> Iterator[Any]:
    """Communicators that the code of a function names, and that of those it names."""
    waiting: list[Any] = [_plain(fn)]
    seen: set[int] = set()
    while waiting and len(seen) < MOST_FUNCTIONS:
        function = waiting.pop()
        if not isinstance(function, FunctionType) or id(function) in seen or _is_library(function.__module__):
            continue
        seen.add(id(function))
        words = frozenset(_words(function.__code__))
        for value in (*(function.__defaults__ or ()), *(function.__kwdefaults__ or {}).values()):
            yield from _inside(value, 1)
        for value in _values(function, words):
            if isinstance(value, ModuleType):
                attributes = [getattr(value, w) for w in words if w in vars(value)]
                yield from (a for a in attributes if is_communicator(a) and a is not library().COMM_SELF)  # type: ignore[union-attr]
                waiting += [] if _is_library(value.__name__) else [_plain(a) for a in attributes if callable(a)]
            else:
                yield from _inside(value, 1)
                waiting += [_plain(value)] if callable(value) else []


def _plain(fn: Any) -> Any:
    while isinstance(fn, (partial, MethodType)):
        fn = fn.func if isinstance(fn, partial) else fn.__func__
    return unwrap(fn) if isinstance(fn, FunctionType) else fn


def _words(code: CodeType) -> Iterator[str]:
    """Names in the code of a function and of those inside it."""
    yield from code.co_names
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _words(constant)


def _values(function: FunctionType, words: frozenset[str]) -> list[Any]:
    """What names around a function stand for."""
    around = getclosurevars(function).nonlocals if function.__closure__ else {}
    return [*around.values(), *(function.__globals__[w] for w in words if w in function.__globals__)]


def _is_library(name: str | None) -> bool:
    return (name or "").split(".")[0] in ("numpy", "scipy", "sdfgad", "dace", "mpi4py")
