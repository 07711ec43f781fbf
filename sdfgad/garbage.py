"""Garbage is looked for rarely while programs are made.

A program is many small objects that stay. To go through them again and again for cycles that are not there takes a
tenth of the time.
"""
from __future__ import annotations

import gc
import threading
from contextlib import ContextDecorator

_AFTER = 200_000
"""Objects made beyond those dropped, before the youngest are looked through."""
_lock = threading.Lock()


class collecting_rarely(ContextDecorator):
    """For as long as a block or a function runs, in whatever thread; then, behind the last of them, as it was before
    the first."""

    _inside = 0
    _before = (0, 0, 0)

    def __enter__(self) -> None:
        kind = type(self)
        with _lock:
            if not kind._inside:
                kind._before = gc.get_threshold()
                if 0 < kind._before[0] < _AFTER:
                    gc.set_threshold(_AFTER, *kind._before[1:])
            kind._inside += 1

    def __exit__(self, *_: object) -> None:
        kind = type(self)
        with _lock:
            kind._inside -= 1
            # Who has set it since keeps what was set.
            if not kind._inside and gc.get_threshold()[0] == _AFTER:
                gc.set_threshold(*kind._before)
