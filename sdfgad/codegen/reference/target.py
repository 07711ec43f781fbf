"""Plain graphs as a target."""
from __future__ import annotations

from collections.abc import Collection
from typing import TYPE_CHECKING

from sdfgad.checkpoint import roofline
from sdfgad.codegen.compiling.build import PLAIN, Meta
from sdfgad.codegen.target import Code, Target
from sdfgad.ir.program import Program
from sdfgad.later import later

if TYPE_CHECKING:
    from sdfgad.codegen.reference.generate import source
    from sdfgad.codegen.reference.held import held_by
    from sdfgad.codegen.reference.lower import lower
    from sdfgad.transform.stages import PLAIN_STAGE
else:
    # What writes code imports dace, too.
    source = later("sdfgad.codegen.reference.generate", "source")
    held_by = later("sdfgad.codegen.reference.held", "held_by")
    lower = later("sdfgad.codegen.reference.lower", "lower")
    PLAIN_STAGE = later("sdfgad.transform.stages", "PLAIN_STAGE")


def _generate(program: Program, results: tuple[str, ...], loose: Collection[str]) -> Code:
    """A graph as it is, one statement after the other."""
    del loose
    graph = lower(program, results)
    return Code(source(graph), Meta(program.name, graph.arguments, graph.bytes), flags=PLAIN)


REFERENCE = Target("reference", (PLAIN_STAGE,), held_by, roofline.this_machine, _generate)
