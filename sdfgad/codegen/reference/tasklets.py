"""Tasklets: the text of one computation, and the ends of the edges that lead to it and away from it."""
from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace

import numpy as np

from sdfgad.codegen.cpp import Frame, Writer, access, ctype, local, pointer, register, symbol
from sdfgad.codegen.expressions import combine
from sdfgad.codegen.reference.accesses import Element, accesses_of, is_sum, reads_first
from sdfgad.codegen.reference.scalars import TaskletScalars
from sdfgad.ir.expr import Load, loads
from sdfgad.ir.index import Ix
from sdfgad.ir.program import Array, Let, Map, Store

SUM = "lambda a, b: a + b"
"""What DaCe knows as a sum."""
_COMBINERS = (("+", "b", "sg_either"), ("+", "iu", "sg_plus"), ("*", "bfciu", "sg_times"),
              ("max", "bfciu", "sg_maximum"), ("min", "bfciu", "sg_minimum"))


@dataclass(frozen=True)
class End:
    """What a connector stands for: one element of an array, the only one of a number, or (None) all of it.

    wcr: how what comes out joins what is there.
    """

    array: str
    index: tuple[Ix, ...] | None
    wcr: str | None = None


@dataclass
class Tasklet:
    """A computation in the making."""

    writer: Writer = field(default_factory=Writer)
    inputs: dict[str, End] = field(default_factory=dict)
    outputs: dict[str, End] = field(default_factory=dict)
    fields: tuple[str, ...] = ()
    """Members of the state of the program that it declares."""
    lasting: bool = False
    """Whether it does something that no edge shows."""

    def reads(self, array: str) -> None:
        """A pointer to all of an array that it looks at."""
        if pointer(array) not in self.outputs:
            self.inputs[pointer(array)] = End(array, None)

    def updates(self, array: str) -> None:
        """A pointer to all of an array that it changes; what is there already may matter."""
        self.inputs[f"c_{pointer(array)}"] = End(array, None)
        self.outputs[pointer(array)] = End(array, None)

    def looks_up(self, index: Iterable[Ix], arrays: Mapping[str, Array]) -> None:
        """The integers that formulas are made of."""
        for name in (e.array for i in index for e in i.elems):
            if arrays[name].shape:
                self.reads(name)
            else:
                self.inputs[register(name)] = End(name, ())

    def fills(self, array: str) -> None:
        """A pointer to all of an array that it writes."""
        self.outputs[pointer(array)] = End(array, None)


def wcr_of(op: str, dtype: np.dtype) -> str:
    """How an accumulating store joins what is there: a NaN wins, integers wrap around."""
    if is_sum(op, dtype):
        return SUM
    name = next(n for o, kinds, n in _COMBINERS if o == op and dtype.kind in kinds)
    return f"lambda a, b: {name}(a, b)"


def with_numbers(frame: Frame) -> Frame:
    """The frame of a tasklet, which has numbers in variables of its own."""
    return replace(frame, registers=frozenset(n for n, a in frame.arrays.items() if not a.shape))


def body_tasklet(stmt: Map, frame: Frame) -> Tasklet:
    """What runs at each point of a map."""
    return _Body(stmt, frame).made()


class _Body:
    def __init__(self, stmt: Map, frame: Frame) -> None:
        self.stmt, self.arrays = stmt, frame.arrays
        self.ways = accesses_of(stmt, frame.arrays)
        self.frame = with_numbers(frame)
        self.tasklet = Tasklet()
        self.writer = self.tasklet.writer
        self.elements: dict[Element, str] = {}
        """The connector, or the local, that has the value of an element."""
        self.later = {(n.array, n.index) for p in stmt.body for n in loads(p.expr)}

    def made(self) -> Tasklet:
        self.writer.open()
        for name in sorted(self.ways.held):
            self._begin(name)
        scalars = TaskletScalars(self.writer, self.frame, self.load, self.reached, self.look_up)
        for part in self.stmt.body:
            value = scalars.text(part.expr)
            if isinstance(part, Let):
                self.writer.line(f"const {ctype(part.expr.dtype)} {local(part.name)} = {value};")
            else:
                self.store(part, value)
        for name in sorted(self.ways.held):
            self.writer.line(f"{self._output(End(name, ()))} = {register(name)};")
        self.writer.close()
        self._widen()
        return self.tasklet

    def _widen(self) -> None:
        """Counters of maps have 32 bits in DaCe's code; what is computed of them has 64 bits."""
        lines, text = self.writer.lines, self.writer.text
        names = [name for r in self.stmt.domain if re.search(rf"\b{(name := symbol(r.var))}\b", text)]
        if names:
            wide = [f"const int64_t w{name} = {name};" for name in names]
            lines[:1] = ["{", *wide, "{", *(f"const int64_t {name} = w{name};" for name in names)]
            lines.append("}")

    def _begin(self, name: str) -> None:
        """A local for a number, with what it is at the start where that matters."""
        start = f" = {self._input(End(name, ()))}" if reads_first(self.stmt, name) else ""
        self.writer.line(f"{ctype(self.arrays[name].dtype)} {register(name)}{start};")

    def load(self, node: Load) -> str:
        """The text of an element, as it is at this point."""
        self.look_up(node.index)
        known = self.elements.get((node.array, node.index))
        if known is not None:
            return known
        if (node.array, node.index) in self.ways.exact:
            name = self.elements[node.array, node.index] = self._input(End(node.array, node.index))
            return name
        self.reach(node.array)
        return access(self.frame, node.array, node.index)

    def reached(self, node: Load) -> bool:
        """Whether the value of an element is at hand whether it is asked for or not."""
        return not self.arrays[node.array].shape or (node.array, node.index) in self.ways.exact \
            or (node.array, node.index) in self.elements

    def reach(self, name: str) -> None:
        """Make an array available under the name that `access` gives it."""
        if name in self.ways.whole:
            self.tasklet.updates(name)
        elif self.arrays[name].shape:
            self.tasklet.reads(name)
        elif name not in self.ways.held:
            self.tasklet.inputs[register(name)] = End(name, ())

    def look_up(self, index: tuple[Ix, ...]) -> None:
        for i in index:
            for e in i.elems:
                self.reach(e.array)

    def store(self, part: Store, value: str) -> None:
        self.look_up(part.index)
        array = self.arrays[part.array]
        if part.array in self.ways.whole or part.array in self.ways.held:
            self.reach(part.array)
            target = access(self.frame, part.array, part.index)
            self.writer.line(f"{target} = {value};" if part.op is None
                             else combine(part.op, target, value, array.dtype.kind))
            return
        wcr = None if part.op is None else wcr_of(part.op, array.dtype)
        if wcr is None and (part.array, part.index) in self.later:
            name = self.elements[part.array, part.index] = self.writer.fresh()
            self.writer.line(f"const {ctype(array.dtype)} {name} = {value};")
            value = name
        self.writer.line(f"{self._output(End(part.array, part.index, wcr))} = {value};")

    def _input(self, end: End) -> str:
        name = f"_i{len(self.tasklet.inputs)}"
        self.tasklet.inputs[name] = end
        return name

    def _output(self, end: End) -> str:
        name = f"_o{len(self.tasklet.outputs)}"
        self.tasklet.outputs[name] = end
        return name
