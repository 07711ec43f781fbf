"""What the generated gradients of the suite look like: no atomic update, no callback, matrix products by BLAS."""
from __future__ import annotations

import re

import numpy as np
import pytest

from npbench_suite.harness.case import wanted
from npbench_suite.kernel import load, names
from sdfgad.calls.arguments import bind
from sdfgad.codegen.cpu.generate import source
from sdfgad.codegen.cpu.lower import lower
from sdfgad.verbs.pipeline import Derivative, Request, derive
from tests.support.thresholds import change

GRADIENTS = [name for name in names() if load(name).gradient != "none"]
# OpenMP's, the compiler's and the library's, and the updates that DaCe makes of conflicting writes.
ATOMIC = re.compile(r"atomic", re.IGNORECASE)
STORES_NOTHING = ("lu", "cholesky", "trisolv", "jacobi_2d", "heat_3d", "fdtd_2d", "seidel_2d", "gemm", "syrk")


def gradient_of(name: str) -> Derivative:
    kernel = load(name)
    bound = bind(kernel.program, (), kernel.sample(np.random.default_rng(0), 0))
    return derive(kernel.program, bound, Request(kernel.wrt, kernel.output, "sum"))


@pytest.mark.parametrize("name", GRADIENTS)
def test_no_atomics(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """With everything in parallel that can be, at sizes at which it is. Not even a sum into elements that data choose
    needs one: there each block of terms has a copy of its own."""
    change(monkeypatch, parallel_work=0)
    kernel = load(name)
    bound = bind(kernel.program, (), kernel.initialize(**kernel.sizes("S")))
    made = derive(kernel.program, bound, Request(wanted(kernel), kernel.output, "sum"))
    text = source(lower(made.program, made.keep))
    assert "#pragma omp parallel" in text
    assert not ATOMIC.findall(text)
    assert "pyobject" not in text


@pytest.mark.parametrize("update", [
    "#pragma omp atomic\nx[i] += y;", "__atomic_fetch_add(&n, 1, __ATOMIC_RELAXED);",
    "std::atomic_ref<double>(x) += y;",
    "dace::wcr_fixed<dace::ReductionType::Sum, double>::reduce_atomic(x, y);",
])
def test_what_counts_as_atomic(update: str) -> None:
    assert ATOMIC.search(update)


@pytest.mark.parametrize("name", STORES_NOTHING)
def test_nothing_is_stored(name: str) -> None:
    """Every value the reverse sweep of these reads is intact, or none is read at all."""
    assert gradient_of(name).plan.problem.items == ()


@pytest.mark.parametrize("name", ["lu", "cholesky", "trisolv"])
def test_factorisations_need_no_more_than_a_matrix(name: str) -> None:
    made = gradient_of(name)
    n = max(max(a.shape, default=1) for a in made.program.arrays.values())
    assert all(int(np.prod(a.shape)) <= n * n for a in made.program.arrays.values())


@pytest.mark.parametrize("name", ["gemm", "k2mm", "k3mm", "atax", "mvt"])
def test_products_are_library_calls(name: str) -> None:
    kernel = load(name)
    sizes = {k: max(24, v // 20) for k, v in kernel.sizes("S").items()}
    bound = bind(kernel.program, (), kernel.initialize(**sizes))
    made = derive(kernel.program, bound, Request(kernel.wrt, kernel.output, seeds=True))
    assert lower(made.program, made.keep).uses_blas


def test_the_gradient_of_a_plain_sum_of_a_product_needs_sums_only() -> None:
    kernel = load("gemm")
    bound = bind(kernel.program, (), kernel.initialize(NI=30, NJ=40, NK=50))
    made = derive(kernel.program, bound, Request(kernel.wrt, kernel.output, "sum"))
    assert not lower(made.program, made.keep).uses_blas
