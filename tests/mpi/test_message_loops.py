"""Whether messages stay within the iterations that send them, of traffic written down by hand: no MPI in it."""
from __future__ import annotations

import pytest

from sdfgad.plans.message_loops import Traffic, all_received

WORLD = ((0, 1), ())
THERE, BACK, OTHER = (WORLD, 0, 1, 5), (WORLD, 1, 0, 5), (WORLD, 0, 1, 6)
TOGETHER = (WORLD, -1, -1, 0)
NOTHING: tuple[()] = ()


def loop(*inside: tuple[tuple[str, tuple], int], trips: int = 3) -> Traffic:
    """A loop with one stretch in it and nothing around."""
    return (NOTHING, (trips, (tuple(inside),)), NOTHING)


def test_what_is_sent_in_an_iteration_is_received_in_it() -> None:
    assert all_received([loop((("out", THERE), 2), (("in", BACK), 1), (("all", TOGETHER), 1)),
                         loop((("in", THERE), 2), (("out", BACK), 1), (("all", TOGETHER), 1))])


@pytest.mark.parametrize("zero, one", [
    (loop((("out", THERE), 1)), loop()),
    (loop((("out", THERE), 1)), loop((("in", OTHER), 1))),
    (loop((("out", THERE), 2)), loop((("in", THERE), 1))),
    (loop((("all", TOGETHER), 1)), loop()),
    (loop((("all", TOGETHER), 1)), loop((("all", TOGETHER), 2))),
    (loop((("out", THERE), 1)), loop((("in", THERE), 1), trips=4)),
    (loop((("out", THERE), 1)), ((("in", THERE), 3),)),
    (loop((("out", THERE), 1)), None),
    # Sent before the loop, received at the end of an iteration: as many in all, and one under way.
    ((((("out", THERE), 1),), (3, (((("out", THERE), 1),),)), NOTHING),
     (NOTHING, (3, (((("in", THERE), 1),),)), ((("in", THERE), 1),))),
    # The same between two loops inside a loop.
    ((NOTHING, (2, (((("out", THERE), 1),), (3, (NOTHING,)), NOTHING)), NOTHING),
     (NOTHING, (2, (NOTHING, (3, (NOTHING,)), ((("in", THERE), 1),))), NOTHING))])
def test_what_is_under_way_or_unlike_is_found(zero: Traffic | None, one: Traffic | None) -> None:
    assert not all_received([zero, one])
