"""Plans of loops that communicate: all ranks run them alike.

A rank that ran iterations again which its peers have recorded would wait for messages for ever. So the ranks say what
each of them would do, and all do what one of them would, the cheapest that is within the limit of everybody.
"""
from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import lru_cache
from hashlib import sha256
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from sdfgad.checkpoint.modes import STORE_ALL, Mode
from sdfgad.errors import MemoryLimitError, PlanNotExecutable
from sdfgad.frontend import Parsed
from sdfgad.ir.messages import communicates, is_message
from sdfgad.ir.program import Block, Loop, Stmt
from sdfgad.ir.walk import rebuild, statements
from sdfgad.later import later
from sdfgad.memory import format_bytes
from sdfgad.plans.emission import Emission
from sdfgad.plans.message_loops import all_received, message_traffic
from sdfgad.plans.plan import Plan
from sdfgad.plans.planning import Choice
from sdfgad.plans.recipe import Recipe
from sdfgad.plans.search import planned
from sdfgad.ranks import AnswersNeeded
from sdfgad.reverse.made import Gradient

if TYPE_CHECKING:
    from sdfgad.reverse.loop_modes import loop_names
else:
    loop_names = later("sdfgad.reverse.loop_modes", "loop_names")

Found = tuple[Choice, Emission, Plan]
_OPEN = ("; a loop that communicates stores every iteration, unless all that is sent in one is received in it, on "
         "ranks known before the call")


@lru_cache(maxsize=1)
def _answers() -> dict[tuple[str, int | None, str], list[Any]]:
    """What all ranks have said in this call: by program, limit and question."""
    return {}


def forget_answers() -> None:
    """Begin a call: what was said in an earlier one may not be so any more."""
    _answers().clear()


def _ask(recipe: Recipe, question: str, mine: Any) -> list[Any]:
    """What every rank says to a question. `AnswersNeeded` where nobody has been asked: the plan is then made again."""
    key, known = (recipe.code, recipe.request.limit, question), _answers()
    if key not in known:
        raise AnswersNeeded(question, lambda communicator: known.update({key: communicator.allgather(mine)}),
                            tuple(recipe.parsed.surroundings.sent))
    return known[key]


def planned_by_all(recipe: Recipe) -> Found:
    """The program of a rank within its limit and its plan; loops that communicate run as on all other ranks.

    As long as every rank can record them they are recorded: to run them again costs messages. MemoryLimitError where
    no way to run them is within the limits of all.
    """
    try:
        found, small = planned(recipe), None
    except MemoryLimitError as error:
        found, small = None, error
    said = _ask(recipe, "limit", (small is None, message_traffic(
        recipe.normal, recipe.parsed.surroundings.communicators)))
    closed = all_received([traffic for _, traffic in said])
    if closed and not all(fits for fits, _ in said):
        found = _alike(replace(recipe, parsed=_repeatable(recipe.parsed))) or found
    if found is None:
        assert small is not None
        small.help += "" if closed else _OPEN
        raise small
    # Ranks may have other loops, as those of a farm: what all of them record needs no agreement.
    again = [(name, mode) for name, mode in _shared(found[1].made, found[1].modes) if mode.kind != STORE_ALL]
    recipe.parsed.surroundings.agreed = _digest(said, again)
    return found


def _repeatable(parsed: Parsed) -> Parsed:
    """The function with a note at each message that its loop may be run again."""
    def noted(stmt: Stmt) -> Block:
        return (replace(stmt, attrs=MappingProxyType({**stmt.attrs, "closed": True})),) if is_message(stmt) else (stmt,)

    program = parsed.program
    return replace(parsed, program=program.but(body=rebuild(program.body, noted)))


def _alike(recipe: Recipe) -> Found | None:
    """The program where loops run again on all ranks alike; None where they have other loops to run again."""
    choice, found, plan = planned(recipe)
    trips = _trips(found.made)
    wishes = _ask(recipe, "loops", (trips, _shared(found.made, found.modes)))
    if any(other != trips for other, _ in wishes):
        return None
    ways = list(dict.fromkeys(wish for _, wish in wishes))
    if len(ways) == 1:
        return choice, found, plan
    own = [_run_like(choice, found, dict(way)) for way in ways]
    tried = _ask(recipe, "tried", [None if one is None else one.seconds(choice.machine) for one in own])
    times = {k: max(every) for k, every in enumerate(zip(*tried, strict=True)) if None not in every}
    if not times:
        raise MemoryLimitError("what one rank would do with the loops that communicate does not fit into the limit of "
                               f"another one; here at least {format_bytes(found.peak)} are needed",
                               minimum_bytes=found.peak, limit_bytes=recipe.request.limit, help="raise memory_limit")
    best = own[min(times, key=lambda k: times[k])]
    assert best is not None
    return choice, best, choice.plan(best, None, "loops that communicate run as on all ranks")


def _run_like(choice: Choice, found: Emission, way: Mapping[str, Mode]) -> Emission | None:
    """The program with loops that communicate run in given ways; None where that cannot be or is beyond the limit."""
    local = {n: m for n, m in found.modes.items() if n not in way}
    modes = {**local, **{n: m for n, m in way.items() if m.kind != STORE_ALL}}
    if modes == dict(found.modes):
        return found
    try:
        made = choice.emit(found.recomputed, modes, found.undone)
        return made if choice.limit is None or made.peak <= choice.limit else None
    except PlanNotExecutable:
        return None


def _loops(made: Gradient) -> dict[str, Loop]:
    """Loops that communicate, by name."""
    names = loop_names(made.swept)
    return {names[id(s)]: s for s in statements(made.swept.body) if isinstance(s, Loop) and communicates((s,))}


def _trips(made: Gradient) -> dict[str, int | None]:
    return {name: loop.range.trips for name, loop in _loops(made).items()}


def _shared(made: Gradient, modes: Mapping[str, Mode]) -> tuple[tuple[str, Mode], ...]:
    """How the loops that communicate run."""
    return tuple((name, modes.get(name, Mode(STORE_ALL))) for name in _loops(made))


def _digest(*said: Any) -> str:
    """In hexadecimal, few enough digits for an integer of MPI."""
    return sha256(repr(said).encode()).hexdigest()[:14]
