"""Every pass on every NPBench program and trap: what goes in and what comes out compute the same."""
from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import pytest

from npbench_suite.kernel import load
from sdfgad import pipeline
from sdfgad.arguments import bind
from sdfgad.frontend import parse
from sdfgad.passes import watching
from sdfgad.wish import Wish
from tests.npbench.calls import DIFFERENTIABLE, active, sample
from tests.support.traps import TRAPS
from tests.support.validation import Validator

REFUSED = "mandelbrot2"
"""Its arrays shrink with the data."""


def arguments(name: str) -> dict[str, Any]:
    """A small sample in double precision."""
    found = sample(load(name), 0, wide=True)
    # Nearer to the steady flow: the loop ends after a few steps.
    return {**found, "u": 1.9 * found["u"]} if name == "channel_flow" else found


def validate(function: Callable[..., Any], arguments: Mapping[str, Any], wish: Wish) -> Validator:
    """Derive a program, each pass watched."""
    bound = bind(function, tuple(arguments.values()), {})
    parsed = parse(function, tuple(arguments.values()))
    watch = Validator({array: np.asarray(bound.leaves[leaf]) for leaf, array in parsed.traced.items()})
    with watching(watch):
        pipeline.derive(function, bound, wish)
    return watch


@pytest.mark.parametrize("name", [one for one in DIFFERENTIABLE if one != REFUSED])
def test_passes_keep_the_meaning_of_benchmark_programs(name):
    kernel = load(name)
    watch = validate(kernel.program, arguments(name), Wish(active(kernel), kernel.output, "sum"))
    assert watch.fired


@pytest.mark.skipif(not TRAPS, reason="the traps do not lie beside this checkout")
@pytest.mark.parametrize("trap", TRAPS.values(), ids=TRAPS.keys())
def test_passes_keep_the_meaning_of_traps(trap):
    assert validate(trap.program, {"x": trap.x.copy()}, Wish(("x",))).fired
