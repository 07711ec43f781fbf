"""The targets there are, and which of them programs are made for now.

Code generators are imported when something has to be compiled: they import dace, which takes longer than loading a
stored library.
"""
from __future__ import annotations

from collections.abc import Collection, Mapping
from importlib import import_module
from types import MappingProxyType

from sdfgad.checkpoint import roofline
from sdfgad.checkpoint.roofline import Machine
from sdfgad.codegen import footprint
from sdfgad.codegen.build import PLAIN, Meta
from sdfgad.codegen.reference import held
from sdfgad.codegen.target import Code, Target
from sdfgad.config import chosen_target
from sdfgad.ir.program import Program
from sdfgad.transform.stages import CLEAN, PLAIN_STAGE, SCHEDULE


def chosen() -> Target:
    """What programs are made for now: `config(target=...)`, by name or as it is."""
    found = chosen_target()
    return TARGETS[found] if isinstance(found, str) else found


def is_own() -> bool:
    """Whether that is a user's own target, whose name says nothing of what it makes today."""
    return not isinstance(chosen_target(), str) and chosen() not in TARGETS.values()


def this_machine() -> Machine:
    """The speeds of what programs are made for."""
    return chosen().machine()


def _native(program: Program, results: tuple[str, ...], loose: Collection[str]) -> Code:
    """Kernels scheduled for the caches, vectors and threads of this processor."""
    lowered = import_module("sdfgad.codegen.lower").lower(program, results, loose)
    text = import_module("sdfgad.codegen.generate").source(lowered)
    return Code(text, Meta(program.name, lowered.arguments, lowered.arena.bytes), lowered.uses_blas)


def _plain(program: Program, results: tuple[str, ...], loose: Collection[str]) -> Code:
    """A graph as it is, one statement after the other."""
    del loose
    graph = import_module("sdfgad.codegen.reference.lower").lower(program, results)
    text = import_module("sdfgad.codegen.reference.generate").source(graph)
    return Code(text, Meta(program.name, graph.arguments, graph.bytes), flags=PLAIN)


CPU = Target("cpu", (CLEAN, SCHEDULE), footprint.held_by, roofline.this_machine, _native)
REFERENCE = Target("reference", (PLAIN_STAGE,), held.held_by, roofline.this_machine, _plain)
TARGETS: Mapping[str, Target] = MappingProxyType({t.name: t for t in (CPU, REFERENCE)})
