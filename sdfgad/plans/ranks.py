"""What is particular about programs that communicate: what the planner may not do, and what a rank's seed counts."""
from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from sdfgad import __version__
from sdfgad.checkpoint.decided import STORE
from sdfgad.codegen.compiling.cache import key_of
from sdfgad.codegen.targets import chosen
from sdfgad.errors import MemoryLimitError, unsupported
from sdfgad.frontend import Parsed
from sdfgad.ir.called import ADDRESS, calls_of
from sdfgad.ir.messages import NUMBERS, SHARE, communicates, messages
from sdfgad.ir.program import Array, Program
from sdfgad.ir.text import program_text
from sdfgad.ir.walk import statements
from sdfgad.later import later
from sdfgad.memory import format_bytes
from sdfgad.names import fresh
from sdfgad.plans.emission import Emission
from sdfgad.plans.plan import Plan
from sdfgad.plans.planning import Choice
from sdfgad.plans.recipe import Recipe, kept_arrays
from sdfgad.plans.request import share_of
from sdfgad.plans.search import part_of, planned
from sdfgad.thresholds import thresholds
from sdfgad.transform.cutting.blocks import Distribution

if TYPE_CHECKING:
    from sdfgad.plans.ranks_decide import planned_by_all
    from sdfgad.reverse.loop_modes import loop_names
    from sdfgad.transform.dropping.messages import sends_for_itself, without_messages
else:
    planned_by_all = later("sdfgad.plans.ranks_decide", "planned_by_all")
    loop_names = later("sdfgad.reverse.loop_modes", "loop_names")
    sends_for_itself = later("sdfgad.transform.dropping.messages", "sends_for_itself")
    without_messages = later("sdfgad.transform.dropping.messages", "without_messages")


def check_target(program: Program) -> None:
    """UnsupportedError for messages and for functions that stay Python where the target has none."""
    first = next(messages(program.body), None)
    if first is not None and chosen().name != "cpu":
        raise unsupported(first.source, f"a message between ranks on the target {chosen().name!r}",
                          'programs that communicate run with device="cpu"', "SG121")
    call = next(calls_of(program.body), None)
    if call is not None and chosen().name != "cpu":
        raise unsupported(call.source, f"a function that stays Python on the target {chosen().name!r}",
                          'run it with device="cpu"', "SG121")


def refuse_curvature(program: Program) -> None:
    """UnsupportedError for a derivative of a derivative with messages in it."""
    for first in messages(program.body):
        raise unsupported(first.source, "second derivatives of a program that communicates",
                          "differences of gradients can take their place", "SG123")


def _check_tapes(plan: Plan, limit: int | None, program: Program) -> None:
    """Refuse a limit that may show to be too small while other ranks wait."""
    first = None if limit is None else next(messages(program.body), None)
    growing = [i for i in plan.problem.items if i.bytes is None and plan.decisions.get(i.name) == STORE]
    if first is not None and growing:
        lines = sorted({i.line for i in growing})
        raise unsupported(program.source, "a memory limit for a program that communicates and has loops of unknown "
                          f"length, which store what is overwritten in line {', '.join(map(str, lines))}",
                          "give such loops a most number of iterations with range, or no limit", "SG107")


def planned_together(recipe: Recipe) -> tuple[Choice, Emission, Plan]:
    """The program of a recipe and its plan, on which ranks agree where they have to."""
    request = recipe.request
    if request.distribution is not None:
        found = _planned_alike(recipe)
    elif request.limit is not None and request.together and request.plan is None:
        found = planned_by_all(recipe)
    else:
        found = planned(recipe)
    if request.plan is not None and request.together:
        _check_given(recipe, request.plan)
    _check_tapes(found[2], recipe.request.limit, recipe.parsed.program)
    return found


def _check_given(recipe: Recipe, plan: Plan) -> None:
    """Refuse a plan by which one rank would run a loop again that its peers may have recorded."""
    names = loop_names(recipe.normal)
    again = [s for s in statements(recipe.normal.body) if names.get(id(s)) in plan.modes and communicates((s,))]
    for loop in again:
        raise unsupported(getattr(loop, "source", None), "a plan by which a loop that communicates runs again",
                          "leave plan= out: with memory_limit all ranks plan such loops together", "SG107")


def _planned_alike(recipe: Recipe) -> tuple[Choice, Emission, Plan]:
    """The part of this rank of a program that is distributed, with what all ranks decide for the largest part: parts of
    different plans would wait for each other's messages for ever."""
    wanted = recipe.request.distribution
    assert wanted is not None
    shapes = {n: recipe.parsed.program.arrays[recipe.parsed.traced[n]].shape for n in wanted.axes}
    leader = recipe.of_rank(wanted.largest(shapes))
    choice, found, plan = _within_all(leader, {n: s for n, s in shapes.items() if wanted.axes[n]})
    if recipe.request.limit is not None and any(i.bytes is None for i in plan.problem.items):
        raise unsupported(recipe.parsed.program.source, "a memory limit for a distributed program with loops of "
                          "unknown length, which store what they overwrite", "give such loops a most number of "
                          "iterations with range, or no limit", "SG107")
    own = found if leader is recipe else part_of(replace(recipe, slopes=plan.problem.code == leader.code), found)
    limit = recipe.request.limit
    if limit is not None and own.peak > limit:
        raise MemoryLimitError(f"the part of rank {wanted.rank} needs {format_bytes(own.peak)}, the limit is "
                               f"{format_bytes(limit)}", minimum_bytes=own.peak, limit_bytes=limit,
                               help=f"raise memory_limit to {own.peak}")
    return choice, own, replace(plan, problem=own.problem, limit_bytes=limit)


_TIGHTER = 4
"""So often the part with the largest blocks is planned for less, where another one needs more."""
_ROOM = 0.5
"""Of a limit: where the part with the largest blocks needs less, no other one needs more than the limit."""


def _within_all(leader: Recipe, shapes: Mapping[str, Sequence[int]]) -> tuple[Choice, Emission, Plan]:
    """What the part with the largest blocks does within the limit, such that others are within it, too: one with
    smaller blocks and more neighbours may need more. Every rank looks at all kinds of parts, and finds the same."""
    limit, wanted = leader.request.limit, leader.request.distribution
    best = planned(leader)
    if limit is None or wanted is None:
        return best
    asked, ranks = limit, [r for r in wanted.unlike(shapes) if r != wanted.rank]
    for _ in range(_TIGHTER):
        found, plan = best[1:]
        if found.peak <= _ROOM * limit:
            break
        slopes = plan.problem.code == leader.code
        most = max((part_of(replace(leader.of_rank(r), slopes=slopes), found).peak for r in ranks), default=0)
        if most <= limit:
            break
        asked = min(asked, found.peak) - (most - limit)
        try:
            best = planned(replace(leader, request=replace(leader.request, limit=max(asked, 1))))
        except MemoryLimitError:
            break
    return best


def silent_part(recipe: Recipe, plan: Plan, found: Emission) -> Emission | None:
    """The same gradient without the messages of the function itself, where this rank does not need what they bring: as
    it is if there are none. None where it does need it.
    """
    request, program = recipe.request, found.made.program
    if not request.together or request.value:
        return None
    if not sends_for_itself(program):
        return found
    if without_messages(program.but(live_out=frozenset(kept_arrays(found.made, program)))) is None:
        return None
    return part_of(replace(recipe, slopes=plan.problem.code == recipe.code, silent=True), found)


def with_share(parsed: Parsed) -> Parsed:
    """The function with a constant that says what a seed of this rank counts: 1, or 0 where another rank seeds the same
    number. It may be another one at the next call."""
    program, name = parsed.program, fresh("share", parsed.program.arrays)
    array = Array(name, (1,), np.dtype(np.float64), "constant", label=SHARE)
    return replace(parsed, program=program.but(
        arrays={**program.arrays, name: array}, constants={**program.constants, name: np.ones(1)},
        live=program.live | {name}))


def set_share(program: Program, share: float) -> None:
    """Let what was made of a program multiply its seed by a number, from the next call on."""
    name = share_of(program)
    if name is not None:
        program.constants[name][0] = share


def built_in(program: Program, name: str) -> bool:
    """Whether the code of a program depends on what a constant holds, as far as anybody knows."""
    return program.arrays[name].label not in (NUMBERS, SHARE, ADDRESS)


def part_digest(program: Program, cut: Distribution, *decided: Any) -> str:
    """In hexadecimal, of what decides the program that ranks cut: few enough digits for an integer of MPI."""
    constants = [(n, a.tobytes()) for n, a in sorted(program.constants.items()) if built_in(program, n)]
    alike = replace(cut, rank=0)
    return key_of(program_text(program), constants, repr(alike), repr(decided), repr(thresholds()), __version__)[:14]
