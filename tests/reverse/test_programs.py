"""Both modes on hand-written programs, against differences; under every plan the same gradient."""
from __future__ import annotations

import numpy as np
import pytest

from sdfgad.errors import PlanNotExecutable
from tests.support.cases import CASES
from tests.support.oracle import check_program, program_gradient, rebuildable, reversed_program

every_case = pytest.mark.parametrize("name", CASES)


@every_case
def test_modes_agree_with_differences(name):
    case = CASES[name]()
    check_program(case.program, case.arrays, case.wrt)


@every_case
def test_two_runs_of_one_gradient_program_are_equal(name):
    case = CASES[name]()
    first, second = (program_gradient(case.program, case.arrays, case.wrt) for _ in range(2))
    for n in case.wrt:
        np.testing.assert_array_equal(first[1][n], second[1][n])


@every_case
def test_every_plan_gives_the_same_gradient(name):
    case = CASES[name]()
    chosen = rebuildable(case.program, case.wrt)
    _, stored = program_gradient(case.program, case.arrays, case.wrt)
    for plan in [chosen, *({one} for one in chosen)]:
        _, rebuilt = program_gradient(case.program, case.arrays, case.wrt, recompute=frozenset(plan))
        for n in case.wrt:
            np.testing.assert_allclose(rebuilt[n], stored[n], rtol=1e-12, atol=1e-12, err_msg=str(plan))


def test_rebuilding_drops_the_stored_versions():
    case = CASES["rebuildable_temporary"]()
    chosen = rebuildable(case.program, case.wrt)
    assert chosen
    stored = reversed_program(case.program, case.wrt).program
    rebuilt = reversed_program(case.program, case.wrt, recompute=chosen).program
    assert sum(a.bytes for a in rebuilt.arrays.values()) < sum(a.bytes for a in stored.arrays.values())


@pytest.mark.parametrize("asked", ["x", "nothing_of_this_name"])
def test_the_impossible_is_refused(asked):
    case = CASES["stencil"]()
    with pytest.raises(PlanNotExecutable, match=asked):
        reversed_program(case.program, case.wrt, recompute=frozenset({asked}))
