"""Python's own functions of sequences and objects."""
from __future__ import annotations

import ast
import copy
import dataclasses
import itertools
import math
from collections import Counter, OrderedDict, defaultdict, deque
from collections.abc import Callable, Mapping, Sequence
from functools import wraps
from types import MappingProxyType
from typing import Any, cast

import numpy as np

from sdfgad.frontend.arrays.views import to_int
from sdfgad.frontend.bodies import order as orders
from sdfgad.frontend.bodies.mapping import beside
from sdfgad.frontend.containers.attributes import attribute, has_attribute, sample_of
from sdfgad.frontend.containers.classes import is_body, iterated
from sdfgad.frontend.containers.duplicates import as_dict, as_tuple, deep, fields_of, of_dataclass, shallow
from sdfgad.frontend.containers.ordered import in_order
from sdfgad.frontend.containers.records import (
    counter,
    default_dict,
    dict_,
    dict_from_keys,
    ordered_dict,
    replace,
    set_attribute,
    set_named,
)
from sdfgad.frontend.elements.chosen_ranges import stepped
from sdfgad.frontend.elements.elementwise import int_ix, int_value
from sdfgad.frontend.elements.of_numpy import called
from sdfgad.frontend.functions.arithmetic import items_of
from sdfgad.frontend.functions.walks import most_rows, rows_of
from sdfgad.frontend.merging.ahead import picked
from sdfgad.frontend.merging.generators import Yielding, listed, only_numbers, suspended
from sdfgad.frontend.merging.structures import deque_of
from sdfgad.frontend.state.context import Context, held
from sdfgad.frontend.state.values import (
    ArrayValue,
    Function,
    IntValue,
    Iterated,
    ListValue,
    RangeValue,
    Record,
    Rows,
    SliceValue,
    Value,
    is_number,
)
from sdfgad.frontend.static.picked import Picked
from sdfgad.frontend.static.run_texts import text_of
from sdfgad.frontend.static.settled import Endless, taken
from sdfgad.frontend.syntax.liveness import own_walk
from sdfgad.frontend.syntax.source import code_of
from sdfgad.ir.index import Ix, floordiv, ix, mod

Rule = Callable[..., Value]


def range_(ctx: Context, *ends: Value) -> Value:
    numbers = [to_int(ctx, e) for e in ends]
    if not any(isinstance(n, IntValue) for n in numbers):
        return range(*(int(n) for n in numbers))
    start, stop = (0, numbers[0]) if len(numbers) == 1 else numbers[:2]
    step = numbers[2] if len(numbers) == 3 else 1
    if isinstance(step, IntValue):
        return stepped(ctx, start, stop, step)
    if step == 0:
        raise ctx.refuse("a range with a step that is zero", "use another step", "SG107")
    return RangeValue(int_ix(start), int_ix(stop), int(step))


def of_iterables(rule: Rule) -> Rule:
    """A function of iterables, which objects are that say how they are iterated over."""

    @wraps(rule)
    def made(ctx: Context, *given: Value, **keywords: Value) -> Value:
        return rule(ctx, *(iterated(ctx, v) for v in given), **keywords)

    return made


@of_iterables
def enumerate_(ctx: Context, iterable: Value, start: Value = 0) -> Value:
    iterable, first = taken(ctx, iterable), int_ix(to_int(ctx, start))
    if isinstance(iterable, Yielding):
        if first.const is None:
            raise ctx.refuse("enumerate of a generator from a number on that only the run knows",
                             "count in the loop", "SG102")
        return suspended(ctx, dataclasses.replace(iterable, start=first.const))
    rows = rows_of(ctx, iterable)
    if rows is None:
        return picked(ctx, lambda: (
            (int_value(first + k), v) for k, v in enumerate(items_of(ctx, iterable))), (iterable,))
    return Rows(rows.count, lambda k: (int_value(k + first), rows.item(k)), held=rows.held)


@of_iterables
def zip_(ctx: Context, *iterables: Value, strict: bool = False) -> Value:
    if not strict and (made := _beside(ctx, iterables)) is not None:
        return made
    ended = [i for i in iterables if not isinstance(i, Endless)]
    if not ended and iterables:
        raise ctx.refuse("zip of iterators without an end", "put a range beside them", "SG102")
    rows = [rows_of(ctx, i) for i in ended]
    if not strict and any(r is not None and r.count.const == 0 for r in rows):
        return Picked()
    if any(rows) and not strict:
        rows = [r or _of_one_item(ctx, i) for r, i in zip(rows, ended, strict=True)]
    if any(r is None for r in rows):
        known = [items_of(ctx, i) for i in ended]
        shortest, rest = min(map(len, known)), iter(known)
        given = [[i.item(ix(k)) for k in range(shortest)] if isinstance(i, Endless) else next(rest) for i in iterables]
        if strict and len({len(g) for g in given}) > 1:
            raise ctx.refuse("zip with strict=True of different lengths", code="SG102")
        return picked(ctx, lambda: zip(*given, strict=False), iterables)
    if len(ended) < len(iterables):
        return zip_(ctx, *_as_long(ctx, iterables, rows), strict=strict)  # type: ignore[arg-type]
    count = rows[0].count  # type: ignore[union-attr]
    for other in rows[1:]:
        if strict and other.count != count:  # type: ignore[union-attr]
            raise ctx.refuse("zip with strict=True of different lengths", code="SG102")
        count = ctx.builder.scope.least(count, other.count)  # type: ignore[union-attr]
    held = tuple(v for r in rows for v in r.held)  # type: ignore[union-attr]
    most = [n for r in rows if (n := most_rows(r)) is not None]  # type: ignore[arg-type]
    return Rows(count, lambda k: tuple(r.item(k) for r in rows), None, held, min(most, default=None))  # type: ignore[union-attr]


def _of_one_item(ctx: Context, value: Value) -> Rows | None:
    """A list or tuple that has one item at all places, `[F] * n`, as long as it has."""
    def item(_: Ix) -> Value:
        if any(v is not there[0] for v in items_of(ctx, value)):
            raise ctx.refuse("a loop over a list that changes on the way", "take items by their places: x = items[k]",
                             "SG102")
        return there[0]

    there = items_of(ctx, value) if isinstance(value, (ListValue, tuple)) else []
    alike = bool(there) and all(v is there[0] for v in there)
    return Rows(ix(len(there)), item, held=(there[0],)) if alike else None


def _beside(ctx: Context, iterables: Sequence[Value]) -> Value:
    """One generator and what is beside it as one generator; None where that is something else."""
    places = [k for k, i in enumerate(iterables) if isinstance(i, Yielding)]
    if len(places) != 1 or only_numbers(iterables[places[0]]) and not any(
            isinstance(n, ast.While) for s in iterables[places[0]].code.body for n in own_walk(s)):
        return None
    before, behind = iterables[:places[0]], iterables[places[0] + 1:]
    lengths = [[n for i in part if (n := _length(i)) is not None] for part in (before, behind)]
    if len(lengths[0]) < len(before) or len(lengths[1]) < len(behind):
        return None
    names = {"before": before, "generator": suspended(ctx, iterables[places[0]]), "behind": behind,
             "most_before": min(lengths[0], default=_MOST), "most_behind": min(lengths[1], default=_MOST)}
    return suspended(ctx, Yielding(code_of(beside, ctx.text), names, None, own=True))


_MOST = 2 ** 62


def _length(value: Value) -> int | None:
    if isinstance(value, ArrayValue) and value.shape:
        return value.shape[0].const
    return len(items) if isinstance(items := value.items if isinstance(value, ListValue) else value, (
        range, tuple, list)) else None


def _as_long(ctx: Context, iterables: Sequence[Value], rows: Sequence[Rows]) -> list[Rows]:
    """Rows for all of them: of those without an end as many as of the shortest of the others."""
    count, rest = rows[0].count, iter(rows)
    for other in rows[1:]:
        count = ctx.builder.scope.least(count, other.count)
    return [i.rows(count) if isinstance(i, Endless) else next(rest) for i in iterables]


def map_(ctx: Context, function: Value, *iterables: Value) -> Value:
    def calls() -> Value:
        made: list[Value] = []
        with held(ctx, made):
            for given in zip(*(items_of(ctx, iterated(ctx, i)) for i in iterables), strict=False):
                made.append(called(ctx, function, list(given)))
        return ListValue(made, len(ctx.builder.regions))

    return Iterated([calls], len(ctx.builder.regions), (function, *iterables))


def ndindex(ctx: Context, *shape: Value) -> Value:
    given = items_of(ctx, shape[0]) if len(shape) == 1 and isinstance(shape[0], (tuple, ListValue)) else shape
    extents = [int_ix(to_int(ctx, n)) for n in given]

    def item(k: Ix) -> Value:
        found: list[Value] = []
        for extent in reversed(extents):
            found.insert(0, int_value(mod(k, extent)))
            k = floordiv(k, extent)
        return tuple(found)

    return Rows(math.prod(extents, start=ix(1)), item)


@of_iterables
def sorted_(ctx: Context, iterable: Value, *, key: Value = None, reverse: Value = False) -> Value:
    plain = isinstance(iterable, frozenset) and key is None  # which of equal ones comes first, sets do not say
    items = list(iterable) if plain else items_of(ctx, iterable)
    return ListValue(in_order(ctx, items, key, reverse), len(ctx.builder.regions))


def quantifier(known: Callable[[list[Value]], bool], ufunc: Value) -> Rule:
    """`any` or `all`."""

    def rule(ctx: Context, iterable: Value) -> Value:
        items = items_of(ctx, iterated(ctx, iterable))
        if all(isinstance(i, (bool, np.bool_)) for i in items):
            return known(items)
        return ctx.invoke(ctx, bool, [ctx.invoke(ctx, ufunc, [tuple(items)], {})], {})

    return rule


def reversed_(ctx: Context, sequence: Value) -> Value:
    if isinstance(sequence, range):
        return sequence[::-1]
    rows = rows_of(ctx, sequence)
    if rows is None:
        return Picked(items_of(ctx, sequence)[::-1])
    return Rows(rows.count, lambda k: rows.item(rows.count - 1 - k), held=rows.held)


def zip_longest(ctx: Context, *iterables: Value, fillvalue: Value = None) -> Value:
    return picked(ctx, lambda: itertools.zip_longest(*(items_of(ctx, i) for i in iterables), fillvalue=fillvalue),
                  iterables)


def list_(ctx: Context, items: Value = ()) -> Value:
    items = taken(ctx, iterated(ctx, items))
    if isinstance(items, Yielding):
        return listed(ctx, items)
    return ListValue(items_of(ctx, items), len(ctx.builder.regions))


@of_iterables
def deque_(ctx: Context, iterable: Value = (), maxlen: Value = None) -> Value:
    """`collections.deque(...)`: a list that is asked at both ends, and keeps the last `maxlen` items."""
    most = None if maxlen is None else int(to_int(ctx, maxlen))
    return ListValue(list(deque(items_of(ctx, iterable), most)), len(ctx.builder.regions), deque_of(most))


def iter_(ctx: Context, iterable: Value) -> Value:
    """`iter(...)`: the items once."""
    found = iterated(ctx, iterable)
    return found if isinstance(found, Iterated) else Iterated([lambda: found], len(ctx.builder.regions), (found,))


def tuple_(ctx: Context, items: Value = ()) -> Value:
    return tuple(items_of(ctx, list_(ctx, items)))


def getattr_(ctx: Context, owner: Value, name: Value, *default: Value) -> Value:
    if default and not has_attribute(ctx, owner, name):
        return default[0]
    return attribute(ctx, owner, name)


def isinstance_(ctx: Context, value: Value, classes: Value) -> bool:
    wanted = classes if isinstance(classes, tuple) else (classes,)
    if isinstance(value, Record):
        return any(issubclass(_shown_class(value), c) or value.form is c for c in wanted)
    return isinstance(sample_of(ctx, value), wanted)


def type_(ctx: Context, value: Value) -> type:
    """`type(value)`: its class is known while translating."""
    return _shown_class(value) if isinstance(value, Record) else type(sample_of(ctx, value))


def _shown_class(value: Record) -> type:
    """The class of an object in Python: one of ours stands for one of a library."""
    return getattr(value.form, "stands_for", value.form) if is_body(value.form) else value.form


def isscalar(ctx: Context, element: Value) -> bool:
    """`np.isscalar`: numbers and text, not arrays without dimensions."""
    return not isinstance(element, Record) and np.isscalar(sample_of(ctx, element))


def seterr(ctx: Context, all: Value = None, divide: Value = None, over: Value = None, under: Value = None,
           invalid: Value = None) -> Value:
    """`np.seterr`: a compiled program warns of nothing. What was set before, for the call that sets it again."""
    if not {all, divide, over, under, invalid} <= {None, "ignore", "warn", "print", "log"}:
        raise ctx.refuse("errors of floating-point numbers that raise", "check values with np.isfinite", "SG102")
    return Record(dict, dict(np.geterr()), len(ctx.builder.regions))


def beyond(ctx: Context, k: Value, low: Value, high: Value) -> bool:
    """Whether a place that is known now is out of bounds: what others are, no body of a function asks."""
    return is_number(k) and not isinstance(low, IntValue) and not isinstance(high, IntValue) and orders.beyond(
        k, low, high)


def callable_(ctx: Context, value: Value) -> bool:
    return isinstance(value, Function) or callable(value)


def cast_(ctx: Context, form: Value, value: Value) -> Value:
    """`typing.cast`, which is about types alone."""
    return value


def slice_(ctx: Context, *ends: Value) -> Value:
    if any(isinstance(e, (IntValue, ArrayValue)) for e in ends):
        start, stop, step = (None, ends[0], None) if len(ends) == 1 else (*ends, *([None] * (3 - len(ends))))
        return SliceValue(start, stop, step)
    return slice(*ends)


FUNCTIONS: Mapping[Any, Rule] = MappingProxyType({
    range: range_, enumerate: enumerate_, zip: zip_, itertools.zip_longest: zip_longest, map: map_,
    np.ndindex: ndindex, sorted: sorted_, any: quantifier(any, np.any), all: quantifier(all, np.all),
    reversed: reversed_, list: list_, tuple: tuple_, iter: iter_, isinstance: isinstance_, type: type_, slice: slice_,
    callable: callable_, orders.beyond: beyond, cast: cast_, dict: dict_, dict.fromkeys: dict_from_keys,
    OrderedDict: ordered_dict, defaultdict: default_dict, Counter: counter, deque: deque_,
    getattr: getattr_,
    hasattr: has_attribute, object.__setattr__: set_attribute, setattr: set_named, dataclasses.replace: replace,
    dataclasses.asdict: as_dict, dataclasses.astuple: as_tuple, dataclasses.fields: fields_of,
    dataclasses.is_dataclass: of_dataclass,
    str: text_of(str), repr: text_of(repr), np.isscalar: isscalar, np.seterr: seterr, copy.copy: shallow,
    copy.deepcopy: deep,
})
"""Python's functions, `np.ndindex` and `dataclasses.replace`, with their rules."""
