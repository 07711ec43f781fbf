"""Maps as Python functions: what `interpret` does point by point, without going down a tree at every point.

The text of such a function is a nest of loops with a line for each node of its expressions. A node that is used again
is computed once, unless it is inside a branch that may not be taken.
"""
from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import lru_cache
from types import MappingProxyType
from typing import Any, TypeAlias

import numpy as np

from sdfgad.ir import interpret
from sdfgad.ir.expr import Call, Const, Expr, Index, Load, Local
from sdfgad.ir.index import Atom, Elem, FloorDiv, Ix, Max, Min, Mod, Subscript, ix
from sdfgad.ir.layout import Packing
from sdfgad.ir.primal import ACCUMULATE, PRIMALS
from sdfgad.ir.program import Let, Map, Program

Function: TypeAlias = Callable[[Mapping[str, np.ndarray], Mapping[str, int], Mapping[str, Packing]], None]
"""Of the arrays, the symbols outside, and the packings of arrays."""

_SIGNS: Mapping[str, str] = MappingProxyType({"add": "+", "sub": "-", "mul": "*"})
_OPERATORS: Mapping[type[Any], str] = MappingProxyType({
    FloorDiv: "{} // {}", Mod: "{} % {}", Subscript: "place({}, {})", Min: "min({}, {})", Max: "max({}, {})"})
MOST_LINES, DEEPEST = 2000, 12
"""Of a function: branches that share much would be written out once for each."""
WORTH_LOOPS = 400
"""Nodes at points from which on making a function of a map takes less time than going down its tree."""


def run(program: Program, arguments: Mapping[str, np.ndarray], keep: dict[str, np.ndarray] | None = None,
        room: Mapping[str, np.ndarray] = MappingProxyType({})) -> Any:
    """As `interpret.run`, and quicker."""
    return interpret.run(program, arguments, keep, room, PointLoops)


class PointLoops(interpret._Machine):
    """The interpreter, whose maps of many points run as functions."""

    def __init__(self, *given: Any) -> None:
        super().__init__(*given)
        self.worked: dict[int, int] = {}

    def map(self, stmt: Map) -> None:
        loops = point_loops(stmt) if self.is_long(stmt) else None
        if loops is None:
            super().map(stmt)
        else:
            loops(self.memory, self.symbols, self.packings)

    def is_long(self, stmt: Map) -> bool:
        """Whether a map has come to so many points, with those of this time."""
        points = 1
        for r in stmt.domain:
            known = not (r.start.symbols | r.stop.symbols) - self.symbols.keys()
            points *= max(0, self.index(r.stop) - self.index(r.start)) // abs(r.step) if known else 2
        done = self.worked.get(id(stmt), 0) + points * sum(p.expr.size for p in stmt.body)
        self.worked[id(stmt)] = done
        return done > WORTH_LOOPS


class _TooLong(Exception):
    """The text would be too long or too deep."""


@lru_cache(maxsize=1 << 12)
def point_loops(stmt: Map) -> Function | None:
    """The function that runs a map; None for one that the tree is better for."""
    text = _Text()
    try:
        lines = list(text.map(stmt))
    except _TooLong:
        return None
    whole = "\n".join((f"def run(memory, symbols, packings):{text.head()}", *(lines or [" pass"])))
    exec(compile(whole, "<points of a map>", "exec"), text.known)  # noqa: S102
    return text.known["run"]


def check(array: str, at: tuple[int, ...], shape: tuple[int, ...], packing: Packing | None) -> tuple[int, ...]:
    """The place `at`, if it is in an array and its storage."""
    if len(at) != len(shape) or any(not 0 <= p < n for p, n in zip(at, shape, strict=True)):
        raise IndexError(f"{array}{list(at)} is outside shape {shape}")
    if packing is not None and not packing.holds(at):
        raise IndexError(f"{array}{list(at)} has no room in {packing}")
    return at


def place(index: int, extent: int) -> int:
    """What an index that the run looks at is."""
    return Subscript((ix(0), ix(extent))).value([index, extent], None)


@lru_cache(maxsize=64)
def _caster(dtype: np.dtype) -> Callable[[Any], Any]:
    kind = dtype.type

    def cast(value: Any) -> Any:
        return value if type(value) is kind else np.asarray(value).astype(dtype)[()]

    return cast


class _Text:
    """The lines of a function, and what they name. known: the objects; seen: variables of nodes, by scope."""

    def __init__(self) -> None:
        self.known: dict[str, Any] = {"check": check, "place": place}
        self.names: dict[object, str] = {}
        self.symbols: dict[str, str] = {}
        self.arrays: dict[str, str] = {}
        self.bound: set[str] = set()
        self.seen: list[dict[Expr, str]] = [{}]
        self.count = 0

    def head(self) -> str:
        """What is looked up before the loops."""
        lines = [f"{v} = symbols[{s!r}]" for s, v in self.symbols.items() if s not in self.bound]
        for array, v in self.arrays.items():
            lines += [f"{v} = memory[{array!r}]", f"{v}_shape = {v}.shape", f"{v}_packing = packings.get({array!r})",
                      f"{v}_rank = len({v}_shape) if {v}_packing is None else -1"]
        return "".join(f"\n {line}" for line in lines)

    def fresh(self) -> str:
        self.count += 1
        if self.count > MOST_LINES:
            raise _TooLong
        return f"t{self.count}"

    def object(self, thing: Any, key: object) -> str:
        """A name for an object that the text needs."""
        if key not in self.names:
            self.names[key] = f"k{len(self.names)}"
            self.known[self.names[key]] = thing
        return self.names[key]

    def symbol(self, name: str) -> str:
        return self.symbols.setdefault(name, f"s{len(self.symbols)}")

    def map(self, stmt: Map) -> Iterator[str]:
        pad = " "
        for r in stmt.domain:
            start, stop = self.index(r.start), self.index(r.stop)
            self.bound.add(r.var)
            yield f"{pad}for {self.symbol(r.var)} in range({start}, {stop}, {r.step}):"
            pad += " "
        if len(stmt.domain) > DEEPEST:
            raise _TooLong
        locals: dict[str, str] = {}
        for part in stmt.body:
            self.seen = [{}]  # a store may change what the next part loads
            value, lines = self.value(part.expr, locals)
            if isinstance(part, Let):
                locals[part.name] = (name := self.fresh())
                lines.append(f"{name} = {value}")
            else:
                lines += self.store(part.array, part.index, part.op, value)
            yield from (pad + line for line in lines)

    def store(self, array: str, index: Sequence[Ix], op: str | None, value: str) -> list[str]:
        held, at = self.array(array), self.fresh()
        lines = [f"{at} = {self.place(array, index)}"]
        if op is None:
            return [*lines, f"{held}[{at}] = {value}"]
        return [*lines, f"{held}[{at}] = {self.object(ACCUMULATE[op], op)}({held}[{at}], {value})"]

    def array(self, name: str) -> str:
        return self.arrays.setdefault(name, f"a{len(self.arrays)}")

    def place(self, array: str, index: Sequence[Ix]) -> str:
        """Where an element lies; `check` is called where it lies outside, or where that takes a longer look."""
        held, at = self.array(array), [self.index(i) for i in index]
        parts = [self.fresh() for _ in at]
        inside = "".join(f" and 0 <= ({p} := {a}) < {held}_shape[{k}]"
                         for k, (p, a) in enumerate(zip(parts, at, strict=True)))
        return f"({''.join(f'{p}, ' for p in parts)}) if {held}_rank == {len(at)}{inside} else " \
            f"check({array!r}, ({''.join(f'{a}, ' for a in at)}), {held}_shape, {held}_packing)"

    def index(self, i: Ix) -> str:
        terms = [" * ".join((str(c), *map(self.atom, m))) for m, c in i.terms]
        return f"({' + '.join(terms) or '0'})"

    def atom(self, atom: Atom) -> str:
        if isinstance(atom, str):
            return self.symbol(atom)
        if isinstance(atom, Elem):
            return f"int({self.array(atom.array)}[{self.place(atom.array, atom.parts)}])"
        return f"({_OPERATORS[type(atom)].format(*map(self.index, atom.parts))})"

    def value(self, root: Expr, locals: Mapping[str, str]) -> tuple[str, list[str]]:
        """A variable that holds the value of a node, and the lines that put it there."""
        for scope in self.seen:
            if root in scope:
                return scope[root], []
        if isinstance(root, Const):
            return self.object(root.dtype.type(root.value), root), []
        if isinstance(root, Local):
            return locals[root.name], []
        name, lines = self.fresh(), []
        if isinstance(root, Load):
            lines = [f"{name} = {self.array(root.array)}[{self.place(root.array, root.index)}]"]
        elif isinstance(root, Index):
            lines = [f"{name} = {self.object(root.dtype.type, root.dtype)}({self.index(root.ix)})"]
        elif root.fn == "select":
            lines = self.choice(root, name, locals)
        else:
            found = [self.value(a, locals) for a in root.args]
            lines = [line for _, more in found for line in more]
            lines.append(f"{name} = {self.call(root, [v for v, _ in found])}")
        self.seen[-1][root] = name
        return name, lines

    def call(self, e: Call, args: Sequence[str]) -> str:
        if e.fn in _SIGNS and e.dtype.kind in "iuf" and all(a.dtype == e.dtype for a in e.args):
            return f"{args[0]} {_SIGNS[e.fn]} {args[1]}"
        result = args[0] if e.fn == "cast" else f"{self.object(PRIMALS[e.fn], e.fn)}({', '.join(args)})"
        return f"{self.object(_caster(e.dtype), ('cast', e.dtype))}({result})"

    def choice(self, e: Call, name: str, locals: Mapping[str, str]) -> list[str]:
        """The branch that is taken, and nothing of the other one."""
        if len(self.seen) > DEEPEST:
            raise _TooLong
        condition, lines = self.value(e.args[0], locals)
        for head, branch in ((f"if {condition}:", e.args[1]), ("else:", e.args[2])):
            self.seen.append({})
            value, more = self.value(branch, locals)
            self.seen.pop()
            lines += [head, *(f" {line}" for line in (*more, f"{name} = {value}"))]
        return lines
