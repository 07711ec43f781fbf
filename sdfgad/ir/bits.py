"""How comparisons turned out, packed into one small number: one bit each."""
from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import reduce
from types import MappingProxyType

import numpy as np

from sdfgad.ir import algebra
from sdfgad.ir.expr import Call, Const, Expr

MOST_BITS = 8
BYTE, BOOL = np.dtype(np.uint8), np.dtype(bool)
FOLLOWS: Mapping[tuple[bool, ...], str] = MappingProxyType({
    (True, False): "lt", (False, True): "gt", (True, True): "eq"})
"""What follows from how `x <= y` and `x >= y` turned out; neither holds where one is NaN."""


def packed(truths: Sequence[Expr]) -> Expr:
    """cast(a) + cast(b) * 2 + cast(c) * 4 ..."""
    total: Expr = algebra.zero(BYTE)
    for k, truth in enumerate(truths):
        bit = Call("cast", (truth,), BYTE)
        total = algebra.add(total, bit if k == 0 else Call("mul", (bit, algebra.number(2**k, BYTE)), BYTE))
    return total


def truths_of(code: Expr) -> list[Expr]:
    """What was packed, in order; nothing where the expression is something else."""
    if isinstance(code, Call) and code.fn == "add" and code.dtype == BYTE:
        before, last = truths_of(code.args[0]), code.args[1]
        made = isinstance(last, Call) and last.fn == "mul" and last.args[1] == algebra.number(2**len(before), BYTE)
        truth = truths_of(last.args[0]) if before and made and isinstance(last, Call) else []
        return [*before, *truth] if len(truth) == 1 else []
    boolean = isinstance(code, Call) and code.fn == "cast" and code.dtype == BYTE and code.args[0].dtype == BOOL
    return [code.args[0]] if boolean and isinstance(code, Call) else []


def bits(code: Expr, first: int, values: Sequence[bool]) -> Expr:
    """Whether the bits from `first` on are these. One bit that is to be set is looked at alone."""
    mask = (2**len(values) - 1) * 2**first
    one = Call("bitand", (code, algebra.number(mask, BYTE)), BYTE)
    if list(values) == [True]:
        return Call("ne", (one, algebra.zero(BYTE)), BOOL)
    return Call("eq", (one, algebra.number(sum(v * 2**(first + k) for k, v in enumerate(values)), BYTE)), BOOL)


def bits_test(test: Expr) -> tuple[Expr, int, int] | None:
    """The number, the mask and what is left of the number under it, for a test by `bits`."""
    masked = _masked(test)
    if masked is None or not isinstance(test, Call) or test.fn == "eq":
        return masked
    code, mask, wanted = masked
    return (code, mask, mask) if wanted == 0 and mask.bit_count() == 1 else None


def unpacked(test: Expr) -> Expr | None:
    """(cast(a) + cast(b) * 2 & 2) != 0   ->   b

    For a test by `bits`, or that they are not these, of what is packed in the same expression.
    """
    code, mask, wanted = _masked(test) or (test, 0, 0)
    truths = truths_of(code) if mask else []
    if not isinstance(test, Call) or not truths or mask >= 2**len(truths):
        return None
    chosen = [k for k in range(len(truths)) if mask >> k & 1]
    if test.fn == "ne" and wanted == 0 and len(chosen) == 1:
        return truths[chosen[0]]
    same = _all_so([truths[k] for k in chosen], [bool(wanted >> k & 1) for k in chosen])
    return same if test.fn == "eq" else Call("not", (same,), BOOL)


def _masked(test: Expr) -> tuple[Expr, int, int] | None:
    """The number, the mask, and what it is compared with under the mask, be it that it differs."""
    if not isinstance(test, Call) or test.fn not in ("eq", "ne"):
        return None
    both, wanted = test.args[0], _number(test.args[1])
    mask = _number(both.args[1]) if isinstance(both, Call) and both.fn == "bitand" else None
    return (both.args[0], mask, wanted) if isinstance(both, Call) and mask and wanted is not None else None


def _number(e: Expr) -> int | None:
    return int(np.real(e.value)) if isinstance(e, Const) and e.dtype == BYTE else None


def _all_so(truths: Sequence[Expr], values: Sequence[bool]) -> Expr:
    """Whether all turn out as said; of `x <= y` and `x >= y` one comparison that follows."""
    first, follows = truths[0], FOLLOWS.get(tuple(values))
    if isinstance(first, Call) and first.fn == "le" and follows and truths[1] == Call("ge", first.args, BOOL):
        return Call(follows, first.args, BOOL)
    ways = [t if v else Call("not", (t,), BOOL) for t, v in zip(truths, values, strict=True)]
    return reduce(lambda a, b: Call("and", (a, b), BOOL), ways)
