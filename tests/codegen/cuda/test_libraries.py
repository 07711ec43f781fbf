"""Library operations on the device: by stand-ins for NVIDIA's libraries, against the processor's own target."""
from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest

import sdfgad
from sdfgad.codegen.compiling.build import LIBRARY, RUNTIME
from sdfgad.codegen.compiling.toolchain import find_compiler
from sdfgad.errors import MemoryLimitError, ToolchainError
from sdfgad.thresholds import thresholds
from tests.codegen.cuda.test_gradients import agree
from tests.support.on_cpu import counts, in_order, on_cpu, running_here
from tests.support.thresholds import change


@pytest.fixture(autouse=True)
def only_libraries(monkeypatch: pytest.MonkeyPatch) -> None:
    """Small matrices are the libraries', too (`test_systems.py` has them in threads)."""
    change(monkeypatch, device=replace(thresholds().device, system=0))


def weighted(y: np.ndarray) -> float:
    """A sum in which all elements, and both parts, count differently."""
    k = np.arange(y.size).reshape(y.shape)
    return np.sum(np.real(y) * np.cos(k)) + np.sum(np.imag(y) * np.sin(0.3 + k))


def factors(a: np.ndarray, b: np.ndarray) -> float:
    """Factorisations and systems, of blocks and of a transposed matrix, one of them for a vector."""
    s = a[:4, :4] @ a[:4, :4].T + 3.0 * np.eye(4)
    total = weighted(np.linalg.cholesky(s)) + weighted(np.linalg.solve(a[1:, 1:], b[1:])) + np.linalg.det(a)
    return total + weighted(np.linalg.inv(s.T)) + weighted(np.linalg.solve(a.T, b[:, 1])) + np.linalg.slogdet(s)[1]


def spectra(a: np.ndarray, b: np.ndarray) -> float:
    """Decompositions of symmetric, tall and wide matrices."""
    values, vectors = np.linalg.eigh(a[:4, :4])
    left, sizes, right = np.linalg.svd(b, full_matrices=False)
    wide = np.linalg.svd(b.T, full_matrices=False)
    q, r = np.linalg.qr(b)
    total = weighted(values) + weighted(np.abs(vectors)) + weighted(np.abs(left)) + weighted(sizes * np.abs(right[0]))
    total += weighted(np.abs(wide[0]) * wide[1]) + weighted(np.abs(wide[2]))
    return total + weighted(q) + weighted(r) + weighted(np.linalg.pinv(b))


def signals(z: np.ndarray, x: np.ndarray) -> float:
    """Transforms along both axes, of every other element, inverse ones; sorting."""
    y = np.fft.fft(z, axis=0) + np.fft.ifft(z * x) * 3.0
    total = weighted(np.fft.fft(z[:, ::2])) + weighted(np.abs(np.fft.ifft(y, axis=0)))
    return total + weighted(np.sort(x.ravel())) + weighted(np.cumsum(np.sort(x, axis=0)[::-1]))


def systems(z: np.ndarray, x: np.ndarray) -> float:
    """Complex products and systems, in single precision, of blocks that loops and data choose."""
    y = z.astype(np.complex64) @ np.conj(z.astype(np.complex64).T)
    total = np.float64(weighted(y.astype(np.complex128)))
    k = np.argmax(x[:, 0])
    for i in range(2):
        total = total + weighted(np.linalg.solve(z[:3, 2 * i:2 * i + 3] + 9.0 * np.eye(3), x[k, i:i + 3]))
    return total


def several(z: np.ndarray, x: np.ndarray) -> float:
    """Products of several matrices, with a temporary for each, and with one factor for all."""
    a, b = x.reshape(4, 2, 3), np.real(z).reshape(4, 3, 2)
    y = np.sin(a @ b) @ (a[:, :, 1:] * 0.5)
    return weighted(y) + weighted(np.cos(a[::-1] @ b[1]) * a[..., :2])


def _cases() -> dict[str, tuple[Callable[..., float], tuple[np.ndarray, ...]]]:
    rng = np.random.default_rng(9)
    a, b = rng.random((5, 5)) + 4 * np.eye(5), rng.random((5, 3))
    z = rng.normal(size=(4, 6)) + 1j * rng.normal(size=(4, 6))
    return {"factors": (factors, (a, b)), "spectra": (spectra, (a, b)), "signals": (signals, (z, rng.random((4, 6)))),
            "systems": (systems, (z, rng.random((4, 6)))), "several": (several, (z, rng.random((4, 6))))}


CASES = _cases()
LONG = ("spectra", "systems")
"""Those that take the compilers longest."""


@pytest.mark.parametrize("name", [pytest.param(n, marks=pytest.mark.slow) if n in LONG else n for n in CASES])
def test_operations(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Values and gradients; every product of matrices is one of the library's."""
    function, arguments = CASES[name]
    value, expected = sdfgad.value_and_grad(function)(*(a.copy() for a in arguments))
    change(monkeypatch, device=replace(thresholds().device, library_product=1))
    digits = 1e-5 if name == "systems" else 1e-10
    texts: list[str] = []
    with running_here(on_cpu(lambda text: texts.append(text) or text)), in_order(2):
        both = sdfgad.value_and_grad(function)
        found, gradient = both(*(a.copy() for a in arguments))
        plan = both.measure(*(a.copy() for a in arguments))
    assert plan.measured.device_bytes == plan.predicted.peak_bytes
    assert ("gemm_batched(" in texts[0]) == (name == "several")
    assert abs(found - value) <= digits * abs(value)
    for key in expected.keys():
        if name == "systems":
            np.testing.assert_allclose(gradient[key], expected[key], rtol=1e-4, atol=1e-4)
        else:
            agree(gradient[key], expected[key])


def test_the_other_mode() -> None:
    """Through a factor, by solves from both sides, and through sorting."""
    def function(a: np.ndarray) -> np.ndarray:
        return np.linalg.cholesky(a @ a.T) @ np.sort(a[0])

    a = np.random.default_rng(3).random((3, 3)) + 2 * np.eye(3)
    expected = sdfgad.jvp(function, (a,), (np.cos(a),))
    with running_here():
        for one, other in zip(sdfgad.jvp(function, (a,), (np.cos(a),)), expected, strict=True):
            agree(one, other)


def stepwise(a: np.ndarray, limit: float) -> float:
    """Factorisations in a loop, none of which the host waits for, and a decision behind them."""
    total = 0.0
    for k in range(3):
        total += np.sum(np.linalg.cholesky(a[k]))
    if total > limit:
        raise ValueError("large")
    return total


def test_a_matrix_without_factors(monkeypatch: pytest.MonkeyPatch) -> None:
    """As NumPy: before what is decided behind it; the next call is well. In the loop nobody waits."""
    a = np.stack([np.eye(3) * (k + 2.0) for k in range(3)])
    with running_here():
        gradient = sdfgad.grad(stepwise, wrt="a")
        expected = gradient(a, 100.0)
        for limit in (100.0, -1.0):
            bad = a.copy()
            bad[1, 2, 2] = -1.0
            with pytest.raises(np.linalg.LinAlgError, match="positive definite"):
                gradient(bad, limit)
        with pytest.raises(ValueError, match="large"):
            gradient(a, -1.0)
        library = next(iter(gradient._known.values()))[0].compiled().folder / LIBRARY
        counts(library)
        np.testing.assert_array_equal(gradient(a, 100.0), expected)
        assert counts(library)[1] <= 9
    np.testing.assert_allclose(expected[0], np.tril(sdfgad.grad(stepwise, wrt="a")(a, 100.0)[0]), rtol=1e-12)


def sizes(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    return np.linalg.eigh(a)[0] + np.linalg.svd(b, full_matrices=False)[1] * np.abs(np.linalg.qr(b)[1][0])


def test_values_that_do_not_converge() -> None:
    b = np.array([[1.0, 2.0], [0.5, -1.0], [3.0, 0.2]])
    with running_here():
        forward = sdfgad.forward(sizes)
        np.testing.assert_allclose(forward(np.diag([3.0, 1.0]), b), sizes(np.diag([3.0, 1.0]), b), rtol=1e-13)
        with pytest.raises(np.linalg.LinAlgError, match="converge"):
            forward(np.array([[1.0, 0.0], [np.nan, 1.0]]), b)


def test_sorting_keeps_equal_values_in_order() -> None:
    x = np.random.default_rng(1).integers(0, 9, 700).astype(float)
    x[[5, 600, 31]] = np.nan
    with running_here():
        found = sdfgad.forward(lambda x: np.argsort(x))(x)
    np.testing.assert_array_equal(found, np.argsort(x, kind="stable"))


@pytest.mark.parametrize("before, after, said", [
    (r"\.potrf\(int64_t\(3\), (\w+)", r".potrf(int64_t(3), (double *)malloc(999)", "not in the device's memory"),
    pytest.param(r"(\.potrf\(int64_t\(3\), \w+ \+ \([^)]*\)), 3", r"\1, 900000", "not in the device's memory",
                 marks=pytest.mark.slow),
    (r"sg::look\([^;]+;", "", None)])
def test_the_stand_ins_look(before: str, after: str, said: str | None) -> None:
    """Programs with one fault: memory of the host, rows beyond the end, trouble that nobody looks at."""
    def changed(text: str) -> str:
        text, times = re.subn(before, after, text)
        assert times
        return text

    a = np.eye(3)
    a[2, 2] = 2.0 if said else -1.0
    with running_here(on_cpu(changed)):
        forward = sdfgad.forward(lambda a: np.linalg.cholesky(a))
        if said is None:
            forward(a)
        else:
            with pytest.raises(ToolchainError, match=said):
                forward(a)


def test_a_matrix_without_a_factor_is_caught() -> None:
    """What the routine says decides, and is no trouble."""
    def factor(a: np.ndarray) -> float:
        noise = 1.0
        for _ in range(5):
            try:
                found = np.linalg.cholesky(a + noise * np.eye(3))
                break
            except np.linalg.LinAlgError:
                noise = noise * 2.0
        return np.sum(found * a)

    for least in (2.0, -5.0):
        a = np.diag([4.0, 3.0, least]) + 0.1
        expected = sdfgad.value_and_grad(factor)(a)
        with running_here():
            for one, other in zip(sdfgad.value_and_grad(factor)(a), expected, strict=True):
                agree(one, other)


def test_routines_work_in_what_the_plan_has() -> None:
    """One that asks for more takes more where there is no limit, which is measured, and is an error where there is."""
    def less(text: str) -> str:
        text, times = re.subn(r"(\.potrf\(.*), int64_t\(\d+\)\);", r"\1, int64_t(1));", text)
        assert times
        return text

    def factor(a: np.ndarray) -> float:
        return np.sum(np.linalg.cholesky(a) * a)

    a = 3.0 * np.eye(4) + 0.1
    with running_here(on_cpu(less)):
        gradient = sdfgad.grad(factor)
        plan = gradient.measure(a)
        asked = 8 * (5 * 4 + 3 * 4 + 1)
        assert plan.measured.device_bytes == plan.predicted.peak_bytes + asked
        with pytest.raises(MemoryLimitError, match=rf"SG303.*a Cholesky factorisation asks for {asked} bytes.* has 8;"):
            sdfgad.grad(factor, memory_limit="1MB")(a)


@pytest.mark.slow
def test_a_library_that_is_not_there() -> None:
    """In a process of its own, which has no stand-ins."""
    text = ("import numpy as np, sdfgad\nfrom tests.support.on_cpu import ON_CPU\n"
            "with sdfgad.config(target=ON_CPU):\n    sdfgad.forward(lambda a: np.linalg.cholesky(a))(np.eye(30))\n")
    done = subprocess.run([sys.executable, "-W", "ignore", "-c", text], capture_output=True, text=True, check=False)
    assert "UsageError: [SG210]" in done.stderr and "libcusolver.so.12" in done.stderr


def _headers() -> list[Path]:
    """Folders with headers of the toolkit or of its wheels."""
    found = [Path(os.environ.get("CUDA_HOME", "/usr/local/cuda"), "include"), *Path("/usr/local").glob("cuda*/include")]
    spec = find_spec("nvidia")
    for folder in (spec.submodule_search_locations or ()) if spec else ():
        found += sorted(Path(folder).glob("cu*/include"))
    return [f for f in found if f.is_dir()]


def test_the_types_of_functions_are_the_toolkit_s(tmp_path: Path) -> None:
    """Those that are declared here and those of NVIDIA's headers, one by one."""
    headers = _headers()
    if not all(any((f / name).is_file() for f in headers) for name in ("cublas_api.h", "cusolverDn.h", "cufft.h")):
        pytest.skip("the headers of NVIDIA's libraries are not here")
    source = tmp_path / "signatures.cpp"
    source.write_text(_SIGNATURES)
    declared = set(re.findall(r"using (\w+) = int\(", (RUNTIME / "sdfgad_gpu_libraries.h").read_text()))
    assert declared <= set(re.findall(r"\w+", _SIGNATURES))
    folders = [f"-I{f}" for f in (*headers, RUNTIME)]
    run = [find_compiler().path, "-std=c++20", "-w", "-fsyntax-only", *folders, str(source)]
    done = subprocess.run(run, capture_output=True, text=True, check=False)
    assert not done.returncode, done.stderr


_SIGNATURES = """
#include <cublas_v2.h>
#include <cusolverDn.h>
#include <cufft.h>
#define SG_DEVICE
#include "sdfgad_scalars.h"
#include <new>
namespace sg { inline void must(cudaError_t) {} }
#include "sdfgad_gpu_libraries.h"
namespace own = sg::library;
using Z = sg::Complex<double>;
using C = sg::Complex<float>;
// A type as the declarations here write it: enumerations are numbers, handles and descriptions pointers to nothing.
template <class T, class = void> struct Plain { using type = T; };
template <class T> struct Plain<T, std::enable_if_t<std::is_enum_v<T>>> { using type = int; };
template <> struct Plain<double2> { using type = Z; };
template <> struct Plain<float2> { using type = C; };
template <> struct Plain<cublasContext> { using type = void; };
template <> struct Plain<cusolverDnContext> { using type = void; };
template <class T> struct Plain<const T> { using type = const typename Plain<T>::type; };
template <class T> struct Plain<T *> { using type = typename Plain<T>::type *; };
template <class R, class... P> struct Plain<R(P...)> {
    using type = typename Plain<R>::type(typename Plain<P>::type...);
};
template <> struct Plain<cudaStream_t> { using type = cudaStream_t; };
template <class A, class B> constexpr bool same = std::is_same_v<typename Plain<A>::type, B>;
#define OF(function, ...) static_assert(same<decltype(function), __VA_ARGS__>, #function);
#define ALL(prefix, name, type) OF(prefix##S##name, own::type<float>) OF(prefix##D##name, own::type<double>) \\
    OF(prefix##C##name, own::type<C>) OF(prefix##Z##name, own::type<Z>)
#define REAL(name, type) OF(cusolverDnS##name, own::type<float>) OF(cusolverDnD##name, own::type<double>)
#define COMPLEX(name, type) OF(cusolverDnC##name, own::type<C>) OF(cusolverDnZ##name, own::type<Z>)
ALL(cublas, gemm_v2, Gemm) ALL(cublas, gemmStridedBatched, GemmStridedBatched) ALL(cublas, trsm_v2, Trsm)
ALL(cusolverDn, potrf_bufferSize, PotrfSize) ALL(cusolverDn, potrf, Potrf)
ALL(cusolverDn, getrf_bufferSize, GetrfSize) ALL(cusolverDn, getrf, Getrf) ALL(cusolverDn, getrs, Getrs)
ALL(cusolverDn, geqrf_bufferSize, GeqrfSize) ALL(cusolverDn, geqrf, Geqrf) ALL(cusolverDn, gesvd, Gesvd)
REAL(orgqr_bufferSize, OrgqrSize) COMPLEX(ungqr_bufferSize, OrgqrSize) REAL(orgqr, Orgqr) COMPLEX(ungqr, Orgqr)
REAL(syevd_bufferSize, SyevdSize) COMPLEX(heevd_bufferSize, SyevdSize) REAL(syevd, Syevd) COMPLEX(heevd, Syevd)
OF(cusolverDnDgesvd_bufferSize, own::GesvdSize) OF(cusolverDnZgesvd_bufferSize, own::GesvdSize)
OF(cublasCreate_v2, own::Create) OF(cublasDestroy_v2, own::Destroy) OF(cublasSetStream_v2, own::SetStream)
OF(cublasSetWorkspace_v2, own::SetWorkspace)
OF(cusolverDnCreate, own::Create) OF(cusolverDnDestroy, own::Destroy) OF(cusolverDnSetStream, own::SetStream)
OF(cufftCreate, own::FftCreate) OF(cufftDestroy, own::FftDestroy) OF(cufftSetStream, own::FftSetStream)
OF(cufftSetAutoAllocation, own::FftSetAutoAllocation) OF(cufftSetWorkArea, own::FftSetWorkArea)
OF(cufftMakePlanMany, own::FftMakePlanMany) OF(cufftExecC2C, own::FftExec<C>) OF(cufftExecZ2Z, own::FftExec<Z>)
static_assert(own::None == CUBLAS_OP_N && own::Transposed == CUBLAS_OP_T && own::Lower == CUBLAS_FILL_MODE_LOWER);
static_assert(own::Upper == CUBLAS_FILL_MODE_UPPER && own::Left == CUBLAS_SIDE_LEFT && own::Right == CUBLAS_SIDE_RIGHT);
static_assert(own::Vectors == CUSOLVER_EIG_MODE_VECTOR && own::SingleToSingle == CUFFT_C2C);
static_assert(own::DoubleToDouble == CUFFT_Z2Z && CUFFT_FORWARD == -1 && CUFFT_INVERSE == 1);
"""
