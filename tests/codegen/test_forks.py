"""A child of a process that has used several threads."""
from __future__ import annotations

import multiprocessing
import os
import subprocess
import sys
from collections.abc import Callable
from multiprocessing.connection import Connection
from pathlib import Path

import pytest

import sdfgad
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


@pytest.mark.skipif("fork" not in multiprocessing.get_all_start_methods(), reason="needs fork")
def test_a_child_goes_on_where_a_thread_of_its_parent_was_at_work() -> None:
    """The lock that the thread held would never be let go in the child."""
    def square(x: float) -> float:
        return x * x

    fork = multiprocessing.get_context("fork")
    mine, childs = fork.Pipe()
    with interpreted():
        gradient = sdfgad.grad(square)
        with gradient._lock:
            child = fork.Process(target=_called_in_child, args=(gradient, childs), daemon=True)
            child.start()
            told = mine.poll(60)
    if not told:
        child.kill()
    assert told and mine.recv() == 6.0
    child.join(60)
