"""Every pass on every NPBench program and trap, with thresholds so low that most of them change something: what goes in
and what comes out compute the same. A ledger holds which passes were seen to change something."""
from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import pytest

from npbench_suite.kernel import load
from sdfgad.calls.arguments import bind
from sdfgad.frontend import parse
from sdfgad.plans.request import Request
from sdfgad.thresholds import LEAST, changed
from sdfgad.transform.passes import watching
from sdfgad.verbs import pipeline
from tests.npbench.calls import DIFFERENTIABLE, active, sample
from tests.support.passes import PASSES
from tests.support.traps import TRAPS
from tests.support.validation import Validator
from tests.validation.targets import TARGETS
from tests.validation.witnesses import NOWHERE, WITNESSES

SAMPLES = dict.fromkeys((*(f"{name}-0" for name in DIFFERENTIABLE),
                         *(name for name in WITNESSES if "-" in name)))


def validate(function: Callable[..., Any], arguments: Mapping[str, Any], request: Request) -> Validator:
    """Derive a program, each pass watched."""
    bound = bind(function, tuple(arguments.values()), {})
    parsed = parse(function, tuple(arguments.values()))
    watch = Validator({array: np.asarray(bound.leaves[leaf]) for leaf, array in parsed.traced.items()})
    with watching(watch):
        pipeline.derive(function, bound, request)
    return watch


def validate_sample(case: str) -> Validator:
    """An NPBench program at one of its samples, in double precision."""
    name, size = case.split("-")
    kernel = load(name)
    arguments = sample(kernel, int(size), wide=True)
    if name == "channel_flow":  # nearer to the steady flow, so that the loop ends after a few steps
        arguments["u"] = 1.98 * arguments["u"]
    return validate(kernel.program, arguments, Request(active(kernel), kernel.output, "sum"))


@pytest.mark.parametrize("case", SAMPLES)
def test_passes_keep_the_meaning_of_benchmark_programs(case):
    with changed(LEAST):
        assert validate_sample(case).fired.keys() >= set(WITNESSES.get(case, ()))


@pytest.mark.slow
@pytest.mark.parametrize("case", [f"{name}-{size}" for name in DIFFERENTIABLE for size in (0, 1, 2)])
def test_passes_keep_the_meaning_of_benchmark_programs_with_usual_thresholds(case):
    assert validate_sample(case).fired


@pytest.mark.parametrize("name", TARGETS)
def test_passes_keep_the_meaning_of_programs_for_them(name):
    function, arguments = TARGETS[name]
    with changed(LEAST):
        assert validate(function, arguments, Request(tuple(arguments))).fired.keys() >= set(WITNESSES[name])


@pytest.mark.skipif(not TRAPS, reason="the traps do not lie beside this checkout")
@pytest.mark.parametrize("trap", TRAPS.values(), ids=TRAPS.keys())
def test_passes_keep_the_meaning_of_traps(trap):
    with changed(LEAST):
        assert validate(trap.program, {"x": trap.x.copy()}, Request(("x",))).fired


def test_most_passes_are_seen_to_change_something():
    """Each witness is asserted above; here, that no pass is without one."""
    seen = {name for fired in WITNESSES.values() for name in fired}
    assert seen.isdisjoint(NOWHERE)
    assert seen | NOWHERE == {*PASSES, "preaccumulate", "record_copies", "record_factors", "share_factors"}
