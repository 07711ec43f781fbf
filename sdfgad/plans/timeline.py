"""When a gradient program holds what: the memory in use over a call, of the program as it is compiled."""
from __future__ import annotations

from collections.abc import Mapping, Sequence

from sdfgad.analysis.lifetimes import GAPS, Held
from sdfgad.checkpoint.outlook import Moment
from sdfgad.plans.emission import Emission

MOMENTS = 40
"""At most so many of each sweep: of those in between the fullest."""
SNAPSHOTS = "snapshots"
FORWARD, REVERSE = "forward", "reverse"


def timeline_of(emission: Emission) -> tuple[Moment, ...]:
    """What is in use at the items of the program, the largest of them the predicted peak; loops appear once."""
    held, names = emission.finished.held, _labels(emission)
    taken = held.lives.taken(held.own)
    tops = _fullest_steps(held, taken)
    turn = _turn(emission, held, tops)
    most = max(range(len(tops)), key=lambda k: taken[tops[k]], default=0)
    sweeps = (FORWARD, range(turn)), (REVERSE, range(turn, max(len(tops), turn + 1)))
    return tuple(_moment(f"{sweep} {number}", sweep, held, tops[k] if k < len(tops) else None, k == most, names)
                 for sweep, items in sweeps for number, k in enumerate(_some(items, tops, taken) or (len(tops),)))


def _fullest_steps(held: Held, taken: Sequence[int]) -> list[int]:
    """Of each item of the program the step at which most is in use. taken: bytes at each step."""
    found: dict[int, int] = {}
    for k, step in enumerate(held.lives.steps):
        if step.top not in found or taken[k] > taken[found[step.top]]:
            found[step.top] = k
    return [found[top] for top in sorted(found)]


def _turn(emission: Emission, held: Held, tops: Sequence[int]) -> int:
    """The first item of the reverse sweep: from there on cotangents are in use."""
    cotangents = {n for n in emission.whole.arrays if n.startswith("grad_")}
    return next((k for k, step in enumerate(tops) if held.lives.steps[step].touches & cotangents), len(tops))


def _some(items: range, tops: Sequence[int], taken: Sequence[int]) -> list[int]:
    """Not too many of the items: the fullest of each of some groups."""
    width = -(-len(items) // MOMENTS) or 1
    groups = (items[k:k + width] for k in range(0, len(items), width))
    return [max(group, key=lambda k: taken[tops[k]] if k < len(tops) else 0) for group in groups]


def _moment(block: str, phase: str, held: Held, step: int | None, fullest: bool, names: Mapping[str, str]) -> Moment:
    used = held.lives.used(step) if step is not None else frozenset[str]()
    sizes = {**held.always, **{n: held.own[n] for n in used if n in held.own}}
    if fullest:
        sizes[GAPS] = held.block - sum(held.own.get(n, 0) for n in used)
    live: dict[str, int] = {}
    for name, size in sorted(sizes.items()):
        if size:
            label = names.get(name, name)
            live[label] = live.get(label, 0) + size
    return Moment(block, phase, live)


def _labels(emission: Emission) -> dict[str, str]:
    """What the arrays of the program are called: by the name of what they keep."""
    arrays = emission.whole.arrays
    found = {n: SNAPSHOTS for n in arrays if n.startswith("saved_")}
    for kept in emission.made.kept:
        if kept.tape in arrays and kept.array in emission.made.program.arrays:
            found[kept.tape] = emission.made.program.arrays[kept.array].label or kept.array
    return found
