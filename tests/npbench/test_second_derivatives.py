"""Products with the Hessians of the programs: symmetric, and what differences of the gradient say."""

from __future__ import annotations

import numpy as np
import pytest

import sdfgad
from npbench_suite.kernel import load
from tests.npbench.calls import DIFFERENTIABLE, active, direction, paired, run, sample

QUICK = ("hdiff", "lu", "gemm", "spmv")
STEP = 1e-5


def cases():
    for name in DIFFERENTIABLE:
        yield pytest.param(name, id=name, marks=() if name in QUICK else pytest.mark.slow)


@pytest.mark.parametrize("name", cases())
def test_products_with_the_hessian(name):
    kernel = load(name)
    arguments, names = sample(kernel, 0, wide=True), active(kernel)
    options = {"wrt": names, "output": kernel.output, "reduce": "sum"}
    one, other = direction(kernel, arguments, 7), direction(kernel, arguments, 9)
    by_one, by_other = (sdfgad.hvp(kernel.program, tuple(arguments.values()), along, **options)
                        for along in (one, other))

    # Where all is linear, or a sum stays the same, what is left is rounding.
    gradient = sdfgad.grad(kernel.program, **options)
    least = 1e-13 * sum(float(np.sum(np.abs(part))) for part in (*gradient(*arguments.values()),
                                                                  *run(kernel, arguments)[0]))
    terms = sum(float(np.sum(np.abs(np.asarray(by_one[n]) * other[n]))) for n in names)
    left, right = (paired([h[n] for n in names], [d[n] for n in names]) for h, d in ((by_one, other), (by_other, one)))
    assert abs(left - right) <= 1e-10 * terms + least

    def moved(step):
        return gradient(*(v + step * one[n] if n in one else v for n, v in arguments.items()))

    above, below = moved(STEP), moved(-STEP)
    for n in names:
        expected = (np.asarray(above[n]) - below[n]) / (2 * STEP)
        scale = float(np.max(np.abs(expected), initial=0.0)) + least / STEP
        np.testing.assert_allclose(by_one[n], expected, rtol=0.0, atol=1e-5 * scale + least / STEP, err_msg=n)
