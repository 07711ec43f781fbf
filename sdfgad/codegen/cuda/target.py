"""An NVIDIA graphics processor as a target."""
from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from sdfgad.codegen.compiling.build import Meta
from sdfgad.codegen.devices import memory_bytes
from sdfgad.codegen.target import Code, Target
from sdfgad.ir.program import Program
from sdfgad.later import later

if TYPE_CHECKING:
    from sdfgad.codegen.cuda.nvcc import compile_code, tools
    from sdfgad.codegen.cuda.schedule import held_by, scheduled, work_of
    from sdfgad.codegen.cuda.source import source
    from sdfgad.codegen.cuda.speeds import device_speeds
    from sdfgad.transform.stages import CLEAN
else:
    compile_code = later("sdfgad.codegen.cuda.nvcc", "compile_code")
    tools = later("sdfgad.codegen.cuda.nvcc", "tools")
    held_by = later("sdfgad.codegen.cuda.schedule", "held_by")
    scheduled = later("sdfgad.codegen.cuda.schedule", "scheduled")
    work_of = later("sdfgad.codegen.cuda.schedule", "work_of")
    source = later("sdfgad.codegen.cuda.source", "source")  # it imports dace, too
    device_speeds = later("sdfgad.codegen.cuda.speeds", "device_speeds")
    CLEAN = later("sdfgad.transform.stages", "CLEAN")


def _generate(program: Program, results: tuple[str, ...], loose: Collection[str], ordered: bool = False) -> Code:
    """Kernels, and a host that starts them."""
    del loose
    made = scheduled(program, ordered)
    return Code(source(made, results), Meta(program.name, made.passed(results), 0))


CUDA = Target("cuda", (CLEAN,), held_by, device_speeds, _generate, compile_code, tools,
              on_device=True, work=work_of, memory=memory_bytes)
"""The text of a program for the CUDA compiler: DaCe's code, and the entry points of all programs."""
CUDA_ORDERED = replace(CUDA, name="cuda ordered", footprint=partial(held_by, ordered=True),
                       generate=partial(_generate, ordered=True), work=partial(work_of, ordered=True))
"""The same with a fixed order of all sums: `deterministic=True`."""
