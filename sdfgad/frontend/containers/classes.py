"""Objects of the user's classes that the program makes itself: `__init__`, `super()`, operators."""
from __future__ import annotations

import inspect
import operator
from abc import ABC, ABCMeta
from collections.abc import Mapping, Sequence
from dataclasses import MISSING, Field, dataclass, fields, is_dataclass
from enum import Enum, Flag
from functools import partial
from types import FunctionType, GenericAlias, MappingProxyType, UnionType
from typing import Any, Generic

import numpy as np

from sdfgad.frontend import bodies
from sdfgad.frontend.arrays.sparse import as_entries, check_scaled, is_entries, is_sparse
from sdfgad.frontend.containers.records import compares_fields, fields_of, is_dict, is_guarded, joined
from sdfgad.frontend.elements.elementwise import describe
from sdfgad.frontend.functions import arithmetic
from sdfgad.frontend.functions.arithmetic import kept
from sdfgad.frontend.state.context import Context
from sdfgad.frontend.state.strides import Stride
from sdfgad.frontend.state.values import ArrayValue, Method, Opaque, Record, Value, is_int, is_number
from sdfgad.frontend.static.outside import outside
from sdfgad.frontend.syntax.surroundings import LIBRARIES
from sdfgad.trees import is_named

_ROOTS = (object, ABC, Generic)


def is_own_class(form: Value) -> bool:
    """Whether Python code of the user's says all there is about making an instance and looking at it."""
    if not isinstance(form, type) or type(form) not in (type, ABCMeta) or inspect.isabstract(form):
        return False
    lines = [c for c in form.__mro__ if c not in _ROOTS]
    if any(c.__module__.split(".")[0] in LIBRARIES and not is_body(c) for c in lines) or not lines:
        return False
    frozen = is_dataclass(form) and is_guarded(form)  # the standard library has written what guards it
    plain = all(inspect.getattr_static(form, n, None) is getattr(object, n, None)
                for n in ("__new__", "__getattribute__", *(() if frozen else ("__delattr__",))))
    computed = inspect.getattr_static(form, "__getattr__", None)
    return plain and (computed is None or isinstance(computed, FunctionType)) and _set_up(form) is not None


def is_body(written: Any) -> bool:
    """Whether a function or class is one of ours that stands for one of a library."""
    return (written.__module__ or "").startswith(bodies.__name__)


def _set_up(form: type) -> Any:
    """What sets the attributes of a new instance: Python code, or nothing."""
    rule = inspect.getattr_static(form, "__init__", None)
    return rule if isinstance(rule, FunctionType) or rule is object.__init__ else None


def instance(ctx: Context, form: type, arguments: Sequence[Value], keywords: Mapping[str, Value]) -> Value | None:
    """`form(...)`; None for a class that does more than its `__init__` says."""
    if not is_own_class(form):
        return None
    made = Record(form, {}, len(ctx.builder.regions))
    rule = _set_up(form)
    if is_dataclass(form) and rule.__code__.co_filename == "<string>":
        return _from_fields(ctx, made, arguments, keywords)
    if is_guarded(form):
        return None
    if rule is not object.__init__:
        ctx.invoke(ctx, rule, [made, *arguments], keywords)
    elif arguments or keywords:
        raise ctx.refuse(f"arguments of {form.__name__}, which takes none", code="SG102")
    return made


def _from_fields(ctx: Context, made: Record, arguments: Sequence[Value], keywords: Mapping[str, Value]) -> Value:
    """A dataclass: arguments, defaults, what factories make, and `__post_init__`."""
    given = fields(made.form)
    if any(f.kw_only or f.type == "InitVar" for f in given) or len(
            inspect.signature(made.form).parameters) != sum(f.init for f in given):
        raise ctx.refuse(f"a call of {made.form.__name__}, a dataclass with fields of a special kind",
                         "give it an __init__", "SG102")
    try:
        bound = inspect.signature(made.form).bind(*arguments, **keywords)
    except TypeError as error:
        raise ctx.refuse(f"this call of {made.form.__name__}: {error}", code="SG102") from error
    for field in given:
        found, value = _field(ctx, field, bound.arguments)
        if found:
            made.items[field.name] = kept(ctx, value)
    if hasattr(made.form, "__post_init__"):
        ctx.invoke(ctx, inspect.getattr_static(made.form, "__post_init__"), [made], {})
    return made


def _field(ctx: Context, field: Field[Any], given: Mapping[str, Value]) -> tuple[bool, Value]:
    if field.name in given:
        return True, given[field.name]
    if field.default_factory is not MISSING:
        return True, ctx.invoke(ctx, field.default_factory, [], {})
    return field.default is not MISSING, outside(ctx, field.default, field.name)


# super()

@dataclass(frozen=True, eq=False)
class Parent(Opaque):
    """`super()`: an object as the classes behind `form` see it."""

    owner: Value
    form: type


def parent(ctx: Context, form: Value = None, owner: Value = None) -> Value:
    """`super()` in a method, and `super(Form, self)`."""
    if isinstance(form, type) and owner is not None:
        return Parent(owner, form)
    if form is not None:
        raise ctx.refuse("super of this", "give it a class and an object, or nothing", "SG102")
    code = ctx.frame.code
    first = next(iter((*code.node.args.posonlyargs, *code.node.args.args)), None)
    form = code.cells.get("__class__")
    if first is None or not isinstance(form, type) or first.arg not in ctx.frame.names:
        raise ctx.refuse("super() outside of a method", "name the class: Base.method(self)", "SG102")
    return Parent(ctx.frame.names[first.arg], form)


def of_parent(ctx: Context, owner: Parent, name: str) -> Value:
    """`super().name`: a method or property of the next class in line."""
    form = owner.owner.form if isinstance(owner.owner, Record) else type(owner.owner)
    line = form.__mro__
    for other in line[line.index(owner.form) + 1:] if owner.form in line else ():
        held = other.__dict__.get(name)
        if isinstance(held, FunctionType):
            return partial(held, owner.owner)
        if isinstance(held, property) and isinstance(held.fget, FunctionType):
            return ctx.invoke(ctx, held.fget, [owner.owner], {})
        if held is object.__init__:
            return partial(nothing, owner.owner)
        if held is not None:
            break
    raise ctx.refuse(f"super().{name}, which is no method or property", "name the class", "SG102")


def nothing(self: Any) -> None:
    """`object.__init__`, as the interpreter runs it."""


# operators

_NAMES: Mapping[np.ufunc, str] = MappingProxyType({
    np.add: "add", np.subtract: "sub", np.multiply: "mul", np.true_divide: "truediv", np.divide: "truediv",
    np.floor_divide: "floordiv", np.remainder: "mod", np.power: "pow", np.matmul: "matmul",
    np.bitwise_or: "or", np.bitwise_and: "and", np.bitwise_xor: "xor", np.left_shift: "lshift",
    np.right_shift: "rshift"})


def operated(ctx: Context, ufunc: np.ufunc, left: Value, right: Value, update: bool = False) -> Value:
    """`left op right`, or `left op= right`: by the class of one of them, or by NumPy's rules."""
    name = _NAMES[ufunc]
    if isinstance(left, Flag) and isinstance(right, Flag) and type(left) is type(right) and ufunc in _OF_FLAGS:
        return _OF_FLAGS[ufunc](left, right)
    if is_number(left) and is_number(right):
        return arithmetic.binary(ctx, ufunc, left, right)
    if update and ufunc in (np.multiply, np.true_divide) and (is_sparse(left) or is_entries(left)):
        check_scaled(ctx, left)
    if is_sparse(left) or is_sparse(right):
        mixed = is_entries(left) or is_entries(right) or ufunc in _BESIDE_PRODUCTS
        left, right = (as_entries(ctx, left), as_entries(ctx, right)) if mixed else (left, right)
    if ufunc is np.bitwise_or and is_dict(left) and is_dict(right):
        return joined(ctx, left, right, update)
    if update and has_rule(left, f"__i{name}__"):
        result = by_rule(ctx, left, f"__i{name}__", right)
        if result is not NotImplemented:
            return result
    for one, rule in _asked(left, right, name):
        handed = right if one is left else _handed(ctx, left, right, name)
        result = NotImplemented if handed is None else by_rule(ctx, one, rule, handed)
        if result is not NotImplemented:
            return result
    for one, other in ((left, right), (right, left)):
        if isinstance(one, Stride) and (step := one.combined(ufunc, other)) is not None:
            return step
    if isinstance(left, _HINTS) or isinstance(right, _HINTS):
        if ufunc is np.bitwise_or and all(v is None or isinstance(v, _HINTS) for v in (left, right)):
            return left | right  # as in isinstance(x, float | np.ndarray)
        raise ctx.refuse(f"this operator between {describe(left)} and {describe(right)}", code="SG102")
    if isinstance(left, Record) or isinstance(right, Record) or has_rule(left, f"__{name}__") or (
            has_rule(right, f"__r{name}__") and not isinstance(left, (ArrayValue, np.generic))):
        raise ctx.refuse(f"this operator between {describe(left)} and {describe(right)}",
                         "call a method by its name", "SG102")
    return arithmetic.binary(ctx, ufunc, left, right)


_HINTS = (type, UnionType, GenericAlias)
"""Classes, and what says that something is of one of several."""
_OF_FLAGS: Mapping[np.ufunc, Any] = MappingProxyType({
    np.bitwise_or: operator.or_, np.bitwise_and: operator.and_, np.bitwise_xor: operator.xor})
"""Operators that make other members of an enumeration of flags."""


def _asked(left: Value, right: Value, name: str) -> list[tuple[Value, str]]:
    """The operands whose classes say what the operator does, in Python's order: a derived class on the right comes
    first if its method is another one. None where a class on the left may say it in a way that is not understood."""
    own, reflected = f"__{name}__", f"__r{name}__"
    found = [(v, rule) for v, rule in ((left, own), (right, reflected)) if has_rule(v, rule)]
    if isinstance(left, Record) and own_class(left) is None:
        return []
    first, second = own_class(left), own_class(right)
    if first is None or second is None:
        return found
    if first is second:
        return found if has_rule(left, own) else []
    other = getattr(first, reflected, None) is not getattr(second, reflected, None)
    if len(found) == 2 and issubclass(second, first) and other:
        found.reverse()
    return found


def _handed(ctx: Context, left: Value, right: Value, name: str) -> Value | None:
    """What the reflected method of `right` is asked about: the number on its left, which NumPy makes one of Python
    unless the class says that it comes first. None: NumPy looks at the object as an array."""
    if is_entries(right) or not isinstance(left, np.generic) and (is_number(left) or is_int(left)):
        return left
    if isinstance(left, (Record, tuple, list)) or isinstance(left, ArrayValue) and left.weak:
        return left
    if not isinstance(left, (ArrayValue, np.generic)):
        return None
    if not isinstance(right, Record) or name == "matmul" or hasattr(right.form, "__array__"):
        return None
    if getattr(right.form, "__array_ufunc__", left) is None or getattr(right.form, "__array_priority__", 0) > 0:
        return left
    if isinstance(left, np.generic):
        return left.item()
    return ctx.invoke(ctx, Method(left, "item"), [], {}) if left.ndim == 0 else None


_BESIDE_PRODUCTS = frozenset((np.add, np.subtract, np.multiply, np.true_divide, np.divide))
"""Operations that make a sparse matrix of one from outside."""

_SWAPPED: Mapping[np.ufunc, tuple[str, str]] = MappingProxyType({
    np.less: ("__lt__", "__gt__"), np.less_equal: ("__le__", "__ge__"), np.greater: ("__gt__", "__lt__"),
    np.greater_equal: ("__ge__", "__le__"), np.equal: ("__eq__", "__eq__"), np.not_equal: ("__ne__", "__ne__")})


def compared(ctx: Context, ufunc: np.ufunc, left: Value, right: Value) -> Value:
    """A comparison: by the class of one of them, or by NumPy's rules."""
    (own, swapped), asked = _SWAPPED[ufunc], False
    first, second = (v.form if isinstance(v, Record) else own_class(v) for v in (left, right))
    if first is second or first is None or second is None or not issubclass(second, first):  # else that has the say
        for one, other, rule in ((left, right, own), (right, left, swapped)):
            if one is right and isinstance(left, ArrayValue):
                continue
            inverted = rule == "__ne__" and not has_rule(one, rule)
            if has_rule(one, "__eq__" if inverted else rule):
                result = _asked_by_rule(ctx, one, "__eq__" if inverted else rule, other)
                if result is not NotImplemented:
                    return arithmetic.negation(ctx, result) if inverted else result
                asked = True
    if asked and ufunc in (np.equal, np.not_equal) and not isinstance(left, ArrayValue) and not isinstance(
            right, ArrayValue):
        return (left is right) is (ufunc is np.equal)
    return arithmetic.comparison(ctx, ufunc, left, right)


def _asked_by_rule(ctx: Context, one: Value, rule: str, other: Value) -> Value:
    """What a class says of a comparison: dataclasses compare their fields, as tuples."""
    if not isinstance(one, Record) or not compares_fields(one.form, rule):
        return by_rule(ctx, one, rule, other)
    if not isinstance(other, Record) or other.form is not one.form:
        return NotImplemented
    return ctx.invoke(ctx, getattr(operator, rule), [fields_of(one), fields_of(other)], {})


def own_class(value: Value) -> type | None:
    """The class of an object whose methods are Python code of the user's, namedtuples, numbers with a unit and objects
    from outside among them."""
    if isinstance(value, Record):
        return value.form if is_own_class(value.form) else None
    form = type(value)
    if isinstance(value, (int, float, complex)) and not isinstance(value, (bool, np.generic, Enum)):
        return None if form in (int, float, complex) else form
    if isinstance(value, tuple):
        return form if is_named(form) else None
    return form if form.__module__.split(".")[0] not in LIBRARIES and is_own_class(form) else None


def has_rule(value: Value, name: str) -> bool:
    """Whether the class of an object has a method of this name written in Python, bound to the object or not."""
    form = own_class(value)
    if form is None or not isinstance(value, Record) and compares_fields(form, name):
        return False
    held = inspect.getattr_static(form, name, None)
    return isinstance(held.__func__ if isinstance(held, (staticmethod, classmethod)) else held, FunctionType)


def iterated(ctx: Context, value: Value) -> Value:
    """What an object gives that says how it is iterated over; anything else as it is."""
    return by_rule(ctx, value, "__iter__") if has_rule(value, "__iter__") else value


def by_rule(ctx: Context, owner: Value, name: str, *arguments: Value) -> Value:
    """What a method written in Python says."""
    form = own_class(owner)
    held = inspect.getattr_static(form, name)
    if not isinstance(owner, Record):
        ctx.surroundings.note(form, name, getattr(form, name))
    if isinstance(held, staticmethod):
        return ctx.invoke(ctx, held.__func__, arguments, {})
    if isinstance(held, classmethod):
        return ctx.invoke(ctx, held.__func__, [form, *arguments], {})
    return ctx.invoke(ctx, held, [owner, *arguments], {})
