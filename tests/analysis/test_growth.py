"""What growable tapes take is said beforehand: in all where the loops have an end, else for each iteration."""
from __future__ import annotations

import json

import numpy as np

import sdfgad
from sdfgad.calls.measure import promised_bytes
from sdfgad.memory import format_bytes
from sdfgad.plans.plan import Plan
from tests.support.schema import complaints

N, ROWS = 600, 40


def ended_early(x, y):
    total = 0.0
    for i in range(y.shape[0]):
        x = x * np.sin(x) + y[i]
        if np.sum(x) > 1e6:
            break
        total += np.sum(x * x)
    return total


def endless(x, y):
    while np.sum(x) > 1.0:
        for i in range(y.shape[0]):
            x = x * np.sin(x + y[i])
    return np.sum(x)


def arguments():
    return np.linspace(0.1, 0.9, N), np.linspace(0.2, 0.8, ROWS)


def test_a_loop_that_may_end_early_has_a_bound() -> None:
    plan = sdfgad.grad(ended_early).measure(*arguments())
    predicted, taken = plan.predicted, plan.measured.peak_bytes
    assert predicted.unbounded and 8 * N <= predicted.entry_bytes <= 16 * N
    # The loop runs to its end, and a block of its tape may lie idle.
    assert taken <= predicted.most_bytes <= taken + 2 * ROWS * 16 + 10**6
    assert promised_bytes(predicted, None) >= predicted.most_bytes
    assert promised_bytes(predicted, predicted.peak_bytes) < promised_bytes(predicted, None)
    text = " ".join(str(plan).split())
    assert "per iteration of loops of unknown length, with it" in text and "in all" in text


def test_a_loop_without_an_end_has_what_an_iteration_adds() -> None:
    plan = sdfgad.grad(endless).measure(*arguments())
    predicted = plan.predicted
    iterations = (plan.measured.peak_bytes - predicted.peak_bytes) / predicted.entry_bytes
    assert predicted.most_bytes is None and promised_bytes(predicted, None) is None
    assert predicted.entry_bytes >= 8 * N * ROWS
    assert 1 <= iterations <= 30
    raw = json.loads(plan.to_json())
    assert complaints(raw) == [] and raw["predicted"]["entry_bytes"] == predicted.entry_bytes
    assert Plan.from_json(plan.to_json()).predicted == predicted
    assert f"{format_bytes(predicted.entry_bytes)} per iteration" in " ".join(plan.to_html().split())
