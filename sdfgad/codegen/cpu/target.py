"""The processor at hand as a target."""
from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace
from typing import TYPE_CHECKING

from sdfgad.checkpoint import roofline
from sdfgad.codegen.compiling.build import Meta
from sdfgad.codegen.target import Code, Target
from sdfgad.ir.program import Program
from sdfgad.later import later

if TYPE_CHECKING:
    from sdfgad.codegen.cpu.footprint import held_by
    from sdfgad.codegen.cpu.generate import source
    from sdfgad.codegen.cpu.lower import lower
    from sdfgad.codegen.cpu.schedule.stage import SCHEDULE
    from sdfgad.transform.stages import CHECKED_STAGE, CLEAN
else:
    # What writes code imports dace, too.
    held_by = later("sdfgad.codegen.cpu.footprint", "held_by")
    source = later("sdfgad.codegen.cpu.generate", "source")
    lower = later("sdfgad.codegen.cpu.lower", "lower")
    SCHEDULE = later("sdfgad.codegen.cpu.schedule.stage", "SCHEDULE")
    CHECKED_STAGE = later("sdfgad.transform.stages", "CHECKED_STAGE")
    CLEAN = later("sdfgad.transform.stages", "CLEAN")


def _generate(program: Program, results: tuple[str, ...], loose: Collection[str]) -> Code:
    """Kernels scheduled for the caches, vectors and threads of this processor."""
    lowered = lower(program, results, loose)
    return Code(source(lowered), Meta(program.name, lowered.arguments, lowered.held.arena.bytes), lowered.uses_blas)


CPU = Target("cpu", (CLEAN, SCHEDULE), held_by, roofline.this_machine, _generate)
CPU_CHECKED = replace(CPU, name="cpu checked", stages=(CHECKED_STAGE,))
"""The same for programs that are looked at for NaN, one statement after the other."""
