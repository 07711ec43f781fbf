"""A child of a process that has used several threads."""
from __future__ import annotations

import multiprocessing
import os
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import pytest

import sdfgad
from sdfgad.garbage import collecting_rarely
from sdfgad.plans.planning import Choice
from tests.support.interpreted import interpreted

PROGRAM = """
import multiprocessing
import os
import numpy as np
import sdfgad

def loss(x):
    for t in range(3):
        x[1:-1] = np.sin(x[2:]) * np.exp(-x[:-2]) + np.sqrt(x[1:-1])
    return np.sum(x)

X = np.linspace(1.0, 2.0, 400_000)

def child(k):
    g = sdfgad.grad(loss)(X)                       # found in the cache, called for the first time here
    return np.array_equal(gradient(X), here) and np.allclose(g, here, rtol=1e-12)

with sdfgad.config(num_threads=3):
    gradient = sdfgad.grad(loss)
    here = gradient(X)
    with multiprocessing.get_context("fork").Pool(2) as pool:
        print(pool.map(child, range(2)))
    print(np.array_equal(gradient(X), here))       # the parent keeps its threads
"""


@pytest.mark.skipif("fork" not in multiprocessing.get_all_start_methods(), reason="needs fork")
def test_children_of_a_process_with_threads(tmp_path: Path) -> None:
    program = tmp_path / "program.py"
    program.write_text(PROGRAM)
    environment = {**os.environ, "PYTHONPATH": str(Path(sdfgad.__file__).parent.parent)}
    done = subprocess.run([sys.executable, str(program)], capture_output=True, text=True, timeout=240, env=environment)
    assert done.stdout.split() == ["[True,", "True]", "True"], done.stderr


def _called_in_child(gradient: Callable[[float], float], found: Connection) -> None:
    found.send(gradient(3.0))


def _square(x: float) -> float:
    return x * x


@contextmanager
def _held_by_a_thread(lock: AbstractContextManager[Any]) -> Iterator[None]:
    held, leave = threading.Event(), threading.Event()

    def hold() -> None:
        with lock:
            held.set()
            leave.wait(60)

    thread = threading.Thread(target=hold)
    thread.start()
    assert held.wait(10)
    try:
        yield
    finally:
        leave.set()
        thread.join()


def _told_by_child(gradient: Callable[[float], float], lock: AbstractContextManager[Any]) -> float | None:
    """What a child gives for 3 that is forked while a thread of its parent holds a lock; None if it waits for that."""
    fork = multiprocessing.get_context("fork")
    mine, childs = fork.Pipe()
    with _held_by_a_thread(lock):
        child = fork.Process(target=_called_in_child, args=(gradient, childs), daemon=True)
        child.start()
        told = mine.poll(30)
    if not told:
        child.kill()
    child.join(30)
    return mine.recv() if told else None


@pytest.mark.skipif("fork" not in multiprocessing.get_all_start_methods(), reason="needs fork")
@pytest.mark.parametrize("what", ["a gradient", "a plan", "garbage"])
def test_a_child_goes_on_where_a_thread_of_its_parent_was_at_work(what: str) -> None:
    """The lock that the thread held would never be let go in the child."""
    with interpreted():
        gradient = sdfgad.grad(_square)
        held = {"a gradient": gradient._lock, "garbage": collecting_rarely._lock,
                "a plan": getattr(vars(Choice)["stored"], "lock", nullcontext())}  # which has none from Python 3.12 on
        assert _told_by_child(gradient, held[what]) == 6.0


WHILE_LOADING = """
import faulthandler, os, threading, time
from sdfgad.ir.expr import const
from sdfgad.locks import INTERNED, LOADING

faulthandler.dump_traceback_later(30, exit=True)
loading = threading.Event()

def load():
    with LOADING:
        loading.set()
        time.sleep(0.3)                            # the fork begins, and waits for the end of this
        made.append(const(0.123, "float64"))       # as the module that is loaded may

made = []
thread = threading.Thread(target=load)
thread.start()
loading.wait()
child = os.fork()
if not child:
    with LOADING, INTERNED:
        os._exit(0)
thread.join()
print(os.waitpid(child, 0)[1], len(made))
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_a_fork_waits_for_a_thread_that_loads_and_makes_expressions() -> None:
    """Who takes both locks takes them in one order: else each would wait for the other."""
    environment = {**os.environ, "PYTHONPATH": str(Path(sdfgad.__file__).parent.parent)}
    done = subprocess.run([sys.executable, "-c", WHILE_LOADING], capture_output=True, text=True, timeout=120,
                          env=environment)
    assert done.stdout.split() == ["0", "1"], done.stderr


@pytest.mark.skipif("fork" not in multiprocessing.get_all_start_methods(), reason="needs fork")
def test_a_child_calls_what_a_thread_of_its_parent_was_calling() -> None:
    gradient = sdfgad.grad(_square)
    assert gradient(2.0) == 4.0
    (made,), = gradient._known.values()
    assert _told_by_child(gradient, made.compiled()._lock) == 6.0
