"""Elements that stay in registers around the loops that add to them.

A thread that loads an element, adds nothing and stores it again undoes what another thread has added meanwhile. So an
element is loaded and stored only where at least one term is added: where all loops around its terms surely run, or
behind a test that they do.
"""
from __future__ import annotations

from collections.abc import Collection, Mapping

from sdfgad.codegen.cpp import surely_runs
from sdfgad.errors import InvariantError
from sdfgad.ir.index import Bounds
from sdfgad.ir.program import Range


def trip_tests(bounds: Mapping[str, Bounds], loops: Collection[Range]) -> tuple[Range, ...] | None:
    """The loops of which it has to be tested that they run. bounds: intervals of all variables, theirs too.

    None where no test before them can tell: where the range of one depends on the variable of another.
    """
    found = tuple(r for r in loops if not surely_runs(r, bounds))
    own = {r.var for r in loops}
    return found if all(own.isdisjoint(r.start.symbols | r.stop.symbols) for r in found) else None


def require_terms(bounds: Mapping[str, Bounds], loops: Collection[Range], tested: Collection[Range]) -> None:
    """Raise an InvariantError unless an element that is loaded before these loops and stored after them gets a term."""
    tests = trip_tests(bounds, loops)
    if tests is None or any(r not in tested for r in tests):
        raise InvariantError(f"a sum is stored around loops that may add nothing: {', '.join(r.var for r in loops)}")
