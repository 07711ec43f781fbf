"""match: patterns are taken apart while translating; where values decide, the cases are branches."""
from __future__ import annotations

import ast
from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Any, TypeAlias

import numpy as np

from sdfgad.frontend.branches.binding import bind
from sdfgad.frontend.branches.branches import run_if
from sdfgad.frontend.builtin_rules import isinstance_
from sdfgad.frontend.containers.attributes import attribute, has_attribute
from sdfgad.frontend.containers.records import as_record, is_dict
from sdfgad.frontend.functions.arithmetic import both, comparison, items_of, kept, known_truth, negation, truth_value
from sdfgad.frontend.merging.structures import is_tree
from sdfgad.frontend.state.chosen_texts import ChosenText
from sdfgad.frontend.state.context import Context
from sdfgad.frontend.state.values import ListValue, Record, Value
from sdfgad.frontend.static.settled import has, settled

Found: TypeAlias = "tuple[Value, dict[str, Value]] | None"
_THEMSELVES = (bool, bytearray, bytes, dict, float, frozenset, int, list, set, str, tuple)


def run_match(ctx: Context, stmt: ast.Match, live: frozenset[str]) -> None:
    """A `match` statement."""
    subject = kept(ctx, ctx.evaluate(ctx, stmt.subject), "subject")

    def case(k: int) -> None:
        if k == len(stmt.cases):
            return
        with ctx.at(stmt.cases[k].pattern):
            found = _matched(ctx, stmt.cases[k].pattern, subject)
        if found is None:
            case(k + 1)
            return
        condition, names = found
        _branch(ctx, condition, lambda: inside(k, names), lambda: case(k + 1), live)

    def inside(k: int, names: Mapping[str, Value]) -> None:
        for name, value in names.items():
            bind(ctx, name, value)
        guard, body = stmt.cases[k].guard, stmt.cases[k].body
        if guard is None:
            ctx.execute(ctx, body)
            return
        with ctx.at(guard):
            test = ctx.evaluate(ctx, guard)
        _branch(ctx, test, lambda: ctx.execute(ctx, body), lambda: case(k + 1), live)

    case(0)


def _branch(ctx: Context, test: Value, then: Callable[[], None], other: Callable[[], None],
            live: frozenset[str]) -> None:
    decided = known_truth(ctx, test)
    if decided is None:
        run_if(ctx, truth_value(ctx, test), then, other, live)
    else:
        (then if decided else other)()


def _matched(ctx: Context, pattern: ast.pattern, value: Value) -> Found:
    """Under which condition the value matches, and what the names in the pattern stand for then."""
    return _RULES[type(pattern)](ctx, pattern, value)


def _all(ctx: Context, pairs: Sequence[tuple[ast.pattern, Value]]) -> Found:
    condition: Value = True
    names: dict[str, Value] = {}
    for pattern, value in pairs:
        found = _matched(ctx, pattern, value)
        if found is None or found[0] is False:
            return None
        condition = both(ctx, condition, found[0])
        names |= found[1]
    return condition, names


def _value(ctx: Context, pattern: ast.MatchValue, value: Value) -> Found:
    if is_tree(value) and not isinstance(value, ChosenText) or is_dict(value):
        return None  # values in patterns are numbers and text
    equal = comparison(ctx, np.equal, value, ctx.evaluate(ctx, pattern.value))
    return None if equal is False else (equal, {})


def _singleton(ctx: Context, pattern: ast.MatchSingleton, value: Value) -> Found:
    if isinstance(value, ChosenText) and pattern.value is None:
        return comparison(ctx, np.equal, value, None), {}
    return (True, {}) if value is pattern.value else None


def _as(ctx: Context, pattern: ast.MatchAs, value: Value) -> Found:
    found = (True, {}) if pattern.pattern is None else _matched(ctx, pattern.pattern, value)
    if found is None or pattern.name is None:
        return found
    return found[0], {**found[1], pattern.name: value}


def _sequence(ctx: Context, pattern: ast.MatchSequence, value: Value) -> Found:
    """Of tuples and lists; arrays are no sequences to `match`."""
    if not isinstance(value, (tuple, list, range, ListValue)):
        return None
    items, parts = items_of(ctx, value), pattern.patterns
    star = next((k for k, p in enumerate(parts) if isinstance(p, ast.MatchStar)), None)
    if len(items) != len(parts) if star is None else len(items) < len(parts) - 1:
        return None
    if star is None:
        return _all(ctx, list(zip(parts, items, strict=True)))
    after = len(parts) - star - 1
    end = len(items) - after
    found = _all(ctx, list(zip([*parts[:star], *parts[star + 1:]], [*items[:star], *items[end:]], strict=True)))
    name = getattr(parts[star], "name", None)
    if found is None or name is None:
        return found
    return found[0], {**found[1], name: ListValue(items[star:end], len(ctx.builder.regions))}


def _mapping(ctx: Context, pattern: ast.MatchMapping, value: Value) -> Found:
    if not is_dict(value):
        return None
    record = as_record(ctx, value)
    keys = [ctx.evaluate(ctx, k) for k in pattern.keys]
    if not all(has(ctx, record, k) for k in keys):
        return None
    found = _all(ctx, [(p, record.items[k]) for k, p in zip(keys, pattern.patterns, strict=True)])
    if found is None or pattern.rest is None:
        return found
    rest = {k: v for k, v in settled(ctx, record).items() if k not in keys}
    return found[0], {**found[1], pattern.rest: Record(dict, rest, len(ctx.builder.regions))}


def _class(ctx: Context, pattern: ast.MatchClass, value: Value) -> Found:
    form = ctx.evaluate(ctx, pattern.cls)
    if not isinstance(form, type):
        raise ctx.refuse("a pattern with something that is no class", code="SG102")
    if not isinstance_(ctx, value, form):
        return None
    if form in _THEMSELVES and len(pattern.patterns) == 1:
        return _all(ctx, [(pattern.patterns[0], value)])
    names = [*getattr(form, "__match_args__", ())[:len(pattern.patterns)], *pattern.kwd_attrs]
    if len(names) < len(pattern.patterns) + len(pattern.kwd_attrs):
        raise ctx.refuse(f"a pattern with more places than {form.__name__} has", code="SG102")
    if not all(has_attribute(ctx, value, n) for n in names):
        return None
    return _all(ctx, [(p, attribute(ctx, value, n)) for p, n in zip(
        [*pattern.patterns, *pattern.kwd_patterns], names, strict=True)])


def _or(ctx: Context, pattern: ast.MatchOr, value: Value) -> Found:
    """The first of several patterns; those that values decide on may not name anything."""
    neither: Value = True
    for one in pattern.patterns:
        found = _matched(ctx, one, value)
        if found is None:
            continue
        if found[0] is True and neither is True:
            return found
        if found[1]:
            raise ctx.refuse("names in alternatives that values decide on", "write two cases", "SG107")
        neither = both(ctx, neither, negation(ctx, found[0]))
    return None if neither is True else (negation(ctx, neither), {})


_RULES: Mapping[type, Callable[[Context, Any, Value], Found]] = MappingProxyType({
    ast.MatchValue: _value, ast.MatchSingleton: _singleton, ast.MatchAs: _as, ast.MatchSequence: _sequence,
    ast.MatchMapping: _mapping, ast.MatchClass: _class, ast.MatchOr: _or})
