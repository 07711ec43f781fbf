"""C++ text of the pieces of a schedule: where scalars live meanwhile, and how threads that are there already share."""
from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass, replace

from sdfgad.codegen.cpp import Frame, Writer, ctype, index_text, pointer, register, symbol
from sdfgad.codegen.cpu.nests.streamed import streamed
from sdfgad.codegen.cpu.order.pieces import Group, Kernel, kernel_frame, private_room
from sdfgad.codegen.cpu.text.interrupts import HEED, at_points
from sdfgad.codegen.cpu.text.scalars import exposed
from sdfgad.codegen.cpu.text.statements import declare_private, emit_block, private_names
from sdfgad.ir.program import Block, Range
from sdfgad.ir.walk import all_reads, all_writes, range_elems


@dataclass(frozen=True)
class Scalars:
    """Zero-dimensional containers: `lasting` ones outlive a piece, `origin` is the text of their value at its start.

    tapes: containers that are none of the two.
    """

    lasting: Collection[str]
    tapes: Collection[str]
    origin: Callable[[str], str]


def group_names(body: Block, frame: Frame, scalars: Scalars) -> set[str]:
    """The containers that a piece of one thread needs from outside."""
    names = all_reads(body) | all_writes(body)
    return names - private_names(body) - {n for n in _numbers(names, frame, scalars) if n not in scalars.lasting}


def kernel_names(item: Kernel) -> set[str]:
    """The containers that a kernel needs from outside."""
    starts = {e.array for x in item.extents for e in range_elems(x.var)}
    return (all_reads(item.body) | all_writes(item.body) | starts) - set(item.private)


def _numbers(names: Iterable[str], frame: Frame, scalars: Scalars) -> list[str]:
    return sorted(n for n in set(names) - set(scalars.tapes) if not frame.arrays[n].shape)


def emit_group(writer: Writer, frame: Frame, item: Group, scalars: Scalars) -> None:
    """Code that runs a group; zero-dimensional containers live in locals meanwhile."""
    body, written = item.body, all_writes(item.body)
    held = _numbers(all_reads(body) | written, frame, scalars)
    for name in held:
        value = f" = {scalars.origin(name)}" if name in scalars.lasting and exposed(body, name)[0] else "{}"
        writer.line(f"{ctype(frame.arrays[name].dtype)} {register(name)}{value};")
    frame = replace(frame, rooms=_rooms(item, frame, "0"))
    for stmt in body:
        _emit(writer, replace(frame, registers=frozenset(held)), (stmt,))
    for name in held:
        if name in scalars.lasting and name in written:
            writer.line(f"{pointer(name)}[0] = {register(name)};")


def emit_kernel_point(writer: Writer, frame: Frame, item: Kernel, counters: Iterable[str], scalars: Scalars) -> None:
    """The same where an interrupt may end the points of a kernel. frame: around it."""
    heeds, looks = at_points(frame, item)
    if looks:
        writer.line(HEED)
    emit_point(writer, replace(kernel_frame(frame, item), heeds=heeds), item, counters, scalars)


def emit_point(writer: Writer, frame: Frame, item: Kernel, counters: Iterable[str], scalars: Scalars) -> None:
    """Code of one point of a kernel, whose iterations `counters` count. frame: inside the kernel."""
    held = _numbers(kernel_names(item), frame, scalars)
    own = [n for n in item.private if not frame.arrays[n].shape]
    for name in own:
        writer.line(f"{ctype(frame.arrays[name].dtype)} {register(name)}{{}};")
    frame = replace(frame, rooms=_rooms(item, frame, "omp_get_thread_num()"))
    declare_private(writer, frame, item.private)
    for name in held:
        writer.line(f"const {ctype(frame.arrays[name].dtype)} {register(name)} = {scalars.origin(name)};")
    frame = replace(frame, registers=frozenset((*held, *own)))
    for extent, counter in zip(item.extents, counters, strict=True):
        r = extent.var
        writer.line(f"const int64_t {symbol(r.var)} = {index_text(frame, r.start)} + int64_t({counter})*({r.step});")
    _emit(writer, frame, item.body, tuple(e.var for e in item.extents))


def _rooms(item: Group | Kernel, frame: Frame, thread: str) -> dict[str, str]:
    """Whose rooms hold the private arrays that do not lie on a stack, and where. A group is run by one thread, which
    may have another number in a team of the caller's."""
    return {n: f"{thread}, {place}" for n, place in private_room(item, frame.arrays).places.items()}


def _emit(writer: Writer, frame: Frame, body: Block, extents: tuple[Range, ...] = ()) -> None:
    """Write a block of which no other statement of the piece uses anything before it has ended."""
    past = streamed(frame, body, extents)
    emit_block(writer, replace(frame, streamed=past), body)
    if past:
        writer.line("sg::settle();")
