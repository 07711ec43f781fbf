"""Loop modes: the binomial schedule obeys its rules and its closed form, and the offered modes are worth offering."""
from __future__ import annotations

import importlib.util
from functools import cache

import pytest

from sdfgad.checkpoint.modes import Mode, is_possible, offered_modes, price
from sdfgad.checkpoint.revolve import ADVANCE, RESTORE, SNAPSHOT, actions, advances, copies, fewest_repeats, reach
from sdfgad.checkpoint.schedule import ScheduledLoop


def follow(steps, snapshots):
    """(steps advanced, snapshots copied) of a schedule, with every rule checked."""
    live, slots, advanced, copied, turns = 0, {}, 0, 0, []
    for a in actions(steps, snapshots):
        if a.kind == ADVANCE:
            assert live == a.step < a.until
            advanced, live = advanced + a.until - a.step, a.until
        elif a.kind == SNAPSHOT:
            assert live == a.step and 0 <= a.slot < snapshots
            slots[a.slot], copied = live, copied + 1
        elif a.kind == RESTORE:
            assert slots[a.slot] == a.step
            live, copied = slots[a.slot], copied + 1
        else:
            assert live == a.step
            turns.append(live)
            live = None
    assert turns == list(range(steps))[::-1]
    return advanced, copied


@cache
def fewest_advances(steps, snapshots):
    """By trying every place of the next snapshot."""
    if steps == 1:
        return 0
    if snapshots == 1:
        return steps * (steps - 1) // 2
    return min(k + fewest_advances(steps - k, snapshots - 1) + fewest_advances(k, snapshots) for k in range(1, steps))


@pytest.mark.parametrize("steps", [*range(1, 20), 33, 50])
def test_optimal_and_as_the_closed_form_says(steps):
    for snapshots in range(1, steps + 2):
        assert follow(steps, snapshots) == (advances(steps, snapshots), copies(steps, snapshots))
        assert advances(steps, snapshots) == fewest_advances(steps, snapshots)


@pytest.mark.parametrize("snapshots", [2, 3, 10, 10**4, 10**7])
def test_loops_of_any_length_are_counted_at_once(snapshots):
    """By the recursion of full parts, which a schedule of so many steps would take minutes to run through."""
    repeats = fewest_repeats(10**8, snapshots)
    full = reach(snapshots, repeats)
    assert reach(snapshots, repeats - 1) < 10**8 <= full
    halves = reach(snapshots, repeats - 1), reach(snapshots - 1, repeats)
    assert copies(full, snapshots) == copies(halves[0], snapshots) + copies(halves[1], snapshots - 1) + 1


@pytest.mark.parametrize("steps, snapshots, forward", [(1000, 5, 6284), (1000, 10, 3636), (1000, 20, 2747)])
def test_published_numbers(steps, snapshots, forward):
    assert advances(steps, snapshots) == forward
    repeats = fewest_repeats(steps, snapshots)
    assert reach(snapshots, repeats - 1) < steps <= reach(snapshots, repeats)


@pytest.mark.skipif(importlib.util.find_spec("checkpoint_schedules") is None, reason="an optional second opinion")
@pytest.mark.parametrize("steps, snapshots", [(10, 3), (100, 5), (57, 8)])
def test_as_many_forward_steps_as_another_implementation(steps, snapshots):
    schedules = importlib.import_module("checkpoint_schedules")
    other = schedules.Revolve(steps, snapshots)
    run = 0
    for action in other:
        if isinstance(action, schedules.Forward):
            run += action.n1 - action.n0
        if isinstance(action, schedules.EndReverse):
            break
    assert run == advances(steps, snapshots) + steps


@pytest.mark.parametrize("trips", [1, 2, 3, 7, 100, 10**6])
def test_no_offered_mode_is_beaten_by_another(trips):
    loop = ScheduledLoop("t", trips, 100, 1.0, snapshot_seconds=0.1)
    modes = offered_modes(loop)
    assert all(is_possible(m, loop) for m in modes) and len(set(modes)) == len(modes) < 400
    costs = [(p.snapshots, p.held_records, p.held_records + p.working_records, p.seconds)
             for p in (price(m, loop) for m in modes)]
    assert not any(all(x <= y for x, y in zip(a, b)) for a in costs for b in costs if a is not b)


def test_impossible_modes():
    loop = ScheduledLoop("t", 5, 100, 1.0)
    for mode in (Mode("segments", 6), Mode("binomial", 0), Mode("store all", 1), Mode("hope")):
        assert not is_possible(mode, loop)
    assert [str(m) for m in (Mode("binomial", 3), Mode("segments", 4), Mode("restart"))] == [
        "3 snapshots", "4 segments", "restart"]
