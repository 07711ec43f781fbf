"""The door of the front end: a function and the arguments of one call become a program."""
from __future__ import annotations

import inspect
import re
from collections import OrderedDict
from collections.abc import Callable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from types import MappingProxyType, MethodType, ModuleType, SimpleNamespace
from typing import Any

import numpy as np

from sdfgad import names
from sdfgad.arrays import Spec, native
from sdfgad.errors import UnsupportedError, UsageError, unsupported
from sdfgad.frontend.calls import invoke
from sdfgad.frontend.elements.elementwise import as_array, check_plain
from sdfgad.frontend.elements.instead import instead_of_argument
from sdfgad.frontend.expressions import evaluate
from sdfgad.frontend.functions.arithmetic import items_of, kept
from sdfgad.frontend.inlining import run_top, run_wrapper, top_frame
from sdfgad.frontend.numpy_table import METHODS
from sdfgad.frontend.state.accesses import IndexedAccess, check_known
from sdfgad.frontend.state.aliases import check_written
from sdfgad.frontend.state.attempts import AssumptionFailed
from sdfgad.frontend.state.builder import Builder
from sdfgad.frontend.state.context import Context
from sdfgad.frontend.state.keyed import SetValue
from sdfgad.frontend.state.sharing import refuse_stale
from sdfgad.frontend.state.values import (
    SELECTED,
    Applied,
    ArrayValue,
    Entries,
    Function,
    Grown,
    IntValue,
    ListValue,
    Maybe,
    Opaque,
    Reading,
    Record,
    Value,
    ViewValue,
)
from sdfgad.frontend.statements import execute
from sdfgad.frontend.static.ignored import tell
from sdfgad.frontend.static.outside import outside, settle_contents
from sdfgad.frontend.static.sizes import check_sized
from sdfgad.frontend.syntax.replaced import ReplacedFunction
from sdfgad.frontend.syntax.source import SourceText, code_of, is_wrapper, method_of, undecorated
from sdfgad.frontend.syntax.surroundings import Surroundings
from sdfgad.ir.called import ADDRESS
from sdfgad.ir.expr import const
from sdfgad.ir.index import ix
from sdfgad.ir.messages import NUMBERS
from sdfgad.ir.program import FAILED, ORDER, Array, Map, Program, Stmt, Store
from sdfgad.ir.walk import view_elems
from sdfgad.ranks import is_communicator, is_datatype
from sdfgad.trees import assembled, contents, is_named, is_plain_dataclass, paths, step

_CONSTANTS = (bool, int, str, type(None), np.dtype, type, np.integer, np.bool_, slice, range, ModuleType)
RESTARTS = 200


@dataclass(frozen=True)
class Parsed:
    """A translated function.

    `traced` maps the path of each array or float argument ("x", "layers[0]") to its container. `mutated` names the
    containers the program writes. `accesses` are indices that depend on integer arguments. `surroundings` tells whether
    a translation now would find what this one found. `replaced` are the paths of items of arguments that the program
    has put something else in the place of. `stale` containers lack updates through views of them. `outside` are the
    arrays found around the function, with their names.
    """

    program: Program
    parameters: tuple[str, ...]
    traced: Mapping[str, str]
    mutated: frozenset[str]
    surroundings: Surroundings = field(default_factory=Surroundings)
    accesses: tuple[IndexedAccess, ...] = ()
    replaced: tuple[str, ...] = ()
    stale: frozenset[str] = frozenset()
    outside: tuple[tuple[str, np.ndarray], ...] = ()

    def collect(self, arguments: Sequence[Any], keywords: Mapping[str, Any] | None = None) -> dict[str, Any]:
        """The arrays of a call by container name."""
        found = dict(_leaves(self.parameters, arguments, keywords or {}))
        return {container: found[path] for path, container in self.traced.items()}

    def check_indices(self, leaves: Mapping[str, Any]) -> None:
        """OutOfBoundsError if an index array among the arguments, by path, points beside what it indexes."""
        if not self.accesses:
            return
        given = {container: np.asarray(leaves[path]) for path, container in self._index_arrays}
        arrays = {**self.program.constants, **given}
        for access in self.accesses:
            access.check(arrays)

    def check_sharing(self, leaves: Mapping[str, Any], donate: Set[str] = frozenset()) -> None:
        """AliasError if an argument that the function updates, or that is given away, shares memory with another one
        or with an array from outside."""
        written = self.updated | donate
        if written:
            check_written(written, leaves, self.outside)

    @cached_property
    def updated(self) -> frozenset[str]:
        """Paths of the arguments that the function updates."""
        return frozenset(path for path, container in self.traced.items() if container in self.mutated)

    @property
    def index_arrays(self) -> tuple[str, ...]:
        """Paths of the arguments that decide indices, and are looked at before a call."""
        return tuple(path for path, _ in self._index_arrays)

    @cached_property
    def _index_arrays(self) -> tuple[tuple[str, str], ...]:
        """Paths and containers of the arguments that decide indices."""
        needed = frozenset(n for a in self.accesses for n in a.arrays)
        return tuple(item for item in self.traced.items() if item[1] in needed)


def parse(fn: Callable[..., Any], arguments: Sequence[Any] = (), keywords: Mapping[str, Any] | None = None,
          text: str = "", own_rules: bool = True, foreign: Callable[[Any], Any] | None = None) -> Parsed:
    """Translate `fn` for these arguments: arrays by shape and dtype, floats as scalars, anything else by value.

    text: Python that defines functions whose source is found nowhere else. own_rules: whether functions with derivative
    rules of their own are replaced by these. foreign: gives what translates calls of a program in another language,
    None for anything else.
    """
    held, fn = (fn, fn.func) if isinstance(fn, partial) else (None, fn)
    fn = fn if hasattr(fn, "__wrapped__") else method_of(fn) or fn
    code = code_of(_stood_for(fn), text)
    bound = _bind(fn if held is None else held, code, arguments, keywords or {})
    called = _Called(fn, held, code, bound, text, own_rules, foreign)
    builder = Builder()
    for _ in range(RESTARTS):
        try:
            return _translate(called, builder)
        except AssumptionFailed as again:
            builder = Builder(builder.assumed.without(again.container))
        except UnsupportedError as error:
            builder = Builder(builder.mail.or_asked(partial(
                builder.assumed.after, error, builder.numbers, builder.hasty, builder.masks)))
    raise unsupported(code.at(code.node), "a program whose integer arrays change too often", code="SG105")


def _stood_for(fn: Callable[..., Any]) -> Callable[..., Any]:
    """The function that others stand for."""
    while isinstance(fn, ReplacedFunction):
        fn = fn.function
    return fn


def _bind(fn: Callable[..., Any], code: SourceText, arguments: Sequence[Any],
          keywords: Mapping[str, Any]) -> inspect.BoundArguments:
    try:
        plain = fn if isinstance(fn := _stood_for(fn), MethodType) else inspect.unwrap(fn)
        return inspect.signature(plain).bind(*arguments, **keywords)
    except TypeError as error:
        raise UsageError(f"{code.name}: {error}", code="SG205") from error


@dataclass(frozen=True)
class _Called:
    """A function as it is called. held: the partial that holds some of its arguments."""

    fn: Callable[..., Any]
    held: partial[Any] | None
    code: SourceText
    bound: inspect.BoundArguments
    text: str
    own_rules: bool
    foreign: Callable[[Any], Any] | None

    @property
    def owner(self) -> tuple[Any, ...]:
        return (self.fn.__self__,) if isinstance(self.fn, MethodType) else ()


def _translate(called: _Called, builder: Builder) -> Parsed:
    code, bound = called.code, called.bound
    builder.source = code.at(code.node)
    ctx = Context(builder, evaluate, execute, invoke, methods=frozenset(METHODS), text=called.text,
                  own_rules=called.own_rules, foreign=called.foreign)
    ctx.here = builder.source
    parameters = tuple(bound.signature.parameters)
    taken = _Taken()
    values = _arguments(ctx, bound, taken)
    result = _run(ctx, called, values)
    tree = _returned(ctx, result)
    ctx.builder.mail.delivered(ctx.surroundings)
    body = _watching(builder)
    live = settle_contents(ctx) | {n for n in builder.constants if builder.arrays[n].label in (NUMBERS, ADDRESS)}
    tell(ctx.ignored, code.name)
    accesses = check_known(builder.accesses, builder.constants, frozenset(builder.arguments) - builder.mutated)
    program = Program(
        name=names.of_function(called.fn, code.name),
        arrays=MappingProxyType(dict(builder.arrays)),
        arguments=tuple(builder.arguments), body=body, returns=tree,
        constants=MappingProxyType(dict(builder.constants)), source=code.at(code.node),
        live=live, failures=tuple(builder.failures), lookups=tuple(builder.lookups))
    return Parsed(program, parameters, MappingProxyType(taken.traced), frozenset(builder.mutated),
                  ctx.surroundings, accesses, taken.replaced, builder.shared.stale & frozenset(builder.arguments),
                  tuple((builder.arrays[stored.view.array].label, value) for value, stored in ctx.outside.values()
                        if stored.view.array in builder.arrays))


def _run(ctx: Context, called: _Called, values: dict[str, Value]) -> Value:
    """A wrapper gets the arguments as the call gives them, as its own parameters may be others than those it shows."""
    fn, held, code = called.fn, called.held, called.code
    if isinstance(fn, ReplacedFunction):
        return _replaced(ctx, fn, called, values)
    function = undecorated(fn.__func__ if isinstance(fn, MethodType) else fn)
    if held is None and not is_wrapper(function):
        return run_top(ctx, code, {**_owner(code, called.owner), **values})
    positional, named = (held.args, held.keywords) if held is not None else ((), {})
    given = _given(called.bound, values, [n for n in values if n not in named or n in called.bound.arguments])
    first = [outside(ctx, v, "argument") for v in positional]
    more = {n: outside(ctx, v, n) for n, v in named.items()}
    return run_wrapper(ctx, function, code, [*called.owner, *first, *given.args], {**more, **given.kwargs})


def _given(bound: inspect.BoundArguments, values: Mapping[str, Value], wanted: Sequence[str]) -> Any:
    """The arguments as a call gives them, of the parameters that are wanted."""
    return inspect.BoundArguments(bound.signature, OrderedDict(
        (n, tuple(v) if p.kind is p.VAR_POSITIONAL else v.items if p.kind is p.VAR_KEYWORD else v)
        for n in wanted for p, v in ((bound.signature.parameters[n], values[n]),)))


def _replaced(ctx: Context, fn: ReplacedFunction, called: _Called, values: dict[str, Value]) -> Value:
    """The function that it stands for knows its own defaults."""
    given = _given(called.bound, values, list(called.bound.arguments))
    ctx.frames.append(top_frame(called.code, dict(values)))
    try:
        return ctx.invoke(ctx, fn, list(given.args), given.kwargs)
    finally:
        ctx.frames.pop()


def _watching(builder: Builder) -> tuple[Stmt, ...]:
    """The statements, after those that say that nothing has been raised or sent."""
    body = tuple(builder.blocks[0])
    if builder.failures:
        builder.arrays[FAILED] = Array(FAILED, (1,), np.dtype(np.int64))
    watched = [n for n in (FAILED, ORDER) if n in builder.arrays]
    return (*(Map((), (Store(n, (ix(0),), const(0, np.dtype(np.int64))),)) for n in watched), *body)


@dataclass(eq=False)
class _Taken:
    """What the arguments have become: containers by path, and every place of a list, dict or object with its value."""

    traced: dict[str, str] = field(default_factory=dict)
    places: list[tuple[ListValue | Record, Any, Value, str]] = field(default_factory=list)

    @property
    def replaced(self) -> tuple[str, ...]:
        return tuple(path for holder, key, value, path in self.places if not _has(holder, key, value))


def _has(holder: ListValue | Record, key: Any, value: Value) -> bool:
    if isinstance(holder, ListValue):
        return key < len(holder.items) and holder.items[key] is value
    return holder.items.get(key) is value


def _owner(code: SourceText, owner: tuple[Any, ...]) -> dict[str, Value]:
    """The first parameter of a bound method."""
    if not owner:
        return {}
    names = [a.arg for a in (*code.node.args.posonlyargs, *code.node.args.args)]
    if not names:
        raise unsupported(code.at(code.node), f"the method {code.name!r}, which names no parameter for its object",
                          "write def method(self, ...)", "SG106")
    return {names[0]: owner[0]}


def _arguments(ctx: Context, bound: inspect.BoundArguments, taken: _Taken) -> dict[str, Value]:
    """Values of all parameters."""
    values: dict[str, Value] = {}
    for name, parameter in bound.signature.parameters.items():
        if name in bound.arguments:
            values[name] = _argument(ctx, name, bound.arguments[name], taken)
        elif parameter.kind is inspect.Parameter.VAR_POSITIONAL:
            values[name] = ()
        elif parameter.kind is inspect.Parameter.VAR_KEYWORD:
            values[name] = Record(dict, {}, 0)
        else:
            values[name] = parameter.default
    return values


def _argument(ctx: Context, path: str, value: Any, taken: _Taken) -> Value:
    number = _as_number(value)
    if number is not None:
        return _container(ctx, path, (), number, taken.traced, weak=not isinstance(value, np.generic), scalar=True)
    inside = contents(value)
    if inside is not None:
        return _inside(ctx, path, value, inside, taken)
    if isinstance(value, _CONSTANTS) or callable(value) or is_communicator(value) or is_datatype(value):
        return value
    if isinstance(value, (np.ndarray, Spec)):
        check_plain(ctx, value)
        dtype = native(value.dtype)
        made = _container(ctx, path, tuple(int(n) for n in value.shape), dtype, taken.traced)
        if not value.shape and dtype.kind in "fc":
            made = _as_a_number(ctx, made)
        if isinstance(value, np.ndarray) and not value.flags.c_contiguous:
            ctx.builder.any_order.add(taken.traced[path])
        return made
    if hasattr(value, "__dict__") and not isinstance(value, (Mapping, Sequence, Set)):
        return value  # an object: what is asked of it is looked up
    raise ctx.refuse(f"the argument {path!r} of type {type(value).__name__}", instead_of_argument(path, value), "SG108")


def _as_a_number(ctx: Context, value: ViewValue) -> ViewValue:
    """An array without dimensions is as good as a number, which loops and branches can replace, unless somebody looks
    for the difference or writes into it."""
    if value.view.array in ctx.builder.assumed.fragile:
        return value
    ctx.builder.numbers.add(value.view.array)
    return replace(value, scalar=True)


def _inside(ctx: Context, path: str, value: Any, inside: Mapping[Any, Any], taken: _Taken) -> Value:
    """A container of data, with a value for each item."""
    form = type(value)
    items = {k: _argument(ctx, path + step(form, k), v, taken) for k, v in inside.items()}
    if isinstance(value, tuple):
        return assembled(form if is_named(form) else tuple, items)
    made = ListValue(list(items.values()), 0) if isinstance(value, list) else Record(form, items, 0)
    taken.places += [(made, k, v, path + step(form, k)) for k, v in items.items()]
    return made


def _as_number(value: Any) -> np.dtype | None:
    """The dtype of a float or complex scalar; integers and booleans are constants."""
    if isinstance(value, (np.floating, np.complexfloating)):
        return value.dtype
    return np.dtype(type(value)) if isinstance(value, (float, complex)) else None


def _container(ctx: Context, path: str, shape: tuple[int, ...], dtype: np.dtype, traced: dict[str, str],
               weak: bool = False, scalar: bool = False) -> ViewValue:
    label = path if path.isidentifier() else re.sub(r"\W+", "_", path).rstrip("_")
    array = ctx.builder.declare(tuple(ix(n) for n in shape), dtype, label, "argument")
    ctx.builder.arguments.append(array.name)
    traced[path] = array.name
    return ctx.builder.view(array, weak=weak, scalar=scalar)


def _leaves(parameters: Sequence[str], arguments: Sequence[Any],
            keywords: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    given = {**dict(zip(parameters, arguments, strict=False)), **keywords}
    if len(arguments) > len(parameters):
        given[parameters[-1]] = tuple(arguments[len(parameters) - 1:])

    for name, value in given.items():
        yield from paths(name, value)


def _is_container(form: type) -> bool:
    return issubclass(form, (dict, SimpleNamespace)) or is_plain_dataclass(form)


def _returned(ctx: Context, value: Value) -> Any:
    """The value of the call as a tree of views and constants."""
    value = kept(ctx, value, "result")
    if isinstance(value, (tuple, list)):
        return assembled(type(value), {k: _returned(ctx, v) for k, v in enumerate(value)})
    if isinstance(value, Record):
        if not _is_container(value.form) or value.form in ctx.frames_of:
            raise ctx.refuse(f"an object of class {value.form.__name__} as a return value",
                             "return its arrays, or make it a dataclass", "SG109")
        return assembled(value.form, {k: _returned(ctx, v) for k, v in value.items.items()})
    if isinstance(value, (ListValue, Grown)):
        if value.kind is not list:
            raise ctx.refuse("a deque as a return value", "return list(...) of it", "SG109")
        return [_returned(ctx, v) for v in items_of(ctx, value)]
    if isinstance(value, IntValue):
        return _returned(ctx, ctx.builder.fresh_copy(as_array(ctx, value), "result"))
    if isinstance(value, ArrayValue):
        found = ctx.builder.materialise(value, "result")
        if found.view.array in ctx.builder.shared.stale:
            raise refuse_stale(ctx.here, ctx.builder.shared, found.view.array, "a result")
        check_sized(ctx, found)
        own = not view_elems(found.view) and found.view.array not in ctx.builder.constants  # these have their room
        return (found if own else ctx.builder.fresh_copy(found, "result")).view
    if isinstance(value, Reading):
        raise ctx.refuse("what a clock shows as a return value", "measure the time around the call", "SG109")
    internal = isinstance(value, (*SELECTED, Maybe, Function, Entries, Applied, SetValue, Opaque))
    if internal or callable(value) and not isinstance(value, type):
        raise ctx.refuse("a return value that is not made of arrays, numbers and constants",
                         "return arrays; use np.where instead of a mask", "SG109")
    return value
