"""Whether a value is the same on all ranks, as far as one rank can tell.

A result of a collective that all ranks get is the same everywhere; so is what is computed from such results and from
literals by the same statements. A rank finds out whether a value depends on numbers of its own, on such results, or on
both, and makes a fingerprint of the statements, which the ranks then compare. An abstract interpretation in program
order: Cousot and Cousot, Abstract interpretation (POPL 1977).
"""
from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from sdfgad.analysis.elements.cover import covers, exposed
from sdfgad.ir.messages import EXCHANGE, NUMBERS, OF_RANK, is_message, messages, sent
from sdfgad.ir.program import Block, If, Lib, Loop, Map, Program, Stmt, Store, View, While
from sdfgad.ir.text import lines
from sdfgad.ir.walk import all_writes, reads

TO_ALL = frozenset({"allreduce", "bcast", "allgather", "allgatherv"})
"""Collectives whose result every rank gets."""
MOST_PASSES = 12
"""A loop that hands values on through more arrays than this is not looked into."""
_NAME = re.compile(r"[A-Za-z_]\w*")


@dataclass(frozen=True)
class Provenance:
    """What a value depends on. own: numbers of this rank. common: results of collectives. mark: of the statements."""

    own: bool = False
    common: bool = False
    mark: str = ""

    def joined(self, *others: Provenance) -> Provenance:
        """What depends on all of these."""
        found = (self, *others)
        return Provenance(any(o.own for o in found), any(o.common for o in found), _mark(*(o.mark for o in found)))


LITERAL = Provenance()
State = dict[str, Provenance]


def origin_of(program: Program, outputs: Iterable[View], whole: frozenset[int]) -> Provenance:
    """What the outputs of a program depend on. whole: handles of communicators of all ranks that call it."""
    walk = _Origins(program, whole)
    state = walk.start()
    walk.block(program.body, state, LITERAL)
    found = [state.get(v.array, LITERAL) for v in outputs]
    return LITERAL.joined(*found)


def _mark(*texts: str) -> str:
    return hashlib.blake2b("\n".join(texts).encode(), digest_size=7).hexdigest()


@dataclass
class _Origins:
    program: Program
    whole: frozenset[int]
    place: dict[int, int] = field(default_factory=dict)
    """Collectives of all ranks by identity, with their number: the same on each rank."""

    def __post_init__(self) -> None:
        of_all = (s for s in messages(self.program.body)
                  if s.attrs["kind"] != EXCHANGE and self._handle(s) in self.whole)
        self.place = {id(s): k for k, s in enumerate(of_all)}

    def _handle(self, stmt: Lib) -> int | None:
        numbers = self.program.constants.get(stmt.ins[len(sent(stmt))].array)
        return None if numbers is None else int(numbers[0])

    def start(self) -> State:
        """Arguments are a rank's own, and so is what may change around the program."""
        program = self.program
        state = {n: Provenance(own=True) for n in (*program.arguments, *program.live) if
                 program.arrays[n].label != NUMBERS}
        for name, value in program.constants.items():
            state.setdefault(name, Provenance(mark=_mark(value.tobytes().hex(), str(value.dtype))))
        return state

    def block(self, block: Block, state: State, around: Provenance) -> None:
        """Run a block on what is known; around: what decides whether it runs."""
        for stmt in block:
            if isinstance(stmt, If):
                self._branch(stmt, state, around)
            elif isinstance(stmt, (Loop, While)):
                self._loop(stmt, state, around)
            elif is_message(stmt):
                self._message(stmt, state, around)
            else:
                self._computation(stmt, state, around)

    def _computation(self, stmt: Stmt, state: State, around: Provenance) -> None:
        names = reads(stmt)
        made = Provenance(mark=self._text(stmt, state)).joined(around, *(state.get(n, LITERAL) for n in sorted(names)))
        whole = {p.array for p in stmt.body if isinstance(p, Store) and not p.op and covers(
            stmt, p, self.program.arrays[p.array])} if isinstance(stmt, Map) else set()
        for name in all_writes((stmt,)):
            state[name] = made if name in whole else state.get(name, LITERAL).joined(made)

    def _message(self, stmt: Lib, state: State, around: Provenance) -> None:
        shared = stmt.attrs["kind"] in TO_ALL and id(stmt) in self.place and not stmt.attrs.get(OF_RANK)
        made = Provenance(False, True, f"collective {self.place[id(stmt)]}") if shared else Provenance(own=True)
        # The root of a broadcast has what the others get.
        views = (*stmt.outs, *(sent(stmt) if shared and stmt.attrs["kind"] == "bcast" else ()))
        for view in views:
            known = () if view == self.program.arrays[view.array].whole else (state.get(view.array, LITERAL),)
            state[view.array] = made.joined(around, *known)

    def _branch(self, stmt: If, state: State, around: Provenance) -> None:
        inside = around.joined(*(state.get(n, LITERAL) for n in sorted(reads(stmt))),
                               Provenance(mark=self._text(If(stmt.cond, (), ()), state)))
        then, other = dict(state), dict(state)
        self.block(stmt.then, then, inside)
        self.block(stmt.orelse, other, inside)
        for name in sorted(all_writes((stmt,))):
            state[name] = inside.joined(then.get(name, LITERAL), other.get(name, LITERAL))

    def _loop(self, stmt: Loop | While, state: State, around: Provenance) -> None:
        """Once for each array that may hand something on to the next iteration. The first iteration may be the last:
        what an array has before the loop counts at the beginning of each."""
        written = sorted(all_writes((stmt,)))
        entry, handed = dict(state), sorted(exposed((stmt,), self.program.arrays).intersection(written))
        passes = 1 + sum(1 for n in handed if not entry.get(n, LITERAL).own)
        for _ in range(min(passes, MOST_PASSES)):
            state.update((n, entry.get(n, LITERAL).joined(state.get(n, LITERAL))) for n in handed)
            decides = around.joined(*(state.get(n, LITERAL) for n in sorted(reads(stmt))),
                                    Provenance(mark=self._text(_empty(stmt), state)))
            self.block(stmt.body, state, decides)
        runs = isinstance(stmt, Loop) and stmt.until is None and (stmt.range.trips or 0) > 0
        for name in written:
            state[name] = state[name] if runs else state[name].joined(entry.get(name, LITERAL))
            if passes > MOST_PASSES and not state[name].own:
                state[name] = Provenance(True, True)

    def _text(self, stmt: Stmt, state: Mapping[str, Provenance]) -> str:
        """The statement with what arrays hold in place of their names, which may differ from rank to rank."""
        arrays = self.program.arrays

        def known(found: re.Match[str]) -> str:
            name = found.group()
            return f"<{state[name].mark if name in state else ''}>" if name in arrays else name

        return _NAME.sub(known, "\n".join(lines((stmt,))))


def _empty(stmt: Loop | While) -> Stmt:
    return Loop(stmt.range, ()) if isinstance(stmt, Loop) else While(stmt.flag, (), "")
