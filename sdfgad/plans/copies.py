"""The copies that a call makes of arguments because they do not lie as its program takes them."""
from __future__ import annotations

from collections.abc import Sequence

from sdfgad.analysis.lifetimes import copy_name
from sdfgad.arrays import BLOCK, TURNED
from sdfgad.frontend import Parsed
from sdfgad.ir.program import Array, Program
from sdfgad.plans.request import Request
from sdfgad.transform.cutting.blocks import Span


def argument_copies(program: Program, parsed: Parsed, request: Request) -> dict[str, int]:
    """Bytes of the copies by name: programs take arrays in C order, a rank of a cut one the part that it has of it."""
    cut, found = request.distribution, dict[str, int]()
    for leaf, name in parsed.traced.items():
        array, shape, how = program.arrays.get(name), parsed.program.arrays[name].shape, request.lying.get(leaf)
        if array is None:
            continue
        own = tuple((s.start, s.stop) for s in cut.own(leaf, shape)) if cut is not None and leaf in cut.axes else None
        other = array.window is not None and (array.window != own if how == BLOCK else not _in_one_piece(array, shape))
        if how == TURNED or other:
            found[copy_name(name)] = array.bytes
    return found


def _in_one_piece(array: Array, shape: Sequence[int]) -> bool:
    """Whether the window of a whole array in C order is one piece of memory."""
    sides: Sequence[Span] = array.window or ()
    several = [k for k, (first, behind) in enumerate(sides) if behind - first > 1]
    behind_first = several[0] + 1 if several else len(sides)
    return all(side == (0, n) for side, n in zip(sides[behind_first:], shape[behind_first:], strict=True))
