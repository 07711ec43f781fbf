"""Programs and graphs of DaCe that a NumPy function calls."""
from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from sdfgad.arrays import Spec
from sdfgad.errors import UsageError
from sdfgad.frontend.elements.elementwise import as_array
from sdfgad.frontend.graphs.function import GraphFunction, as_function
from sdfgad.frontend.graphs.programs import is_dace
from sdfgad.frontend.parse import Parsed, parse
from sdfgad.frontend.state.context import Context
from sdfgad.frontend.state.values import ArrayValue, Value, ViewValue, is_number
from sdfgad.ir.program import Array, View, views_of
from sdfgad.ir.walk import all_variables
from sdfgad.later import later

if TYPE_CHECKING:
    from sdfgad.frontend.graphs.reading import read
else:
    read = later("sdfgad.frontend.graphs.reading", "read")


def translated(fn: Any, arguments: Sequence[Any], keywords: Mapping[str, Any], source: str = "",
               own_rules: bool = True) -> Parsed:
    """A Python function, or a graph of DaCe, as a program; what it calls may be either."""
    if isinstance(fn, GraphFunction):
        return read(fn, arguments, keywords)
    return parse(fn, arguments, keywords, source, own_rules, called_graph)


def called_graph(callee: Any) -> CalledGraph | None:
    """What translates calls of a program or graph of DaCe; None for anything else."""
    if isinstance(callee, GraphFunction):
        return CalledGraph(callee, False)
    return CalledGraph(as_function(callee), True) if "dace" in sys.modules and is_dace(callee, "DaceProgram") else None


@dataclass(frozen=True)
class CalledGraph:
    """Calls are what the graph does with copies of the arguments; what it writes goes back to them.

    program: whether it is called as DaCe's program, whose results are arrays, also those of one element.
    """

    graph: GraphFunction
    program: bool

    def apply(self, ctx: Context, arguments: Sequence[Value], keywords: Mapping[str, Value]) -> Value:
        """The value of a call. UsageError, DtypeError for arguments that are none of the graph's."""
        name = self.graph.__name__
        try:
            bound = self.graph.__signature__.bind(*arguments, **keywords)
        except TypeError as error:
            raise UsageError(f"{name}: {error}", code="SG205") from error
        given = bound.arguments
        kinds = {n: self.kind(ctx, n, v) for n, v in given.items()}
        ctx.builder.flush()
        parsed = read(self.graph, (), kinds, frozenset(ctx.builder.taken))
        arrays = parsed.program.arrays
        written = {n for n, array in parsed.traced.items() if array in parsed.mutated and arrays[array].shape}
        passed = {n: self.passed(ctx, n, given[n], n in written) for n in parsed.traced}
        self.check(ctx, parsed, passed, written)
        self.put_in(ctx, parsed, passed)
        for n in sorted(written):
            target = passed[n]
            assert isinstance(target, ViewValue)
            ctx.builder.assign(target, self.stored(ctx, parsed.traced[n]))
        results = tuple(self.result(ctx, v) for v in views_of(parsed.program.returns))
        return results if isinstance(parsed.program.returns, tuple) else results[0] if results else None

    def kind(self, ctx: Context, name: str, value: Value) -> Any:
        """What says of an argument all that a graph is made for."""
        if isinstance(value, ArrayValue):
            sizes = tuple(n.const for n in value.shape)
            if None in sizes:
                raise ctx.refuse(f"{name!r} of {self.graph.__name__}, whose size changes from iteration to iteration",
                                 "give the program of DaCe arrays of one size", "SG110")
            return 1.0 if value.weak and value.dtype == np.float64 and not sizes else Spec(
                tuple(n or 0 for n in sizes), value.dtype)
        if value is None or is_number(value):
            return value
        if isinstance(value, np.ndarray):
            return Spec(value.shape, value.dtype)
        raise ctx.refuse(f"{name!r} of {self.graph.__name__}, which is no array and no known number",
                         "programs of DaCe take arrays, floats, and integers that are known", "SG110")

    def passed(self, ctx: Context, name: str, value: Value, written: bool) -> ArrayValue:
        """An argument, in an array of its own where the graph writes it."""
        if written and isinstance(value, np.ndarray):
            raise ctx.refuse(f"an update of {name!r} by {self.graph.__name__}, an array from outside the function",
                             "pass it as an argument or copy it first", "SG102")
        found = as_array(ctx, value)
        return ctx.builder.materialise(found, name) if written else found

    def check(self, ctx: Context, parsed: Parsed, given: Mapping[str, ArrayValue], written: set[str]) -> None:
        """Refuse what copies would tell from the arrays themselves, and what is looked at before a call."""
        name = self.graph.__name__
        if parsed.accesses:
            raise ctx.refuse(f"indices from data in {name}, called inside of another function",
                             "differentiate the program itself", "SG110")
        held = {n: v.view.array for n, v in given.items() if isinstance(v, ViewValue)}
        for n in written & held.keys():
            if any(array == held[n] and other != n for other, array in held.items()):
                raise ctx.refuse(f"{n!r} of {name}, which is updated and shares memory with another argument",
                                 "give it a copy", "SG110")

    def put_in(self, ctx: Context, parsed: Parsed, given: Mapping[str, ArrayValue]) -> None:
        """The statements of the graph, on copies of the arguments."""
        builder, program = ctx.builder, parsed.program
        ctx.surroundings.looks.update(parsed.surroundings.looks)
        ctx.surroundings.arrays.update(parsed.surroundings.arrays)
        ctx.surroundings.watched.extend(parsed.surroundings.watched)
        builder.taken |= program.arrays.keys() | all_variables(program.body)
        for array in program.arrays.values():
            self.declare(ctx, array)
        builder.constants.update(program.constants)
        for n, name in parsed.traced.items():
            builder.assign(self.stored(ctx, name), given[n])
        for stmt in program.body:
            builder.emit(stmt)
        for name in program.arrays.keys() - program.constants.keys():
            builder.touch(name)

    def declare(self, ctx: Context, array: Array) -> None:
        builder = ctx.builder
        builder.arrays[array.name] = replace(array, role="transient") if array.role == "argument" else array
        builder.born[array.name] = tuple(builder.regions)
        if array.dtype.kind in "ub":
            builder.scope.unsigned.add(array.name)

    def stored(self, ctx: Context, array: str) -> ViewValue:
        return ctx.builder.view(ctx.builder.arrays[array])

    def result(self, ctx: Context, view: View) -> ViewValue:
        """What a call gives back."""
        if view.shape:
            return ViewValue(view)
        array = ctx.builder.arrays[view.array]
        return ctx.builder.view(array) if self.program and array.shape else ViewValue(view, scalar=True)
