"""The BLAS in use: found, declared under plain names, linked by full path, right results."""

from __future__ import annotations

import subprocess
from pathlib import Path

import numpy as np
import pytest

from sdfgad import ToolchainError
from sdfgad.codegen.compiling import blas
from sdfgad.codegen.compiling.toolchain import find_compiler, run

PROGRAM = r"""
#include "sdfgad_blas.h"
#include <cstdio>
int main() {
    double A[6] = {1, 2, 3, 4, 5, 6}, B[6] = {1, 0, 2, -1, 0, 3}, C[4] = {};
    cblas_dgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, 2, 2, 3, 1.0, A, 3, B, 2, 0.0, C, 2);
    for (double c : C) printf("%.17g ", c);
    double S[4] = {4, 2, 2, 5};
    if (LAPACKE_dpotrf(LAPACK_ROW_MAJOR, 'L', 2, S, 2)) return 1;
    printf("%.17g %.17g %.17g ", S[0], S[2], S[3]);
    double M[4] = {0, 2, 3, 4}; lapack_int pivots[2];
    if (LAPACKE_dgetrf(LAPACK_ROW_MAJOR, 2, 2, M, 2, pivots)) return 1;
    printf("%.17g %.17g %.17g %.17g %d ", M[0], M[1], M[2], M[3], int(pivots[0]));
    std::complex<double> H[1] = {{9.0, 0.0}};
    if (LAPACKE_zpotrf(LAPACK_ROW_MAJOR, 'L', 1, H, 1)) return 1;
    std::complex<double> one = 1.0, x[1] = {{0, 2}}, y[1] = {};
    cblas_zaxpy(1, &one, x, 1, y, 1);
    printf("%.17g %.17g", H[0].real(), y[0].imag());
    int I = 0;  // C's complex.h would have made I a macro
    return I;
}
"""


def _build(library: blas.BlasLibrary, folder: Path) -> Path:
    source, program = folder / "try.cpp", folder / "try"
    source.write_text(PROGRAM)
    run((find_compiler().path, *library.compile_flags(), str(source), "-o", str(program), *library.link_flags()),
        code="SG505")
    return program


def test_a_program_calls_blas_and_lapacke(tmp_path: Path) -> None:
    printed = subprocess.run([_build(blas.find_blas(), tmp_path)], capture_output=True, text=True, check=True).stdout
    expected = [5, 7, 14, 13, 2, 1, 2, 3, 4, 0, 2, 2, 3, 2]
    np.testing.assert_allclose([float(word) for word in printed.split()], expected, rtol=1e-15)


def test_the_wheel_comes_first_and_its_names_are_plain() -> None:
    library = blas.find_blas()
    assert library.name == blas.WHEEL
    text = (Path(library.include_dirs[0]) / library.header).read_text()
    assert "#define cblas_dgemm scipy_cblas_dgemm" in text
    assert "#define LAPACKE_zgetrf scipy_LAPACKE_zgetrf" in text


def test_the_header_is_written_once() -> None:
    assert blas.find_blas() == blas.find_blas()


def test_the_size_of_its_thread_pool() -> None:
    assert blas.threads() >= 1


def test_without_any_library_the_error_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(blas, "wheel_blas", lambda: None)
    monkeypatch.setattr(blas, "_SYSTEM_ROOTS", ())
    monkeypatch.delenv("OPENBLAS_ROOT", raising=False)
    monkeypatch.delenv("CONDA_PREFIX", raising=False)
    with pytest.raises(ToolchainError, match=r"SG502.*no BLAS library(.|\n)*pip install scipy-openblas32"):
        blas.find_blas()


def test_a_broken_library_is_an_error_and_not_a_crash(tmp_path: Path) -> None:
    fake = tmp_path / "libopenblas.so"
    fake.write_text("not a library")
    with pytest.raises(ToolchainError, match="SG502"):
        blas._function(str(fake), "openblas_get_num_threads")
    assert not blas._has(fake, "LAPACKE_dpotrf")
