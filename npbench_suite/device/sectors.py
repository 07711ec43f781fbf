"""Bytes that kernels of gradients move, against the least: `python -m npbench_suite.device.sectors [NAME...]`.

An estimate without a device, of the indices of a program: memory moves in sectors of 32 bytes, and threads beside each
other in a warp share one where they touch elements beside each other. Elements that several accesses of a kernel touch
by the same formula, up to a distance, count once: caches have them. A thread that goes on to the next element by itself
is no help here, as the sectors of its neighbours may have left the cache by then. Elements that data name are taken for
neighbours.
"""
from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from math import prod

import sdfgad
from npbench_suite.device.registers import derived
from npbench_suite.kernel import load, names
from sdfgad.codegen.cpp import Frame, most_trips, strides
from sdfgad.codegen.cuda.joining import Look, accesses
from sdfgad.codegen.cuda.schedule import DeviceProgram, scheduled
from sdfgad.codegen.cuda.work import DeviceItems, DeviceKernel, HostControl, Part, PointWork, ThreadLoop
from sdfgad.ir.program import Loop, Range

SECTOR, MOST, LARGE = 32, 1.3, 1e6
"""Bytes of a sector; so many times the least bytes are too many in kernels that move so many bytes."""


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


def moved_by(made: DeviceProgram) -> Iterator[Moved]:
    """Of each kernel, in order; loops around it count once."""
    yield from _of(made, made.items, Frame(made.arrays))


def _of(made: DeviceProgram, items: DeviceItems, frame: Frame) -> Iterator[Moved]:
    for item in items:
        if isinstance(item, HostControl):
            inner = frame.inside([item.stmt.range]) if isinstance(item.stmt, Loop) else frame
            for part in item.parts:
                yield from _of(made, part, inner)
        elif isinstance(item, DeviceKernel):
            yield _of_kernel(made, item, frame)


def _of_kernel(made: DeviceProgram, kernel: DeviceKernel, frame: Frame) -> Moved:
    sides = (*kernel.box, *kernel.terms)
    counts = {s.var: s.count for s in sides}
    counts |= {r.var: _trips(r, frame) for r in _loops(kernel.parts) if r.var not in counts}
    last = kernel.box[-1:] if kernel.beside > 1 else sides[-1:]
    beside = [s.var for s in (*last, *kernel.terms[-1:])]  # what neighbours differ in, and what they differ in else
    least, moved, worst = 0.0, 0.0, ("nothing", 0.0)
    for array, steps in _formulas(made, kernel, counts):
        size = made.arrays[array].dtype.itemsize
        count = prod(counts[v] for v in steps)
        step = next((abs(steps[v]) * size for v in beside if v in steps), 0)
        factor = min(max(step, size), SECTOR) / size if step else 1.0
        least, moved = least + count * size, moved + count * size * factor
        worst = max(worst, (array, count * size * (factor - 1)), key=lambda one: one[1])
    written = sorted({a.array for a in accesses(kernel.parts) if a.written})
    name = f"kernel of {kernel.points} points that writes {', '.join(written[:3])}"
    return Moved(name, least, moved, worst[0], any(w.atomic for w in _works(kernel.parts)))


def _formulas(made: DeviceProgram, kernel: DeviceKernel,
              counts: Mapping[str, int]) -> Iterator[tuple[str, dict[str, int]]]:
    """How far elements are from each other along each variable, for accesses that differ in more than a distance."""
    seen: set[tuple[str, tuple[tuple[str, int], ...]]] = set()
    for look in accesses(kernel.parts):
        steps = _steps(made, look, counts)
        key = look.array, tuple(sorted(steps.items()))
        if key not in seen:
            seen.add(key)
            yield look.array, steps


def _steps(made: DeviceProgram, look: Look, counts: Mapping[str, int]) -> dict[str, int]:
    found = {}
    for var in counts:
        pairs = zip(look.index, strides(made.arrays[look.array].shape), strict=True)
        step = sum((i.coefficient(var) or 0) * s for i, s in pairs)
        if step:
            found[var] = step
    return found


def _works(parts: tuple[Part, ...]) -> Iterator[PointWork]:
    for part in parts:
        yield from (part,) if isinstance(part, PointWork) else _works(part.parts)


def _loops(parts: tuple[Part, ...]) -> Iterator[Range]:
    for part in parts:
        if isinstance(part, ThreadLoop):
            yield part.range
            yield from _loops(part.parts)
        else:
            yield from part.domain


def _trips(r: Range, frame: Frame) -> int:
    return most_trips(r, frame.bounds) or r.trips or 1


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
