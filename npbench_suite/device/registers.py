"""Registers and spills of gradients at paper size: `python -m npbench_suite.device.registers [NAME...] [--arch 80,90]`.

`nvcc` compiles the kernels; nothing runs, and no device is needed. Prints the seconds of the compiler, the kernels, the
most registers that one has, and each kernel that spills.
"""
from __future__ import annotations

import argparse
import re
import resource
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

import sdfgad
from npbench_suite.kernel import load, names
from sdfgad.arrays import Spec
from sdfgad.calls.arguments import bind
from sdfgad.codegen.cuda.nvcc import FLAGS
from sdfgad.codegen.devices import find_nvcc
from sdfgad.codegen.targets import TARGETS
from sdfgad.errors import ToolchainError
from sdfgad.verbs.pipeline import Derivative, Request, derive

_ENTRY = re.compile(r"Compiling entry function '(\w+)'.*?\n(.*?)Used (\d+) registers", re.DOTALL)


@dataclass(frozen=True)
class Registers:
    """Of one kernel. spilled: bytes stored and loaded."""

    kernel: str
    count: int
    spilled: int


@dataclass(frozen=True)
class Build:
    """What the compiler made of a program. seconds: of one core."""

    name: str
    arch: int
    seconds: float
    kernels: tuple[Registers, ...]

    @property
    def most(self) -> int:
        return max((k.count for k in self.kernels), default=0)

    @property
    def spills(self) -> tuple[Registers, ...]:
        return tuple(k for k in self.kernels if k.spilled)

    def __str__(self) -> str:
        spills = "".join(f"; {k.kernel} spills {k.spilled} bytes" for k in self.spills)
        return f"{self.name} sm_{self.arch}: {self.seconds:.1f} s, {len(self.kernels)} kernels, " \
               f"at most {self.most} registers{spills}"


def derived(name: str, preset: str = "paper") -> Derivative:
    """The gradient of a program for a device; its floating arrays are not made."""
    kernel = load(name)
    made = kernel.initialize(**kernel.sizes(preset))
    given = {n: Spec(v.shape, v.dtype) if isinstance(v, np.ndarray) and v.dtype.kind in "fc" else v
             for n, v in made.items()}
    with sdfgad.config(device="gpu"):
        bound = bind(kernel.program, tuple(given.values()), {})
        return derive(kernel.program, bound, Request(kernel.wrt, kernel.output, "sum", False))


def text_of(name: str, preset: str = "paper") -> str:
    """The program that `nvcc` gets."""
    made = derived(name, preset)
    return TARGETS["cuda"].generate(made.program, made.keep, ()).text


def built(name: str, text: str, arch: int) -> Build:
    """Compile a text, and read what the assembler says of it."""
    with TemporaryDirectory() as folder:
        source = Path(folder) / "program.cu"
        source.write_text(text)
        before = _seconds()
        command = (find_nvcc(), *FLAGS, "-Xptxas", "-v", f"-arch=sm_{arch}", "-c", str(source), "-o", f"{source}.o")
        done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode:
            raise ToolchainError(f"nvcc failed on {name} for sm_{arch}", code="SG505", command=command,
                                 output=done.stdout + done.stderr)
        seconds = _seconds() - before
    kernels = []
    for entry in _ENTRY.finditer(done.stdout + done.stderr):
        spilled = sum(int(n) for n in re.findall(r"(\d+) bytes spill", entry[2]))
        kernels.append(Registers(entry[1], int(entry[3]), spilled))
    return Build(name, arch, seconds, tuple(kernels))


def _seconds() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def _say(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*")
    parser.add_argument("--preset", default="paper")
    parser.add_argument("--arch", default="80,90")
    asked = parser.parse_args()
    builds, failed = [], 0
    for name in asked.names or [n for n in names() if load(n).gradient != "none"]:
        try:
            text = text_of(name, asked.preset)
        except sdfgad.UnsupportedError as error:
            _say(f"{name}: refused: {error.what}")
            continue
        for arch in asked.arch.split(","):
            try:
                builds.append(built(name, text, int(arch)))
                _say(str(builds[-1]))
            except ToolchainError as error:
                failed += 1
                _say(str(error))
    if builds:
        middle, spilling = np.median([b.seconds for b in builds]), sum(len(b.spills) for b in builds)
        _say(f"{len(builds)} builds, median {middle:.1f} s, at most {max(b.most for b in builds)} registers, "
             f"{spilling} kernels that spill")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
