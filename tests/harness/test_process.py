import os
import time

import pytest

from npbench_suite.harness.job import Job
from npbench_suite.harness.process import environment
from npbench_suite.harness.stopwatch import first_call, repeated
from npbench_suite.harness.worker import pin


def test_threads_reach_every_library(tmp_path, monkeypatch):
    monkeypatch.setenv("XLA_FLAGS", "--xla_dump_to=x")
    one, two = (environment(Job("k", "jax:literal", threads, "S", 1, str(tmp_path))) for threads in (1, 2))
    assert one["OMP_NUM_THREADS"] == one["OPENBLAS_NUM_THREADS"] == "1"
    assert two["SDFGAD_NUM_THREADS"] == "2"
    assert one["XLA_FLAGS"] == "--xla_dump_to=x --xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1"
    assert "eigen=true intra_op_parallelism_threads=2" in two["XLA_FLAGS"]
    assert one["SDFGAD_CACHE_DIR"].startswith(str(tmp_path))


@pytest.mark.skipif(not hasattr(os, "sched_setaffinity"), reason="this system has no affinity")
def test_a_worker_keeps_to_its_cores():
    before = os.sched_getaffinity(0)
    try:
        pin(1)
        assert os.sched_getaffinity(0) == {min(before)}
    finally:
        os.sched_setaffinity(0, before)


def test_repeated_calls_get_fresh_arguments_and_leave_out_the_warm_up():
    seen = []
    times = repeated(lambda x: time.sleep(0.1) or seen.append(x), 3, 10.0, lambda: (len(seen),))
    assert (len(times), seen) == (3, [0, 1, 2, 3])


def test_short_calls_are_repeated_more_often_and_slow_rivals_less():
    assert len(repeated(lambda: None, 4, 10.0)) == 12
    assert len(repeated(lambda: time.sleep(0.06), 5, 10.0, rival=0.01)) == 3
    assert len(repeated(lambda: time.sleep(0.06), 5, 10.0, rival=0.05)) == 5


def test_repetition_stops_at_the_budget():
    assert len(repeated(lambda: time.sleep(0.02), 100, 0.05)) < 4
    assert len(repeated(lambda: time.sleep(0.02), 100, 0.01)) == 1


def test_first_call_keeps_the_result():
    seconds, result = first_call(lambda: 7)
    assert seconds >= 0 and result == 7
