"""The other reverse mode, where it takes a program."""

from types import SimpleNamespace

import numpy as np
import pytest

pytestmark = pytest.mark.slow


def scale(n, a, x):
    y = np.zeros(n)
    for i in range(n):
        y[i] = np.sum(a[i, :]) * x[i]
    return y


def pair(a, x):
    return a @ x, x * 2.0


@pytest.mark.parametrize(("program", "output", "sizes", "expected"), [
    (scale, None, {"n": 3}, lambda a, x: (np.outer(x, np.ones(3)), a.sum(1))),
    (pair, (0, 1), {}, lambda a, x: (np.outer(np.ones(3), x), a.sum(0) + 2)),
])
def test_a_gradient_of_the_sum(tmp_path, monkeypatch, program, output, sizes, expected):
    measure_dace = pytest.importorskip("npbench_suite.harness.measure_dace")
    monkeypatch.chdir(tmp_path)
    generator = np.random.default_rng(0)
    kernel = SimpleNamespace(program=program, output=output, wrt=("a", "x"))
    arrays = {"a": generator.random((3, 3)), "x": generator.random(3)}
    call = measure_dace.built(kernel, sizes | arrays)
    for _ in range(2):
        values = measure_dace.fresh(arrays | {measure_dace.SCALAR: np.zeros(1)}, kernel.wrt)
        call(values)
        for name, gradient in zip("ax", expected(**arrays), strict=True):
            np.testing.assert_allclose(values[f"gradient_{name}"], gradient, rtol=1e-13)
