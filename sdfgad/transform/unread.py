"""Drop what is stored and never looked at again."""
from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from sdfgad.ir.program import Block, If, Lib, Loop, Map, Program, Stmt, Store, While
from sdfgad.ir.walk import all_reads, children, reads, with_children, writes


def remove_unread_stores(program: Program, keep: Iterable[str]) -> Program:
    """y = f(x) ; x = g(y)   ->   y = f(x), where x is an argument that nobody looks at afterwards

    `keep`: arrays somebody reads after the program.
    """
    return program.but(body=_block(program.body, frozenset(keep)))


def _block(block: Block, live: frozenset[str]) -> Block:
    """The block with what somebody reads; `live`: arrays that are read after it."""
    out: list[Stmt] = []
    for stmt in reversed(block):
        kept = _kept(stmt, live)
        if kept is not None:
            out.append(kept)
            live |= reads(kept) | all_reads(tuple(s for b in children(kept) for s in b))
    return tuple(reversed(out))


def _kept(stmt: Stmt, live: frozenset[str]) -> Stmt | None:
    if isinstance(stmt, (Loop, While, If)):
        # What an iteration stores, the next one may read.
        again = frozenset() if isinstance(stmt, If) else all_reads((stmt,))
        blocks = [_block(b, live | again) for b in children(stmt)]
        return with_children(stmt, blocks) if any(blocks) or isinstance(stmt, While) else None
    if isinstance(stmt, Map):
        body = tuple(p for p in stmt.body if not isinstance(p, Store) or p.array in live)
        whole = len(body) == len(stmt.body) or not live.isdisjoint(writes(stmt)) and _looks_at_own(stmt)
        return stmt if whole else replace(stmt, body=body) if any(isinstance(p, Store) for p in body) else None
    return None if isinstance(stmt, Lib) and live.isdisjoint(writes(stmt)) else stmt


def _looks_at_own(stmt: Map) -> bool:
    """Whether a part of the map may read what an earlier one has stored."""
    plain = replace(stmt, body=tuple(replace(p, op=None) if isinstance(p, Store) else p for p in stmt.body))
    return not writes(stmt).isdisjoint(reads(plain))
