"""The targets there are, and which of them programs are made for now."""
from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from sdfgad.checkpoint.roofline import Machine
from sdfgad.codegen.cpu.target import CPU, CPU_CHECKED
from sdfgad.codegen.cuda.target import CUDA, CUDA_ORDERED
from sdfgad.codegen.reference.target import REFERENCE
from sdfgad.codegen.target import Target
from sdfgad.config import chosen_target

TARGETS: Mapping[str, Target] = MappingProxyType({t.name: t for t in (CPU, CPU_CHECKED, REFERENCE, CUDA, CUDA_ORDERED)})


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
