"""Control flow: loops, branches, and what edges between states assign."""
from __future__ import annotations

import ast
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from types import MappingProxyType
from typing import Any

from sdfgad.frontend.graphs.frames import GraphFrame, ReadAgain
from sdfgad.frontend.graphs.numbers import BOOL, WIDE, index_of, truth
from sdfgad.frontend.graphs.states import StateReader
from sdfgad.ir.expr import Const, Expr, Index, Load, call, const
from sdfgad.ir.index import Ix, floordiv, ix
from sdfgad.ir.program import If, Loop, Range, Stmt, While
from sdfgad.ir.walk import all_writes
from sdfgad.names import loop_variable

_EXITS = ("BreakBlock", "ContinueBlock", "ReturnBlock")


@dataclass(eq=False)
class RegionReader:
    """One graph's control flow. nested: reads graphs inside of states. flags: by kind of exit, the scalar that says
    that it has been taken, innermost last."""

    frame: GraphFrame
    nested: Callable[[GraphFrame, Any, Any], None]
    flags: dict[str, list[str]] = field(default_factory=lambda: {k: [] for k in _EXITS})

    def read(self) -> None:
        """The whole graph."""
        empty = [r.label for r in self.frame.sdfg.all_control_flow_regions() if not r.nodes()]
        if empty:
            raise self.frame.refuse(f"{empty[0]!r}, which has no state", "add one")
        returns = _has(self.frame.sdfg, "ReturnBlock")
        if returns:
            self.flags["ReturnBlock"].append(self.flag("returned"))
        self.region(self.frame.sdfg)

    def flag(self, label: str) -> str:
        """A new scalar that is False."""
        name = self.frame.builder.declare((), BOOL, label).name
        self.set(name, const(False, BOOL))
        return name

    def set(self, name: str, value: Expr) -> None:
        self.frame.store(name, (), value)

    def region(self, region: Any) -> None:
        """Blocks one after the other."""
        self.sequence(self.blocks(region))

    def blocks(self, region: Any) -> list[tuple[Any, Any]]:
        """Each block with the edge behind it."""
        found, block, seen = [], region.start_block, set()
        while block is not None:
            if id(block) in seen:
                raise self.strange(block)
            seen.add(id(block))
            edges = region.out_edges(block)
            if len(edges) > 1 or edges and not edges[0].data.is_unconditional():
                raise self.strange(block)
            found.append((block, edges[0] if edges else None))
            block = edges[0].dst if edges else None
        if len(found) < len(region.nodes()):
            raise self.strange(found[-1][0])
        return found

    def strange(self, block: Any) -> Exception:
        return self.frame.refuse(f"the jump behind {block.label!r}, which belongs to no loop and no branch",
                                 "use loop regions and conditional blocks")

    def sequence(self, blocks: Sequence[tuple[Any, Any]]) -> None:
        for k, (block, edge) in enumerate(blocks):
            kind = type(block).__name__
            if kind in _EXITS:
                self.set(self.flags[kind][-1], const(True, BOOL))
                return
            reader = _BLOCKS.get(kind)
            if reader is None:
                raise self.frame.refuse(f"a {kind}", "use states, loops and branches")
            reader(self, block)
            if edge is not None:
                self.assignments(edge.data.assignments)
            left = self.left_by(block) if blocks[k + 1:] else []
            if left:
                self.unless(left, block, partial(self.sequence, blocks[k + 1:]))
                return

    def left_by(self, block: Any) -> list[str]:
        """Flags that a block may have set, so that what follows is not to run."""
        kinds = [] if type(block).__name__ == "LoopRegion" else [
            k for k in ("BreakBlock", "ContinueBlock") if _has_own_in(block, k)]
        kinds += ["ReturnBlock"] if _has(block, "ReturnBlock") else []
        return [self.flags[k][-1] for k in kinds]

    def unless(self, flags: Sequence[str], block: Any, run: Callable[[], None]) -> None:
        """Do the rest if none of the flags is up."""
        self.choice([(self.off(flags), run)], _assigned_in(block.parent_graph))

    def off(self, flags: Sequence[str]) -> Expr:
        cond: Expr = call("not", Load(flags[0], (), BOOL), dtype=BOOL)
        for flag in flags[1:]:
            cond = call("and", cond, call("not", Load(flag, (), BOOL), dtype=BOOL), dtype=BOOL)
        return cond

    def assignments(self, assignments: Mapping[str, str]) -> None:
        """What an edge assigns, all at once."""
        if assignments:
            found = {n: self.frame.expression(str(text)) for n, text in assignments.items()}
            for name, value in found.items():
                self.frame.assign_symbol(name, value)

    def state(self, state: Any) -> None:
        StateReader(self.frame, state, self.nested).read()

    # branches

    def conditional(self, block: Any) -> None:
        branches = [(None if cond is None else truth(self.frame.expression(cond.as_string)), region)
                    for cond, region in block.branches]
        self.choice([(cond, partial(self.region, region)) for cond, region in branches], _assigned_in(block))

    def choice(self, branches: Sequence[tuple[Expr | None, Callable[[], None]]], assigned: frozenset[str]) -> None:
        """The first branch whose condition holds."""
        if not branches:
            return
        cond, run = branches[0]
        if cond is None or isinstance(cond, Const):
            if cond is None or cond.value:
                run()
            else:
                self.choice(branches[1:], assigned)
            return
        source = self.frame.builder.source
        then = self.apart(run)
        orelse = self.apart(lambda: self.choice(branches[1:], assigned))
        self.forget(assigned)
        if then or orelse:
            self.frame.builder.emit(If(cond, then, orelse, source))

    def apart(self, run: Callable[[], None]) -> tuple[Stmt, ...]:
        """The statements of a branch; what it knows of symbols ends with it."""
        before = dict(self.frame.symbols)
        self.frame.reading.conditional += 1
        with self.frame.builder.region(settle=False) as block:
            run()
        self.frame.reading.conditional -= 1
        self.frame.symbols.clear()
        self.frame.symbols.update(before)
        return tuple(block)

    def forget(self, assigned: frozenset[str]) -> None:
        """Symbols that now depend on the way here: those that somebody asks for are kept in scalars next time."""
        for name in assigned:
            self.frame.symbols.pop(name, None)

    # loops

    def loop(self, region: Any) -> None:
        span = self.counted(region)
        if span is None:
            self.conditional_loop(region)
        else:
            self.counting_loop(region, *span)

    def counted(self, region: Any) -> tuple[Expr, Ix, int] | None:
        """`(start, stop, step)` of a loop that counts."""
        var = region.loop_variable
        if not var or region.inverted or ("while", *self.frame.key, region.label) in self.frame.reading.decisions:
            return None
        start, step = _assigned_value(region.init_statement, var), _step(region.update_statement, var)
        stop = _bound(region.loop_condition, var)
        if start is None or step is None or stop is None:
            return None
        first, by = self.frame.formula().read(start), self.frame.formula().read(step)
        size = index_of(by)
        if size is None or not size.const or index_of(first) is None:
            return None
        op, end = stop
        last = index_of(self.frame.formula().read(end))
        if last is None or (op in (ast.Lt, ast.LtE)) != (size.const > 0):
            return None
        return first, last + (1 if op is ast.LtE else -1 if op is ast.GtE else 0), size.const

    def counting_loop(self, region: Any, first: Expr, stop: Ix, step: int) -> None:
        frame, builder = self.frame, self.frame.builder
        start = index_of(first)
        assert start is not None
        source, key = builder.source, ("while", *frame.key, region.label)
        if start.elems or frame.keeps(region.loop_variable):
            raise ReadAgain(*key)
        span = Range(builder.symbol(loop_variable(region.loop_variable)), start, stop, step)
        if span.trips == 0:
            frame.symbols[region.loop_variable] = first
            return
        assigned = _assigned_in(region)
        self.carried(assigned - {region.loop_variable})
        until = self.flag("left") if _leaves(region) else None
        builder.scope.ranges.append(span)
        frame.symbols[region.loop_variable] = Index(ix(span.var), WIDE)
        block = self.body(region, until)
        builder.scope.ranges.pop()
        if region.loop_variable in _assigned_inside(region) or stop.elems and {
                e.array for e in stop.elems} & all_writes(tuple(block)):
            raise ReadAgain(*key)
        self.forget(assigned)
        builder.source = source
        self.emit_loop(block, until, lambda body, trips: Loop(span, body, source, until, trips, region.loop_variable))
        if until is None:
            self.after(region.loop_variable, start, stop, step)

    def after(self, var: str, start: Ix, stop: Ix, step: int) -> None:
        """A variable of a loop behind it."""
        gap = stop - start if step > 0 else start - stop
        trips = floordiv(self.frame.builder.scope.greatest(gap, ix(0)) + abs(step) - 1, abs(step))
        if not trips.elems:
            self.frame.symbols[var] = Index(start + trips * step, WIDE)

    def carried(self, assigned: frozenset[str]) -> None:
        """Symbols that a loop changes lie in scalars, where they have a value before it."""
        for name in assigned:
            if name in self.frame.symbols and not self.frame.keeps(name):
                raise ReadAgain("stored", self.frame.key, name)

    def body(self, region: Any, until: str | None, more: Callable[[], None] = lambda: None) -> list[Stmt]:
        """The statements of an iteration."""
        frame = self.frame
        before = dict(frame.symbols)
        with frame.builder.region(settle=False) as block:
            if until is not None:
                self.flags["BreakBlock"].append(until)
            self.flags["ContinueBlock"].append(self.flag("skipped") if _has_own(region, "ContinueBlock") else "")
            returned = self.flags["ReturnBlock"][-1:] if _has(region, "ReturnBlock") else []
            self.region(region)
            if returned and until is not None:
                self.set(until, call("or", Load(until, (), BOOL), Load(returned[0], (), BOOL), dtype=BOOL))
            more()
        self.flags["ContinueBlock"].pop()
        if until is not None:
            self.flags["BreakBlock"].pop()
        frame.symbols.clear()
        frame.symbols.update(before)
        return block

    def emit_loop(self, block: Sequence[Stmt], until: str | None, make: Callable[..., Stmt],
                  always: bool = False) -> None:
        """The loop itself, with a count of its iterations where that is not known beforehand."""
        builder = self.frame.builder
        if until is None and not always:
            builder.emit(make(tuple(block), None))
            return
        trips = builder.declare((), WIDE, "trips").name
        self.set(trips, const(0, WIDE))
        with builder.region(settle=False) as counted:
            self.set(trips, call("add", Load(trips, (), WIDE), const(1, WIDE)))
        builder.emit(make((*counted, *block), trips))

    def conditional_loop(self, region: Any) -> None:
        """A loop that runs as long as its condition holds."""
        frame, builder, var = self.frame, self.frame.builder, region.loop_variable
        if var and not frame.keeps(var):
            raise ReadAgain("stored", frame.key, var)
        source = builder.source
        if var and region.init_statement is not None:
            self.statement(region.init_statement)
        self.carried(_assigned_in(region) - {var})
        until = self.flag("left") if _leaves(region) else None
        running = builder.declare((), BOOL, "running").name
        if region.inverted:
            self.set(running, const(True, BOOL))
        else:
            self.set(running, self.test(region))

        def ending() -> None:
            test_first = region.inverted and not region.update_before_condition
            if test_first:
                self.set(running, self.test(region))
            if var and region.update_statement is not None:
                self.statement(region.update_statement)
            if not test_first:
                self.set(running, self.test(region))
            if until is not None:
                self.set(running, call("select", Load(until, (), BOOL), const(False, BOOL), Load(running, (), BOOL),
                                       dtype=BOOL))

        frame.reading.conditional += 1
        block = self.body(region, until, ending)
        frame.reading.conditional -= 1
        self.forget(_assigned_in(region) - {var})
        builder.source = source
        self.emit_loop(block, until, lambda body, trips: While(running, body, trips, source, region.label), always=True)

    def test(self, region: Any) -> Expr:
        return truth(self.frame.expression(region.loop_condition.as_string))

    def statement(self, code: Any) -> None:
        """`i = i + 1` of a loop."""
        for stmt in _python(code):
            if not isinstance(stmt, ast.Assign) or not isinstance(stmt.targets[0], ast.Name):
                raise self.frame.refuse(f"`{ast.unparse(stmt)}` in the head of a loop", "assign a symbol")
            self.frame.assign_symbol(stmt.targets[0].id, self.frame.formula().read(stmt.value))


_BLOCKS: Mapping[str, Callable[[RegionReader, Any], None]] = MappingProxyType({
    "SDFGState": RegionReader.state, "ControlFlowRegion": RegionReader.region, "NamedRegion": RegionReader.region,
    "FunctionCallRegion": RegionReader.region,
    "ConditionalBlock": RegionReader.conditional, "LoopRegion": RegionReader.loop})


def _python(code: Any) -> list[ast.stmt]:
    return code.code if isinstance(code.code, list) else ast.parse(code.as_string).body


def _assigned_value(code: Any, var: str) -> ast.expr | None:
    """`value` of `var = value`."""
    parts = [] if code is None else _python(code)
    if len(parts) != 1 or not isinstance(parts[0], ast.Assign) or ast.unparse(parts[0].targets[0]) != var:
        return None
    return parts[0].value


def _step(code: Any, var: str) -> ast.expr | None:
    """`step` of `var = var + step`."""
    value = _assigned_value(code, var)
    if not isinstance(value, ast.BinOp):
        return None
    left, right = ast.unparse(value.left) == var, ast.unparse(value.right) == var
    if isinstance(value.op, ast.Add) and left != right:
        return value.right if left else value.left
    return ast.UnaryOp(ast.USub(), value.right) if isinstance(value.op, ast.Sub) and left and not right else None


def _bound(code: Any, var: str) -> tuple[type, ast.expr] | None:
    """The comparison and `stop` of `var < stop`."""
    parts = [] if code is None else _python(code)
    test = parts[0].value if len(parts) == 1 and isinstance(parts[0], ast.Expr) else None
    if not isinstance(test, ast.Compare) or len(test.ops) != 1 or ast.unparse(test.left) != var or type(
            test.ops[0]) not in (ast.Lt, ast.LtE, ast.Gt, ast.GtE):
        return None
    return type(test.ops[0]), test.comparators[0]


def _inside(block: Any) -> Iterator[Any]:
    """All blocks in a region, of this graph alone."""
    regions = [r for _, r in block.branches] if hasattr(block, "branches") else [block] if hasattr(
        block, "start_block") else []
    for region in regions:
        for one in region.nodes():
            yield one
            yield from _inside(one)


def _has(block: Any, kind: str) -> bool:
    return type(block).__name__ == kind or any(type(b).__name__ == kind for b in _inside(block))


def _has_own(region: Any, kind: str) -> bool:
    """Whether an exit belongs to this loop and not to one inside of it."""
    return any(_has_own_in(block, kind) for block in region.nodes())


def _has_own_in(block: Any, kind: str) -> bool:
    if type(block).__name__ == kind:
        return True
    inner = [r for _, r in block.branches] if hasattr(block, "branches") else [block] if hasattr(
        block, "start_block") and type(block).__name__ != "LoopRegion" else []
    return any(_has_own(r, kind) for r in inner)


def _leaves(region: Any) -> bool:
    return _has_own(region, "BreakBlock") or _has(region, "ReturnBlock")


def _assigned_inside(region: Any) -> frozenset[str]:
    """Symbols that edges and loops inside a region assign."""
    found: set[str] = set()
    for block in (region, *_inside(region)):
        if block is not region and getattr(block, "loop_variable", None):
            found.add(block.loop_variable)
        for edge in block.edges() if hasattr(block, "start_block") else ():
            found.update(edge.data.assignments)
    return frozenset(found)


def _assigned_in(region: Any) -> frozenset[str]:
    own = getattr(region, "loop_variable", None)
    return _assigned_inside(region) | ({own} if own else frozenset())


