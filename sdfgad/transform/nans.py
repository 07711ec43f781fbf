"""For `debug_nans`: a program that ends where the first NaN comes from numbers that are none.

A NaN that is only handed on is not looked at: what made it has ended the program before, or an argument holds it.
"""
from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType

import numpy as np

from sdfgad.errors import NanError, SourceLine
from sdfgad.ir import algebra
from sdfgad.ir.expr import Call, Const, Expr, Load, Local, walk
from sdfgad.ir.index import ix
from sdfgad.ir.messages import OP
from sdfgad.ir.program import FAILED, Array, Block, If, Let, Lib, Map, Program, Raising, Stmt, Store, View, all_of
from sdfgad.ir.walk import children, statements, with_children, writes
from sdfgad.names import GRAD, fresh

_BOOL, _COUNT, _FLAG = np.dtype(bool), np.dtype(np.float64), np.dtype(np.int64)
_NEVER, _ALWAYS = Const(False, _BOOL), Const(True, _BOOL)
_INEXACT = "fc"
_STEEP: Mapping[str, str] = MappingProxyType({
    "sqrt": "sqrt is NaN below 0, and its slope at 0 is infinite",
    "log": "log is NaN below 0 and infinite at 0", "log2": "log2 is NaN below 0 and infinite at 0",
    "log10": "log10 is NaN below 0 and infinite at 0", "log1p": "log1p is NaN below -1 and infinite there",
    "pow": "a power is NaN for a negative base, and its slope at 0 is infinite below the power 1",
    "arcsin": "arcsin is NaN outside -1 to 1, and its slope at the ends is infinite",
    "arccos": "arccos is NaN outside -1 to 1, and its slope at the ends is infinite",
    "arctanh": "arctanh is NaN outside -1 to 1 and infinite there", "arccosh": "arccosh is NaN below 1",
    "div": "0 / 0 is NaN, and so is an infinite quotient times 0"})
"""What makes NaN, by function; slopes have quotients, which say less than the others."""
_HERE, _BACK = "NaN comes up here", "NaN comes up here, in the reverse sweep"
_APART = ("choose what it is made of first, as in np.sqrt(np.where(x > 0, x, 1.0)): a choice between results comes too "
          "late for the slope")


@dataclass(frozen=True)
class NanFound:
    """Ends a program with a `NanError`. functions: those of the statement."""

    source: SourceLine | None
    what: str
    functions: tuple[str, ...] = ()

    def error(self) -> NanError:
        """The exception that the call raises."""
        steep = [f for f in self.functions if f in _STEEP]
        reasons = [_STEEP[f] for f in steep if f != "div" or steep == ["div"]]
        return NanError(self.what, source=self.source, help="; ".join((*reasons, _APART) if reasons else ()))


def end_at_first_nan(program: Program) -> Program:
    """map i: y[i] = f(x[i])
    ->   made = 0 ; map i: { y[i] = f(x[i]) ; made += isnan(f(x[i])) and not isnan(x[i]) } ; if made > 0: fail
    """
    checks = _Checks(program)
    body = checks.block(program.body)
    return program if not checks.failures else program.but(
        body=body, arrays={**checks.arrays, FAILED: Array(FAILED, (1,), _FLAG)},
        failures=(*program.failures, *checks.failures), live_out=program.live_out | {FAILED})


class _Checks:
    """What is added to a program. failures: how it may end."""

    def __init__(self, program: Program) -> None:
        self.arrays, self.first = dict(program.arrays), len(program.failures)
        self.failures: list[Raising] = []
        self.functions: dict[SourceLine | None, dict[str, None]] = {}
        for stmt in statements(program.body):
            self.functions.setdefault(stmt.source, {}).update(dict.fromkeys(_functions(stmt)))

    def block(self, block: Block) -> Block:
        """A block whose statements are looked at one by one."""
        return tuple(s for stmt in block for s in self._statement(stmt))

    def _statement(self, stmt: Stmt) -> Iterable[Stmt]:
        if isinstance(stmt, Map):
            return self._map(stmt)
        if isinstance(stmt, Lib):
            return self._library(stmt)
        return (with_children(stmt, [self.block(b) for b in children(stmt)]) if children(stmt) else stmt,)

    def _map(self, stmt: Map) -> Iterator[Stmt]:
        stores = [p for p in stmt.body if isinstance(p, Store) and _is_inexact(self.arrays[p.array].dtype)]
        if not stores:
            yield stmt
            return
        sums = [p for p in stores if p.op == "+" and writes(stmt).isdisjoint(e.array for i in p.index for e in i.elems)]
        made, *more = (self._count(n) for n in ("made", *(("came", "before", "after") if sums else ())))
        yield from (_cleared(n, stmt.source) for n in (made, *more))
        if not more:
            yield replace(stmt, body=tuple(_looked_at(stmt, made, None)))
            yield self._ending(_some(made), stmt, stores)
            return
        came, before, after = more
        yield self._counting(stmt, sums, before)
        yield replace(stmt, body=tuple(_looked_at(stmt, made, came)))
        yield self._counting(stmt, sums, after)
        added_up = algebra.both(algebra.both(_some(after), _none(before)), _none(came))
        yield self._ending(Call("or", (_some(made), added_up), _BOOL), stmt, stores)

    def _library(self, stmt: Lib) -> Iterator[Stmt]:
        outs = [v for v in stmt.outs if _is_inexact(v.dtype)]
        if not outs or stmt.op in (OP, "seal", "unseal", "fail"):
            yield stmt
            return
        # A result that is added to what lies there is looked at with it.
        read = [v for v in (*stmt.ins, *(outs if stmt.attrs.get("accumulate") else ())) if _is_inexact(v.dtype)]
        came, made = self._count("came"), self._count("made")
        yield from (_cleared(n, stmt.source) for n in (came, made))
        yield from (_counted(v, came, stmt.source) for v in read)
        yield stmt
        yield from (_counted(v, made, stmt.source) for v in outs)
        yield self._ending(algebra.both(_some(made), _none(came)), stmt, outs)

    def _count(self, name: str) -> str:
        name = fresh(f"nan_{name}", self.arrays)
        self.arrays[name] = Array(name, (), _COUNT)
        return name

    def _counting(self, stmt: Map, sums: Iterable[Store], count: str) -> Map:
        """How many targets of sums are NaN."""
        return replace(stmt, body=tuple(
            _counts(count, _isnan(Load(p.array, p.index, self.arrays[p.array].dtype))) for p in sums))

    def _ending(self, cond: Expr, stmt: Map | Lib, written: Iterable[Store | View]) -> If:
        """The end of the program where a condition holds. All functions of the user's line: a slope may have none."""
        back = any(p.array.startswith(GRAD) for p in written)
        functions = tuple(self.functions.get(stmt.source, ()))
        end = View(FAILED, (ix(1),), (ix("_0"),), _FLAG)
        which = MappingProxyType({"which": self.first + len(self.failures), "accumulate": True})
        self.failures.append(NanFound(stmt.source, _BACK if back else _HERE, functions))
        return If(cond, (Lib("fail", (end,), (), which, stmt.source),), (), stmt.source)


def _functions(stmt: Stmt) -> Iterator[str]:
    """What a statement computes."""
    if isinstance(stmt, Lib):
        yield stmt.op
    elif isinstance(stmt, Map):
        yield from (n.fn for p in stmt.body for n in walk(p.expr) if isinstance(n, Call))


def _looked_at(stmt: Map, made: str, came: str | None) -> Iterator[Let | Store]:
    """The parts of a map, with the number of NaN that its stores make, and that come from elsewhere."""
    names = {p.name for p in stmt.body if isinstance(p, Let)}
    flags: dict[str, Expr] = {}
    for part in stmt.body:
        given = _given(part.expr, flags)
        if isinstance(part, Let):
            yield part
            flag, value = fresh(f"{part.name}_nan", names), given
            if not isinstance(given, Const):
                yield Let(flag, given)
                names.add(flag)
                value = Local(flag, _BOOL)
            flags[part.name] = value
            continue
        if not _is_inexact(part.expr.dtype):
            yield part
            continue
        name = fresh("stored", names)
        names.add(name)
        stored = Local(name, part.expr.dtype)
        yield Let(name, part.expr)
        yield _counts(made, _but_not(_isnan(stored), given))
        if came is not None and part.op == "+":
            yield _counts(came, _isnan(stored))
        yield replace(part, expr=stored)


def _given(e: Expr, flags: Mapping[str, Expr]) -> Expr:
    """Whether a number of an expression is NaN before anything is computed of it."""
    if isinstance(e, Const):
        return _ALWAYS if _is_inexact(e.dtype) and bool(np.isnan(e.value)) else _NEVER
    if not _is_inexact(e.dtype):
        return _NEVER
    if isinstance(e, Load):
        return _isnan(e)
    if isinstance(e, Local):
        return flags.get(e.name, _NEVER)
    if not isinstance(e, Call):
        return _NEVER
    if e.fn == "select":
        return algebra.select(e.args[0], *(_given(a, flags) for a in e.args[1:]))
    found: Expr = _NEVER
    for one in (_given(a, flags) for a in e.args):
        found = one if found == _NEVER else found if one == _NEVER else Call("or", (found, one), _BOOL)
    return found


def _but_not(one: Expr, other: Expr) -> Expr:
    if isinstance(other, Const):
        return _NEVER if other.value else one
    return Call("and", (one, Call("not", (other,), _BOOL)), _BOOL)


def _is_inexact(dtype: np.dtype) -> bool:
    return dtype.kind in _INEXACT


def _isnan(e: Expr) -> Expr:
    return Call("isnan", (e,), _BOOL)


def _counts(count: str, condition: Expr) -> Store:
    return Store(count, (), algebra.select(condition, algebra.number(1, _COUNT), algebra.zero(_COUNT)), "+")


def _counted(view: View, count: str, source: SourceLine | None) -> Map:
    """Add the number of NaN in a view."""
    domain = all_of(view.shape)
    at = view.at(tuple(ix(r.var) for r in domain))
    return Map(domain, (_counts(count, _isnan(Load(view.array, at, view.dtype))),), source)


def _cleared(count: str, source: SourceLine | None) -> Map:
    return Map((), (Store(count, (), algebra.zero(_COUNT)),), source)


def _some(count: str) -> Expr:
    return Call("gt", (Load(count, (), _COUNT), algebra.zero(_COUNT)), _BOOL)


def _none(count: str) -> Expr:
    return Call("eq", (Load(count, (), _COUNT), algebra.zero(_COUNT)), _BOOL)
