"""Loops in which names exchange arrays that others know too: the data change places, the names stay.

What a name stands for then does not depend on how often the loop has run. Beside the data, a number for each name says
which of the arrays it is; behind the loop every array gets what belongs to it.
"""
from __future__ import annotations

import ast
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from sdfgad.frontend.elements.elementwise import BOOL, INT
from sdfgad.frontend.merging.merge import Kind, container_value, declare, fill, kind_of, private
from sdfgad.frontend.state.context import Context
from sdfgad.frontend.state.frames import CallFrame, NameExchange
from sdfgad.frontend.state.references import references
from sdfgad.frontend.state.sharing import SharedPlaces, refuse_sharing
from sdfgad.frontend.state.values import Maybe, Value, ViewValue
from sdfgad.ir.expr import Load, call, const
from sdfgad.ir.program import If

PASSED_OVER = "passed over"
"""The code of a refusal to run a loop in some form that is never shown: what was refused before is."""


@dataclass(frozen=True)
class Seat:
    """A name that takes part: the array it stood for before the loop, what holds its data in the loop, and which of
    the arrays it is."""

    name: str
    origin: ViewValue
    held: ViewValue
    number: str


def run_exchanging(ctx: Context, stmt: ast.For | ast.While, run: Callable[[], None]) -> None:
    """while c: a, b = b, a   ->   a', b' = a, b ; while c: { a', b' = b', a' ; which } ; a, b = as `which` says

    Outside of exchanges no name may be bound anew, and nothing else may show the arrays while they change places.
    """
    frame = ctx.frame
    steps: dict[ast.stmt, NameExchange] = {}
    for found in exchanges_of(frame, stmt):
        arrays = [frame.names.get(n) for e in found.values() for n in e.targets]
        if _alike(arrays) and frame.exchanges.keys().isdisjoint(found):  # a loop around may see to it already
            steps |= found
    names = list(dict.fromkeys(n for e in steps.values() for n in e.targets))
    arrays = [frame.names.get(n) for n in names]
    if not names or not _apart(arrays) or _bound_otherwise(stmt, steps, names):
        raise ctx.refuse("names that exchange their arrays in this loop", code=PASSED_OVER)
    seats = _take_seats(ctx, names, arrays)
    known = [s for s in seats if s.held is not s.origin]
    before = frame.exchanges, frame.seats
    frame.exchanges = {**frame.exchanges, **steps}
    frame.seats = {**frame.seats, **{s.name: s.number for s in seats}}
    try:
        run()
    finally:
        frame.exchanges, frame.seats = before
    _give_back(ctx, seats, known)


def _alike(arrays: Sequence[Value]) -> bool:
    """Whether these are whole arrays of one kind; also where there are none."""
    whole = [a for a in arrays if isinstance(a, ViewValue) and a.whole and a.shape and not a.readonly]
    return len(whole) == len(arrays) and len({kind_of(a) for a in whole}) <= 1


def _apart(arrays: Sequence[Value]) -> bool:
    """Whether each of these is an array of its own."""
    return len({a.view.array for a in arrays if isinstance(a, ViewValue)}) == len(arrays)


# which statements exchange

def exchanges_of(frame: CallFrame, stmt: ast.For | ast.While) -> Iterator[dict[ast.stmt, NameExchange]]:
    """The exchanges of names in a loop's body: what each of the statements that belong to one does."""
    for body in _blocks(stmt):
        for k, one in enumerate(body):
            pairs = _pairs(one)
            if pairs is not None and len(pairs) > 1 and sorted(pairs) == sorted(pairs.values()):
                yield {one: NameExchange(tuple(pairs), tuple(pairs.values()))}
            elif (three := _by_third_name(frame, body[k:k + 3])) is not None:
                yield dict(zip(body[k:k + 3], (NameExchange(), three, NameExchange()), strict=True))


def _blocks(stmt: ast.stmt) -> Iterator[list[ast.stmt]]:
    for node in ast.walk(stmt):
        for part in ("body", "orelse"):
            block = getattr(node, part, None)
            if isinstance(block, list) and block and isinstance(block[0], ast.stmt):
                yield block


def _pairs(stmt: ast.stmt) -> dict[str, str] | None:
    """Names bound to names by one assignment."""
    if not isinstance(stmt, ast.Assign) or len(stmt.targets) != 1:
        return None
    left, right = stmt.targets[0], stmt.value
    lefts = left.elts if isinstance(left, ast.Tuple) else [left]
    rights = right.elts if isinstance(right, ast.Tuple) else [right]
    if len(lefts) != len(rights) or isinstance(left, ast.Tuple) != isinstance(right, ast.Tuple):
        return None
    found = {a.id: b.id for a, b in zip(lefts, rights, strict=True)
             if isinstance(a, ast.Name) and isinstance(b, ast.Name)}
    return found if len(found) == len(lefts) else None


def _by_third_name(frame: CallFrame, stmts: Sequence[ast.stmt]) -> NameExchange | None:
    """`t = a ; a = b ; b = t`, where nothing else reads `t`."""
    pairs = [_pairs(s) for s in stmts]
    if len(pairs) != 3 or any(p is None or len(p) != 1 for p in pairs):
        return None
    (third, a), (again, b), (last, back) = (next(iter(p.items())) for p in pairs if p)
    reads = [n for s in frame.code.body for n in ast.walk(s)
             if isinstance(n, ast.Name) and n.id == third and isinstance(n.ctx, ast.Load)]
    if (again, last, back) != (a, b, third) or len({third, a, b}) != 3 or len(reads) != 1:
        return None
    return NameExchange((a, b), (b, a))


def _bound_otherwise(stmt: ast.stmt, steps: Mapping[ast.stmt, NameExchange], names: Sequence[str]) -> bool:
    """Whether the loop binds one of the names by anything but an exchange, or an update of the array."""
    allowed = {id(n) for s in steps for n in ast.walk(s)}
    allowed |= {id(n.target) for n in ast.walk(stmt) if isinstance(n, ast.AugAssign)}
    return any(isinstance(n, ast.Name) and n.id in names and not isinstance(n.ctx, ast.Load) and id(n) not in allowed
               for n in ast.walk(stmt))


# before the loop, in it and behind it

def _take_seats(ctx: Context, names: Sequence[str], arrays: Sequence[Value]) -> list[Seat]:
    builder, seats = ctx.builder, []
    for k, (name, origin) in enumerate(zip(names, arrays, strict=True)):
        assert isinstance(origin, ViewValue)
        builder.check_target(origin.view.array)
        number = builder.declare((), INT, f"{name}_seat").name
        builder.store(number, (), const(k, INT))
        held = origin if private(ctx, ctx.frame, name) is not None else _held(ctx, name, origin)
        seats.append(Seat(name, origin, held, number))
    for seat in seats:
        ctx.frame.names[seat.name] = seat.held
        if seat.held is not seat.origin:
            array = seat.origin.view.array
            builder.shared = builder.shared.written(array)
            builder.shared = _with_stale(builder.shared, builder.shared.stale | {array})
    return seats


def _held(ctx: Context, name: str, origin: ViewValue) -> ViewValue:
    kind = kind_of(origin)
    assert kind is not None
    array = declare(ctx, kind, name)
    fill(ctx, array.name, kind, origin)
    value = container_value(ctx, array, kind)
    assert isinstance(value, ViewValue)
    return value


def _with_stale(shared: SharedPlaces, stale: frozenset[str]) -> SharedPlaces:
    return SharedPlaces(shared.links, stale, shared.twins)


def exchange(ctx: Context, stmt: ast.stmt, step: NameExchange) -> None:
    """`a, b = b, a` as an exchange of data, and of the numbers that say which arrays they are."""
    frame, builder = ctx.frame, ctx.builder
    held = {n: frame.names[n] for n in step.targets}
    places = {v.view.array for v in held.values() if isinstance(v, ViewValue)}
    later = frame.liveness.after[stmt] | frame.liveness.captured
    for where, name, value in list(ctx.values()):
        if (where is frame and name in held) or places.isdisjoint(references(value)):
            continue
        if where is not frame or name in later or name.startswith("%"):
            raise refuse_sharing(ctx.here, f"an exchange of arrays that {name!r} shows too",
                                 f"copy what {name!r} shows: {name} = {name}.copy()")
        frame.names[name] = Maybe(None)
    numbers = {n: frame.seats[n] for n in step.targets}
    for cycle in _cycles(dict(zip(step.targets, step.sources, strict=True))):
        first = builder.fresh_copy(held[cycle[0]], "exchanged")
        number = builder.fresh_copy(builder.view(builder.arrays[numbers[cycle[0]]], (), scalar=True), "exchanged")
        for target, source in zip(cycle, cycle[1:], strict=False):
            builder.assign(held[target], held[source])
            builder.store(numbers[target], (), Load(numbers[source], (), INT))
        builder.assign(held[cycle[-1]], first)
        builder.store(numbers[cycle[-1]], (), number.at(()))


def _cycles(sources: Mapping[str, str]) -> Iterator[list[str]]:
    """Names in rows, in which each takes what the next one has, and the last one what the first had."""
    seen: set[str] = set()
    for name in sources:
        row: list[str] = []
        while name not in seen:
            seen.add(name)
            row.append(name)
            name = sources[name]
        if len(row) > 1:
            yield row


def _give_back(ctx: Context, seats: Sequence[Seat], known: Sequence[Seat]) -> None:
    """Arrays that others know get what belongs to them; the names go on with copies."""
    builder, frame = ctx.builder, ctx.frame
    builder.flush()
    origins = {s.origin.view.array for s in known}
    builder.shared = _with_stale(builder.shared, builder.shared.stale - origins)
    for k, seat in enumerate(seats):
        if seat not in known:
            continue
        for other in (s for s in seats if kind_of(s.origin) == kind_of(seat.origin)):
            with builder.region() as block:
                fill(ctx, seat.origin.view.array, _kind(seat.origin), frame.names[other.name])
            builder.emit(If(call("eq", Load(other.number, (), INT), const(k, INT), dtype=BOOL), tuple(block), (),
                            builder.source))
    for seat in seats:
        value = frame.names[seat.name]
        if isinstance(value, ViewValue):
            builder.shared = builder.shared.copied(value.view.array, origins, stale=False)


def _kind(value: Value) -> Kind:
    kind = kind_of(value)
    assert kind is not None
    return kind
