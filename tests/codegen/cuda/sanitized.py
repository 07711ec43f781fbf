"""Gradients by CUDA text under g++'s sanitizers: `python -m tests.codegen.cuda.sanitized [--threads] NAME...`.

NAME: a program of NPBench, a case for devices, or the number of a random program. Addresses: arrays of blocks
(`__shared__`), stacks of threads, the host's half. Undefined behaviour: whole numbers that overflow, shifts, bounds of
fixed arrays. Memory of the device has fences of the runtime's own.
--threads: races, by ThreadSanitizer in place of the runtime's own search, which sees no store of what was there before.
Threads run one after the other, each as a fiber that only launches and barriers order (`tests/support/cuda/strands.h`).
The process has to be started with the library of the sanitizer (`LD_PRELOAD`, see `environment`).
"""
from __future__ import annotations

import argparse
import os
import re
import subprocess
import sys
import warnings
from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

import sdfgad
from npbench_suite import kernel
from sdfgad.codegen.compiling.toolchain import find_compiler
from sdfgad.codegen.target import Target
from sdfgad.thresholds import LEAST, changed, thresholds
from tests.codegen.cuda.device_programs import CASES
from tests.npbench.calls import active, factors, run, sample
from tests.programs.examine import Task
from tests.programs.running import load, wrt_of
from tests.support import on_cpu

FAULTS = {
    "shared": "static int few[4]; few[threadIdx.x + 1] = 1;",
    "local": "int few[4]; *(volatile int *)(few + threadIdx.x + 4) = 1;",
    "overflow": "volatile int most = 2147483647; most = most + int(threadIdx.x) + 1;",
    "same": "static volatile int one; one = 1;",
}
"""What kernels begin with to see that it is found; the last one by ThreadSanitizer alone."""
_KERNEL = re.compile(r"^(__global__ .*)$", re.MULTILINE)
FLAGS = ("-fsanitize=address,undefined", "-fno-sanitize-recover=undefined", "-g1")
OF_THREADS = ("-fsanitize=thread", "-g1")


def environment(threads: bool = False) -> dict[str, str]:
    """For a process that runs this module."""
    names = ("libtsan.so",) if threads else ("libasan.so", "libubsan.so")
    found = [subprocess.run([find_compiler().path, f"-print-file-name={name}"], capture_output=True, text=True,
                            check=True).stdout.strip() for name in names]
    return {**os.environ, "LD_PRELOAD": " ".join(found),
            "ASAN_OPTIONS": "detect_leaks=0:handle_segv=0:handle_sigbus=0:detect_stack_use_after_return=0",
            "UBSAN_OPTIONS": "print_stacktrace=1",
            # Threads of Python and of its libraries are others' business.
            "TSAN_OPTIONS": "ignore_noninstrumented_modules=1:handle_segv=0:handle_sigbus=0:report_signal_unsafe=0"}


def gradient(name: str) -> None:
    """One gradient at the smallest size."""
    if name.isdecimal():
        random(int(name))
    elif name in CASES:
        sdfgad.value_and_grad(CASES[name].function)(*CASES[name].own())
    else:
        of_npbench(name)


def random(number: int) -> None:
    """Every other one with sums shared by threads; what is refused runs nowhere."""
    task, limits = Task(number), LEAST.device if number % 2 else thresholds().device
    with TemporaryDirectory() as folder, warnings.catch_warnings(), changed(device=limits):
        warnings.simplefilter("ignore", sdfgad.UnusedArgumentWarning)
        function = sdfgad.value_and_grad(load(task.text, Path(folder), number), wrt=wrt_of(task.arguments))
        with suppress(sdfgad.UnsupportedError):
            function(**task.arguments)


def of_npbench(name: str) -> None:
    one = kernel.load(name)
    arguments = sample(one, 0, wide=True)
    seeds = factors(run(one, arguments)[0])
    _, pullback = sdfgad.vjp(one.program, *arguments.values(), wrt=active(one), output=one.output)
    found = pullback(tuple(seeds) if isinstance(one.output, tuple) else seeds[0])
    assert all(np.isfinite(found[n]).all() for n in active(one)), name


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--threads", action="store_true")
    parser.add_argument("--fault", choices=FAULTS)
    parser.add_argument("names", nargs="+")
    asked = parser.parse_args()
    os.environ.pop("LD_PRELOAD", None)  # compilers that are started need no sanitizer
    if asked.threads:
        on_cpu.OF_PROGRAMS = OF_THREADS
    else:
        on_cpu.FLAGS = (*on_cpu.FLAGS, *FLAGS)
    with on_cpu.running_here(with_fault(asked.fault) if asked.fault else on_cpu.ON_CPU):
        for name in asked.names:
            gradient(name)
            print(f"{name}: done", file=sys.stderr, flush=True)
    print("nothing found")


def with_fault(name: str) -> Target:
    return on_cpu.on_cpu(lambda text: _KERNEL.sub(rf"\1 {FAULTS[name]}", text))


if __name__ == "__main__":
    main()
