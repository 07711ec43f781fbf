"""A process that does nothing but one gradient: ``python -m npbench_suite.perf.first_call``.

Prints how many processes it started, which is none when the program is in the cache.
"""

from __future__ import annotations

import sys
from typing import Any

import numpy as np

import sdfgad

STARTS = ("subprocess.Popen", "os.system", "os.posix_spawn", "os.exec", "os.fork", "os.forkpty")


def smooth(x: Any, steps: Any) -> Any:
    for _ in range(steps):
        x[1:-1] = 0.25 * (x[:-2] + 2.0 * x[1:-1] + x[2:])
    return np.sum(x * x)


def main() -> None:
    """One call, counted."""
    started = []
    sys.addaudithook(lambda event, _: started.append(event) if event in STARTS else None)
    sdfgad.grad(smooth)(np.linspace(0.0, 1.0, 1000), 10)
    sys.stdout.write(f"{len(started)}\n")


if __name__ == "__main__":
    main()
