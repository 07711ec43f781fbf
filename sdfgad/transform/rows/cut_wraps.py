"""Rows of periodic stencils in pieces that need no remainders."""
from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from sdfgad.analysis.access import interval_env
from sdfgad.ir.index import Atom, Bounds, Ix, Mod, ix
from sdfgad.ir.program import Block, Map, Program, Range, Stmt
from sdfgad.ir.walk import map_stmt_indices, rebuild
from sdfgad.thresholds import thresholds


def cut_wraps(program: Program) -> Program:
    """map i, j = 0:n: y[i, j] = x[i, mod(j - 1, n)]
    ->   map i, j = 0:1: y[i, j] = x[i, j + n - 1] ; map i, j = 1:n: y[i, j] = x[i, j - 1]

    Only rows, which are what the innermost variable runs through: a remainder of the other variables is found once for
    each row.
    """
    return program.but(body=rebuild(program.body, _pieces))


def _pieces(stmt: Stmt) -> Block:
    """One map for each part of the rows in which no remainder begins afresh."""
    if not isinstance(stmt, Map) or not stmt.domain:
        return (stmt,)
    row = stmt.domain[-1]
    first, last = row.start.const, row.stop.const
    if row.step != 1 or first is None or last is None or last - first < thresholds().wrapped_row:
        return (stmt,)
    remainders = _remainders(stmt, row.var)
    ends = [first, *sorted({c for atom in remainders for c in _restarts(atom, row.var, first, last)}), last]
    if not remainders or len(ends) > thresholds().wrap_pieces + 1:
        return (stmt,)
    return tuple(_piece(stmt, replace(row, start=ix(a), stop=ix(b))) for a, b in zip(ends, ends[1:], strict=False))


def _piece(stmt: Map, row: Range) -> Stmt:
    domain = (*stmt.domain[:-1], row)
    env = interval_env(domain)
    return map_stmt_indices(replace(stmt, domain=domain), lambda i: _settled(i, row.var, env))


def _settled(i: Ix, var: str, env: dict[str, Bounds]) -> Ix:
    """An index without the remainders of a variable that its bounds decide."""
    return i.simplify(env) if var in i.symbols else i


def _remainders(stmt: Map, var: str) -> list[Mod]:
    """The remainders in the indices of a map that a variable decides alone."""
    found: dict[Mod, None] = {}

    def note(i: Ix) -> Ix:
        found.update(dict.fromkeys(a for a in _atoms(i) if isinstance(a, Mod) and a.parts[0].symbols == {var}))
        return i

    map_stmt_indices(stmt, note)
    return list(found)


def _atoms(i: Ix) -> Iterator[Atom]:
    """The atoms of an index and of their parts."""
    for atom in i.atoms:
        yield atom
        if not isinstance(atom, str):
            for part in atom.parts:
                yield from _atoms(part)


def _restarts(atom: Mod, var: str, first: int, last: int) -> Sequence[int]:
    """The values inside a row, but for its first, at which a remainder of `var + c` or `c - var` begins afresh."""
    inner, divisor = atom.parts[0], atom.parts[1].const
    sign = inner.coefficient(var)
    if divisor is None or divisor <= 0 or sign not in (1, -1):
        return ()
    rest = (inner - ix(var) * sign).const
    if rest is None:
        return ()
    start = -rest if sign == 1 else rest + 1  # here the remainder is 0, or the first after 0
    return range(first + 1 + (start - first - 1) % divisor, last, divisor)
