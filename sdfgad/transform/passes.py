"""What a pass is, and how the passes of a stage are applied: one after the other, watched and verified."""
from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from functools import partial
from types import MappingProxyType
from typing import Any, TypeAlias

from sdfgad.analysis.verify import verify
from sdfgad.config import verifying
from sdfgad.ir.program import Program
from sdfgad.ir.verify import OPTIMISED


@dataclass(frozen=True, eq=False)
class Pass:
    """A transformation and why it is there.

    run: from a program to an equal one; its docstring shows before -> after. why: what it is good for. after: passes of
    the same stage that it stands behind, and the reason. Where something else comes out if two neighbours change
    places, the second one says so here. That is of consequence for speed alone: all orders compute the same.
    """

    run: Callable[[Program], Program]
    why: str
    after: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))

    @property
    def name(self) -> str:
        """That of the function: with other parameters it is the same pass."""
        return (self.run.func if isinstance(self.run, partial) else self.run).__name__


@dataclass(frozen=True)
class Stage:
    """A sequence of passes. ends: what a program is behind it, of `ir.verify.STAGES`."""

    name: str
    passes: tuple[Pass, ...]
    ends: str = OPTIMISED

    def __call__(self, program: Program) -> Program:
        """The program after all passes. What is cheap to verify is looked at when all are done."""
        thorough, left_out = verifying(), _left_out.get()
        for one in self.passes:
            if one.name in left_out:
                continue
            before, program = program, one.run(program)
            _show(Application(one.name, before, program, self.ends))
            if thorough and program is not before:
                verify(program, one.name, self.ends)
        if not thorough:
            verify(program, f"the stage {self.name!r}", self.ends, thorough=False)
        for look in _observers.get():
            look(self.name, program)
        return program


@dataclass(frozen=True)
class Application:
    """One pass, applied once. stage: of `ir.verify.STAGES`."""

    name: str
    before: Program
    after: Program
    stage: str = OPTIMISED

    @property
    def keep(self) -> frozenset[str]:
        """The arrays that somebody reads afterwards."""
        return self.after.live_out

    @property
    def changed(self) -> bool:
        """Whether something else came out than went in."""
        return self.after is not self.before and self.after != self.before


Watcher: TypeAlias = Callable[[Application], None]
Observer: TypeAlias = Callable[[str, Program], None]
_watchers: ContextVar[tuple[Watcher, ...]] = ContextVar("watchers", default=())
_observers: ContextVar[tuple[Observer, ...]] = ContextVar("observers", default=())
_left_out: ContextVar[frozenset[str]] = ContextVar("left_out", default=frozenset())  # noqa: B039 - it is frozen


@contextmanager
def watching(watch: Watcher) -> Iterator[None]:
    """Within, `watch` sees every pass that is applied, in the order of application."""
    token = _watchers.set((*_watchers.get(), watch))
    try:
        yield
    finally:
        _watchers.reset(token)


@contextmanager
def observing(look: Observer) -> Iterator[None]:
    """Within, `look` gets the name of every stage that has ended, and the program then."""
    token = _observers.set((*_observers.get(), look))
    try:
        yield
    finally:
        _observers.reset(token)


@contextmanager
def leaving_out(*names: str) -> Iterator[None]:
    """Within, the passes of these names are not applied: to see what each of them is good for."""
    token = _left_out.set(_left_out.get() | frozenset(names))
    try:
        yield
    finally:
        _left_out.reset(token)


def left_out() -> frozenset[str]:
    """Passes that are not applied now: part of every key under which what passes make is kept."""
    return _left_out.get()


def looked_at() -> bool:
    """Whether somebody wants to see passes applied."""
    return bool(_watchers.get() or _observers.get())


def applied(one: Callable[..., Program], program: Program, *given: Any) -> Program:
    """The program after a pass that is `given` more than a program; watchers see it like the others."""
    if one.__name__ in _left_out.get():
        return program
    made = one(program, *given)
    _show(Application(one.__name__, program, made))
    return made


def _show(application: Application) -> None:
    for watch in _watchers.get():
        watch(application)
