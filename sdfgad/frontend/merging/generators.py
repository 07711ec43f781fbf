"""Generators: a loop over one is the generator's own statements, with the loop's body wherever it yields."""
from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import count
from typing import Any

from sdfgad.errors import UnsupportedError
from sdfgad.frontend.state.context import EXITS, Context
from sdfgad.frontend.state.frames import CallFrame
from sdfgad.frontend.state.values import ArrayValue, Function, Iterated, ListValue, Value, contained
from sdfgad.frontend.syntax.enclosed import Boxed
from sdfgad.frontend.syntax.liveness import Liveness, always_exits, assigned, extended, has_exit, load_names, own_walk
from sdfgad.frontend.syntax.nodes import constant, copied, home_of, load, placed, store
from sdfgad.frontend.syntax.source import SourceText, code_of

_YIELDS = (ast.Yield, ast.YieldFrom)
_HELP = "write the loop in the function, or append to a list and return it"
MOST_WRITTEN = 64


@dataclass(frozen=True, eq=False)
class Yielding:
    """A call of a generator function that has not begun: its code, its arguments, the frame it sees, and the number
    that `enumerate` begins with. own: the code is none of the user's."""

    code: SourceText
    names: Mapping[str, Value]
    enclosing: CallFrame | None
    start: int | None = None
    own: bool = False


@lru_cache(maxsize=4096)
def is_generator(code: SourceText) -> bool:
    """Whether a function yields."""
    return any(isinstance(n, _YIELDS) for s in code.body for n in own_walk(s))


def once_yielding(ctx: Context, function: Any) -> Any:
    """A generator function that yields once, whichever branches it takes, and in no loop."""
    code = function.code if isinstance(function, Function) else code_of(function, ctx.text)
    if _yields(code.body) != 1:
        raise ctx.refuse("a context manager whose function yields in a loop, or not once in every branch",
                         "yield once, whatever the branch", "SG102")
    return function


def _yields(body: Sequence[ast.stmt]) -> int | None:
    """How often statements yield on every way through them; None where ways differ, or cannot be told apart."""
    found = 0
    for stmt in body:
        if not any(isinstance(n, _YIELDS) for n in own_walk(stmt)):
            continue
        if isinstance(stmt, ast.If):
            ways = {_yields(stmt.body), _yields(stmt.orelse)}
        elif isinstance(stmt, ast.Try) and not stmt.handlers:
            ways = {_yields([*stmt.body, *stmt.orelse, *stmt.finalbody])}
        else:
            ways = {1 if isinstance(stmt, (ast.Expr, ast.Assign)) and isinstance(stmt.value, ast.Yield) else None}
        if len(ways) > 1 or None in ways:
            return None
        found += ways.pop() or 0
    return found


def suspended(ctx: Context, made: Yielding) -> Iterated:
    """What Python gives for a call of a generator function: its items, once."""
    return Iterated([lambda: made], len(ctx.builder.regions), tuple(made.names.values()), made.enclosing)


def run_generator(ctx: Context, stmt: ast.For, made: Yielding) -> None:
    """`for target in generator(...): body`.

    The generator's names get others in the frame of the loop, and its statements are run there, each `yield` being an
    assignment to the target and the body: whatever one changes, the other one sees, as in Python.
    """
    frame, key = ctx.frame, ("generated", stmt, made.code, made.start)
    if key not in ctx.hints:
        ctx.hints[key] = _written(ctx, stmt, made, sum(k[0] == "generated" for k in ctx.hints))
    written: _Written = ctx.hints[key]
    for name, new in written.mapping.items():
        if name in made.names:
            frame.names[new] = made.names[name]
    frame.names.update({written.mapping[n]: v for n, v in _free(ctx, made, written.free).items()})
    frame.liveness = extended(frame.liveness, written.body, frame.liveness.after[stmt])
    ctx.execute(ctx, written.body)
    for new in written.mapping.values():
        frame.names.pop(new, None)


def listed(ctx: Context, made: Yielding) -> Value:
    """Everything that a generator yields, in a list."""
    items, item = f"items of {made.code.name}", f"item of {made.code.name}"
    if items in ctx.frame.names:
        raise ctx.refuse("a generator inside of itself", _HELP, "SG102")
    add = ast.Expr(ast.Call(ast.Attribute(load(items), "append", ast.Load()), [load(item)], []))
    loop = ast.For(store(item), constant(made), [add], [])
    return _left_by(ctx, items, ListValue([], len(ctx.builder.regions)), placed(loop, made.code.node, None))


def comprehended(ctx: Context, node: ast.ListComp | ast.GeneratorExp, made: Value) -> Value:
    """A comprehension of one loop, over a generator or as data decide, as a loop that fills a list."""
    items = "items of a comprehension"
    return _as_loop(ctx, node, made, items, ListValue([], len(ctx.builder.regions)), ast.Expr(
        ast.Call(ast.Attribute(load(items), "append", ast.Load()), [node.elt], [])))


def added_up(ctx: Context, node: ast.GeneratorExp, made: Value, start: Value) -> Value:
    """`sum` of a comprehension of one loop, as a loop that adds."""
    total = next(n for k in count() if (n := f"total of a comprehension {k}") not in ctx.frame.names)
    return _as_loop(ctx, node, made, total, start, ast.Assign(
        [store(total)], ast.BinOp(load(total), ast.Add(), node.elt)))


def _as_loop(ctx: Context, node: ast.ListComp | ast.GeneratorExp, made: Value, name: str, start: Value,
             body: ast.stmt) -> Value:
    """What a name holds once a statement has been run for every item of a comprehension of one loop."""
    generator = node.generators[0]
    if len(node.generators) > 1:
        raise ctx.refuse("a generator in a comprehension of several loops", _HELP, "SG102")
    for test in reversed(generator.ifs):
        body = ast.If(test, [body], [])
    before = {n: ctx.frame.names.pop(n) for n in assigned([ast.Expr(generator.target)]) if n in ctx.frame.names}
    found = _left_by(ctx, name, start, placed(ast.For(generator.target, constant(made), [body], []), node, None))
    for target in assigned([ast.Expr(generator.target)]):
        ctx.frame.names.pop(target, None)
    ctx.frame.names.update(before)
    return found


def only_numbers(made: Yielding) -> bool:
    """Whether nothing that changes can be seen by a generator: it may run before it is asked."""
    parts = [p for v in made.names.values() for p in contained(v)]
    return made.enclosing is None and not any(
        isinstance(p, ArrayValue) and not p.scalar or isinstance(p, ListValue) for p in parts)


def interrupted(ctx: Context, made: Yielding) -> UnsupportedError:
    """The refusal of a generator that goes on after something else."""
    alone = {id(n.value) for s in made.code.body for n in ast.walk(s) if isinstance(n, ast.Expr)}
    if any(isinstance(n, ast.Yield) and id(n) not in alone for s in made.code.body for n in own_walk(s)):
        return ctx.refuse("a generator that is sent values", "write a class with a method that takes them", "SG102")
    return ctx.refuse("a generator that is asked for its items while something else goes on",
                      "loop over it on its own, or make a list of it before: list(...)", "SG102")


def _left_by(ctx: Context, name: str, start: Value, loop: ast.stmt) -> Value:
    """What a loop makes of a name that begins as `start`."""
    frame = ctx.frame
    if name in frame.names:
        raise ctx.refuse("a comprehension over a generator inside of another", _HELP, "SG102")
    frame.names[name] = start
    frame.liveness = extended(frame.liveness, [loop], frozenset(frame.names))
    ctx.execute(ctx, [loop])
    return frame.names.pop(name)


# the statements

@dataclass(frozen=True)
class _Written:
    """The statements of a generator with the body of a loop in them, its names, and those that are not its own."""

    body: list[ast.stmt]
    mapping: Mapping[str, str]
    free: frozenset[str]


def _written(ctx: Context, stmt: ast.For, made: Yielding, number: int) -> _Written:
    code = made.code
    if number > MOST_WRITTEN:
        raise ctx.refuse("more generators than a program may loop over", _HELP, "SG102")
    own = {*_parameters(code.node), *(n for s in code.body for n in assigned([s]))}
    around = () if made.enclosing is not ctx.frame else (*ctx.frame.names, *ctx.frame.liveness.local)
    free = frozenset(n for s in code.body for n in load_names(s)) - own - frozenset(around)
    mapping = {n: f"{n} of {code.name} {number}" for n in sorted(own | free)}
    renamed: list[Any] = [_Renamed(mapping).visit(copied(s)) for s in code.body]
    for part in (n for s in renamed for n in ast.walk(s)):
        if made.own:
            placed(part, stmt, None)
        elif not hasattr(part, "written_in"):
            part.written_in = code  # type: ignore[attr-defined]
        if isinstance(part, (ast.FunctionDef, ast.ClassDef, ast.Import, ast.ImportFrom, ast.Global, ast.Match)):
            raise ctx.refuse(f"a generator with a statement of this kind ({type(part).__name__})", _HELP, "SG102")
    count = None if made.start is None else f"count of {code.name} {number}"
    body = _Consumer(ctx, stmt, count).block(renamed, ())
    if count is not None:
        body.insert(0, placed(ast.Assign([store(count)], ast.Constant(made.start)), stmt, None))
        mapping[count] = count
    if stmt.orelse and not has_exit(stmt.body, (ast.Break,)):
        body += [copied(s) for s in stmt.orelse]
    return _Written(body, mapping, free)


def _without_returns(body: Sequence[ast.stmt]) -> Sequence[ast.stmt]:
    """if c: s; return      ->   if c: s
    t                            else: t

    Of a block that no loop is around.
    """
    for k, stmt in enumerate(body):
        if not isinstance(stmt, ast.If):
            continue
        way, other = (stmt.body, stmt.orelse) if always_exits(stmt.body) else (stmt.orelse, stmt.body)
        if isinstance(way[-1] if way else None, ast.Return) and k + 1 < len(body):
            other += body[k + 1:]
            return body[:k + 1]
    return body


class _Consumer:
    """Puts the body of a loop where a generator yields."""

    def __init__(self, ctx: Context, stmt: ast.For, count: str | None) -> None:
        self.ctx, self.stmt, self.count = ctx, stmt, count
        self.breaks, self.continues = (has_exit(stmt.body, (kind,)) for kind in (ast.Break, ast.Continue))

    def refuse(self, what: str) -> UnsupportedError:
        return self.ctx.refuse(what, _HELP, "SG102")

    def block(self, body: Sequence[ast.stmt], around: tuple[bool, ...], tail: bool = True) -> list[ast.stmt]:
        """The statements of a block: `around` are the loops around it, each the last of the generator or not; `tail`:
        the block ends an iteration of the innermost."""
        found: list[ast.stmt] = []
        body = body if around else _without_returns(body)
        for k, stmt in enumerate(body):
            found += self.statement(stmt, around, tail and k == len(body) - 1)
        return found

    def statement(self, stmt: ast.stmt, around: tuple[bool, ...], last: bool) -> list[ast.stmt]:
        if isinstance(stmt, ast.Expr) and isinstance(stmt.value, ast.Yield):
            return self.yielded(stmt, around, last)
        if isinstance(stmt, ast.Expr) and isinstance(stmt.value, ast.YieldFrom):
            inner = store("item of another generator")
            each = ast.Expr(ast.Yield(load(inner.id)))
            loop = placed(ast.For(inner, stmt.value.value, [each], []), stmt, home_of(stmt))
            return self.statement(loop, around, last)
        if isinstance(stmt, ast.Return):
            return self.ended(stmt, around, last)
        if not any(isinstance(n, (*_YIELDS, ast.Return)) for n in own_walk(stmt)):
            return [stmt]
        if isinstance(stmt, (ast.For, ast.While)):
            inside = (*around, last and not around and not stmt.orelse)
            if self.stmt.orelse and self.breaks:
                stmt.body = self.ending(stmt.body)
            stmt.body = self.block(stmt.body, inside)
            if any(isinstance(n, _YIELDS) for s in stmt.orelse for n in own_walk(s)):
                stmt.orelse = self.block(stmt.orelse, around, last)
            if self.stmt.orelse and self.breaks:
                stmt.orelse = [copied(s) for s in self.stmt.orelse]
            return [stmt]
        if isinstance(stmt, ast.If):
            stmt.body = self.block(stmt.body, around, last)
            stmt.orelse = self.block(stmt.orelse, around, last)
            return [stmt]
        raise self.refuse("a generator that yields inside of another statement than a loop or branch")

    def ending(self, body: Sequence[ast.stmt]) -> list[ast.stmt]:
        """Statements of the generator's last loop, whose own breaks end the generator: the `else` of the loop over it
        comes first."""
        found: list[ast.stmt] = []
        for stmt in body:
            if isinstance(stmt, ast.If):
                stmt.body, stmt.orelse = self.ending(stmt.body), self.ending(stmt.orelse)
            elif has_exit([stmt], (ast.Break,)):
                found += self.at_end()
                if not isinstance(stmt, ast.Break):
                    raise self.refuse("a generator left by break inside of another statement than a branch")
            found.append(stmt)
        return found

    def at_end(self) -> list[ast.stmt]:
        """The `else` of a loop with break, where a generator ends early."""
        if not self.breaks:
            return []  # it stands behind all of the generator
        if has_exit(self.stmt.orelse, (ast.Break, ast.Continue)):
            raise self.refuse("an else that leaves another loop, over a generator that ends its own loop early")
        return [copied(s) for s in self.stmt.orelse]

    def yielded(self, stmt: ast.Expr, around: tuple[bool, ...], last: bool) -> list[ast.stmt]:
        assert isinstance(stmt.value, ast.Yield)
        value = stmt.value.value or ast.Constant(None)
        if self.breaks and around != (True,):
            raise self.refuse("a loop left by break over a generator that goes on behind its own loop")
        body = [copied(s) for s in self.stmt.body]
        if self.continues and not (last and around):
            if self.breaks:
                raise self.refuse("a loop with break and continue over a generator that goes on behind its yield")
            once = ast.For(store("once of a generator"), constant((0,)), body, [])
            body = [placed(once, self.stmt, None)]
        target = copied(self.stmt.target)
        if self.count is None:
            return [placed(ast.Assign([target], value), self.stmt, None), *body]
        pair = ast.Assign([target], ast.Tuple([load(self.count), value], ast.Load()))
        more = ast.AugAssign(store(self.count), ast.Add(), ast.Constant(1))
        return [placed(pair, self.stmt, None), placed(more, self.stmt, None), *body]

    def ended(self, stmt: ast.Return, around: tuple[bool, ...], last: bool) -> list[ast.stmt]:
        """`return` in a generator: it ends."""
        if last and not around:
            return []
        if around == (True,):
            return [*self.at_end(), placed(ast.Break(), stmt, home_of(stmt))]
        raise self.refuse("a generator that returns early")


class _Renamed(Boxed):
    """Names of a generator become names that nobody else has."""

    def __init__(self, mapping: Mapping[str, str]) -> None:
        super().__init__(set(mapping), "")
        self.mapping = mapping

    def visit_Name(self, node: ast.Name) -> ast.expr:
        return ast.copy_location(ast.Name(self.mapping[node.id], node.ctx), node) if node.id in self.names else node


def _free(ctx: Context, made: Yielding, names: frozenset[str]) -> dict[str, Value]:
    """What the names stand for that a generator takes from outside; those that stand for nothing are left alone."""
    frame = CallFrame(made.code, Liveness(), dict.fromkeys(EXITS, False), made.enclosing, ctx.frame.quiet,
                      len(ctx.builder.regions))
    found = {}
    ctx.frames.append(frame)
    try:
        for name in sorted(names):
            try:
                found[name] = ctx.evaluate(ctx, load(name))
            except UnsupportedError:
                continue
    finally:
        ctx.frames.pop()
    return found


def _parameters(node: Any) -> list[str]:
    a = node.args
    found = [*a.posonlyargs, *a.args, *a.kwonlyargs, *(v for v in (a.vararg, a.kwarg) if v is not None)]
    return [v.arg for v in found]
