"""What a call of a graph holds."""
from __future__ import annotations

from collections.abc import Iterable

from sdfgad.analysis.lifetimes import Held, Lifetimes, copy_name
from sdfgad.codegen.reference.forms import graph_form, is_array
from sdfgad.ir.program import Program
from sdfgad.ir.walk import all_reads, all_writes


def held_by(program: Program, results: Iterable[str], threads: int) -> Held:
    """Arrays that are passed, copies of those of them that are written, and every other array for the whole call."""
    del threads
    whole = graph_form(program)
    passed = {*program.arguments, *results, *program.constants}
    used = all_reads(whole.body) | all_writes(whole.body)
    always = {n: a.bytes for n, a in whole.arrays.items()
              if (n in passed or n in used and is_array(a)) and a.role != "disk"}
    copied = all_writes(program.body) & set(program.arguments) & always.keys()
    always.update({copy_name(n): always[n] for n in sorted(copied)})
    return Held(always, {}, 0, Lifetimes((), {}))
