"""What native code holds besides the arrays its caller passes: known before any code is generated.

Lowering adds arrays to a program: workspaces of library calls, partial sums of the threads. Some arrays live on the
stack of each thread, and a few routines take room of their own while they run.
"""
from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from types import MappingProxyType

import numpy as np

from sdfgad.analysis.elements.access import size_bound
from sdfgad.analysis.lifetimes import Held, Lifetimes, copy_name, lifetimes
from sdfgad.codegen.arena import Arena, pack
from sdfgad.codegen.cpp import Frame
from sdfgad.codegen.cpu import fourier
from sdfgad.codegen.cpu.order.bands import join_bands
from sdfgad.codegen.cpu.order.constants import constants_ahead
from sdfgad.codegen.cpu.order.pieces import Item, Kernel, Scheduler, pieces, private_arrays, private_room
from sdfgad.codegen.cpu.order.steps import steps_of
from sdfgad.codegen.cpu.order.teams import form_teams, share_in_teams
from sdfgad.codegen.cpu.order.together import keep_together
from sdfgad.codegen.cpu.order.tuned import tuned
from sdfgad.codegen.library_forms import library_forms
from sdfgad.ir.index import Ix
from sdfgad.ir.messages import OP, sent
from sdfgad.ir.program import Array, Block, Lib, Program
from sdfgad.ir.walk import all_reads, all_writes, own_ranges, statements
from sdfgad.thresholds import Thresholds, thresholds

_INVERSE_PANEL = 64
_FEW, _DIGIT = 512, 11
"""Columns LAPACK's inverse works on at once."""
_FACTOR_BLOCKS = ((32, 32), (128, 256))
"""Rows that the adjoint of a Cholesky factorisation works on at once, and for how many more than that."""


@dataclass(frozen=True)
class Scheduled:
    """A program as it is lowered: library calls in final form, pieces of the schedule, all containers."""

    program: Program
    items: tuple[Item, ...]
    arrays: Mapping[str, Array]


@dataclass(frozen=True)
class Footprint:
    """own: the arrays the code keeps for itself, in one arena. stack, room: bytes on the stack of each thread, and in
    its room. workspace: the most that library routines hold at once, per thread when they run in parallel."""

    own: Mapping[str, Array]
    lives: Lifetimes
    stack: int
    room: int
    workspace: int
    parallel_workspace: int

    @cached_property
    def sizes(self) -> Mapping[str, int]:
        """Bytes of each own array."""
        return {n: a.bytes for n, a in self.own.items()}

    @cached_property
    def arena(self) -> Arena:
        """Where the own arrays lie.

        Those of different types never share bytes: a compiler may take accesses of different types for independent.
        """
        return pack(self.sizes, self.lives.moments, {n: a.dtype for n, a in self.own.items()})

    def besides(self, threads: int) -> dict[str, int]:
        """What the code takes beside its own arrays, bytes by what it is for."""
        found = {"arrays of threads": threads * (self.stack + self.room),
                 "library workspaces": max(self.workspace, threads * self.parallel_workspace)}
        return {n: size for n, size in found.items() if size}

    def bytes(self, threads: int) -> int:
        """All of it."""
        return self.arena.bytes + sum(self.besides(threads).values())


def scheduled(program: Program) -> Scheduled:
    """The pieces a program is lowered to. Kept with it: they say what it holds before they are compiled."""
    known: tuple[Thresholds, Scheduled] | None = program.__dict__.get("_scheduled")
    if known is None or known[0] != thresholds():
        known = thresholds(), _scheduled(program)
        object.__setattr__(program, "_scheduled", known)
    return known[1]


def _scheduled(program: Program) -> Scheduled:
    program = library_forms(program)
    scheduler = Scheduler(program.arrays, _variables(program.body))
    items = scheduler.block(Frame(program.arrays), program.body)
    bands = constants_ahead(join_bands(items, Frame(scheduler.arrays), scheduler.fresh), scheduler.scalar)
    made = _smaller(Scheduled(program, bands, scheduler.arrays), Scheduled(program, items, scheduler.arrays))
    frame = Frame(scheduler.arrays)
    made = replace(made, items=form_teams(tuned(keep_together(made.items, frame.arrays), frame), frame))
    return _smaller(replace(made, items=share_in_teams(made.items, frame, scheduler.fresh)), made)


def _smaller(made: Scheduled, before: Scheduled) -> Scheduled:
    """A schedule whose kernels take more at once, unless it holds more than the one before: arrays of which one is
    needed before the other one share bytes only while a kernel does not take both."""
    passed = {*made.program.arguments, *made.program.constants}
    less = made.items == before.items or \
        footprint_of(made, passed).arena.bytes <= footprint_of(before, passed).arena.bytes
    return made if less else before


def _variables(block: Block) -> Iterator[str]:
    for stmt in statements(block):
        yield from (r.var for r in own_ranges(stmt))


def footprint(program: Program, results: Iterable[str] = ()) -> Footprint:
    """What the native code of a program holds; the caller passes its arguments, `results` and constants."""
    return footprint_of(scheduled(program), {*program.arguments, *results, *program.constants})


def footprint_of(made: Scheduled, passed: Container[str]) -> Footprint:
    """What the code of a scheduled program holds beside what is passed."""
    rooms = [(isinstance(p, Kernel), library_bytes(p.body)) for p in pieces(made.items)]
    private = [private_room(p, made.arrays) for p in pieces(made.items)]
    return Footprint(own_arrays(made, passed), lifetimes(steps_of(made.items, made.arrays, made.program.arrays)),
                     max((p.stack for p in private), default=0), max((p.bytes for p in private), default=0),
                     max((b for k, b in rooms if not k), default=0), max((b for k, b in rooms if k), default=0))


def held_by(program: Program, results: Iterable[str], threads: int) -> Held:
    """What a call holds: what is passed to the native code, copies of the arguments that it writes, and its own."""
    passed = {*program.arguments, *results, *program.constants}
    code = footprint_of(scheduled(program), passed)
    always = {n: a.bytes for n, a in program.arrays.items() if n in passed and a.role != "disk"}
    copied = all_writes(program.body) & set(program.arguments) & always.keys()
    always.update({copy_name(n): always[n] for n in sorted(copied)})
    return Held({**always, **code.besides(threads)}, code.sizes, code.arena.bytes, code.lives)


def own_arrays(made: Scheduled, passed: Container[str]) -> dict[str, Array]:
    """The arrays the code keeps for itself; numbers live in registers or next to the code, and what tapes take shows as
    the program runs."""
    parts = list(pieces(made.items))
    private = {n for p in parts for n in private_arrays(p)}
    used = {n for p in parts for n in all_reads(p.body) | all_writes(p.body)} - private
    return {n: a for n in sorted(used) if n not in passed and (a := made.arrays[n]).shape and a.role != "tape"}


def library_bytes(block: Block) -> int:
    """The most that a library routine called by the block takes for itself."""
    return max((_ROOMS[s.op](s) for s in statements(block) if isinstance(s, Lib) and s.op in _ROOMS), default=0)


def _largest(extent: Ix) -> int:
    return size_bound(extent, {}) or 0


def _transform(stmt: Lib) -> int:
    signals, extent = stmt.ins[0].shape[:-1], stmt.ins[0].shape[-1]
    size = np.result_type(stmt.outs[0].dtype, np.complex64).itemsize
    if extent.const is None:
        return fourier.most_room(_largest(extent), size)
    return fourier.room(_largest(signals[0]) if signals else 1, extent.const, size)


def _order(stmt: Lib) -> int:
    """What `runtime/sdfgad_sorting.h` asks for: two copies of the values as keys, one of the order, and counts."""
    n, size = _largest(stmt.ins[0].shape[0]), stmt.ins[0].dtype.itemsize
    digits = -(-8 * size // _DIGIT)
    return 0 if n <= _FEW else 2 * n * size + 8 * n + digits * (8 << _DIGIT)


def _inverse(stmt: Lib) -> int:
    return _INVERSE_PANEL * _largest(stmt.outs[0].shape[0]) * stmt.outs[0].dtype.itemsize


def _decomposition(stmt: Lib) -> int:
    """Copies of the matrix and of the result, and what LAPACK asks for at the least with a panel for its blocks."""
    extents = [_largest(n) for n in stmt.ins[0].shape]
    least, most = min(extents), max(extents)
    return (3 * least * most + 11 * least * least + 80 * (least + most) + 64) * stmt.outs[0].dtype.itemsize


def _factor_adjoint(stmt: Lib) -> int:
    """A block on the diagonal, and where it is big one of the blocks that it is cut into."""
    n = _largest(stmt.outs[0].shape[0])
    cells = sum(width ** 2 for width, beyond in _FACTOR_BLOCKS if n > beyond)
    return cells * stmt.outs[0].dtype.itemsize


def _zeros(stmt: Lib) -> int:
    """A rank without anything to add to a reduction adds zeros."""
    empty = stmt.attrs["kind"] == "reduce" and not sent(stmt)
    return stmt.attrs["count"] * stmt.attrs["dtype"].itemsize if empty else 0


_ROOMS: Mapping[str, Callable[[Lib], int]] = MappingProxyType({
    "fft": _transform, "argsort": _order, "getri": _inverse, "potrf_adjoint": _factor_adjoint, "eigh": _decomposition,
    "eig": _decomposition, "svd": _decomposition, "qr": _decomposition, OP: _zeros})
