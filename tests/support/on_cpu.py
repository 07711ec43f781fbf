"""Programs for a graphics processor that run here: the text of the target, compiled by g++ with a runtime of tests."""
from __future__ import annotations

import ctypes
import hashlib
import os
import re
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import cache
from pathlib import Path

import sdfgad
from sdfgad.codegen.compiling.blas import find_blas
from sdfgad.codegen.compiling.build import LIBRARY, RUNTIME, precompiled_header, write_meta
from sdfgad.codegen.compiling.cache import key_of, publish
from sdfgad.codegen.compiling.toolchain import find_compiler, run
from sdfgad.codegen.target import Code, Target
from sdfgad.codegen.targets import TARGETS
from sdfgad.ir.program import Program
from tests.conftest import FASTER_LINKER

HEADERS = Path(__file__).parent / "cuda"
INCLUDES = (f"-I{HEADERS}", f"-I{RUNTIME}")
FLAGS = ("-std=c++20", "-Og", "-w", "-fPIC", "-ffp-contract=off", "-U_FORTIFY_SOURCE",
         "-D_GLIBCXX_BITS_SPECFUN_H")  # see `build.FLAGS`
OF_PROGRAMS: tuple[str, ...] = ()
"""More flags of programs, which neither the runtime nor the libraries have."""
DIGEST = hashlib.sha256(b"".join(f.read_bytes() for f in sorted(HEADERS.iterdir()))).hexdigest()[:12]
LIBRARIES = ("libcublas.so.13", "libcusolver.so.12", "libcufft.so.12")
SEED = "CUDA_ON_CPU_SEED"
_KERNEL = re.compile(r"^__global__ void +__launch_bounds__\([\d, ]+\) (\w+)\(", re.MULTILINE)
_POINTER = re.compile(r"^( *)([\w:]+)\* (p_\w+) = (?:&(?=\w+\[0\]))?(v_\w+)(?:\[0\])?;", re.MULTILINE)
_ATOMIC = re.compile(r"(?<=\(&)(p_\w+)")
_WAITS = ("sg::together", "sg::beside", "__syncthreads", "sg::wait_for_all")


def watched(text: str) -> str:
    """The text with pointers of kernels that note who touches what of arrays that are written; atomic sums aside."""
    before, *kernels = re.split(r"^(?=__global__ )", text, flags=re.MULTILINE)
    parts = [k.partition("\n}\n") for k in kernels]
    return "".join([before, *(_watched(kernel) + end + host for kernel, end, host in parts)])


def _watched(kernel: str) -> str:
    return _ATOMIC.sub(r"\1.plain", _POINTER.sub(r"\1cuda_on_cpu::Watched<\2> \3(\4);", kernel))


def announced(text: str) -> str:
    """The text with a line for each kernel that says whether its threads wait for each other."""
    starts = list(_KERNEL.finditer(text))
    ends = [*(m.start() for m in starts[1:]), len(text)]
    bodies = [(m[1], text[m.start():end]) for m, end in zip(starts, ends, strict=True)]
    lines = [f"CUDA_ON_CPU_KERNEL({name}, {str(any(w in body for w in _WAITS)).lower()})" for name, body in bodies]
    return "\n".join([text, *lines, ""])


def runtime() -> Path:
    """The library that all programs share."""
    compiler = find_compiler()

    def build(folder: Path) -> None:
        run((compiler.path, *FLAGS, "-O2", "-shared", str(HEADERS / "cuda_runtime.cpp"), "-o", str(folder / LIBRARY)),
            code="SG505")

    return publish(key_of("cuda on cpu", compiler.path, compiler.version, FLAGS, DIGEST), build) / LIBRARY


def compile_here(folder: Path, code: Code) -> None:
    """A library for this processor."""
    source = folder / "program_on_cpu.cpp"
    source.write_text(announced(watched(code.text)))
    write_meta(folder, code.meta)
    flags = (*FLAGS, *OF_PROGRAMS)
    header = precompiled_header(flags, INCLUDES, (f"// {DIGEST}\n", '#include "sdfgad_gpu.h"\n'))
    run((find_compiler().path, *flags, "-shared", *INCLUDES, "-include", str(header), str(source), str(runtime()),
         *FASTER_LINKER, "-o", str(folder / LIBRARY)), code="SG505")


def on_cpu(change: Callable[[str], str] | None = None, ordered: bool = False) -> Target:
    """The target. change: what becomes of its text, for mutants. ordered: with `deterministic=True`."""
    cuda = TARGETS["cuda ordered" if ordered else "cuda"]
    last: dict[tuple[int, tuple[str, ...]], tuple[Program, Code]] = {}

    def changed(program: Program, results: tuple[str, ...], loose: Collection[str]) -> Code:
        """A target of one's own is asked twice for each program."""
        key = id(program), results
        if key not in last:
            last.clear()
            made = cuda.generate(program, results, loose)
            last[key] = program, made if change is None else replace(made, text=change(made.text))
        return last[key][1]

    return replace(cuda, name=f"{cuda.name} on cpu {DIGEST}", generate=changed, compile=compile_here,
                   tools=lambda: (*FLAGS, *OF_PROGRAMS))


ON_CPU, ON_CPU_ORDERED = on_cpu(), on_cpu(ordered=True)


@cache
def stand_ins() -> tuple[ctypes.CDLL, ...]:
    """Libraries under the names of NVIDIA's, loaded: whoever asks for those gets these."""
    compiler, blas = find_compiler(), find_blas()

    def build(folder: Path) -> None:
        made = folder / "libraries.o"
        run((compiler.path, *FLAGS, *blas.compile_flags(), f"-I{HEADERS}", "-c", str(HEADERS / "libraries.cpp"), "-o",
             str(made)), code="SG505")
        for name in LIBRARIES:
            run((compiler.path, "-shared", str(made), str(runtime()), *blas.link_flags(), f"-Wl,-soname,{name}", "-o",
                 str(folder / name)), code="SG505")

    key = key_of("cuda libraries on cpu", compiler.path, compiler.version, FLAGS, DIGEST, blas.version,
                 blas.link_flags())
    folder = publish(key, build)
    return tuple(ctypes.CDLL(str(folder / name)) for name in LIBRARIES)


@contextmanager
def running_here(target: Target = ON_CPU) -> Iterator[None]:
    """Everything in the block is computed by CUDA text."""
    stand_ins()
    with sdfgad.config(target=target):
        yield


@contextmanager
def in_order(seed: int) -> Iterator[None]:
    """Blocks and threads of the calls in the block run in the order that a number stands for."""
    before = os.environ.get(SEED)
    os.environ[SEED] = str(seed)
    try:
        yield
    finally:
        os.environ.pop(SEED) if before is None else os.environ.update({SEED: before})


def counts(library: Path) -> tuple[int, int]:
    """Kernels started and times that the host has waited, since this was asked last."""
    found = (ctypes.c_int64 * 2)()
    ctypes.CDLL(str(library)).cuda_on_cpu_counts(found)
    return found[0], found[1]
