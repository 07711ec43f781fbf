"""A checksum of what an array holds, at the speed of memory: compiled once per compiler."""
from __future__ import annotations

import ctypes
from functools import lru_cache
from pathlib import Path

import numpy as np

from sdfgad.codegen.compiling.build import RUNTIME, runtime_text
from sdfgad.codegen.compiling.cache import key_of, publish
from sdfgad.codegen.compiling.toolchain import STANDARD, environment, find_compiler, run

_SOURCE = RUNTIME / "digest" / "digest.cpp"
_FLAGS = (STANDARD, "-O3", "-march=native", "-fPIC", "-shared", "-w")


def digest_of_array(array: np.ndarray) -> int:
    """That of `runtime/sdfgad_snapshots.h`: the same for equal bytes on any machine, and for others once in 2^64."""
    held = np.ascontiguousarray(array)
    return int(_library().sg_digest(ctypes.c_void_p(held.ctypes.data), ctypes.c_int64(held.nbytes)))


@lru_cache(maxsize=1)
def _library() -> ctypes.CDLL:
    def build(folder: Path) -> None:
        command = find_compiler().path, *_FLAGS, f"-I{RUNTIME}", str(_SOURCE), "-o", str(folder / "digest.so")
        run(command, code="SG505")

    key = key_of("digest", _SOURCE.read_text(), runtime_text(), _FLAGS, *environment())
    library = ctypes.CDLL(str(publish(key, build) / "digest.so"))
    library.sg_digest.restype = ctypes.c_uint64
    return library
