"""The integer program. One row of live bytes per block; a loop picks one mode; the products are made linear.

For items of the top region and of the outermost loops; deeper loops come in as points (`inner`). Variables:
s[i]: item i is stored. r[i, b]: made again before block b. a[i, b]: a copy is alive in b, a <= a before + r, so that
one rebuild serves several blocks and a stored value goes when its last reader has run. z[l, m]: loop l runs in mode m.
x[l, k]: inner loop l runs as its point k. y[g, t] = (group of modes g chosen) * (term t of the record present), by
sum over g of y[g, t] = t and y[g, t] <= sum of z in g, which is the convex hull of the product.

After Jain et al., Checkmate (arXiv:1910.02653); intervals of retention as in Moccasin (arXiv:2304.14463).
"""
from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cache, cached_property
from typing import Any

from sdfgad.checkpoint.highs import pulp
from sdfgad.checkpoint.inner import Point
from sdfgad.checkpoint.modes import STORE_ALL, Mode, Price, offered_modes, price
from sdfgad.checkpoint.schedule import FORWARD, RECOMPUTE, REVERSE, STORE, ScheduledItem, ScheduledLoop, ScheduleProblem
from sdfgad.checkpoint.schedule_plan import Rebuild, SchedulePlan

_Group = tuple[int, int, bool]
LARGEST = 1e4
"""Bytes and seconds are scaled so that typical coefficients are at most this, well within the solver's tolerances."""


class Model:
    """The variables, the rules they obey, and what they come to: `seconds` and the bytes of each block, both scaled."""

    def __init__(self, problem: ScheduleProblem, points: Mapping[str, tuple[Point, ...]]) -> None:
        self.problem, self.points = problem, points
        self.items = tuple(i for i in problem.items if len(problem.chain(i.loop)) <= 1)
        self.byte, self.second = 1.0 / _largest_bytes(problem), 1.0 / _largest_seconds(problem)
        self.rules: list[Any] = []
        self.stored = {i.name: _binary(f"s_{k}") for k, i in enumerate(self.items)}
        self.rebuilt = {(i.name, b): _binary(f"r_{k}_{b}") for k, i in enumerate(self.items)
                        for b in problem.rebuild_blocks(i)}
        self.alive = {(i.name, b): _share(f"a_{k}_{b}") for k, i in enumerate(self.items)
                      for b in problem.span(i.loop, REVERSE)}
        self.mode = {(p.name, m): _binary(f"z_{k}_{j}") for k, p in enumerate(problem.children(None))
                     for j, m in enumerate(offered_modes(p, problem.pins.get(p.name)))}
        self.point = {(name, j): _binary(f"x_{k}_{j}") for k, name in enumerate(sorted(points))
                      for j in range(len(points[name]))}
        self._add_rules()

    def _add_rules(self) -> None:
        for item in self.items:
            self._item_rules(item)
        for loop in self.problem.children(None):
            self.rules.append(_sum(chosen for chosen, _ in self._prices[loop.name]) == 1)
            self.rules += self._product_rules(loop)
        for name, offered in self.points.items():
            self.rules.append(_sum(self.point[name, k] for k in range(len(offered))) == 1)
            for k, point in enumerate(offered):
                self.rules += [self.point[name, k] <= there for need in sorted(point.needs)
                               for there in self._throughout(*need)]

    def _item_rules(self, item: ScheduledItem) -> None:
        """Where copies come from, where they have to be, and what a rebuild reads."""
        stored, pin = self.stored[item.name], self.problem.pins.get(item.name)
        if item.store_only or pin in (STORE, RECOMPUTE):
            self.rules.append(stored == (0 if pin == RECOMPUTE else 1))
        before = 0 if self._stays(item) else stored
        for b in self.problem.span(item.loop, REVERSE):
            alive = self.alive[item.name, b]
            made = self.rebuilt.get((item.name, b))
            self.rules.append(alive <= (before if made is None else before + made))
            if made is not None and item.recipe is not None:
                # No rebuild without a copy, and none beside a record that is there anyway.
                self.rules.append(made <= alive)
                if self._stays(item):
                    self.rules.append(made + stored <= 1)
                self.rules += [made <= there for source in item.recipe.items for there in self._throughout(source, b)]
            before = alive
        self.rules += [there >= 1 for b in item.needed for there in self._throughout(item.name, b)]

    def _stays(self, item: ScheduledItem) -> bool:
        """Whether a stored version is there throughout the reverse: in records of iterations, or taking no bytes."""
        return item.loop is not None or item.free

    def _there(self, name: str, block: int) -> Any:
        """1 when the item can be read in a block."""
        alive = self.alive[name, block]
        return self.stored[name] + alive if self._stays(self.problem.item[name]) else alive

    def _throughout(self, name: str, block: int) -> list[Any]:
        """1 when the item can be read in a block: throughout the loop, when the block lies in a loop inside its region,
        since every iteration reads it."""
        p = self.problem
        region = p.item[name].loop
        loops = [inner.name for inner in p.children(region) if block in p.span(inner.name, REVERSE)]
        return [self._there(name, b) for b in (p.span(loops[0], REVERSE) if loops else (block,))]

    # Loops: the bytes they keep.

    @cached_property
    def _prices(self) -> dict[str, list[tuple[Any, Price]]]:
        """Each outermost loop -> its modes, as variables, and what they cost."""
        return {p.name: [(chosen, price(mode, p)) for (name, mode), chosen in self.mode.items() if name == p.name]
                for p in self.problem.children(None)}

    def _terms(self, loop: ScheduledLoop) -> list[tuple[str, Any, tuple[float, float]]]:
        """What may be part of the record of one iteration: (name, variable, bytes of it among the records of a part of
        the loop, and among those of all of it)."""
        items = [(v.name, v, (i.stored_within(0), i.stored_within(1))) for i in self.items if i.loop == loop.name
                 for v in (self.stored[i.name],)]
        inner = [(v.name, v, (point.held, point.held_inside)) for (name, k), v in self.point.items()
                 if self.problem.loop[name].parent == loop.name for point in (self.points[name][k],)]
        return [term for term in (*items, *inner) if term[2][0]]

    @cached_property
    def _products(self) -> dict[tuple[str, _Group, str], Any]:
        """y: for each group of modes that count records alike, and each term of the record."""
        return {(p.name, group, term): _share(f"y_{k}_{group[0]}_{group[1]}_{int(group[2])}_{term}")
                for k, p in enumerate(self.problem.children(None))
                for group in self._groups(p) for term, _, _ in self._terms(p)}

    def _groups(self, loop: ScheduledLoop) -> dict[_Group, list[Any]]:
        """(records held, records working, the loop is wholly recorded) -> the modes of which this is true."""
        groups: dict[_Group, list[Any]] = {}
        for (name, mode), chosen in self.mode.items():
            if name == loop.name:
                cost = price(mode, loop)
                group = (cost.held_records, cost.working_records, mode.kind == STORE_ALL)
                groups.setdefault(group, []).append(chosen)
        return groups

    def _product_rules(self, loop: ScheduledLoop) -> Iterator[Any]:
        groups = self._groups(loop)
        for name, present, _ in self._terms(loop):
            yield _sum(self._products[loop.name, g, name] for g in groups) == present
            for g, modes in groups.items():
                yield self._products[loop.name, g, name] <= _sum(modes)

    @cached_property
    def held(self) -> dict[str, Any]:
        """Scaled bytes of each outermost loop from the forward sweep to the end of its reverse."""
        return {loop.name: self._held(loop) for loop in self.problem.children(None)}

    def _held(self, loop: ScheduledLoop) -> Any:
        fixed = [(cost.snapshots * loop.state_bytes + cost.table) * self.byte * chosen
                 for chosen, cost in self._prices[loop.name]]
        return _sum([*fixed, *self._records(loop, 0)])

    def _records(self, loop: ScheduledLoop, which: int) -> list[Any]:
        """Records held (which = 0) or working (1)."""
        return [group[which] * sizes[group[2]] * self.byte * self._products[loop.name, group, name]
                for group in self._groups(loop) if group[which] for name, _, sizes in self._terms(loop)]

    # What it all comes to.

    @cached_property
    def bytes_in(self) -> tuple[Any, ...]:
        """Scaled bytes alive in each block."""
        return tuple(self._bytes_in(b) for b in range(len(self.problem.blocks)))

    def _bytes_in(self, block: int) -> Any:
        p = self.problem
        parts = [p.blocks[block].base_bytes * self.byte, *self._values_in(block)]
        for loop in p.children(None):
            if p.span(loop.name, FORWARD)[0] <= block <= p.span(loop.name, REVERSE)[-1]:
                parts.append(self.held[loop.name])
            if block in p.span(loop.name, REVERSE):
                parts += self._records(loop, 1)
        parts += [self.points[name][k].working[block] * self.byte * v for (name, k), v in self.point.items()
                  if self.points[name][k].working.get(block)]
        return _sum(parts)

    def _values_in(self, block: int) -> Iterator[Any]:
        forward = self.problem.blocks[block].phase == FORWARD
        for item in self.items:
            if forward and not self._stays(item) and self._first_stored(item) <= block:
                yield item.bytes * self.byte * self.stored[item.name]
            if (item.name, block) in self.alive:
                yield item.bytes * self.byte * self.alive[item.name, block]
            if (item.name, block) in self.rebuilt and item.recipe is not None:
                yield item.recipe.scratch * self.byte * self.rebuilt[item.name, block]

    def _first_stored(self, item: ScheduledItem) -> int:
        """The block that makes the item; of a loop inside its region the first, for later iterations have it there."""
        p = self.problem
        spans = (p.span(inner.name, FORWARD) for inner in p.children(item.loop))
        return next((span[0] for span in spans if item.born in span), item.born)

    @cached_property
    def seconds(self) -> Any:
        """Scaled extra time."""
        p, parts = self.problem, []
        for item in self.items:
            parts.append(item.store_seconds * p.visits(item.loop) * self.second * self.stored[item.name])
        for (name, _), made in self.rebuilt.items():
            item = p.item[name]
            parts.append((item.recipe.seconds if item.recipe else 0) * p.visits(item.loop) * self.second * made)
        for loop in p.children(None):
            parts += [cost.seconds * self.second * chosen for chosen, cost in self._prices[loop.name]]
        for (name, k), chosen in self.point.items():
            parts.append(self.points[name][k].seconds * p.visits(p.loop[name].parent) * self.second * chosen)
        return _sum(parts)

    def plan(self, values: Mapping[str, float]) -> SchedulePlan:
        """The plan that a solution stands for."""
        def on(variable: Any) -> bool:
            return values.get(variable.name, 0.0) > 0.5
        stored = {name for name, v in self.stored.items() if on(v)}
        rebuilds = [Rebuild(*key) for key, v in self.rebuilt.items() if on(v)]
        modes: dict[str, Mode] = {name: mode for (name, mode), v in self.mode.items() if on(v)}
        for (name, k), v in self.point.items():
            if on(v):
                inner = self.points[name][k].plan
                stored |= inner.stored
                rebuilds += inner.rebuilds
                modes |= inner.modes
        return SchedulePlan(self.problem, frozenset(stored), tuple(sorted(rebuilds)), modes)

    def start(self, plan: SchedulePlan) -> dict[str, float]:
        """A plan as values of the integer variables; empty when an inner loop offers no such point."""
        if self.points or any((name, m) not in self.mode for name, m in plan.modes.items()):
            return {}
        made = {(r.item, r.block) for r in plan.rebuilds}
        return {**{v.name: float(n in plan.stored) for n, v in self.stored.items()},
                **{v.name: float(key in made) for key, v in self.rebuilt.items()},
                **{v.name: float(plan.modes[n] == m) for (n, m), v in self.mode.items()}}


def _largest_bytes(problem: ScheduleProblem) -> float:
    sizes = [i.bytes for i in problem.items] + [p.state_bytes for p in problem.loops]
    return max(1.0, *(b.base_bytes for b in problem.blocks), *sizes) / LARGEST


def _largest_seconds(problem: ScheduleProblem) -> float:
    """Of one sweep; modes that run a loop many times may well be dearer."""
    rebuilds = [i.recipe.seconds * problem.visits(i.loop) for i in problem.items if i.recipe]
    stores = [i.store_seconds * problem.visits(i.loop) for i in problem.items]
    return max((1e-12, *rebuilds, *stores, *(p.seconds * problem.visits(p.name) for p in problem.loops))) / LARGEST


def _binary(name: str) -> Any:
    return _maker().add_variable(name, cat="Binary")


def _share(name: str) -> Any:
    return _maker().add_variable(name, 0, 1)


@cache
def _maker() -> Any:
    """PuLP wants variables made by a problem; each question is a problem of its own about the same variables."""
    return pulp().LpProblem("variables")


def _sum(parts: Any) -> Any:
    return pulp().lpSum(parts)
