"""Many random programs: `python -m tests.programs --count 5000 --seed 0 [--size 40:70] [--least] [--rarer]`.

With native code: `--compiled --threads 1,2,3`.
Each has a number, which decides its text and its data. Those that are wrong or crash are kept with what was seen.
"""
from __future__ import annotations

import argparse
import os
import sys
import time
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from multiprocessing import get_context
from pathlib import Path

from sdfgad.thresholds import VARIABLE
from tests.programs.examine import Task, Verdict, examine
from tests.programs.holders import HOLDERS
from tests.programs.text import N

PROGRESS = 50
"""Programs from one line to the next."""


def main() -> int:
    asked = _arguments()
    if asked.least:
        os.environ[VARIABLE] = "least"  # for the processes that are started, which read it when they begin
    low, high = asked.size
    tasks = [Task(n, low + n % (high - low + 1), asked.compiled, asked.threads, asked.thorough,
                  asked.holder, asked.rarer)
             for n in range(asked.seed, asked.seed + asked.count)]
    seen: Counter[str] = Counter()
    fired: Counter[str] = Counter()
    began = time.monotonic()
    for number, verdict in enumerate(verdicts(tasks, asked.jobs), 1):
        seen[verdict.kind] += 1
        fired.update(verdict.fired)
        if verdict.kind == "refused":
            seen[f"refused: {verdict.why}"] += 1
        elif verdict.kind != "right":
            _keep(verdict, asked.keep)
        if number % PROGRESS == 0:
            print(f"{number} of {len(tasks)} in {time.monotonic() - began:.0f} s: {_counts(seen)}", flush=True)
    _summary(seen, fired)
    return 1 if seen["wrong"] or seen["crash"] else 0


def verdicts(tasks: list[Task], jobs: int) -> Iterator[Verdict]:
    """In the order in which they are found. When a process dies, what it was at is run again, each alone."""
    queue = list(reversed(tasks))
    while queue:
        with ProcessPoolExecutor(jobs, get_context("spawn"), max_tasks_per_child=PROGRESS) as pool:
            running: dict[Future[Verdict], Task] = {}
            while queue or running:
                while queue and len(running) < jobs + 1:
                    task = queue.pop()
                    running[pool.submit(examine, task)] = task
                done = wait(running, return_when=FIRST_COMPLETED).done
                broken = [running.pop(f) for f in list(done) if isinstance(f.exception(), BrokenProcessPool)]
                yield from (f.result() for f in done if running.pop(f, None))
                if broken:
                    yield from _alone([*broken, *running.values()])
                    break


def _alone(tasks: list[Task]) -> Iterator[Verdict]:
    for task in tasks:
        try:
            with ProcessPoolExecutor(1, get_context("spawn")) as pool:
                yield pool.submit(examine, task).result()
        except BrokenProcessPool:
            yield Verdict(task, "crash", "the process died")


def _keep(verdict: Verdict, folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    task = verdict.task
    file = folder / f"{verdict.kind}_{task.size}_{task.seed}{'_compiled' if task.compiled else ''}.py"
    file.write_text(f"{task.text}\n\n# {task}\n" + "".join(f"# {line}\n" for line in verdict.why.splitlines()))
    print(f"{file}: {(verdict.why.splitlines() or [''])[-1 if verdict.kind == 'crash' else 0][:200]}", flush=True)


def _counts(seen: Counter[str]) -> str:
    return ", ".join(f"{seen[kind]} {kind}" for kind in ("right", "refused", "wrong", "crash"))


def _summary(seen: Counter[str], fired: Counter[str]) -> None:
    print(_counts(seen))
    for what, n in seen.most_common():
        if what.startswith("refused: "):
            print(f"  {n} {what}")
    if fired:
        print(f"{len(fired)} passes changed something: " + ", ".join(f"{name} {n}" for name, n in fired.most_common()))


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.programs", description=__doc__)
    parser.add_argument("--count", type=int, default=100)
    parser.add_argument("--seed", type=int, default=0, help="number of the first program")
    parser.add_argument("--size", type=_span, default=(N, N), help="elements of a vector: 5, or from:to")
    parser.add_argument("--compiled", action="store_true", help="with native code rather than the reference semantics")
    parser.add_argument("--threads", type=_numbers, default=(), help="of compiled gradients: 1,2,3")
    parser.add_argument("--thorough", action="store_true", help="also with everything computed again, and taken back")
    parser.add_argument("--holder", choices=HOLDERS, default="", help="what keeps the variables of the programs")
    parser.add_argument("--rarer", action="store_true", help="of statements that programs have less often")
    parser.add_argument("--least", action="store_true", help="with the least thresholds, for small programs")
    parser.add_argument("--jobs", type=int, default=1, help="programs at a time")
    parser.add_argument("--keep", type=Path, default=Path("failing_programs"), help="folder of those that fail")
    return parser.parse_args()


def _span(text: str) -> tuple[int, int]:
    low, _, high = text.partition(":")
    return int(low), int(high or low)


def _numbers(text: str) -> tuple[int, ...]:
    return tuple(int(n) for n in text.split(","))


if __name__ == "__main__":
    sys.exit(main())
