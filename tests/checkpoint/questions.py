"""Random planning problems, and their answers by looking at every plan there is."""
from __future__ import annotations

import random
from collections.abc import Iterator
from itertools import chain, combinations, product
from math import prod

from sdfgad.checkpoint.modes import offered_modes
from sdfgad.checkpoint.schedule import (
    FORWARD,
    REVERSE,
    Recomputation,
    ScheduledBlock,
    ScheduledItem,
    ScheduledLoop,
    ScheduleProblem,
)
from sdfgad.checkpoint.schedule_plan import Rebuild, SchedulePlan
from sdfgad.checkpoint.verify import verify

MOST_PLANS = 3000


def random_problem(seed: int, loops: int = 0, nested: bool = False, most: int = MOST_PLANS) -> ScheduleProblem:
    """A problem of at most 12 items that has at most `most` plans."""
    for attempt in range(1000):
        draw = random.Random(f"{seed} {loops} {nested} {attempt}")
        problem = _drawn(draw, loops, nested)
        if count_plans(problem) <= most:
            return problem
    raise AssertionError("no small problem found")


def _drawn(draw: random.Random, loops: int, nested: bool) -> ScheduleProblem:
    parents = {f"l{k}": None for k in range(loops)} | ({"inner": "l0"} if nested else {})
    blocks = _blocks(draw, parents)
    regions = [None, *parents]
    spans = {(r, phase): [k for k, b in enumerate(blocks) if b.phase == phase and _within(parents, b.loop, r)]
             for r in regions for phase in (FORWARD, REVERSE)}
    items: list[ScheduledItem] = []
    for k in range(draw.randint(1, 12 if not loops else 5 if nested else 7)):
        items.append(_item(draw, k, draw.choice(regions), parents, spans, items))
    trips = {name: draw.randint(1, 4 if nested else 7) for name in parents}
    return ScheduleProblem("random", tuple(blocks), tuple(items), tuple(
        ScheduledLoop(name, trips[name], draw.randint(1, 40), draw.randint(1, 9), parent, draw.choice((0, 0, 1)))
        for name, parent in parents.items()))


def _blocks(draw: random.Random, parents: dict[str, str | None]) -> list[ScheduledBlock]:
    forward: list[str | None] = [None] * draw.randint(1, 2)
    for name in (n for n, parent in parents.items() if parent is None):
        body: list[str | None] = [name] * draw.randint(1, 2)
        if "inner" in parents and name == "l0":
            at = draw.randint(0, len(body))
            body[at:at] = ["inner"] * draw.randint(1, 2)
        forward += [*body, *[None] * draw.randint(0, 1)]
    backward = [loop for loop in reversed(forward)]
    return [ScheduledBlock(f"b{k}", phase, {"x": draw.randint(0, 20), "y": 5}, loop)
            for phase, order in ((FORWARD, forward), (REVERSE, backward)) for k, loop in enumerate(order)]


def _within(parents: dict[str, str | None], loop: str | None, region: str | None) -> bool:
    while loop is not None and loop != region:
        loop = parents[loop]
    return loop == region


def _item(draw, k, region, parents, spans, before) -> ScheduledItem:
    reverse = spans[region, REVERSE]
    needed = tuple(sorted(draw.sample(reverse, draw.randint(1, min(2, len(reverse))))))
    sources = [i.name for i in before if _within(parents, region, i.loop)]
    recipe = None
    if draw.random() < 0.75:
        intact = {"x": tuple(b for b in reverse if draw.random() < 0.8)}
        seconds = draw.randint(1, 30)
        items = tuple(draw.sample(sources, min(len(sources), draw.choice((0, 0, 1, 2)))))
        recipe = Recomputation(seconds, items, intact if draw.random() < 0.5 else {}, draw.choice((0, 0, 3)))
    size, depth = draw.randint(1, 50), 0 if region is None else 1 if parents[region] is None else 2
    packed = sorted((draw.randint(1, size) for _ in range(depth)), reverse=True) if draw.random() < 0.4 else ()
    return ScheduledItem(f"v{k}", f"v{k}", size, "float64", 1, draw.choice(spans[region, FORWARD]), needed, region,
                         recipe, draw.random() < 0.05, draw.random() < 0.1, draw.choice((0, 0, 1)),
                         packed=tuple(packed))


def count_plans(problem: ScheduleProblem) -> int:
    """How many plans `all_plans` makes."""
    return (prod(len(_choices(problem, i)) for i in problem.items)
            * prod(len(offered_modes(p, problem.pins.get(p.name))) for p in problem.loops))


def _choices(problem: ScheduleProblem, item: ScheduledItem) -> list[tuple[bool, tuple[int, ...]]]:
    """(stored, rebuild blocks): every subset, up to the last block that could use it."""
    users = [b for i in problem.items if i.recipe and item.name in i.recipe.items for b in problem.rebuild_blocks(i)]
    places = [b for b in problem.rebuild_blocks(item) if b <= max([*item.needed, *users])]
    subsets = list(chain.from_iterable(combinations(places, n) for n in range(len(places) + 1)))
    pin = problem.pins.get(item.name)
    kept = [True] if item.store_only or pin == "store" else [False] if pin == "recompute" else [True, False]
    return [(stored, made) for stored in kept for made in subsets]


def all_plans(problem: ScheduleProblem) -> Iterator[SchedulePlan]:
    """Every choice for every item, with every mode of every loop."""
    modes = [offered_modes(p, problem.pins.get(p.name)) for p in problem.loops]
    for choice in product(*(_choices(problem, i) for i in problem.items)):
        stored = frozenset(i.name for i, (s, _) in zip(problem.items, choice) if s)
        rebuilds = tuple(Rebuild(i.name, b) for i, (_, made) in zip(problem.items, choice) for b in made)
        for mode in product(*modes):
            yield SchedulePlan(problem, stored, rebuilds, dict(zip((p.name for p in problem.loops), mode)))


def true_front(problem: ScheduleProblem) -> list[tuple[int, float]]:
    """(peak, seconds) of the plans no other plan beats, from the smallest peak up."""
    reached = set()
    for plan in all_plans(problem):
        verdict = verify(problem, plan)
        if not verdict.complaints:
            reached.add((verdict.peak_bytes, verdict.seconds))
    front: list[tuple[int, float]] = []
    for peak, seconds in sorted(reached):
        if not front or seconds < front[-1][1]:
            front.append((peak, seconds))
    return front
