"""The program that is taken: found now, by an earlier process, or as a plan says."""
from __future__ import annotations

from dataclasses import replace
from math import inf

from sdfgad.checkpoint.modes import Mode
from sdfgad.errors import MemoryLimitError, PlanNotExecutable, SdfgadError, UnsupportedError
from sdfgad.memory import format_bytes
from sdfgad.plans.disk_cache import Found, recalled
from sdfgad.plans.emission import Emission, Finished
from sdfgad.plans.plan import Plan
from sdfgad.plans.planning import Choice
from sdfgad.plans.recipe import Recipe
from sdfgad.reverse.made import Gradient


def planned(recipe: Recipe) -> tuple[Choice, Emission, Plan]:
    """The program of a recipe, its plan, and the search that it is from.

    Several seeds are pulled back all at once or one after the other, whichever is estimated to take less time;
    MemoryLimitError with the lesser of both minima when neither fits into the limit.
    """
    if recipe.request.batch is None:
        return _planned(recipe)
    found: list[tuple[Choice, Emission, Plan]] = []
    failed: list[SdfgadError] = []
    for way in (recipe, replace(recipe, in_turn=True)):
        try:
            found.append(_planned(way))
        except (MemoryLimitError, PlanNotExecutable, UnsupportedError) as error:
            failed.append(error)
    if not found:
        raise min(failed, key=lambda e: e.minimum_bytes if isinstance(e, MemoryLimitError) else inf)
    return min(found, key=lambda one: one[1].seconds(one[0].machine))


def _planned(recipe: Recipe) -> tuple[Choice, Emission, Plan]:
    """The same for one seed, or for several in one of the two ways.

    Slopes that loops carry along take room where records may be made again: where they do not fit into the limit, the
    loops are recorded like others. MemoryLimitError with the lesser of both minima when that does not fit either.
    """
    asked, plain = recipe.request.plan, replace(recipe, slopes=False)
    if asked is not None:
        taken = recipe if asked.problem.code == recipe.code else plain
        choice = taken.choice()
        return choice, *_replayed(choice, asked, taken.code)
    choice = recipe.choice()
    try:
        return choice, *_searched(recipe, choice)
    except MemoryLimitError as error:
        if plain.code == recipe.code:
            raise
        choice = plain.choice()
        try:
            return choice, *_searched(plain, choice)
        except MemoryLimitError as other:
            raise min(other, error, key=lambda e: e.minimum_bytes) from None


def _searched(recipe: Recipe, choice: Choice) -> tuple[Emission, Plan]:
    """The best program and its plan, found now or by an earlier process."""
    def search() -> Found[tuple[Gradient, dict[str, Mode], Finished, Plan]]:
        best, plan = choice.best()
        return Found((best.made, dict(best.modes), best.finished, plan), timed="machine" in vars(choice))

    made, modes, finished, plan = recalled("gradient", recipe.everything, search, recipe.parsed.program.constants)
    return Emission(made, modes, lambda _: finished), plan


def part_of(recipe: Recipe, found: Emission) -> Emission:
    """The program of another rank with the same decisions, made now or by an earlier process."""
    decided = (sorted(found.recomputed), dict(found.modes), sorted(found.undone))

    def search() -> Found[tuple[Gradient, Finished]]:
        own = recipe.emit(found.recomputed, found.modes, found.undone)
        return Found((own.made, own.finished))

    made, finished = recalled("part", (recipe.everything, decided), search, recipe.parsed.program.constants)
    return Emission(made, found.modes, lambda _: finished)


def _replayed(choice: Choice, plan: Plan, code: str) -> tuple[Emission, Plan]:
    """The program a plan asks for, to the letter."""
    if plan.problem.code != code:
        raise PlanNotExecutable(f"this is a plan for {plan.problem.target} with other shapes, types or code",
                                help="make the plan anew with the arguments of the call")
    found = choice.emit(plan.recomputed, plan.modes, plan.undone)
    if choice.limit is not None and found.peak > choice.limit:
        raise MemoryLimitError(f"the plan needs {format_bytes(found.peak)}, the limit is {format_bytes(choice.limit)}",
                               minimum_bytes=found.peak, limit_bytes=choice.limit)
    return found, plan
