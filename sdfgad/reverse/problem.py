"""The planner's problem, read off a gradient program."""
from __future__ import annotations

from sdfgad.checkpoint.problem import Item, Problem
from sdfgad.ir.program import Program
from sdfgad.reverse.sweeps import Gradient


def problem_of(primal: Program, whole: Program, made: Gradient, copied: frozenset[str]) -> Problem:
    """Items: what was recorded and survived dead code. Base: every other array, and copies of arguments."""
    items = []
    for r in made.records:
        if r.bytes is not None and r.tape not in whole.arrays:
            continue
        array = whole.arrays.get(r.array) or primal.arrays[r.array]
        source = r.save.source
        items.append(Item(r.name, array.label or r.array, r.bytes, source.file if source else "",
                          source.line if source else 0, r.because, r.recomputable, r.cost))
    tapes = {r.tape for r in made.records}
    base = {n: a.bytes for n, a in whole.arrays.items() if n not in tapes}
    base.update({f"{n} (copy)": whole.arrays[n].bytes for n in sorted(copied)})
    return Problem(primal.name, tuple(items), base)
