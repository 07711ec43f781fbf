"""What every program keeps to, whatever made it: the cheap part, that a look at each statement decides.

Names are bound before they are used, and never twice; ranks, dtypes and shapes agree; a stage holds nothing that only
later stages make. Which elements are touched is left to `analysis/verify.py`, which is also where to call all of this.
"""
from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from types import MappingProxyType

from sdfgad.ir.expr import Expr, Index, Load, walk
from sdfgad.ir.index import Ix
from sdfgad.ir.program import (
    Array,
    Block,
    If,
    Let,
    Lib,
    Loop,
    Map,
    Pop,
    Program,
    Push,
    Range,
    Stmt,
    While,
    axis,
)
from sdfgad.ir.verify_types import BOOL, Fault, Types, listed
from sdfgad.ir.walk import children, own_ranges, reads, statements, writes

SOURCE, PREPARED, DERIVED, OPTIMISED = STAGES = ("source", "prepared", "derived", "optimised")
"""What a program has been through: the front end, `prepare_program`, differentiation, `optimise`."""
ROLES = ("argument", "constant", "transient", "tape", "disk")


def faults(program: Program, stage: str = OPTIMISED) -> list[Fault]:
    """What a program breaks of what any look at its statements, one by one, can tell."""
    work = _ProgramWalk(program.arrays, stage)
    work.block(program.body, frozenset())
    for tape, push in work.open.items():
        work.fault("tapes", f"{tape} is pushed to, and nothing takes that off", push)
    return [*_array_faults(program, stage), *work.found]


def _array_faults(program: Program, stage: str) -> Iterator[Fault]:
    for name, array in program.arrays.items():
        if array.__dict__.get("_verified") != (name, stage):
            found = list(_faults_of(name, array, stage))
            yield from found
            if not found:
                # Arrays never change either.
                object.__setattr__(array, "_verified", (name, stage))
        if array.role == "constant" and name not in program.constants:
            yield Fault("constants", f"nobody says what is in {name}")
    yield from _constant_faults(program)
    for name in (*program.arguments, *program.watched):
        if name not in program.arrays:
            yield Fault("names", f"there is no array {name}")
    for name in program.arguments:
        if name in program.arrays and program.arrays[name].role != "argument":
            yield Fault("roles", f"the argument {name} has the role {program.arrays[name].role!r}")


def _faults_of(name: str, array: Array, stage: str) -> Iterator[Fault]:
    if array.name != name:
        yield Fault("names", f"the array {array.name!r} is listed as {name!r}")
    if array.role not in ROLES:
        yield Fault("roles", f"{name} has the role {array.role!r}")
    if any(n < 0 for n in array.shape):
        yield Fault("shapes", f"{name} has the shape {array.shape}")
    if array.role in ("tape", "disk") and STAGES.index(stage) < STAGES.index(DERIVED):
        yield Fault("stage", f"{name} is a {array.role} in a {stage} program")
    if array.packing is not None and stage != OPTIMISED:
        yield Fault("stage", f"{name} is packed in a {stage} program")
    if array.packing is not None and len(array.packing.bounds) != len(array.shape):
        yield Fault("shapes", f"{name}, {array.shape}, is packed in {len(array.packing.bounds)} dimensions")


def _constant_faults(program: Program) -> Iterator[Fault]:
    for name, value in program.constants.items():
        array = program.arrays.get(name)
        if array is not None and array.role == "constant" and value.shape != array.shape:
            yield Fault("constants", f"{name} has the shape {array.shape}, its value {value.shape}")
    for name in program.live:
        if name not in program.constants:
            yield Fault("constants", f"{name}, whose contents may change, is no constant")


class _ProgramWalk:
    """One pass over the statements. stage: decides what may appear. found: what is wrong."""

    def __init__(self, arrays: Mapping[str, Array], stage: str) -> None:
        self.arrays, self.stage = arrays, stage
        self.found: list[Fault] = []
        self.seen: set[int] = set()
        self.pushed: set[str] = set()
        self.open: dict[str, Push] = {}

    def block(self, block: Block, scope: frozenset[str]) -> None:
        for k, stmt in enumerate(block):
            self.statement(stmt, scope)
            if isinstance(stmt, (Map, Lib)):
                continue
            if isinstance(stmt, (Push, Pop)):
                self.entry(stmt)
            inside = scope | {stmt.range.var} if isinstance(stmt, Loop) else scope
            for inner in children(stmt):
                self.block(inner, inside)
            # Behind `prepare_program` a count that nobody asks for may be gone.
            if isinstance(stmt, (Loop, While)) and self.stage in (SOURCE, PREPARED):
                self.found += _counting_faults(stmt, self.arrays, block[:k])

    def statement(self, stmt: Stmt, scope: frozenset[str]) -> None:
        free, bound = _symbols_of(stmt)
        if not scope.isdisjoint(bound):
            self.fault("shadowing", f"{listed(scope & bound)} stands for something around this already", stmt)
        if not free <= scope:
            self.fault("symbols", f"nobody says what {listed(free - scope)} is", stmt)
        # What is known of a statement is looked up by its identity.
        if id(stmt) in self.seen:
            self.fault("identity", "one statement stands at two places", stmt)
        self.seen.add(id(stmt))
        known = stmt.__dict__.get("_verified")
        if known is None or known[0] != self.stage or any(self.arrays.get(a.name) is not a for a in known[1]):
            self.types(stmt)

    def types(self, stmt: Stmt) -> None:
        """What does not depend on the place of a statement, once for each statement and the arrays that it names."""
        names = reads(stmt) | writes(stmt)
        missing = {n for n in names if n not in self.arrays}
        if missing:
            self.fault("names", f"there is no array {listed(missing)}", stmt)
            return
        found = list(_statement_faults(stmt, self.arrays, self.stage))
        self.found += found
        if not found:
            # Statements never change, and most passes leave most of them as they are.
            object.__setattr__(stmt, "_verified", (self.stage, tuple(self.arrays[n] for n in names)))

    def entry(self, stmt: Push | Pop) -> None:
        """What is taken off a tape has been put there."""
        if isinstance(stmt, Push):
            self.pushed.add(stmt.tape)
            # Of a replay from a snapshot, too: what follows then takes it off again.
            self.open.setdefault(stmt.tape, stmt)
        else:
            self.open.pop(stmt.tape, None)
            if stmt.tape not in self.pushed:
                self.fault("tapes", f"nothing has been pushed to {stmt.tape}", stmt)

    def fault(self, rule: str, what: str, stmt: Stmt) -> None:
        self.found.append(Fault(rule, what, stmt))


def _symbols_of(stmt: Stmt) -> tuple[frozenset[str], frozenset[str]]:
    """The symbols that a statement itself takes from around it, and those that it binds."""
    known: tuple[frozenset[str], frozenset[str]] | None = stmt.__dict__.get("_symbols")
    if known is None:
        ranges = own_ranges(stmt)
        bound = frozenset(r.var for r in ranges)
        known = frozenset(_free(stmt, ranges)), bound
        object.__setattr__(stmt, "_symbols", known)
    return known


def _free(stmt: Stmt, ranges: tuple[Range, ...]) -> Iterator[str]:
    inside: set[str] = set()
    for r in ranges:
        yield from (r.start.symbols | r.stop.symbols) - inside
        inside.add(r.var)
    for i in _own_indices(stmt):
        yield from i.symbols - inside
    if isinstance(stmt, Lib):
        for view in (*stmt.outs, *stmt.ins):
            own = {axis(k) for k in range(len(view.shape))}
            yield from (s for n in view.shape for s in n.symbols)
            yield from (s for i in view.index for s in i.symbols - own)


def _own_indices(stmt: Stmt) -> Iterator[Ix]:
    """The index expressions of a statement that may name its own variables; those of views aside."""
    if isinstance(stmt, Map):
        for part in stmt.body:
            yield from () if isinstance(part, Let) else part.index
            yield from _indices_in(part.expr)
    elif isinstance(stmt, If):
        yield from _indices_in(stmt.cond)
    elif isinstance(stmt, Loop) and stmt.behind is not None:
        yield stmt.behind.number
    elif isinstance(stmt, (Push, Pop)):
        yield from stmt.shape


def _indices_in(e: Expr) -> Iterator[Ix]:
    for node in walk(e):
        if isinstance(node, Load):
            yield from node.index
        elif isinstance(node, Index):
            yield node.ix


def _statement_faults(stmt: Stmt, arrays: Mapping[str, Array], stage: str) -> Iterator[Fault]:
    check = Types(stmt, arrays)
    for r in own_ranges(stmt):
        yield from check.range(r)
    if isinstance(stmt, Map):
        yield from check.map(stmt)
    elif isinstance(stmt, Lib):
        yield from check.lib(stmt)
    elif isinstance(stmt, If):
        yield from check.expr(stmt.cond, {})
        if stmt.cond.dtype != BOOL:
            yield check.fault("dtypes", f"a condition of dtype {stmt.cond.dtype}")
    elif isinstance(stmt, (Loop, While)):
        yield from check.loop(stmt)
    else:
        yield from check.entry(stmt)
    yield from _stage_faults(stmt, stage)


def _stage_faults(stmt: Stmt, stage: str) -> Iterator[Fault]:
    """The grammar of the stages: what a statement may be only later on."""
    for (kind, since), found in _SINCE.items():
        if STAGES.index(stage) < STAGES.index(since) and found(stmt):
            yield Fault("stage", f"{kind} in a {stage} program", stmt)


_SINCE: Mapping[tuple[str, str], Callable[[Stmt], bool]] = MappingProxyType({
    ("a tape's entry", DERIVED): lambda s: isinstance(s, (Push, Pop)),
    ("a snapshot", DERIVED): lambda s: isinstance(s, Lib) and s.op in ("seal", "unseal"),
    ("a parallel loop", OPTIMISED): lambda s: isinstance(s, Loop) and s.parallel,
    ("a private array", OPTIMISED): lambda s: isinstance(s, Loop) and bool(s.private),
    ("a loop behind another one", OPTIMISED): lambda s: isinstance(s, Loop) and s.behind is not None,
})


def _counting_faults(stmt: Loop | While, arrays: Mapping[str, Array], before: Block) -> Iterator[Fault]:
    """Who counts iterations starts from nothing before the loop, and counts in every iteration."""
    trips = stmt.trips
    if trips is None:
        return
    if trips not in arrays:
        yield Fault("names", f"there is no array {trips}", stmt)
        return
    if not any(trips in writes(s) for s in stmt.body if isinstance(s, Map) and not s.domain):
        yield Fault("counting", f"no iteration counts in {trips}", stmt)
    if not any(trips in writes(s) for s in statements(before)):
        yield Fault("counting", f"{trips} counts from nowhere", stmt)
