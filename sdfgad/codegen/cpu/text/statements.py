"""C++ text of whole blocks, run in order by one thread."""
from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType
from typing import Any

import numpy as np

from sdfgad.codegen.cpp import TAPES, Frame, Writer, access, ctype, index_text, pointer, strides, symbol, tape_number
from sdfgad.codegen.cpu.nests.ahead import Ahead, emit_ahead, plan_ahead
from sdfgad.codegen.cpu.nests.emit import emit_map
from sdfgad.codegen.cpu.nests.past import plan_past
from sdfgad.codegen.cpu.nests.streamed import apart_from_past
from sdfgad.codegen.cpu.text.interrupts import HEED, STOP, looks_each
from sdfgad.codegen.cpu.text.libraries import emit_lib
from sdfgad.codegen.expressions import Values, count_uses
from sdfgad.ir.index import ix
from sdfgad.ir.program import Behind, Block, If, Lib, Loop, Map, Pop, Push, Range, Stmt, While
from sdfgad.ir.walk import statements, writes


def emit_block(writer: Writer, frame: Frame, block: Block, around: Range | None = None) -> None:
    """Write the statements of a block in program order. around: the loop whose iterations run the block one by one."""
    ahead = plan_ahead(frame, around, block) if around is not None else {}
    for k, stmt in enumerate(block):
        if isinstance(stmt, Loop):
            _loop(writer, frame, stmt, ahead.get(k, ()))
        elif isinstance(stmt, Map):
            for part in apart_from_past(frame, stmt):
                emit_map(writer, frame, part)
        else:
            _EMITTERS[type(stmt)](writer, frame, stmt)


def _loop(writer: Writer, frame: Frame, stmt: Loop, ahead: Sequence[Ahead]) -> None:
    r, var = stmt.range, symbol(stmt.range.var)
    last = stop = writer.fresh("e")
    writer.open()
    writer.line(f"const int64_t {last} = {index_text(frame, r.stop)};")
    each = looks_each(frame, stmt)
    start = index_text(frame, r.start)
    if each > 1:
        start, stop = _looking(writer, stmt, start, stop, each, _until(frame, stmt))
    more = f"{var} {'<' if r.step > 0 else '>'} {stop}"
    writer.open(f"for (int64_t {var} = {start}; {more}{_until(frame, stmt)}; {var} += {r.step})")
    if each == 1:
        writer.line(HEED)
    if any(frame.arrays[n].dtype.kind == "c" for s in stmt.body if isinstance(s, Map) for n in writes(s)):
        writer.line("SG_IN_TURN;")
    if stmt.behind is not None:
        heeding = f", {STOP}" if frame.heeds else ""
        ready = f"sg::least({last}, {var} + {stmt.behind.ahead})"
        writer.line(f"sg::follow({_done(frame, stmt.behind, 0)}, {ready}{heeding});")
    declare_private(writer, frame, stmt.private)
    emit_ahead(writer, frame, r, ahead)
    inner = frame.inside([r])
    past = plan_past(inner, r, stmt.body)
    emit_block(writer, replace(inner, past=past), stmt.body, r)
    if stmt.behind is not None:
        writer.line(f"sg::lead({_done(frame, stmt.behind, 1)}, {var} + 1);")
    writer.close()
    if each > 1:
        writer.close()
    if past:
        writer.line("sg::settle();")
    writer.close()


def _until(frame: Frame, stmt: Loop) -> str:
    return f" && !{access(frame, stmt.until, ())}" if stmt.until is not None else ""


def _looking(writer: Writer, stmt: Loop, start: str, stop: str, each: int, until: str) -> tuple[str, str]:
    """for t = a:b: c   ->   for h = a:b:each: { look ; for t = h:min(b, h + each): c }

    The head of the outer loop. Where the inner one starts and stops.
    """
    first, end, step = writer.fresh("h"), writer.fresh("e"), stmt.range.step
    bound, more = ("least", "<") if step > 0 else ("greatest", ">")
    writer.open(f"for (int64_t {first} = {start}; {first} {more} {stop}{until}; {first} += {each * step})")
    writer.line(HEED)
    writer.line(f"const int64_t {end} = sg::{bound}({stop}, {first} + ({each * step}));")
    return first, end


def _done(frame: Frame, behind: Behind, row: int) -> str:
    """Where the loop of the parallel iteration before, or this one, says how far it is."""
    return f"&{access(frame, behind.progress, (behind.number + row, ix(0)))}"


def declare_private(writer: Writer, frame: Frame, names: tuple[str, ...]) -> None:
    """Room for arrays that belong to one iteration; scalars among them are the caller's."""
    for array in (frame.arrays[n] for n in names if frame.arrays[n].shape):
        kind, name, count = ctype(array.dtype), pointer(array.name), max(1, math.prod(array.shape))
        if array.name in frame.rooms:
            writer.line(f"{kind}* const {name} = __state->sg_rooms.at<{kind}>({frame.rooms[array.name]});")
            continue
        if array.dtype.kind != "c":
            writer.line(f"alignas(64) {kind} {name}[{count}];")
            continue
        # An array of complex numbers begins with zeros, each time.
        parts = np.dtype(f"f{array.dtype.itemsize // 2}")
        writer.line(f"alignas(64) {ctype(parts)} {name}_parts[{2 * count}];")
        writer.line(f"{kind}* const {name} = reinterpret_cast<{kind}*>({name}_parts);")


def private_names(block: Block) -> set[str]:
    """Containers that belong to one iteration of some loop of the block."""
    return {n for s in statements(block) if isinstance(s, Loop) for n in s.private}


def _while(writer: Writer, frame: Frame, stmt: While) -> None:
    writer.open(f"while ({access(frame, stmt.flag, ())})")
    if frame.heeds:
        writer.line(HEED)
    emit_block(writer, frame, stmt.body)
    writer.close()


def _if(writer: Writer, frame: Frame, stmt: If) -> None:
    writer.open()
    values = Values(writer, frame, count_uses([stmt.cond]))
    values.bind_shared([stmt.cond])
    cond = values.text(stmt.cond)
    writer.open(f"if ({cond})")
    writer.line("SG_BRANCH;")
    emit_block(writer, frame, stmt.then)
    if stmt.orelse:
        writer.otherwise()
        writer.line("SG_BRANCH;")
        emit_block(writer, frame, stmt.orelse)
    writer.close()
    writer.close()


def declare_tapes(names: Iterable[str], frame: Frame) -> list[str]:
    """Pointers to the entries that the names of tapes stand for."""
    kinds = {n: ctype(frame.arrays[n].dtype) for n in names}
    return [f"{kind}* {pointer(n)} = {TAPES}->here<{kind}>({tape_number(n)});" for n, kind in sorted(kinds.items())]


def _tape(writer: Writer, frame: Frame, stmt: Push | Pop) -> None:
    """Another entry of a tape, with room up to the last element that is used."""
    array = frame.arrays[stmt.tape]
    steps = zip(stmt.shape, strides(array.shape), strict=True)
    count = sum(((n - 1) * step for n, step in steps), ix(1))
    size = index_text(frame, count) if count.const is not None else f"sg::greatest(0L, {index_text(frame, count)})"
    verb = "push" if isinstance(stmt, Push) else "pop"
    writer.line(f"{pointer(array.name)} = {TAPES}->{verb}<{ctype(array.dtype)}>({tape_number(array.name)}, {size});")


_EMITTERS: Mapping[type[Stmt], Callable[[Writer, Frame, Any], None]] = MappingProxyType({
    Lib: emit_lib, While: _while, If: _if, Push: _tape, Pop: _tape})
