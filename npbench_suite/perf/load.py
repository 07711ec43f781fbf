"""Another job: ``python -m npbench_suite.perf.load [seconds]`` computes a gradient again and again, until it is ended.

It prints a line when it begins.
"""

from __future__ import annotations

import sys
from time import perf_counter

import sdfgad
from npbench_suite.perf.busy_programs import OTHERS

PROGRAM = "shallow_water"
LONGEST = 600.0
"""Seconds after which it ends by itself, whatever became of who started it."""


def main(seconds: float) -> None:
    """Compute for so long."""
    other = OTHERS[PROGRAM]
    gradient, values = sdfgad.grad(other.program, wrt=other.wrt), other.arguments()
    gradient(*values)
    sys.stdout.write("running\n")
    sys.stdout.flush()
    end = perf_counter() + seconds
    while perf_counter() < end:
        gradient(*values)


if __name__ == "__main__":
    main(float(sys.argv[1]) if len(sys.argv) > 1 else LONGEST)
