"""Programs that hold tens of megabytes; as a script: the bytes of one gradient call, and what the process says."""
from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import numpy as np

from sdfgad.calls.arguments import Bound, bind
from sdfgad.verbs.pipeline import Derivative, Request, derive


def steps(u, n):
    for _ in range(n):
        u[1:-1] = u[1:-1] + 0.1 * u[:-2] * u[2:]
    return np.sum(u)


def doubled(x):
    """Two numbers go into each point, so that the states are kept."""
    y = x * 1.5
    while np.max(y) < 50.0:
        y = y * y / (1.0 + 0.5 * y) + 0.5 * y + 1e-9 * x[::-1]
    return np.sum(y)


def layers(a, w):
    for _ in range(3):
        a = np.tanh(a @ w)
    return np.sum(a)


ARGUMENTS = {
    "steps": lambda: (np.full(1_000_000, 0.5), 12),
    "doubled": lambda: (np.full(1_000_000, 1.0),),
    "layers": lambda: (np.full((1200, 1200), 0.01), np.full((1200, 1200), 0.001))}


def _status(field: str) -> int:
    line = next(x for x in Path("/proc/self/status").read_text().splitlines() if x.startswith(field))
    return int(line.split()[1]) * 1024


def compiled(name: str) -> tuple[Derivative, Bound, tuple[Any, ...]]:
    """The gradient of a program, its bound arguments, and these."""
    args = ARGUMENTS[name]()
    bound = bind(globals()[name], args, {})
    made = derive(globals()[name], bound, Request(tuple(bound.leaves), reduce="sum"))
    made.compiled()
    return made, bound, args


def main(name: str) -> None:
    made, bound, args = compiled(name)
    given = sum(a.nbytes for a in args if isinstance(a, np.ndarray))
    before = _status("VmRSS") - given
    # 5 resets the high-water mark, see proc(5).
    Path("/proc/self/clear_refs").write_text("5")
    used = made.measured(bound)
    print(json.dumps({"measured": used.peak_bytes, "resident": _status("VmHWM") - before,
                      "generated": "dace" in sys.modules}))


if __name__ == "__main__":
    main(sys.argv[1])
