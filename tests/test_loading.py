"""What is loaded when: `later` loads at the first call, and calls of programs in the cache need no passes."""
from __future__ import annotations

import multiprocessing
import os
import subprocess
import sys
import threading
import time

import pytest

from sdfgad.later import later

pytestmark = pytest.mark.recalls
CALL = """
import sys
import numpy as np
import sdfgad

def cost(x, steps):
    for k in range(steps):
        x[1:] = x[1:] * np.sin(x[:-1])
    return np.sum(x)

print(sdfgad.{verb}(cost)(np.ones(5), 3))
print(*(m for m in sys.modules if m.startswith({unwanted})))
"""
UNWANTED = ("sdfgad.transform.stages", "sdfgad.transform.fusion", "sdfgad.transform.normal", "sdfgad.reverse.sweeps",
            "sdfgad.reverse.storage", "sdfgad.reverse.problem", "sdfgad.codegen.cpu.schedule",
            "sdfgad.codegen.cpu.order", "sdfgad.codegen.cpu.nests", "sdfgad.codegen.cpu.text", "sdfgad.codegen.cuda.s",
            "sdfgad.codegen.reference.lower", "sdfgad.checkpoint.solve", "sdfgad.report.page",
            "sdfgad.transform.cutting.cut", "sdfgad.frontend.graphs.reading", "sdfgad.frontend.mpi.calls", "dace",
            "scipy", "pulp", "highspy", "psutil", "filelock", "sympy", "networkx")


@pytest.mark.parametrize("verb", ["grad", "forward"])
def test_a_call_from_the_cache_loads_no_passes(tmp_path, verb):
    (tmp_path / "model.py").write_text(CALL.format(verb=verb, unwanted=UNWANTED))
    environment = {**os.environ, "SDFGAD_VERIFY": "0"}

    def called():
        done = subprocess.run([sys.executable, str(tmp_path / "model.py")], env=environment, capture_output=True,
                              text=True, timeout=200)
        assert done.returncode == 0, done.stderr
        return done.stdout.splitlines()

    first, again = called(), called()
    assert first[0] == again[0] and "sdfgad.transform.stages" in first[-1]
    assert len(again) == len(first) and again[-1] == ""


def test_what_comes_later_is_what_it_stands_for():
    square = later("math", "sqrt")
    assert square(4.0) == 2.0 and square.__name__ == "sqrt" and "math.sqrt" in repr(square)


def _square_of_a_child(home, found):
    found.send(later(home, "square")(3.0))


@pytest.mark.skipif("fork" not in multiprocessing.get_all_start_methods(), reason="needs fork")
def test_a_child_loads_what_a_thread_of_its_parent_was_loading(tmp_path, monkeypatch):
    """The lock of a module that the thread holds would never be let go in the child."""
    (tmp_path / "loaded_slowly.py").write_text("import time\ntime.sleep(1.0)\nsquare = lambda x: x * x\n")
    monkeypatch.syspath_prepend(tmp_path)
    fork = multiprocessing.get_context("fork")
    mine, childs = fork.Pipe()
    thread = threading.Thread(target=later("loaded_slowly", "square"), args=(2.0,))
    thread.start()
    while "loaded_slowly" not in sys.modules:
        time.sleep(0.01)
    child = fork.Process(target=_square_of_a_child, args=("loaded_slowly", childs), daemon=True)
    child.start()
    told = mine.poll(30)
    if not told:
        child.kill()
    thread.join()
    monkeypatch.delitem(sys.modules, "loaded_slowly")
    assert told and mine.recv() == 9.0
    child.join(30)
