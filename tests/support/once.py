"""What takes long is made once for all processes that run tests, by the first that wants it."""
from __future__ import annotations

import fcntl
import os
import pickle
from collections.abc import Callable
from typing import TypeVar

import pytest

T = TypeVar("T")


def once(folders: pytest.TempPathFactory, name: str, make: Callable[[], T]) -> T:
    """What `make` returns, which can be pickled. Others wait while one makes it."""
    own = folders.getbasetemp()
    common = own.parent if "PYTEST_XDIST_WORKER" in os.environ else own
    kept = common / f"{name}.pickle"
    with open(common / f"{name}.lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not kept.exists():
            kept.write_bytes(pickle.dumps(make()))
    made: T = pickle.loads(kept.read_bytes())  # noqa: S301
    return made
