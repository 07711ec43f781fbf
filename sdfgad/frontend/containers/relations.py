"""Comparisons of all kinds: order, equality, identity, membership."""
from __future__ import annotations

import ast
import operator
from collections.abc import Callable, Mapping
from enum import Flag
from types import MappingProxyType

import numpy as np

from sdfgad.frontend.arrays.known import is_known as known_now
from sdfgad.frontend.branches.branches import choose
from sdfgad.frontend.branches.raising import definite
from sdfgad.frontend.containers import classes, numbered
from sdfgad.frontend.containers.looked_for import check_not_nan, is_float
from sdfgad.frontend.elements.elementwise import describe
from sdfgad.frontend.functions import arithmetic
from sdfgad.frontend.merging.merge import kind_of
from sdfgad.frontend.state.chosen_texts import ChosenText
from sdfgad.frontend.state.context import Context
from sdfgad.frontend.state.keyed import Numbered, SetValue
from sdfgad.frontend.state.strides import Stride
from sdfgad.frontend.state.values import (
    SELECTED,
    ArrayValue,
    Entries,
    IntValue,
    ListValue,
    NoneOr,
    Record,
    Value,
    contained,
)
from sdfgad.frontend.static.settled import settled

_COMPARISONS: Mapping[type, np.ufunc] = MappingProxyType({
    ast.Lt: np.less, ast.LtE: np.less_equal, ast.Gt: np.greater, ast.GtE: np.greater_equal, ast.Eq: np.equal,
    ast.NotEq: np.not_equal})

_SIZES: Mapping[type, Callable[[int, int], bool]] = MappingProxyType({
    ast.Lt: operator.lt, ast.LtE: operator.le, ast.Gt: operator.gt, ast.GtE: operator.ge})
_ORDERS = tuple(_SIZES)


def related(ctx: Context, op: ast.cmpop, left: Value, right: Value) -> Value:
    """`left op right`."""
    if isinstance(op, (ast.Is, ast.IsNot)):
        if isinstance(right, bool) and isinstance(left, ArrayValue) and left.dtype == np.bool_:
            # One of Python's two truth values is the other one or itself; those of NumPy are neither.
            told = left.scalar and left.weak
            same = arithmetic.comparison(ctx, np.equal, left, right) if told else False
            return same if isinstance(op, ast.Is) else arithmetic.negation(ctx, same)
        same = _identity(ctx, left, right)
        return same if isinstance(op, ast.Is) else arithmetic.negation(ctx, same)
    if any(isinstance(v, Stride) for v in (*contained(left), *contained(right))):
        raise ctx.refuse("a comparison of strides", "compare shapes", "SG102")
    if isinstance(op, (ast.In, ast.NotIn)):
        found = _membership(ctx, left, right)
        return found if isinstance(op, ast.In) else arithmetic.negation(ctx, found)
    if isinstance(op, (ast.Eq, ast.NotEq)) and (isinstance(left, NoneOr) or isinstance(right, NoneOr)):
        equal = _equal_or_none(ctx, left, right)
        return equal if isinstance(op, ast.Eq) else arithmetic.negation(ctx, equal)
    if isinstance(left, tuple) and isinstance(right, tuple) and isinstance(op, _ORDERS) and not (
            known_now(left) and known_now(right)):
        return _in_order(ctx, op, arithmetic.kept(ctx, left), arithmetic.kept(ctx, right))
    return classes.compared(ctx, _COMPARISONS[type(op)], definite(ctx, left), definite(ctx, right))


def _in_order(ctx: Context, op: ast.cmpop, left: tuple, right: tuple) -> Value:
    """`left < right` of tuples, as Python has it: the first parts that are not equal decide.

    (a, b) < (c, d)     ->      a < c if a != c else b < d
    """
    if not left or not right:
        return bool(_SIZES[type(op)](len(left), len(right)))
    differ = related(ctx, ast.NotEq(), left[0], right[0])
    decided = arithmetic.known_truth(ctx, differ)
    ways = (lambda: related(ctx, op, left[0], right[0]), lambda: related(ctx, op, left[1:], right[1:]))
    if decided is not None:
        return ways[0 if decided else 1]()
    return choose(ctx, arithmetic.truth_value(ctx, differ), *ways)


def _equal_or_none(ctx: Context, left: Value, right: Value) -> Value:
    """`left == right` where one of them may be None."""
    value, other = (left, right) if isinstance(left, NoneOr) else (right, left)
    if isinstance(other, NoneOr) or kind_of(value.value) is None or isinstance(value.value, ArrayValue) and (
            value.value.shape) or other is not None and kind_of(other) is None:
        raise ctx.refuse(f"a comparison of {describe(value)}", "ask first whether it is None", "SG102")
    if other is None:
        return arithmetic.negation(ctx, value.there)
    return arithmetic.both(ctx, value.there, arithmetic.comparison(ctx, np.equal, value.value, other))


def _identity(ctx: Context, left: Value, right: Value) -> Value:
    run_time = (ArrayValue, IntValue, *SELECTED, NoneOr, ChosenText)
    if left is NotImplemented or right is NotImplemented:
        return left is right
    if left is None or right is None:
        other = right if left is None else left
        if isinstance(other, ChosenText):
            return arithmetic.comparison(ctx, np.equal, left, right)
        return arithmetic.negation(ctx, other.there) if isinstance(other, NoneOr) else left is right
    if any(isinstance(v, ChosenText) for v in (left, right)) and not any(isinstance(v, str) for v in (left, right)):
        return arithmetic.comparison(ctx, np.equal, left, right)
    if isinstance(left, run_time) or isinstance(right, run_time):
        raise ctx.refuse("a comparison of identities of arrays",
                         "pass what it tells as an argument (same=True); np.array_equal(a, b) compares values", "SG102")
    return left is right


def _membership(ctx: Context, left: Value, right: Value) -> Value:
    if classes.has_rule(right, "__contains__"):
        return classes.by_rule(ctx, right, "__contains__", left)
    if isinstance(right, Flag) and isinstance(left, type(right)):
        return left in right
    if isinstance(right, Numbered):
        return numbered.has(ctx, right, left)
    if isinstance(right, Record) and issubclass(right.form, dict):
        numbered.counted_item(ctx, right, left)
    if isinstance(right, Record) and not issubclass(right.form, dict) or isinstance(right, Entries):
        raise ctx.refuse(f"a membership test in {describe(right)}", code="SG102")
    items = settled(ctx, right) if isinstance(right, Record) else right
    items = items.items if isinstance(items, (ListValue, SetValue)) else items
    if not isinstance(items, (tuple, list, str, range, dict, set, frozenset)):
        raise ctx.refuse("a membership test on values only known at run time", "use np.any(values == x)", "SG102")
    if isinstance(items, (tuple, list)) and any(map(is_float, contained(left))):
        left, items = arithmetic.kept(ctx, left), arithmetic.kept(ctx, tuple(items))
        check_not_nan(ctx, left, items)
    return arithmetic.membership(ctx, left, items)
