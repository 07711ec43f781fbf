"""The answer: one decision for every item, and what it comes to."""
from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Self

from sdfgad.checkpoint.modes import Mode
from sdfgad.checkpoint.outlook import About, Measured, MessageCounts, Outlook
from sdfgad.checkpoint.problem import Item, Problem
from sdfgad.checkpoint.schedule_plan import SchedulePlan
from sdfgad.memory import format_bytes
from sdfgad.names import loop_name

STORE, RECOMPUTE, INVERSE = "store", "recompute", "inverse"


@dataclass(frozen=True)
class Predicted:
    """Bytes of all arrays alive at once: under this plan, with everything stored. unbounded: a growable tape, whose
    size is known only at run time, comes on top: entry_bytes at most for each iteration of loops of unknown length.
    most_bytes: peak_bytes and such tapes at their longest; None where their length has no bound."""

    peak_bytes: int
    store_all_bytes: int
    unbounded: bool
    entry_bytes: int = 0
    most_bytes: int | None = None


@dataclass(frozen=True)
class Decided:
    """The facts of a plan, which reports are written from; `Plan` says what the fields are."""

    problem: Problem
    decisions: Mapping[str, str]
    limit_bytes: int | None = None
    policy: str = "store all"
    modes: Mapping[str, Mode] = field(default_factory=dict)
    schedule: SchedulePlan | None = None
    store_all_bytes: int | None = None
    about: About = About()
    measured: Measured | None = None
    look: Callable[[], Outlook] | None = field(default=None, compare=False, repr=False)

    @cached_property
    def outlook(self) -> Outlook | None:
        """Floor, times, timeline and neighbours on the front; None for a plan made by hand."""
        return None if self.look is None else self.look()

    def with_outlook(self, outlook: Outlook) -> Self:
        """The same plan, and what is known of it."""
        return replace(self, look=lambda: outlook)

    def with_front(self, plans: Sequence[Decided]) -> Self:
        """The same plan, with the whole front in its report: plans of `sdfgad.pareto`."""
        front = next((p.outlook.front for p in plans if p.outlook), ())
        return self if self.outlook is None else self.with_outlook(replace(self.outlook, front=front, whole=True))

    @property
    def predicted(self) -> Predicted:
        p = self.problem
        peak = p.peak_bytes(n for n, d in self.decisions.items() if d == STORE)
        unbounded = any(i.bytes is None and self.decisions[i.name] == STORE for i in p.items)
        most = None if p.tape_bytes is None else peak + p.tape_bytes
        return Predicted(peak, self.store_all_bytes or p.store_all_bytes, unbounded, p.tape_entry_bytes, most)

    @property
    def recomputed(self) -> frozenset[str]:
        """Names of the items the gradient rebuilds."""
        return frozenset(n for n, d in self.decisions.items() if d == RECOMPUTE)

    @property
    def undone(self) -> frozenset[str]:
        """Names of the items that the reverse sweep gets back by undoing an update."""
        return frozenset(n for n, d in self.decisions.items() if d == INVERSE)

    @property
    def messages(self) -> MessageCounts | None:
        """What all ranks sent in a call that was measured; None of other plans, and where there is one process."""
        return None if self.measured is None else self.measured.messages

    @property
    def target(self) -> str:
        """The program, with its file where that is known."""
        return f"{self.about.file}:{self.problem.target}" if self.about.file else self.problem.target

    def scope(self, item: Item) -> str:
        """How long an item lives: made in the "body" that reads it, kept for every iteration of a "loop", or "whole".
        """
        if self.decisions[item.name] != STORE:
            return "body"
        return f"{loop_name(item.loop.split('@')[0])} loop" if item.loop else "whole"

    def reason(self, item: Item) -> str:
        """Why an item is needed, and why it is recomputed if that costs nothing, or how it comes back."""
        if item.bytes is None and self.decisions[item.name] == STORE and item.entry_bytes:
            return f"{item.because}, {_grows(item)}"
        if self.decisions[item.name] == INVERSE:
            return f"{item.because}, undone exactly: {item.undoes}"
        free = item.light and self.decisions[item.name] == RECOMPUTE
        return f"{item.because}, as cheap to compute there" if free else item.because


def _grows(item: Item) -> str:
    bound = f", {format_bytes(item.most_bytes)} in all" if item.most_bytes is not None else ""
    return f"at most {format_bytes(item.entry_bytes)} per iteration{bound}"
