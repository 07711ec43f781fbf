"""From an SDFG to a shared library: code by DaCe's generators, one call of the C++ compiler, no build system."""
from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from importlib.util import find_spec
from pathlib import Path

from sdfgad.codegen.compiling.blas import BlasLibrary, find_blas
from sdfgad.codegen.compiling.cache import key_of, publish
from sdfgad.codegen.compiling.threads import link_flags, thread_files, threads_text
from sdfgad.codegen.compiling.toolchain import (
    NATIVE,
    STANDARD,
    accepts,
    cpu_model,
    find_compiler,
    processor,
    remember_compiler,
    run,
    vector_bytes,
)
from sdfgad.errors import ToolchainError

SOURCE, OBJECT, LIBRARY, META = "program.cpp", "program.o", "program.so", "program.json"
# No if-conversion: gcc 12 turns branches in short loops into wrong masked code (docs/decisions/0004). Our own selects
# are branch-free and vectorise without it.
# No built-in sine and cosine: see `sin` in sdfgad.h.
# None of the special functions of <cmath>, which no program calls: g++ would instantiate them anew for each of them.
FLAGS = (STANDARD, "-O3", "-march=native", "-fopenmp", "-fPIC", "-fno-math-errno", "-fno-trapping-math",
         "-fno-builtin-sin", "-fno-builtin-cos", "-fno-builtin-sinf", "-fno-builtin-cosf", "-fno-tree-loop-if-convert",
         "-D_GLIBCXX_BITS_SPECFUN_H", "-w")
# gcc 12 copies short rows in pieces of 16 bytes where its vectors have 32. A vector that is loaded from two pieces just
# stored waits until they have left for the cache.
MOVES = ("-mmove-max=256", "-mstore-max=256")
# Loops of a few iterations around loops of a few iterations: written out whole, as -O3 does with up to 16 of them, they
# are half of the time of g++ for a large program, and not faster (docs/decisions/0002).
ROLLED = ("--param=max-completely-peel-times=4", "--param=max-completely-peeled-insns=60")
# Two arrays at places from one base whose strides are 2, 4 or 8 to 1, `r[130*i + 2*j] += c[33*i + j]`: gcc 12 makes one
# address of the other and counts it from the null pointer. A function that writes behind a null pointer is taken to
# write nowhere, and its caller leaves the call out (docs/decisions/0002).
ADDRESSES = ("-fno-delete-null-pointer-checks",)
PLAIN = (STANDARD, "-O1", "-fPIC", "-w", *ADDRESSES)
"""For graphs of the reference target: as they are written, by one thread."""
FIRST_FAILURE = 64
"""The status of a call that has raised the first of the program's own exceptions."""
STRAYED = 14
"""That of one in which an index has left its array. Libraries for other languages say the same of their arguments."""
UNHEARD = -1
"""That of one that has not begun: nobody has said what an interrupt does."""
_DEFECT = "this is a defect of the generated code; please report it with the program"
RUNTIME = Path(__file__).parents[1] / "runtime"
REAL = "#define SG_REAL\n"
"""What the source of a program without complex numbers begins with."""


@dataclass(frozen=True)
class Meta:
    """What a stored library says about itself."""

    entry: str
    arguments: tuple[str, ...]
    transient_bytes: int


def flags() -> tuple[str, ...]:
    """What every program is compiled with, on this machine or for the processors that it is written for."""
    plain = FLAGS if processor() == NATIVE else tuple(f.replace("native", processor()) for f in FLAGS)
    more = (ADDRESSES, ROLLED, *([MOVES] if vector_bytes() == 32 else []))
    together = tuple(flag for some in more for flag in some)
    if accepts(find_compiler(), together):
        return (*plain, *together)
    return (*plain, *(flag for some in more if accepts(find_compiler(), some) for flag in some))


def include_flags() -> tuple[str, ...]:
    """Where DaCe's and our own headers are."""
    spec = find_spec("dace")
    if spec is None or not spec.submodule_search_locations:
        raise ToolchainError("the dace package is not installed", code="SG505", help="pip install dace==2.0.0b1")
    dace = Path(spec.submodule_search_locations[0]) / "runtime" / "include"
    return (f"-I{dace}", f"-I{RUNTIME}")


def runtime_text() -> str:
    """What of ours is part of every program, for cache keys."""
    return "".join(file.read_text() for file in sorted(RUNTIME.glob("*.h"))) + threads_text()


def precompiled_header(how: Sequence[str], includes: Sequence[str], headers: Sequence[str]) -> Path:
    """A header of the lines `headers`, compiled once per compiler, flags (`how`) and header texts."""
    compiler = find_compiler()
    key = key_of("precompiled", compiler.path, compiler.version, cpu_model(), tuple(how), tuple(includes),
                 tuple(headers), runtime_text())

    def build(folder: Path) -> None:
        header = folder / "all.h"
        header.write_text("".join(headers))
        run((compiler.path, *how, *includes, "-x", "c++-header", str(header), "-o", f"{header}.gch"), code="SG505")

    return publish(key, build) / "all.h"


def _included(blas: BlasLibrary | None, own: bool, real: bool) -> tuple[tuple[str, ...], list[str]]:
    """Where headers are, and the lines that include those of a program. own: for the tuned target, whose programs need
    our own ones instead of DaCe's. real: without complex numbers."""
    includes = (*include_flags(), *(blas.compile_flags() if blas else ()))
    files = ["omp.h", "sdfgad.h"] if own else ["dace/dace.h"]
    lines = [f'#include "{name}"\n' for name in (*files, *(["sdfgad_linalg.h"] if blas else []))]
    return includes, [*([REAL] if real else []), *lines]


def common_entries() -> list[Path]:
    """The folders in the cache of what all programs share: headers without and with complex numbers and BLAS, and
    threads."""
    kinds = ((None, True), (None, False), (find_blas(), False))
    shared = [precompiled_header(flags(), *_included(blas, own=True, real=real)) for blas, real in kinds]
    return [file.parent for file in (*shared, *thread_files())]


def compile_source(folder: Path, source: str, meta: Meta, uses_blas: bool, more: Sequence[str] = (),
                   how: Sequence[str] | None = None) -> None:
    """Compile `source` into `folder` and describe it there. how: the flags, when it is to be compiled by itself."""
    write_meta(folder, meta)
    object = compile_object(folder, source, uses_blas, more, how)
    run((find_compiler().path, *more, str(object), "-shared", "-o", str(folder / LIBRARY), *link_flags(),
         *(find_blas().link_flags() if uses_blas else ())), code="SG505", help=_DEFECT)
    object.unlink()
    remember_compiler()


def compile_object(folder: Path, source: str, uses_blas: bool, more: Sequence[str] = (),
                   how: Sequence[str] | None = None) -> Path:
    """The first half of that: the object file, beside the source."""
    includes, headers = _included(find_blas() if uses_blas else None, own=how is None, real=source.startswith(REAL))
    how = how or flags()
    header = precompiled_header(how, includes, headers)
    (folder / SOURCE).write_text(source)
    object = folder / OBJECT
    run((find_compiler().path, *how, *more, *includes, "-include", str(header), "-c", str(folder / SOURCE),
         "-o", str(object)), code="SG505", help=_DEFECT)
    return object


def write_meta(folder: Path, meta: Meta) -> None:
    """Put a description next to a library."""
    (folder / META).write_text(json.dumps(asdict(meta)))


def read_meta(folder: Path) -> Meta:
    """The description next to a library."""
    stored = json.loads((folder / META).read_text())
    return Meta(stored["entry"], tuple(stored["arguments"]), stored["transient_bytes"])
