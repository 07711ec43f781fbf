"""Generated code under ThreadSanitizer: which accesses of two threads meet without a wait between them."""
from __future__ import annotations

import re
import struct
import subprocess
import tempfile
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

import numpy as np

from sdfgad.calls.arguments import Bound
from sdfgad.calls.bindings import bindings
from sdfgad.codegen.compiling.blas import find_blas
from sdfgad.codegen.compiling.build import FLAGS, include_flags, runtime_text
from sdfgad.codegen.compiling.cache import key_of, publish
from sdfgad.codegen.compiling.toolchain import find_compiler
from sdfgad.codegen.cpu.generate import source
from sdfgad.codegen.cpu.lower import lower
from sdfgad.ir.program import Array, Program
from sdfgad.ir.walk import all_writes
from sdfgad.verbs.pipeline import Derivative

THREADS = 3
RESULTS = ("alone", "several")
FOR_TAPES = 1 << 20
"""Bytes; tapes that need more look for themselves."""
PLAIN = Path(__file__).parent / "threads" / "plain_threads.cpp"
WATCHED = (*(f for f in FLAGS if f != "-O3"), "-O1", "-g1", "-fsanitize=thread")
HEADERS = '#include "sdfgad.h"\n'
_PLACE = re.compile(r"program\.cpp:(\d+)")


@dataclass(frozen=True)
class Found:
    """What a run under the sanitizer has shown. races: lines of the generated code that meet; differs: by array the
    largest difference to a run with one thread, in terms of the largest element, where there is one; parallel: whether
    there was anything to watch."""

    races: tuple[str, ...] = ()
    differs: Mapping[str, float] = field(default_factory=dict)
    parallel: bool = True
    report: str = ""


@cache
def unavailable() -> str:
    """Why nothing can be watched on this machine; empty where it can."""
    with tempfile.TemporaryDirectory() as folder:
        program = Path(folder) / "program.cpp"
        program.write_text('extern "C" { void* sg_open() { return 0; } void sg_close(void*) {}\n'
                           "int sg_call(void*, void**, int, long) { return 0; } }\n")
        (Path(folder) / "arguments").write_bytes(b"")
        try:
            made = _compiled(Path(folder), ("-std=c++20", "-fsanitize=thread"), ())
            done = _run(made, Path(folder))
        except (subprocess.CalledProcessError, OSError) as error:
            return f"no ThreadSanitizer: {error}"
        return "" if done.returncode == 0 else f"ThreadSanitizer does not run: {done.stderr[-300:]}"


def watch(program: Program, results: Iterable[str], memory: Mapping[str, np.ndarray], folder: Path,
          loose: Collection[str] = ()) -> Found:
    """Run a program once, with several threads. memory: the arrays that its caller passes, which stay as they are."""
    lowered = lower(program, tuple(results), loose)
    text = source(lowered)
    if "#pragma omp parallel" not in text:
        return Found(parallel=False)
    (folder / "program.cpp").write_text(HEADERS + text)
    with (folder / "arguments").open("wb") as file:
        for name in lowered.arguments:
            array = program.arrays[name]
            value = np.ascontiguousarray(program.constants.get(name, memory.get(name)), array.dtype)
            file.write(struct.pack("<Q", value.nbytes) + value.tobytes())
    blas = find_blas() if lowered.uses_blas else None
    includes = (*include_flags(), *(blas.compile_flags() if blas else ()))
    made = _compiled(folder, (*WATCHED, *includes, "-include", str(_header(includes))),
                     blas.link_flags() if blas else ())
    done = _run(made, folder, lowered.held.arena.bytes + FOR_TAPES)
    if done.returncode not in (0, 66):
        raise RuntimeError(f"exit status {done.returncode}: {done.stdout} {done.stderr[-1000:]}")
    lines = (HEADERS + text).splitlines()
    meeting = sorted({int(n) for part in done.stderr.split("WARNING: ThreadSanitizer")[1:]
                      for n in _PLACE.findall(part)[:2]})
    races = tuple(f"{n}: {lines[n - 1].strip()}" for n in meeting) or (done.stderr,) * (done.returncode == 66)
    return Found(races, _differences(folder, [program.arrays[n] for n in lowered.arguments]), True, done.stderr)


def _differences(folder: Path, arrays: Sequence[Array]) -> dict[str, float]:
    found = {}
    alone, several = ((folder / name).read_bytes() for name in RESULTS)
    place = 0
    for array in arrays:
        one, other = (np.frombuffer(data, array.dtype, array.bytes // array.dtype.itemsize, place)
                      for data in (alone, several))
        place += array.bytes
        if one.tobytes() != other.tobytes():
            kind = np.complex128 if array.dtype.kind == "c" else np.float64
            gap, most = np.abs(one.astype(kind) - other.astype(kind)), np.abs(one.astype(kind))
            found[array.name] = float(np.nanmax(gap, initial=0) / max(np.nanmax(most, initial=0), 1e-300))
    return found


def watch_gradient(made: Derivative, bound: Bound, folder: Path) -> Found:
    """Run a gradient once on the arguments it was derived for."""
    program = made.program
    written = frozenset(program.arguments) & all_writes(program.body)
    memory = bindings(program, made.parsed, made.keep, written).fill(bound, frozenset(), None)
    return watch(program, made.keep, memory, folder, frozenset((*made.keep, *program.arguments)))


@cache
def _header(includes: tuple[str, ...]) -> Path:
    """The headers that programs share, compiled once."""
    def build(folder: Path) -> None:
        (folder / "all.h").write_text(HEADERS)
        _call(find_compiler().path, *WATCHED, *includes, "-x", "c++-header", str(folder / "all.h"), "-o",
              str(folder / "all.h.gch"))

    return publish(key_of("watched", find_compiler().version, WATCHED, includes, runtime_text()), build) / "all.h"


def _compiled(folder: Path, flags: Iterable[str], libraries: Iterable[str]) -> Path:
    """The program with plain threads in place of our own, which are not linked."""
    compiler, objects = find_compiler().path, (folder / "program.o", folder / "threads.o")
    _call(compiler, *flags, "-c", str(folder / "program.cpp"), "-o", str(objects[0]))
    _call(compiler, "-std=c++20", "-O1", "-fsanitize=thread", "-c", str(PLAIN), "-o", str(objects[1]))
    _call(compiler, "-fsanitize=thread", *map(str, objects), *libraries, "-o", str(folder / "program"))
    return folder / "program"


def _call(*command: str) -> None:
    subprocess.run(command, check=True, capture_output=True, text=True, timeout=600)


def _run(made: Path, folder: Path, room: int = 0) -> subprocess.CompletedProcess[str]:
    words = (made, folder / "arguments", THREADS, room, *(folder / n for n in RESULTS))
    return subprocess.run([*map(str, words)], capture_output=True, text=True, timeout=600, check=False)
