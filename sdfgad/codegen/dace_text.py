"""The C++ text of DaCe's generator, and what has to be another text there: no other module changes it.

Each change says what it looks for, why DaCe cannot be asked for the other text, and how often it must be found. A
release of DaCe that writes something else is an error here, and not a program that does something else.
"""
from __future__ import annotations

import re
import warnings
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass

import dace
from dace.codegen import codegen

from sdfgad.errors import InvariantError


@dataclass(frozen=True)
class Change:
    """`looks_for` (a regular expression) becomes `becomes`, `times` times; None: as often as it is there."""

    looks_for: str
    becomes: str | Callable[[re.Match[str]], str]
    why: str
    times: int | None = 1

    def made(self, code: str) -> str:
        """The text after it; raises InvariantError where it is not found as often as it must be."""
        code, found = re.subn(self.looks_for, self.becomes, code, flags=re.MULTILINE)
        if self.times not in (None, found):
            raise InvariantError(f"generated code has {found} places in place of {self.times} where {self.why}")
        return code


NO_HASH = Change(r'#include "[^"]*hash\.h"\n', "", "a file is read that only DaCe's own build writes")
OWN_HEADER = Change(r"#include <dace/dace\.h>", '#include "sdfgad_frame.h"',
                    "all headers of DaCe are read, of which a program needs a few names")
APART = Change(
    r"(#pragma omp parallel for)(?!.*schedule\(static, 1\))", r"\1 proc_bind(spread)",
    "a loop begins whose shares wait for nothing in each other, unless they take turns: this mark tells it to the "
    "threads, and a graph has no place for one", times=None)


# For graphics processors: the host's half and the device's half go into one text.
NO_HEADER = Change(r"#include <dace/dace\.h>\n", "", "the device's half has included what both need")
DEVICE_HEADER = Change(r"#include <dace/dace\.h>", '#include "sdfgad_gpu.h"',
                       "all headers of DaCe and libraries of CUDA are read, of which a program needs a few names")
ONE_STATE = Change(r"^struct \w+_state_t \{\n(?s:.*?)^\};\n", "", "the device's half has defined the state")
UNSAID = Change(r"\bprintf\(", "sg::unsaid(", "errors go to the standard output, which belongs to the user", times=4)
ON_STREAM = Change(r"= cudaLaunchKernel\((.*), 0, nullptr\);", r"= __state->gpu_context->launch(\1);",
                   "a kernel is started on the one stream, where the caller's may be another one", times=None)
TEAM, GRID, LONG = "team", "grid", "long"
"""What the names of kernels begin with whose threads look at what others wrote: of one block, and of all blocks. Or
whose threads have much to do."""
ALL_AT_ONCE = Change(rf"->launch\((?=\(void\*\){GRID}_)", "->launch_together(",
                     "a kernel is started whose blocks wait for each other, so that all of them have to run at once",
                     times=None)
SHARED = Change(rf"^__global__ .*\b(?:{TEAM}|{GRID})_\d+_.*$",
                lambda found: re.sub(r"(?<!const )(\b[\w:<>]+ \*) __restrict__", r"\1", found[0]),
                "an array is said to be touched by one thread alone, where others look at what it wrote", times=None)
ROOM = Change(rf"(?<=__launch_bounds__\()(\d+)(?=\) (?:{TEAM}|{GRID}|{LONG})_)", r"\1, 1",
              "a kernel is compiled for several blocks on a processor, for which it may spill registers", times=None)
NO_WAIT = Change(r"^ *DACE_GPU_CHECK\(cudaStreamSynchronize\(nullptr\)\);\n", "",
                 "the host waits once more, behind a number that it has waited for already", times=None)
_DEVICE_SETTINGS = (("backend", "cuda"), ("cuda_arch", "80"), ("max_concurrent_streams", -1),
                    ("thread_id_type", "int64"))
"""One stream, whose work is done in the order in which it was started: nothing waits but who asks for a number.
Counters of threads have 64 bits."""
_DEVICE_COUNTS = ((r"\bcudaMalloc\(", 1, "memory is taken, which nothing counts but for a byte that wakes the device"),
                  (r"cudaMemcpy", 0, "elements are copied"), (r"cudaStreamSynchronize", 0, "the host waits"),
                  (r"cudaEvent(Record|Synchronize)", 0, "work is put in another order"))


def members(state: str, text: str) -> Change:
    """More members in the type of the program's state."""
    return Change(rf"^struct {state} {{\n", rf"\g<0>{text}", "the state begins, which also holds what calls share")


# All memory of a program is counted: its arrays lie in an arena, and tapes in blocks of their own.
_TAKES = ("aligned_new_array", "malloc(", "new ")
"""Without one of them there is nothing to look for."""
_UNCOUNTED = re.compile(r"aligned_new_array|\bmalloc\(|\bnew \w+(?: \w+\(\d+\))?\[")


def frame_text(sdfg: dace.SDFG) -> str:
    """The program's host code, all of it for a target without an accelerator, as DaCe writes it."""
    with ExitStack() as settings:
        settings.enter_context(dace.config.set_temporary("compiler", "cpu", "explicit_copy", value=False))
        # Loops and branches are regions already, and DaCe need not look for others.
        settings.enter_context(dace.config.set_temporary("optimizer", "detect_control_flow", value=False))
        # A failing validation would write the graph into the current folder; the tests validate instead.
        frame = next(c for c in codegen.generate_code(sdfg, validate=False) if c.title == "Frame")
    return NO_HASH.made(frame.clean_code)


def device_text(sdfg: dace.SDFG) -> str:
    """The program's device code and its host code, in one text for the CUDA compiler.

    Raises InvariantError where it takes memory, copies or waits by itself, or starts a kernel out of order.
    """
    with ExitStack() as settings, warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Callback .* is not stream-aware")  # code of the host, on the one stream
        settings.enter_context(dace.config.set_temporary("compiler", "cpu", "explicit_copy", value=False))
        for name, value in _DEVICE_SETTINGS:
            settings.enter_context(dace.config.set_temporary("compiler", "cuda", name, value=value))
        found = {c.title: c.clean_code for c in codegen.generate_code(sdfg, validate=False)}
    device = UNSAID.made(DEVICE_HEADER.made(found["CUDA"]))
    for change in (ON_STREAM, ALL_AT_ONCE, SHARED, ROOM):
        device = change.made(device)
    host = NO_WAIT.made(ONE_STATE.made(NO_HEADER.made(NO_HASH.made(found["Frame"]))))
    text = device + host
    kernels = len(re.findall(r"^__global__ ", text, flags=re.MULTILINE))
    for looks_for, times, why in (*_DEVICE_COUNTS, (r"= __state->gpu_context->launch(_together)?\(", kernels,
                                                    "a kernel is started on the stream of the call"),
                                                   (r"cudaLaunchKernel", 0, "a kernel is started elsewhere")):
        Change(looks_for, r"\g<0>", why, times).made(text)
    return text


def all_counted(code: str) -> str:
    """The same text; raises InvariantError where it takes memory by itself."""
    if any(word in code for word in _TAKES) and (left := _UNCOUNTED.search(code)):
        raise InvariantError(f"generated code takes memory that is not counted: {left[0]}")
    return code
