"""Gradients of the programs: central differences in joint and single directions, forward against reverse mode."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache, cached_property
from typing import Any

import numpy as np
import pytest

import sdfgad
from npbench_suite.kernel import Kernel, load, names
from tests.npbench.calls import DIFFERENTIABLE, SIZES, active, direction, factors, paired, run, sample, slopes

CASES = [pytest.param((name, size), id=f"{name}-{size}", marks=pytest.mark.slow if size else ())
         for name in DIFFERENTIABLE for size in SIZES]
SOME = [pytest.param((name, size), id=f"{name}-{size}", marks=pytest.mark.slow if size or k % 4 else ())
        for k, name in enumerate(DIFFERENTIABLE) for size in SIZES]
"""A compilation more for each of them."""


@dataclass(frozen=True)
class Case:
    """A program at one of its samples, in double precision."""

    kernel: Kernel
    arguments: Mapping[str, Any]

    @cached_property
    def outputs(self) -> list[np.ndarray]:
        return run(self.kernel, self.arguments)[0]

    @cached_property
    def seeds(self) -> dict[str, list[np.ndarray]]:
        """The plain sum cannot see all errors: the outputs of a softmax always add up to the number of rows."""
        return {"sum": [np.ones_like(output) for output in self.outputs], "weighted": factors(self.outputs)}

    @cached_property
    def gradients(self) -> dict[str, dict[str, Any]]:
        """By objective and argument, all through one pullback."""
        values = self.arguments.values()
        wanted = active(self.kernel)
        _, pullback = sdfgad.vjp(self.kernel.program, *values, wrt=wanted, output=self.kernel.output)
        several = isinstance(self.kernel.output, tuple)
        pulled = {name: pullback(tuple(seed) if several else seed[0]) for name, seed in self.seeds.items()}
        return {name: {one: gradient[one] for one in wanted} for name, gradient in pulled.items()}

    def check(self, along: Mapping[str, Any]) -> None:
        """Both objectives against central differences."""
        found = slopes(self.kernel, self.arguments, along, list(self.seeds.values()))
        for name, one in zip(self.seeds, found, strict=True):
            assert one.error(self.gradients[name], along) < 1e-6, name


@pytest.fixture(scope="module", params=CASES)
def case(request: pytest.FixtureRequest) -> Case:
    return case_of(*request.param)


@cache
def case_of(name: str, size: int) -> Case:
    kernel = load(name)
    return Case(kernel, sample(kernel, size, wide=True))


def test_every_program_is_covered() -> None:
    assert set(names()) - set(DIFFERENTIABLE) == {"crc16", "nussinov"}
    assert len(DIFFERENTIABLE) == 52


@pytest.mark.parametrize("name", ["crc16", "nussinov"])
def test_a_program_without_floating_input_is_refused(name: str) -> None:
    kernel = load(name)
    with pytest.raises(sdfgad.UsageError, match="no argument is a floating or complex array"):
        sdfgad.grad(kernel.program, output=kernel.output, reduce="sum")(*sample(kernel, 0).values())


@pytest.mark.parametrize("seed", [7, 8, 9])
def test_joint_directions(case: Case, seed: int) -> None:
    case.check(direction(case.kernel, case.arguments, seed))


def test_single_directions(case: Case) -> None:
    """One argument moves, then one entry of it."""
    generator = np.random.default_rng(3)
    for name, change in direction(case.kernel, case.arguments, 11).items():
        case.check({name: change})
        if np.size(change):
            one = np.zeros_like(change)
            at = tuple(int(generator.integers(n)) for n in np.shape(change))
            one[at] = np.asarray(change)[at]
            case.check({name: one if np.shape(change) else one[()]})


@pytest.mark.parametrize("case", SOME, indirect=True)
def test_grad_gives_what_the_pullback_gives(case: Case) -> None:
    kernel = case.kernel
    found = sdfgad.grad(kernel.program, wrt=active(kernel), output=kernel.output, reduce="sum")(
        *case.arguments.values())
    for name, pulled in case.gradients["sum"].items():
        assert np.all(np.isfinite(found[name]))
        scale = max(1.0, float(np.max(np.abs(pulled), initial=0.0)))
        np.testing.assert_allclose(found[name], pulled, rtol=0.0, atol=1e-11 * scale)


def test_forward_and_reverse_mode_agree(case: Case) -> None:
    along = direction(case.kernel, case.arguments, 13)
    _, tangents = sdfgad.jvp(case.kernel.program, list(case.arguments.values()), along, output=case.kernel.output)
    pushed = list(tangents) if isinstance(case.kernel.output, tuple) else [tangents]
    gradient = case.gradients["weighted"]
    reverse = paired([gradient[one] for one in along], list(along.values()))
    terms = np.concatenate([np.ravel((np.conj(gradient[one]) * along[one]).real) for one in along])
    size = 1e-5 * float(sum(np.sum(np.abs(output)) for output in case.outputs))
    assert abs(paired(case.seeds["weighted"], pushed) - reverse) <= 1e-10 * max(float(np.linalg.norm(terms)), size)
