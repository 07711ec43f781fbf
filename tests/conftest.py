"""For all tests."""
from __future__ import annotations

import ctypes
import gc
import os
import shutil
from collections.abc import Iterator
from itertools import count

import pytest

from sdfgad.codegen import program
from sdfgad.codegen.compiling import build, threads
from sdfgad.codegen.workspaces import Workspace, Workspaces
from sdfgad.plans import search
from sdfgad.verbs import pipeline, pushforwards

# As many threads as a test asks for, whatever else the machine does: fewer would find no race.
os.environ.setdefault("SDFGAD_THREAD_GUARD", "0")
# The same programs whatever the caches.
os.environ.setdefault("SDFGAD_THRESHOLDS", "usual")
# What JAX is asked for runs once: it is compiled quickly, not to run fast.
os.environ.setdefault("JAX_DISABLE_MOST_OPTIMIZATIONS", "1")


FLAGS = build.FLAGS
QUICK = tuple("-Og" if flag == "-O3" else flag for flag in FLAGS)
"""What g++ needs less time for; for tests of what programs compute."""
FASTER_LINKER = ("-fuse-ld=gold",) if shutil.which("ld.gold") else ()
OPTIMISED = ("codegen", "harness", "npbench", "perf")
"""Folders of tests that ask for what users get; `pytest.mark.optimised` for other ones."""


TESTS_AT_ONCE = 100
"""After so many, what is left of them is looked through for garbage, and then no more."""
_DONE = count(1)


def linked_quickly() -> tuple[str, ...]:
    return *threads.link_flags(), *FASTER_LINKER


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    """Before all fixtures: some of them compile for many tests."""
    users = item.path.parent.name in OPTIMISED or item.get_closest_marker("optimised")
    build.FLAGS = program.FLAGS = FLAGS if users else QUICK
    # Which linker it is changes nothing in the code; the processes that tests start have the usual one.
    build.link_flags = linked_quickly


def pytest_configure(config: pytest.Config) -> None:
    """Every program is looked at after every pass, also in the processes that tests start."""
    os.environ.setdefault("SDFGAD_VERIFY", "1")


def pytest_collection_finish() -> None:
    """Thousands of tests stay to the end: nobody need look through them for garbage."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(200_000, 20, 50)


@pytest.hookimpl(trylast=True)
def pytest_runtest_teardown() -> None:
    """Some tests, and the stopwatch of the benchmarks, collect garbage: they need not look through what thousands of
    tests before them have left in caches, which takes seconds."""
    if next(_DONE) % TESTS_AT_ONCE == 0:
        gc.collect()
        gc.freeze()


@pytest.fixture(autouse=True)
def searching(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every test makes its programs anew: many change a constant of a pass, which what is kept on disk knows nothing
    of."""
    if request.node.get_closest_marker("recalls") is None:
        for module in (pipeline, pushforwards, search):
            monkeypatch.setattr(module, "recalled", lambda what, parts, found, outside: found().value)
    else:
        monkeypatch.setenv("SDFGAD_VERIFY", "0")


@pytest.fixture(autouse=True, scope="session")
def nothing_left_behind() -> Iterator[None]:
    """No call finds anything of use where it works: NaN as a float, far outside of every array as an index."""
    take = Workspaces.take

    def filled(self: Workspaces, size: int, most: int | None = None) -> Workspace:
        block = take(self, size, most)
        ctypes.memset(block.address, 0xFF, block.size)
        return block

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Workspaces, "take", filled)
        patch.setattr(program, "OWN", -1)
        yield
