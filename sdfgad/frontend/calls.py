"""Calls: NumPy functions by table, Python functions by running their body."""
from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from types import FunctionType, MethodType
from typing import TYPE_CHECKING, Any

import numpy as np

from sdfgad.frontend.arrays import jitted, sparse, vectorized
from sdfgad.frontend.arrays.known import (
    OF_SHAPE,
    PURE,
    is_known,
    is_of_constants,
    known_now,
    known_sizes,
    of_objects,
    plain_list,
)
from sdfgad.frontend.arrays.layout import laid_out
from sdfgad.frontend.arrays.masking import CHOSEN, as_masked
from sdfgad.frontend.arrays.views import check_fresh
from sdfgad.frontend.bodies.mapping import each_of_batch
from sdfgad.frontend.branches.raising import definite_arguments
from sdfgad.frontend.builtin_rules import type_
from sdfgad.frontend.containers import numbered
from sdfgad.frontend.containers.attributes import got, is_getter, list_method, of_text
from sdfgad.frontend.containers.classes import instance, is_body
from sdfgad.frontend.containers.growing import as_list
from sdfgad.frontend.containers.records import construct, dict_method, of_class, replace
from sdfgad.frontend.containers.stacks import changed
from sdfgad.frontend.elements import caught, special
from sdfgad.frontend.elements.elementwise import constant_array, describe, fold
from sdfgad.frontend.elements.run_integers import no_negative_powers
from sdfgad.frontend.functions.arguments import check_arguments
from sdfgad.frontend.functions.arithmetic import kept, on_masked
from sdfgad.frontend.functions.creation import dtype_of
from sdfgad.frontend.functions.selected import of_selected
from sdfgad.frontend.inlining import own_code, run_in_place
from sdfgad.frontend.libraries import factors, interpolants
from sdfgad.frontend.libraries.batches import BatchedFunction, begun
from sdfgad.frontend.libraries.gradients import INSIDE, made_inside, made_outside
from sdfgad.frontend.libraries.routines import Translated
from sdfgad.frontend.library_function import LibraryFunction
from sdfgad.frontend.merging.magnitudes import check_size
from sdfgad.frontend.mpi.types import is_of_ranks
from sdfgad.frontend.numpy_table import FUNCTIONS, METHODS, OUTSIDE, TYPES, out_argument, out_place, ufunc_rule
from sdfgad.frontend.state.context import Context
from sdfgad.frontend.state.keyed import SetValue
from sdfgad.frontend.state.values import (
    Applied,
    ArrayValue,
    Function,
    Grown,
    ListValue,
    Method,
    Reading,
    Record,
    Value,
    is_number,
)
from sdfgad.frontend.static import polyfills
from sdfgad.frontend.static.ignored import is_loop_of, looped, of_readings
from sdfgad.frontend.static.outside import defaults_of
from sdfgad.frontend.static.sets import call, is_set
from sdfgad.frontend.static.signatures import by_name, call_name
from sdfgad.frontend.syntax.advice import ON_DERIVATIVES, draws, is_verb, on_call, on_verb
from sdfgad.frontend.syntax.source import method_of, undecorated
from sdfgad.later import later
from sdfgad.trees import is_named

if TYPE_CHECKING:
    from sdfgad.frontend.mpi.calls import of_ranks
else:
    of_ranks = later("sdfgad.frontend.mpi.calls", "of_ranks")


def invoke(ctx: Context, callee: Value, arguments: Sequence[Value], keywords: Mapping[str, Value]) -> Value:
    """Call any value."""
    if isinstance(callee, Function):
        return run_in_place(ctx, callee.code, callee.frame, list(arguments), dict(keywords), callee.defaults,
                            callee.keyword_defaults, False)
    if is_of_ranks(callee):
        return of_ranks(ctx, callee, arguments, keywords)
    if isinstance(callee, BatchedFunction):
        given = begun(ctx, callee, arguments, keywords)
        return run_in_place(ctx, own_code(each_of_batch, ctx.text), None, given, {}, (), {}, True)
    if isinstance(callee, Translated):
        return callee.apply(ctx, arguments, keywords)
    if ctx.foreign is not None and (program := ctx.foreign(callee)) is not None:
        return program.apply(ctx, arguments, keywords)
    if isinstance(callee, Method):
        return _method(ctx, callee, arguments, keywords)
    if isinstance(callee, MethodType) and (found := polyfills.of_distribution(callee)) is not None:
        return _polyfill(ctx, callee, found[0], [*arguments, *found[1]], {**keywords, **found[2]})
    if isinstance(callee, (MethodType, Applied, partial)):
        inner, first, known = _applied(callee)
        return invoke(ctx, inner, [*first, *arguments], {**known, **keywords})
    if isinstance(getattr(callee, "__self__", None), str):
        return of_text(ctx, callee, arguments, keywords)
    if of_readings(callee, (*arguments, *keywords.values())):
        return Reading()
    if is_loop_of(callee):
        return looped(ctx, callee, arguments, keywords)
    if (made := _made_outside(callee)) is not None:
        return _native(ctx, callee, made[0], [*made[1], *arguments], keywords)
    if (owner := factors.solver(callee)) is not None:
        return factors.solve(ctx, owner, *arguments, **keywords)
    if isinstance(callee, np.vectorize):
        return invoke(ctx, vectorized.of_instance(ctx, callee), arguments, keywords)
    if jitted.is_compiler(callee):
        return jitted.compiled(ctx, callee, arguments, keywords)
    if (of_numba := jitted.call_of(callee)) is not None:
        return of_numba(ctx, callee, arguments, keywords)
    check_fresh(ctx, (*arguments, *keywords.values()))
    arguments = definite_arguments(ctx, callee, arguments, keywords)
    if (sizes := known_sizes(ctx, callee, arguments, keywords)) is not None:
        known = callee(sizes)
        return invoke(ctx, np.array, [known.tolist()], {}) if isinstance(known, np.ndarray) else known
    arguments = caught.operands(ctx, callee, arguments, keywords)
    result = laid_out(ctx, callee, arguments, keywords, _of_library)
    caught.of_call(ctx, callee, arguments, result)
    return result


def _applied(callee: MethodType | Applied | partial[Any]) -> tuple[Value, Sequence[Value], Mapping[str, Value]]:
    if isinstance(callee, MethodType):
        return callee.__func__, (callee.__self__,), {}
    if isinstance(callee, Applied):
        return callee.function, callee.arguments, callee.keywords
    return callee.func, callee.args, callee.keywords


def _of_library(ctx: Context, callee: Value, arguments: Sequence[Value], keywords: Mapping[str, Value]) -> Value:
    """Call what NumPy, SciPy or Python have, or a function of the user's."""
    if any(map(of_objects, arguments)) and callee in OF_SHAPE and is_known([*arguments, *keywords.values()]):
        return callee(*arguments, **keywords)
    if not isinstance(callee, FunctionType) or callee.__module__.startswith("numpy"):
        kept_so = any(callee is f for f in (len, isinstance, type))
        arguments = [a if kept_so else numbered.as_list(ctx, a) for a in arguments]
    check_arguments(ctx, callee, arguments, keywords)
    try:
        found = of_selected(ctx, callee, arguments, keywords)
        rule = FUNCTIONS.get(callee) or TYPES.get(callee)
        polyfill = polyfills.POLYFILLS.get(callee)
    except TypeError:
        rule = polyfill = found = None
    if found is not None:
        return found
    if rule is not None:
        return _native(ctx, callee, rule, arguments, keywords)
    if polyfill is not None:
        return _polyfill(ctx, callee, polyfill, special.of_numpy(ctx, callee, arguments), keywords)
    if (body := polyfills.special_body(callee)) is not None:
        return _polyfill(ctx, callee, body, special.in_dtypes(ctx, callee, arguments), keywords)
    if isinstance(callee, np.ufunc):
        return _ufunc(ctx, callee, arguments, keywords)
    owner, name = getattr(callee, "__self__", None), getattr(callee, "__name__", "")
    if isinstance(owner, np.ufunc) and name in polyfills.UFUNC_METHODS:
        return _polyfill(ctx, callee, polyfills.UFUNC_METHODS[name], [owner, *arguments], keywords)
    return _python(ctx, callee, arguments, keywords)


def _made_outside(callee: Value) -> tuple[Callable[..., Value], tuple[Value, ...]] | None:
    """The rule of an interpolant or polynomial, or of what makes one, and what it takes before the arguments."""
    for known, rule in ((interpolants.is_polynomial, interpolants.polynomial),
                        (interpolants.is_interpolant, interpolants.call), (is_getter, got)):
        if known(callee):
            return rule, (callee,)
    return (make, ()) if (make := interpolants.maker(callee)) is not None else None


def _method(ctx: Context, method: Method, arguments: Sequence[Value], keywords: Mapping[str, Value]) -> Value:
    if isinstance(method.owner, Record):
        return dict_method(ctx, method, [kept(ctx, a) for a in arguments], keywords)
    if is_named(type(method.owner)):
        return replace(ctx, method.owner, **{k: kept(ctx, v) for k, v in keywords.items()})
    if is_set(method.owner):
        return call(ctx, method.owner, method.name, [kept(ctx, a) for a in arguments])
    if isinstance(method.owner, Grown) and (found := changed(ctx, method, arguments)):
        return found[0]
    if isinstance(method.owner, Grown):
        method = Method(as_list(ctx, method.owner), method.name)
    if isinstance(method.owner, ListValue):
        return list_method(ctx, method, [kept(ctx, a) for a in arguments], keywords)
    rule = METHODS.get(method.name)
    if rule is None:
        raise ctx.refuse(f"the method {method.name!r} of {describe(method.owner)}", "use the NumPy function", "SG101")
    if isinstance(rule, FunctionType) and rule.__module__.startswith(__package__):
        return _native(ctx, rule, rule, [method.owner, *arguments], keywords)
    return invoke(ctx, rule, [method.owner, *arguments], keywords)


def _native(ctx: Context, callee: Value, rule: Callable[..., Value], arguments: Sequence[Value],
            keywords: Mapping[str, Value]) -> Value:
    arguments, keywords = by_name(ctx, callee, rule, 1, arguments, keywords)
    out = keywords.get("out")
    takes_out = "out" in inspect.signature(rule).parameters
    if not takes_out and str(getattr(callee, "__module__", "")).split(".")[0] in ("numpy", "scipy"):
        keywords = {k: v for k, v in keywords.items() if k != "out"}
    bound = _bind(ctx, callee, rule, (ctx, *arguments), keywords)
    result = rule(*bound.args, **bound.kwargs)
    return result if takes_out else out_argument(ctx, result, out, exact=True)


def _bind(ctx: Context, callee: Value, rule: Callable[..., Value], arguments: Sequence[Value],
          keywords: Mapping[str, Value]) -> inspect.BoundArguments:
    try:
        return inspect.signature(rule).bind(*arguments, **keywords)
    except TypeError as error:
        raise ctx.refuse(f"this call of {call_name(callee)}: {error}", code="SG101") from error


def _ufunc(ctx: Context, ufunc: np.ufunc, arguments: Sequence[Value], keywords: Mapping[str, Value]) -> Value:
    arguments, keywords = list(arguments), dict(keywords)
    out = keywords.pop("out", None)
    if len(arguments) == ufunc.nin + 1:
        out = arguments.pop()
    out = out_place(ctx, out)
    dtype = keywords.pop("dtype", None)
    where = keywords.pop("where", True)
    if keywords.get("casting") == "same_kind":  # what it is anyway
        del keywords["casting"]
    if keywords or len(arguments) != ufunc.nin:
        raise ctx.refuse(f"these arguments of numpy.{ufunc.__name__}: {', '.join(keywords) or len(arguments)}",
                         "use np.where for a condition", "SG101")
    arguments = [as_masked(ctx, a) for a in arguments]
    if any(isinstance(a, CHOSEN) for a in arguments):
        if out is not None or where is not True or dtype is not None:
            raise ctx.refuse(f"numpy.{ufunc.__name__} of data selected by a mask with out=, where= or dtype=",
                             "write name = f(name), or update the whole array with np.where", "SG105")
        return on_masked(ctx, ufunc, *arguments)
    if any(isinstance(a, np.ndarray) for a in arguments):
        arguments = [constant_array(ctx, a) if isinstance(a, np.ndarray) else a for a in arguments]
    if dtype is not None:
        arguments = special.in_loop(ctx, ufunc, arguments, dtype_of(ctx, dtype))
    if all(is_number(a) for a in arguments) and out is None and where is True:
        return fold(ctx, ufunc, *arguments)
    if ufunc is np.power:
        no_negative_powers(ctx, arguments)
    result = ufunc_rule(ctx, ufunc, arguments)
    if where is not True and not isinstance(out, ArrayValue):
        raise ctx.refuse(f"numpy.{ufunc.__name__} with where= and without out=",
                         "elements that are not computed need a value: pass out=, or use np.where", "SG101")
    return out_argument(ctx, result, out, where)


def _python(ctx: Context, callee: Value, arguments: Sequence[Value], keywords: Mapping[str, Value]) -> Value:
    if draws(callee):
        raise ctx.refuse(f"a call of {getattr(callee, '__name__', 'a library')!r}", on_call(callee, ""), "SG121")
    if not is_of_constants(callee) and (isinstance(callee, Record) or method_of(callee) is not None):
        return _called(ctx, callee, arguments, keywords)
    if isinstance(callee, FunctionType) and hasattr(callee, "dispatch") and hasattr(callee, "registry") and arguments:
        return invoke(ctx, callee.dispatch(type_(ctx, arguments[0])), arguments, keywords)  # functools.singledispatch
    function = undecorated(callee)
    if not isinstance(function, FunctionType):
        return _constant_call(ctx, callee, arguments, keywords)
    package = (function.__module__ or "").split(".")[0]
    if (package, function.__name__) in OUTSIDE:
        return _native(ctx, callee, OUTSIDE[package, function.__name__], arguments, keywords)
    of_sparse = (function.__module__ or "").startswith("scipy.sparse")
    given = [*map(plain_list, arguments), *keywords.values()]
    if of_sparse and is_of_constants(function) and all(map(is_known, given)):
        return _constant_call(ctx, callee, arguments, keywords)
    if (body := polyfills.body_of(function)) is not None:
        arguments = [sparse.given(ctx, a) for a in arguments] if of_sparse else arguments
        return _polyfill(ctx, callee, body, arguments, keywords)
    if is_of_constants(function):
        return _constant_call(ctx, callee, arguments, keywords)
    if is_verb(function):
        if function.__qualname__ in INSIDE:
            return made_inside(ctx, function.__name__, arguments, keywords)
        raise ctx.refuse(f"sdfgad.{function.__name__} inside another function", on_verb(function), "SG121")
    if package in ("numpy", "scipy", "dace"):
        module = ".".join(p for p in function.__module__.split(".") if not p.startswith("_"))
        raise ctx.refuse(f"a call of {module}.{function.__qualname__}",
                         on_call(function, "this library function has no compiled form yet: write it with others, or "
                                 "call it before and pass what it gives as an argument"), "SG121")
    if function.__code__.co_flags & (inspect.CO_COROUTINE | inspect.CO_ASYNC_GENERATOR):
        raise ctx.refuse(f"a call of the coroutine {function.__name__!r}", "use an ordinary function", "SG102")
    code, around = ctx.methods_of.get(function) or (own_code(function, ctx.text), None)
    return run_in_place(ctx, code, around, list(arguments), dict(keywords), *defaults_of(ctx, function),
                        is_body(function))


def _called(ctx: Context, callee: Value, arguments: Sequence[Value], keywords: Mapping[str, Value]) -> Value:
    """An object whose class makes it callable."""
    form = callee.form if isinstance(callee, Record) else type(callee)
    if form.__module__.split(".")[0] == "sdfgad" and not issubclass(form, LibraryFunction) and not is_body(form):
        if (made := made_outside(ctx, callee)) is not None:
            return made.apply(ctx, arguments, keywords)
        raise ctx.refuse("a call of what sdfgad has made inside another function", ON_DERIVATIVES, "SG121")
    if inspect.getattr_static(form, "__call__", None) is None:
        raise ctx.refuse(f"a call of {describe(callee)}", code="SG121")
    return invoke(ctx, of_class(ctx, callee, form, "__call__"), arguments, keywords)


def _constant_call(ctx: Context, callee: Value, arguments: Sequence[Value], keywords: Mapping[str, Value]) -> Value:
    """A pure builtin on constants runs now, a plain class makes an object; anything else is refused."""
    given = [kept(ctx, a) for a in arguments], {k: kept(ctx, v) for k, v in keywords.items()}
    made = construct(ctx, callee, *given)
    if made is None:
        made = instance(ctx, callee, *given)
    if made is not None:
        return made
    arguments = [known_now(ctx, callee, a) for a in arguments]
    plain = all(map(is_known, [*arguments, *map(plain_list, keywords.values())]))
    if plain and (callee in PURE or is_of_constants(callee)):
        try:
            return _made_now(ctx, callee(*arguments, **keywords))
        except (TypeError, ValueError) as error:
            raise ctx.refuse(f"a call that fails: {error}", code="SG102") from error
    body = polyfills.body_of(callee) if isinstance(callee, type) else polyfills.routine(callee)
    if body is not None:
        check_size(ctx, callee, arguments)
        return _polyfill(ctx, callee, body, [sparse.given(ctx, a) for a in arguments], keywords)
    if is_of_constants(callee) and callee.__module__.startswith(__package__):
        raise ctx.refuse("a library function of places or sizes that are not known before the call",
                         "make them outside of the function, or of numbers", "SG103")
    owner, name = getattr(callee, "__self__", None), getattr(callee, "__name__", "")
    if isinstance(owner, (list, dict, set)) and name in _CHANGES:
        raise ctx.refuse(f"a {type(owner).__name__} from outside, or a default, changed by {name!r}",
                         "make it inside of the function, or pass it as an argument", "SG102")
    if isinstance(owner, np.ufunc) and name == "at":
        raise ctx.refuse(f"numpy.{owner.__name__}.at", "at of add, subtract, multiply, divide, maximum and minimum is "
                         "understood; for others loop over the places", "SG101")
    help = on_call(callee, "only NumPy functions and Python functions with source are understood")
    raise ctx.refuse(f"a call of {describe(callee)}", help, "SG121")


_CHANGES = frozenset((
    "append", "extend", "insert", "pop", "remove", "clear", "sort", "reverse", "update", "setdefault", "add", "discard",
    "popitem"))
"""Methods that change a list, dict or set."""


def _made_now(ctx: Context, value: Value) -> Value:
    """A result of Python: arrays, which nothing else can see, become constants."""
    if isinstance(value, tuple) and any(isinstance(v, np.ndarray) for v in value):
        return tuple(_made_now(ctx, v) for v in value)
    made = SetValue(value, len(ctx.builder.regions)) if isinstance(value, set) else value
    return constant_array(ctx, made) if isinstance(made, np.ndarray) else made


def _polyfill(ctx: Context, callee: Value, function: Callable[..., Value], arguments: Sequence[Value],
              keywords: Mapping[str, Value]) -> Value:
    arguments, keywords = by_name(ctx, callee, function, 0, arguments, keywords)
    out = keywords.pop("out", None)
    _bind(ctx, callee, function, arguments, keywords)
    defaults = tuple(getattr(function, "__defaults__", None) or ())
    result = run_in_place(ctx, own_code(function, ctx.text), None, list(arguments), keywords, defaults,
                          dict(getattr(function, "__kwdefaults__", None) or {}), True)
    return out_argument(ctx, result, out, exact=callee is not np.clip)
