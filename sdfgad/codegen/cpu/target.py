"""The processor at hand as a target."""
from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace
from importlib import import_module

from sdfgad.checkpoint import roofline
from sdfgad.codegen.build import Meta
from sdfgad.codegen.cpu import footprint
from sdfgad.codegen.cpu.schedule.stage import SCHEDULE
from sdfgad.codegen.target import Code, Target
from sdfgad.ir.program import Program
from sdfgad.transform.stages import CHECKED_STAGE, CLEAN


def _generate(program: Program, results: tuple[str, ...], loose: Collection[str]) -> Code:
    """Kernels scheduled for the caches, vectors and threads of this processor."""
    # What writes code imports dace, which takes longer than loading a stored library.
    lowered = import_module("sdfgad.codegen.cpu.lower").lower(program, results, loose)
    text = import_module("sdfgad.codegen.cpu.generate").source(lowered)
    return Code(text, Meta(program.name, lowered.arguments, lowered.held.arena.bytes), lowered.uses_blas)


CPU = Target("cpu", (CLEAN, SCHEDULE), footprint.held_by, roofline.this_machine, _generate)
CPU_CHECKED = replace(CPU, name="cpu checked", stages=(CHECKED_STAGE,))
"""The same for programs that are looked at for NaN, one statement after the other."""
