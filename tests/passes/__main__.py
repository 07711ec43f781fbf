"""The ledger of passes: `./scripts/passes [--random 200] [--time] [--only PASS] [--json FILE] [--markdown FILE]`.

For every pass the programs that it changes; with --time, what leaving it out costs these programs, in time and bytes,
on this machine. A pass that changes fewer than three programs outside NPBench needs a reason of its own to stay.
"""
from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from multiprocessing import get_context
from pathlib import Path

from npbench_suite.harness.machine import machine
from tests.passes.document import BETWEEN, document
from tests.passes.entries import Entry, entry_of
from tests.passes.subjects import APPLICATIONS, NPBENCH, Subject, subjects
from tests.support.passes import PASSES


def main() -> int:
    asked = _arguments()
    chosen = [s for s in subjects(asked.random) if not asked.programs or s.name in asked.programs]
    found = []
    for entry in _entries(chosen, asked):
        print(f"[{len(found) + 1}/{len(chosen)}] {entry.subject.label}: {entry.refused or len(entry.changed)}",
              file=sys.stderr, flush=True)
        found.append(entry)
    if asked.json is not None:
        asked.json.parent.mkdir(parents=True, exist_ok=True)
        asked.json.write_text(json.dumps([_plain(e) for e in found], indent=1))
    text = document(found, machine())
    if asked.markdown is not None:
        asked.markdown.write_text(text)
    print(text)
    return 0


def _entries(chosen: Sequence[Subject], asked: argparse.Namespace) -> Iterator[Entry]:
    """One program after the other, each in a process of its own: what one leaves behind does not slow the next."""
    for subject in chosen:
        timed = None
        if asked.time and subject.group in (NPBENCH, APPLICATIONS):
            timed = asked.only or (*PASSES, *BETWEEN)
        with ProcessPoolExecutor(1, get_context("spawn")) as pool:
            try:
                yield pool.submit(entry_of, subject, timed, asked.rounds, asked.seconds).result()
            except BrokenProcessPool:
                yield Entry(subject, refused="the process died")


def _plain(entry: Entry) -> dict[str, object]:
    effects = entry.without or {}
    return {"group": entry.subject.group, "program": entry.subject.name, "refused": entry.refused,
            "changed": sorted(entry.changed), "without": {n: [e.time, e.bytes] for n, e in effects.items()}}


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="./scripts/passes", description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("programs", nargs="*", help="names; all of them if none is given")
    parser.add_argument("--random", type=int, default=200, help="random programs")
    parser.add_argument("--time", action="store_true", help="compile and call gradients without each pass")
    parser.add_argument("--only", action="append", metavar="PASS", help="time this pass alone; may be repeated")
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--seconds", type=float, default=3.0, help="for each pass and program")
    parser.add_argument("--json", type=Path)
    parser.add_argument("--markdown", type=Path)
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
