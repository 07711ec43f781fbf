"""Results that go past the cache: what copies write last would only push out what is still needed."""
from __future__ import annotations

from collections import Counter

from sdfgad.codegen.cpp import Frame
from sdfgad.codegen.cpu.nests.ahead import sides
from sdfgad.codegen.cpu.nests.turned import plan_turn
from sdfgad.ir.program import Block, Map, Range
from sdfgad.ir.walk import all_reads, all_writes

LEAST = 1 << 26
"""Bytes that the part of the last cache next to a core does not hold."""


def plan_past(frame: Frame, around: Range, block: Block) -> frozenset[str]:
    """for i: { turn a[i] into t ; f(t) ; turn t into y[i] }   ->   the same, y past the cache

    Arrays that one copy fills, elsewhere in each iteration, and nothing else in the block touches, when the copies go
    through more than a cache holds: a result has left it before anybody looks at it. That it comes there first, to be
    overwritten, is half of what writing it costs.
    """
    touched = Counter(n for s in block for n in all_reads((s,)) | all_writes((s,)))
    turns = [t for s in block if isinstance(s, Map) and (t := plan_turn(frame, s)) is not None]
    boxes = [box for turn in turns for box in sides(frame, around, turn)]
    total = sum(frame.arrays[n].bytes for n in {b.array for b in boxes})
    return frozenset(b.array for b in boxes if b.written and touched[b.array] == 1 and total >= LEAST)
