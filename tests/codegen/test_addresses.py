"""Loops over two arrays of one block of memory whose strides are multiples of each other, as a compiler makes them."""
from __future__ import annotations

import ctypes
import subprocess
from pathlib import Path

import numpy as np
import pytest

from sdfgad.codegen.compiling import build
from sdfgad.codegen.compiling.toolchain import find_compiler

N = 33
TEXT = """#include <cstdint>
__attribute__((noinline, noclone)) static void piece(double *base) {
    double *r = base + 1000, *c = base + 9000;
    for (int64_t i = 0; i < 33; i++)
        for (int64_t j = 0; j < 33; j++)
            if (c[33 * i + j] > 0) r[130 * i + 2 * j] += c[33 * i + j];
}
extern "C" void scatter(double *base) { piece(base); }
"""
"""A piece of a program as the compiler sees it: both arrays lie in one block, and the branch keeps it from vectors."""


@pytest.mark.optimised
@pytest.mark.parametrize("plain", [False, True], ids=["flags", "plain"])
def test_arrays_of_one_block_keep_their_addresses(tmp_path: Path, plain: bool) -> None:
    source, library = tmp_path / "scatter.cpp", tmp_path / "scatter.so"
    source.write_text(TEXT)
    how = build.PLAIN if plain else build.flags()
    subprocess.run([find_compiler().path, *how, "-shared", str(source), "-o", str(library)], check=True)
    start = np.sin(np.arange(20000) * 1.7)
    found = start.copy()
    ctypes.CDLL(str(library)).scatter(found.ctypes.data_as(ctypes.c_void_p))
    i, j = np.indices((N, N))
    added = start[9000 + 33 * i + j]
    start[1000 + 130 * i + 2 * j] += np.maximum(added, 0.0)
    np.testing.assert_array_equal(found, start)
