"""Attributes of values, and methods of lists."""
from __future__ import annotations

import functools
import inspect
import operator
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from difflib import get_close_matches
from enum import Enum
from types import FunctionType, MappingProxyType, ModuleType
from typing import Any

import numpy as np

from sdfgad.frontend.arrays import sparse
from sdfgad.frontend.arrays.known import GETTERS
from sdfgad.frontend.arrays.masking import CHOSEN, as_masked, shown_by
from sdfgad.frontend.arrays.sparse import is_sparse
from sdfgad.frontend.arrays.submatrices import transposed
from sdfgad.frontend.arrays.views import origins_of, read_only
from sdfgad.frontend.bodies.mapping import item
from sdfgad.frontend.branches.fields import check_list
from sdfgad.frontend.containers import records
from sdfgad.frontend.containers.classes import Parent, of_parent
from sdfgad.frontend.containers.looked_for import are_numbers, looked_for
from sdfgad.frontend.containers.numbered import getter
from sdfgad.frontend.containers.ordered import in_order
from sdfgad.frontend.elements.elementwise import as_array, constant_array, describe, int_value, lift
from sdfgad.frontend.elements.in_place import ask_for_arrays
from sdfgad.frontend.functions.arithmetic import items_of
from sdfgad.frontend.functions.stepping import strides_of
from sdfgad.frontend.libraries.factors import is_sparse_factors, solve
from sdfgad.frontend.mpi.status import of_status
from sdfgad.frontend.mpi.types import DerivedType
from sdfgad.frontend.state.context import Context
from sdfgad.frontend.state.keyed import Numbered, SetValue
from sdfgad.frontend.state.mail import MessageStatus, PersistentMessage, PostedMessage
from sdfgad.frontend.state.values import (
    Applied,
    ArrayValue,
    Block,
    Function,
    Grown,
    IntValue,
    Lazy,
    ListValue,
    Masked,
    Method,
    Opaque,
    PlaceTable,
    Record,
    SelectedColumns,
    Value,
    ViewValue,
    is_number,
)
from sdfgad.frontend.static import polyfills, sets
from sdfgad.frontend.static.outside import found_outside
from sdfgad.frontend.static.run_texts import formatted
from sdfgad.frontend.static.settled import has, taken
from sdfgad.frontend.syntax.surroundings import GONE, LIBRARIES
from sdfgad.ir.expr import call, const
from sdfgad.trees import is_named

_BY_VALUE = frozenset({"index", "remove", "count"})
_LIST_METHODS = frozenset({"append", "extend", "insert", "pop", "copy", "reverse", "clear", "sort", "appendleft",
                           "extendleft", "popleft", "rotate"}) | _BY_VALUE
_OF_DEFINITIONS = frozenset({"__name__", "__qualname__", "__module__"})
"""What functions, classes and modules say of themselves."""


def attribute(ctx: Context, owner: Value, name: str) -> Value:
    """`owner.name`."""
    if isinstance(owner, IntValue):
        owner = as_array(ctx, owner) if name not in ("real", "imag") else owner
    if isinstance(owner, np.ndarray) and owner.dtype == object and name in ("T", "shape", "ndim", "size"):
        return getattr(owner, name)  # of nothing but None
    if isinstance(owner, np.ndarray):
        owner = constant_array(ctx, owner)
    owner = as_masked(ctx, owner)
    if isinstance(owner, PlaceTable) and name in ("shape", "size"):
        width = owner.rows.shape[1]
        return (int_value(owner.count), int_value(width)) if name == "shape" else int_value(owner.count * width)
    if isinstance(owner, (ArrayValue, *CHOSEN)):
        rule = _ATTRIBUTES.get(name)
        if rule is None and name not in ctx.methods:
            if isinstance(owner, ArrayValue) and records.lack(name):
                near = get_close_matches(name, (*_ATTRIBUTES, *ctx.methods), n=1)
                raise ctx.raises(AttributeError, f"the attribute {name!r} of {describe(owner)}, which is not there",
                                 f"did you mean {near[0]}?" if near else "", "SG101")
            raise ctx.refuse(f"the attribute {name!r} of {describe(owner)}", "use a NumPy function", "SG101")
        return rule(ctx, owner) if rule is not None else Method(owner, name)
    if isinstance(owner, MessageStatus) and name in ("source", "tag"):
        return of_status(ctx, owner, 1 if name == "source" else 2)
    if isinstance(owner, (PostedMessage, PersistentMessage, MessageStatus, DerivedType)):
        return Method(owner, name)
    if isinstance(owner, Applied) and polyfills.is_distribution(owner.function) and hasattr(owner.function, name):
        return replace(owner, function=getattr(owner.function, name))
    if isinstance(owner, Parent):
        return of_parent(ctx, owner, name)
    if isinstance(owner, Record) or isinstance(owner, dict) and records.is_method(name):
        return records.attribute(ctx, records.as_record(ctx, owner), name)
    if is_named(type(owner)):
        return _named(ctx, owner, name)
    if isinstance(owner, (ListValue, Grown)) and (name in _LIST_METHODS and hasattr(owner.kind, name)):
        return Method(owner, name)
    if isinstance(owner, (ListValue, Grown)) and name == "maxlen" and owner.kind is not list:
        return owner.kind.most  # type: ignore[attr-defined]
    if sets.is_set(owner) and name in sets.METHODS and hasattr(sets.plain(owner), name):
        return Method(owner, name)
    if isinstance(owner, Numbered):
        return getter(ctx, owner, name)
    if isinstance(owner, (IntValue, Function, ListValue, Grown)):
        raise ctx.refuse(f"the attribute {name!r} of {describe(owner)}", code="SG102")
    if is_number(owner) and not isinstance(owner, Enum) and name not in (
            "real", "imag", "dtype", "ndim", "size", "shape"):
        return Method(owner, name)
    return _of_outside(ctx, owner, name)


def _of_outside(ctx: Context, owner: Any, name: str) -> Value:
    """An attribute of something that is no value of the program."""
    if is_sparse_factors(owner) and name == "solve":
        return Applied(solve, (owner,), {})
    if is_sparse(owner) and (found := sparse.attribute(owner, name)) is not None:
        return found
    if owner is object and name == "__setattr__":
        return object.__setattr__
    if name == "__class__":
        return type(owner)
    if name in ("__args__", "__origin__") and type(owner).__module__ in ("types", "typing") and hasattr(owner, name):
        return getattr(owner, name)  # the classes in a hint, as in (float | int).__args__
    written = isinstance(owner, type) and isinstance(inspect.getattr_static(owner, name, None), FunctionType)
    hidden = name.startswith("__") and name not in _OF_DEFINITIONS and not written
    if not hasattr(owner, name) or hidden and (hasattr(type, name) or not isinstance(owner, (type, ModuleType))):
        missing = ", which is not there" if isinstance(owner, ModuleType) and not hasattr(owner, name) else ""
        near = get_close_matches(name, dir(owner), n=1) if missing else ()
        raise ctx.refuse(f"the attribute {name!r} of {describe(owner)}{missing}",
                         f"did you mean {near[0]}?" if near else "", "SG102")
    if _runs_here(type(owner), name):
        return records.of_class(ctx, owner, type(owner), name)
    return found_outside(ctx, owner, name, getattr(owner, name))


def is_getter(value: Value) -> bool:
    """Whether a value is what `operator.itemgetter` and its kin make."""
    return isinstance(value, GETTERS)


def got(ctx: Context, getter: Value, owner: Value) -> Value:
    """`operator.itemgetter(1)(owner)`, and what attributes and methods give."""
    form, given = getter.__reduce__()
    if isinstance(getter, operator.methodcaller):
        known = form if isinstance(form, functools.partial) else functools.partial(form)
        name, *rest = [*list(known.args), *list(given)]
        return ctx.invoke(ctx, attribute(ctx, owner, name), rest, known.keywords)
    if form is operator.itemgetter:
        found = tuple(ctx.invoke(ctx, item, [owner, k], {}) for k in given)
    else:
        found = tuple(functools.reduce(lambda v, name: attribute(ctx, v, name), n.split("."), owner) for n in given)
    return found if len(found) > 1 else found[0]


def has_attribute(ctx: Context, owner: Value, name: str) -> bool:
    """`hasattr(owner, name)`; that an object from outside lacks something is noted, too."""
    if isinstance(owner, Record):
        there = not issubclass(owner.form, dict) and has(ctx, owner, name) or hasattr(owner.form, name)
        if not there and hasattr(owner.form, "__getattr__"):
            raise ctx.refuse(f"whether {describe(owner)}, which has __getattr__, has the attribute {name!r}",
                             "ask for it by its name alone", "SG102")
        return there
    if isinstance(owner, (ArrayValue, IntValue, Masked, ListValue, Grown, Function)):
        return hasattr(sample_of(ctx, owner), name)
    found = getattr(owner, name, GONE)
    ctx.surroundings.note(owner, name, found)
    return found is not GONE


def sample_of(ctx: Context, value: Value) -> Any:
    """Something of the class that a value of the program has in Python."""
    sample: Any = value
    if isinstance(value, IntValue):
        sample = (int if value.dtype is None else value.dtype.type)(0)
    elif isinstance(value, ArrayValue):
        ask_for_arrays(ctx, value)
        number = value.dtype.type(0)
        sample = np.empty(0) if not value.scalar else number.item() if value.weak else number
    elif isinstance(value, (ListValue, Grown)):
        sample = [] if value.kind is list else deque()
    elif isinstance(value, (SetValue, Numbered)):
        sample = value.items if isinstance(value, SetValue) else type(value.given.items)()
    elif isinstance(value, Function):
        sample = transposed  # any function
    elif isinstance(value, Opaque) or type(value).__module__ == Function.__module__:
        raise ctx.refuse(f"the class of {describe(value)}", code="SG102")
    return sample


def _named(ctx: Context, owner: Value, name: str) -> Value:
    """An attribute of a namedtuple."""
    if name in type(owner)._fields:
        return getattr(owner, name)
    if name == "_replace":
        return Method(owner, name)
    if name.startswith("_") or inspect.getattr_static(owner, name, None) is None:
        raise ctx.refuse(f"the attribute {name!r} of {describe(owner)}", code="SG102")
    return records.of_class(ctx, owner, type(owner), name)


def _runs_here(form: type, name: str) -> bool:
    """Whether an attribute is a property in Python of the user's."""
    held = inspect.getattr_static(form, name, None)
    getter = held.fget if isinstance(held, property) else None
    return isinstance(getter, FunctionType) and (getter.__module__ or "").split(".")[0] not in LIBRARIES


def real(ctx: Context, value: Value) -> Value:
    """The real part: of real numbers themselves."""
    if isinstance(value, SelectedColumns):
        return SelectedColumns(real(ctx, value.rows))
    if isinstance(value, Masked) and value.values.dtype.kind != "c":
        return value
    if isinstance(value, Masked):
        return Masked(as_array(ctx, real(ctx, value.values)), value.mask, value.key, origins=shown_by(value))
    operand = as_array(ctx, value)
    if operand.dtype.kind != "c":
        return value
    return _part(ctx, "real", operand)


def imag(ctx: Context, value: Value) -> Value:
    """The imaginary part."""
    if isinstance(value, SelectedColumns):
        return SelectedColumns(imag(ctx, value.rows))
    if isinstance(value, Masked):
        return Masked(as_array(ctx, imag(ctx, value.values)), value.mask, value.key, origins=shown_by(value))
    operand = as_array(ctx, value)
    if operand.dtype.kind != "c":
        zero = const(operand.dtype.type(0).item(), operand.dtype)
        return read_only(lift(ctx, (operand,), operand.dtype, lambda e: zero, operand.weak))
    return _part(ctx, "imag", operand)


def conjugated(ctx: Context, a: Value) -> Value:
    """The method `conj`: of real numbers it gives the array itself."""
    kind = a.values.dtype if isinstance(a, Masked) else as_array(ctx, a).dtype
    return ctx.invoke(ctx, np.conjugate, [a], {}) if kind.kind == "c" else a


def _part(ctx: Context, name: str, operand: ArrayValue) -> Value:
    """One half of complex numbers: a view in NumPy, numbers of their own here."""
    kind = np.empty(0, operand.dtype).real.dtype
    found = lift(ctx, (operand,), kind, lambda e: call(name, e, dtype=kind), operand.weak)
    found.origins, found.readonly = origins_of(operand), operand.readonly
    whole = operand.stored if isinstance(operand, Lazy) else operand
    found.half = (name, whole) if isinstance(whole, ViewValue) and not whole.scalar else None
    return found


def _shape(ctx: Context, value: Value) -> Value:
    if isinstance(value, Block):
        return _shape(ctx, value.rows) + _shape(ctx, value.columns)
    if isinstance(value, SelectedColumns):
        return _shape(ctx, value.rows)[::-1]
    if isinstance(value, Masked):
        return (_size(ctx, Masked(value.mask, value.mask, value.key)), *(
            int_value(n) for n in value.values.shape[value.mask.ndim:]))
    return tuple(int_value(n) for n in value.shape)


def _size(ctx: Context, value: Value) -> Value:
    return ctx.invoke(ctx, np.size, [value], {})


def _flat(ctx: Context, value: Value) -> Value:
    """`array.flat`: the elements in a row, of an array that is in one piece."""
    stored = ctx.builder.materialise(as_array(ctx, value), "flat")
    row = ctx.invoke(ctx, np.ravel, [stored], {})
    if not isinstance(row, ViewValue) or row.view.array != stored.view.array:
        raise ctx.refuse("the attribute 'flat' of part of an array", "use np.ravel, or a copy of the part", "SG101")
    return row


_ATTRIBUTES: Mapping[str, Callable[[Context, Any], Value]] = MappingProxyType({
    "shape": _shape, "size": _size,
    "ndim": lambda ctx, v: v.ndim if isinstance(v, ArrayValue) else 1 + v.values.ndim - v.mask.ndim if isinstance(
        v, Masked) else 2,
    "dtype": lambda ctx, v: v.dtype if isinstance(v, ArrayValue) else (
        v.rows if isinstance(v, SelectedColumns) else v).values.dtype,
    "T": transposed,
    "mT": lambda ctx, v: ctx.invoke(ctx, np.swapaxes, [v, -1, -2], {}),
    "real": real, "imag": imag, "flat": _flat, "strides": strides_of,
    "itemsize": lambda ctx, v: as_array(ctx, v).dtype.itemsize,
    "nbytes": lambda ctx, v: ctx.invoke(ctx, np.multiply, [_size(ctx, v), as_array(ctx, v).dtype.itemsize], {}),
})


def list_method(ctx: Context, method: Method, arguments: list[Value], keywords: Mapping[str, Value]) -> Value:
    """Lists are changed while translating."""
    owner: ListValue = method.owner
    arguments = [taken(ctx, a, True) for a in arguments]
    if method.name == "copy":
        return ListValue(list(owner.items), len(ctx.builder.regions), owner.kind)
    check_list(ctx, owner)
    if method.name == "sort" and not arguments and keywords.keys() <= {"key", "reverse"}:
        owner.items[:] = in_order(ctx, owner.items, **keywords)
        return None
    if keywords:
        raise ctx.refuse(f"the arguments {', '.join(keywords)} of the method {method.name!r} of a list", code="SG102")
    if any(isinstance(a, (IntValue, Masked)) for a in arguments) and method.name in ("pop", "insert"):
        raise ctx.refuse("a list item chosen at run time", "use an array", "SG102")
    if method.name in _BY_VALUE and not all(map(_compares_now, (*owner.items, *arguments))):
        if method.name != "remove" and len(arguments) == 1 and owner.items and are_numbers([*owner.items, *arguments]):
            return looked_for(ctx, method.name, owner.items, arguments[0])
        raise ctx.refuse("a list item looked for among values only known at run time", "use an array", "SG102")
    if method.name in ("extend", "extendleft"):
        arguments = [items_of(ctx, a) for a in arguments]
    held = owner.items if owner.kind is list else deque(owner.items, owner.kind.most)  # type: ignore[attr-defined]
    try:
        found = getattr(held, method.name)(*arguments)
        owner.items[:] = held
        return found
    except (IndexError, TypeError, ValueError) as error:
        raise ctx.raises(type(error), f"a list operation that fails: {error}", code="SG102") from error


def _compares_now(value: Value) -> bool:
    """Whether a value equals others while translating as it does when it runs: numbers, texts, tuples of these."""
    return is_number(value) or isinstance(value, str) or type(value) is tuple and all(map(_compares_now, value))


def of_text(ctx: Context, callee: Value, arguments: Sequence[Value], keywords: Mapping[str, Value]) -> Value:
    """A method of a string, which is known while translating, as are its arguments."""
    given = [tuple(a.items) if isinstance(a, ListValue) else a for a in (taken(ctx, v) for v in arguments)]
    parts = [p for a in (*given, *keywords.values()) for p in (a if isinstance(a, tuple) else (a,))]
    if not all(isinstance(p, str) or is_number(p) or p is None for p in parts):
        if callee.__name__ == "format":
            return formatted(callee.__self__, given, keywords)
        raise ctx.refuse("text made from values only known at run time", code="SG102")
    try:
        found = callee(*given, **keywords)
    except (TypeError, ValueError, IndexError, KeyError) as error:
        raise ctx.refuse(f"a text operation that fails: {error}", code="SG102") from error
    return ListValue(list(found), len(ctx.builder.regions)) if isinstance(found, list) else found
