"""Gradients of NPBench by CUDA text under g++'s sanitizers: `python -m tests.codegen.cuda.sanitized NAME`.

Addresses: arrays of blocks (`__shared__`), stacks of threads, the host's half. Undefined behaviour: whole numbers that
overflow, shifts, bounds of fixed arrays. Memory of the device has fences of the runtime's own, and who touches what at
the same time is found by it too: threads run one after the other there, so that ThreadSanitizer would see one thread.
The process has to be started with the library of the sanitizer (`LD_PRELOAD`, see `environment`).
"""
from __future__ import annotations

import os
import re
import subprocess
import sys

import numpy as np

import sdfgad
from npbench_suite.kernel import load
from sdfgad.codegen.toolchain import find_compiler
from tests.npbench.calls import active, factors, run, sample
from tests.support import on_cpu

FAULTS = {
    "shared": "static int few[4]; few[threadIdx.x + 1] = 1;",
    "local": "int few[4]; *(volatile int *)(few + threadIdx.x + 4) = 1;",
    "overflow": "volatile int most = 2147483647; most = most + int(threadIdx.x) + 1;",
}
"""What kernels begin with to see that it is found: `FAULT NAME` in place of a name."""
_KERNEL = re.compile(r"^(__global__ .*)$", re.MULTILINE)
FLAGS = ("-fsanitize=address,undefined", "-fno-sanitize-recover=undefined", "-g1")


def environment() -> dict[str, str]:
    """For a process that runs this module."""
    found = [subprocess.run([find_compiler().path, f"-print-file-name={name}"], capture_output=True, text=True,
                            check=True).stdout.strip() for name in ("libasan.so", "libubsan.so")]
    return {**os.environ, "LD_PRELOAD": " ".join(found),
            "ASAN_OPTIONS": "detect_leaks=0:handle_segv=0:handle_sigbus=0:detect_stack_use_after_return=0",
            "UBSAN_OPTIONS": "print_stacktrace=1"}


def gradient(name: str, fault: str = "") -> None:
    """One gradient at the smallest size, by sanitized code."""
    kernel = load(name)
    arguments = sample(kernel, 0, wide=True)
    seeds = factors(run(kernel, arguments)[0])
    target = on_cpu.on_cpu(lambda text: _KERNEL.sub(rf"\1 {FAULTS[fault]}", text)) if fault else on_cpu.ON_CPU
    with on_cpu.running_here(target):
        _, pullback = sdfgad.vjp(kernel.program, *arguments.values(), wrt=active(kernel), output=kernel.output)
        found = pullback(tuple(seeds) if isinstance(kernel.output, tuple) else seeds[0])
    assert all(np.isfinite(found[n]).all() for n in active(kernel)), name


def main() -> None:
    os.environ.pop("LD_PRELOAD", None)  # compilers that are started need no sanitizer
    on_cpu.FLAGS = (*on_cpu.FLAGS, *FLAGS)
    fault, name = sys.argv[1:] if len(sys.argv) == 3 else ("", sys.argv[1])
    gradient(name, fault)
    print(f"{name}: nothing found")


if __name__ == "__main__":
    main()
