"""An inner loop as a problem of its own, and the points it offers to the loop around it."""
from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace

from sdfgad.checkpoint.schedule import FORWARD, REVERSE, Recomputation, ScheduledItem, ScheduledLoop, ScheduleProblem
from sdfgad.checkpoint.schedule_plan import Rebuild, SchedulePlan
from sdfgad.checkpoint.verify import verify


@dataclass(frozen=True)
class Point:
    """One way to run an inner loop. held, seconds: of one run; held_inside: where the loop around it is wholly
    recorded, which lets records lie closer. working: bytes per reverse block of the loop.

    needs: (item, block) of outer items its rebuilds read. plan: the decisions, in the blocks of the outer problem.
    """

    held: int
    held_inside: int
    working: Mapping[int, int]
    seconds: float
    needs: frozenset[tuple[str, int]]
    plan: SchedulePlan

    def beats(self, other: Point) -> bool:
        """No worse in any respect."""
        return (self.held <= other.held and self.held_inside <= other.held_inside
                and self.seconds <= other.seconds and self.needs <= other.needs
                and all(size <= other.working[b] for b, size in self.working.items()))

    @property
    def most(self) -> int:
        """Bytes one run takes where it takes most."""
        return self.held + max(self.working.values())


def inside(problem: ScheduleProblem, loop: str) -> frozenset[str]:
    """A loop and all loops inside it."""
    return frozenset(p.name for p in problem.loops if loop in problem.chain(p.name))


def reads_outer_items(problem: ScheduleProblem, loop: str) -> bool:
    """Whether some value inside is made from a value of an outer region."""
    family = inside(problem, loop)
    return any(problem.item[source].loop not in family for i in problem.items
               if i.loop in family and i.recipe for source in i.recipe.items)


def inner_problem(problem: ScheduleProblem, loop: str, outer_there: bool) -> ScheduleProblem:
    """One run of an inner loop. outer_there: outer items that recipes read are there, or none of them is."""
    family = inside(problem, loop)
    blocks = _blocks(problem, loop)
    place = {b: k for k, b in enumerate(blocks)}
    loops = tuple(_outermost(p) if p.name == loop else p for p in problem.loops if p.name in family)
    items = tuple(_moved(problem, i, place, family, outer_there) for i in problem.items if i.loop in family)
    names = family | {i.name for i in items}
    pins = {n: pin for n, pin in problem.pins.items() if n in names}
    return ScheduleProblem(loop, tuple(problem.blocks[b] for b in blocks), items, loops, pins)


def _blocks(problem: ScheduleProblem, loop: str) -> tuple[int, ...]:
    return problem.span(loop, FORWARD) + problem.span(loop, REVERSE)


def _outermost(loop: ScheduledLoop) -> ScheduledLoop:
    return replace(loop, parent=None)


def _moved(problem: ScheduleProblem, item: ScheduledItem, place: Mapping[int, int], family: frozenset[str],
           outer_there: bool) -> ScheduledItem:
    """The item with blocks counted in the inner problem."""
    recipe = item.recipe
    if recipe is not None:
        own = tuple(n for n in recipe.items if problem.item[n].loop in family)
        intact = {a: tuple(place[b] for b in blocks if b in place) for a, blocks in recipe.intact.items()}
        recipe = replace(recipe, items=own, intact=intact) if outer_there or own == recipe.items else None
    return replace(item, born=place[item.born], needed=tuple(place[b] for b in item.needed), recipe=recipe)


def wholly_recorded_around(inner: ScheduleProblem) -> ScheduleProblem:
    """The inner problem where the loop around is wholly recorded, which lets records lie closer together."""
    return replace(inner, items=tuple(replace(i, packed=i.packed[1:]) if len(i.packed) > 1 else i
                                      for i in inner.items))


def point_of(problem: ScheduleProblem, loop: str, inner: ScheduleProblem, plan: SchedulePlan) -> Point:
    """What a plan for an inner problem means for the problem around it."""
    blocks = _blocks(problem, loop)
    verdict = verify(inner, plan)
    held, held_inside = verdict.held[loop], verify(wholly_recorded_around(inner), plan).held[loop]
    working = {b: verdict.timeline[k] - inner.blocks[k].base_bytes - held for k, b in enumerate(blocks)
               if inner.blocks[k].phase == REVERSE}
    rebuilds = tuple(Rebuild(r.item, blocks[r.block]) for r in plan.rebuilds)
    family = inside(problem, loop)
    needs = frozenset((source, r.block) for r in rebuilds for source in _outer_sources(problem, r, family))
    return Point(held, held_inside, working, plan.seconds, needs, replace(plan, rebuilds=rebuilds))


def _outer_sources(problem: ScheduleProblem, rebuild: Rebuild, family: frozenset[str]) -> tuple[str, ...]:
    recipe = problem.item[rebuild.item].recipe
    assert isinstance(recipe, Recomputation), "a plan that makes a value without a recipe"
    return tuple(n for n in recipe.items if problem.item[n].loop not in family)


def best_points(points: Collection[Point], count: int) -> tuple[Point, ...]:
    """The points that no other beats; of too many, the extremes and an even choice in between, by bytes held."""
    kept: list[Point] = []
    for point in sorted(points, key=lambda p: (p.seconds, p.held, p.most, len(p.needs))):
        if not any(other.beats(point) for other in kept):
            kept.append(point)
    if len(kept) <= count:
        return tuple(kept)
    kept.sort(key=lambda p: (p.held, p.most, p.seconds))
    ends = {0, min(range(len(kept)), key=lambda k: kept[k].most), min(range(len(kept)), key=lambda k: kept[k].seconds)}
    spread = [round(k * (len(kept) - 1) / (count - 1)) for k in range(count)]
    chosen = [*ends, *(k for k in spread if k not in ends)][:count]
    return tuple(kept[k] for k in sorted(chosen))
