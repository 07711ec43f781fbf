"""The call that is being run, with the names it has."""
from __future__ import annotations

import ast
from collections.abc import Mapping
from dataclasses import dataclass, field

from sdfgad.errors import SourceLine
from sdfgad.frontend.state.values import Value
from sdfgad.frontend.syntax.liveness import Liveness
from sdfgad.frontend.syntax.source import SourceText


@dataclass(frozen=True)
class NameExchange:
    """What a statement does to names whose arrays change places: each target takes what its source has."""

    targets: tuple[str, ...] = ()
    sources: tuple[str, ...] = ()


@dataclass(eq=False)
class CallFrame:
    """One function being run: its names, and whether its lines are the user's."""

    code: SourceText
    liveness: Liveness
    names: dict[str, Value] = field(default_factory=dict)
    enclosing: CallFrame | None = None
    quiet: bool = False
    depth: int = 0  # number of regions around the call
    exchanges: Mapping[ast.stmt, NameExchange] = field(default_factory=dict)  # statements that move data, not names
    seats: Mapping[str, str] = field(default_factory=dict)  # their names -> what says which array each of them is
    called_from: SourceLine | None = None  # the line that calls it
    returned: list[Value] = field(default_factory=list)  # what its `return` statements have, where one is in a branch
    branched: bool = False  # whether one is
