"""The model of many ranks: times of lists written down by hand, and lists of ranks that stand alike. No MPI in it."""
from __future__ import annotations

from collections.abc import Sequence

import pytest

from npbench_suite.network import RankLoop, RankMessages, RankSteps, RankSum, RankWork, simulated
from npbench_suite.over_ranks import ManyRanks, normalised
from sdfgad.errors import InvariantError

LATENCY, BANDWIDTH = 1.0, 8.0


def time_of(*ranks: RankSteps) -> float:
    return simulated(len(ranks), lambda r: ranks[r], LATENCY, BANDWIDTH).seconds


def test_a_message_takes_its_latency_and_its_bytes() -> None:
    send, receive = RankMessages(((1, 16),), ()), RankMessages((), (-1,))
    assert time_of((RankWork(2.0), send), (receive, RankWork(0.5))) == 2.0 + 2.0 + 1.0 + 0.5
    assert time_of((send,), (RankWork(7.0), receive)) == 7.0
    both = RankMessages(((1, 8), (1, 8)), ())
    assert time_of((both,), (receive, receive)) == 1.0 + 1.0 + 1.0


def test_a_sum_waits_for_the_last_rank_and_takes_rounds() -> None:
    ranks = [(RankWork(float(r)), RankSum(8)) for r in range(5)]
    assert time_of(*ranks) == 4.0 + 3 * 2.0
    assert time_of((RankSum(8),)) == 0.0


def test_loops_repeat_and_everything_is_counted() -> None:
    step = (RankWork(1.0), RankMessages(((1, 8),), (1,))), (RankWork(2.0), RankMessages(((-1, 8),), (-1,)))
    found = simulated(2, lambda r: (RankLoop(3, step[r]),), LATENCY, BANDWIDTH)
    assert (found.messages, found.bytes, found.sums) == (6, 48, 0)
    assert found.seconds == 11.0  # the first rank is ready at 4, 7 and 11, the second one at 3, 7 and 10


def test_messages_that_nobody_sends_are_found() -> None:
    with pytest.raises(InvariantError, match="nobody sends"):
        time_of((RankMessages((), (1,)),), (RankWork(1.0),))


@pytest.mark.parametrize("extents, ranks", [
    ((7,), (0, 3, 6)), pytest.param((6, 7), range(42), marks=pytest.mark.slow)])
def test_ranks_that_stand_alike_send_alike(extents: tuple[int, ...], ranks: Sequence[int]) -> None:
    many = ManyRanks(normalised, extents, 6)
    found = [many.own(rank) for rank in ranks]
    assert [many.like(rank) for rank in ranks] == found
    assert found[0] != found[1]
