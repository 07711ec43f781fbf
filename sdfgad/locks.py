"""Locks that a child process finds open: no thread of it would ever let go what a thread of the parent holds.

Two of them no thread holds while the process is forked, as what they guard has to be whole in the child. Who takes both
takes `LOADING` first, and so does the fork.
"""
from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from functools import cached_property
from threading import Lock, RLock
from typing import Any
from weakref import WeakSet

LOADING = RLock()
"""Held while a module is loaded, which may make objects that `INTERNED` guards."""
INTERNED = RLock()
"""Of the tables of objects by their content."""
_holders: WeakSet[Any] = WeakSet()


def own_lock(holder: Any) -> Lock:
    """A lock for the attribute `_lock` of an object, which has another one in a child process."""
    _holders.add(holder)
    return Lock()


def _renew() -> None:
    for holder in list(_holders):
        holder._lock = Lock()
    for made in _cached_properties():
        made.lock = RLock()


def _cached_properties() -> Iterator[Any]:
    """Those of this package. Before Python 3.12 each has a lock, for all objects of its class, which is held as long as
    one of them is found out: that may be a whole plan."""
    forms = [form for name, module in list(sys.modules.items()) if name.startswith("sdfgad.")
             for form in list(vars(module).values()) if isinstance(form, type)]
    yield from (made for form in forms for made in vars(form).values() if isinstance(made, cached_property))


os.register_at_fork(after_in_child=_renew)
for _lock in (INTERNED, LOADING):  # the one that is registered last is taken first
    os.register_at_fork(before=_lock.acquire, after_in_parent=_lock.release, after_in_child=_lock.release)
