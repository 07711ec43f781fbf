"""The correctness traps: value, gradient, both modes, repeated calls, untouched inputs, one and two threads."""
from __future__ import annotations

import numpy as np
import pytest

import sdfgad
from sdfgad.frontend import parse
from tests.support.oracle import numerical_gradient, program_gradient, program_tangent
from tests.support.traps import TRAPS

if not TRAPS:
    pytest.skip("the traps do not lie beside this checkout", allow_module_level=True)

every_trap = pytest.mark.parametrize("trap", TRAPS.values(), ids=TRAPS.keys())


def test_there_are_traps():
    assert len(TRAPS) >= 21


@every_trap
def test_compiled(trap):
    x = trap.x.copy()
    expected = trap.program(trap.x.copy())
    function = sdfgad.value_and_grad(trap.program)
    value, found = function(x)
    np.testing.assert_allclose(value, expected, rtol=1e-14)
    np.testing.assert_allclose(found, trap.gradient, rtol=1e-6, atol=1e-6)
    np.testing.assert_array_equal(x, trap.x, err_msg="the input was changed")
    numerical = numerical_gradient(trap.program, [trap.x])
    np.testing.assert_allclose(found, numerical, rtol=1e-7, atol=1e-7)
    again, repeated = function(x)
    assert again == value
    np.testing.assert_array_equal(repeated, found)
    for direction in (np.ones_like(x), np.linspace(-1, 2, x.size)):
        _, pushed = sdfgad.jvp(trap.program, (x,), (direction,))
        np.testing.assert_allclose(pushed, found @ direction, rtol=1e-12, atol=1e-12)


@every_trap
def test_the_number_of_threads_does_not_matter(trap):
    function = sdfgad.value_and_grad(trap.program)
    results = []
    for threads in (1, 2):
        with sdfgad.config(num_threads=threads):
            results.append(function(trap.x))
    np.testing.assert_allclose(results[0][0], results[1][0], rtol=1e-13)
    np.testing.assert_allclose(results[0][1], results[1][1], rtol=1e-13, atol=1e-13)


@every_trap
def test_interpreted(trap):
    parsed = parse(trap.program, (trap.x,))
    held = {parsed.traced["x"]: trap.x.copy()}
    name = parsed.traced["x"]
    value, found = program_gradient(parsed.program, held, [name])
    np.testing.assert_allclose(value, trap.program(trap.x.copy()), rtol=1e-14)
    np.testing.assert_allclose(found[name], trap.gradient, rtol=1e-6, atol=1e-6)
    _, pushed = program_tangent(parsed.program, held, {name: np.ones_like(trap.x)})
    np.testing.assert_allclose(pushed, found[name].sum(), rtol=1e-12, atol=1e-12)
