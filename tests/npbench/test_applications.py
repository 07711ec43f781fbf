"""The applications: what they compute, and their gradients against differences and the forward mode at tiny sizes."""
from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import sdfgad
from npbench_suite.applications import generated, jax_ports, load, lulesh, names
from sdfgad.testing import check_grads

QUICK = ("minibude_loops", "ocean_state", "rsbench", "xsbench")
"""Of those checked in full by the slow group."""


@pytest.mark.parametrize("name", names())
def test_an_application_runs_and_starts_afresh(name: str) -> None:
    application = load(name)
    first, second = (application.program(**application.at("tiny")) for _ in range(2))
    assert np.isfinite(first)
    assert first == second
    assert set(application.wrt) <= set(application.at("tiny"))
    assert "usual" in application.sizes


def test_an_unknown_application_is_named() -> None:
    with pytest.raises(KeyError, match="lulesh"):
        load("nothing")


def test_the_blast_is_the_same_in_all_directions() -> None:
    """The mesh and the energy are: a scheme that mixes up its corners is not."""
    start = lulesh.arguments(3, 4)
    size = (4, 4, 4)
    x, y, z = (start[name].reshape(size) for name in "xyz")
    np.testing.assert_array_equal(x, y.transpose(0, 2, 1))
    swapped = {**start, "x": start["x"] * 1.0}
    assert lulesh.blast(**swapped) == lulesh.blast(**start)
    volumes = lulesh.volume(*(start[name][start["corners"]] for name in "xyz"))
    np.testing.assert_allclose(volumes, (1.125 / 3) ** 3)
    np.testing.assert_array_equal(x, z.transpose(2, 1, 0))


@pytest.mark.slow
@pytest.mark.parametrize("name", names())
def test_gradients_of_applications(name: str) -> None:
    application = load(name)
    check_grads(application.program, *application.at("tiny").values(), wrt=application.wrt)


@pytest.mark.parametrize("name", QUICK)
def test_gradients_are_slopes_along_a_direction(name: str) -> None:
    application = load(name)
    given = application.at("tiny")
    rng, step = np.random.default_rng(7), 1e-6
    towards = {n: given[n] * rng.standard_normal(np.shape(given[n])) for n in application.wrt}

    def value(distance: float) -> float:
        moved = {n: given[n] + distance * direction for n, direction in towards.items()}
        return application.program(**{**application.at("tiny"), **moved})

    found, gradients = sdfgad.value_and_grad(application.program, wrt=application.wrt)(**application.at("tiny"))
    assert found == pytest.approx(value(0.0), rel=1e-10)
    slope = (value(step) - value(-step)) / (2 * step)
    assert sum(np.sum(gradients[n] * d) for n, d in towards.items()) == pytest.approx(slope, rel=1e-6)


def test_the_styles_of_minibude_agree() -> None:
    styles = [load(name) for name in names() if name.startswith("minibude")]
    values = [style.program(**style.at("tiny")) for style in styles]
    np.testing.assert_allclose(values, values[0], rtol=1e-12)


def test_the_ports_are_those_that_applications_name() -> None:
    files = {file.stem for file in Path(jax_ports.__file__).parent.glob("*.py")} - {"__init__"}
    assert files == {name for name in names() if load(name).ported}
    with pytest.raises(LookupError, match="d2q9"):
        load("d2q9").jax_port()


@pytest.mark.parametrize("style", generated.STYLES)
def test_generated_programs_have_the_statements_asked_for(style: str, tmp_path: Path) -> None:
    program = generated.program(style, 12, tmp_path)
    assert np.isfinite(program(**generated.arguments(8, 2)))
    assert generated.source(style, 12) == generated.source(style, 12)
    lines = generated.source(style, 12).split("for _ in range(steps):")[1].splitlines()
    assert sum(line.startswith("        ") for line in lines) == 12
