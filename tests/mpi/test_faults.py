"""Errors in the middle, faults of one rank, and ranks that wait in vain: all of them end, and say why."""
from __future__ import annotations

import os
import re
import time
from pathlib import Path
from typing import Any

import pytest

from tests.support.ranks import OPEN_MPI, in_ranks, needs_mpi, run_ranks, slowness

pytestmark = [pytest.mark.mpi, needs_mpi]


@pytest.mark.parametrize("check, text", [
    ("end-inside", "the sum of this block is too large"),
    pytest.param("end-nothing", "a message in lower case from PROC_NULL", marks=pytest.mark.slow),
    ("end-short", "a message of 2 elements arrived where 3 were expected"),
    pytest.param("end-counts", "counts of 7 elements for a buffer of 8", marks=pytest.mark.slow),
    pytest.param("end-places", "do not lie one behind the other", marks=pytest.mark.slow)])
def test_an_error_in_the_middle_ends_all_ranks(check: str, text: str) -> None:
    done = in_ranks(2, check, timeout=60)
    assert done.status != 0
    most = 2 if check in ("end-counts", "end-places", "end-nothing") else 1  # all ranks have those
    assert 1 <= done.err.count(text) <= most and "all ranks are ended" in done.err, done.err[-3000:]


@pytest.mark.parametrize("check, texts", [
    ("end-tags_apart", ("a message from rank 0 (tag 5)", "comm.Recv(y, source=0, tag=5)")),
    pytest.param("end-sent_twice", ("a message from rank 1 (tag 0) of the reverse sweep", "comm.Send(np."),
                 marks=pytest.mark.slow),
    pytest.param("end-beside", ("a message from any rank (", "the other ranks in Allreduce", "np.sum(x)"),
                 marks=pytest.mark.slow)])
def test_ranks_that_wait_in_vain_say_for_what(check: str, texts: tuple[str, ...]) -> None:
    done = in_ranks(2, check, timeout=60, SDFGAD_MPI_TIMEOUT="1")
    assert done.status != 0 and "all ranks are ended" in done.err
    assert all(text in done.err for text in (*texts, "faults.py:")), done.err[-3000:]


FAST = 10
"""Seconds from a fault to the end of all ranks, on a machine that does nothing else."""


OF_ONE_RANK = (
    ("end-killed", None), pytest.param("end-memory", "not available", marks=pytest.mark.slow),
    pytest.param("end-tape", "no memory left", marks=pytest.mark.slow),
    pytest.param("end-shape", "MPI", marks=pytest.mark.slow),
    pytest.param("end-raised", "the sum of this block", marks=pytest.mark.slow),
    pytest.param("end-refused", "matrix_rank", marks=pytest.mark.slow))


@pytest.mark.parametrize("check, text", OF_ONE_RANK)
def test_a_fault_of_one_of_three_ranks_ends_all(check: str, text: str | None) -> None:
    one_rank_ends_all(check, text)


@pytest.mark.slow
@pytest.mark.skipif(OPEN_MPI is None, reason="SDFGAD_TEST_OPENMPI names no Python beside Open MPI")
@pytest.mark.parametrize("check, text", OF_ONE_RANK)
def test_it_does_with_another_library(check: str, text: str | None) -> None:
    one_rank_ends_all(check, text, python=OPEN_MPI)


def one_rank_ends_all(check: str, text: str | None, **options: Any) -> None:
    """In time, with the message, and nothing is left."""
    mark = f"SDFGAD_TEST_FAULT_{os.getpid()}_{check.replace('-', '_').upper()}"
    done = in_ranks(3, check, timeout=120, **options, **{mark: "1"})
    ended = time.time()
    assert done.status != 0
    assert ended - float(re.search(r"fault at (\S+)", done.err)[1]) < FAST * slowness(3), done.err[-3000:]
    if text is not None:
        # Where the library finds it, it may do so on several ranks at once.
        # Of a refusal the other ranks say whose it is, if they still come to it.
        least, most = {"end-shape": (1, 3), "end-refused": (0, 0)}.get(check, (1, 1))
        assert text in done.err and least <= done.err.count("all ranks are ended") <= most, done.err[-3000:]
    while left := [p for p in Path("/proc").glob("[0-9]*/environ") if mark in _text(p)]:
        assert time.time() - ended < FAST * slowness(3), left
        time.sleep(0.1)


def _text(file: Path) -> str:
    try:
        return file.read_bytes().decode(errors="replace")
    except OSError:  # it has ended
        return ""


def test_the_runner_ends_ranks_that_wait_for_ever() -> None:
    wait = "from mpi4py import MPI\nif MPI.COMM_WORLD.rank: MPI.COMM_WORLD.recv()\nelse: MPI.COMM_WORLD.Barrier()"
    with pytest.raises(pytest.fail.Exception, match="hang"):
        run_ranks(2, "-c", wait, timeout=4)
