"""The hand-written adjoints are right: the same gradients as sdfgad's, at several numbers of threads."""
from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest

from npbench_suite.perf.pairs import LIMIT, difference, gradient_of, relative
from npbench_suite.perf.subjects import SUBJECTS, Sizes, Subject

THREADS = (1, 2, 3)


def disturbed(subject: Subject, sizes: Sizes) -> dict[str, Any]:
    """Arguments without the regularity of the initial data, of which many are zeros or fixed points."""
    rng = np.random.default_rng(11)
    arguments = subject.arguments(sizes)
    return {name: value + 0.1 * rng.random(value.shape) if isinstance(value, np.ndarray) else value
            for name, value in arguments.items()}


def worst(subject: Subject, arguments: Mapping[str, Any]) -> float:
    gradient, adjoint = gradient_of(subject, arguments), subject.adjoint(arguments)
    return max(difference(gradient, adjoint, subject, threads) for threads in THREADS)


@pytest.mark.parametrize("name", SUBJECTS)
def test_small(name: str) -> None:
    subject = SUBJECTS[name]
    assert worst(subject, disturbed(subject, subject.small)) <= LIMIT


@pytest.mark.slow
@pytest.mark.parametrize("name", SUBJECTS)
def test_as_measured(name: str) -> None:
    subject = SUBJECTS[name]
    assert worst(subject, subject.arguments(subject.sizes)) <= LIMIT


def test_a_call_leaves_nothing_behind_and_the_arguments_alone() -> None:
    """Work memory is kept between calls, of other sizes too."""
    for subject in SUBJECTS.values():
        arguments, others = disturbed(subject, subject.small), disturbed(subject, {**subject.small, **smaller(subject)})
        before = {name: np.copy(value) for name, value in arguments.items()}
        adjoint = subject.adjoint(arguments)
        first = {name: value.copy() for name, value in adjoint(2).items()}
        subject.adjoint(others)(1)
        for name, value in adjoint(2).items():
            np.testing.assert_array_equal(value, first[name])
        for name, value in arguments.items():
            np.testing.assert_array_equal(value, before[name])


def smaller(subject: Subject) -> dict[str, int]:
    """One size of a subject, made one less."""
    size = next(name for name in ("N", "NI", "points", "nx", "I") if name in subject.small)
    return {size: subject.small[size] - 1}


def test_differences_are_seen() -> None:
    a = np.array([1.0, -4.0])
    assert relative(a + [0.0, 4e-3], a) == pytest.approx(1e-3)
    assert relative(a[:1], a) == relative(a * np.nan, a) == float("inf")
    assert relative(np.zeros(2), np.zeros(2)) == 0.0
