"""Which arrays may differ in their last digit: nothing that is decided, and nobody who looks, depends on it."""
from __future__ import annotations

from collections.abc import Callable, Collection, Iterator

import numpy as np

from sdfgad.ir import algebra
from sdfgad.ir.expr import Call, Expr, Local, walk
from sdfgad.ir.program import Block, If, Let, Lib, Map, Program, Stmt, Store
from sdfgad.ir.walk import expr_reads, reads, statements, writes

_PASSING = frozenset(("add", "sub", "mul", "neg"))
"""Functions that only pass roundings on, as a quotient does with its dividend's and a choice with its two values'."""
_KEEPING_DIGITS = frozenset(("mul", "div", "neg", "abs", "sqrt"))
"""Functions of which a result has as many right digits as its operands: no sums, where digits may cancel."""
_POWERS = (1, 2, 3, 4)
"""Exponents of powers that are no more than a few products."""


def roundable(program: Program, seen: Collection[str]) -> frozenset[str]:
    """The arrays of floating point of which a last digit more or less changes nothing but last digits.

    Not those in `seen`, nor what comparisons, conversions, library calls, quotients (as a divisor) and functions other
    than sums and products look at, nor what any of these is computed from.
    """
    strict = {*seen, *_decided(program.body)}
    feeds = _feeds(program.body)
    todo = list(strict)
    while todo:
        found = feeds.get(todo.pop(), set()) - strict
        strict |= found
        todo.extend(found)
    return frozenset(n for n, a in program.arrays.items() if a.dtype.kind == "f" and n not in strict)


def rewrite_rounded(expr: Expr, replace: Callable[[Expr], Expr | None]) -> Expr:
    """Rebuild bottom up where another last digit changes no more than last digits of the result; `replace` as for
    `rewrite`.

    Conditions and what other functions than sums and products look at stay, but for products and quotients that are
    divided by, or of which the root or the size is taken, and for choices that only guard a product against 0 * inf.
    """
    memo: dict[tuple[Expr, bool], Expr] = {}

    def visit(node: Expr, digits: bool) -> Expr:
        if (node, digits) not in memo:
            new = _rebuilt(node, digits, visit) if isinstance(node, Call) else node
            replaced = replace(new)
            memo[node, digits] = new if replaced is None else replaced
        return memo[node, digits]

    return visit(expr, False)


def _rebuilt(node: Call, digits: bool, visit: Callable[[Expr, bool], Expr]) -> Expr:
    """A function of rebuilt operands; `digits`: no operand may have fewer right digits than before."""
    keeping = node.fn in _KEEPING_DIGITS and all(a.dtype == node.dtype for a in node.args)
    if digits and not keeping:
        return node
    if not digits and node.fn == "select" and _guards_product(node):
        return _rebuilt_guard(node, visit)
    looked_at = () if digits else _operands(node)[1]
    args = tuple(a if a in looked_at and not keeping else visit(a, digits or a in looked_at) for a in node.args)
    return node if args == node.args else Call(node.fn, args, node.dtype)


def _rebuilt_guard(node: Call, visit: Callable[[Expr, bool], Expr]) -> Expr:
    """`select(x == 0, 0, k * x)` with one new x: the old one is not computed beside it."""
    test, zero, value = node.args
    assert isinstance(test, Call)
    base = Call("eq", (visit(test.args[0], False), test.args[1]), test.dtype)
    return Call("select", (base, zero, visit(value, False)), node.dtype)


def _feeds(block: Block) -> dict[str, set[str]]:
    """By array what its elements are computed from; the values of a map's lets count for all of its stores."""
    feeds: dict[str, set[str]] = {}
    for stmt in statements(block):
        if isinstance(stmt, Lib):
            for name in writes(stmt):
                feeds.setdefault(name, set()).update(reads(stmt))
        elif isinstance(stmt, Map):
            lets = _read_by_lets(stmt)
            for part in stmt.body:
                if isinstance(part, Store):
                    feeds.setdefault(part.array, set()).update(expr_reads(part.expr), lets)
    return feeds


def _decided(block: Block) -> set[str]:
    """What something other than sums and products looks at."""
    found: set[str] = set()
    for stmt in statements(block):
        for root in _roots(stmt):
            for node in _looked_at(root):
                found |= expr_reads(node)
                if isinstance(stmt, Map) and any(isinstance(n, Local) for n in walk(node)):
                    found |= _read_by_lets(stmt)
        if not isinstance(stmt, Map):
            found |= reads(stmt)
    return found


def _roots(stmt: Stmt) -> list[Expr]:
    if isinstance(stmt, Map):
        return [p.expr for p in stmt.body]
    return [stmt.cond] if isinstance(stmt, If) else []


def _read_by_lets(stmt: Map) -> set[str]:
    return {n for p in stmt.body if isinstance(p, Let) for n in expr_reads(p.expr)}


def _looked_at(root: Expr) -> Iterator[Expr]:
    """The largest parts of an expression that other functions than sums and products look at."""
    todo, known = [root], {root}
    while todo:
        node = todo.pop()
        if not isinstance(node, Call):
            continue
        passed, looked_at = _operands(node)
        yield from looked_at
        todo.extend(a for a in passed if a not in known)
        known.update(passed)


def _operands(node: Call) -> tuple[tuple[Expr, ...], tuple[Expr, ...]]:
    """The operands whose roundings a function passes on, and the others."""
    if node.dtype.kind != "f":
        return (), node.args
    if node.fn == "select":
        return (node.args[1:], ()) if _guards_product(node) else (node.args[1:], node.args[:1])
    if node.fn == "div" or node.fn == "pow" and any(algebra.is_number(node.args[1], n) for n in _POWERS):
        return node.args[:1], node.args[1:]
    if node.fn in _PASSING and all(a.dtype == node.dtype for a in node.args):
        return node.args, ()
    return (), node.args


def _guards_product(node: Call) -> bool:
    """Whether a choice is `select(x == 0, 0, k * x)`: what it decides makes no difference near x = 0."""
    test, zero, value = node.args
    if not algebra.is_number(zero, 0) or not isinstance(test, Call) or test.fn != "eq" or \
            test.args[0].dtype != node.dtype or not algebra.is_number(test.args[1], 0):
        return False
    return _has_factor(value, unsigned(test.args[0]), node.dtype)


def _has_factor(value: Expr, base: Expr, dtype: np.dtype) -> bool:
    value = unsigned(value)
    if value == base:
        return True
    return isinstance(value, Call) and value.fn == "mul" and value.dtype == dtype and \
        any(_has_factor(a, base, dtype) for a in dict.fromkeys(value.args))


def unsigned(e: Expr) -> Expr:
    """The same without its signs."""
    while isinstance(e, Call) and e.fn == "neg":
        e = e.args[0]
    return e
