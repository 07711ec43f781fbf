"""Messages that are under way while something else is computed.

An exchange becomes a start, which posts all of its messages, and a finish, which waits for them; so does a collective
that blocks on no rank. What depends on
neither, by the elements it touches, goes in between: from the statements ahead those that nothing sent depends on, from
those behind what needs nothing received. Forward and reverse sweep are statements alike, so both are treated alike.
"""
from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from math import prod
from types import MappingProxyType
from typing import TypeGuard

from sdfgad.analysis.elements.access import Access, Site, overlap_in, reads_of, run_range, writes_of
from sdfgad.errors import UnsupportedError, unsupported
from sdfgad.ir.called import PYTHON
from sdfgad.ir.messages import (
    BESIDE,
    EXCHANGE,
    FINISH,
    GROUP,
    MEMBER,
    OP,
    PART,
    POSTED,
    REVERSE,
    SLOT,
    START,
    communicates,
    received,
)
from sdfgad.ir.own import OWN, OWN_LINEAR
from sdfgad.ir.program import ORDER, Block, If, Lib, Loop, Map, Program, Range, Stmt, While
from sdfgad.ir.walk import children, conflicts, statements, with_children
from sdfgad.thresholds import thresholds

_MOST = 100
"""Statements ahead or behind that are looked at: pairs of them are compared."""
_FIXED = frozenset(("fail", OWN, OWN_LINEAR, PYTHON))
"""Operations that may end the call or call something that communicates."""
Path = tuple[Range, ...]


def overlap_messages(program: Program) -> Program:
    """Exchanges and posted collectives in two halves, with what they do not touch between them.

    a ; exchange ; b ; c(received)    ->   start ; a ; b ; finish ; c(received)
    """
    return program.but(body=_block(program.body, ())) if communicates(program.body) else program


def _block(block: Block, path: Path) -> Block:
    work: list[Stmt] = []
    for stmt in block:
        inside = (*path, run_range(stmt)) if isinstance(stmt, (Loop, While)) else path
        work.append(with_children(stmt, [_block(b, inside) for b in children(stmt)]))
    at = 0
    while at < len(work):
        if _may_wait(work[at]) or _group_of(work[at]) is not None:
            end = _end_of_group(work, at)
            if any(isinstance(s, Lib) and BESIDE in s.attrs for s in work[at:end]):
                found = _beside_blocking(work[at:end], path)
                work[at:end] = found
                at += len(found)
                continue
            ahead, ones, after = _together(work[at:end], path)
            first = max((k + 1 for k in range(at) if _stays(work[k])), default=0)
            behind = next((k for k in range(end, len(work)) if _stays(work[k])), len(work))
            first, behind = max(first, at - _MOST), min(behind, end + _MOST)
            found, done = _spread([*work[first:at], *ahead], ones, [*after, *work[end:behind]], path)
            work[first:behind] = found
            at = first + done
        at += 1
    return tuple(work)


def _end_of_group(work: Sequence[Stmt], at: int) -> int:
    """Behind the last message that has to be under way together with this one."""
    key, end = _group_of(work[at]), at + 1
    for k in range(at + 1, len(work) if key is not None else 0):
        if _group_of(work[k]) == key:
            if key is not None and _again(work[end - 1], work[k], key[1]):
                break
            end = k + 1
        elif _stays(work[k]):
            break
    return end


def _group_of(stmt: Stmt) -> tuple[int, bool] | None:
    found = isinstance(stmt, Lib) and stmt.op == OP and GROUP in stmt.attrs and PART not in stmt.attrs
    return (stmt.attrs[GROUP], stmt.attrs.get("sweep") == REVERSE) if found else None  # type: ignore[union-attr]


def _again(last: Stmt, stmt: Stmt, reverse: bool) -> bool:
    """Whether a message begins its group anew, behind the last one of it."""
    before, now = (s.attrs[MEMBER] for s in (last, stmt) if isinstance(s, Lib))
    return bool(now > before if reverse else now < before)


def _beside_blocking(part: Sequence[Stmt], path: Path) -> list[Stmt]:
    """Messages that are posted before those of their group that block, and waited for behind these: other ranks may
    wait for them first, or not before.

    exchange ; a ; collective ; b(received)    ->   start ; a ; collective ; finish ; b(received)
    and in the transposed sweep
    collective ; a ; b ; exchange(b)           ->   b ; start ; collective ; a ; finish
    """
    reverse = any((key := _group_of(s)) is not None and key[1] for s in part)
    return _with_slots((_started_early if reverse else _finished_late)(part, path))


def _finished_late(part: Sequence[Stmt], path: Path) -> list[Stmt]:
    done: list[Stmt] = []
    ends: list[Stmt] = []
    behind: list[Stmt] = []
    ones: list[Stmt] = []
    for stmt in part:
        tied = any(_meet(stmt, other, path) for other in (*ones, *behind))
        if not isinstance(stmt, Lib) or _group_of(stmt) is None:
            (behind if tied else done).append(stmt)
            continue
        if tied:
            raise _entangled(stmt)
        if BESIDE in stmt.attrs:
            done.append(stmt)
            continue
        start, finish = _halves(stmt)
        done.append(start)
        ends.append(finish)
        ones.append(stmt)
    return [*done, *ends, *behind]


def _started_early(part: Sequence[Stmt], path: Path) -> list[Stmt]:
    done: list[Stmt] = []
    floor = 0
    for stmt in part:
        if not isinstance(stmt, Lib) or _group_of(stmt) is None or BESIDE in stmt.attrs:
            done.append(stmt)
            continue
        start, finish = _halves(stmt)
        if POSTED in stmt.attrs:  # collectives keep their turn on all ranks
            done += [start, finish]
            continue
        needed, free = _apart(done[floor:][::-1], [stmt], path)
        if any(isinstance(s, Lib) and s.op == OP for s in needed):
            raise _entangled(stmt)
        done[floor:] = [*needed[::-1], start, *free[::-1], finish]
        floor += len(needed) + 1
    return done


def _with_slots(block: Sequence[Stmt]) -> list[Stmt]:
    """Every second half says which one it is of those that are under way."""
    going: list[Lib] = []
    done: list[Stmt] = []
    for stmt in block:
        part = stmt.attrs.get(PART) if isinstance(stmt, Lib) else None
        if isinstance(stmt, Lib) and part == START:
            going.append(stmt)
        elif isinstance(stmt, Lib) and part == FINISH:
            slot = next(k for k, one in enumerate(going) if one.ins == stmt.ins[-len(one.ins):])
            del going[slot]
            stmt = replace(stmt, attrs=MappingProxyType({**stmt.attrs, SLOT: slot}))
        done.append(stmt)
    return done


def _entangled(stmt: Lib) -> UnsupportedError:
    return unsupported(stmt.source, "a message that is under way while a collective blocks that it depends on",
                       "wait for it before the collective", "SG107")


def _together(part: Sequence[Stmt], path: Path) -> tuple[list[Stmt], list[Lib], list[Stmt]]:
    """message ; a ; b(received) ; collective   ->   a | message, collective | b"""
    ahead: list[Stmt] = []
    ones: list[Lib] = []
    after: list[Stmt] = []
    for stmt in part:
        if isinstance(stmt, Lib) and (_group_of(stmt) is not None or not ones):
            if any(_meet(stmt, other, path) for other in after):
                raise unsupported(stmt.source, "a collective that may wait for the messages beside it",
                                  "wait for those of one kind first", "SG107")
            ones.append(stmt)
        else:
            (after if any(_meet(stmt, other, path) for other in (*ones, *after)) else ahead).append(stmt)
    return ahead, ones, after


def _spread(before: list[Stmt], ones: list[Lib], after: list[Stmt], path: Path) -> tuple[list[Stmt], int]:
    """The statements around messages, with as many as can between their halves, and where these end; as they are if
    none is worth it."""
    needed, ahead = _apart(before[::-1], ones, path)
    rest, beside = _apart(after, ones, path)
    between = [*ahead[::-1], *beside]
    if len(ones) == 1 and not any(map(_takes_time, between)):
        return [*before, *ones, *after], len(before)
    halves = [_halves(one) for one in ones]
    done = [*needed[::-1], *(start for start, _ in halves), *between, *(finish for _, finish in halves)]
    return [*done, *rest], len(done) - 1


def _apart(block: Iterable[Stmt], ones: Sequence[Lib], path: Path) -> tuple[list[Stmt], list[Stmt]]:
    """Statements that have to stay on their side of messages, and those that may change places with it and them."""
    staying: list[Stmt] = []
    free: list[Stmt] = []
    for stmt in block:
        (staying if any(_meet(stmt, other, path) for other in (*ones, *staying)) else free).append(stmt)
    return staying, free


def _halves(one: Lib) -> tuple[Lib, Lib]:
    """The finish takes what is under way as operands, so that nobody else takes its place in memory."""
    attrs = dict(one.attrs)
    start = Lib(OP, (*received(one), one.outs[-1]), one.ins, MappingProxyType({**attrs, "record": False, PART: START}),
                one.source)
    finish = Lib(OP, one.outs, (*received(one), *one.ins), MappingProxyType({**attrs, PART: FINISH}), one.source)
    return start, finish


def _may_wait(stmt: Stmt) -> TypeGuard[Lib]:
    return isinstance(stmt, Lib) and stmt.op == OP and PART not in stmt.attrs and (
        stmt.attrs["kind"] == EXCHANGE or POSTED in stmt.attrs)


def _stays(stmt: Stmt) -> bool:
    """Whether nothing may change places with a statement: messages stay in turn, and an end of the call is one for all
    that stands before it."""
    inside = list(statements((stmt,)))
    return communicates((stmt,)) or any(
        isinstance(s, While) or isinstance(s, Loop) and s.until is not None or isinstance(s, Lib) and s.op in _FIXED
        for s in inside)


def _takes_time(stmt: Stmt) -> bool:
    if isinstance(stmt, Map):
        trips = [r.trips for r in stmt.domain]
        return bool(trips) and (None in trips or prod(t or 0 for t in trips) >= thresholds().points_beside_messages)
    return isinstance(stmt, (Loop, Lib)) or isinstance(stmt, If) and any(map(_takes_time, (*stmt.then, *stmt.orelse)))


def _meet(first: Stmt, other: Stmt, path: Path) -> bool:
    """Whether one of two statements writes an element that the other one touches, in one iteration of their loops."""
    names = conflicts(first, other) - {ORDER}  # messages keep their turn in any case
    if not names:
        return False
    (mine_read, mine), (others_read, others) = (_accesses(s, path, names) for s in (first, other))
    return any(a.array == b.array and overlap_in(a, b, len(path)) for some, more in (
        (mine, others), (mine, others_read), (others, mine_read)) for a in some for b in more)


def _accesses(stmt: Stmt, path: Path, names: frozenset[str]) -> tuple[Sequence[Access], Sequence[Access]]:
    """What a statement and those inside it read of some arrays, and what they write of them."""
    site = Site(path, 0, 1)
    read, written = ([a for a in found if a.array in names] for found in (reads_of(stmt, site), writes_of(stmt, site)))
    below = (*path, run_range(stmt)) if isinstance(stmt, Loop) else path
    for block in children(stmt):
        for inner in block:
            more, others = _accesses(inner, below, names)
            read, written = [*read, *more], [*written, *others]
    return read, written
