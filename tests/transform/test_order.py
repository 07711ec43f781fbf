"""The order of passes is stated where it is of consequence."""
from __future__ import annotations

import pytest

from tests.passes.order import STAGES, swaps_of, unstated
from tests.passes.subjects import NPBENCH, Subject, subjects

PROGRAMS = (Subject(NPBENCH, "syrk", "S"), Subject(NPBENCH, "lu", "S"), Subject(NPBENCH, "correlation", "S"),
            Subject("random", "5:5"))


def test_stages_keep_what_passes_say() -> None:
    """A pass may stand in several stages, or several times in one: it has to be behind the other one somewhere."""
    kept = {(one.name, before.name) for stage in STAGES for k, one in enumerate(stage.passes)
            for before in stage.passes[:k]}
    stated = {(one.name, name) for stage in STAGES for one in stage.passes for name in one.after}
    assert stated and stated <= kept


def test_neighbours_say_so_where_their_order_matters() -> None:
    seen = [swaps_of(one) for one in PROGRAMS]
    assert all(one.tried for one in seen)
    assert unstated({pair for one in seen for pair in one.found}) == set()


@pytest.mark.slow
def test_neighbours_of_all_programs() -> None:
    programs = [Subject(s.group, s.name, "S") for s in subjects(60) if s.group != "applications"]
    assert unstated({pair for one in programs for pair in swaps_of(one).found}) == set()


def test_an_order_that_nobody_states_is_found() -> None:
    assert unstated({("fold_zeroing", "propagate_broadcasts"), ("pack", "unroll_and_jam")}) == {
        ("pack", "unroll_and_jam")}
