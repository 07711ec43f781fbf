"""As a script: what a process holds while it calls gradients of changing shapes, beside what the plans say."""
from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np

import sdfgad
from tests.data.memory_programs import steps

SIZE = 500_000
LENGTHS = (20, 22, 21)


def halved(x):
    """A tape of unknown length."""
    while np.max(x) > 1.0:
        x = x * 0.5 + 0.1 * np.sin(x)
    return np.sum(x)


def _resident() -> int:
    line = next(x for x in Path("/proc/self/status").read_text().splitlines() if x.startswith("VmRSS"))
    return int(line.split()[1]) * 1024


def _calls(limit: str | None) -> Iterator[int]:
    """The predicted peak of each call, after it."""
    gradient = sdfgad.grad(steps, memory_limit=limit)
    u = np.full(SIZE, 0.5)
    for length in LENGTHS:
        gradient(u, length)
        yield gradient.plan(u, length).predicted.peak_bytes
    tape = sdfgad.grad(halved)
    for start in (1e6, 1e7):
        tape(np.full(SIZE // 2, start))
        yield 0


def main(limit: str | None) -> None:
    list(_calls(limit))  # what planning and compiling take from the interpreter
    sdfgad.release()
    before = _resident()
    found = [(peak, _resident() - before) for peak in _calls(limit)]
    freed = sdfgad.release()
    print(json.dumps({"peaks": [p for p, _ in found], "resident": [r for _, r in found], "freed": freed,
                      "left": _resident() - before}))


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else None)
