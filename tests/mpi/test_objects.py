"""Messages in lower case on real ranks: what comes is told by those who send it."""
from __future__ import annotations

import pytest

from tests.support.ranks import needs_mpi, run_ranks

pytestmark = [pytest.mark.mpi, needs_mpi]


@pytest.mark.parametrize("ranks", [2, pytest.param(3, marks=pytest.mark.slow)])
def test_messages_in_lower_case(ranks: int) -> None:
    done = run_ranks(ranks, "-m", "tests.mpi.in_ranks", "objects", timeout=200)
    assert done.status == 0, done.err[-4000:]
    found = {n.removeprefix("objects "): f for n, f in done.found.items()}
    right = {n: f for n, f in found.items() if "slope" in f}
    assert len(right) == 8 and found["turned"]["error"] == 0.0
    assert all(f["value"] < 1e-13 and f["slope"] < 1e-8 and f["dot"] < 1e-12 for f in right.values()), right
    for name, text in {"of_two_forms": "of different forms on one way", "from_nobody": "no rank sends"}.items():
        assert {form for form, _ in found[name]["error"]} == {"UnsupportedError"}
        assert any(text in message and "objects.py" in message for _, message in found[name]["error"])
