"""A line on stderr about what takes longer than a second, for people who wait at a terminal."""
from __future__ import annotations

import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

from sdfgad.config import settings

FIRST = 1.0
"""Seconds until there is something to say, and between two times of saying it."""
_CLEAR = "\r\x1b[K"


@contextmanager
def progress(what: str) -> Iterator[None]:
    """`sdfgad: WHAT (12 s) ...` for as long as the block runs. The setting `progress` turns it on or off; where it is
    silent, a terminal does."""
    if not _wanted():
        yield
        return
    over = threading.Event()
    teller = threading.Thread(target=_tell, args=(what, over), name="sdfgad progress", daemon=True)
    teller.start()
    try:
        yield
    finally:
        over.set()
        teller.join()


def _wanted() -> bool:
    asked = settings().progress
    return _is_terminal() if asked is None else asked


def _is_terminal() -> bool:
    return sys.stderr is not None and sys.stderr.isatty()


def _tell(what: str, over: threading.Event) -> None:
    """A terminal has one line that changes; a file gets a line at the beginning and one at the end."""
    began, terminal, told = time.monotonic(), _is_terminal(), False
    while not over.wait(FIRST):
        seconds = time.monotonic() - began
        if terminal:
            _write(f"{_CLEAR}sdfgad: {what} ({seconds:.0f} s) ...")
        elif not told:
            _write(f"sdfgad: {what} ({seconds:.0f} s) ...\n")
        told = True
    if told:
        _write(_CLEAR if terminal else f"sdfgad: {what}: {time.monotonic() - began:.0f} s\n")


def _write(text: str) -> None:
    try:
        sys.stderr.write(text)
        sys.stderr.flush()
    except (OSError, ValueError):  # closed by now
        return
