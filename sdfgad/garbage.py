"""Garbage is looked for rarely while programs are made.

A program is many small objects that stay. To go through them again and again for cycles that are not there takes a
tenth of the time.
"""
from __future__ import annotations

import gc
import os
from collections import Counter
from contextlib import ContextDecorator
from threading import Lock, get_ident

_AFTER = 200_000
"""Objects made beyond those dropped, before the youngest are looked through."""


class collecting_rarely(ContextDecorator):
    """For as long as a block or a function runs, in whatever thread; then, behind the last of them, as it was before
    the first."""

    _lock = Lock()
    _inside = Counter[int]()
    """How many such blocks each thread is in."""
    _before = (0, 0, 0)

    def __enter__(self) -> None:
        kind = type(self)
        with kind._lock:
            if not kind._inside:
                kind._before = gc.get_threshold()
                if 0 < kind._before[0] < _AFTER:
                    gc.set_threshold(_AFTER, *kind._before[1:])
            kind._inside[get_ident()] += 1

    def __exit__(self, *_: object) -> None:
        kind = type(self)
        with kind._lock:
            kind._leave(get_ident(), kind._inside[get_ident()] - 1)

    @classmethod
    def _leave(cls, thread: int, left: int) -> None:
        """Let a thread be in so many blocks."""
        cls._inside[thread] = left
        cls._inside = +cls._inside
        # Who has set it since keeps what was set.
        if not cls._inside and gc.get_threshold()[0] == _AFTER:
            gc.set_threshold(*cls._before)

    @classmethod
    def alone(cls) -> None:
        """In a child process, which has none of the other threads of its parent."""
        cls._lock = Lock()
        for thread in [t for t in cls._inside if t != get_ident()]:
            cls._leave(thread, 0)


os.register_at_fork(after_in_child=collecting_rarely.alone)
