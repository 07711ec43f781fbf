"""One array for each content of an array that is replaced as a whole: no copy has to keep what was in it before."""
from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from sdfgad.analysis.elements.cover import covers, replaced
from sdfgad.analysis.formula import inverse
from sdfgad.ir.expr import Expr, Load, rewrite
from sdfgad.ir.program import Array, Map, Program, Stmt, Store
from sdfgad.ir.walk import all_reads, all_writes, in_indices, reads, writes
from sdfgad.names import fresh


def rename_versions(program: Program) -> Program:
    """y[i] = f(i) ; t[i] = y[p(i)] ; y[i] = g(t[q(i)])   ->   y_1[i] = f(i) ; y[i] = g(y_1[p(q(i))])

    For copies of whole temporaries outside loops, when what is copied is replaced as a whole before and, if ever again,
    after the copy is made.
    """
    fixed = program.live_out
    position = 0
    while position < len(program.body):
        made = _without_copy(program, position, fixed)
        program, position = (made, position) if made is not None else (program, position + 1)
    return program


@dataclass(frozen=True)
class _VersionCopy:
    """`store` copies `load`, which holds what statement `start` made until statement `stop` makes it anew."""

    store: Store
    load: Load
    start: int
    stop: int


def _without_copy(program: Program, position: int, keep: frozenset[str]) -> Program | None:
    """The program without the copy at a position; None where none is, or where it is needed."""
    found = _copy(program, position, keep)
    if found is None:
        return None
    name, stmt = found.store.array, program.body[position]
    place = inverse(stmt, found.store) if isinstance(stmt, Map) else None
    if place is None or not _behind(program.body, position, name):
        return None
    old = program.arrays[found.load.array]
    version = replace(old, name=fresh(old.name, program.arrays)) if found.stop < len(program.body) else old

    def direct(n: Expr) -> Expr | None:
        if not isinstance(n, Load) or n.array != name:
            return None
        moved = {var: n.index[k] - offset for var, (k, offset) in place.items()}
        return Load(version.name, tuple(i.subs(moved) for i in found.load.index), n.dtype)

    body = [_renamed(s, old.name, version.name) if found.start <= k < found.stop else s
            for k, s in enumerate(program.body)]
    body = [_reading(s, direct) if isinstance(s, Map) and name in reads(s) else s for s in body]
    del body[position]
    arrays = {**{n: a for n, a in program.arrays.items() if n != name}, version.name: version}
    return program.but(body=tuple(body), arrays=arrays)


def _copy(program: Program, position: int, keep: frozenset[str]) -> _VersionCopy | None:
    """The copy at a position, when the copied array is one that may have several names."""
    body, stmt = program.body, program.body[position]
    part = stmt.body[0] if isinstance(stmt, Map) and len(stmt.body) == 1 else None
    if not isinstance(stmt, Map) or not isinstance(part, Store) or not isinstance(part.expr, Load):
        return None
    here, there = program.arrays[part.array], program.arrays[part.expr.array]
    if here.size != there.size or here.dtype != there.dtype or not covers(stmt, part, here):
        return None
    if any(not _temporary(a, keep) for a in (here, there)) or any(i.elems for i in part.expr.index):
        return None
    makers = [k for k, s in enumerate(body) if there.name in all_writes((s,))]
    start = max((k for k in makers if k < position), default=None)
    stop = min((k for k in makers if k > position), default=len(body))
    if start is None or not all(_replaces(body[k], there, program) for k in (start, stop) if k < len(body)):
        return None
    touching = [s for s in body[start:stop] if there.name in all_reads((s,)) | all_writes((s,))]
    if not all(_looks(s, there.name) for s in touching):
        return None
    return _VersionCopy(part, part.expr, start, stop)


def _temporary(array: Array, keep: frozenset[str]) -> bool:
    return array.role == "transient" and bool(array.shape) and array.packing is None and array.name not in keep


def _replaces(stmt: Stmt, array: Array, program: Program) -> bool:
    """Whether a map makes all of an array, of nothing that was in it."""
    return isinstance(stmt, Map) and array.name in replaced(stmt, program.arrays) and array.name not in reads(stmt)


def _behind(body: Sequence[Stmt], position: int, name: str) -> bool:
    """Whether all readers of a copy are maps that stand behind it, and its elements decide no place."""
    users = [(k, s) for k, s in enumerate(body) if name in all_reads((s,)) | all_writes((s,)) and k != position]
    return all(k > position and _looks(s, name) and name not in writes(s) for k, s in users)


def _looks(stmt: Stmt, name: str) -> bool:
    """Whether a map reads or writes an array otherwise than to find a place."""
    return isinstance(stmt, Map) and not in_indices(stmt, name)


def _reading(stmt: Map, change: Callable[[Expr], Expr | None]) -> Map:
    body = (replace(p, expr=rewrite(p.expr, change)) for p in stmt.body)
    return replace(stmt, body=tuple(body))


def _renamed(stmt: Stmt, old: str, new: str) -> Stmt:
    """The statement with another array in the place of one."""
    if not isinstance(stmt, Map) or old == new:
        return stmt
    made = _reading(stmt, lambda n: replace(n, array=new) if isinstance(n, Load) and n.array == old else None)
    return replace(made, body=tuple(replace(p, array=new) if isinstance(p, Store) and p.array == old else p
                                    for p in made.body))
