"""Python's integers that a loop makes larger and larger, as the text of the loop says: factorials, powers, sums of the
two numbers before."""
from __future__ import annotations

import ast
import math
import operator
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from functools import lru_cache
from types import MappingProxyType
from typing import Any

from sdfgad.frontend.syntax.liveness import own_walk

Gains = dict[str, float]
"""Name -> how many times an integer is larger than the one of that name; infinite where nothing is known."""
_OPERATORS: Mapping[type, Callable[..., Any]] = MappingProxyType({
    ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul, ast.Pow: operator.pow})
_MOST = 2 ** 64
"""Larger numbers are not worth knowing here."""
_LIKE_THEIR_ARGUMENTS = frozenset({"int", "abs", "min", "max", "round"})


@lru_cache(256)
def updated(loop: ast.stmt) -> Mapping[str, Gains]:
    """Names that the text of a loop binds anew, with what they are made of there."""
    steps: dict[str, Gains] = defaultdict(dict)
    for name, value in _updates(own_walk(loop)):
        steps[name] = {n: max(g, steps[name].get(n, 0.0)) for n, g in {**steps[name], **_gains(value)}.items()}
    return steps


@lru_cache(256)
def growing(loop: ast.stmt) -> frozenset[str]:
    """Names that a loop makes larger by a factor, and names made of them: `f` in `f = f * k`, `a` and `b` in
    `a, b = b, a + b`. Not `n` in `n += 1`, nor those halved as often as added: `mid = (low + high) // 2`."""
    steps = updated(loop)
    reached = {name: _reached(name, steps) for name in steps}
    found = {name for name, gains in steps.items()
             if sum(g for n, g in gains.items() if n in steps and name in reached[n]) > 1.0}
    return frozenset(n for n in steps if n in found or reached[n] & found)


@lru_cache(256)
def remainders(loop: ast.stmt) -> Mapping[str, int]:
    """Names that a loop gives remainders of written numbers alone, with the largest of these: `s = (a * s + c) % 7`."""
    found: dict[str, list[int]] = defaultdict(list)
    others: set[str] = set()
    for name, value in _updates(own_walk(loop)):
        by = _written(value.right) if isinstance(value, ast.BinOp) and isinstance(value.op, ast.Mod) else None
        if isinstance(by, int):
            found[name].append(abs(by))
        else:
            others.add(name)
    return {n: max(numbers) for n, numbers in found.items() if n not in others}


def only_floats(body: Iterable[ast.stmt], names: Collection[str], others: Collection[str]) -> bool:
    """Whether all that is made of the integers `names` ends in a division, a comparison, one of them, or one of the
    `others`, which are no integers: numbers with a point serve as well."""
    looker = _Uses(frozenset(names), frozenset(others))
    for stmt in body:
        looker.look(stmt, False)
    return looker.fits


def name_of(node: ast.AST) -> str | None:
    """`n` or `self.n` as text."""
    if isinstance(node, ast.Name):
        return node.id
    return ast.unparse(node) if isinstance(node, ast.Attribute) and name_of(node.value) else None


def _updates(nodes: Iterable[ast.AST]) -> Iterator[tuple[str, ast.expr]]:
    """Names with what is assigned to them."""
    for node in nodes:
        if isinstance(node, ast.AugAssign) and (name := name_of(node.target)):
            yield name, ast.BinOp(node.target, node.op, node.value)
        elif isinstance(node, (ast.AnnAssign, ast.NamedExpr)) and node.value is not None:
            yield from _pairs(node.target, node.value)
        elif isinstance(node, ast.Assign):
            for target in node.targets:
                yield from _pairs(target, node.value)


def _pairs(target: ast.expr, value: ast.expr) -> Iterator[tuple[str, ast.expr]]:
    if (name := name_of(target)):
        yield name, value
    elif isinstance(target, (ast.Tuple, ast.List)):
        alike = isinstance(value, (ast.Tuple, ast.List)) and len(value.elts) == len(target.elts)
        for k, item in enumerate(target.elts):
            yield from _pairs(item, value.elts[k] if alike else value)  # type: ignore[attr-defined]


def _gains(e: ast.expr) -> Gains:
    if (name := name_of(e)):
        return {name: 1.0}
    match e:
        case ast.UnaryOp() | ast.Starred() | ast.NamedExpr():
            return _gains(e.operand if isinstance(e, ast.UnaryOp) else e.value)
        case ast.BinOp():
            return _of_operator(e)
        case ast.IfExp():
            return _sum(_gains(e.body), _gains(e.orelse))
        case ast.Tuple() | ast.List():
            return _sum(*map(_gains, e.elts))
        case ast.Call(func=ast.Name(id=called)) if called in _LIKE_THEIR_ARGUMENTS:
            return _sum(*map(_gains, e.args))
        case ast.Subscript():
            return _gains(e.value)
        case ast.Constant() | ast.Compare() | ast.JoinedStr():
            return {}
    return dict.fromkeys((n for n in map(name_of, ast.walk(e)) if n), math.inf)


def _of_operator(e: ast.BinOp) -> Gains:
    left, right = _gains(e.left), _gains(e.right)
    match e.op:
        case ast.Add() | ast.Sub() | ast.BitOr() | ast.BitXor():
            return _sum(left, right)
        case ast.Mult():
            return {**_times(left, _literal(e.right)), **_times(right, _literal(e.left))}
        case ast.FloorDiv():
            by = _literal(e.right)
            return left if not by else {n: g / max(by, 1.0) for n, g in left.items()}
        case ast.RShift():
            return {n: g / 2.0 ** min(_literal(e.right) or 0.0, 60.0) for n, g in left.items()}
        case ast.Mod() | ast.BitAnd():  # bounded, but not what it is made of
            return {n: g for n, g in _sum(left, right).items() if g > 2.0 ** 20}
        case ast.Div():
            return {}
    return dict.fromkeys({**left, **right}, math.inf)


def _times(gains: Gains, factor: float | None) -> Gains:
    return {n: math.inf if factor is None else g * factor for n, g in gains.items()}


def _sum(*parts: Gains) -> Gains:
    found: Gains = {}
    for part in parts:
        for name, gain in part.items():
            found[name] = found.get(name, 0.0) + gain
    return found


def _literal(e: ast.expr) -> float | None:
    """The size of a number that is written there."""
    found = _written(e)
    return None if found is None else float(abs(found))


def _written(e: ast.expr) -> int | float | None:
    """A number that is written there, alone or as `2 ** 31 - 1`."""
    match e:
        case ast.Constant(value=int() | float() as value):
            return value
        case ast.UnaryOp(op=ast.USub() | ast.UAdd()):
            found = _written(e.operand)
            return -found if found is not None and isinstance(e.op, ast.USub) else found
        case ast.BinOp(op=ast.Add() | ast.Sub() | ast.Mult() | ast.Pow()):
            left, right = _written(e.left), _written(e.right)
            most = 64 if isinstance(e.op, ast.Pow) else _MOST
            if left is not None and right is not None and abs(left) <= _MOST and 0 <= right <= most:
                return _OPERATORS[type(e.op)](left, right)
    return None


def _reached(name: str, steps: Mapping[str, Gains]) -> set[str]:
    """Names that a name is made of, in as many steps as it takes."""
    found: set[str] = set()
    open_ = [name]
    while open_:
        new = [n for n in steps.get(open_.pop(), {}) if n in steps and n not in found]
        found.update(new)
        open_ += new
    return found


class _Uses:
    """Looks where names are read. fits: in places alone where numbers with a point serve as well."""

    def __init__(self, names: frozenset[str], others: frozenset[str]) -> None:
        self.names, self.targets, self.fits = names, names | others, True

    def look(self, node: ast.AST, serves: bool) -> None:
        if (name := name_of(node)):
            self.fits &= serves or name not in self.names or isinstance(node.ctx, ast.Store)  # type: ignore[attr-defined]
            return
        for part, good in self._parts(node, serves):
            self.look(part, good)

    def _parts(self, node: ast.AST, serves: bool) -> Iterable[tuple[ast.AST, bool]]:
        match node:
            case ast.BinOp(op=ast.Div()) | ast.Compare(ops=[ast.Lt() | ast.LtE() | ast.Gt() | ast.GtE()]):
                return [(p, True) for p in ast.iter_child_nodes(node)]
            case ast.BinOp(op=ast.Add() | ast.Sub() | ast.Mult()) | ast.UnaryOp(op=ast.USub() | ast.UAdd()):
                return [(p, serves) for p in ast.iter_child_nodes(node)]
            case ast.Assign(targets=[target]):
                return [(value, name in self.targets) for name, value in _pairs(target, node.value)] or [
                    (p, False) for p in (target, node.value)]
            case ast.AugAssign(op=ast.Add() | ast.Sub() | ast.Mult()):
                return [(node.value, name_of(node.target) in self.targets)]
            case ast.AugAssign(op=ast.Div()):
                return [(node.value, True)]
            case ast.AugAssign():
                load = ast.Name(node.target.id, ast.Load()) if isinstance(node.target, ast.Name) else node.target
                return [(load, False), (node.value, False)]
        return [(p, False) for p in ast.iter_child_nodes(node)]
