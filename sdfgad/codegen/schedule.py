"""What runs where: pieces of a program run by one thread, parallel kernels, and the control flow around them.

This is the target-neutral half of lowering: it takes a program apart into `Group`, `Kernel` and `Region`, all still in
terms of the program representation.
"""
from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TypeAlias

import numpy as np

from sdfgad.codegen.cost import map_work
from sdfgad.codegen.cpp import Frame
from sdfgad.codegen.parallel import parallelize
from sdfgad.ir.expr import Const, Index, Load
from sdfgad.ir.index import Bounds, Ix
from sdfgad.ir.program import Array, Block, If, Loop, Map, Program, Range, Stmt, Store, While
from sdfgad.ir.walk import statements

PARALLEL_WORK = 1 << 16
"""A map is worth the fork of a parallel region from this many elementary operations on."""


@dataclass(frozen=True)
class Group:
    """Statements run in order by one thread."""

    body: Block


@dataclass(frozen=True)
class Kernel:
    """`body` once for every point of `ranges` (starting at 0, step 1, fixed extents), in parallel; `variables` gives each
    parallel variable as an index in the ranges' own variables."""

    ranges: tuple[Range, ...]
    body: Block
    uneven: bool
    source: object = None


@dataclass(frozen=True)
class Region:
    """Control flow around parts that hold kernels. The bounds of a loop and the condition of an `if` are numbers or
    zero-dimensional containers computed just before."""

    stmt: Loop | While | If
    parts: tuple[tuple[Item, ...], ...]
    start: Const | Load | None = None
    stop: Const | Load | None = None
    cond: str = ""


Item: TypeAlias = Group | Kernel | Region


@dataclass
class Scheduler:
    """Splits blocks; collects the containers it adds."""

    frame: Frame
    added: dict[str, Array] = field(default_factory=dict)

    def block(self, block: Block, bounds: Mapping[str, Bounds]) -> tuple[Item, ...]:
        """The items of a block, neighbouring sequential statements together."""
        items: list[Item] = []
        for stmt in block:
            for item in self.statement(stmt, bounds):
                if isinstance(item, Group) and items and isinstance(items[-1], Group):
                    items[-1] = Group((*items[-1].body, *item.body))
                else:
                    items.append(item)
        return tuple(items)
