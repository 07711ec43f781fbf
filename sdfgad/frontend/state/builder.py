"""Emits statements: names and containers, stores that keep NumPy's order of evaluation, rollback of trial runs."""
from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from weakref import WeakSet

import numpy as np

from sdfgad import names
from sdfgad.arrays import native
from sdfgad.errors import SourceLine, unsupported
from sdfgad.frontend.state.accesses import IndexedAccess
from sdfgad.frontend.state.attempts import Assumed, AssumptionFailed, StatementNeeded
from sdfgad.frontend.state.bounds import KnownBounds
from sdfgad.frontend.state.flatten import MAP_VARIABLES, without_divisions
from sdfgad.frontend.state.held import HeldIntegers
from sdfgad.frontend.state.mail import Mail
from sdfgad.frontend.state.numbering import ValueNumbers
from sdfgad.frontend.state.sharing import READ_ONLY_HELP, SharedPlaces, refuse_sharing, refuse_stale
from sdfgad.frontend.state.strides import turned
from sdfgad.frontend.state.values import ArrayValue, Element, Grown, Lazy, Masked, Position, Shape, ViewValue
from sdfgad.ir.expr import Call, Const, Expr, Index, call, const, index_elems, loads
from sdfgad.ir.index import Bounds, Ix, ix
from sdfgad.ir.program import FAILED, ORDER, Array, Lib, Lookup, Map, Raising, Range, Stmt, Store, View, axis, view_of
from sdfgad.ir.walk import within

_SUPPORTED = frozenset("?bhilqBHILQfdFD")


@dataclass
class Builder:
    """The program under construction."""

    assumed: Assumed = Assumed()
    hasty: bool = False  # whether a loop that makes lists longer has been kept, which could be written out
    masks: bool = False  # whether something has been selected by a mask
    numbers: set[str] = field(default_factory=set)  # arguments without dimensions that are taken for numbers
    arrays: dict[str, Array] = field(default_factory=dict)
    constants: dict[str, np.ndarray] = field(default_factory=dict)
    arguments: list[str] = field(default_factory=list)
    taken: set[str] = field(default_factory=lambda: {*MAP_VARIABLES, FAILED, ORDER})
    blocks: list[list[Stmt]] = field(default_factory=lambda: [[]])
    regions: list[int] = field(default_factory=list)
    region_count: int = 0
    innermost_loop: int = 0  # how many regions there are in the innermost loop, itself among them
    born: dict[str, tuple[int, ...]] = field(default_factory=dict)
    scope: KnownBounds = field(default_factory=KnownBounds)
    live: WeakSet[Lazy] = field(default_factory=WeakSet)
    mutated: set[str] = field(default_factory=set)
    frozen: set[str] = field(default_factory=set)
    shared: SharedPlaces = field(default_factory=SharedPlaces)
    managed: set[str] = field(default_factory=set)  # scalar containers whose every reader is known
    growing: dict[str, int | None] = field(default_factory=dict)  # those of integers that grow, and up to which size
    any_order: set[str] = field(default_factory=set)  # containers of what NumPy may have in another order than C
    versions: dict[str, int] = field(default_factory=dict)
    made_from: dict[str, frozenset[str]] = field(default_factory=dict)  # of numbers that have been stored
    formulas: ValueNumbers = field(init=False)
    source: SourceLine | None = None
    statements: int = 0
    lazies: int = 0
    quiet: bool = False  # statements are not allowed at the moment
    accesses: list[IndexedAccess] = field(default_factory=list)  # indices that may leave their arrays
    failures: list[Raising] = field(default_factory=list)
    lookups: list[Lookup] = field(default_factory=list)
    loops: int = 0  # how many of the regions are loops
    unsure: int = 0  # around what may not be looked at, although no branch is
    mail: Mail = field(default_factory=Mail)
    grown: list[Grown] = field(default_factory=list)  # lists that loops make longer

    def __post_init__(self) -> None:
        self.formulas = ValueNumbers(self.versions)
        self.counted: dict[str, Masked] = {}  # arrays that hold how much a mask selects
        self.held = HeldIntegers(self.scope, self.constants, "iubf" if self.assumed.known_masks else "iu")
        self.selected: dict[str, int] = {}  # what masks select from, and how often it had been written by then

    # names and containers

    def symbol(self, label: str) -> str:
        """A free name for a loop variable or container."""
        name = names.fresh(names.safe(label), self.taken)
        self.taken.add(name)
        return name

    def declare(self, shape: Shape, dtype: np.dtype, label: str, role: str = "transient") -> Array:
        """A fresh container big enough for `shape` at every iteration of the enclosing loops."""
        self.check_quiet()
        self.check_dtype(dtype)
        array = Array(self.symbol(label), tuple(self.extent(n) for n in shape), dtype, role, self.source, label)
        self.arrays[array.name] = array
        self.held.made(array)
        if dtype.kind in "ub":
            self.scope.unsigned.add(array.name)
        self.born[array.name] = tuple(self.regions)
        return array

    def extent(self, n: Ix) -> int:
        """The largest value of an extent."""
        if (high := self.scope.bounds(n)[1]) is None:
            raise unsupported(self.source, f"an array of a size only known at run time: {n}",
                              "give it a size that does not depend on the data", "SG103")
        return max(high, 0)

    def check_dtype(self, dtype: np.dtype) -> None:
        if dtype.char not in _SUPPORTED:
            first = "convert it before the call, as by .astype(float), to" if dtype.kind in "OSU" else "use"
            raise unsupported(self.source, f"values of dtype {dtype}", f"{first} float32, float64, complex64, "
                              "complex128, an integer type of at most 64 bits or bool", "SG104")

    def view(self, array: Array, shape: Shape | None = None, weak: bool = False, scalar: bool = False) -> ViewValue:
        """A container's data, or the part of it that `shape` uses."""
        whole = view_of(array)
        part = whole if shape is None else View(array.name, shape, whole.index, array.dtype)
        return ViewValue(part, scalar=scalar, weak=weak)

    def constant(self, value: np.ndarray, label: str) -> ViewValue:
        """Data known while translating, as a container of role "constant"."""
        array = self.declare(tuple(ix(n) for n in value.shape), native(value.dtype), label, "constant")
        self.constants[array.name] = np.ascontiguousarray(value, dtype=array.dtype).reshape(value.shape)
        if not value.flags.c_contiguous:
            self.any_order.add(array.name)
        if value.dtype.kind in "iu" and value.size:
            self.know(array.name, (int(value.min()), int(value.max())))
        return self.view(array)

    # statements

    def check_quiet(self) -> None:
        if self.quiet:
            raise StatementNeeded

    def emit(self, stmt: Stmt) -> None:
        self.check_quiet()
        if self.mail.posted:
            self._check_arrived(stmt)
        self.blocks[-1].append(stmt)
        self.statements += 1
        self.held.exact.emitted(stmt, self.born, tuple(self.regions))

    def _check_arrived(self, stmt: Stmt) -> None:
        """Refuse to touch what a receive brings that goes with the wait for an earlier request."""
        late = self.mail.late(frozenset[str]().union(*within(stmt)))
        if late is not None:
            first = self.mail.posted[0].source
            raise unsupported(self.source, "what a message brings that is received while the one posted in line "
                              f"{first.line if first else 0} is not waited for",
                              "wait for the request before this", "SG107")

    def domain(self, shape: Shape, first: int = 0) -> tuple[tuple[Range, ...], Position]:
        """Map variables over `shape`, and the position they stand for; extents of 1 need none."""
        ranges: list[Range] = []
        position: list[Ix] = []
        for n in shape:
            if n.const == 1:
                position.append(ix(0))
                continue
            var = MAP_VARIABLES[first + len(ranges)]
            ranges.append(Range(var, ix(0), n))
            position.append(ix(var))
        return tuple(ranges), tuple(position)

    def store(self, array: str, index: Position, e: Expr, domain: Sequence[Range] = (), op: str | None = None) -> None:
        """One map with one store, index expressions simplified by the bounds of their variables."""
        self.check_quiet()
        self.check_target(array)
        self.flush(array)
        if any(r.trips == 0 for r in domain):
            return
        self.held.stored(array, index, e if op is None else None, domain, self.born.get(array) == tuple(self.regions))
        points, at, e = without_divisions(self.scope, domain, index, e)
        self.emit(Map(tuple(points), (Store(array, tuple(at), e, op),), self.source))
        self.touch(array)

    def library(self, op: str, outs: Sequence[View], ins: Sequence[View], **attrs: object) -> None:
        """A library operation; views with an empty extent leave nothing to do."""
        self.check_quiet()
        for out in outs:
            self.check_target(out.array)
            self.flush(out.array)
            self.touch(out.array)
            self.held.lost(out.array)
        self.emit(Lib(op, tuple(outs), tuple(ins), attrs, self.source))

    def check_target(self, array: str) -> None:
        if (array in self.frozen or array in self.scope.containers) and array not in self.assumed.fragile:
            raise AssumptionFailed(array)
        if array in self.shared.stale:
            raise refuse_stale(self.source, self.shared, array, f"an update of {self.label(array)}")
        if self.shared.read_only(array):
            raise refuse_sharing(self.source, f"an update of {self.label(array)}, which is read-only in NumPy",
                                 READ_ONLY_HELP)
        if self.shared.fixed(array):
            why = "which a list holds" if self.shared.in_list(array) else (
                "which is one of several arrays depending on the path taken")
            raise refuse_sharing(self.source, f"an update of {self.label(array)}, {why}",
                                 "copy the array before updating it")
        if self.arrays[array].role == "constant":
            raise unsupported(self.source, f"an update of {self.label(array)}, an array from outside the function",
                              "pass it as an argument or copy it first", "SG102")

    def touch(self, array: str) -> None:
        """Note that `array` has been written."""
        self.versions[array] = self.versions.get(array, 0) + 1
        self.scope.forget(array)
        if self.arrays[array].role == "argument":
            self.mutated.add(array)
        self.shared = self.shared.written(array)

    def label(self, array: str) -> str:
        return repr(self.arrays[array].label or array)

    def lazy(self, shape: Shape, dtype: np.dtype, element: Element | None, sources: frozenset[str], weak: bool = False,
             costly: bool = False, parts: tuple[ArrayValue, ...] = ()) -> Lazy:
        """A value to be stored later; watched, so that stores in between see it first."""
        self.lazies += 1
        value = Lazy(shape, dtype, element, sources, weak, costly, None, self.lazies, parts)
        if sources:
            self.live.add(value)
        return value

    def flush(self, array: str | None = None) -> None:
        """Store every pending value that reads `array` (or any container) before it changes."""
        pending = sorted((v for v in self.live if v.stored is None and v.element is not None), key=lambda v: -v.order)
        while pending:
            value = pending.pop(0)
            if value.stored is None and value.element is not None and (array is None or array in value.sources):
                self.materialise(value, "tmp")

    def consume(self, value: ArrayValue) -> None:
        """The value has been stored somewhere: it no longer holds on to its operands."""
        if isinstance(value, Lazy) and value.element is not None:
            value.element = None
            self.live.discard(value)
            for part in value.parts:
                if isinstance(part, Lazy) and part.stored is None:
                    self.consume(part)

    def materialise(self, value: ArrayValue, label: str) -> ViewValue:
        """Store a value in a fresh container (a view stays as it is)."""
        if isinstance(value, ViewValue):
            return value
        if isinstance(value, Lazy) and value.stored is not None:
            return value.stored
        stored = self.fresh_copy(value, label)
        if isinstance(value, Lazy):
            value.stored = stored = replace(stored, readonly=value.readonly)
            self.consume(value)
            self.twin(stored, value.origins)
        return stored

    def twin(self, stored: ViewValue, origins: frozenset[str]) -> None:
        """What has just been stored is a view of other containers in NumPy."""
        if origins:
            self.shared = self.shared.twinned(stored.view.array, origins)

    def fresh_copy(self, value: ArrayValue, label: str, dtype: np.dtype | None = None) -> ViewValue:
        """Store a value or a copy of a view in a fresh container."""
        domain, position = self.domain(value.shape)
        e, reads, number = value.at(position), value.reads, self._number(value)
        self.consume(value)
        array = self.declare(value.shape, dtype or value.dtype, label)
        if not value.shape:
            self.made_from[array.name] = reads
        if turned(self.arrays, self.any_order, value, e, position):
            self.any_order.add(array.name)
        self.store(array.name, position, cast(e, array.dtype), domain)
        if number is not None and array.dtype == value.dtype:
            self.formulas.hold(array.name, number, tuple(self.regions))
        return self.view(array, value.shape, value.weak, scalar=not value.shape)

    def _number(self, value: ArrayValue) -> int | None:
        """The number of a scalar or mask, of which somebody may ask whether another is the same."""
        watched = not value.shape or value.dtype.kind == "b"
        return self.formulas.of(value.at(axes(value.ndim)), value.shape, tuple(self.regions)) if watched else None

    def assign(self, target: ViewValue, value: ArrayValue) -> None:
        """`target[...] = value`, the value in the target's shape already; as if it were read before the first write."""
        self.check_quiet()
        domain, position = self.domain(target.shape)
        index = target.view.at(position)
        e = cast(value.at(position), target.dtype)
        if self.collides(target.view.array, index, e, domain):
            value = self.fresh_copy(value, "tmp")
            e = cast(value.at(position), target.dtype)
        self.consume(value)
        self.store(target.view.array, index, e, domain)

    def collides(self, array: str, index: Position, e: Expr, domain: Sequence[Range]) -> bool:
        """Whether one iteration may read what another one writes."""
        read = [n.index for n in loads(e) if n.array == array]
        read += [n.parts for n in index_elems(e) if n.array == array]
        inside = [n.parts for i in index for n in i.elems if n.array == array]
        if inside and domain:
            return True
        return any(r != tuple(index) and not self.scope.disjoint(r, index, domain) for r in read)

    # regions and trials

    @contextmanager
    def region(self, settle: bool = True, loop: bool = False) -> Iterator[list[Stmt]]:
        """Statements emitted inside go to the list yielded; `settle` stores pending results before and after."""
        if settle:
            self.flush()
        block: list[Stmt] = []
        self.blocks.append(block)
        self.region_count += 1
        self.regions.append(self.region_count)
        depth, facts, ranges = len(self.blocks), len(self.scope.facts), len(self.scope.ranges)
        outer, self.innermost_loop = self.innermost_loop, len(self.regions) if loop else self.innermost_loop
        self.loops += loop
        try:
            with self.held.inside():
                yield block
                if settle:
                    self.flush()
        finally:
            del self.blocks[depth - 1:]
            del self.regions[depth - 2:]
            self.innermost_loop = outer
            self.loops -= loop
            del self.scope.facts[facts:], self.scope.ranges[ranges:]

    def snapshot(self) -> tuple:
        """The state to come back to when a trial fails."""
        return (dict(self.arrays), dict(self.constants), set(self.taken), dict(self.born), dict(self.scope.containers),
                set(self.scope.unsigned), set(self.mutated), set(self.frozen), set(self.managed),
                dict(self.growing), self.shared, len(self.blocks[-1]), self.statements, self.source,
                (len(self.accesses), len(self.lookups)), self.lazies, len(self.failures), self.mail,
                [(g, g.now) for g in self.grown], self.held.state())

    def rollback(self, state: tuple) -> None:
        """Names are free again, so nothing known of a container made since then may outlive it."""
        (arrays, constants, taken, born, containers, unsigned, mutated, frozen, managed, growing, self.shared, length,
         self.statements, self.source, accesses, lazies, failures, self.mail, grown, held) = state
        self.grown = [g for g, _ in grown]
        for made, now in grown:
            made.now = now
        del self.accesses[accesses[0]:], self.lookups[accesses[1]:], self.failures[failures:]
        self.arrays, self.constants, self.taken, self.born = dict(arrays), dict(constants), set(taken), dict(born)
        self.held.back(held, self.constants)
        self.scope.containers, self.scope.unsigned = dict(containers), set(unsigned)
        self.mutated, self.frozen, self.managed, self.growing = set(mutated), set(frozen), set(managed), dict(growing)
        self.any_order.intersection_update(arrays)
        self.counted = {n: mask for n, mask in self.counted.items() if n in arrays}
        del self.blocks[-1][length:]
        self.live.difference_update([v for v in self.live if v.order > lazies or (
            v.stored is None and not v.sources <= self.arrays.keys())])

    def inner(self, array: str) -> bool:
        """Whether the current point lies in a region deeper than the one the container was made in."""
        path = self.born.get(array, ())
        return len(self.regions) > len(path) and tuple(self.regions[:len(path)]) == path

    def know(self, array: str, bounds: Bounds) -> None:
        """Record what is known of the numbers in an integer container that is not written again."""
        if array not in self.assumed.fragile:
            self.scope.containers[array] = bounds


def cast(e: Expr, dtype: np.dtype) -> Expr:
    """The same number in another dtype."""
    if e.dtype == dtype:
        return e
    if isinstance(e, Const):
        with np.errstate(all="ignore"):
            number = np.asarray(e.value).astype(e.dtype)
            number = number.real if number.dtype.kind == "c" and dtype.kind in "fiu" else number
            shortest = float(str(np.float32(number))) if dtype == np.float32 else number.astype(dtype).item()
            return const(shortest, dtype)  # the decimal as it is written
    narrow = dtype.kind in "iu" and dtype.itemsize < 8
    if isinstance(e, Index) and dtype.kind in "iuf" and not (narrow and e.ix.elems):  # data may wrap around
        return Index(e.ix, dtype)
    if e.dtype.kind == "c" and dtype.kind == "b":
        return call("ne", e, const(0, e.dtype), dtype=dtype)
    if e.dtype.kind == "c" and dtype.kind != "c":
        part = call("real", e, dtype=np.empty(0, e.dtype).real.dtype)
        return cast(part, dtype)
    return Call("cast", (e,), dtype)


def axes(count: int) -> Position:
    """The placeholder symbols of a view with `count` dimensions."""
    return tuple(ix(axis(k)) for k in range(count))


def reads_of(*parts: ArrayValue) -> frozenset[str]:
    """Containers read by any of the values."""
    return frozenset().union(*(p.reads for p in parts)) if parts else frozenset()


__all__ = ("Builder", "MAP_VARIABLES", "cast", "axes", "reads_of")
