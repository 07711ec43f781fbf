"""Elementwise operations: NumPy's dtype rules, broadcasting, and the scalar expression of one element."""
from __future__ import annotations

import operator
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType
from typing import Any

import numpy as np

from sdfgad.arrays import in_words, special_class
from sdfgad.frontend.elements.instead import instead_of
from sdfgad.frontend.state.attempts import differing, of_sizes
from sdfgad.frontend.state.builder import cast, reads_of
from sdfgad.frontend.state.context import Context
from sdfgad.frontend.state.values import (
    SELECTED,
    ArrayValue,
    Grown,
    IntValue,
    Lazy,
    ListValue,
    MaskPlaces,
    Maybe,
    NoneOr,
    PlaceTable,
    Position,
    RangeValue,
    Reading,
    Record,
    RunText,
    Shape,
    Value,
    ViewValue,
    is_number,
)
from sdfgad.ir.algebra import direction
from sdfgad.ir.expr import Call, Const, Expr, Index, Load, around, call, const, wraps
from sdfgad.ir.index import Elem, Ix, floordiv, ix, mod

BOOL, INT, FLOAT, COMPLEX = map(np.dtype, (np.bool_, np.int64, np.float64, np.complex128))
UFUNCS: Mapping[np.ufunc, str] = MappingProxyType({
    np.add: "add", np.subtract: "sub", np.multiply: "mul", np.true_divide: "div", np.negative: "neg",
    np.power: "pow", np.float_power: "pow", np.floor_divide: "floordiv", np.remainder: "mod",
    np.absolute: "abs", np.fabs: "abs", np.sign: "sign", np.sqrt: "sqrt", np.cbrt: "cbrt", np.exp: "exp",
    np.exp2: "exp2", np.expm1: "expm1", np.log: "log", np.log2: "log2", np.log10: "log10", np.log1p: "log1p",
    np.sin: "sin", np.cos: "cos", np.tan: "tan", np.arcsin: "arcsin", np.arccos: "arccos", np.arctan: "arctan",
    np.sinh: "sinh", np.cosh: "cosh", np.tanh: "tanh", np.arcsinh: "arcsinh", np.arccosh: "arccosh",
    np.arctanh: "arctanh", np.arctan2: "arctan2", np.hypot: "hypot", np.maximum: "maximum", np.minimum: "minimum",
    np.fmax: "fmax", np.fmin: "fmin", np.copysign: "copysign", np.floor: "floor", np.ceil: "ceil", np.trunc: "trunc",
    np.rint: "rint", np.less: "lt", np.less_equal: "le", np.greater: "gt", np.greater_equal: "ge", np.equal: "eq",
    np.not_equal: "ne", np.logical_and: "and", np.logical_or: "or", np.logical_not: "not",
    np.bitwise_and: "bitand", np.bitwise_or: "bitor", np.bitwise_xor: "bitxor", np.invert: "invert",
    np.left_shift: "shl", np.right_shift: "shr", np.conjugate: "conj",
    np.isnan: "isnan", np.isinf: "isinf", np.isfinite: "isfinite",
})
"""NumPy's elementwise functions that are one scalar function of the rule book."""

_ON_BOOLS = MappingProxyType({"add": "or", "mul": "and", "maximum": "or", "minimum": "and", "bitand": "and",
                              "bitor": "or", "bitxor": "ne", "invert": "not"})
_KEEPS_REAL = frozenset({"conj"})
_KEEPS_INT = frozenset({"floor", "ceil", "trunc", "rint"})
_CHEAP = frozenset("add sub mul neg abs maximum minimum lt le gt ge eq ne and or not select cast real imag conj "
                   "complex bitand bitor bitxor invert".split())
_FOLDS: Mapping[np.ufunc, Callable[..., Any]] = MappingProxyType({
    np.add: operator.add, np.subtract: operator.sub, np.multiply: operator.mul, np.true_divide: operator.truediv,
    np.floor_divide: operator.floordiv, np.remainder: operator.mod, np.power: operator.pow, np.negative: operator.neg,
    np.positive: operator.pos, np.less: operator.lt, np.less_equal: operator.le, np.greater: operator.gt,
    np.greater_equal: operator.ge, np.equal: operator.eq, np.not_equal: operator.ne, np.bitwise_and: operator.and_,
    np.bitwise_or: operator.or_, np.bitwise_xor: operator.xor, np.invert: operator.invert,
    np.left_shift: operator.lshift, np.right_shift: operator.rshift, np.absolute: abs})


def as_array(ctx: Context, value: Value) -> ArrayValue:
    """A number or stored data as an array value."""
    if isinstance(value, ArrayValue):
        return value
    if isinstance(value, IntValue):
        e = int_expr(ctx, value)
        sources = frozenset(x.array for x in value.ix.elems)
        return ctx.builder.lazy((), e.dtype, lambda _: e, sources, value.dtype is None)
    if is_number(value):
        strong = isinstance(value, np.generic)
        dtype = value.dtype if strong else np.asarray(value).dtype
        ctx.builder.check_dtype(dtype)
        e = const(value.item() if strong else value, dtype)
        return Lazy((), dtype, lambda _: e, frozenset(), not strong)
    if isinstance(value, np.ndarray):
        return constant_array(ctx, value)
    if isinstance(value, (list, tuple, ListValue, Grown)):
        return ctx.invoke(ctx, np.array, (value,), {})
    if isinstance(value, (range, RangeValue)):
        ends = (value.start, value.stop) if isinstance(value, range) else map(int_value, (value.start, value.stop))
        return ctx.invoke(ctx, np.arange, (*ends, value.step), {})
    raise ctx.refuse(f"{describe(value)} where an array or a number is needed", instead_of(value), "SG109")


def constant_array(ctx: Context, value: np.ndarray, label: str = "constant") -> ArrayValue:
    """An array from outside the program, one container however often it is used."""
    check_plain(ctx, value)
    if id(value) not in ctx.outside:
        ctx.outside[id(value)] = (value, ctx.builder.constant(value, label))
    stored = ctx.outside[id(value)][1]
    if stored.view.array not in ctx.builder.arrays:  # its first use was in a trial that has been taken back
        del ctx.outside[id(value)]
        return constant_array(ctx, value, label)
    return stored


def check_plain(ctx: Context, value: Any) -> None:
    """Refuse arrays of classes of their own: the operators of matrices and masked arrays mean something else."""
    if (form := special_class(value)) is not None:
        raise ctx.refuse(f"an array of class {form.__name__}, whose operations are not those of NumPy's arrays",
                         "convert it with np.asarray before the call, with .filled(...) if it is masked", "SG108")


def describe(value: Value) -> str:
    """A value in the words of an error message."""
    if (known := _DESCRIBED.get(type(value)) or getattr(type(value), "described", None)):
        return known
    if isinstance(value, ArrayValue):
        return f"an array of shape {shape_text(value.shape)} and dtype {value.dtype}"
    if value is None or isinstance(value, (str, bool, int, float, complex)):
        return repr(value)
    if isinstance(value, Record):
        return "a dictionary" if issubclass(value.form, dict) else f"an object of class {value.form.__name__}"
    name = getattr(value, "__name__", None)
    return f"{name!r}" if name else f"a value of type {type(value).__name__}"


_DESCRIBED: Mapping[type, str] = MappingProxyType({
    IntValue: "an integer known only at run time", frozenset: "a set", ListValue: "a list", Grown: "a list",
    **dict.fromkeys(SELECTED, "data selected by a mask, whose length depends on the data,"),
    **dict.fromkeys((MaskPlaces, PlaceTable), "the places where a mask holds, whose number depends on the data,"),
    Reading: "what a clock shows", RunText: "text made from values only known at run time",
    **dict.fromkeys((Maybe, NoneOr), "a value that is None or not bound on some of the ways to this point")})


def int_expr(ctx: Context, value: IntValue) -> Expr:
    """A run-time integer as a scalar expression; an element of an array is an ordinary load."""
    dtype = value.dtype or INT
    if value.ix.const is not None:
        return const(value.ix.const, dtype)
    if len(value.ix.terms) == 1 and value.ix.terms[0][1] == 1 and len(value.ix.terms[0][0]) == 1:
        atom = value.ix.terms[0][0][0]
        if isinstance(atom, Elem):
            return cast(Load(atom.array, atom.parts, ctx.builder.arrays[atom.array].dtype), dtype)
    return cast(Index(value.ix, INT), dtype) if value.ix.elems and dtype.itemsize < 8 else Index(value.ix, dtype)


def to_ix(e: Expr) -> Ix | None:
    """An integer expression as an index, where indices can express it."""
    if isinstance(e, Const):
        return ix(int(e.value.real)) if e.dtype.kind in "iu" else None
    if isinstance(e, Index):
        return e.ix if e.dtype.kind in "iu" else None
    if e.dtype.kind not in "iu" or not isinstance(e, (Load, Call)):
        return None
    if isinstance(e, Load):
        return Ix((((Elem(e.array, e.index),), 1),))
    parts = [p for a in e.args if (p := to_ix(a)) is not None]
    stays = not wraps(e.dtype) or (e.fn == "add" and not all(p.elems for p in parts)) or (
        e.fn == "cast" and np.can_cast(e.args[0].dtype, e.dtype))
    known = e.fn in AS_INDEX and len(parts) == len(e.args) and not (e.fn in _EXACT and any(map(is_large, parts)))
    return around(of_parts(e.fn, parts, e.dtype), e.dtype) if known and stays else None


def is_large(i: Ix) -> bool:
    """Whether a multiple of data or of a place may leave 64 bits, which indices are computed with."""
    return any(atoms and abs(factor) >= LARGE_FACTOR for atoms, factor in i.terms)


def of_parts(fn: str, parts: Sequence[Ix], dtype: np.dtype | None) -> Ix:
    """An operation with indices: remainders and quotients are of numbers as the dtype holds them."""
    if fn in _EXACT and dtype is not None:
        parts = [around(p, dtype, exactly=True) for p in parts]
    return AS_INDEX[fn](*parts)


_EXACT = frozenset(("mod", "floordiv"))
LARGE_FACTOR = 2 ** 32
"""Larger than what counts of bytes and elements are multiplied with."""
AS_INDEX: Mapping[str, Callable[..., Ix]] = MappingProxyType({
    "add": operator.add, "sub": operator.sub, "mul": operator.mul, "floordiv": floordiv, "mod": mod,
    "neg": operator.neg, "cast": lambda a: a})


# dtypes

def signature(ctx: Context, ufunc: np.ufunc, operands: Sequence[ArrayValue]) -> tuple[list[np.dtype], np.dtype]:
    """Dtypes in which NumPy computes `ufunc` for these operands, Python numbers being weak."""
    literal = {"i": int, "f": float, "c": complex}
    all_weak = all(o.weak for o in operands)
    types = [literal.get(o.dtype.kind, o.dtype) if o.weak and not all_weak else o.dtype for o in operands]
    try:
        resolved = ufunc.resolve_dtypes((*types, None))
    except TypeError as error:
        raise ctx.refuse(f"numpy.{ufunc.__name__} of {' and '.join(str(o.dtype) for o in operands)}",
                         "convert the operands with astype", "SG104") from error
    for dtype in resolved:
        ctx.builder.check_dtype(dtype)
    return list(resolved[:-1]), resolved[-1]


def promote(ctx: Context, operands: Sequence[ArrayValue]) -> np.dtype:
    """NumPy's common dtype of several values."""
    if all(o.weak for o in operands):
        return np.result_type(*(o.dtype for o in operands))
    sample = {"b": False, "i": 0, "f": 0.0, "c": 0j}
    return np.result_type(*(sample[o.dtype.kind] if o.weak else o.dtype for o in operands))


# broadcasting

def broadcast(ctx: Context, shapes: Sequence[Shape]) -> Shape:
    """NumPy's broadcast shape; sizes only known at run time have to agree as formulas."""
    ndim = max((len(s) for s in shapes), default=0)
    out: list[Ix] = []
    for k in range(-ndim, 0):
        sizes = [s[k] for s in shapes if len(s) >= -k]
        chosen = next((n for n in sizes if n.const != 1), ix(1))
        for n in sizes:
            if n.const != 1 and not same_size(ctx, n, chosen):
                what = f"shapes {', '.join(map(shape_text, shapes))} that do not agree"
                raise of_sizes(sizes, ctx.refuse(what, *differing(sizes)))
        out.append(chosen)
    return tuple(out)


def same_size(ctx: Context, a: Ix, b: Ix) -> bool:
    """Whether two sizes are equal at every run."""
    return a == b or ctx.builder.scope.bounds(a - b) == (0, 0)


def shape_text(shape: Shape) -> str:
    return f"({', '.join(map(str, shape))}{',' if len(shape) == 1 else ''})"


def project(shape: Shape, position: Position) -> Position:
    """The element of a value of `shape` that broadcasting puts at `position`."""
    offset = len(position) - len(shape)
    return tuple(ix(0) if n.const == 1 else position[offset + k] for k, n in enumerate(shape))


def expand(ctx: Context, value: ArrayValue, shape: Shape) -> ArrayValue:
    """A value broadcast to `shape`, for assignment."""
    what = f"shape {shape_text(value.shape)} put into shape {shape_text(shape)}"
    if any(n.const != 1 for n in value.shape[:max(len(value.shape) - len(shape), 0)]):
        raise ctx.refuse(what, code="SG103")
    for n, m in zip(reversed(value.shape), reversed(shape), strict=False):
        if n.const != 1 and not same_size(ctx, n, m):
            raise of_sizes((n, m), ctx.refuse(what, *differing((n, m))))
    own = value.shape[max(len(value.shape) - len(shape), 0):]
    extra = (ix(0),) * (len(value.shape) - len(own))
    prepared = settle_costly(ctx, value, shape)
    return Lazy(shape, value.dtype, lambda p: prepared.at((*extra, *project(own, p))), value.reads, value.weak,
                parts=(prepared,))


def settle_costly(ctx: Context, value: ArrayValue, shape: Shape) -> ArrayValue:
    """Store a value first when broadcasting would compute it over and over."""
    if isinstance(value, Lazy) and value.costly and value.stored is None:
        repeated = len(shape) > len(value.shape) or any(
            n.const == 1 and m.const != 1 for n, m in zip(reversed(value.shape), reversed(shape), strict=False))
        if repeated:
            return ctx.builder.materialise(value, "tmp")
    return value


# operations

def lift(ctx: Context, operands: Sequence[ArrayValue], dtype: np.dtype, build: Callable[..., Expr], weak: bool = False,
         costly: bool = False) -> Lazy:
    """An elementwise value: `build` makes one element from the operands' elements."""
    shape = broadcast(ctx, [o.shape for o in operands])
    parts = [settle_costly(ctx, o, shape) for o in operands]
    shapes = [o.shape for o in parts]

    def element(position: Position) -> Expr:
        return build(*(p.at(project(s, position)) for p, s in zip(parts, shapes, strict=True)))

    costly = costly or any(isinstance(p, Lazy) and p.costly for p in parts)
    return ctx.builder.lazy(shape, dtype, element, reads_of(*parts), weak and not shape, costly, tuple(parts))


def apply(ctx: Context, ufunc: np.ufunc, *values: Value) -> Value:
    """One of NumPy's elementwise functions, or the operator of the same meaning, on any values."""
    if all(is_number(v) for v in values):
        return fold(ctx, ufunc, *values)
    operands = [as_array(ctx, v) for v in in_words(ufunc, values)]
    fn = UFUNCS[ufunc]
    inputs, out = signature(ctx, ufunc, operands)
    weak = all(o.weak for o in operands) and ufunc in _FOLDS
    if fn in _KEEPS_REAL and out.kind != "c" or fn in _KEEPS_INT and out.kind in "iub":
        return lift(ctx, operands, out, lambda e: cast(e, out), weak)
    if fn in ("and", "or", "not"):
        return lift(ctx, operands, BOOL, lambda *es: call(fn, *(truth(e) for e in es), dtype=BOOL))
    if fn in ("isnan", "isinf", "isfinite") and operands[0].dtype.kind in "iub":
        return lift(ctx, operands, BOOL, lambda e: const(fn == "isfinite", BOOL))
    fn = _on_bools(ctx, fn, ufunc) if inputs[0] == BOOL else fn

    def build(*es: Expr) -> Expr:
        return _combine(fn, [_operand(ctx, e, t) for e, t in zip(es, inputs, strict=True)], out)

    return lift(ctx, operands, out, build, weak, fn not in _CHEAP)


def _on_bools(ctx: Context, fn: str, ufunc: np.ufunc) -> str:
    if fn in ("abs", "lt", "le", "gt", "ge", "eq", "ne", "sign"):
        return fn
    if fn not in _ON_BOOLS:
        raise ctx.refuse(f"numpy.{ufunc.__name__} of booleans", "convert them with astype(float)", "SG104")
    return _ON_BOOLS[fn]


def _operand(ctx: Context, e: Expr, dtype: np.dtype) -> Expr:
    if isinstance(e, Const) and dtype.kind in "iu" and isinstance(e.value, int):
        limits = np.iinfo(dtype)
        if not limits.min <= e.value <= limits.max:
            raise ctx.refuse(f"the number {e.value} in {dtype} arithmetic", "it does not fit this type", "SG104")
    return cast(e, dtype)


def _combine(fn: str, args: list[Expr], dtype: np.dtype) -> Expr:
    if fn == "abs" and args[0].dtype.kind in "bu":
        return args[0]
    if fn == "sign" and dtype.kind == "c":
        return direction(args[0])
    if fn == "pow" and isinstance(args[1], Const) and dtype.kind != "i":
        args = [args[0], _whole_exponent(args[1])]
    return call(fn, *args, dtype=dtype)


def _whole_exponent(e: Const) -> Const:
    """2.0 or 2+0j as 2: such powers are products, and their derivatives are finite."""
    whole = e.value.imag == 0 and float(e.value.real).is_integer() and abs(e.value) < 2 ** 31
    return Const(int(e.value.real), e.dtype) if whole else e


def truth(e: Expr) -> Expr:
    """The expression as a boolean."""
    if e.dtype == BOOL:
        return e
    if isinstance(e, Const):
        return const(bool(e.value), BOOL)
    return call("ne", e, const(e.dtype.type(0).item(), e.dtype), dtype=BOOL)


def fold(ctx: Context, ufunc: np.ufunc, *values: Value) -> Value:
    """The operation on numbers known now, as Python or NumPy computes it."""
    python = _FOLDS.get(ufunc)
    plain = python is not None and not any(isinstance(v, np.generic) for v in values)
    try:
        with np.errstate(all="ignore"):
            return python(*values) if plain and python is not None else ufunc(*values)
    except (ArithmeticError, ValueError, TypeError) as error:
        raise ctx.refuse(f"a computation that fails: {error}", code="SG102") from error


def select(ctx: Context, condition: Value, chosen: Value, other: Value, weak: bool = False) -> Lazy:
    """`where(condition, chosen, other)`: only the branch taken is evaluated. weak: one of the two as it is."""
    c, a, b = (as_array(ctx, v) for v in (condition, chosen, other))
    ctx.mixed |= weak and a.weak != b.weak
    dtype = promote(ctx, (a, b))
    ctx.builder.check_dtype(dtype)
    return lift(ctx, (c, a, b), dtype,
                lambda x, y, z: call("select", truth(x), cast(y, dtype), cast(z, dtype), dtype=dtype),
                weak and a.weak and b.weak)


def convert(ctx: Context, value: Value, dtype: np.dtype, weak: bool = False) -> Value:
    """`astype`: always a fresh value."""
    ctx.builder.check_dtype(dtype)
    operand = as_array(ctx, value)
    return lift(ctx, (operand,), dtype, lambda e: cast(e, dtype), weak,
                isinstance(operand, Lazy) and operand.costly)


def strong(ctx: Context, value: Value) -> ArrayValue:
    """Numbers of NumPy's in place of Python's: unlike these, they decide the dtype of what is computed with them."""
    found = as_array(ctx, value)
    if isinstance(found, ViewValue):
        return replace(found, weak=False)
    return lift(ctx, (found,), found.dtype, lambda e: e) if found.weak else found


# integers known at run time

def int_ix(value: Value) -> Ix:
    """The index of an integer value."""
    return value.ix if isinstance(value, IntValue) else ix(int(value))


def int_value(i: Ix, dtype: np.dtype | None = None) -> Value:
    """A Python int when the number is known, else a run-time integer."""
    if i.const is None:
        return IntValue(i if dtype is None else around(i, dtype), dtype)
    return i.const if dtype is None else dtype.type(i.const)
