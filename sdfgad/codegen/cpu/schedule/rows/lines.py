"""Lines of neighbours: what each row of a map reads again, or adds to, at elements that lie apart in memory."""
from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from math import prod

from sdfgad.analysis.elements.access import always_inside, interval_env
from sdfgad.analysis.elements.cover import is_pointwise
from sdfgad.analysis.loops.rows import points, stride, touches
from sdfgad.ir import algebra
from sdfgad.ir.expr import Expr, Load, loads, rewrite
from sdfgad.ir.index import Bounds, Ix, ix
from sdfgad.ir.program import Array, Block, Let, Loop, Map, Program, Range, Stmt, Store
from sdfgad.ir.walk import all_writes, children, with_children, writes
from sdfgad.names import fresh
from sdfgad.thresholds import thresholds

Path = tuple[Range, ...]
Key = tuple[str, tuple[Ix, ...], Bounds]


def line_up(program: Program) -> Program:
    """map i, j: { y[i, j] = x[j, 2] - x[i, 2] ; z[j, 1] += x[j, 2] }
    ->   map j: line[j] = x[j, 2] ; map j: sums[j] = 0
         map i, j: { y[i, j] = line[j] - x[i, 2] ; sums[j] += line[j] } ; map j: z[j, 1] += sums[j]

    A vector is loaded at once where its elements are neighbours. For lines along a variable that moves everything else
    by one element, or not at all. A line is made once for the statements of a block that read it.
    """
    work = _Lines(dict(program.arrays))
    body = work.block(program.body, ())
    return program.but(body=body, arrays=work.arrays) if body != program.body else program


@dataclass(frozen=True)
class _Along:
    """The variable of a map along which lines run, with all its values, and what lies apart."""

    range: Range
    reads: frozenset[Load]
    sums: frozenset[int]

    @property
    def number(self) -> Ix:
        return ix(self.range.var) - self.range.start


class _Lines:
    def __init__(self, arrays: dict[str, Array]) -> None:
        self.arrays = arrays

    def block(self, block: Block, path: Path) -> Block:
        """The block with its lines. known: those made before a statement that still hold what they were made of."""
        known: dict[Key, str] = {}
        out: list[Stmt] = []
        for stmt in block:
            if isinstance(stmt, Map):
                out += self.map(stmt, path, known)
            elif isinstance(stmt, Loop) and stmt.parallel:
                out.append(stmt)
            else:
                inner = (*path, stmt.range) if isinstance(stmt, Loop) else path
                out.append(with_children(stmt, [self.block(b, inner) for b in children(stmt)]))
            changed = all_writes((stmt,))
            known = {key: line for key, line in known.items() if key[0] not in changed}
        return tuple(out)

    def map(self, stmt: Map, path: Path, known: dict[Key, str]) -> list[Stmt]:
        along = self._along(stmt, path) if points(stmt) >= thresholds().lined_up and len(stmt.domain) > 1 else None
        if along is None:
            return [stmt]
        before: list[Stmt] = []
        table: dict[Expr, Expr] = {n: self._read(n, along, known, before) for n in sorted(along.reads, key=str)}
        body = [replace(p, expr=rewrite(p.expr, table.get)) for p in stmt.body]
        after: list[Stmt] = []
        for k in along.sums:
            body[k] = self._sums(body[k], along, before, after)
        return [*before, replace(stmt, body=tuple(body)), *after]

    def _read(self, load: Load, along: _Along, known: dict[Key, str], before: list[Stmt]) -> Load:
        r = along.range
        key = load.array, tuple(i.subs({r.var: ix("along")}) for i in load.index), (r.start.const, r.stop.const)
        if key not in known:
            known[key] = self._array(f"{load.array}_line", load.array, r)
            before.append(Map((r,), (Store(known[key], (along.number,), load),)))
        return Load(known[key], (along.number,), load.dtype)

    def _sums(self, part: Let | Store, along: _Along, before: list[Stmt], after: list[Stmt]) -> Store:
        if not isinstance(part, Store):
            raise TypeError(f"{part!r} adds to nothing")
        name, dtype = self._array(f"{part.array}_sums", part.array, along.range), self.arrays[part.array].dtype
        place = (along.number,)
        before.append(Map((along.range,), (Store(name, place, algebra.zero(dtype)),)))
        after.append(Map((along.range,), (replace(part, expr=Load(name, place, dtype)),)))
        return replace(part, array=name, index=place)

    def _array(self, stem: str, of: str, r: Range) -> str:
        name = fresh(stem, self.arrays)
        self.arrays[name] = Array(name, (r.trips or 0,), self.arrays[of].dtype)
        return name

    def _along(self, stmt: Map, path: Path) -> _Along | None:
        """Lines along the last variable that is as good for all the rest."""
        env = interval_env((*path, *stmt.domain))
        for r in reversed(stmt.domain):
            low, high = env[r.var]
            rows = [o.trips for o in stmt.domain if o is not r]
            fewest = thresholds().rows_per_line
            if r.step != 1 or low is None or high is None or prod(n or fewest for n in rows) < fewest:
                continue
            apart = self._apart(stmt, Range(r.var, ix(low), ix(high + 1)), env)
            if apart is not None and (apart.reads or apart.sums):
                return apart
        return None

    def _apart(self, stmt: Map, r: Range, env: Mapping[str, Bounds]) -> _Along | None:
        """What lies apart along a variable; None when not all of that can be brought into lines."""
        others = {o.var for o in stmt.domain} - {r.var}
        reads: set[Load] = set()
        sums: set[int] = set()
        far = {(t.array, t.index) for t in touches(stmt) if self._is_far(t.array, t.index, r.var)}
        for k, part in enumerate(stmt.body):
            reads |= {n for n in loads(part.expr) if (n.array, n.index) in far}
            if isinstance(part, Store) and (part.array, part.index) in far:
                sums.add(k)
        held = {(n.array, n.index) for n in reads} | {(p.array, p.index) for k in sums for p in [stmt.body[k]]
                                                      if isinstance(p, Store)}
        fits = held == far and all(self._is_line(n.array, n.index, r, others, env) for n in reads) and \
            writes(stmt).isdisjoint(n.array for n in reads) and all(self._adds(stmt, k, r, others, env) for k in sums)
        return _Along(r, frozenset(reads), frozenset(sums)) if fits else None

    def _is_far(self, name: str, index: tuple[Ix, ...], var: str) -> bool:
        step = stride(self.arrays[name], index, var)
        return step is None or abs(step) > 1

    def _is_line(self, name: str, index: tuple[Ix, ...], r: Range, others: set[str],
                 env: Mapping[str, Bounds]) -> bool:
        """Whether an access has one element for each value of the variable, all of them inside the array."""
        array = self.arrays[name]
        if array.packing or array.role == "tape" or not is_pointwise((r,), index):
            return False
        return all(others.isdisjoint(i.symbols) and not i.elems for i in index) and \
            always_inside(index, array.shape, env)

    def _adds(self, stmt: Map, k: int, r: Range, others: set[str], env: Mapping[str, Bounds]) -> bool:
        """Whether a part adds to a line that no other part looks at, and rounding is the same in the line."""
        part = stmt.body[k]
        return isinstance(part, Store) and part.op == "+" and self.arrays[part.array].dtype.kind in "fc" and \
            sum(t.array == part.array for t in touches(stmt)) == 1 and \
            sum(isinstance(p, Store) and p.array == part.array for p in stmt.body) == 1 and \
            self._is_line(part.array, part.index, r, others, env)
