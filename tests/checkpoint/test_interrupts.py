"""An interrupt ends a solver that has long to search yet."""
from __future__ import annotations

import os
import random
import signal
import threading
import time

import pytest

from sdfgad.checkpoint import highs


def test_an_interrupt_ends_the_solver() -> None:
    """Subsets of five lists of numbers, each to have half of its sum: nothing is known to do that in seconds."""
    draw, pulp = random.Random(1), highs.pulp()
    model = pulp.LpProblem("halves", pulp.LpMinimize)
    chosen = [pulp.LpVariable(f"x{i}", cat="Binary") for i in range(60)]
    more, less = ([pulp.LpVariable(f"{n}{k}", 0) for k in range(5)] for n in ("more", "less"))
    model += pulp.lpSum(more) + pulp.lpSum(less)
    for k in range(5):
        weights = [draw.randint(1000, 9999) for _ in chosen]
        picked = pulp.lpSum(w * x for w, x in zip(weights, chosen, strict=True))
        model += picked + more[k] - less[k] == sum(weights) // 2
    sent = list[float]()

    def send() -> None:
        time.sleep(0.5)
        sent.append(time.monotonic())
        os.kill(os.getpid(), signal.SIGINT)

    before = signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell's jobs in the background ignore it
    try:
        threading.Thread(target=send).start()
        with pytest.raises(KeyboardInterrupt):
            highs.run(model, 60.0)
    finally:
        signal.signal(signal.SIGINT, before)
    assert time.monotonic() - sent[0] < 10
