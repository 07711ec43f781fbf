"""Loops that append to a list only in some iterations: cut so that in every piece the condition is known."""
from __future__ import annotations

import ast
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from itertools import pairwise
from math import lcm

import numpy as np

from sdfgad.errors import UnsupportedError
from sdfgad.frontend.containers.counted import appended
from sdfgad.frontend.state.context import Context
from sdfgad.frontend.state.values import Rows
from sdfgad.ir.index import Ix, ix

MOST_PIECES = 24
_SIDES = (ast.Eq, ast.NotEq, ast.Lt, ast.LtE, ast.Gt, ast.GtE)


@dataclass
class Rhythm:
    """Where the conditions around appends may change: `at` numbers of the loop's variable, and at `places` (period,
    offset) of every period of it."""

    at: set[int] = field(default_factory=set)
    places: set[tuple[int, int]] = field(default_factory=set)

    @property
    def period(self) -> int:
        return lcm(*(p for p, _ in self.places))

    @property
    def edges(self) -> list[int]:
        """The places in one common period, its begin and the begin of its last iteration among them."""
        whole = self.period
        found = {start + e for p, e in self.places for start in range(0, whole, p)}
        return sorted({0, whole - 1, *(e for e in found if 0 < e < whole)})


def rhythm_of(ctx: Context, stmt: ast.For, called: bool = False) -> Rhythm | None:
    """What the conditions around appends ask of the loop's variable; None without such conditions.

    called: what is called may append, too.
    """
    if not isinstance(stmt.target, ast.Name):
        return None
    found, asked = Rhythm(), False
    for test in _tests(stmt, called):
        for node in ast.walk(test):
            if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mod) and _names(node.left, stmt.target.id):
                period = _number(ctx, node.right)
                if period is not None and period > 1:
                    asked = True
                    found.places |= {(period, e) for e in (0, 1, period - 1)}
            elif isinstance(node, ast.Compare) and len(node.ops) == 1 and isinstance(node.ops[0], _SIDES):
                asked = _compared(ctx, node, stmt.target.id, found) or asked
    return found if asked else None


def _tests(stmt: ast.For, called: bool) -> Iterator[ast.expr]:
    return (n.test for s in stmt.body for n in ast.walk(s) if isinstance(n, ast.If) and (
        appended([n]) or called and any(isinstance(c, ast.Call) for c in ast.walk(n))))


def _names(node: ast.expr, name: str) -> bool:
    return any(isinstance(n, ast.Name) and n.id == name for n in ast.walk(node))


def _compared(ctx: Context, node: ast.Compare, name: str, found: Rhythm) -> bool:
    """Note where `name < number` and `name % period == number` change."""
    left, right = node.left, node.comparators[0]
    if _names(right, name):
        left, right = right, left
    number = _number(ctx, right)
    if number is None:
        return False
    if isinstance(left, ast.Name) and left.id == name:
        found.at |= {number, number + 1}
        return True
    if isinstance(left, ast.BinOp) and isinstance(left.op, ast.Mod) and _names(left.left, name):
        period = _number(ctx, left.right)
        found.places |= {(period, number), (period, number + 1)} if period is not None and period > 1 else set()
        return bool(found.places)
    return False


def _number(ctx: Context, node: ast.expr) -> int | None:
    """An integer known now."""
    back = ctx.mark()
    try:
        value = ctx.evaluate(ctx, node)
    except UnsupportedError:
        return None
    finally:
        back()
    return int(value) if isinstance(value, (int, np.integer)) and not isinstance(value, bool) else None


def pieces(rows: Rows, rhythm: Rhythm) -> list[tuple[int, int, bool]] | None:
    """First and last plus one of the iterations in each piece, and whether it is made of whole periods."""
    if rows.span is None or rows.span[0].const is None or rows.count.const is None or rows.span[2] != 1:
        return None
    start, count = rows.span[0].const, rows.count.const
    edges = sorted({start, start + count, *(t for t in rhythm.at if start < t < start + count)})
    found = [p for first, last in pairwise(edges) for p in _periods(first, last, rhythm)]
    if len(found) > MOST_PIECES or len(rhythm.edges) > MOST_PIECES:
        return None
    return [(a - start, b - start, whole) for a, b, whole in found]


def _periods(first: int, last: int, rhythm: Rhythm) -> list[tuple[int, int, bool]]:
    """The whole periods, and what is before and behind them, cut wherever a condition may change."""
    period = rhythm.period
    begin, end = -(-first // period) * period, last // period * period
    if period > 1 and end - begin >= 2 * period:
        return [*_periods(first, begin, rhythm), (begin, end, True), *_periods(end, last, rhythm)]
    starts = range(first // period * period, last, period) if period > 1 else ()
    edges = {first, last, *(t + e for t in starts for e in rhythm.edges if first < t + e < last)}
    return [(a, b, False) for a, b in pairwise(sorted(edges))]


def blocks(rows: Rows, first: int, last: int, rhythm: Rhythm, one: Callable[[Ix], None],
           loop: Callable[[Rows], None],
           bind: Callable[[Ix], None]) -> tuple[Rows, Callable[[Ix], None]]:
    """A loop over whole periods: its rows, and what it does before the last iteration of each."""
    period = rhythm.period
    def begin(k: Ix) -> None:
        head = k * period + first
        for a, b in pairwise(rhythm.edges):
            if b - a == 1:
                one(head + a)
            else:
                loop(_part(rows, head + a, b - a))
        bind(head + (period - 1))

    return Rows(ix((last - first) // period), lambda k: k), begin


def _part(rows: Rows, first: Ix, count: int) -> Rows:
    return Rows(ix(count), lambda k: rows.item(k + first))


def part(rows: Rows, first: int, last: int) -> Rows:
    """Some iterations of a loop."""
    return _part(rows, ix(first), last - first)
