"""CUDA text of one kernel: what a thread does, or what the threads of a block do together."""
from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

import numpy as np

from sdfgad.codegen.cpp import Frame, Writer, access, ctype, index_text, local, symbol
from sdfgad.codegen.cuda.work import (
    BLOCK,
    PATCH,
    DeviceItems,
    DeviceKernel,
    HostControl,
    Launch,
    Part,
    PointWork,
    Side,
    ThreadLoop,
    chain_threads,
    size,
)
from sdfgad.codegen.expressions import Values, combine, count_uses
from sdfgad.ir.expr import Expr, Load, Local
from sdfgad.ir.program import If, Let, Loop, Range, Store, While
from sdfgad.ir.walk import range_elems

JOINS: Mapping[str, str] = MappingProxyType({"+": "Sum", "*": "Product", "max": "Largest", "min": "Smallest"})
"""Types of the runtime header that say how two numbers are joined."""
_BOOL = np.dtype(np.bool_)
WAIT_FOR_ALL = "sg::wait_for_all"
"""The barrier of all blocks, in a header of its own."""
_SMALL = 1 << 32
"""Fewer points are counted in 32 bits, which divide several times as fast."""


def kernel_text(kernel: DeviceKernel, frame: Frame) -> str:
    """The body of a kernel, around which there is nothing but its arguments."""
    return _KernelText(kernel, frame).made()


def launch_text(launch: Launch, frame: Frame) -> str:
    """The body of a kernel of several ones, each on blocks of its own."""
    writer, first = Writer(), 0
    for chain in launch.chains:
        behind = first + chain_threads(chain) // BLOCK
        writer.open(f"if (blockIdx.x >= {first} && blockIdx.x < {behind})" if first else f"if (blockIdx.x < {behind})")
        if len(chain) > 1:
            _write_chain(writer, chain, frame, _Sharers())
        else:
            _write_block(writer, _KernelText(chain[0], frame, first=first))
        writer.close()
        first = behind
    return writer.text


def team_text(control: HostControl, frame: Frame) -> str:
    """The body of a kernel that runs a loop or a branch: its threads share the points of each part."""
    writer = Writer()
    _write_control(writer, control, frame, _ALL if control.blocks > 1 else _Sharers(control.team))
    return writer.text


@dataclass(frozen=True)
class _Sharers:
    """Who shares the points of a part: one block of so many threads. point, points: the first point of a thread, and
    how far it is to its next one. block, blocks: the same of a block, where one works for each point. wait: for all."""

    threads: int = BLOCK
    point: str = "threadIdx.x"
    points: str = ""
    block: str = "0"
    blocks: str = "1"
    wait: str = "__syncthreads();"

    def turns(self, shared: bool) -> tuple[str, str]:
        """Where a thread begins, and how far it goes on. shared: a block works for each point."""
        return (self.block, self.blocks) if shared else (self.point, self.points or str(self.threads))


_ALL = _Sharers(BLOCK, f"int64_t(blockIdx.x) * {BLOCK} + threadIdx.x", f"int64_t(gridDim.x) * {BLOCK}", "blockIdx.x",
             "gridDim.x", f"{WAIT_FOR_ALL}();")
"""All blocks of a launch in which all of them run at once."""


def _write_control(writer: Writer, control: HostControl, frame: Frame, team: _Sharers) -> None:
    """A loop or a branch. All threads go the same way: they look at the same numbers, which nobody changes before all
    have."""
    stmt = control.stmt
    writer.open()
    if isinstance(stmt, If):
        which = _decided(writer, stmt.cond, frame, team)
        for head, part in zip((which, f"!{which}"), control.parts, strict=True):
            writer.open(f"if ({head})")
            _write_parts(writer, part, frame, team)
            writer.close()
    else:
        flag, inner = _write_head(writer, stmt, frame, team)
        if flag:
            which = _decided(writer, Load(flag, (), _BOOL), frame, team)
            writer.line(f"if ({which if isinstance(stmt, Loop) else f'!{which}'}) break;")
        _write_parts(writer, control.parts[0], inner, team)
        writer.close()
    writer.close()


def _write_head(writer: Writer, stmt: Loop | While, frame: Frame, team: _Sharers) -> tuple[str | None, Frame]:
    """What a loop begins with; the array whose number ends it, and what is known inside."""
    if isinstance(stmt, While):
        writer.open("for (;;)")
        return stmt.flag, frame
    r = stmt.range
    end, start = writer.fresh("last"), writer.fresh("first")
    writer.line(f"const int64_t {start} = {index_text(frame, r.start)}, {end} = {index_text(frame, r.stop)};")
    if range_elems(r):
        writer.line(team.wait)
    var, sign = symbol(r.var), "<" if r.step > 0 else ">"
    writer.open(f"for (int64_t {var} = {start}; {var} {sign} {end}; {var} += {r.step})")
    return stmt.until, frame.inside([r])


def _decided(writer: Writer, cond: Expr, frame: Frame, team: _Sharers) -> str:
    """The name of a truth value that all threads know. They wait: arrays that nobody looks at any more give their bytes
    to others."""
    text = Values(writer, frame, count_uses([cond])).text(cond)
    name = writer.fresh("which")
    writer.line(f"const bool {name} = {text};")
    writer.line(team.wait)
    return name


def _write_parts(writer: Writer, parts: DeviceItems, frame: Frame, team: _Sharers) -> None:
    """One after the other; behind each of them all threads wait."""
    for part in parts:
        if isinstance(part, HostControl):
            _write_control(writer, part, frame, team)
        elif isinstance(part, (DeviceKernel, Launch)):
            for kernels in part.chains if isinstance(part, Launch) else ((part,),):
                alone = team is _ALL and len(kernels) > 1
                writer.open("if (blockIdx.x == gridDim.x - 1)" if alone else "")
                _write_chain(writer, kernels, frame, _Sharers() if alone else team)
                writer.close()
            writer.line(team.wait)


def _write_chain(writer: Writer, chain: tuple[DeviceKernel, ...], frame: Frame, sharers: _Sharers) -> None:
    """Kernels one after the other. All threads are done with one before they begin with the next."""
    for k, kernel in enumerate(chain):
        if k:
            writer.line(sharers.wait)
        writer.open()
        _write_block(writer, _KernelText(kernel, frame, sharers))
        writer.close()


def _write_block(writer: Writer, text: _KernelText) -> None:
    for line in text.made().splitlines():
        writer.line(line)


class _KernelText:
    """team: who takes all points; without one there is a thread, or a block, for each point. first: the number of the
    first block then."""

    def __init__(self, kernel: DeviceKernel, frame: Frame, team: _Sharers | None = None, first: int = 0) -> None:
        self.kernel, self.frame, self.team = kernel, frame, team
        self.block = f"(blockIdx.x - {first})" if first else "blockIdx.x"
        self.threads = team.threads if team else BLOCK
        self.writer = Writer()
        self.sides = {s.var: s for s in (*kernel.box, *kernel.terms)}
        self.bound: set[str] = set()

    def made(self) -> str:
        if self.team:
            first, step = self.team.turns(bool(self.kernel.terms))
            name, count = ("group", self.kernel.groups) if self.is_grouped else ("at", self.kernel.points)
            self.writer.open(f"for (int64_t {name} = sg::unknown({first}); {name} < {count}; {name} += {step})")
        elif self.is_grouped:
            self.writer.open()
            self.writer.line(f"const int64_t group = {self.block};")
        else:
            number = self.block if self.kernel.terms else f"int64_t({self.block}) * {BLOCK} + threadIdx.x"
            self.writer.line(f"const int64_t at = {number};")
            self.writer.open("" if self.kernel.across is not None else f"if (at < {self.kernel.points})")
        if self.is_grouped:  # all threads take part in barriers: those too many do what the last point does
            width = self.kernel.beside
            self.writer.line(f"const int64_t wanted = group * {width} + threadIdx.x % {width};")
            self.writer.line(f"const int64_t at = sg::least(wanted, int64_t({self.kernel.points - 1}));")
        if self.kernel.across is None:
            frame = self.place(self.frame, self.kernel.box, "at")
        else:
            frame = self.patch(self.frame, self.kernel.across)
        for part in self.kernel.parts:
            self.writer.open()
            self.part(part, frame)
            self.writer.close()
        self.writer.close()
        if self.kernel.across is not None:
            self.writer.close()
        return self.writer.text

    @property
    def is_grouped(self) -> bool:
        """Whether a block works for several points."""
        return self.kernel.beside > 1

    def place(self, frame: Frame, sides: tuple[Side, ...], number: str) -> Frame:
        """The variables of sides, of the number of a point: neighbours differ in the last one."""
        step, whole = 1, 1
        for side in sides:
            whole *= side.count
        counter = f"uint32_t({number})" if whole < _SMALL else number
        for side in reversed(sides):
            digit = counter if step == 1 else f"({counter} / {step})"
            digit += f" % {side.count}" if step * side.count < whole else ""
            self.writer.line(f"const int64_t {symbol(side.var)} = {index_text(frame, side.start)} + int64_t({digit});")
            step *= side.count
        # Values of a side that is ragged lie in this interval as well.
        return frame.inside(Range(s.var, s.start, s.start + s.count) for s in sides)

    def patch(self, frame: Frame, across: int) -> Frame:
        """The variables of the box where a warp covers points of two coordinates; those behind the ends do nothing."""
        sides, pieces = self.kernel.box, self.kernel.patches
        rows, columns = PATCH
        kind = "uint32_t" if self.kernel.threads < _SMALL else "int64_t"
        self.writer.line(f"const {kind} warp = {kind}(at) / {rows * columns};")
        names = {across: (rows, f"threadIdx.x / {columns} % {rows}"),
                 len(sides) - 1: (columns, f"threadIdx.x % {columns}")}
        step, tests = 1, [f"warp < {size(pieces)}"]
        for k in reversed(range(len(sides))):
            var, digit = symbol(sides[k].var), f"warp / {step} % {pieces[k].count}"
            many, lane = names.get(k, (1, "0"))
            place = f"int64_t({digit} * {many} + {lane})"
            self.writer.line(f"const int64_t {var} = {index_text(frame, sides[k].start)} + {place};")
            if k in names:
                tests.append(f"{place} < {sides[k].count}")
            step *= pieces[k].count
        self.writer.open(f"if ({' && '.join(tests)})")
        return frame.inside(Range(s.var, s.start, s.start + s.count) for s in sides)

    def part(self, part: Part, frame: Frame) -> None:
        if isinstance(part, ThreadLoop):
            self.loop(part.range, frame)
            for inner in part.parts:
                self.writer.open()
                self.part(inner, frame.inside([part.range]))
                self.writer.close()
            self.writer.close()
        else:
            self.work(part, frame)

    def work(self, work: PointWork, frame: Frame) -> None:
        names = {k: f"sum{k}" for k in sorted(work.held)}
        for k, name in names.items():
            store, kind = _store(work, k), self.kind(work, k)
            self.writer.line(f"{kind} {name} = sg::{JOINS[store.op or '+']}<{kind}>::none();")
        if names and not work.assigned:
            self.writer.line("bool some = false;")
        depth = self.around(work, frame, names)
        for _ in range(depth):
            self.writer.close()
        if names:
            self.results(work, frame, names)

    def around(self, work: PointWork, frame: Frame, names: Mapping[int, str]) -> int:
        """The loops of a thread and its body; how many blocks are open."""
        depth = 0
        if self.kernel.terms:
            self.share(frame)
            frame, depth = self.place(frame, self.kernel.terms, "turn"), 1
        for r in work.domain:
            side = self.sides.get(r.var)
            if side is None:
                self.loop(r, frame)
            else:
                tests = _tests(r, side, frame)
                self.writer.open(f"if ({' && '.join(tests)})" if tests else "")
            frame = frame.inside([r])
            depth += 1
        if names and not work.assigned:
            self.writer.line("some = true;")
        self.body(work, frame, names)
        return depth

    def share(self, frame: Frame) -> None:
        """Threads of a block take turns."""
        count = 1
        for side in self.kernel.terms:
            count *= side.count
        width = self.kernel.beside
        first = f"threadIdx.x / {width}" if self.is_grouped else "threadIdx.x"
        self.writer.open(f"for (int64_t turn = {first}; turn < {count}; turn += {self.threads // width})")

    def loop(self, r: Range, frame: Frame) -> None:
        """Both ends are looked at once, as Python does."""
        var, end = symbol(r.var), self.writer.fresh("end")
        self.writer.line(f"const int64_t {end} = {index_text(frame, r.stop)};")
        start, sign = index_text(frame, r.start), "<" if r.step > 0 else ">"
        self.writer.open(f"for (int64_t {var} = {start}; {var} {sign} {end}; {var} += {r.step})")

    def body(self, work: PointWork, frame: Frame, names: Mapping[int, str]) -> None:
        values = Values(self.writer, frame, count_uses(p.expr for p in work.body if not _copied_truth(p)))
        for k, part in enumerate(work.body):
            source = _copied_truth(part)
            if source and isinstance(part, Store):
                from_, to = (access(frame, at.array, at.index) for at in (source, part))
                self.writer.line(f"sg::copy_truth({to}, {from_});")
                values.forget(part.array)
                continue
            values.bind_shared([part.expr])
            if isinstance(part, Let):
                values.bind(part.expr, local(part.name))
                values.scopes[-1][Local(part.name, part.expr.dtype)] = local(part.name)
            elif k in names:
                self.writer.line(combine(part.op or "+", names[k], values.text(part.expr), part.expr.dtype.kind))
            else:
                self.store(part, values.text(part.expr), frame, k in work.atomic)
                values.forget(part.array)

    def store(self, part: Store, value: str, frame: Frame, atomic: bool) -> None:
        target, kind = access(frame, part.array, part.index), frame.arrays[part.array].dtype.kind
        if atomic and part.op:
            self.writer.line(f"sg::join_atomically<sg::{JOINS[part.op]}>(&{target}, {value});")
        else:
            self.writer.line(combine(part.op, target, value, kind) if part.op else f"{target} = {value};")

    def results(self, work: PointWork, frame: Frame, names: Mapping[int, str]) -> None:
        """Sums leave the registers; those of a block are joined first, and its first thread has them."""
        if self.kernel.terms:
            for k, name in names.items():
                how = f"sg::{JOINS[_store(work, k).op or '+']}<{self.kind(work, k)}>"
                self.writer.line(f"{name} = {self.joined(how)}({name});")
        tests = [] if work.assigned else ["some"]
        if tests and self.kernel.terms:
            some = f"{self.joined('sg::Sum<int>')}(some)" if self.is_grouped else "__syncthreads_or(some)"
            self.writer.line(f"const bool any = {some};")
            tests = ["any"]
        if self.kernel.terms:
            width, points = self.kernel.beside, self.kernel.points
            tests.append(f"threadIdx.x < {width} && wanted < {points}" if self.is_grouped else "threadIdx.x == 0")
        self.writer.open(f"if ({' && '.join(tests)})")
        for k, name in names.items():
            store = _store(work, k)
            target = access(frame, store.array, store.index)
            kind = frame.arrays[store.array].dtype.kind
            self.writer.line(f"{target} = {name};" if work.assigned else combine(store.op or "+", target, name, kind))
        self.writer.close()

    def joined(self, how: str) -> str:
        """What joins the shares of a sum."""
        if self.is_grouped:
            return f"sg::beside<{self.threads}, {self.kernel.beside}, {how}>"
        return f"sg::together<{self.threads}, {how}>"

    def kind(self, work: PointWork, k: int) -> str:
        return ctype(self.frame.arrays[_store(work, k).array].dtype)


def _copied_truth(part: Let | Store) -> Load | None:
    """The truth value that a store copies: a tape keeps what a loop overwrites, also where nothing was there before."""
    value = part.expr if isinstance(part, Store) and part.op is None else None
    return value if isinstance(value, Load) and value.dtype == _BOOL else None


def _store(work: PointWork, k: int) -> Store:
    part = work.body[k]
    if not isinstance(part, Store):
        raise TypeError(f"{part} is no store")
    return part


def _tests(r: Range, side: Side, frame: Frame) -> list[str]:
    """What tells the values of a range from those of a side."""
    var = symbol(r.var)
    whole = r.start == side.start and r.trips == side.count
    start = [] if r.start == side.start else [f"{var} >= {index_text(frame, r.start)}"]
    return [] if whole else [*start, f"{var} < {index_text(frame, r.stop)}"]
