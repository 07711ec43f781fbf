"""Python's integers have no largest one, those of a compiled program do: 64 bits. What may grow beyond them is a float
where a float serves as well; else the run stops before it is wrong."""
from __future__ import annotations

import ast
import math
from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType

import numpy as np

from sdfgad.frontend.elements.elementwise import BOOL, INT, LARGE_FACTOR, as_array, int_ix, to_ix
from sdfgad.frontend.elements.failing import fail, raise_if
from sdfgad.frontend.merging.merge import Kind, grows, kind_of
from sdfgad.frontend.state.context import Context
from sdfgad.frontend.state.values import ArrayValue, IntValue, Value, is_int
from sdfgad.frontend.syntax.growth import growing, only_floats, remainders, updated
from sdfgad.ir.algebra import cast
from sdfgad.ir.expr import Expr, Index, call, const
from sdfgad.ir.index import Elem, Ix, elem, of_atom
from sdfgad.ir.program import Failure

_FLOAT = np.dtype(np.float64)
_LARGEST = 2 ** 63 - 2 ** 24
"""Up to here 64 bits suffice, whichever way the float is rounded that tells the size."""
_LARGEST_POWER = 2 ** 62
"""Two of them can be added to each other."""
_POWERS = (np.power, np.left_shift)
_TEXT = "an integer that leaves 64 bits, which Python's do not: use floats, 1.0 for 1 and 2.0 ** k for 2 ** k"


_SIZES: Mapping[Callable[..., int], Callable[..., float]] = MappingProxyType({
    math.factorial: lambda n: math.lgamma(n + 1),
    math.perm: lambda n, k=None: math.lgamma(n + 1) - math.lgamma(n - min(n, n if k is None else k) + 1),
    math.comb: lambda n, k: math.lgamma(n + 1) - math.lgamma(n - (j := min(k, n // 2)) + 1) - math.lgamma(j + 1)
    + math.log(max(n, 1)),
    math.lcm: lambda a, b: math.log(max(a, 1)) + math.log(max(b, 1))})
"""Function of integers -> logarithm of the largest number on the way to its result, by the largest arguments."""


def check_size(ctx: Context, function: Value, arguments: Sequence[Value]) -> None:
    """Refuse a function of integers that the loops around may take beyond 64 bits. Short loops are written out then,
    and Python computes it."""
    places = [int_ix(a) for a in arguments if is_int(a)]
    scope = ctx.builder.scope
    counters = {r.var for r in scope.ranges}
    if function not in _SIZES or all(i.symbols.isdisjoint(counters) for i in places):
        return
    most = [scope.bounds(i)[1] for i in places]
    if any(n is None for n in most) or _SIZES[function](*(max(n or 0, 0) for n in most)) > math.log(_LARGEST):
        raise ctx.refuse(f"a call of {function.__name__!r} that may leave 64 bits as loops go on",
                         "use floats: math.gamma(n + 1) for a factorial, scipy.special.comb and perm", "SG102")


def floating(ctx: Context, loop: ast.For | ast.While, kinds: Mapping[str, Kind]) -> dict[str, Kind]:
    """The integers that a loop carries and makes larger and larger, as the floats that serve as well.

    fact = 1                                  ->   fact = 1.0
    for k in range(1, n): fact = fact * k ; s += x ** k / fact
    """
    whole = {n for n, k in kinds.items() if _is_whole(k) and ("no float", loop, n) not in ctx.hints}
    if not whole:
        return {}
    names = growing(loop)
    others = {n for n, v in ctx.frame.names.items() if not _is_whole(kind_of(v))}
    found = {n: Kind((), _FLOAT, True) for n in whole & names}
    return found if found and only_floats(ctx.frame.code.body, names - others, others) else {}


def not_floating(ctx: Context, loop: ast.For | ast.While, name: str) -> None:
    """What a loop carries is not a number of Python's in the end: it is what it would be without all this."""
    ctx.hints["no float", loop, name] = True


def note_growing(ctx: Context, loop: ast.For | ast.While, name: str, written: str, before: Value, container: str
                 ) -> None:
    """Note whether a container is for an integer which a loop makes larger and larger, and how large it becomes. name,
    written: what carries it, here and in the text; before: its value ahead of the loop."""
    known = ctx.builder.growing
    first = abs(before) if type(before) is int else None
    if isinstance(before, IntValue) and len(before.ix.elems) == 1 and before.ix == elem(*_read(before.ix)):
        first = known.get(_read(before.ix)[0])
    known.pop(container, None)
    if _is_whole(kind_of(before)) and (written in growing(loop) or ("grows", loop, name) in ctx.hints):
        most = remainders(loop).get(written)
        known[container] = None if most is None or first is None else max(most, first)


def found_growing(ctx: Context, loop: ast.For | ast.While, name: str, written: str, value: Value) -> bool:
    """Whether a loop makes an integer larger where its text does not say so: a field or an item, or in a function.
    It is noted for the next trial."""
    told = written in updated(loop) or ("grows", loop, name) in ctx.hints
    if told or not isinstance(value, IntValue) or value.dtype is not None or not grows(ctx, value.ix):
        return False
    ctx.hints["grows", loop, name] = True
    return True


def _read(i: Ix) -> tuple[str, tuple[Ix, ...]]:
    return i.elems[0].array, i.elems[0].parts


def within_bits(ctx: Context, ufunc: np.ufunc, left: Value, right: Value, result: Value) -> None:
    """Have the run stop where an operation with Python's integers would leave 64 bits."""
    size = None
    if isinstance(result, IntValue) and result.dtype is None:
        size = _of_index(ctx, result.ix)
    elif isinstance(result, ArrayValue) and result.weak and result.dtype.kind == "i" and not result.shape:
        found = None if ufunc in _POWERS else to_ix(result.at(()))
        size = _of_power(ctx, left, right, ufunc) if found is None else _of_index(ctx, found)
    if size is None:
        return
    if any(w.handler(OverflowError) for w in ctx.watches):
        raise ctx.refuse("an integer that may leave 64 bits in a try statement that catches OverflowError",
                         "Python raises none here: name other exceptions", "SG102")
    largest = _LARGEST_POWER if ufunc in _POWERS else _LARGEST
    beyond = call("gt", size, const(float(largest), _FLOAT), dtype=BOOL)
    raise_if(ctx, beyond, lambda: fail(ctx, Failure(OverflowError, (_TEXT,))))


def _is_whole(kind: Kind | None) -> bool:
    return kind is not None and kind.weak and not kind.shape and kind.dtype.kind == "i"


def _may_be_large(ctx: Context, i: Ix) -> bool:
    arrays, growing = ctx.builder.arrays, ctx.builder.growing
    found, weight, size = False, 0, 0.0
    for atoms, factor in i.terms:
        read = [a for a in atoms if isinstance(a, Elem)]
        if any(a.parts and arrays[a.array].role == "transient" for a in read):  # of a list: nobody knows what fills it
            weight += abs(factor) * len(atoms)
        found |= len(read) > 2 or bool(read) and abs(factor) >= LARGE_FACTOR or any(a.array in growing for a in read)
        most = [growing.get(a.array) if isinstance(a, Elem) else None for a in atoms]
        size += math.inf if None in most else math.prod(most, start=abs(factor))  # type: ignore[arg-type]
    if size <= _LARGEST or not (found or weight > 1):
        return False
    low, high = ctx.builder.scope.bounds(i)
    return low is None or high is None or max(-low, high) > _LARGEST


def _of_index(ctx: Context, i: Ix) -> Expr | None:
    """How large the terms of an index are together, as a float; None where they are hardly large."""
    if not _may_be_large(ctx, i):
        return None
    total: Expr = const(0.0, _FLOAT)
    for atoms, factor in i.terms:
        size: Expr = const(float(abs(factor)), _FLOAT)
        for atom in atoms:
            size = call("mul", size, _size(of_atom(atom)))
        total = call("add", total, size)
    return total


def _of_power(ctx: Context, left: Value, right: Value, ufunc: np.ufunc) -> Expr | None:
    """How large a power of two integers, or a shift by some bits, is as a float; None where it is small enough."""
    if ufunc not in _POWERS:
        return None
    base, exponent = (to_ix(as_array(ctx, v).at(())) for v in (left, right))
    if base is None or exponent is None or ufunc is np.power and base.const in (-1, 0, 1):
        return None
    (low, high), (_, most) = ctx.builder.scope.bounds(base), ctx.builder.scope.bounds(exponent)
    if low is not None and high is not None and most is not None and _power(
            ufunc, max(-low, high), max(min(most, 64), 0)) <= _LARGEST_POWER:
        return None
    if ufunc is np.power:
        return call("pow", _size(base), _size(exponent))
    return call("mul", _size(base), call("pow", const(2.0, _FLOAT), _size(exponent)))


def _power(ufunc: np.ufunc, base: int, exponent: int) -> int:
    return int(base ** exponent) if ufunc is np.power else base << exponent


def _size(i: Ix) -> Expr:
    return call("abs", cast(Index(i, INT), _FLOAT))
