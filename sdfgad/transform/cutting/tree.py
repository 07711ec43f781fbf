"""A program on its way over the ranks: what one rank runs, and what all of them read for it."""
from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TypeAlias

import numpy as np

from sdfgad.analysis.elements.access import interval_env
from sdfgad.errors import SourceLine, unsupported
from sdfgad.ir.index import Bounds, Ix
from sdfgad.ir.messages import FLAG, NUMBERS, REVERSE
from sdfgad.ir.program import Array, Program, Range, Stmt
from sdfgad.ir.walk import children, reads, statements, writes
from sdfgad.names import GRAD, fresh
from sdfgad.transform.cutting.accesses import Access, HaloNeed, ReadBox, apart, around, read_box, varying
from sdfgad.transform.cutting.blocks import ArrayBlocks, Distribution, Place


@dataclass(frozen=True)
class RankPiece:
    """Statements of one rank. needs: of all ranks, so that all know of all messages; reads, writes: of any rank. adds:
    what is added to and nothing else, which may change places with other sums into it. sends: messages of its own are
    among the statements of some rank. into, out_of: boxes outside of which no rank writes or reads, of arrays that have
    one."""

    own: tuple[Stmt, ...]
    needs: tuple[HaloNeed, ...]
    reads: frozenset[str]
    writes: frozenset[str]
    adds: frozenset[str] = frozenset()
    sends: bool = False
    into: Mapping[str, ReadBox] = field(default_factory=dict)
    out_of: Mapping[str, ReadBox] = field(default_factory=dict)


@dataclass(frozen=True)
class RankRegion:
    """A loop or a branch, with what stands in its blocks. needs: that can be met before it."""

    stmt: Stmt
    blocks: tuple[tuple[CutNode, ...], ...]
    needs: tuple[HaloNeed, ...]
    reads: frozenset[str]
    writes: frozenset[str]
    adds: frozenset[str] = frozenset()
    into: Mapping[str, ReadBox] = field(default_factory=dict)
    out_of: Mapping[str, ReadBox] = field(default_factory=dict)


CutNode: TypeAlias = RankPiece | RankRegion


def in_any_order(one: CutNode, other: CutNode) -> bool:
    """Whether two statements may change places: neither writes what the other one has to do with, but for sums."""
    return all(name in one.adds & other.adds or _apart_in(one, other, name) for name in one.writes | other.writes)


def _apart_in(one: CutNode, other: CutNode, name: str) -> bool:
    """Whether what either writes of an array is none of what the other one reads or writes of it."""
    pairs = [(a, b) for a, b, places, more in (
        (one.into, other.into, one.writes, other.writes), (one.into, other.out_of, one.writes, other.reads),
        (one.out_of, other.into, one.reads, other.writes)) if name in places and name in more]
    return all(name in a and name in b and apart(a[name], b[name]) for a, b in pairs)


def leaves(node: CutNode, need: HaloNeed) -> bool:
    """Whether a statement changes nothing of what ranks need of an array."""
    if need.array not in node.writes:
        return True
    box = node.into.get(need.array)
    return box is not None and all(b is None or apart(b, box) for b in need.boxes)


def boxes_of(nodes: Iterable[CutNode]) -> dict[str, ReadBox]:
    """Where several statements write, of arrays of which each of them says so."""
    found: dict[str, ReadBox | None] = {}
    for node in nodes:
        for name in node.writes:
            box, before = node.into.get(name), found.get(name, node.into.get(name))
            found[name] = None if box is None or before is None else around(box, before)
    return {name: box for name, box in found.items() if box is not None}


@dataclass(frozen=True)
class PendingSum:
    """What the ranks add up: each has a `part`, everybody gets the `total`, and `given` takes it to where it belongs.
    counts: elements that each rank gets, where it gets those of its block alone.
    how: the reduction. cleared: what makes the parts nothing. loops: so many are around where they are added up."""

    part: Array
    total: Array
    how: str
    given: RankPiece
    source: SourceLine | None
    cleared: RankPiece
    loops: int
    counts: tuple[int, ...] = ()


MESSAGE_TYPES = frozenset("dfDFlqi?")


def check_message(dtype: np.dtype, source: SourceLine | None) -> None:
    """UnsupportedError for numbers that no message takes."""
    if dtype.char not in MESSAGE_TYPES:
        raise unsupported(source, f"a message of {dtype} between ranks", "use float32, float64, complex64, complex128, "
                          "int32, int64 or bool, or leave the array whole", "SG124")


def made_of(program: Program, names: frozenset[str]) -> frozenset[str]:
    """The arrays, and all that are computed of them."""
    found, before = names, frozenset[str]()
    while found != before:
        before = found
        found |= frozenset(n for s in statements(program.body) if not children(s) and not found.isdisjoint(reads(s))
                           for n in writes(s))
    return found


@dataclass
class CutWork:
    """The program that is being made. cut: the blocks of all arrays that have any. added_in: what the loops around, but
    for so many outer ones, only add to; of the place that is being cut. readers: ranks that read what is not cut, where
    not all do. changing: what the innermost loop around the place that is being cut writes, if there is one."""

    program: Program
    wanted: Distribution
    cut: dict[str, ArrayBlocks]
    arrays: dict[str, Array] = field(init=False)
    added_in: dict[str, int] = field(default_factory=dict)
    changing: frozenset[str] | None = None
    constants: dict[str, np.ndarray] = field(init=False)
    readers: Mapping[str, frozenset[int]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.arrays, self.constants = dict(self.program.arrays), dict(self.program.constants)

    @cached_property
    def places(self) -> tuple[Place, ...]:
        return self.wanted.grid.places

    @cached_property
    def cotangents(self) -> frozenset[str]:
        """Arrays of the reverse sweep: cotangents, and what is made of them."""
        return made_of(self.program, frozenset(n for n in self.program.arrays if n.startswith(GRAD)))

    def sweep(self, names: Iterable[str]) -> dict[str, str]:
        """What messages of some arrays say of the sweep that they are part of."""
        return {"sweep": REVERSE} if not self.cotangents.isdisjoint(names) else {}

    @property
    def here(self) -> Place:
        return self.places[self.wanted.rank]

    def room(self, stem: str, shape: tuple[int, ...], like: Array) -> Array:
        """A new temporary."""
        made = Array(fresh(stem, self.arrays), shape, like.dtype, source=like.source, label=like.label)
        self.arrays[made.name] = made
        return made

    def numbers(self, *values: int) -> Array:
        """The numbers of a message, the communicator first, whose handle the call knows."""
        made = Array(fresh("whom", self.arrays), (1 + len(values),), FLAG, "constant", label=NUMBERS)
        self.arrays[made.name] = made
        self.constants[made.name] = np.array((0, *values), FLAG)
        return made

    def needs(self, found: list[Access], domains: list[tuple[Range, ...] | None], loops: tuple[Range, ...],
              stmt: Stmt) -> tuple[HaloNeed, ...]:
        """What the ranks need of the arrays that are cut, for some accesses within their domains."""
        outer = interval_env(loops)
        envs = [None if d is None else interval_env((*loops, *d)) for d in domains]
        own = [None if e is None else {v: b for v, b in e.items() if v not in outer} for e in envs]
        return tuple(HaloNeed(name, self.axes(name), tuple(self._box(name, index, e, outer) for e in own),
                              varying(index, self.cut[name], outer), stmt.source)
                     for name, index in found if name in self.cut)

    def axes(self, name: str) -> tuple[int, ...]:
        """The axes of an array that are cut."""
        return tuple(k for k, a in enumerate(self.cut[name].axes) if a is not None)

    def _box(self, name: str, index: tuple[Ix, ...], env: dict[str, Bounds] | None,
             outer: dict[str, Bounds]) -> ReadBox | None:
        return None if env is None else read_box(index, self.arrays[name].shape, env, outer)

    def finished(self, body: tuple[Stmt, ...]) -> Program:
        return replace(self.program, body=body, arrays=self.arrays, constants=self.constants)
