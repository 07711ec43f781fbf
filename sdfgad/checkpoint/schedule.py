"""The planner's question with blocks and loops: what the reverse sweep needs, when, and what else is in memory then.

Time runs over blocks: the forward blocks in program order, then the reverse blocks in their order. A loop appears once
in each half, as a contiguous run of blocks that stands for one iteration. Each item belongs to a region: the top of the
program, or the innermost loop that makes a new version of it in every iteration.
"""
from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, field
from functools import cached_property
from itertools import pairwise
from math import prod
from typing import Any

from sdfgad.errors import UsageError

SCHEMA = "sdfgad.problem/1"
FORWARD, REVERSE = "forward", "reverse"
STORE, RECOMPUTE, SNAPSHOT = "store", "recompute", "snapshot"


@dataclass(frozen=True)
class Recomputation:
    """How to make a value again. seconds: per rebuild. items: other items it reads. scratch: bytes alive while it runs.

    intact: each array it reads otherwise -> the reverse blocks at which the array still holds what is wanted.
    """

    seconds: float
    items: tuple[str, ...] = ()
    intact: Mapping[str, tuple[int, ...]] = field(default_factory=dict)
    scratch: int = 0

    def possible_at(self, block: int) -> bool:
        """Whether the arrays it reads are intact there; its items are another matter."""
        return all(block in blocks for blocks in self.intact.values())


@dataclass(frozen=True)
class ScheduledItem:
    """A value the reverse sweep needs. bytes: of one version. loop: its region, None for the top of the program.

    born: forward block that makes it, or is about to overwrite it. needed: reverse blocks that read it. recipe: None
    when it cannot be made again. store_only: it has to be stored whatever the recipe says. free: storing it takes no
    bytes, because it simply stays where it is. store_seconds: writing and reading one stored version. packed: bytes
    that a stored version takes on average when the 1, 2, ... innermost loops around it are wholly recorded, where that
    is less: their records lie close together, which those of parts of a loop do not.
    """

    name: str
    array: str
    bytes: int
    dtype: str
    elements: int
    born: int
    needed: tuple[int, ...]
    loop: str | None = None
    recipe: Recomputation | None = None
    store_only: bool = False
    free: bool = False
    store_seconds: float = 0.0
    file: str = ""
    line: int = 0
    because: str = ""
    packed: tuple[float, ...] = ()

    @property
    def stored_bytes(self) -> int:
        """Bytes that one stored version takes."""
        return 0 if self.free else self.bytes

    def stored_within(self, whole: int) -> float:
        """The same, where so many of the innermost loops around it are wholly recorded."""
        return self.packed[min(whole, len(self.packed)) - 1] if whole and self.packed and not self.free \
            else self.stored_bytes

    @property
    def rebuildable(self) -> bool:
        return self.recipe is not None and not self.store_only


@dataclass(frozen=True)
class ScheduledBlock:
    """A step of the schedule. base: bytes of every array alive in it whatever is decided. loop: the innermost one.

    The base of a reverse block inside a loop includes what the loop's forward body needs, which may run again there.
    """

    name: str
    phase: str
    base: Mapping[str, int]
    loop: str | None = None

    @property
    def base_bytes(self) -> int:
        return sum(self.base.values())


@dataclass(frozen=True)
class ScheduledLoop:
    """trips: iterations, at most. state_bytes: what an iteration needs to start: one snapshot. seconds: of one forward
    iteration, inner loops included. snapshot_seconds: of writing or reading one snapshot. uniform: always the same
    number of trips. row_bytes: of a row of the table that binomial modes follow, a row for each snapshot written or
    read.
    """

    name: str
    trips: int
    state_bytes: int
    seconds: float
    parent: str | None = None
    snapshot_seconds: float = 0.0
    uniform: bool = True
    row_bytes: int = 0


@dataclass(frozen=True)
class ScheduleProblem:
    """pins: what the user decided: item -> "store" or "recompute", loop -> "snapshot" (not every iteration stored)."""

    target: str
    blocks: tuple[ScheduledBlock, ...]
    items: tuple[ScheduledItem, ...]
    loops: tuple[ScheduledLoop, ...] = ()
    pins: Mapping[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        complaint = next(_complaints(self), None)
        if complaint is not None:
            raise UsageError(f"this is not a planning problem: {complaint}", code="SG205")

    @cached_property
    def item(self) -> Mapping[str, ScheduledItem]:
        return {i.name: i for i in self.items}

    @cached_property
    def loop(self) -> Mapping[str, ScheduledLoop]:
        return {p.name: p for p in self.loops}

    @cached_property
    def first_reverse(self) -> int:
        """Index of the first reverse block."""
        return next((k for k, b in enumerate(self.blocks) if b.phase == REVERSE), len(self.blocks))

    def chain(self, region: str | None) -> tuple[str, ...]:
        """The loops around a region and the region itself, outermost first."""
        return () if region is None else (*self.chain(self.loop[region].parent), region)

    def visits(self, region: str | None) -> int:
        """How often the body of a region runs in one sweep."""
        return prod(self.loop[name].trips for name in self.chain(region))

    def span(self, region: str | None, phase: str) -> tuple[int, ...]:
        """The blocks of a region in one phase, those of its inner loops included."""
        return self._spans[region, phase]

    @cached_property
    def _spans(self) -> Mapping[tuple[str | None, str], tuple[int, ...]]:
        spans: dict[tuple[str | None, str], tuple[int, ...]] = {
            (region, phase): () for region in (None, *self.loop) for phase in (FORWARD, REVERSE)}
        for k, block in enumerate(self.blocks):
            for region in (None, *self.chain(block.loop)):
                spans[region, block.phase] += (k,)
        return spans

    def children(self, region: str | None) -> tuple[ScheduledLoop, ...]:
        """The loops directly inside a region."""
        return tuple(p for p in self.loops if p.parent == region)

    def rebuild_blocks(self, item: ScheduledItem) -> tuple[int, ...]:
        """Reverse blocks before which the item can be made again: its region's own, and the first of an inner loop,
        which means before that loop starts."""
        if item.recipe is None or item.store_only or self.pins.get(item.name) == STORE:
            return ()
        doors = {self.span(inner.name, REVERSE)[0] for inner in self.children(item.loop)}
        return tuple(b for b in self.span(item.loop, REVERSE)
                     if (self.blocks[b].loop == item.loop or b in doors) and item.recipe.possible_at(b))

    def to_json(self) -> str:
        """The problem as a string of schema `sdfgad.problem/1`; `from_json` reads it back."""
        return json.dumps({"schema": SCHEMA, **asdict(self)}, indent=1)

    @staticmethod
    def from_json(text: str) -> ScheduleProblem:
        """Read what `to_json` wrote; UsageError when the text is something else."""
        try:
            return _read(json.loads(text))
        except (json.JSONDecodeError, KeyError, TypeError, AttributeError) as error:
            raise UsageError(f"this is not a planning problem: {error}", code="SG205") from error


def _read(raw: dict[str, Any]) -> ScheduleProblem:
    if raw.pop("schema") != SCHEMA:
        raise UsageError(f"this is not a planning problem of schema {SCHEMA}", code="SG205")
    return ScheduleProblem(raw["target"], tuple(ScheduledBlock(**b) for b in raw["blocks"]),
                           tuple(_read_item(i) for i in raw["items"]),
                           tuple(ScheduledLoop(**p) for p in raw["loops"]), raw["pins"])


def _read_item(raw: dict[str, Any]) -> ScheduledItem:
    recipe = raw.pop("recipe")
    if recipe is not None:
        intact = {array: tuple(blocks) for array, blocks in recipe.pop("intact").items()}
        recipe = Recomputation(**{**recipe, "items": tuple(recipe["items"]), "intact": intact})
    packed = tuple(raw.get("packed", ()))
    return ScheduledItem(**{**raw, "needed": tuple(raw["needed"]), "recipe": recipe, "packed": packed})


def _complaints(p: ScheduleProblem) -> Iterator[str]:
    """What is wrong with the problem; each check may rely on those before it."""
    names = [*(i.name for i in p.items), *(q.name for q in p.loops)]
    yield from (f"{n} is there twice" for n in sorted({n for n in names if names.count(n) > 1}))
    yield from (f"{name} lies in the unknown loop {loop}" for name, loop in _memberships(p)
                if loop is not None and loop not in p.loop)
    yield from (f"loop {x.name} lies in itself" for x in p.loops if _circular(p, x.name))
    yield from _schedule_complaints(p)
    for item in p.items:
        yield from _item_complaints(p, item)
    yield from (f"the recipe of {i.name} needs {i.name}" for i in p.items if i.name in _ancestors(p, i))
    for name, pin in p.pins.items():
        yield from _pin_complaints(p, name, pin)


def _memberships(p: ScheduleProblem) -> Iterator[tuple[str, str | None]]:
    yield from ((i.name, i.loop) for i in p.items)
    yield from ((b.name, b.loop) for b in p.blocks)
    yield from ((q.name, q.parent) for q in p.loops)


def _circular(p: ScheduleProblem, name: str) -> bool:
    seen = {name}
    parent = p.loop[name].parent
    while parent is not None and parent not in seen:
        seen.add(parent)
        parent = p.loop[parent].parent
    return parent is not None


def _schedule_complaints(p: ScheduleProblem) -> Iterator[str]:
    phases = [b.phase for b in p.blocks]
    if phases != sorted(phases) or not set(phases) <= {FORWARD, REVERSE}:
        yield "forward blocks come first, then reverse blocks"
        return
    for loop in p.loops:
        if loop.trips < 1:
            yield f"loop {loop.name} has no iterations"
        for phase in (FORWARD, REVERSE):
            span = p.span(loop.name, phase)
            if not span or any(b != a + 1 for a, b in pairwise(span)):
                yield f"the {phase} blocks of loop {loop.name} are missing or not together"


def _item_complaints(p: ScheduleProblem, item: ScheduledItem) -> Iterator[str]:
    if item.born not in p.span(item.loop, FORWARD):
        yield f"{item.name} is born in block {item.born}, which is not a forward block of its region"
    if not set(item.needed) <= set(p.span(item.loop, REVERSE)):
        yield f"{item.name} is needed outside its region"
    for source in item.recipe.items if item.recipe else ():
        if source not in p.item:
            yield f"the recipe of {item.name} needs the unknown item {source}"
        elif p.item[source].loop not in (None, *p.chain(item.loop)):
            yield f"the recipe of {item.name} needs {source} of another loop"


def _ancestors(p: ScheduleProblem, item: ScheduledItem) -> set[str]:
    """Every item its recipe needs, directly or not."""
    found: set[str] = set()
    front = [item]
    while front:
        recipe = front.pop().recipe
        fresh = set(recipe.items if recipe else ()) - found
        found |= fresh
        front += [p.item[n] for n in sorted(fresh)]
    return found


def _pin_complaints(p: ScheduleProblem, name: str, pin: str) -> Iterator[str]:
    if pin == SNAPSHOT and name not in p.loop:
        yield f"the pin snapshot={name!r} names no loop"
    elif pin in (STORE, RECOMPUTE) and name not in p.item:
        yield f"the pin {pin}={name!r} names no value; values: {', '.join(sorted(p.item))}"
    elif pin == RECOMPUTE and not p.item[name].rebuildable:
        yield f"the pin recompute={name!r}: this value cannot be made again"
    elif pin not in (STORE, RECOMPUTE, SNAPSHOT):
        yield f"{pin!r} is no pin; pins: store, recompute, snapshot"
