"""What the ledger notes of a program, found in a process of its own."""
from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import median

import sdfgad
from npbench_suite.perf.interleave import Call, interleaved
from sdfgad.calls.arguments import bind
from sdfgad.errors import SdfgadError
from sdfgad.transform.passes import Application, leaving_out, watching
from sdfgad.verbs.pipeline import Derivative
from tests.passes.subjects import Subject

ALL = ""
"""Where nothing is left out."""


@dataclass(frozen=True)
class Effect:
    """A program without one of its passes over the program with all of them: time of a call, bytes at the peak."""

    time: float
    bytes: float


@dataclass(frozen=True)
class Entry:
    """A program. changed: passes that change something. refused: why it is not taken. without: effects by pass."""

    subject: Subject
    changed: frozenset[str] = frozenset()
    refused: str = ""
    without: Mapping[str, Effect] | None = None


def entry_of(subject: Subject, timed: Sequence[str] | None, rounds: int, seconds: float) -> Entry:
    """timed: passes that are left out one at a time if they change something; None for no timing at all."""
    changed: set[str] = set()

    def watch(one: Application) -> None:
        if one.changed:
            changed.add(one.name)

    try:
        with sdfgad.config(verify=False), watching(watch):
            found = subject.derived()
    except SdfgadError as error:
        return Entry(subject, refused=f"{type(error).__name__} {error.code}")
    asked = sorted(changed & set(timed)) if timed is not None else []
    without = effects(subject, found, asked, rounds, seconds) if asked else None
    return Entry(subject, frozenset(changed), without=without)


def effects(subject: Subject, whole: Derivative, asked: Sequence[str], rounds: int,
            seconds: float) -> Mapping[str, Effect]:
    """Gradients with all passes and without each of those asked for, called in turn with one thread."""
    made = {ALL: whole}
    for name in asked:
        with leaving_out(name):
            made[name] = subject.derived()
    function, arguments, _ = subject.given()
    bound = bind(function, arguments, {})
    calls = {name: Call(lambda d=one: d.run(bound, frozenset()), 1) for name, one in made.items()}
    times = interleaved(calls, rounds, seconds * len(calls))
    peak = whole.plan.predicted.peak_bytes
    return {name: Effect(median(a / b for a, b in zip(times[name], times[ALL], strict=True)),
                         made[name].plan.predicted.peak_bytes / max(1, peak)) for name in asked}
