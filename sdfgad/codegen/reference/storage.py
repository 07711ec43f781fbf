"""Tasklets that fill constants and move entries of growable tapes."""
from __future__ import annotations

from collections.abc import Sequence
from math import prod

import numpy as np

from sdfgad.codegen.cpp import Frame, ctype, index_text, literal, pointer, strides
from sdfgad.codegen.reference.tasklets import Tasklet, with_numbers
from sdfgad.ir.index import ix
from sdfgad.ir.program import Array, Pop, Push

STACKS = "sg_stacks"
"""The member of the state of a program that has its tapes."""


def constant_tasklet(table: str, array: Array, value: np.ndarray) -> tuple[str, Tasklet]:
    """A table in C++, and what copies it into an array."""
    values = np.asarray(value, dtype=array.dtype).ravel().tolist()
    numbers = ", ".join(literal(v, array.dtype) for v in values) or "{}"
    made = Tasklet()
    made.fills(array.name)
    made.writer.line(f"std::copy_n({table}, {prod(array.shape)}, {pointer(array.name)});")
    return f"static const {ctype(array.dtype)} {table}[] = {{{numbers}}};", made


def stacks(count: int = 0, state: str = "__state") -> str:
    """The tapes of a program; made when they are first asked for, which says how many there are."""
    return f"sg::stacks({state}->{STACKS}, {count})"


def reset_tasklet(tapes: Sequence[str]) -> Tasklet:
    """Nothing of an earlier call, which an exception may have ended, is on the tapes; what they show is of no account.
    """
    made = Tasklet(fields=(f"std::shared_ptr<void> {STACKS};",), lasting=True)
    for tape in tapes:
        made.fills(tape)
    made.writer.line(f"{stacks(len(tapes))}.clear();")
    return made


def tape_tasklet(stmt: Push | Pop, frame: Frame, number: int) -> Tasklet:
    """The array of a tape shows another entry: the one that it shows is put away, or that one comes back."""
    made, array, frame = Tasklet(lasting=True), frame.arrays[stmt.tape], with_numbers(frame)
    made.looks_up(stmt.shape, frame.arrays)
    made.updates(stmt.tape)
    if isinstance(stmt, Pop):
        made.writer.line(f"{stacks()}.pop({number}, {pointer(stmt.tape)});")
        return made
    steps = zip(stmt.shape, strides(array.shape), strict=True)
    count = index_text(frame, sum(((n - 1) * step for n, step in steps), ix(1)))
    size = f"sg::greatest(0L, int64_t({count})) * int64_t(sizeof({ctype(array.dtype)}))"
    made.writer.line(f"{stacks()}.push({number}, {pointer(stmt.tape)}, {size});")
    return made
