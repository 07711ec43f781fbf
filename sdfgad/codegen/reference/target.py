"""Plain graphs as a target."""
from __future__ import annotations

from collections.abc import Collection
from importlib import import_module

from sdfgad.checkpoint import roofline
from sdfgad.codegen.build import PLAIN, Meta
from sdfgad.codegen.reference import held
from sdfgad.codegen.target import Code, Target
from sdfgad.ir.program import Program
from sdfgad.transform.stages import PLAIN_STAGE


def _generate(program: Program, results: tuple[str, ...], loose: Collection[str]) -> Code:
    """A graph as it is, one statement after the other."""
    del loose
    # What writes code imports dace, which takes longer than loading a stored library.
    graph = import_module("sdfgad.codegen.reference.lower").lower(program, results)
    text = import_module("sdfgad.codegen.reference.generate").source(graph)
    return Code(text, Meta(program.name, graph.arguments, graph.bytes), flags=PLAIN)


REFERENCE = Target("reference", (PLAIN_STAGE,), held.held_by, roofline.this_machine, _generate)
