"""Random programs by number: what became of each."""
from __future__ import annotations

import signal
import tempfile
import traceback
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from types import FrameType
from typing import Any

from tests.programs.bookkeeping import KINDS as BOOKKEEPING
from tests.programs.bookkeeping import START
from tests.programs.holders import held
from tests.programs.nests import nest_program
from tests.programs.rarer import KINDS as RARER
from tests.programs.runners import Compiled, Interpreted
from tests.programs.running import arguments, check, load, more_arguments
from tests.programs.sums import KINDS as SUMS
from tests.programs.text import N
from tests.programs.writer import text_of

LONGEST = 300
"""Seconds of computing that one program may take."""


@dataclass(frozen=True)
class Task:
    """One program and how it is run. size: of the vectors; threads: of compiled gradients, which are compared.
    holder: what keeps its variables, as `holders` has it. rarer: of statements that programs have less often."""

    seed: int
    size: int = N
    compiled: bool = False
    threads: tuple[int, ...] = ()
    thorough: bool = False
    holder: str = ""
    rarer: bool = False

    @property
    def nested(self) -> bool:
        """Loop nests, which are all that is written for larger sizes."""
        return not self.rarer and (self.size > N or self.seed % 3 == 2)

    @property
    def text(self) -> str:
        if self.nested:
            text = nest_program(self.seed, self.size)
        elif self.rarer:
            text = text_of(self.seed, RARER, size=self.size)
        else:
            text = text_of(self.seed, BOOKKEEPING, START) if self.seed % 3 else text_of(self.seed, SUMS)
        return held(text, self.holder, self.seed) if self.holder else text

    @property
    def arguments(self) -> dict[str, Any]:
        dtype = "f4" if self.seed % 10 == 9 else "f8"
        data = self.seed % 4
        return more_arguments(data, self.size, dtype) if self.nested else arguments(data, dtype, self.size)


@dataclass(frozen=True)
class Verdict:
    """kind: "right", "refused", "wrong" or "crash". why: the reason. fired: passes that changed something."""

    task: Task
    kind: str
    why: str = ""
    fired: Counter[str] = field(default_factory=Counter)


class _TooLong(Exception):
    """A program takes far longer than it should."""


def examine(task: Task) -> Verdict:
    """Differentiate the program of a task, and compare with NumPy and differences."""
    runner = Compiled(task.threads) if task.compiled else Interpreted(task.thorough)
    kind, why = "right", ""
    signal.signal(signal.SIGVTALRM, _interrupt)
    signal.setitimer(signal.ITIMER_VIRTUAL, LONGEST)
    try:
        with tempfile.TemporaryDirectory() as folder:
            why = check(load(task.text, Path(folder), task.seed), runner, task.arguments).refused
        kind = "refused" if why else kind
    except AssertionError as error:
        kind, why = "wrong", str(error)
    except Exception:  # noqa: BLE001 - whatever it is, it is a defect, and the others go on
        kind, why = "crash", traceback.format_exc()
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
    return Verdict(task, kind, why, runner.fired if isinstance(runner, Interpreted) else Counter())


def _interrupt(number: int, frame: FrameType | None) -> None:
    raise _TooLong(f"more than {LONGEST} s")
