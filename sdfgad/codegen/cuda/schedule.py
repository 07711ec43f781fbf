"""A program as kernels, and where everything it touches lies on the device."""
from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property

from sdfgad.analysis.cost import work_of as work_in
from sdfgad.analysis.lifetimes import Held, Lifetimes, lifetimes
from sdfgad.checkpoint.outlook import DeviceLoop, DeviceWork
from sdfgad.codegen.arena import Arena, pack
from sdfgad.codegen.cpp import Frame
from sdfgad.codegen.cuda.components import components_apart
from sdfgad.codegen.cuda.joining import Around, add, inside
from sdfgad.codegen.cuda.kept_sums import sums_kept
from sdfgad.codegen.cuda.launching import may_pass, side_by_side
from sdfgad.codegen.cuda.layout import moved_by, with_neighbours_together
from sdfgad.codegen.cuda.libraries.batches import loops_apart
from sdfgad.codegen.cuda.libraries.looks import device_operations
from sdfgad.codegen.cuda.libraries.snapshots import STANDING
from sdfgad.codegen.cuda.libraries.systems import systems_in_threads
from sdfgad.codegen.cuda.maps import MapLowering
from sdfgad.codegen.cuda.sectors import runs, with_patches
from sdfgad.codegen.cuda.speeds import DeviceSpeeds
from sdfgad.codegen.cuda.steps import steps_of
from sdfgad.codegen.cuda.supported import check_supported
from sdfgad.codegen.cuda.teams import as_grid, as_team
from sdfgad.codegen.cuda.threads import in_threads
from sdfgad.codegen.cuda.work import (
    DeviceItem,
    DeviceItems,
    DeviceKernel,
    HostControl,
    launches,
    ordered_sums,
    questions,
    waits,
)
from sdfgad.ir.program import Array, Block, If, Lib, Loop, Map, Pop, Program, Push, Stmt, While
from sdfgad.ir.walk import all_variables, children
from sdfgad.names import fresh, loop_name
from sdfgad.thresholds import Thresholds, thresholds
from sdfgad.transform.fusion.fuse import fuse_pointwise

ASKED = "numbers that the host asks for"
"""Their common name in the block of a call; no array has one like it."""
NUMBER = 8
"""Bytes of one of them."""
GAIN = 0.9
"""Part of the estimated time that another form has to come down to: waits in loops on the device are not in it."""
MORE, LITTLE = 0.01, 1 << 16
"""The part of the bytes of a call by which these may grow for the sake of fewer launches, and bytes that are no
matter."""
KEPT = 0.05
"""The same part for the sake of sums that each point keeps for itself."""


@dataclass(frozen=True)
class DeviceProgram:
    """items: what the host does. arrays: all there are. lives: when each is in use."""

    program: Program
    items: DeviceItems
    arrays: Mapping[str, Array]
    lives: Lifetimes

    @cached_property
    def touched(self) -> frozenset[str]:
        """Arrays that a call looks at."""
        return frozenset(n for step in self.lives.steps for n in step.touches)

    @cached_property
    def standing(self) -> frozenset[str]:
        """Arrays that share their bytes with no other one: they are looked at when their step is over."""
        return frozenset(n for n in self.touched if self.arrays[n].role == STANDING)

    @cached_property
    def tapes(self) -> tuple[str, ...]:
        """Stacks that grow, in the order of their numbers."""
        return tuple(n for n in sorted(self.touched) if self.arrays[n].role == "tape")

    def passed(self, results: Iterable[str]) -> tuple[str, ...]:
        """Arrays of the caller, in the order of a call."""
        return tuple(dict.fromkeys((*self.program.arguments, *results, *self.program.constants)))

    def own(self, passed: Collection[str]) -> dict[str, int]:
        """Bytes of the arrays that nobody else holds."""
        return {n: self.arrays[n].bytes for n in sorted(self.touched - self.standing) if n not in passed}

    def arena(self, passed: Collection[str]) -> Arena:
        """Where those lie that nobody else holds. Arrays that are in use at once share no bytes."""
        return pack(_apart(self.own(passed)), self.lives.moments)

    def near(self, passed: Iterable[str]) -> Arena:
        """Where those lie, behind the arena, that the caller may hold in the host's memory in every call: numbers and
        constants; and the numbers that the host asks for, and what stands by itself."""
        sizes = {n: self.arrays[n].bytes for n in passed if self._is_near(n)} | {ASKED: NUMBER * questions(self.items)}
        sizes |= {n: self.arrays[n].bytes for n in sorted(self.standing)}
        return pack(_apart(sizes), dict.fromkeys(sizes, 1))

    def far(self, passed: Iterable[str]) -> Arena:
        """Where the caller's other arrays lie behind that, in calls with arrays of the host."""
        sizes = {n: self.arrays[n].bytes for n in passed if not self._is_near(n)}
        return pack(_apart(sizes), dict.fromkeys(sizes, 1))

    def _is_near(self, name: str) -> bool:
        return not (self.arrays[name].shape and self.arrays[name].bytes) or name in self.program.constants

    def taken(self, passed: Collection[str]) -> int:
        """Bytes of a call on the device, beyond those of what is passed."""
        given = sum(self.arrays[n].bytes for n in passed)
        return self.arena(passed).bytes + self.near(passed).bytes + self.far(passed).bytes - given


def _apart(sizes: Mapping[str, int]) -> dict[str, int]:
    """With a byte that stays free: who steps over the end of an array finds no other one there."""
    return {n: size + 1 for n, size in sizes.items()}


def scheduled(program: Program, ordered: bool = False) -> DeviceProgram:
    """The kernels of a program; kept with it. ordered: all sums have a fixed order. Raises UnsupportedError for what
    the device is not given."""
    known: tuple[tuple[Thresholds, bool], DeviceProgram] | None = program.__dict__.get("_on_device")
    if known is None or known[0] != (thresholds(), ordered):
        check_supported(program)
        known = (thresholds(), ordered), _in_the_better_form(systems_in_threads(program), ordered)
        object.__setattr__(program, "_on_device", known)
    return known[1]


def _in_the_better_form(program: Program, ordered: bool) -> DeviceProgram:
    """With short axes written out, or loops around maps taken apart, where that takes clearly less time."""
    made, apart = _laid_out(program, ordered), loops_apart(program)
    starts = {id(p): p for p in (apart, program)}.values()
    forms = {id(form): form for p in starts for form in (p, components_apart(p)) if form is not program}
    others = [(_laid_out(form, ordered), form) for form in forms.values()]
    best, form = min(others, key=lambda other: _seconds(other[0]), default=(made, program))
    if _seconds(best) >= GAIN * _seconds(made):
        best, form = made, program
    made, form = _with_sums_kept(best, form, ordered)
    return _with_others_passed(_with_pieces_apart(made, form, ordered), form, ordered)


def _with_sums_kept(made: DeviceProgram, form: Program, ordered: bool) -> tuple[DeviceProgram, Program]:
    """With sums behind loops where that takes less time, and no more waits."""
    kept = sums_kept(form)
    other = made if kept is form else _laid_out(kept, ordered)
    better = waits(other.items) <= waits(made.items) and _seconds(other) < _seconds(made)
    return (other, kept) if better and _is_near(other, made, KEPT) else (made, form)


def _with_pieces_apart(made: DeviceProgram, form: Program, ordered: bool) -> DeviceProgram:
    """With pieces in kernels of their own where that takes less time, and no more waits: together they may keep others
    from being joined."""
    if not any(run.kernel.pieced for run in runs(made.items, made.arrays)):
        return made
    other = _laid_out(form, ordered, pieces=False)
    return other if waits(other.items) <= waits(made.items) and _seconds(other) < _seconds(made) else made


def _with_others_passed(made: DeviceProgram, form: Program, ordered: bool) -> DeviceProgram:
    """With kernels that go past those of other elements, where that takes less time, no more waits and little memory:
    their temporaries are in use at once."""
    if not may_pass(made.items):
        return made
    other = _laid_out(form, ordered, past=True)
    better = waits(other.items) <= waits(made.items) and _seconds(other) < _seconds(made)
    return other if better and _is_near(other, made, KEPT) else made


def _laid_out(program: Program, ordered: bool, pieces: bool = True, past: bool = False) -> DeviceProgram:
    laid, (items, arrays) = with_neighbours_together(program, lambda p: _kernels(p, ordered, pieces, past))
    items = with_patches(items, arrays)
    return _in_few_launches(DeviceProgram(laid, items, arrays, lifetimes(steps_of(items))))


def _seconds(made: DeviceProgram) -> float:
    """What a call takes of launches and traffic, by the assumed speeds: what a program becomes is the same everywhere.
    """
    speeds = DeviceSpeeds()
    return launches(made.items) * speeds.launch_seconds + moved_by(made.items, made.arrays) / speeds.bytes_per_second


def _in_few_launches(made: DeviceProgram) -> DeviceProgram:
    """The program with kernels side by side, unless that takes much more memory: they are in use at once."""
    items = side_by_side(made.items, Frame(made.arrays))
    other = replace(made, items=items, lives=lifetimes(steps_of(items)))
    return other if _is_near(other, made, MORE) else made


def _is_near(other: DeviceProgram, made: DeviceProgram, more: float) -> bool:
    """Whether a program holds no more than so much more of the bytes of another one, or a few."""
    passed = made.passed(sorted(made.program.live_out))
    held = sum(made.arrays[n].bytes for n in passed) + made.taken(passed)
    return other.taken(passed) - made.taken(passed) <= max(held * more, LITTLE)


def _kernels(program: Program, ordered: bool, pieces: bool, past: bool) -> tuple[DeviceItems, Mapping[str, Array]]:
    formed = device_operations(fuse_pointwise(program, thresholds().device.again))
    builder = _Builder(formed, ordered, pieces, past)
    return builder.block(Frame(builder.arrays), formed.body), builder.arrays


def held_by(program: Program, results: Iterable[str], threads: int, ordered: bool = False) -> Held:
    """Bytes on the device: of what is passed, and of the program's own arrays."""
    del threads
    made = scheduled(program, ordered)
    passed = made.passed(results)
    return Held({n: made.arrays[n].bytes for n in passed}, made.own(passed), made.taken(passed), made.lives)


def work_of(program: Program, ordered: bool = False) -> DeviceWork:
    """What a call asks of the device, for reports."""
    made = scheduled(program, ordered)
    found = list(ordered_sums(made.items))
    extra = sum(made.arrays[n].bytes for one in found for n in (one.pairs, one.values))
    moved = int(work_in(made.program.body, made.arrays).sectors)
    return DeviceWork(launches(made.items), len(found), extra, sum(one.launches for one in found), moved,
                      tuple(_loops(made)))


def _loops(made: DeviceProgram) -> Iterator[DeviceLoop]:
    """The outermost loops that the host goes through."""
    for item in made.items:
        if isinstance(item, HostControl) and isinstance(item.stmt, Loop) and not item.team:
            r = item.stmt.range
            moved = int(work_in(item.stmt.body, made.arrays, (r,)).sectors)
            line = item.stmt.source.line if item.stmt.source else 0
            start, stop = (i.const for i in (r.start, r.stop))
            middle = 0 if start is None or stop is None else (start + stop) // 2
            yield DeviceLoop(loop_name(r.var), line, launches(item.parts[0], {r.var: middle}), moved)


class _Builder:
    def __init__(self, program: Program, ordered: bool, pieces: bool, past: bool) -> None:
        self.ordered, self.pieces, self.past = ordered, pieces, past
        self.arrays = dict(program.arrays)
        self.taken = all_variables(program.body) | set(self.arrays)

    def fresh(self, stem: str) -> str:
        name = fresh(stem, self.taken)
        self.taken.add(name)
        return name

    def block(self, frame: Frame, block: Block) -> DeviceItems:
        items: list[DeviceItem] = []
        for stmt in block:
            for item in self.statement(replace(frame, arrays=self.arrays), stmt):
                if isinstance(item, DeviceKernel):
                    add(items, item, Around(tuple(frame.ranges.values()), self.pieces, self.past))
                else:
                    items.append(item)
        return tuple(items)

    def statement(self, frame: Frame, stmt: Stmt) -> list[DeviceItem]:
        if isinstance(stmt, Map):
            return list(MapLowering(frame, self.arrays, self.fresh, self.ordered).lower(stmt))
        if isinstance(stmt, (Lib, Push, Pop)):
            return [stmt]
        if isinstance(stmt, Loop):
            return [in_threads(stmt, frame) if stmt.parallel else self.loop(frame, stmt)]
        if isinstance(stmt, (If, While)):
            parts = tuple(self.block(frame, inner) for inner in children(stmt))
            grid = as_grid(stmt, parts[0]) if isinstance(stmt, While) else None
            return [as_team(stmt, parts, frame) or grid or HostControl(stmt, parts)]
        raise TypeError(f"no statement of a checked program: {stmt}")

    def loop(self, frame: Frame, stmt: Loop) -> DeviceItem:
        inner = frame.inside([stmt.range])
        items = self.block(inner, stmt.body)
        whole = inside(stmt, items[0]) if len(items) == 1 and isinstance(items[0], DeviceKernel) else None
        return whole or as_team(stmt, (items,), inner) or as_grid(stmt, items) or HostControl(stmt, (items,))
