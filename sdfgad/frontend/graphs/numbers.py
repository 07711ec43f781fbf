"""Arithmetic by the rules of C++: what the code that DaCe generates from a graph computes."""
from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType

import numpy as np

from sdfgad.frontend.state.builder import cast
from sdfgad.ir.expr import Call, Const, Expr, Index, Load, call, const
from sdfgad.ir.index import Ix, elem, floordiv, ix, maximum, minimum, mod

BOOL, INT, WIDE, FLOAT = np.dtype(bool), np.dtype(np.int32), np.dtype(np.int64), np.dtype(np.float64)
_LARGEST = 2 ** 31

_ON_INDICES: Mapping[str, Callable[[Ix, Ix], Ix]] = MappingProxyType({
    "add": lambda a, b: a + b, "sub": lambda a, b: a - b, "mul": lambda a, b: a * b, "floordiv": floordiv, "mod": mod,
    "minimum": minimum, "maximum": maximum})


def literal(value: bool | int | float | complex) -> Const:
    """A number as it is written: `2` is an int, `2.0` a double."""
    if isinstance(value, bool):
        return const(value, BOOL)
    if isinstance(value, int):
        return const(value, INT if -_LARGEST <= value < _LARGEST else WIDE)
    return const(value, np.dtype(np.complex128) if isinstance(value, complex) else FLOAT)


def common(*dtypes: np.dtype) -> np.dtype:
    """The dtype in which C++ computes with operands of these: an integer beside a float takes the float's."""
    floats = [d for d in dtypes if d.kind in "fc"]
    if floats:
        return np.result_type(*floats)
    found = np.result_type(INT, *dtypes)
    return np.dtype(np.uint64) if found.kind == "f" else found


def index_of(e: Expr) -> Ix | None:
    """An integer expression as an index; None where it is none."""
    if isinstance(e, Const) and e.dtype.kind in "iu":
        return ix(int(e.value))  # type: ignore[arg-type]
    if isinstance(e, Index):
        return e.ix if e.dtype.kind in "iu" else None
    if isinstance(e, Load) and e.dtype.kind in "iu":
        return elem(e.array, e.index)
    if not isinstance(e, Call) or e.dtype.kind not in "iu":
        return None
    parts = [index_of(a) for a in e.args]
    known = [p for p in parts if p is not None]
    if len(known) < len(parts):
        return None
    if e.fn in ("cast", "neg"):
        return known[0] if e.fn == "cast" else -known[0]
    return _ON_INDICES[e.fn](*known) if e.fn in _ON_INDICES else None


def arithmetic(fn: str, *args: Expr) -> Expr:
    """A scalar function of operands in their common dtype, numbers folded and indices kept together."""
    dtype = common(*(a.dtype for a in args))
    same = [cast(a, dtype) for a in args]
    if dtype.kind in "iu" and all(isinstance(a, (Const, Index)) for a in same):
        parts = [index_of(a) for a in same]
        if fn == "neg" and parts[0] is not None:
            return Index(-parts[0], dtype) if parts[0].const is None else const(-parts[0].const, dtype)
        if fn in _ON_INDICES and None not in parts:
            made = _ON_INDICES[fn](*parts)  # type: ignore[arg-type]
            return Index(made, dtype) if made.const is None else const(made.const, dtype)
    return call(fn, *same, dtype=dtype)


def divided(a: Expr, b: Expr) -> Expr:
    """`a / b`: without rest where both are integers."""
    if common(a.dtype, b.dtype).kind in "fc":
        return arithmetic("div", a, b)
    if _natural(a) and _natural(b):
        return arithmetic("floordiv", a, b)
    rest = remainder(a, b)
    return arithmetic("floordiv", arithmetic("sub", a, rest), b)


def remainder(a: Expr, b: Expr) -> Expr:
    """`a % b` with the sign of a."""
    if _natural(a) and _natural(b):
        return arithmetic("mod", a, b)
    up = arithmetic("mod", a, b)
    off = call("and", compared("ne", up, literal(0)),
               call("ne", compared("lt", a, literal(0)), compared("lt", b, literal(0)), dtype=BOOL), dtype=BOOL)
    return chosen(off, arithmetic("sub", up, b), up)


def _natural(e: Expr) -> bool:
    """Whether it is a number that is not negative."""
    return isinstance(e, Const) and isinstance(e.value, int) and e.value >= 0 or e.dtype.kind in "ub"


def compared(fn: str, a: Expr, b: Expr) -> Expr:
    dtype = common(a.dtype, b.dtype)
    a, b = cast(a, dtype), cast(b, dtype)
    if isinstance(a, Const) and isinstance(b, Const):
        return const(bool(_COMPARE[fn](a.value, b.value)), BOOL)
    return call(fn, a, b, dtype=BOOL)


_COMPARE: Mapping[str, Callable[..., object]] = MappingProxyType({
    "lt": np.less, "le": np.less_equal, "gt": np.greater, "ge": np.greater_equal, "eq": np.equal, "ne": np.not_equal})


def truth(e: Expr) -> Expr:
    if e.dtype == BOOL:
        return e
    if isinstance(e, Const):
        return const(bool(e.value), BOOL)
    return call("ne", e, const(0, e.dtype), dtype=BOOL)


def chosen(cond: Expr, a: Expr, b: Expr) -> Expr:
    """`cond ? a : b`."""
    if isinstance(cond, Const):
        return a if cond.value else b
    dtype = a.dtype if a.dtype == b.dtype else common(a.dtype, b.dtype)
    a, b = cast(a, dtype), cast(b, dtype)
    return a if a is b else call("select", cond, a, b, dtype=dtype)


def power(a: Expr, b: Expr) -> Expr:
    """`a ** b`, a product where b is a whole number that is written out."""
    if isinstance(b, Const) and b.dtype.kind in "iuf" and float(b.value).is_integer():  # type: ignore[arg-type]
        return _whole_power(a, int(b.value))  # type: ignore[arg-type]
    if a.dtype.kind in "iub" and b.dtype.kind in "iub":
        a, b = cast(a, FLOAT), cast(b, FLOAT)
    return arithmetic("pow", a, b)


def _whole_power(a: Expr, n: int) -> Expr:
    if n < 0:
        return divided(literal(1), _whole_power(a, -n))
    if n == 0:
        return literal(1)
    if a.dtype.kind in "fc":
        return a if n == 1 else call("pow", a, const(n if a.dtype.kind != "f" else float(n), a.dtype))
    made = a
    for _ in range(n - 1):
        made = arithmetic("mul", made, a)
    return made
