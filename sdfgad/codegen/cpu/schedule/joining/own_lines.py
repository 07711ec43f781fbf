"""Give a map arrays of its own for the lines of a larger array that it reads or adds to."""
from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from math import prod

from sdfgad.analysis.elements.access import always_inside, interval_env
from sdfgad.analysis.elements.cover import is_pointwise
from sdfgad.ir.expr import Expr, Load, Local, call, certain, const, loads, rewrite, walk
from sdfgad.ir.index import Bounds, Ix, ix
from sdfgad.ir.program import Array, Let, Map, Range, Store
from sdfgad.ir.walk import reads, writes
from sdfgad.names import fresh
from sdfgad.thresholds import thresholds


@dataclass(frozen=True)
class Pair:
    """Two maps over the same points, with what has to happen before and after both run together."""

    first: Map
    second: Map
    before: tuple[Map, ...] = ()
    after: tuple[Map, ...] = ()


def collects(stmt: Map, part: Store) -> bool:
    """Whether several points of a map may add to one element."""
    return part.op is not None and not is_pointwise(stmt.domain, part.index)


def add_together(pair: Pair) -> Pair:
    """first: s[j] += f ; second: s[j] += g   ->   first: v = f ; second: s[j] += v + g

    Iterations of a map never read what others of them add to, so nobody looks at the elements in between.
    """
    taken = {p.name for m in (pair.first, pair.second) for p in m.body if isinstance(p, Let)}
    for k, part in enumerate(pair.first.body):
        place = _same_sum(pair, part) if isinstance(part, Store) else None
        other = pair.second.body[place] if place is not None else None
        if not isinstance(part, Store) or place is None or not isinstance(other, Store):
            continue
        held = Let(fresh(f"{part.array}_part", taken), part.expr)
        taken.add(held.name)
        both = replace(other, expr=call("add", Local(held.name, held.expr.dtype), other.expr))
        pair = replace(pair, first=_with(pair.first, k, held), second=_with(pair.second, place, both))
    return pair


def _same_sum(pair: Pair, part: Store) -> int | None:
    """Where the second map adds to the elements to which a part of the first one adds."""
    found = [k for k, p in enumerate(pair.second.body) if isinstance(p, Store) and p.array == part.array]
    if part.op != "+" or len(found) != 1 or not collects(pair.first, part):
        return None
    other = pair.second.body[found[0]]
    same = isinstance(other, Store) and other.op == "+" and other.index == part.index \
        and other.expr.dtype == part.expr.dtype
    return found[0] if same else None


def _with(stmt: Map, k: int, part: Let | Store) -> Map:
    return replace(stmt, body=(*stmt.body[:k], part, *stmt.body[k + 1:]))


class OwnLines:
    """Adds the arrays it makes up to `arrays`."""

    def __init__(self, arrays: dict[str, Array]) -> None:
        self.arrays = arrays

    def apart(self, pair: Pair) -> Pair:
        """map i, j: t[i, j] = x[i, 0] ; map i, j: { x[i, j] = t[i, j] ; y[j] += t[i, j] }, y touched by the first one
        ->   map i: line[i] = x[i, 0] ; map j: sums[j] = 0
             map i, j: t[i, j] = line[i] ; map i, j: { x[i, j] = t[i, j] ; sums[j] += t[i, j] } ; map j: y[j] += sums[j]

        For lines that are much shorter than the maps, of arrays that only the other map touches as a whole.
        """
        for load in tuple(_crossing(pair)):
            pair = self._read_before(pair, load)
        for k, part in enumerate(pair.second.body):
            touched = reads(pair.first) | writes(pair.first)
            if isinstance(part, Store) and part.op == "+" and part.array in touched and collects(pair.second, part):
                pair = self._added_after(pair, k, part)
        return pair

    def _read_before(self, pair: Pair, load: Load) -> Pair:
        line = self._line(pair.first, load.array, load.index)
        if line is None:
            return pair
        name = self._array(f"{load.array}_line", load.array, line)
        own = Load(name, _place(line), load.dtype)

        def change(n: Expr) -> Expr | None:
            return own if n == load else None

        body = tuple(replace(p, expr=rewrite(p.expr, change)) for p in pair.first.body)
        copy = Map(line, (Store(name, own.index, load),), pair.first.source)
        return replace(pair, first=replace(pair.first, body=body), before=(*pair.before, copy))

    def _added_after(self, pair: Pair, k: int, part: Store) -> Pair:
        dtype = self.arrays[part.array].dtype
        line = self._line(pair.second, part.array, part.index)
        if line is None or dtype.kind not in "fc":
            return pair
        name = self._array(f"{part.array}_sums", part.array, line)
        at = _place(line)
        body = (*pair.second.body[:k], replace(part, array=name, index=at), *pair.second.body[k + 1:])
        start = Map(line, (Store(name, at, const(0.0 if dtype.kind == "f" else 0j, dtype)),), pair.second.source)
        end = Map(line, (Store(part.array, part.index, Load(name, at, dtype), "+"),), pair.second.source)
        return replace(pair, second=replace(pair.second, body=body), before=(*pair.before, start),
                       after=(*pair.after, end))

    def _line(self, stmt: Map, array: str, index: tuple[Ix, ...]) -> tuple[Range, ...] | None:
        """The ranges that number the elements of a line; None when it is as large as the map, or of unknown length.

        Where a range depends on another variable, the line holds all that it ever reaches, and what lies between.
        """
        env = interval_env(stmt.domain)
        boxed = {r: _whole(r, env[r.var]) for r in stmt.domain}
        used = [r for r in stmt.domain if any(r.var in i.symbols for i in index)]
        line = tuple(w for w in (boxed[r] for r in used) if w is not None)
        if None in boxed.values() or any(i.elems for i in index) or (line and not is_pointwise(line, index)):
            return None
        shape = self.arrays[array].shape
        # A box also holds what no row reaches.
        if any(r != w for r, w in zip(used, line, strict=True)) and not always_inside(index, shape, interval_env(line)):
            return None
        times = prod(w.trips or 0 for r, w in boxed.items() if r not in used and w is not None)
        return line if times >= thresholds().own_line else None

    def _array(self, stem: str, of: str, line: tuple[Range, ...]) -> str:
        name = fresh(stem, self.arrays)
        self.arrays[name] = Array(name, tuple(r.trips or 0 for r in line), self.arrays[of].dtype)
        return name


def _whole(r: Range, bounds: Bounds) -> Range | None:
    """All the numbers that a range of step one ever runs through."""
    low, high = bounds
    return Range(r.var, ix(low), ix(high + 1)) if r.step == 1 and low is not None and high is not None else None


def _place(line: tuple[Range, ...]) -> tuple[Ix, ...]:
    return tuple(ix(r.var) - r.start for r in line)


def _crossing(pair: Pair) -> Iterator[Load]:
    """Lines the first map reads of arrays that only the second one writes, other than the elements it writes there."""
    targets = {p.array: p.index for p in pair.second.body if isinstance(p, Store) and not collects(pair.second, p)}
    others = (targets.keys() & reads(pair.first)) - writes(pair.first)
    # Which loads are sure to be made takes a walk through all of the map.
    if not any(n.array in others and n.index != targets[n.array] for p in pair.first.body for n in loads(p.expr)):
        return
    found = dict.fromkeys(n for p in pair.first.body for n in walk(p.expr, certain) if isinstance(n, Load))
    for load in found:
        if load.array in others and load.index != targets[load.array]:
            yield load
