"""What programs work in is there once in a process, whatever the shapes, and can be given back."""
from __future__ import annotations

import json
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from resource import RUSAGE_SELF, getrusage

import numpy as np
import pytest

import sdfgad
from sdfgad.codegen.workspaces import LARGE, MOST_FREE, Workspaces, workspaces
from sdfgad.errors import MemoryLimitError
from sdfgad.memory import parse_bytes

ROOT = Path(__file__).parent.parent


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="needs Linux's /proc")
@pytest.mark.parametrize("limit", [[], ["100MB"]], ids=["no limit", "limit"])
def test_the_process_holds_what_the_largest_plan_says(limit):
    done = subprocess.run([sys.executable, "-m", "tests.data.changing_shapes", *limit], cwd=ROOT, check=True,
                          capture_output=True, text=True, timeout=300)
    seen = json.loads(done.stdout.splitlines()[-1])
    most = max(seen["peaks"])
    assert most > 80e6
    # Beside the arrays: loaded programs, and margins of the allocator.
    assert all(0.8 * most < held < 1.1 * most + 30e6 for held in seen["resident"]), seen
    assert seen["freed"] > 0.8 * most and seen["left"] < 0.1 * most + 30e6, seen


def test_one_block_serves_calls_in_turn_and_grows():
    rooms = Workspaces()
    first = rooms.take(1000)
    rooms.give(first)
    grown = rooms.take(1100)
    assert (grown is first, grown.size) == (True, 1100)
    rooms.give(grown)
    larger = rooms.take(50_000)
    assert larger.size == 50_000 and larger.address % 64 == 0
    rooms.give(larger)
    assert rooms.take(10) is larger and rooms.free_bytes == 0


def test_calls_at_once_have_blocks_of_their_own():
    rooms = Workspaces()
    blocks = [rooms.take(1000 + k) for k in range(MOST_FREE + 2)]
    assert len({b.address for b in blocks}) == len(blocks)
    for block in blocks:
        rooms.give(block)
    assert rooms.free_bytes == sum(b.size for b in blocks[2:])
    assert rooms.release() == sum(b.size for b in blocks[2:]) and rooms.free_bytes == 0


def test_a_limit_leaves_nothing_beside_the_block_of_a_call():
    rooms = Workspaces()
    for block in [rooms.take(3 * LARGE), rooms.take(LARGE)]:
        rooms.give(block)
    taken = rooms.take(LARGE // 2, most=LARGE)
    assert LARGE // 2 <= taken.size <= LARGE and rooms.free_bytes == 0


def test_a_block_that_the_system_has_not_is_refused():
    with pytest.raises(MemoryLimitError, match="temporaries"):
        Workspaces().take(1 << 60)


def test_a_share_of_what_is_available_counts_what_is_held_for_calls():
    assert parse_bytes("50%", 10**12) > 5 * 10**11
    assert parse_bytes(100, 10**12) == 100


def products(x, n):
    for _ in range(n):
        x = x * np.sin(x) + 0.1
    return np.sum(x)


def test_calls_in_turn_and_at_once_find_their_pages_and_disturb_nobody():
    one, other = sdfgad.grad(products), sdfgad.value_and_grad(products)
    x, y = np.linspace(0.1, 1.0, 100_000), np.linspace(0.5, 2.0, 60_000)
    for _ in range(3):
        expected = one(x, 10), other(y, 12)[1]
    faults = getrusage(RUSAGE_SELF).ru_minflt
    for _ in range(3):
        assert (one(x, 10) == expected[0]).all() and (other(y, 12)[1] == expected[1]).all()
    assert getrusage(RUSAGE_SELF).ru_minflt - faults < x.nbytes * 10 / 4096
    with ThreadPoolExecutor(4) as threads:
        found = list(threads.map(lambda k: one(x, 10) if k % 2 else other(y, 12)[1], range(24)))
    assert all((g == expected[1 - k % 2]).all() for k, g in enumerate(found))
    assert workspaces().free_bytes > 0
    pullback = sdfgad.vjp(products, x, 10)[1]
    assert sdfgad.release() > 0 and workspaces().free_bytes == 0
    assert (pullback(1.0) == expected[0]).all() and (one(x, 10) == expected[0]).all()
