"""Locks that a child process finds open."""
from __future__ import annotations

import os
from threading import Lock
from typing import Any
from weakref import WeakSet

_holders: WeakSet[Any] = WeakSet()


def own_lock(holder: Any) -> Lock:
    """A lock for the attribute `_lock` of an object, which has another one in a child process: where a thread of the
    parent holds it, no thread of the child would ever let it go."""
    _holders.add(holder)
    return Lock()


def _renew() -> None:
    for holder in list(_holders):
        holder._lock = Lock()


os.register_at_fork(after_in_child=_renew)
