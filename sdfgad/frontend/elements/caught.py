"""Exceptions that data decide in the body of a `try`: ahead of a statement a number says which handler is for it.

L = cholesky(K)      ->   raised = 0 if definite(K) else 1 ; if raised == 0: L = cholesky(K), else the handler
"""
from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from types import BuiltinFunctionType, FunctionType, MappingProxyType
from typing import Any

import numpy as np

from sdfgad.frontend.bodies import floats
from sdfgad.frontend.elements.elementwise import BOOL, as_array
from sdfgad.frontend.state.context import Context
from sdfgad.frontend.state.values import ArrayValue, IntValue, Lazy, Value, contained, is_number
from sdfgad.ir.expr import Expr, Load, call, const
from sdfgad.ir.index import Ix
from sdfgad.ir.program import Failure, Range

NUMBER = np.dtype(np.int64)
_TOO_LARGE = frozenset({
    math.exp, math.exp2, math.expm1, math.cosh, math.sinh, math.hypot, math.dist, math.fsum, math.ldexp})
"""Functions that are infinite because numbers end: an OverflowError, where others have a ValueError."""
_LIMITS: Mapping[Any, np.ufunc] = MappingProxyType({
    math.pow: np.equal, math.gamma: np.less_equal, math.lgamma: np.less_equal})
"""Those of which both can be true, with what the first argument is to 0 where it is a ValueError."""
_BESIDE: Mapping[np.ufunc, np.ufunc] = MappingProxyType({np.equal: np.not_equal, np.less_equal: np.greater})
_DIVISIONS = (np.true_divide, np.floor_divide, np.remainder)
_CONVERSIONS = (int, round)
_TO_INTEGERS = frozenset({*_CONVERSIONS, math.floor, math.ceil, math.trunc})


@dataclass(eq=False)
class Watch:
    """What a statement is looked through for. kinds: what each handler is for. raised: the container of the number of
    the handler, from one on; "" where it is known that nothing is raised. found: what may be raised."""

    kinds: Sequence[tuple[type[BaseException], ...]]
    raised: str
    found: list[Failure] = field(default_factory=list)

    def handler(self, kind: type[BaseException]) -> int:
        """The number of the handler for an exception, 0 where there is none."""
        return next((k for k, kinds in enumerate(self.kinds, 1) if issubclass(kind, kinds)), 0)


@contextmanager
def passed(ctx: Context, watch: Watch) -> Iterator[None]:
    """What has been found does not happen inside, and there is nothing else."""
    again = replace(watch, raised="", found=[])
    ctx.watches.append(again)
    try:
        yield
    finally:
        ctx.watches.remove(again)
    places = {(f.form, f.source) for f in watch.found}
    if any((f.form, f.source) not in places for f in again.found):
        raise ctx.refuse("a statement that may raise in its target what a handler catches", "use if", "SG102")


def note(ctx: Context, failure: Failure, bad: Callable[[], Value] | None = None) -> bool:
    """Note that an exception comes from here, if `bad()`; False where nobody catches it. The first one counts."""
    watch = next((w for w in reversed(ctx.watches) if w.handler(failure.form)), None)
    if watch is None:
        return False
    builder = ctx.builder
    watch.found.append(replace(failure, source=builder.source))
    if not watch.raised:
        return True
    builder.check_quiet()
    number, so_far = watch.handler(failure.form), Load(watch.raised, (), NUMBER)
    happens: Expr = call("eq", so_far, const(0, NUMBER), dtype=BOOL)
    if bad is not None:
        happens = call("and", happens, as_array(ctx, bad()).at(()), dtype=BOOL)
    builder.store(watch.raised, (), call("select", happens, const(number, NUMBER), so_far, dtype=NUMBER))
    return True


def check_index(ctx: Context, i: Ix, extent: Ix, domain: Sequence[Range] = ()) -> None:
    """Refuse an index that may leave its array where a handler is for that: no run looks at it."""
    watch = next((w for w in ctx.watches if w.handler(IndexError)), None)
    if watch is None:
        return
    low, high = ctx.builder.scope.bounds(i, domain)
    size = extent.const
    if size is not None and i.const is not None and not -size <= i.const < size:
        raise ctx.raises(IndexError, f"index {i}, which is out of bounds for {size} elements", code="SG105")
    if low is None or high is None or size is None or low < -size or high >= size:
        named = not any(issubclass(ValueError, k) for kinds in watch.kinds for k in kinds)
        told, help = ("its IndexError", "compare it with the length: if k < len(x)") if named else (
            "everything", "name what it is for: except (ValueError, np.linalg.LinAlgError)")
        raise ctx.refuse(f"an index that may leave its array in a try statement that catches {told}", help, "SG102")


def of_operator(ctx: Context, ufunc: np.ufunc, left: Value, right: Value, result: Value) -> None:
    """What an operator raises between Python's numbers, where those of NumPy become infinite or NaN."""
    if not ctx.watches or ufunc not in (*_DIVISIONS, np.power):
        return
    if not (_is_pythons(left) and _is_pythons(right)):
        _check_kinds(ctx, ufunc, left, right)
    elif ufunc in _DIVISIONS:
        note(ctx, Failure(ZeroDivisionError, ("division by zero",)), lambda: _ask(ctx, np.equal, right, 0))
    else:
        for kind, zero in ((ZeroDivisionError, np.equal), (OverflowError, np.not_equal)):
            note(ctx, Failure(kind, ("a power that is too large",)), lambda zero=zero: _ask(  # type: ignore[misc]
                ctx, np.logical_and, _ask(ctx, zero, left, 0), _ask(ctx, floats.makes_infinity, result, left, right)))


def operands(ctx: Context, callee: Value, arguments: Sequence[Value], keywords: Mapping[str, Value]
             ) -> Sequence[Value]:
    """The arguments of a call, stored where what it raises will be asked of them. Functions of `scipy.linalg` look at
    them first."""
    if not any(w.raised for w in ctx.watches):
        return arguments
    home = getattr(callee, "__module__", None) or ""
    if home.startswith("scipy.linalg") and isinstance(callee, FunctionType) and keywords.get("check_finite", True) and (
            "check_finite" in inspect.signature(callee).parameters):
        given = [v for a in arguments for v in contained(a) if isinstance(v, ArrayValue) and v.dtype.kind in "fc"]
        note(ctx, Failure(ValueError, ("array must not contain infs or NaNs",)), lambda: _ask(
            ctx, floats.is_any_open, *given))
    elif home != "math" and callee not in _CONVERSIONS:
        return arguments
    return [ctx.builder.materialise(a, "operand") if isinstance(a, Lazy) else a for a in arguments]


def of_call(ctx: Context, callee: Value, arguments: Sequence[Value], result: Value) -> None:
    """What functions of `math` and conversions to integers raise, where those of NumPy give NaN or infinity."""
    if not ctx.watches or not arguments or not isinstance(callee, (type, BuiltinFunctionType)):
        return
    first = arguments[0]
    if callee in _TO_INTEGERS and isinstance(first, ArrayValue) and first.dtype.kind == "f":
        note(ctx, Failure(ValueError, ("cannot convert float NaN to integer",)), lambda: _ask(ctx, np.isnan, first))
        note(ctx, Failure(OverflowError, ("cannot convert float infinity to integer",)),
             lambda: _ask(ctx, np.isinf, first))
    elif callee.__module__ == "math" and isinstance(result, ArrayValue) and result.dtype.kind == "f":
        _of_math(ctx, callee, arguments, result)


def _of_math(ctx: Context, callee: Value, arguments: Sequence[Value], result: Value) -> None:
    domain, large = Failure(ValueError, ("math domain error",)), Failure(OverflowError, ("math range error",))
    note(ctx, domain, lambda: _ask(ctx, floats.makes_nan, result, *arguments))
    if callee not in _LIMITS:
        note(ctx, large if callee in _TOO_LARGE else domain,
             lambda: _ask(ctx, floats.makes_infinity, result, *arguments))
        return
    for failure, way in ((domain, _LIMITS[callee]), (large, _BESIDE[_LIMITS[callee]])):
        note(ctx, failure, lambda way=way: _ask(  # type: ignore[misc]
            ctx, np.logical_and, _ask(ctx, way, arguments[0], 0),
            _ask(ctx, floats.makes_infinity, result, *arguments)))


def _ask(ctx: Context, question: Any, *values: Value) -> Value:
    # Operands after what is made of them: who is stored lets go of its operands.
    held = [ctx.builder.materialise(v, "asked") if isinstance(v, Lazy) else v for v in reversed(values)]
    return ctx.invoke(ctx, question, held[::-1], {})


def _check_kinds(ctx: Context, ufunc: np.ufunc, left: Value, right: Value) -> None:
    """Refuse an operator of numbers that are Python's in some runs alone, if a handler is for what these raise."""
    if is_number(right) and (ufunc is np.power and right == 1 or ufunc is not np.power and right != 0):
        return
    if not ctx.mixed or any(isinstance(v, ArrayValue) and not v.scalar for v in (left, right)):
        return
    for kind in (ZeroDivisionError, OverflowError) if ufunc is np.power else (ZeroDivisionError,):
        if any(w.handler(kind) for w in ctx.watches):
            raise ctx.refuse(f"{kind.__name__} of numbers that are Python's in some runs and NumPy's in others",
                             "NumPy's raise none: write float(...) around both numbers, or use if", "SG102")


def _is_pythons(value: Value) -> bool:
    """Whether a number is one of Python's, not one of NumPy's, which raise nothing."""
    if isinstance(value, (ArrayValue, IntValue)):
        return value.weak if isinstance(value, ArrayValue) else value.dtype is None
    return is_number(value) and not isinstance(value, np.generic)
