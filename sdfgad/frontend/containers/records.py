"""Dicts and objects made of data: reading and setting items and attributes, methods of dicts, methods of the class."""
from __future__ import annotations

import inspect
from collections import Counter, OrderedDict, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import MISSING, fields, is_dataclass
from enum import Enum
from functools import cached_property, partial
from types import FunctionType, MappingProxyType, MemberDescriptorType, SimpleNamespace
from typing import Any

import numpy as np

from sdfgad.frontend.containers.numbered import counted_item
from sdfgad.frontend.elements.elementwise import describe
from sdfgad.frontend.functions.arithmetic import items_of, kept
from sdfgad.frontend.state.context import Context
from sdfgad.frontend.state.values import (
    ArrayValue,
    Entries,
    IntValue,
    ListValue,
    Method,
    Record,
    Value,
    contained,
    is_number,
)
from sdfgad.frontend.static.outside import found_outside, outside
from sdfgad.frontend.static.settled import has, settled
from sdfgad.frontend.static.sizes import as_integer
from sdfgad.trees import assembled, contents, is_named, is_plain_dataclass, is_plain_named

_UPDATE = "update the array in place (d[key][...] = ...), or keep it under a name of its own"
_ABSENT = object()


def is_dict(value: Value) -> bool:
    """Whether a value is a dict that is translated, or one from outside."""
    return issubclass(value.form, dict) if isinstance(value, Record) else isinstance(value, dict)


def is_method(name: str) -> bool:
    """Whether dicts have such a method here."""
    return name in _METHODS


def as_record(ctx: Context, value: Value) -> Record:
    """A dict from outside as one of the program, which has its items now."""
    if isinstance(value, Record):
        return value
    return Record(dict, {k: outside(ctx, v, str(k)) for k, v in value.items()}, -1)


def item(ctx: Context, owner: Record, key: Value) -> Value:
    """`owner[key]` of a dict."""
    key = _key(ctx, owner, key)
    factory = owner.form.__dict__.get("made_by") if issubclass(owner.form, defaultdict) else None
    if owner.form is Counter and not has(ctx, owner, key):
        return 0
    if factory is not None and not has(ctx, owner, key):
        put_item(ctx, owner, key, ctx.invoke(ctx, factory, [], {}))
    found = owner.items[key] if has(ctx, owner, key) else _ABSENT
    if found is _ABSENT:
        ask = ctx.refuse if hasattr(owner.form, "__missing__") else partial(ctx.raises, KeyError)
        raise ask(f"the key {key!r}, which is not in the dictionary", keys_told(owner.items), "SG105")
    return found


def keys_told(keys: Iterable[Any]) -> str:
    """The first keys of a dict, for who asks for another one."""
    known = list(map(repr, keys))
    more = f" and {len(known) - 8} others" if len(known) > 8 else ""
    return f"its keys are {', '.join(known[:8])}{more}" if known else "it is empty"


def _key(ctx: Context, owner: Record, key: Value, *new: Value) -> Any:
    if not is_dict(owner):
        raise ctx.refuse(f"a subscript of {describe(owner)}", code="SG105")
    if not _is_key(key):
        counted_item(ctx, owner, key, *new)
        raise ctx.refuse("a key of a dictionary that is no constant text, integer or tuple of these",
                         as_integer(ctx, key, "choose with if and elif"), "SG105")
    return key


def _is_key(key: Value) -> bool:
    """What is known and stays what it is: text, an integer, a member of an enumeration, or a tuple of such."""
    return isinstance(key, (str, int, np.integer, Enum)) or isinstance(key, tuple) and all(map(_is_key, key))


def put(ctx: Context, owner: Record, key: Value, value: Value) -> None:
    """`owner[key] = value`, or `owner.key = value` of an object."""
    if owner.depth != len(ctx.builder.regions):
        raise ctx.refuse("a dictionary or object changed inside a loop or branch", _UPDATE, "SG102")
    if any(part is owner for part in contained(value)):
        raise ctx.refuse("a dictionary or object that is part of itself", code="SG102")
    owner.items[key] = kept(ctx, value)


def put_item(ctx: Context, owner: Record, key: Value, value: Value) -> None:
    """`owner[key] = value` of a dict."""
    put(ctx, owner, _key(ctx, owner, key, value), value)


def lack(name: str) -> bool:
    """Whether neither arrays nor numbers have an attribute of this name, and none can be set."""
    return not any(hasattr(form, name) for form in (np.ndarray, np.float64, np.complex128, np.int64, np.bool_, float))


def is_guarded(form: type) -> bool:
    """Whether a class has its own idea of setting an attribute, as frozen dataclasses do."""
    return form is not SimpleNamespace and inspect.getattr_static(form, "__setattr__") is not object.__setattr__


def put_attribute(ctx: Context, owner: Value, name: str, value: Value) -> None:
    """`owner.name = value`, where that is an attribute and nothing more."""
    if isinstance(owner, (ArrayValue, IntValue)) and lack(name):
        raise ctx.raises(AttributeError, f"an assignment to the attribute {name!r} of {describe(owner)}",
                         "pass what changes as an argument and return it", "SG102")
    if not isinstance(owner, Record) or is_dict(owner):
        of_shape = isinstance(owner, ArrayValue) and name == "shape"
        raise ctx.refuse(f"an assignment to the attribute {name!r} of {describe(owner)}",
                         "name what .reshape(...) gives" if of_shape else
                         "pass what changes as an argument and return it", "SG102")
    held = inspect.getattr_static(owner.form, name, None)
    if isinstance(held, property) and isinstance(held.fset, FunctionType) and not is_guarded(owner.form):
        ctx.invoke(ctx, held.fset, [owner, value], {})
        return
    if is_guarded(owner.form) or isinstance(held, property) or hasattr(held, "__set__") and not isinstance(
            held, MemberDescriptorType):
        raise ctx.refuse(f"an assignment to the attribute {name!r} of {describe(owner)}, which is more than that",
                         "use another name", "SG102")
    put(ctx, owner, name, value)


# attributes

_BY_NAME = MappingProxyType({"__getattribute__": getattr, "__setattr__": setattr})


def attribute(ctx: Context, owner: Record, name: str) -> Value:
    """`owner.name`."""
    if is_dict(owner):
        if name not in _METHODS and not (owner.form is Counter and name in _OF_COUNTERS):
            raise ctx.refuse(f"the method {name!r} of a dictionary", code="SG102")
        return Method(owner, name)
    if name == "__class__":
        return owner.form
    if name in _BY_NAME and getattr(owner.form, name) is getattr(object, name):
        return partial(_BY_NAME[name], owner)
    held = inspect.getattr_static(owner.form, name, _ABSENT)
    if has(ctx, owner, name) and not isinstance(held, property):
        return owner.items[name]
    computed = inspect.getattr_static(owner.form, "__getattr__", None)
    if held is _ABSENT and isinstance(computed, FunctionType) and not name.startswith("__"):
        return ctx.invoke(ctx, computed, [owner, name], {})
    if held is _ABSENT and computed is None:
        raise ctx.raises(AttributeError, f"the attribute {name!r} of {describe(owner)}, which is not there",
                         "set it in __init__, or before the loop or branch", "SG102")
    if held is _ABSENT or name.startswith("__") and name != "__call__":
        raise ctx.refuse(f"the attribute {name!r} of {describe(owner)}", code="SG102")
    return of_class(ctx, owner, owner.form, name)


def of_class(ctx: Context, owner: Value, form: type, name: str) -> Value:
    """What the class of `owner` has under this name: a method with its owner, the value of a property, or a constant.
    """
    held = inspect.getattr_static(form, name)
    found = found_outside(ctx, form, name, getattr(form, name))
    if isinstance(held, FunctionType):
        return partial(held, owner)
    if isinstance(held, property) and isinstance(held.fget, FunctionType):
        return ctx.invoke(ctx, held.fget, [owner], {})
    if isinstance(held, cached_property) and isinstance(owner, Record) and not is_guarded(form):
        put(ctx, owner, name, ctx.invoke(ctx, held.func, [owner], {}))
        return owner.items[name]
    if isinstance(held, (staticmethod, classmethod, type)) or not hasattr(held, "__get__"):
        return found
    raise ctx.refuse(f"the attribute {name!r} of {describe(owner)}, which its class computes",
                     "use a property or a method", "SG102")


# making objects

def construct(ctx: Context, form: Value, arguments: Sequence[Value], keywords: Mapping[str, Value]) -> Value | None:
    """`form(...)` of a namedtuple, of a dataclass whose fields are all that is set, or of SimpleNamespace."""
    if not isinstance(form, type) or not (form is SimpleNamespace or _is_generated(form)):
        return None
    if form is SimpleNamespace:
        return None if arguments else Record(form, dict(keywords), len(ctx.builder.regions))
    try:
        bound = inspect.signature(form).bind(*arguments, **keywords)
    except TypeError as error:
        raise ctx.refuse(f"this call of {form.__name__}: {error}", code="SG102") from error
    bound.apply_defaults()
    items = {k: kept(ctx, outside(ctx, v, k)) for k, v in bound.arguments.items()}
    return assembled(form, items) if is_named(form) else Record(form, items, len(ctx.builder.regions))


def _is_generated(form: type) -> bool:
    """Whether making an instance does nothing but setting what it is given."""
    if is_named(form):
        own = inspect.getattr_static(form, "__init__") is not object.__init__
        return not own and _is_text(form.__new__) and is_plain_named(form)
    if not is_plain_dataclass(form) or hasattr(form, "__post_init__"):
        return False
    plain = all(f.init and f.default_factory is MISSING for f in fields(form))
    made = inspect.getattr_static(form, "__new__") is object.__new__
    return plain and made and _is_text(inspect.getattr_static(form, "__init__"))


def compares_fields(form: type, rule: str) -> bool:
    """Whether objects of a class are compared as the standard library wrote it for dataclasses."""
    return is_dataclass(form) and _is_text(inspect.getattr_static(form, rule, None))


def fields_of(owner: Record) -> tuple[Value, ...]:
    """What dataclasses compare."""
    return tuple(owner.items[f.name] for f in fields(owner.form) if f.compare)


def _is_text(function: Any) -> bool:
    """Whether the standard library wrote the function."""
    return isinstance(function, FunctionType) and function.__code__.co_filename == "<string>"


def replace(ctx: Context, owner: Value, /, **changes: Value) -> Value:
    """`dataclasses.replace(owner, ...)`, and `owner._replace(...)` of a namedtuple."""
    form = owner.form if isinstance(owner, Record) else type(owner)
    before = owner.items if isinstance(owner, Record) else contents(owner)
    if not _is_generated(form) and is_dataclass(form) and before is not None:
        given = [f.name for f in fields(form) if f.init]
        if changes.keys() <= set(given) <= before.keys():
            return ctx.invoke(ctx, form, [], {n: changes.get(n, before[n]) for n in given})
    if not _is_generated(form) or before is None or not changes.keys() <= before.keys():
        raise ctx.refuse(f"a changed copy of {describe(owner)}", "make it with its class", "SG102")
    return construct(ctx, form, (), {**before, **changes})


# methods of dicts

def dict_method(ctx: Context, method: Method, arguments: Sequence[Value], keywords: Mapping[str, Value]) -> Value:
    """A method of a dict; what changes it obeys the rule of `put`."""
    rule = (_OF_COUNTERS if method.owner.form is Counter else {}).get(method.name) or _METHODS[method.name]
    try:
        inspect.signature(rule).bind(ctx, method.owner, *arguments, **keywords)
    except TypeError as error:
        raise ctx.refuse(f"this call of {method.name!r} of a dictionary: {error}", code="SG102") from error
    return rule(ctx, method.owner, *arguments, **keywords)


def _get(ctx: Context, owner: Record, key: Value, default: Value = None, /) -> Value:
    key = _key(ctx, owner, key, *(() if default is None else (default,)))
    return owner.items[key] if has(ctx, owner, key) else default


def _setdefault(ctx: Context, owner: Record, key: Value, default: Value = None, /) -> Value:
    if not has(ctx, owner, _key(ctx, owner, key)):
        put_item(ctx, owner, key, default)
    return item(ctx, owner, key)


def _pop(ctx: Context, owner: Record, key: Value, default: Value = _ABSENT, /) -> Value:
    if default is not _ABSENT and not has(ctx, owner, _key(ctx, owner, key)):
        return default
    found = item(ctx, owner, key)
    put_item(ctx, owner, key, found)
    return owner.items.pop(key)


def _update(ctx: Context, owner: Record, other: Value = (), /, **keywords: Value) -> None:
    for key, value in (*pairs(ctx, other), *keywords.items()):
        put_item(ctx, owner, key, value)


def _copy(ctx: Context, owner: Record) -> Value:
    return Record(owner.form, dict(owner.items), len(ctx.builder.regions))


def pairs(ctx: Context, value: Value) -> list[tuple[Value, Value]]:
    """Keys and values of a dict, or of a sequence of pairs."""
    if is_dict(value):
        return list(settled(ctx, as_record(ctx, value)).items())
    found = [items_of(ctx, p) for p in items_of(ctx, value)]
    if any(len(p) != 2 for p in found):
        raise ctx.refuse("a dictionary made of what are no pairs", code="SG102")
    return [(p[0], p[1]) for p in found]


def make_dict(ctx: Context, items: Sequence[tuple[Value, Value]]) -> Record:
    """A dict with these items."""
    made = Record(dict, {}, len(ctx.builder.regions))
    for key, value in items:
        put_item(ctx, made, key, value)
    return made


def dict_(ctx: Context, items: Value = (), /, **keywords: Value) -> Value:
    """`dict(...)`."""
    return make_dict(ctx, [*pairs(ctx, items), *keywords.items()])


def dict_from_keys(ctx: Context, iterable: Value, value: Value = None, /) -> Value:
    """`dict.fromkeys(...)`: one value for all."""
    shared = kept(ctx, value)
    return make_dict(ctx, [(key, shared) for key in items_of(ctx, iterable)])


def joined(ctx: Context, left: Value, right: Value, update: bool) -> Value:
    """`left | right` of dicts, or `left |= right`."""
    made = as_record(ctx, left) if update else _copy(ctx, as_record(ctx, left))
    _update(ctx, made, right)
    return made


def ordered_dict(ctx: Context, items: Value = (), /, **keywords: Value) -> Value:
    """`collections.OrderedDict(...)`."""
    made = dict_(ctx, items, **keywords)
    return Record(OrderedDict, made.items, made.depth)


def default_dict(ctx: Context, factory: Value = None, items: Value = (), /, **keywords: Value) -> Value:
    """`collections.defaultdict(...)`: its class knows what makes a missing item."""
    made = dict_(ctx, items, **keywords)
    return Record(type("defaultdict", (defaultdict,), {"made_by": factory}), made.items, made.depth)


def counter(ctx: Context, items: Value = (), /, **keywords: Value) -> Value:
    """`collections.Counter(...)` of what is known, or of numbers that are."""
    made = Record(Counter, {}, len(ctx.builder.regions))
    _count(ctx, made, items, **keywords)
    return made


def _count(ctx: Context, owner: Record, items: Value = (), /, **keywords: Value) -> None:
    counted = [*(pairs(ctx, items) if is_dict(items) else [(k, 1) for k in items_of(ctx, items)]), *keywords.items()]
    for key, more in counted:
        put_item(ctx, owner, key, ctx.invoke(ctx, np.add, [item(ctx, owner, key), more], {}))


def _most_common(ctx: Context, owner: Record, n: Value = None, /) -> Value:
    found = settled(ctx, owner)
    if not all(is_number(v) for v in found.values()):
        raise ctx.refuse("the most common of what data have counted", "use np.argmax of an array", "SG102")
    return ListValue(list(Counter(found).most_common(n)), len(ctx.builder.regions))


_OF_COUNTERS: Mapping[str, Callable[..., Value]] = MappingProxyType({"update": _count, "most_common": _most_common})
"""What counters do otherwise than dicts, or alone."""


def set_attribute(ctx: Context, owner: Value, name: Value, value: Value) -> None:
    """`object.__setattr__(owner, name, value)`: how a frozen dataclass is completed."""
    if not isinstance(owner, Record) or is_dict(owner) or not isinstance(name, str):
        raise ctx.refuse(f"an assignment to the attribute {name!r} of {describe(owner)}", code="SG102")
    put(ctx, owner, name, value)


def set_named(ctx: Context, owner: Value, name: Value, value: Value) -> None:
    """`setattr(owner, name, value)`."""
    if not isinstance(name, str):
        raise ctx.refuse("setattr with a name only known at run time", code="SG102")
    put_attribute(ctx, owner, name, value)


_METHODS: Mapping[str, Callable[..., Value]] = MappingProxyType({
    "keys": lambda ctx, owner: Entries(owner, "keys"), "values": lambda ctx, owner: Entries(owner, "values"),
    "items": lambda ctx, owner: Entries(owner, "items"), "get": _get, "setdefault": _setdefault, "pop": _pop,
    "update": _update, "copy": _copy})
