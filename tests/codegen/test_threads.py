"""The threads of the process: right in every kind of region, asleep when there is nothing to do, and fewer of them
where others need the cores."""
from __future__ import annotations

import ctypes
import os
import signal
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

import sdfgad
from sdfgad.codegen.compiling.threads import SOURCES, attach, link_flags
from sdfgad.codegen.compiling.toolchain import find_compiler, run
from sdfgad.cores import NO_QUOTA, core_quota
from sdfgad.errors import ToolchainError

MS = 1_000_000
CALL = 5 * MS


def build(folder: Path, source: Path) -> ctypes.CDLL:
    made, library = folder / "made.o", folder / "made.so"
    compiler = find_compiler().path
    run((compiler, "-std=c++20", "-O1", "-fopenmp", "-fPIC", f"-I{SOURCES}", "-c", str(source), "-o", str(made)),
        code="SG505")
    run((compiler, str(made), "-shared", "-o", str(library), *link_flags()), code="SG505")
    loaded = ctypes.CDLL(str(library))
    attach(loaded)
    return loaded


@pytest.fixture(scope="module")
def regions(tmp_path_factory: pytest.TempPathFactory) -> ctypes.CDLL:
    library = build(tmp_path_factory.mktemp("threads"), Path(__file__).with_name("threads.cpp"))
    for name in ("numbers", "rounds", "chunks"):
        getattr(library, name).restype = ctypes.c_int64
    library.governor.restype = ctypes.c_void_p
    library.report.restype = library.meet.restype = ctypes.c_bool
    return library


@pytest.mark.parametrize("threads", [1, 2, 3, 5])
def test_exactly_as_many_threads_as_are_asked_for(regions: ctypes.CDLL, threads: int) -> None:
    assert regions.numbers(-threads) == threads
    assert regions.rounds(-threads, 200) == 0


def test_at_most_as_many_threads_as_are_asked_for(regions: ctypes.CDLL) -> None:
    assert regions.rounds(2, 3000) == regions.rounds(0, 3000) == 0
    assert {regions.numbers(2) for _ in range(100)} <= {1, 2}


@pytest.mark.parametrize("loop", [(0, 32768, 1), (0, 7, 1), (7, 100_000, 3), (32768, 0, -1), (100, -1, -7), (3, 3, 1)])
@pytest.mark.parametrize("least", [1, 5])
def test_many_iterations_are_taken_in_few_chunks(regions: ctypes.CDLL, loop: tuple[int, int, int], least: int) -> None:
    """Taken one by one, those of a sparse product cost five times as much on two threads as on one."""
    start, stop, step = (ctypes.c_int64(n) for n in loop)
    found = regions.chunks(start, stop, step, ctypes.c_int64(least), 2)
    assert 0 <= found <= min(200, -(-len(range(*loop)) // least))


def test_calls_from_several_threads(regions: ctypes.CDLL) -> None:
    with ThreadPoolExecutor(4) as pool:
        assert set(pool.map(lambda k: regions.rounds((-2, 2, -3, 0)[k % 4], 150), range(12))) == {0}


def test_a_child_process_has_threads_of_its_own(regions: ctypes.CDLL) -> None:
    assert regions.rounds(-3, 20) == 0
    child = os.fork()
    if not child:
        signal.alarm(60)
        os._exit(int(regions.numbers(-3) != 3 or regions.rounds(-3, 20) != 0))
    assert os.waitpid(child, 0)[1] == 0
    assert regions.numbers(-3) == 3


def rough(x):
    return np.sum(np.sin(x[1:] * x[:-1]) ** 2)


def test_gradients_go_on_in_a_child_process() -> None:
    gradient, x = sdfgad.grad(rough), np.linspace(0.0, 9.0, 50_000)
    with sdfgad.config(num_threads=3):
        expected = gradient(x)
        child = os.fork()
        if not child:
            signal.alarm(60)
            os._exit(int(not np.array_equal(gradient(x), expected)))
        assert os.waitpid(child, 0)[1] == 0
        assert np.array_equal(gradient(x), expected)


def test_threads_without_work_sleep(regions: ctypes.CDLL) -> None:
    assert regions.rounds(-4, 20) == 0
    time.sleep(0.05)
    began = time.process_time()
    time.sleep(0.3)
    assert time.process_time() - began < 0.1


@pytest.mark.skipif(len(os.sched_getaffinity(0)) < 2, reason="needs two cores")
def test_a_thread_that_wakes_gets_another_core(regions: ctypes.CDLL) -> None:
    """Also one that ran on the caller's core before, where a virtual machine would put it again."""
    everywhere, met = os.sched_getaffinity(0), 0
    regions.meet()
    for _ in range(20):
        time.sleep(0.01)
        others = {int(thread) for thread in os.listdir("/proc/self/task")} - {threading.get_native_id()}
        for where in ({regions.core()}, everywhere):
            for thread in others:
                os.sched_setaffinity(thread, where)
            time.sleep(0.01)
            last = regions.meet()
        met += last
    assert met < 5


@pytest.mark.skipif(len(os.sched_getaffinity(0)) < 2, reason="needs two cores")
def test_threads_may_run_wherever_their_caller_may(regions: ctypes.CDLL) -> None:
    """Other threads of the process than those of the pool sleep and keep what they have."""
    everywhere = os.sched_getaffinity(0)
    for _ in range(10):
        time.sleep(0.01)
        regions.meet()
    time.sleep(0.05)
    assert all(os.sched_getaffinity(int(thread)) == everywhere for thread in os.listdir("/proc/self/task"))


def test_a_construct_that_the_threads_do_not_know_is_refused(tmp_path: Path) -> None:
    source = tmp_path / "task.cpp"
    source.write_text("void work();\nvoid work() {\n#pragma omp task\n{ static int k; k++; }\n}\n")
    with pytest.raises(ToolchainError):
        build(tmp_path, source)


class Machine:
    """A governor with a clock that stands still between calls. others: threads of others that run all the time."""

    def __init__(self, library: ctypes.CDLL, cores: int, others: int = 0) -> None:
        self.library, self.cores, self.others, self.time = library, cores, others, 0
        self.made = ctypes.c_void_p(library.governor())

    def limit(self) -> int:
        return int(self.library.limit(self.made, self.cores, ctypes.c_int64(self.time)))

    def call(self) -> int:
        """The threads of a call. What all together have too little time for is lost to some of them."""
        threads = self.limit()
        wanted = threads + self.others
        lost = CALL * threads * max(0, wanted - self.cores) // wanted
        self.time += CALL
        if threads > 1:
            self.library.report(self.made, threads, ctypes.c_int64(CALL), ctypes.c_int64(lost),
                                ctypes.c_int64(self.time))
        return threads

    def calls(self, count: int) -> list[int]:
        return [self.call() for _ in range(count)]


@pytest.fixture
def machine(regions: ctypes.CDLL) -> Iterator[Machine]:
    made = Machine(regions, 2)
    yield made
    regions.dismiss(made.made)


@pytest.mark.parametrize("cores", [2, 8, 64])
def test_all_cores_of_an_idle_machine(machine: Machine, cores: int) -> None:
    machine.cores = cores
    assert set(machine.calls(500)) == {cores}


def test_one_thread_beside_another_job(machine: Machine) -> None:
    machine.others = 1
    assert machine.calls(3)[-1] == 1
    used = machine.calls(2000)
    assert used.count(2) < len(used) / 20, "more is tried now and then, but rarely"
    machine.others = 0
    machine.calls(400)
    assert set(machine.calls(100)) == {2}, "the other job is over"


def test_the_cores_that_are_left(machine: Machine) -> None:
    machine.cores, machine.others = 8, 3
    machine.calls(50)
    used = machine.calls(2000)
    assert 3 <= sorted(used)[len(used) // 2] <= 6


def test_a_short_disturbance_changes_nothing(machine: Machine) -> None:
    times = [ctypes.c_int64(t) for t in (CALL, MS, 0)]
    for _ in range(100):
        machine.library.report(machine.made, 2, *times)
        assert set(machine.calls(10)) == {2}


def share_alone(regions: ctypes.CDLL, on_one: int, on_all: int, asleep: bool = False, gap: int = MS,
                cold: int = 0) -> float:
    """Of ten thousand runs of a region those on one thread."""
    times = (ctypes.c_int64(t) for t in (on_one, on_all))
    return float(regions.alone(10_000, *times, asleep, ctypes.c_int64(gap), ctypes.c_int64(cold))) / 10_000


def test_regions_run_as_they_are_faster(regions: ctypes.CDLL) -> None:
    assert share_alone(regions, 500, 900) > 0.94, "sharing takes longer"
    assert share_alone(regions, 5000, 3000) < 0.02, "sharing is worth it, and alone is tried rarely"
    assert share_alone(regions, 400_000, 200_000) < 0.002, "longer ones as well"
    assert share_alone(regions, 13_000_000, 9_000_000) < 0.002
    assert share_alone(regions, 9_000_000, 13_000_000) > 0.94, "they may wait for each other more than they work"
    assert share_alone(regions, 90_000_000, 130_000_000) == 0, "a long one is never tried alone"
    assert share_alone(regions, 20_000, 30_000, asleep=True) > 0.94, "less than it takes to wake threads"
    assert share_alone(regions, 20_000, 30_000, asleep=True, gap=MS // 10) < 0.8, "but not for one region only"
    assert share_alone(regions, 800_000, 500_000, asleep=True) < 0.04


def test_a_run_alone_is_not_judged_by_what_it_has_to_fetch(regions: ctypes.CDLL) -> None:
    """The first one on one thread finds half of the data in the cache of another core."""
    assert share_alone(regions, 3000, 6000, gap=MS // 100, cold=9000) > 0.9


@pytest.mark.parametrize("text, cores", [
    ("150000 100000", 2), ("max 100000", NO_QUOTA), ("20000 100000", 1), ("", NO_QUOTA)])
def test_the_quota_of_a_control_group(tmp_path: Path, text: str, cores: int) -> None:
    (tmp_path / "job" / "step").mkdir(parents=True)
    (tmp_path / "job" / "cpu.max").write_text(text)
    (tmp_path / "self").write_text("0::/job/step\n")
    assert core_quota(tmp_path, tmp_path / "self") == cores
