"""Names of modules that functions assign while they run: `global` statements."""
from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from types import BuiltinFunctionType, FunctionType, ModuleType
from typing import Any

import numpy as np

from sdfgad.errors import SourceLine, UnsupportedError, unsupported

_FUNCTIONS = (FunctionType, BuiltinFunctionType, ModuleType, type, np.ufunc)
CONSTANTS = (bool, int, float, str, type(None), *_FUNCTIONS)
"""What a name of a module may be given: nothing of it is data, and nothing of it changes in place."""


@dataclass(frozen=True)
class GlobalName:
    """A name of a module: what it was when the call began, what it is now, and the line that made it so."""

    before: Any
    now: Any
    line: SourceLine | None

    @property
    def lasts(self) -> bool:
        """Whether somebody sees after the call that it has been assigned.

        A name that was None and has become a function or a module only remembers what an import has found, which the
        next call finds again.
        """
        return not _same(self.before, self.now) and not (self.before is None and isinstance(self.now, _FUNCTIONS))


class ModuleNames:
    """Values of the names that have been assigned so far, by namespace and name. What data choose has to leave them as
    they were, so that they are known at every point."""

    def __init__(self) -> None:
        self.assigned: Mapping[tuple[int, str], GlobalName] = {}

    def assign(self, namespace: Any, name: str, before: Callable[[], Any], now: Any, line: SourceLine | None) -> None:
        key = id(namespace), name
        known = self.assigned.get(key)
        self.assigned = {**self.assigned, key: GlobalName(before() if known is None else known.before, now, line)}

    def find(self, namespace: Any, name: str) -> GlobalName | None:
        """The name, if it has been assigned."""
        return self.assigned.get((id(namespace), name)) if self.assigned else None

    @contextmanager
    def inside(self) -> Iterator[None]:
        """A loop, or a branch that data choose."""
        before = self.assigned
        yield
        if self.assigned is not before:
            for key, found in self.assigned.items():
                if not _same(found.now, before[key].now if key in before else found.before):
                    raise refused(key[1], found.line, " that loops or data decide on")

    def settle(self) -> None:
        """The end of the program."""
        for (_, name), found in self.assigned.items():
            if found.lasts:
                raise refused(name, found.line, " that outlasts the call")


def refused(name: str, line: SourceLine | None, why: str) -> UnsupportedError:
    return unsupported(line, f"an assignment to the global name {name!r}{why}", "pass and return the value", "SG102")


def _same(a: Any, b: Any) -> bool:
    """Whether nobody can tell two such values apart."""
    return a is b or type(a) is type(b) and isinstance(a, (bool, int, float, str)) and repr(a) == repr(b)
