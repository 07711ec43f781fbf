"""Bytes that kernels of gradients move, against the least: `python -m npbench_suite.device.sectors [NAME...]`.

An estimate without a device, of the indices of a program: see `sdfgad.codegen.cuda.sectors`.
"""
from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from dataclasses import dataclass, replace

import sdfgad
from npbench_suite.device.registers import derived
from npbench_suite.kernel import load, names
from sdfgad.analysis.sectors import KEPT_BYTES
from sdfgad.codegen.cuda.schedule import DeviceProgram, scheduled
from sdfgad.codegen.cuda.sectors import SectorMoves, in_order, moves, runs
from sdfgad.codegen.cuda.work import works

MOST, LARGE = 1.3, 1e6
"""So many times the least bytes are too many in kernels that move so many bytes."""


@dataclass(frozen=True)
class Moved:
    """Of one kernel. least: bytes that it has to move; moved: bytes of the sectors. worst: the array for which most
    bytes too many are moved. atomic: whether sums are."""

    kernel: str
    least: float
    moved: float
    worst: str
    atomic: bool

    @property
    def ratio(self) -> float:
        return self.moved / self.least if self.least else 1.0

    def __str__(self) -> str:
        atomic = ", atomic" if self.atomic else ""
        return f"{self.kernel}: {self.moved / 1e6:.1f} MB, {self.ratio:.2f} times the least, by {self.worst}{atomic}"


def _kept(moves: SectorMoves, size: int) -> SectorMoves:
    """No array has more bytes than it has; a small one comes in once."""
    least = min(moves.least, size)
    return replace(moves, least=least, moved=max(least, min(moves.moved, size)) if size <= KEPT_BYTES else moves.moved)


def moved_by(made: DeviceProgram) -> Iterator[Moved]:
    """Of each kernel, in order; loops around it count once."""
    lie = in_order(made.arrays)
    for run in runs(made.items, made.arrays):
        kernel, found = run.kernel, [_kept(m, made.arrays[m.array].bytes) for m in moves(run, made.arrays, lie)]
        written = sorted(kernel.written)
        name = f"kernel of {kernel.points} points that writes {', '.join(written[:3])}"
        worst = max(found, key=lambda m: m.moved - m.least, default=None)
        yield Moved(name, sum(m.least for m in found), sum(m.moved for m in found),
                    worst.array if worst and worst.moved > worst.least else "nothing",
                    any(w.atomic for w in works(kernel.parts)))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*")
    parser.add_argument("--preset", default="paper")
    asked = parser.parse_args()
    for name in asked.names or [n for n in names() if load(n).gradient != "none"]:
        try:
            found = [m for m in moved_by(scheduled(derived(name, asked.preset).program)) if m.moved > LARGE]
        except sdfgad.UnsupportedError as error:
            sys.stdout.write(f"{name}: refused: {error.what}\n")
            continue
        too_much = [m for m in found if m.ratio > MOST or m.atomic]
        sys.stdout.write(f"{name}: {len(found)} kernels above 1 MB, {len(too_much)} to look at\n")
        sys.stdout.writelines(f"  {m}\n" for m in too_much)
        sys.stdout.flush()
    return 0


if __name__ == "__main__":
    sys.exit(main())
