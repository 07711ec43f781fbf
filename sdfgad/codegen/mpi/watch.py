"""Ends ranks that wait in vain: where tags disagree, or a rank sends less than another one receives.

Generated code writes down what it waits for, and a count that is odd while it waits (`mpi_table.WAIT`). A thread looks
at the count now and then. So a message costs no look at a clock.
"""
from __future__ import annotations

import os
import sys
import threading
import time
from collections.abc import Mapping
from functools import lru_cache
from types import MappingProxyType
from typing import Any

from sdfgad.codegen.mpi.table import FUNCTIONS, HEAD, SHOWN, WAIT
from sdfgad.errors import SourceLine
from sdfgad.ir.messages import ANYBODY, REVERSE, SWEEPS, TANGENTS, messages
from sdfgad.ir.program import Program
from sdfgad.ranks import library

SAID = 0.3
"""Seconds between a message and the end of all ranks: launchers drop what has not reached them by then."""
_LOOKS = 20
"""How often the thread looks in the time that a rank may wait at most."""
_HELP = ("  help: others use another tag, another rank, send less often, or are busy elsewhere; SDFGAD_MPI_TIMEOUT "
         "says how many seconds a rank waits")
_SWEEP = MappingProxyType({REVERSE: " of the reverse sweep", TANGENTS: " of the tangents"})
_ANY_RANK, _ANY_TAG = "any rank", "any tag"


class _Watch:
    """The thread that reads what the code writes.

    lines: places in the user's program, by their numbers, of the program that runs. most: seconds.
    """

    def __init__(self) -> None:
        self.lines: Mapping[int, SourceLine] = MappingProxyType({})
        self.most = float("inf")
        self.news = threading.Event()
        self.thread: threading.Thread | None = None

    def start(self) -> None:
        self.thread = threading.Thread(target=self._look, name="sdfgad waits of MPI", daemon=True)
        self.thread.start()

    def _look(self) -> None:
        seen, since = 0, time.monotonic()
        while True:
            self.news.wait(min(self.most / _LOOKS, 10.0))
            self.news.clear()
            turn, now = WAIT[0], time.monotonic()
            if turn != seen or turn % 2 == 0:
                seen, since = turn, now
            elif now - since > self.most:
                _exit_soon()
                end_all(_world(), f"waited {now - since:.3g} s for {self._what()}")

    def _what(self) -> str:
        line, sweep, function, received, sent = WAIT[1:HEAD]
        where = self.lines.get(line)
        middle = HEAD + 2 * SHOWN
        parts = [_ends("from", WAIT[HEAD:middle], received), _ends("to", WAIT[middle:], sent)]
        what = " and ".join(p for p in parts if p) or f"the other ranks in {FUNCTIONS[function]}"
        return "\n".join([what + _SWEEP.get(SWEEPS[sweep], ""), *([where.excerpt()] if where else []), _HELP])


def _ends(way: str, numbers: list[int], count: int) -> str:
    """The other ends of messages: ranks and tags."""
    pairs = list(zip(numbers[::2], numbers[1::2], strict=True))[:count]
    nobody = _nobody()
    named = [f"rank {peer} (tag {tag})".replace(f"rank {ANYBODY}", _ANY_RANK).replace(f"tag {ANYBODY}", _ANY_TAG)
             for peer, tag in pairs if peer != nobody]
    more = f", and {count - SHOWN} more" if count > SHOWN else ""
    noun = "a message" if len(named) == 1 and not more else "messages"
    return f"{noun} {way} {', '.join(named)}{more}" if named else ""


@lru_cache(maxsize=1)
def _watch() -> _Watch:
    return _Watch()


def watch(most: float) -> None:
    """From now on nobody waits longer than so many seconds."""
    it = _watch()
    if it.most != most:
        it.most = most
        it.news.set()
    if it.thread is None and most != float("inf"):
        it.start()


def waits_in(lines: Mapping[int, SourceLine]) -> None:
    """The lines of the program that runs from now on."""
    _watch().lines = lines


def lines_of(program: Program) -> Mapping[int, SourceLine]:
    """Where a program communicates, by the number of the line."""
    return MappingProxyType({m.source.line: m.source for m in messages(program.body) if m.source is not None})


def end_all(communicator: Any, said: str) -> None:
    """Say why, and end all ranks."""
    sys.stderr.write(f"sdfgad: rank {communicator.Get_rank()}: {said}\nsdfgad: all ranks are ended\n")
    sys.stderr.flush()
    time.sleep(SAID)
    communicator.Abort(1)
    os._exit(1)  # where Abort comes back, it has only told the launcher


def _exit_soon() -> None:
    """Where another thread is inside the library, it may not let this one in to end all ranks."""
    timer = threading.Timer(10 * SAID, os._exit, (1,))
    timer.daemon = True
    timer.start()


def _world() -> Any:
    return library().COMM_WORLD  # type: ignore[union-attr]


def _nobody() -> int:
    return int(library().PROC_NULL)  # type: ignore[union-attr]
