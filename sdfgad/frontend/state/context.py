"""The state of one translation: builder, call stack, place in the source, and the doors between the parts."""
from __future__ import annotations

import ast
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import count, islice
from types import FunctionType
from typing import Any

from sdfgad.errors import SourceLine, UnsupportedError, unsupported, unsupported_in_calls
from sdfgad.frontend.state.builder import Builder
from sdfgad.frontend.state.frames import CallFrame
from sdfgad.frontend.state.keyed import SetValue
from sdfgad.frontend.state.references import holding, is_leaf
from sdfgad.frontend.state.values import Applied, Function, Iterated, ListValue, Method, Record, Value
from sdfgad.frontend.syntax.replaced import ReplacedFunction
from sdfgad.frontend.syntax.source import SourceText
from sdfgad.frontend.syntax.surroundings import Surroundings

BREAK, CONTINUE, RETURN, RESULT = "%break", "%continue", "%return", "%result"
EXITS = (BREAK, CONTINUE, RETURN)


@dataclass(frozen=True)
class Raised:
    """A refusal of what Python itself answers with an exception, whatever the data."""

    refusal: UnsupportedError
    kind: type[Exception]
    frame: CallFrame
    depth: int  # number of regions around the place
    line: int  # in the text of the frame, which a library may have written; the refusal tells the user's
    ahead: bool  # of the first iteration of the loop that begins there


@dataclass(eq=False)
class Context:
    """What every part of the interpreter works on. `evaluate`, `execute`, `invoke` lead back to the top module."""

    builder: Builder
    evaluate: Callable[[Context, ast.expr], Value]
    execute: Callable[[Context, Sequence[ast.stmt]], None]
    invoke: Callable[..., Value]
    frames: list[CallFrame] = field(default_factory=list)
    here: SourceLine | None = None
    methods: frozenset[str] = frozenset()
    text: str = ""  # of functions whose own is nowhere, as the user gives it
    label: str = ""  # the name the user is about to bind
    splits: int = 0  # branches that hold the rest of their block at the moment
    hints: dict[Any, Any] = field(default_factory=dict)
    surroundings: Surroundings = field(default_factory=Surroundings)
    outside: dict[int, tuple[Any, Value]] = field(default_factory=dict)
    own_rules: bool = True  # a derivative is asked for: functions with rules of their own are replaced by them
    rules_open: list[Any] = field(default_factory=list)  # whose rules are being translated
    foreign: Callable[[Any], Any] | None = None  # what translates calls of programs in other languages
    looping: int = 0  # how many loops of the program are being translated around this point
    numbering: list[int] = field(default_factory=list)  # the depths of loops that may count the places of items
    comparing: bool = False  # items of lists that a short loop counts are chosen in the run
    missed: list[tuple[int, str]] = field(default_factory=list)  # names asked for that some ways do not bind, by frame
    changing: list[Any] = field(default_factory=list)  # the fields of the loops and branches being translated
    ignored: dict[str, None] = field(default_factory=dict)  # calls that have been left out
    raised: Raised | None = None  # the last of its kind
    watches: list[Any] = field(default_factory=list)  # for what a statement is looked through that may be caught
    mixed: bool = False  # whether anything is a number of Python's in some runs and one of NumPy's in others
    handled: list[Any] = field(default_factory=list)  # what may have been raised where a handler is translated
    frames_of: dict[type, CallFrame] = field(default_factory=dict)  # classes that the program defines
    methods_of: dict[FunctionType, tuple[SourceText, CallFrame]] = field(default_factory=dict)  # their methods

    @property
    def frame(self) -> CallFrame:
        return self.frames[-1]

    @property
    def is_ours(self) -> bool:
        """Whether what is being translated is in no line of the user's."""
        return not self.frames or self.frame.quiet

    def refuse(self, what: str, help: str = "", code: str = "SG101") -> UnsupportedError:
        """The refusal of what stands at the current place."""
        calls = [f.called_from for f in self.frames if f.called_from is not None and not f.quiet]
        places = [place for place in calls if place != self.here] + ([] if self.here is None else [self.here])
        return unsupported_in_calls(places, what, help, code) if places else unsupported(None, what, help, code)

    def raises(self, kind: type[Exception], what: str, help: str = "", code: str = "SG101",
               ahead: bool = False) -> UnsupportedError:
        """The refusal of what raises `kind` in Python, too: a `try` around it may know what to do. ahead: what a loop
        is to go over is nothing to go over."""
        refusal = self.refuse(what, help, code)
        line = refusal.line if self.here is None or self.frame.quiet else self.here.line
        self.raised = Raised(refusal, kind, self.frame, len(self.builder.regions), line, ahead)
        return refusal

    @contextmanager
    def at(self, node: ast.AST) -> Iterator[None]:
        """Errors inside point to `node`."""
        before = self.here
        if not self.frame.quiet:
            self.here = self.frame.code.at(node)
        try:
            yield
        except UnsupportedError as error:
            if error.source is None:
                raise self.refuse(error.what, error.help, error.code) from error
            raise
        finally:
            self.here = before

    def mark(self) -> Callable[[], None]:
        """A way back to this point, for a trial that fails."""
        self.builder.flush()
        snapshot, names, here, frames = self.builder.snapshot(), dict(self.frame.names), self.here, len(self.frames)
        contents = self.changeable()
        depths = [(v, v.depth) for v, _ in contents]

        def back() -> None:
            del self.frames[frames:]
            self.builder.rollback(snapshot)
            restore_contents(contents)
            for value, depth in depths:
                value.depth = depth
            self.frame.names, self.here = dict(names), here

        return back

    def changeable(self) -> list[tuple[ListValue | Record | Iterated | SetValue, Any]]:
        """Every list, dict, set and iterator of the program with what is in it now."""
        return [(v, v.items.copy()) for _, _, value in self.values(False) for v in holding(value)
                if isinstance(v, (ListValue, Record, Iterated, SetValue))]

    def values(self, leaves: bool = True) -> Iterator[tuple[CallFrame, str, Value]]:
        """Every binding that may be read later, of enclosing functions too, and what functions in it hold. leaves:
        with those in which there is nothing but themselves, most of those of a long program."""
        seen: set[int] = set()
        waiting = list(self.frames)
        while waiting:
            chain: CallFrame | None = waiting.pop()
            while chain is not None and id(chain) not in seen:
                seen.add(id(chain))
                for name, value in chain.names.items():
                    if is_leaf(value):
                        if leaves:
                            yield chain, name, value
                        continue
                    for held in self._within(value, waiting):
                        yield chain, name, held
                chain = chain.enclosing

    def _within(self, value: Value, frames: list[CallFrame]) -> Iterator[Value]:
        """A value, and what the functions in it hold; the frames that these see are put to `frames`."""
        yield value
        for part in holding(value):
            inside: tuple[Value, ...] = ()
            if isinstance(part, Iterated) and part.frame is not None:
                frames.append(part.frame)
            elif isinstance(part, (type, Record)) and (
                    home := self.frames_of.get(part.form if isinstance(part, Record) else part)) is not None:
                frames.append(home)
            elif isinstance(part, Function):
                inside = (*part.defaults, *part.keyword_defaults.values())
                frames.append(part.frame)
            elif isinstance(part, Applied):
                inside = (part.function, *part.arguments, *part.keywords.values())
            elif isinstance(part, Method):
                inside = (part.owner,)
            elif isinstance(part, ReplacedFunction):
                inside = (part.function,)
            for held in inside:
                yield from self._within(held, frames)


@contextmanager
def held(ctx: Context, *values: Value) -> Iterator[None]:
    """Within, values that no name of the user's has are in use: nothing is written into their places."""
    frame = ctx.frame
    free = (name for k in count() if (name := f"%held{k}") not in frame.names)
    names = list(islice(free, len(values)))
    frame.names.update(zip(names, values, strict=True))
    try:
        yield
    finally:
        for name in names:
            frame.names.pop(name, None)


def restore_contents(before: Sequence[tuple[ListValue | Record | Iterated | SetValue, Any]]) -> None:
    """Lists, dicts and sets hold again what they did when `changeable` was asked."""
    for value, items in before:
        value.items.clear()
        (value.items.update if isinstance(value, (Record, SetValue)) else value.items.extend)(items)
