"""An NVIDIA graphics processor as a target."""
from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace
from functools import partial
from importlib import import_module

from sdfgad.codegen.build import Meta
from sdfgad.codegen.cuda import nvcc, schedule
from sdfgad.codegen.cuda.speeds import device_speeds
from sdfgad.codegen.devices import memory_bytes
from sdfgad.codegen.target import Code, Target
from sdfgad.ir.program import Program
from sdfgad.transform.stages import CLEAN


def _generate(program: Program, results: tuple[str, ...], loose: Collection[str], ordered: bool = False) -> Code:
    """Kernels, and a host that starts them."""
    del loose
    made = schedule.scheduled(program, ordered)
    # What writes code imports dace, which takes longer than loading a stored library.
    text = import_module("sdfgad.codegen.cuda.source").source(made, results)
    return Code(text, Meta(program.name, made.passed(results), 0))


CUDA = Target("cuda", (CLEAN,), schedule.held_by, device_speeds, _generate, nvcc.compile_code, nvcc.tools,
              on_device=True, work=schedule.work_of, memory=memory_bytes)
"""The text of a program for the CUDA compiler: DaCe's code, and the entry points of all programs."""
CUDA_ORDERED = replace(CUDA, name="cuda ordered", footprint=partial(schedule.held_by, ordered=True),
                       generate=partial(_generate, ordered=True), work=partial(schedule.work_of, ordered=True))
"""The same with a fixed order of all sums: `deterministic=True`."""
