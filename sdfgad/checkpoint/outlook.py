"""What a report tells of a plan beyond its decisions: whom it is for, what else was possible, when memory is used."""
from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any


@dataclass(frozen=True)
class Argument:
    """An array or number the program takes."""

    name: str
    shape: tuple[int, ...]
    dtype: str
    bytes: int


@dataclass(frozen=True)
class LoopTraffic:
    """What a rank sends in one iteration of a loop, those inside it included: halos, and sums of all ranks."""

    name: str
    messages: int
    bytes: int
    sums: int


@dataclass(frozen=True)
class Traffic:
    """What a rank of a distributed program has, and what it sends in one call. blocks: of arrays that are cut, as
    indices of the whole, halos included. A loop of unknown length counts as one iteration. copied: bytes of arguments
    that a call copies, because it receives into them or because a block of a whole array is not in one piece."""

    ranks: int
    rank: int
    blocks: Mapping[str, str]
    messages: int
    bytes: int
    sums: int
    loops: tuple[LoopTraffic, ...] = ()
    copied: int = 0


@dataclass(frozen=True)
class DeviceLoop:
    """What one iteration of a loop of the host asks of a graphics processor: kernels, and bytes moved. line: 0 where
    nobody wrote it."""

    name: str
    line: int
    launches: int
    moved_bytes: int


@dataclass(frozen=True)
class DeviceWork:
    """What a call asks of a graphics processor. launches: kernels; a loop of unknown length counts as one iteration.
    moved_bytes: between its memory and what computes, in sectors of 32 bytes, as an estimate. loops: the outermost ones
    of the host, in the order of the program. ordered_sums: that data decide and that are sorted first, for which there
    are so many bytes and launches more."""

    launches: int
    ordered_sums: int = 0
    ordered_bytes: int = 0
    ordered_launches: int = 0
    moved_bytes: int = 0
    loops: tuple[DeviceLoop, ...] = ()


@dataclass(frozen=True)
class About:
    """The call a plan was made for. symbols: its integer arguments. threads: 0 is as many as OpenMP likes. traffic: of
    a program that is distributed. work: on a graphics processor."""

    file: str = ""
    wrt: tuple[str, ...] = ()
    arguments: tuple[Argument, ...] = ()
    symbols: Mapping[str, int] = field(default_factory=dict)
    device: str = "cpu"
    threads: int = 0
    versions: Mapping[str, str] = field(default_factory=dict)
    traffic: Traffic | None = None
    work: DeviceWork | None = None


@dataclass(frozen=True)
class LoopRow:
    """What happens to a loop. trips: 0 when nobody knows. bytes: what it keeps between the sweeps, snapshots included.
    extra_seconds: None when nobody knows."""

    name: str
    trips: int
    decision: str
    bytes: int
    snapshot_bytes: int
    extra_seconds: float | None


@dataclass(frozen=True)
class Moment:
    """A block of the schedule and the bytes in use in it, by array."""

    block: str
    phase: str
    live: Mapping[str, int]

    @property
    def bytes(self) -> int:
        return sum(self.live.values())


@dataclass(frozen=True)
class FrontPoint:
    """The fastest plan within `limit_bytes`. time_factor: over one forward sweep."""

    limit_bytes: int
    peak_bytes: int
    time_factor: float


@dataclass(frozen=True)
class Outlook:
    """floor_bytes: the smallest peak there is. *seconds: estimates of a forward sweep, of a call under this plan, and
    of one that stores everything. extra_seconds: of what is computed again, by name of item. timeline: bytes in use as
    the solver's model has them. front: other plans, from the fastest to the smallest; whole: not the neighbours only.
    """

    floor_bytes: int
    forward_seconds: float
    seconds: float
    store_all_seconds: float
    extra_seconds: Mapping[str, float] = field(default_factory=dict)
    loops: tuple[LoopRow, ...] = ()
    timeline: tuple[Moment, ...] = ()
    front: tuple[FrontPoint, ...] = ()
    whole: bool = False

    @property
    def time_factor(self) -> float:
        """Time of a call over one forward sweep."""
        return self.seconds / self.forward_seconds

    @property
    def store_all_factor(self) -> float:
        return self.store_all_seconds / self.forward_seconds

    def to_dict(self) -> dict[str, Any]:
        """For JSON; `read_outlook` reads it back."""
        return asdict(self)


@dataclass(frozen=True)
class MessageCount:
    """Messages of one kind in one sweep, of all ranks together. kind: "send" between two ranks, or a collective, which
    counts once on every rank. sweep: "forward" of the function, "reverse" of its derivative, "constants" of the
    function to which no derivative belongs. Of a serial program that is distributed, "reverse" is what carries
    cotangents or what is made of them."""

    sweep: str
    kind: str
    count: int
    bytes: int


@dataclass(frozen=True)
class MessageCounts:
    """What a call of all ranks together has sent. rows: by sweep and kind."""

    rows: tuple[MessageCount, ...]

    def of(self, sweep: str) -> tuple[int, int]:
        """How many messages a sweep has sent, and their bytes."""
        mine = [row for row in self.rows if row.sweep == sweep]
        return sum(row.count for row in mine), sum(row.bytes for row in mine)

    @property
    def forward(self) -> tuple[int, int]:
        """Number and bytes of the messages of the function that have a derivative."""
        return self.of("forward")

    @property
    def reverse(self) -> tuple[int, int]:
        """Number and bytes of the messages of the reverse sweep."""
        return self.of("reverse")


@dataclass(frozen=True)
class Measured:
    """One call: the most bytes its arrays took, growable tapes included, and how long it took. messages: what all ranks
    sent, None of a call that no other rank takes part in.

    On a graphics processor also the kernels it started, the bytes it copied to the device and from it, and the most
    bytes it held there.
    """

    peak_bytes: int
    seconds: float
    launches: int | None = None
    copied_bytes: int | None = None
    device_bytes: int | None = None
    messages: MessageCounts | None = None


def read_measured(raw: Mapping[str, Any]) -> Measured:
    """What `asdict` made of a `Measured`."""
    sent = raw.get("messages")
    rows = None if sent is None else MessageCounts(tuple(MessageCount(**row) for row in sent["rows"]))
    return Measured(**{**raw, "messages": rows})


def read_about(raw: Mapping[str, Any]) -> About:
    """What `asdict` made of an `About`."""
    arguments = tuple(Argument(**{**a, "shape": tuple(a["shape"])}) for a in raw["arguments"])
    traffic = raw.get("traffic")
    if traffic is not None:
        traffic = Traffic(**{**traffic, "loops": tuple(LoopTraffic(**one) for one in traffic["loops"])})
    work = raw.get("work")
    if work is not None:
        work = DeviceWork(**{**work, "loops": tuple(DeviceLoop(**one) for one in work.get("loops", ()))})
    return About(**{**raw, "wrt": tuple(raw["wrt"]), "arguments": arguments, "traffic": traffic, "work": work})


def read_outlook(raw: Mapping[str, Any]) -> Outlook:
    """What `Outlook.to_dict` made."""
    return Outlook(**{**raw, "loops": tuple(LoopRow(**p) for p in raw["loops"]),
                      "timeline": tuple(Moment(**m) for m in raw["timeline"]),
                      "front": tuple(FrontPoint(**p) for p in raw["front"])})
