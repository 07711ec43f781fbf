"""C++ text of a loop that a team of threads runs together."""
from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from sdfgad.codegen.cpp import Frame, Writer, pointer, symbol
from sdfgad.codegen.cpu.order.pieces import ControlFlow, Group, Item, Kernel, kernel_frame, pieces
from sdfgad.codegen.cpu.text.interrupts import STOP, meets
from sdfgad.codegen.cpu.text.piece_text import Scalars, emit_group, emit_point, group_names, kernel_names
from sdfgad.codegen.cpu.text.scalars import region_names
from sdfgad.ir.program import If, Loop, While

_HALT, _ROUND, _LEFT = "sg_halt", "sg_round", "sg_left"


def team_names(item: ControlFlow, frame: Frame, scalars: Scalars) -> set[str]:
    """The containers that a team needs from outside."""
    names = _control_names((item,))
    for piece in pieces((item,)):
        names |= kernel_names(piece) | _counts(piece) if isinstance(piece, Kernel) \
            else group_names(piece.body, frame, scalars)
    return names


def emit_team(writer: Writer, frame: Frame, item: ControlFlow, scalars: Scalars) -> None:
    """Code of a loop as one parallel region, whose threads all follow its control flow.

    They wait for each other after every kernel and after what only one of them runs. What decides where to go next is
    read by all before the first of them goes on, and may change it.
    """
    names = ", ".join(sorted(pointer(n) for n in team_names(item, frame, scalars)))
    if frame.heeds:
        writer.line(f"bool {_HALT}[2] = {{false, false}};")
    writer.line(f"#pragma omp parallel{f' firstprivate({names})' if names else ''}")
    writer.open()
    if frame.heeds:
        writer.line(f"__label__ {_LEFT};")
        writer.line(f"unsigned {_ROUND} = 0;")
    writer.line("const bool sg_several = omp_get_num_threads() > 1;")
    _Team(writer, scalars, frame.heeds).region(item, replace(frame, heeds=False))
    if frame.heeds:
        writer.line(f"{_LEFT}: ;")
    writer.close()


def _counts(item: Kernel) -> set[str]:
    return {x.trips for x in item.extents if isinstance(x.trips, str)}


def _control_names(items: Iterable[Item]) -> set[str]:
    """The scalars that decide where control flow goes."""
    found: set[str] = set()
    for item in items:
        if isinstance(item, ControlFlow):
            found |= region_names(item) | _control_names(i for part in item.parts for i in part)
    return found


class _Team:
    """Writes what each thread of a team does."""

    def __init__(self, writer: Writer, scalars: Scalars, heeds: bool) -> None:
        self.writer = writer
        self.scalars = scalars
        self.heeds = heeds

    def items(self, items: Iterable[Item], frame: Frame) -> None:
        for item in items:
            if isinstance(item, Group):
                self.alone(item, frame)
            elif isinstance(item, Kernel):
                self.share(item, frame)
            else:
                self.region(item, frame)

    def alone(self, item: Group, frame: Frame) -> None:
        """One thread, always the same one: what it touches stays in its cache."""
        self.writer.line("#pragma omp master")
        self.writer.open()
        emit_group(self.writer, frame, item, self.scalars)
        self.writer.close()
        self.wait()

    def share(self, item: Kernel, frame: Frame) -> None:
        """All threads, each some of the points."""
        counters = [self.writer.fresh("m") for _ in item.extents]
        schedule = "static, 1" if item.in_turn else "dynamic" if item.uneven else "static"
        collapse = f" collapse({len(counters)})" if len(counters) > 1 else ""
        self.writer.line(f"#pragma omp for{collapse} schedule({schedule}) nowait")
        for counter, extent in zip(counters, item.extents, strict=True):
            stop = self.value(extent.trips)
            self.writer.open(f"for (int64_t {counter} = 0; {counter} < {stop}; {counter} += 1)")
        emit_point(self.writer, kernel_frame(frame, item), item, counters, self.scalars)
        for _ in counters:
            self.writer.close()
        self.wait()

    def region(self, item: ControlFlow, frame: Frame) -> None:
        self.writer.open()
        if isinstance(item.stmt, If):
            self.branch(item, frame)
        elif isinstance(item.stmt, While):
            self.writer.open("for (;;)")
            self.leave(f"!{self.value(item.stmt.flag)}")
            self.look(item)
            self.items(item.parts[0], frame)
            self.writer.close()
        else:
            self.loop(item, item.stmt, frame)
        self.writer.close()

    def branch(self, item: ControlFlow, frame: Frame) -> None:
        self.writer.open(f"if ({self.known(self.value(item.cond), 'bool')})")
        self.items(item.parts[0], frame)
        if item.parts[1]:
            self.writer.otherwise()
            self.items(item.parts[1], frame)
        self.writer.close()

    def loop(self, item: ControlFlow, stmt: Loop, frame: Frame) -> None:
        var, step = symbol(stmt.range.var), stmt.range.step
        start, stop = (self.known(self.value(v)) if isinstance(v, str) else str(v) for v in (item.start, item.stop))
        self.writer.open(f"for (int64_t {var} = {start}; {var} {'<' if step > 0 else '>'} {stop}; {var} += {step})")
        if stmt.until is not None:
            self.leave(self.value(stmt.until))
        self.look(item)
        self.items(item.parts[0], frame.inside([stmt.range]))
        self.writer.close()

    def wait(self) -> None:
        """A thread that is alone need not pass what it would pass as slowly."""
        self.writer.open("if (sg_several)")
        self.writer.line("#pragma omp barrier")
        self.writer.close()

    def look(self, item: ControlFlow) -> None:
        """In each round, all threads leave if one of them has seen an interrupt in the round before.

        They have waited for each other since. What it says in the next one has another place: in this round, somebody
        may still read. It says nothing else: a line that is written in each round goes from cache to cache.
        """
        if not self.heeds or not meets(item.parts[0]):
            return
        self.writer.line(f"if ({_HALT}[{_ROUND}++ % 2]) goto {_LEFT};")
        self.writer.line("#pragma omp master")
        self.writer.line(f"if (sg::stopped({STOP})) {_HALT}[{_ROUND} % 2] = true;")

    def leave(self, cond: str) -> None:
        self.writer.line(f"if ({self.known(cond, 'bool')}) break;")

    def known(self, text: str, kind: str = "int64_t") -> str:
        """A value that every thread has before any of them goes on."""
        name = self.writer.fresh("known")
        self.writer.line(f"const {kind} {name} = {text};")
        self.wait()
        return name

    def value(self, name: int | str) -> str:
        return self.scalars.origin(name) if isinstance(name, str) else str(name)
