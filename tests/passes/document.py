"""The ledger as a page."""
from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from types import MappingProxyType

from npbench_suite.harness.machine import Machine
from sdfgad.codegen.cpu.schedule.stage import SCHEDULE
from sdfgad.transform.stages import CLEAN, END_AT_FIRST_NAN, PREPARE, TRIM
from tests.passes.entries import Entry
from tests.passes.subjects import APPLICATIONS, NPBENCH

STAGES = (PREPARE, TRIM, CLEAN, SCHEDULE)
BETWEEN: Mapping[str, str] = MappingProxyType({
    END_AT_FIRST_NAN.name: END_AT_FIRST_NAN.why,
    "preaccumulate": "A loop that updates elements again and again hands on one derivative, and records none.",
    "record_copies": "What is copied before it is overwritten needs no record of its own: the copy is recorded.",
    "record_factors": "Of a product, the other factor is recorded, not all that it is made of.",
    "cut_over_ranks": "With `distribute=` each rank has its part of a serial program, and of its derivative.",
    "share_factors": "Both sweeps compute once what products have in common."})
"""Passes that stand in no stage that all programs pass, most of them given more than a program."""
MANY = 4
"""So many programs are counted, not named."""
HEAD = """# The passes, and what each is good for

Written by `./scripts/passes`, not by hand: {machine}.

The programs are those that a pass changes: of NPBench at preset M, of the applications, of others (the correctness
traps and {random} random programs). *Without it* is what leaving the pass out does to the gradients of those of the
first two groups, with one thread: the largest factor in time and the smallest one, with the programs, and the largest
factor in memory.
"""
COLUMNS = """| pass | what for | NPBench | applications | others | time without it | memory |
| --- | --- | ---: | ---: | ---: | --- | ---: |"""


def document(entries: Sequence[Entry], machine: Machine) -> str:
    """Markdown."""
    others = sum(e.subject.group not in (NPBENCH, APPLICATIONS, "traps") for e in entries)
    lines = [HEAD.format(machine=f"{machine.hardware}, commit `{machine.commit}`", random=others)]
    for stage in STAGES:
        whys = {name: " ".join(dict.fromkeys(p.why for p in stage.passes if p.name == name))
                for name in dict.fromkeys(p.name for p in stage.passes)}
        lines += [f"\n## {stage.name}\n", COLUMNS, *_rows(whys, entries)]
    lines += ["\n## between the stages\n", COLUMNS, *_rows(BETWEEN, entries)]
    return "\n".join(lines) + "\n"


def _rows(whys: Mapping[str, str], entries: Sequence[Entry]) -> Iterator[str]:
    for name, why in whys.items():
        changed = [e for e in entries if name in e.changed]
        groups = [[e.subject.name for e in changed if e.subject.group == g] for g in (NPBENCH, APPLICATIONS)]
        others = len(changed) - sum(map(len, groups))
        cells = (name, why, *map(_named, groups), str(others), *_effects(name, changed))
        yield f"| {' | '.join(cells)} |"


def _named(names: Sequence[str]) -> str:
    return ", ".join(names) if len(names) < MANY else str(len(names))


def _effects(name: str, changed: Sequence[Entry]) -> tuple[str, str]:
    found = [(e.without[name], e.subject.name) for e in changed if e.without and name in e.without]
    if not found:
        return "", ""
    most = max(found, key=lambda pair: pair[0].time)
    least = min(found, key=lambda pair: pair[0].time)
    time = f"{most[0].time:.2f} ({most[1]})"
    time += f", {least[0].time:.2f} ({least[1]})" if least is not most else ""
    return time, f"{max(effect.bytes for effect, _ in found):.2f}"
