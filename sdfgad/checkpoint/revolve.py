"""The binomial schedule: reverse a loop of T steps with c snapshots and the fewest forward steps.

Griewank and Walther, Algorithm 799: Revolve (ACM TOMS 26, 2000). With c snapshots and at most r repeats of any step,
C(c + r, c) steps can be reversed; the fewest steps to advance are r T - C(c + r, c + 1) for the smallest such r. Steps
that are run while recording, one before each reversal, are not in this number.
"""
from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterator
from dataclasses import dataclass
from math import comb

ADVANCE, SNAPSHOT, RESTORE, TURN = "advance", "snapshot", "restore", "turn"


@dataclass(frozen=True)
class RevolveAction:
    """advance: run steps `step`, ..., `until` - 1 without recording. snapshot: save the state before `step` into
    `slot`. restore: load it from there. turn: run `step` while recording, then reverse it."""

    kind: str
    step: int
    until: int = 0
    slot: int = 0


def reach(snapshots: int, repeats: int) -> int:
    """The most steps that can be reversed: C(c + r, c)."""
    return comb(snapshots + repeats, snapshots) if repeats >= 0 else 0


def fewest_repeats(steps: int, snapshots: int) -> int:
    """The smallest r with C(c + r, c) >= T."""
    if steps <= 1 or snapshots == 1:
        return max(0, steps - 1)
    most = 1
    while reach(snapshots, most) < steps:
        most *= 2
    return bisect_left(range(most), steps, key=lambda repeats: reach(snapshots, repeats))


def advances(steps: int, snapshots: int) -> int:
    """Forward steps run without recording: r T - C(c + r, c + 1)."""
    repeats = fewest_repeats(steps, snapshots)
    return repeats * steps - comb(snapshots + repeats, snapshots + 1)


def actions(steps: int, snapshots: int) -> Iterator[RevolveAction]:
    """The optimal schedule, starting at the state before step 0; the live state is gone after each turn.

    Every step is turned once, the last one first; at most `snapshots` slots are in use.
    """
    pending = [(0, steps, snapshots, True)]
    yield RevolveAction(SNAPSHOT, 0)
    while pending:
        start, length, free, live = pending.pop()
        if not live:
            yield RevolveAction(RESTORE, start, slot=snapshots - free)
        if length == 1:
            yield RevolveAction(TURN, start)
        elif free == 1:
            yield RevolveAction(ADVANCE, start, until=start + length - 1)
            yield RevolveAction(TURN, start + length - 1)
            pending.append((start, length - 1, 1, False))
        else:
            middle = start + split(length, free)
            yield RevolveAction(ADVANCE, start, until=middle)
            yield RevolveAction(SNAPSHOT, middle, slot=snapshots - free + 1)
            pending += [(start, middle - start, free, False), (middle, start + length - middle, free - 1, True)]


def split(steps: int, snapshots: int) -> int:
    """How far to advance before the next snapshot, such that both parts stay optimal (at least 2 steps, 2 snapshots).

    The first part keeps all snapshots and may repeat its steps once less; the second has one snapshot less.
    """
    repeats = fewest_repeats(steps, snapshots)
    longest = min(reach(snapshots, repeats - 1), steps - reach(snapshots - 1, repeats - 1))
    return max(1, min(longest, steps - 1))


def copies(steps: int, snapshots: int) -> int:
    """Snapshots written and read by `actions`, counted without running through it.

    Each turn but the first follows one restore, and each split writes one snapshot: one fewer than there are parts in
    the end. C(c + r, c) steps come to L(c, r) = C(c + r - 1, r) parts, as L(c, r) = L(c, r - 1) + L(c - 1, r). Of other
    numbers, T = C(c + r - 1, c) + rest, the same holds: L(c, r - 1) parts, and those of the rest with c - 1. Rests with
    the same r are summed up at once.
    """
    parts, left, free = 1, steps, snapshots
    while left > 1 and free > 1:
        repeats = fewest_repeats(left, free)
        missing = reach(free, repeats) - left
        last = max(2, bisect_right(range(free + 1), missing, key=lambda c: comb(c + repeats - 1, repeats))) - 1
        parts += comb(free + repeats - 1, repeats) - comb(last + repeats - 1, repeats)
        left, free = reach(last, repeats) - missing, last
    return parts + steps - 1
