"""The question the planner answers, as a frozen value: what is needed, what it costs, what is there anyway."""
from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from typing import Any


@dataclass(frozen=True)
class Item:
    """A value the reverse sweep needs and a later statement overwrites.

    name: unique, `array@line`. bytes: storage for every version kept, None when the count is known only at run time.
    where: file and line that overwrites it. because: the line that needs it. recomputable: whether the emission can
    rebuild it from values that survive; cost: extra elements computed if it does. light: to compute it where it is read
    takes no longer than to store and load it, and needs hardly anything else stored. loop: the innermost one whose
    iterations make it anew; version_bytes: of what one of them keeps. at_peak: whether its storage is in use when the
    program holds the most; otherwise that lies where other arrays are then, and adds nothing. undoes: the line that
    overwrites it, where that is taken back instead. entry_bytes, most_bytes: of a growable tape what one iteration of a
    loop of unknown length adds to it at most, and what all do; None where that has no bound.
    """

    name: str
    array: str
    bytes: int | None
    file: str
    line: int
    because: str
    recomputable: bool
    cost: int
    light: bool = False
    loop: str = ""
    version_bytes: int = 0
    at_peak: bool = True
    undoes: str = ""
    entry_bytes: int = 0
    most_bytes: int | None = None

    @property
    def peak_bytes(self) -> int:
        """What storing it adds to the most that the program holds; a growable tape is not known."""
        return (self.bytes or 0) if self.at_peak else 0


@dataclass(frozen=True)
class Problem:
    """items: what a plan decides. base: what else is alive when the program holds the most, bytes by array name. loops:
    names of the loops that may start again from snapshots. code: tells the program, with its shapes and dtypes, from
    any other. tape_entry_bytes, tape_bytes: what one iteration of each loop of unknown length adds to growable tapes at
    most, and what all of these take at most; None where that has no bound.
    """

    target: str
    items: tuple[Item, ...]
    base: Mapping[str, int]
    loops: tuple[str, ...] = ()
    code: str = ""
    tape_entry_bytes: int = 0
    tape_bytes: int | None = 0

    @property
    def base_bytes(self) -> int:
        return sum(self.base.values())

    @property
    def store_all_bytes(self) -> int:
        """Peak when everything is stored; growable tapes, whose size is unknown, are not in it."""
        return self.peak_bytes(i.name for i in self.items)

    def peak_bytes(self, stored: Iterable[str]) -> int:
        """Peak when the items named are stored; growable tapes are not in it."""
        chosen = set(stored)
        return self.base_bytes + sum(i.peak_bytes for i in self.items if i.name in chosen)

    def to_json(self) -> str:
        """The problem as text; `from_json` reads it back."""
        return json.dumps({"target": self.target, "items": [asdict(i) for i in self.items], "base": dict(self.base),
                           "loops": list(self.loops), "code": self.code,
                           "tape_entry_bytes": self.tape_entry_bytes, "tape_bytes": self.tape_bytes})

    @staticmethod
    def from_json(text: str) -> Problem:
        raw: dict[str, Any] = json.loads(text)
        return Problem(raw["target"], tuple(Item(**i) for i in raw["items"]), raw["base"], tuple(raw["loops"]),
                       raw["code"], raw.get("tape_entry_bytes", 0), raw.get("tape_bytes", 0))
