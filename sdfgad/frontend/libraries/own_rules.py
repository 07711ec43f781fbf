"""Functions with derivative rules of the user's: `custom_vjp`, `custom_jvp`.

A forward rule is written into the program as `y = attached(value, slope)`, which has the value of the first and the
derivative of the second: the slope is the rule applied to `displaced(x)`, which is zero and has the tangent of x. A
reverse rule goes along with an operation `y = own(value, x, read)`, whose transpose it is.
"""
from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cached_property, partial
from typing import Any

import numpy as np

from sdfgad.frontend.elements.elementwise import as_array, convert, describe, lift
from sdfgad.frontend.functions.arithmetic import items_of, kept
from sdfgad.frontend.libraries.callbacks import called, filled, tried, whole, zeros_of
from sdfgad.frontend.libraries.routines import Traced, Translated, both_read, routine, stored
from sdfgad.frontend.merging.structures import form_of, leaves_of, rebuilt
from sdfgad.frontend.state.context import Context, held
from sdfgad.frontend.state.values import ArrayValue, Lazy, ListValue, Value, ViewValue, is_number
from sdfgad.ir.expr import call, const
from sdfgad.ir.index import Ix, ix
from sdfgad.ir.own import OWN, DerivativeRule
from sdfgad.ir.program import View
from sdfgad.shown import Shown


class OwnRule(Shown, Translated):
    """A function that has a rule of its own; called from Python, it is the function itself."""

    rule: Callable[..., Any] | None = None
    nested = 1
    """How deep in its own rule the function is replaced: what is deeper is needed by no derivative."""

    def __init__(self, function: Callable[..., Any], python: bool = False,
                 result: Callable[..., Any] | None = None) -> None:
        self.stand_for(function)
        self.python, self.result = python, result

    def __call__(self, *args: Any, **keywords: Any) -> Any:
        return self.function(*args, **keywords)

    def apply(self, ctx: Context, arguments: Sequence[Value], keywords: Mapping[str, Value]) -> Value:
        """Where no derivative is asked for, it is the function."""
        if self.rule is None:
            raise ctx.refuse(f"{_name(self)}, which has no rule yet",
                             "call defvjp(forward, backward) or defjvp(rule) before", "SG135")
        if not self.python and (not ctx.own_rules or ctx.rules_open.count(self) >= self.nested):
            return ctx.invoke(ctx, self.function, arguments, keywords)
        try:
            bound = inspect.signature(self.function).bind(*arguments, **keywords)
        except TypeError as error:
            raise ctx.refuse(f"this call of {_name(self)}: {error}", code="SG101") from error
        bound.apply_defaults()
        if bound.kwargs:
            raise ctx.refuse(f"arguments of {_name(self)} by name alone: {', '.join(bound.kwargs)}",
                             "a function with a rule takes arguments by position", "SG135")
        ctx.rules_open.append(self)
        try:
            given = [kept(ctx, a) for a in whole(ctx, bound.args, _name(self))]
            return self.translated(ctx, given) if ctx.own_rules else self.value(ctx, given)
        finally:
            ctx.rules_open.pop()

    def value(self, ctx: Context, arguments: Sequence[Value]) -> Value:
        """The value alone of a function that stays Python."""
        like = tried(ctx, self.result or self.function, arguments, _name(self))
        return called(ctx, self.function, arguments, like, _name(self))

    def translated(self, ctx: Context, arguments: Sequence[Value]) -> Value:
        """The value of a call whose derivative is asked for."""
        raise NotImplementedError


class CustomJvp(OwnRule):
    """What `custom_jvp` makes."""

    shown_as = "custom_jvp"
    nested = 2

    def defjvp(self, rule: Callable[..., Any]) -> Callable[..., Any]:
        """Set the rule: `rule(primals, tangents)` returns `(value, tangent)`. primals, tangents: tuples with an entry
        for each argument; a tangent is None where the argument has none. Returns the rule, so that this is a decorator.
        """
        self.rule = rule
        return rule

    def translated(self, ctx: Context, arguments: Sequence[Value]) -> Value:
        if self.python:
            return self.called_back(ctx, arguments)
        passive = _held(ctx, arguments)
        tangents = [_changed(ctx, a, lambda v: _tangent(ctx, v), None) for a in arguments]
        if all(t is None for t in tangents):  # numbers that are written down
            return ctx.invoke(ctx, self.function, arguments, {})
        before = _versions(ctx, (*passive, *tangents))
        with held(ctx, *passive, *tangents):
            found = _pair(ctx, ctx.invoke(ctx, self.rule, [tuple(passive), tuple(tangents)], {}), self,
                          "(value, tangent)")
        _check_unchanged(ctx, before, self)
        form = form_of(found[0])
        if form != form_of(found[1]):
            raise ctx.refuse(f"a rule of {_name(self)} whose tangent is built in another way than its value",
                             "return two arrays, or two containers of the same form", "SG135")
        pairs = zip(leaves_of(found[0]), leaves_of(found[1]), strict=True)
        leaves = [_attached(ctx, self, v, t) for (_, v), (_, t) in pairs]
        return rebuilt(form, iter(leaves), len(ctx.builder.regions))

    def called_back(self, ctx: Context, arguments: Sequence[Value]) -> Value:
        """The value, with a forward routine that calls the rule."""
        like = tried(ctx, self.result or self.function, arguments, _name(self))
        inputs = [stored(ctx, v, "held") for a in arguments for v in _floats(a)]
        made = _Valued(ctx, self, called(ctx, self.function, arguments, like, _name(self)))

        def run(*tangents: Value) -> list[Value]:
            rest = iter(tangents)
            along = tuple(_changed(ctx, a, lambda v: next(rest), None) for a in arguments)
            zero = zeros_of(ctx, made.value)
            found = called(ctx, lambda p, t: filled(zero, self.rule(p, t)[1]), [tuple(arguments), along],  # type: ignore[misc]
                           zero, _name(self))
            return [_Packed(ctx, list(_floats(found))).stored()]

        with held(ctx, tuple(arguments)):
            traced = routine(ctx, _name(self), inputs, run)
        rule = DerivativeRule(_name(self), len(inputs), traced.routine.read, forward=traced.routine)
        return made.with_rule(rule, inputs, traced)


class CustomVjp(OwnRule):
    """What `custom_vjp` makes."""

    shown_as = "custom_vjp"
    backward: Callable[..., Any] | None = None
    tangents: Callable[..., Any] | None = None
    residuals: Callable[..., Any] | None = None

    def defvjp(self, forward: Callable[..., Any], backward: Callable[..., Any],
               residuals: Callable[..., Any] | None = None) -> None:
        """Set the rule: `forward(*args)` returns `(value, residuals)`, and `backward(residuals, cotangent)` a tuple
        with the cotangent of each argument, or None for zero. The cotangent has the form of the value.

        residuals: of functions that stay Python, what gives residuals like those of `forward` for a trial; without it,
        or without `result` of `custom_vjp`, forward itself is tried.
        """
        self.rule, self.backward, self.residuals = forward, backward, residuals

    def defjvp(self, rule: Callable[..., Any]) -> Callable[..., Any]:
        """Set a rule for forward mode besides, as that of `custom_jvp`. Its tangent has the form of the value; reverse
        mode does not ask it. Returns the rule, so that this is a decorator.
        """
        self.tangents = rule
        return rule

    def forwards(self, ctx: Context, passive: Sequence[Value]) -> Value:
        """What the forward function gives."""
        if not self.python:
            return ctx.invoke(ctx, self.rule, passive, {})
        assert self.rule is not None
        if self.result and self.residuals:
            like = tuple(tried(ctx, f, passive, _name(self)) for f in (self.result, self.residuals))
        else:
            like = tried(ctx, self.rule, passive, _name(self))
        return called(ctx, self.rule, passive, like, _name(self))

    def backwards(self, ctx: Context, arguments: Sequence[Value], residuals: Value, cotangent: Value) -> Value:
        """What the backward function gives."""
        if not self.python:
            return ctx.invoke(ctx, self.backward, [residuals, cotangent], {})
        zero = tuple(zeros_of(ctx, a) for a in arguments)
        return called(ctx, lambda r, g: filled(zero, self.backward(r, g)), [residuals, cotangent],  # type: ignore[misc]
                      zero, _name(self))

    def translated(self, ctx: Context, arguments: Sequence[Value]) -> Value:
        passive = _held(ctx, arguments)
        before = _versions(ctx, passive)
        with held(ctx, *passive):
            value, residuals = _pair(ctx, self.forwards(ctx, passive), self, "(value, residuals)")
        _check_unchanged(ctx, before, self)
        inputs = [stored(ctx, v, "held") for a in arguments for v in _floats(a)]
        made = _Valued(ctx, self, value)
        if not inputs or not made.places:
            return value
        traced = _reverse(ctx, self, arguments, residuals, made)
        if self.tangents is None:
            rule = DerivativeRule(_name(self), len(inputs), traced.routine.read, reverse=traced.routine)
            return made.with_rule(rule, inputs, traced)
        with held(ctx, *passive):
            other = routine(ctx, _name(self), inputs, partial(self.pushed, ctx, passive, made))
        both = both_read(traced, other)
        rule = DerivativeRule(_name(self), len(inputs), both.routine.read, traced.routine, other.routine)
        return made.with_rule(rule, inputs, both)

    def pushed(self, ctx: Context, arguments: Sequence[Value], made: _Valued, *tangents: Value) -> list[Value]:
        """The tangent that the rule for forward mode gives, of all numbers in the value."""
        rest = iter(tangents)
        along = tuple(_changed(ctx, a, lambda v: next(rest), None) for a in arguments)
        if self.python:
            zero = zeros_of(ctx, made.value)
            found = called(ctx, lambda p, t: filled(zero, self.tangents(p, t)[1]),  # type: ignore[misc]
                           [tuple(arguments), along], zero, _name(self))
        else:
            found = _pair(ctx, ctx.invoke(ctx, self.tangents, [tuple(arguments), along], {}), self,
                          "(value, tangent)")[1]
        if form_of(found) != form_of(made.value):
            raise ctx.refuse(f"a rule of {_name(self)} whose tangent is built in another way than its value",
                             "return two arrays, or two containers of the same form", "SG135")
        return [_Packed(ctx, [_slope(ctx, self, v, t) for (_, v), (_, t) in zip(
            leaves_of(made.value), leaves_of(found), strict=True) if _is_float(v)]).stored()]


class _Valued:
    """The value of a function with a rule, and the numbers in it that have derivatives."""

    def __init__(self, ctx: Context, own: OwnRule, value: Value) -> None:
        self.ctx, self.own, self.value, self.form = ctx, own, value, form_of(value)
        self.leaves = [kept(ctx, v, "value") for _, v in leaves_of(value)]
        self.places = [k for k, v in enumerate(self.leaves) if _is_float(v)]

    @cached_property
    def packed(self) -> _Packed:
        return _Packed(self.ctx, [self.leaves[k] for k in self.places])

    def with_rule(self, rule: DerivativeRule, inputs: Sequence[ViewValue], traced: Traced) -> Value:
        """The value behind an operation that has the rule."""
        builder, leaves = self.ctx.builder, list(self.leaves)
        result = builder.view(builder.declare((self.packed.size,), self.packed.dtype, "value"))
        ins = (self.packed.stored().view, *(v.view for v in inputs), *traced.read)
        builder.library(OWN, (result.view,), ins, rule=rule)
        for k, part in zip(self.places, self.packed.unpacked(result), strict=True):
            leaves[k] = part
        return rebuilt(self.form, iter(leaves), len(builder.regions))

    def cotangent(self, packed: ViewValue) -> Value:
        """A cotangent of the value, of one of all numbers in it."""
        parts = dict(zip(self.places, self.packed.unpacked(packed), strict=True))
        return rebuilt(self.form, iter([parts.get(k) for k in range(len(self.leaves))]),
                       len(self.ctx.builder.regions))


def _name(own: OwnRule) -> str:
    return f"{getattr(own.function, '__name__', 'a function')!r}"


def _is_float(value: Value) -> bool:
    return isinstance(value, ArrayValue) and value.dtype.kind in "fc"


def _floats(value: Value) -> Iterator[ArrayValue]:
    return (v for _, v in leaves_of(value) if _is_float(v))


def _changed(ctx: Context, value: Value, change: Callable[[ArrayValue], Value], other: Value) -> Value:
    """The argument with another value for each float in it; other: what stands for the rest, the rest itself if `...`.
    """
    leaves = [change(v) if _is_float(v) else v if other is ... else other for _, v in leaves_of(value)]
    return rebuilt(form_of(value), iter(leaves), len(ctx.builder.regions))


def _held(ctx: Context, arguments: Sequence[Value]) -> list[Value]:
    """The arguments, through which no derivative flows while the rule stands for it."""
    return [_changed(ctx, a, lambda v: stored(ctx, _passive(ctx, v), "held"), ...) for a in arguments]


def _passive(ctx: Context, value: ArrayValue) -> ArrayValue:
    return lift(ctx, (value,), value.dtype, lambda e: call("passive", e), value.weak)


def _tangent(ctx: Context, value: ArrayValue) -> ViewValue:
    return stored(ctx, lift(ctx, (value,), value.dtype, lambda e: call("displaced", e), value.weak), "held")


def _versions(ctx: Context, values: Sequence[Value]) -> dict[str, int]:
    names = {v.view.array for value in values for _, v in leaves_of(value) if isinstance(v, ViewValue)}
    return {n: ctx.builder.versions.get(n, 0) for n in names}


def _check_unchanged(ctx: Context, before: Mapping[str, int], own: OwnRule) -> None:
    if any(ctx.builder.versions.get(n, 0) != v for n, v in before.items()):
        raise ctx.refuse(f"a rule of {_name(own)} that updates an argument in place", "copy it first", "SG135")


def _pair(ctx: Context, found: Value, own: OwnRule, what: str) -> tuple[Value, Value]:
    if not isinstance(found, tuple) or len(found) != 2:
        raise ctx.refuse(f"a rule of {_name(own)} that gives {describe(found)}", f"return a pair {what}", "SG135")
    return found[0], found[1]


def _attached(ctx: Context, own: OwnRule, value: Value, tangent: Value) -> Value:
    """A value with the derivative of its tangent."""
    if not _is_float(value):
        return value
    if tangent is None or is_number(tangent) and tangent == 0:
        return _passive(ctx, value)
    slope = _slope(ctx, own, value, tangent)
    return lift(ctx, (value, slope), value.dtype, lambda v, t: call("attached", v, t), value.weak)


def _slope(ctx: Context, own: OwnRule, value: ArrayValue, tangent: Value) -> ArrayValue:
    """A tangent with the shape and dtype of its value."""
    zero = tangent is None or is_number(tangent) and tangent == 0
    slope = lift(ctx, (value,), value.dtype, lambda e: const(0, value.dtype)) if zero else as_array(ctx, tangent)
    if slope.shape != value.shape or not np.can_cast(slope.dtype, value.dtype, "same_kind"):
        raise ctx.refuse(f"a tangent of {_name(own)} that is {describe(slope)}, for a value that is {describe(value)}",
                         "a tangent has the shape and dtype of the value", "SG135")
    return convert(ctx, slope, value.dtype) if slope.dtype != value.dtype else slope


class _Packed:
    """Several values side by side in one array, as an operation has one result with a derivative."""

    def __init__(self, ctx: Context, parts: Sequence[ArrayValue]) -> None:
        self.ctx, self.parts = ctx, parts
        self.dtype = np.result_type(*(p.dtype for p in parts))
        sizes = [_count(ctx, p) for p in parts]
        self.starts = [sum(sizes[:k]) for k in range(len(sizes))]
        self.size = ix(sum(sizes))

    @property
    def like(self) -> ArrayValue:
        """A value of the same form."""
        return Lazy((self.size,), self.dtype, None, frozenset())

    def stored(self) -> ViewValue:
        array = self.ctx.builder.declare((self.size,), self.dtype, "values")
        for part, start in zip(self.parts, self.starts, strict=True):
            target = ViewValue(_part(array.name, part.shape, start, self.dtype))
            self.ctx.builder.assign(target, part if part.dtype == self.dtype else convert(self.ctx, part, self.dtype))
        return self.ctx.builder.view(array)

    def unpacked(self, packed: ViewValue) -> list[Value]:
        found = [ViewValue(_part(packed.view.array, p.shape, start, self.dtype))
                 for p, start in zip(self.parts, self.starts, strict=True)]
        made = [self.ctx.builder.fresh_copy(convert(self.ctx, v, p.dtype) if p.dtype != self.dtype else v, "value")
                for v, p in zip(found, self.parts, strict=True)]
        return [ViewValue(v.view, scalar=p.scalar, weak=p.weak) for v, p in zip(made, self.parts, strict=True)]


def _count(ctx: Context, value: ArrayValue) -> int:
    extents = [n.const for n in value.shape]
    if None in extents:
        raise ctx.refuse("a function with a rule for arrays whose size changes in a loop", code="SG135")
    return int(np.prod([n or 0 for n in extents], dtype=np.int64))


def _part(array: str, shape: tuple[Ix, ...], start: int, dtype: np.dtype) -> View:
    """A view with this shape of one stretch of an array."""
    whole = View(array, shape, (), dtype)
    place, step = ix(start), 1
    for k in reversed(range(len(shape))):
        place, step = place + ix(f"_{k}") * step, step * (shape[k].const or 0)
    return View(whole.array, shape, (place,), dtype)


def _reverse(ctx: Context, own: CustomVjp, arguments: Sequence[Value], residuals: Value, made: _Valued) -> Traced:
    """The backward function as statements, which are no part of the program until it is transposed."""
    def run(packed: ViewValue) -> list[Value]:
        found = own.backwards(ctx, arguments, residuals, made.cotangent(packed))
        return [_result(ctx, own, v, g) for v, g in _matched(ctx, own, arguments, found)]

    with held(ctx, residuals, tuple(arguments)):
        return routine(ctx, _name(own), [made.packed.like], run)


def _matched(ctx: Context, own: CustomVjp, arguments: Sequence[Value], found: Value) -> Iterator[tuple[Any, Any]]:
    """Each float among the arguments with the cotangent that the backward function gives for it."""
    items = items_of(ctx, found) if isinstance(found, (tuple, ListValue)) else None
    if items is None or len(items) != len(arguments):
        given = "one value" if items is None else f"{len(items)} cotangents"
        raise ctx.refuse(f"a backward function of {_name(own)} that returns {given} for {len(arguments)} arguments",
                         "return a tuple with the cotangent of each argument, None for zero", "SG135")
    for number, (argument, cotangent) in enumerate(zip(arguments, items, strict=True)):
        leaves = list(leaves_of(argument))
        if cotangent is None:
            yield from ((v, None) for _, v in leaves if _is_float(v))
            continue
        if form_of(argument) != form_of(cotangent):
            raise ctx.refuse(f"a cotangent of argument {number} of {_name(own)}, built in another way than it",
                             "return a container like the argument, or None", "SG135")
        for (_, value), (_, part) in zip(leaves, leaves_of(cotangent), strict=True):
            if _is_float(value):
                yield value, part
            elif part is not None and not isinstance(value, (float, complex)):  # a rule does not know what is constant
                raise ctx.refuse(f"a cotangent of argument {number} of {_name(own)}, which has none: it is "
                                 f"{describe(value)}", "return None in its place", "SG135")


def _result(ctx: Context, own: CustomVjp, value: ArrayValue, cotangent: Value) -> Value:
    if cotangent is None or is_number(cotangent) and cotangent == 0:
        return None
    found = as_array(ctx, cotangent)
    if found.shape != value.shape or not np.can_cast(found.dtype, value.dtype, "same_kind"):
        raise ctx.refuse(f"a cotangent that is {describe(found)}, for an argument of {_name(own)} that is "
                         f"{describe(value)}", "a cotangent has the shape of its argument, and a dtype that casts to "
                         "the argument's", "SG135")
    return convert(ctx, found, value.dtype) if found.dtype != value.dtype else found


__all__ = ("CustomJvp", "CustomVjp", "OwnRule")
