"""What a loop can do about the records of its iterations, and what each way costs, in closed form.

w: bytes of the record of one iteration; q: bytes of one snapshot of the carried state; T: trips; f: seconds of one
forward iteration. `held` bytes are alive from the forward sweep to the end of the loop's reverse, `working` bytes only
during the reverse.

| mode             | held      | working       | extra forward iterations                |
| ---------------- | --------- | ------------- | --------------------------------------- |
| store all        | T w       |               | 0                                       |
| K segments       | K q       | ceil(T / K) w | T: every segment runs again, recording  |
| binomial, c, L   | c q + L w |               | L times that of T / L steps, `revolve`  |
| restart          | q         | w             | T (T + 1) / 2                           |

Where iterations start from nothing (q = 0) every one is a segment: it runs again, and its reverse right after it.

In binomial mode L iterations count as one step: r T' - C(c + r, c + 1) of T' = T / L of them run again. The first sweep
records the last L iterations, which are turned first.
"""
from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from types import MappingProxyType

from sdfgad.checkpoint.revolve import advances, copies
from sdfgad.checkpoint.schedule import SNAPSHOT, ScheduledLoop

STORE_ALL, SEGMENTS, BINOMIAL, RESTART = "store all", "segments", "binomial", "restart"
ONLINE = "online"
"""Of loops whose number of iterations is not known: a number of snapshots, spread evenly as the loop goes on."""
EVERY_COUNT_UP_TO = 40
"""Binomial modes with fewer snapshots are all offered, then every eighth part of an octave."""

MANY = 4096
"""Iterations of a loop long enough for a coarser choice."""


@dataclass(frozen=True, order=True)
class Mode:
    """count: the number of segments or of snapshots. length: iterations that are recorded together in binomial mode;
    pieces of a part in online mode."""

    kind: str
    count: int = 0
    length: int = 1

    @property
    def snapshots(self) -> bool:
        """Whether it starts again from saved states, as the pin `snapshot` asks."""
        return self.kind in (SEGMENTS, BINOMIAL, RESTART, ONLINE)

    def __str__(self) -> str:
        together = f", {self.length} iterations at a time" if self.length > 1 else ""
        snapshots = f"{self.count} snapshot{'s' * (self.count != 1)}"
        named = {SEGMENTS: f"{self.count} segments", BINOMIAL: f"{snapshots}{together}",
                 ONLINE: f"at most {snapshots}" + (f", parts in {self.length}" if self.length > 1 else "")}
        return named.get(self.kind, self.kind)


@dataclass(frozen=True)
class Price:
    """held = snapshots q + held_records w + table; working = working_records w; seconds: beyond one forward sweep.

    table: bytes of the table that says what happens when.
    """

    snapshots: int
    held_records: int
    working_records: int
    seconds: float
    table: int = 0


def price(mode: Mode, loop: ScheduledLoop) -> Price:
    """What a mode costs one run of a loop."""
    return _PRICES[mode.kind](loop, mode)


def _segments(loop: ScheduledLoop, mode: Mode) -> Price:
    count = mode.count
    seconds = loop.trips * loop.seconds + 2 * count * loop.snapshot_seconds
    return Price(count, 0, segment_length(loop.trips, count), seconds)


def segment_length(trips: int, count: int) -> int:
    """Iterations of every segment but perhaps the last."""
    return -(-trips // count)


def _binomial(loop: ScheduledLoop, mode: Mode) -> Price:
    parts, count = segment_length(loop.trips, mode.length), mode.count
    copied = copies(parts, count) if loop.snapshot_seconds or loop.row_bytes else 0
    seconds = advances(parts, count) * mode.length * loop.seconds + copied * loop.snapshot_seconds
    return Price(count, mode.length, 0, seconds, (copied + 1) * loop.row_bytes)


def _restart(loop: ScheduledLoop, mode: Mode) -> Price:
    seconds = loop.trips * (loop.trips + 1) // 2 * loop.seconds + (loop.trips + 1) * loop.snapshot_seconds
    return Price(1, 0, 1, seconds, (loop.trips + 1) * loop.row_bytes)


_PRICES: Mapping[str, Callable[[ScheduledLoop, Mode], Price]] = MappingProxyType({
    STORE_ALL: lambda loop, mode: Price(0, loop.trips, 0, 0.0),
    SEGMENTS: _segments, BINOMIAL: _binomial, RESTART: _restart})


def is_possible(mode: Mode, loop: ScheduledLoop) -> bool:
    """Whether the loop can be run in this mode at all."""
    if mode.kind in (BINOMIAL, RESTART) and not loop.uniform:
        return False
    if mode.kind in (SEGMENTS, BINOMIAL):
        return mode.length >= 1 and 1 <= mode.count <= segment_length(loop.trips, mode.length)
    return mode.kind in _PRICES and mode.count == 0


def is_possible_online(mode: Mode) -> bool:
    """Whether snapshots can be thinned out: an even number of them."""
    return mode.kind == ONLINE and mode.count >= 2 and mode.count % 2 == 0 and mode.length >= 1


@lru_cache(maxsize=256)
def offered_modes(loop: ScheduledLoop, pin: str | None = None) -> tuple[Mode, ...]:
    """The modes worth considering: none is beaten by another whatever the record of an iteration takes."""
    single = [*(Mode(SEGMENTS, k) for k in _segment_counts(loop.trips)),
              *(Mode(BINOMIAL, c) for c in _snapshot_counts(loop.trips))] if loop.state_bytes else [each(loop)]
    modes = [Mode(STORE_ALL), *single, *_blocked(loop.trips), Mode(RESTART)]
    modes = [m for m in modes if is_possible(m, loop)]
    if pin == SNAPSHOT:
        modes = [m for m in modes if m.snapshots]
    costs = {m: _cost(m, loop) for m in modes}
    return tuple(m for k, m in enumerate(modes) if not any(
        _beats(costs[o], costs[m]) and (costs[o] != costs[m] or j < k) for j, o in enumerate(modes) if o != m))


def each(loop: ScheduledLoop) -> Mode:
    """Every iteration a segment of its own."""
    return Mode(SEGMENTS, loop.trips)


def _cost(mode: Mode, loop: ScheduledLoop) -> tuple[float, ...]:
    p = price(mode, loop)
    return (p.snapshots * loop.state_bytes + p.table, p.held_records, p.held_records + p.working_records, p.seconds)


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


def _blocked(trips: int) -> list[Mode]:
    """Several iterations recorded together: lengths in powers of two, or four, and counts half an octave apart."""
    found = []
    step = 1 if trips <= MANY else 2
    for length in (2**k for k in range(1, max(1, (trips // 2).bit_length()), step)):
        most = segment_length(trips, length) - 1
        counts = {min(most, round(2 ** (k / 2))) for k in range(2 * most.bit_length() + 1)} if most > 0 else set()
        found += [Mode(BINOMIAL, c, length) for c in sorted(counts)]
    return found
