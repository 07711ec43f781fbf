"""Values made again from other values that are made again."""
from __future__ import annotations

import pytest

import sdfgad
from npbench_suite import kernel as suite
from sdfgad.arguments import bind
from sdfgad.pipeline import Wish, derive

KERNEL = suite.load("nbody")
"""Distances are cheap, and their powers are made from them; positions are overwritten in each step."""
DISTANCES, POWERS = ("dx", "dy", "dz"), ("inv_r3",)


@pytest.mark.parametrize("asked", [DISTANCES, POWERS, DISTANCES + POWERS, ("dx", "inv_r3_1_1")], ids="-".join)
def test_what_is_made_again_is_not_recorded_beside(asked):
    bound = bind(KERNEL.program, tuple(KERNEL.initialize(**KERNEL.sizes("S")).values()), {})
    choice = derive(KERNEL.program, bound, Wish(KERNEL.wrt, output=KERNEL.output, reduce="sum")).choice
    able = frozenset(k.name for k in choice.emit(frozenset(), {}, frozenset()).made.kept if k.recomputable)
    chosen = frozenset(n for n in able if n.startswith(asked))
    made = choice.emit(chosen, {}, frozenset())
    names = [k.name for k in made.made.kept]
    assert chosen and len(names) == len(set(names))
    assert made.peak == sum(made.finished.held.at_peak().values())
    if asked == DISTANCES + POWERS:
        assert not [k for k in made.made.kept if k.array in chosen and not k.again]


@pytest.mark.parametrize("percent", [60, 15])
def test_limits_are_kept_where_values_are_made_again(percent):
    args = KERNEL.initialize(**KERNEL.sizes("S")).values()
    wish = {"wrt": KERNEL.wrt, "output": KERNEL.output, "reduce": "sum"}
    plan = sdfgad.grad(KERNEL.program, **wish).plan(*args)
    least = plan.outlook.floor_bytes
    limit = least + (plan.predicted.peak_bytes - least) * percent // 100
    found = sdfgad.grad(KERNEL.program, **wish, memory_limit=limit).measure(*args)
    assert {"dx_2", "inv_r3_1_1"} & {n for n, how in found.decisions.items() if how == "recompute"}
    assert found.measured.peak_bytes == found.predicted.peak_bytes <= limit
