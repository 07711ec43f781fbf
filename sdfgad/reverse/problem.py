"""The planner's problem, read off a gradient program."""
from __future__ import annotations

from sdfgad.checkpoint.problem import Item, Problem
from sdfgad.ir.program import Program
from sdfgad.reverse.sweeps import Gradient


def problem_of(primal: Program, whole: Program, made: Gradient, copied: frozenset[str]) -> Problem:
    """Items: what was recorded and survived dead code, or is computed again. Base: every other array, and copies of
    arguments."""
    items = []
    for k in made.kept:
        if k.bytes is not None and k.tape not in whole.arrays and not k.again:
            continue
        array = whole.arrays.get(k.array) or made.program.arrays[k.array]
        items.append(Item(k.name, array.label or k.array, k.bytes, k.source.file if k.source else "",
                          k.source.line if k.source else 0, k.because, k.recomputable, k.cost, k.light))
    tapes = {k.tape for k in made.kept if not k.again}
    base = {n: a.bytes for n, a in whole.arrays.items() if n not in tapes}
    base.update({f"{n} (copy)": whole.arrays[n].bytes for n in sorted(copied)})
    return Problem(primal.name, tuple(items), base)
