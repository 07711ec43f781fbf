"""What a loop can do about the records of its iterations, and what each way costs, in closed form.

w: bytes of the record of one iteration; q: bytes of one snapshot of the carried state; T: trips; f: seconds of one
forward iteration. `held` bytes are alive from the forward sweep to the end of the loop's reverse, `working` bytes only
during the reverse.

| mode             | held      | working       | extra forward iterations                |
| ---------------- | --------- | ------------- | --------------------------------------- |
| store all        | T w       |               | 0                                       |
| K segments       | K q       | ceil(T / K) w | T: every segment runs again, recording  |
| binomial, c      | c q + w   |               | r T - C(c + r, c + 1), see `revolve`    |
| restart          | q         | w             | T (T + 1) / 2                           |
| inverse          |           | w             | 0, but T times the inverse              |

In binomial mode the first sweep records its last iteration, which is turned first.
"""
from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from types import MappingProxyType

from sdfgad.checkpoint.revolve import advances, copies
from sdfgad.checkpoint.schedule import SNAPSHOT, ScheduledLoop

STORE_ALL, SEGMENTS, BINOMIAL, RESTART, INVERSE = "store all", "segments", "binomial", "restart", "inverse"
EVERY_COUNT_UP_TO = 40
"""Binomial modes with fewer snapshots are all offered, then every eighth part of an octave."""


@dataclass(frozen=True, order=True)
class Mode:
    """count: the number of segments or of snapshots."""

    kind: str
    count: int = 0

    @property
    def snapshots(self) -> bool:
        """Whether it starts again from saved states, as the pin `snapshot` asks."""
        return self.kind in (SEGMENTS, BINOMIAL, RESTART)

    def __str__(self) -> str:
        return {SEGMENTS: f"{self.count} segments", BINOMIAL: f"{self.count} snapshots"}.get(self.kind, self.kind)


@dataclass(frozen=True)
class Price:
    """held = snapshots q + held_records w; working = working_records w; seconds: beyond one forward sweep."""

    snapshots: int
    held_records: int
    working_records: int
    seconds: float


def price(mode: Mode, loop: ScheduledLoop) -> Price:
    """What a mode costs one run of a loop."""
    return _PRICES[mode.kind](loop, mode.count)


def _segments(loop: ScheduledLoop, count: int) -> Price:
    seconds = loop.trips * loop.seconds + 2 * count * loop.snapshot_seconds
    return Price(count, 0, segment_length(loop.trips, count), seconds)


def segment_length(trips: int, count: int) -> int:
    """Iterations of every segment but perhaps the last."""
    return -(-trips // count)


def _binomial(loop: ScheduledLoop, count: int) -> Price:
    copied = copies(loop.trips, count) * loop.snapshot_seconds if loop.snapshot_seconds else 0.0
    return Price(count, 1, 0, advances(loop.trips, count) * loop.seconds + copied)


def _restart(loop: ScheduledLoop, count: int) -> Price:
    seconds = loop.trips * (loop.trips + 1) // 2 * loop.seconds + (loop.trips + 1) * loop.snapshot_seconds
    return Price(1, 0, 1, seconds)


def _inverse(loop: ScheduledLoop, count: int) -> Price:
    assert loop.inverse_seconds is not None, "an inverse that does not exist"
    return Price(0, 0, 1, loop.trips * loop.inverse_seconds)


_PRICES: Mapping[str, Callable[[ScheduledLoop, int], Price]] = MappingProxyType({
    STORE_ALL: lambda loop, count: Price(0, loop.trips, 0, 0.0),
    SEGMENTS: _segments, BINOMIAL: _binomial, RESTART: _restart, INVERSE: _inverse})


def is_possible(mode: Mode, loop: ScheduledLoop) -> bool:
    """Whether the loop can be run in this mode at all."""
    if mode.kind in (SEGMENTS, BINOMIAL):
        return 1 <= mode.count <= loop.trips
    return mode.kind in _PRICES and mode.count == 0 and (mode.kind != INVERSE or loop.inverse_seconds is not None)


@lru_cache(maxsize=256)
def offered_modes(loop: ScheduledLoop, pin: str | None = None) -> tuple[Mode, ...]:
    """The modes worth considering: none is beaten by another whatever the record of an iteration takes."""
    counts = _segment_counts(loop.trips)
    modes = [Mode(STORE_ALL), *(Mode(SEGMENTS, k) for k in counts),
             *(Mode(BINOMIAL, c) for c in _snapshot_counts(loop.trips)), Mode(RESTART)]
    if loop.inverse_seconds is not None:
        modes.append(Mode(INVERSE))
    if pin == SNAPSHOT:
        modes = [m for m in modes if m.snapshots]
    costs = {m: _cost(m, loop) for m in modes}
    return tuple(m for k, m in enumerate(modes) if not any(
        _beats(costs[o], costs[m]) and (costs[o] != costs[m] or j < k) for j, o in enumerate(modes) if o != m))


def _cost(mode: Mode, loop: ScheduledLoop) -> tuple[float, ...]:
    p = price(mode, loop)
    return (p.snapshots * loop.state_bytes, p.held_records, p.held_records + p.working_records, p.seconds)


def _beats(one: tuple[float, ...], other: tuple[float, ...]) -> bool:
    return all(a <= b for a, b in zip(one, other, strict=True))


def _segment_counts(trips: int) -> list[int]:
    """2, 3, 4, 6, 8, 12, ... up to T / 2, and the square root of T; the smallest count of each segment length."""
    counts = {base << k for base in (2, 3) for k in range(trips.bit_length())} | {round(trips**0.5)}
    lengths = {segment_length(trips, k) for k in counts if 2 <= k <= max(trips // 2, 2) and k <= trips}
    return sorted({-(-trips // length) for length in lengths} - {1})


def _snapshot_counts(trips: int) -> list[int]:
    """One snapshot fewer than there are iterations is as good as any more."""
    counts = list(range(1, min(trips - 1, EVERY_COUNT_UP_TO) + 1))
    while counts and counts[-1] < trips - 1:
        counts.append(min(trips - 1, counts[-1] * 9 // 8))
    return counts
