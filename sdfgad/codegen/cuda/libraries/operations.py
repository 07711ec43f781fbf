"""Library operations as calls of NVIDIA's libraries and the kernels around them: program to program.

A routine says in the device's memory whether it has failed. What it says goes into one number of the program, which the
host looks at behind everything, and before whatever it decides: nothing waits for a factorisation alone.
"""
from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from types import MappingProxyType

import numpy as np

from sdfgad.analysis.elements.access import size_bound
from sdfgad.codegen.cpp import Frame, least_trips
from sdfgad.codegen.cuda.libraries.batches import MATMULS, one_of
from sdfgad.codegen.cuda.libraries.checks import KNOWN, without_pivots
from sdfgad.codegen.cuda.libraries.rooms import ROOMS, room_of
from sdfgad.codegen.cuda.libraries.snapshots import SnapshotForms
from sdfgad.codegen.library_forms import (
    FORMS,
    Forms,
    by_rows,
    conjugate,
    copy,
    is_usable,
    product_loops,
    product_size,
    triangle,
)
from sdfgad.codegen.view_strides import view_strides
from sdfgad.errors import UnsupportedError, unsupported
from sdfgad.ir import algebra
from sdfgad.ir.expr import Call, Const, Expr, Index, Load, call, const
from sdfgad.ir.index import Ix, ix
from sdfgad.ir.program import Array, Lib, Loop, Map, Range, Stmt, Store, View, all_of, axis
from sdfgad.names import fresh
from sdfgad.thresholds import thresholds

LOOK, MERGE, SIGNS = "look", "merge", "signs"
"""Operations of the device alone: the host looks for trouble; sorted runs become longer ones; threads have said in
these arrays which of their matrices had no result (`systems.py`)."""
IN_PLACE = frozenset(("getrf", "getrs", "potrf", "trsolve", "geqrf", "orgqr", "syevd", "gesvd"))
"""Routines that work on what their first result holds before."""
SINGULAR, UNCONVERGED = 1, 2
"""What `sg::look` raises for."""
ROOM = "room"
"""The attribute of a routine that has what it works in."""
_INT32, _INT64, _BOOL = (np.dtype(t) for t in (np.int32, np.int64, np.bool_))
_SEVERAL = 64
"""Of several products each may have so many times fewer multiplications than a single one that is worth a call."""
_MOST = 1 << 31
"""Extents and distances are numbers of 32 bits to the libraries."""


@dataclass
class DeviceForms(Forms):
    """trouble: the number that says what has failed; there is none as long as nothing can."""

    trouble: View | None = None
    snapshots: SnapshotForms = field(default_factory=SnapshotForms)

    def operation(self, frame: Frame, stmt: Lib) -> list[Stmt]:
        frame = replace(frame, arrays=self.arrays)
        if stmt.op == "fail":
            return [stmt]
        if stmt.op in ("seal", "unseal"):
            copied = self.snapshots.saved if stmt.op == "seal" else self.snapshots.restored
            return [copied(self, frame, stmt)]
        before, stmt, after = self._in_reach(frame, stmt)
        form = OPERATIONS[stmt.op] or FORMS[stmt.op]
        frame = replace(frame, arrays=self.arrays)
        return [*before, *(self.with_room(frame, one) for one in form(self, frame, stmt)), *after]

    def with_room(self, frame: Frame, stmt: Stmt) -> Stmt:
        """A routine with what it works in as its last result."""
        if not isinstance(stmt, Lib) or stmt.op not in ROOMS or ROOM in stmt.attrs:
            return stmt
        room = self.workspace(frame, (ix(room_of(frame, stmt)),), stmt.outs[0].dtype)
        return replace(stmt, outs=(*stmt.outs, room), attrs=MappingProxyType({**stmt.attrs, ROOM: True}))

    def is_small(self, frame: Frame, stmt: Lib) -> bool:
        """Products with vectors are bound by memory, which plain kernels read once."""
        vectors = any(len(v.shape) < 2 for v in (*stmt.outs, *stmt.ins[:2]))
        return vectors or product_size(frame, stmt) <= thresholds().device.library_product

    def _in_reach(self, frame: Frame, stmt: Lib) -> tuple[list[Stmt], Lib, list[Stmt]]:
        """Operands that lie where the host can tell, through copies where data say where that is."""
        before: list[Stmt] = []
        after: list[Stmt] = []

        def found(view: View, into: bool) -> View:
            if any(n.elems or (n.bounds(frame.bounds)[1] or 0) >= _MOST for n in view.shape):
                raise _refused(stmt, "whose size data decide")
            steps, start = view_strides(frame, view)
            if None not in steps and not start.elems:
                return view
            if into and stmt.op == "matmul" and _is_turned(view):
                return found(view.transposed, into).transposed
            space = self.workspace(frame, view.shape, view.dtype)
            (before if into else after).append(copy(space, view) if into else copy(view, space))
            return space

        ins = tuple(found(v, True) if v.shape else v for v in stmt.ins)
        outs = tuple(found(v, False) for v in stmt.outs)
        if stmt.attrs.get("accumulate"):
            before += [copy(o, v) for o, v in zip(outs, stmt.outs, strict=True) if o is not v]
        return before, replace(stmt, ins=ins, outs=outs), after

    def info(self, frame: Frame) -> tuple[View, Stmt]:
        """Where a routine says how it went, and that all is well as long as it has not run."""
        view = self.workspace(frame, (ix(1),), _INT32)
        return view, Map((), (Store(view.array, (ix(0),), const(0, _INT32)),))

    def noted(self, trouble: int, *signs: View) -> Map:
        """The first trouble stays: `trouble = trouble or (code if any sign else 0)`."""
        trouble_of, none, place = self.number(), const(0, _INT32), (ix(0),)
        value: Expr = none
        for sign in signs:
            failed = call("ne", Load(sign.array, sign.at(place), _INT32), none, dtype=_BOOL)
            value = algebra.select(failed, const(trouble, _INT32), value)
        so_far = Load(trouble_of.array, place, _INT32)
        value = algebra.select(call("ne", so_far, none, dtype=_BOOL), so_far, value)
        return Map((), (Store(trouble_of.array, place, value),))

    def number(self) -> View:
        """The number that says what has failed."""
        if self.trouble is None:
            name = fresh("trouble", self.taken | self.arrays.keys())
            self.arrays[name] = Array(name, (1,), _INT32)
            self.trouble = self.arrays[name].whole
        return self.trouble


def _is_turned(view: View) -> bool:
    """Whether the columns of a matrix are rows in memory, as those of `x[k].T`: it is copied along them."""
    last = view.index[-1].symbols
    return len(view.shape) == 2 and axis(0) in last and axis(1) not in last


def _refused(stmt: Lib, which: str) -> UnsupportedError:
    return unsupported(stmt.source, f"the library operation {stmt.op} on a block {which}, on a graphics processor",
                       'give it blocks of a fixed size, or run it with device="cpu"')


def _product(forms: DeviceForms, frame: Frame, stmt: Lib) -> list[Stmt]:
    """Numbers of the device that a product is scaled by go into its first factor; so does a zero, which says to the
    library that the operands do not matter. A sum of no terms is cleared first."""
    if forms.is_small(frame, stmt):
        return product_loops(stmt)
    a, b, *scale = stmt.ins
    factor = stmt.attrs.get("factor", 1)
    before: list[Stmt] = []
    attrs = dict(stmt.attrs)
    if scale or factor == 0:
        space = forms.workspace(frame, a.shape, a.dtype)
        factors: list[Expr] = [Load(v.array, v.index, v.dtype) for v in scale]
        numbers = [*factors, Const(factor, a.dtype)]
        conj = bool(attrs.pop("conj_a", False)) and a.dtype.kind == "c"

        def scaled(value: Expr) -> Expr:
            value = conjugate(value) if conj else value
            for number in numbers:
                value = Call("mul", (value, number), a.dtype)
            return value

        before, a, attrs["factor"] = [copy(space, a, scaled)], space, 1
    if not attrs.get("accumulate") and not least_trips(Range("_", ix(0), a.shape[-1]), frame.bounds):
        ranges, at = stmt.outs[0].points("w")
        out = stmt.outs[0]
        before.append(Map(ranges, (Store(out.array, out.at(at), algebra.zero(out.dtype)),), stmt.source))
        attrs["accumulate"] = True
    return [*before, *FORMS["matmul"](forms, frame, replace(stmt, ins=(a, b), attrs=MappingProxyType(attrs)))]


def _products(forms: DeviceForms, frame: Frame, stmt: Lib) -> list[Stmt]:
    """One call for all of them where matrices lie at fixed distances and are neither very small nor conjugated."""
    r, one = one_of(stmt)
    (out,), inner = one.outs, frame.inside([r])
    each, least = product_size(inner, one), thresholds().device.library_product
    if out.dtype.kind not in "fc" or each * (r.trips or 0) <= least or each * _SEVERAL <= least:
        return [replace(m, domain=(r, *m.domain)) for m in product_loops(one) if isinstance(m, Map)]
    conj = out.dtype.kind == "c" and (stmt.attrs.get("conj_a") or stmt.attrs.get("conj_b"))
    apart = view_strides(frame, stmt.outs[0])[0][0]
    if conj or not apart or stmt.attrs.get("factor", 1) == 0 or not all(is_usable(inner, v) for v in (out, *one.ins)):
        return [Loop(r, forms.block(inner, (one,)))]
    return [stmt]


Form = Callable[[DeviceForms, Frame, Lib], list[Stmt]]


def _told(op: str, trouble: int = 0) -> Form:
    """The form of the processor, whose routine `op` says how it went: trouble, if that may be bad."""

    def form(forms: DeviceForms, frame: Frame, stmt: Lib) -> list[Stmt]:
        out: list[Stmt] = []
        for one in FORMS[stmt.op](forms, frame, stmt):
            if isinstance(one, Lib) and one.op == op:
                info, well = forms.info(frame)
                out += [well, replace(one, outs=(*one.outs, info))]
                out += [forms.noted(trouble, info)] if trouble else []
            else:
                out.append(one)
        return out

    return form


def _solve(forms: DeviceForms, frame: Frame, stmt: Lib) -> list[Stmt]:
    """A singular matrix has factors, too, and a determinant, but solves nothing."""
    if stmt.attrs.get(KNOWN):
        return _told("getrs")(forms, frame, stmt)
    look, bad = without_pivots(forms, frame, stmt.ins[0])
    sign = forms.workspace(frame, (ix(1),), _INT32)
    value = algebra.select(bad, const(1, _INT32), const(0, _INT32))
    return [*look, Map((), (Store(sign.array, sign.at((ix(0),)), value),)), forms.noted(SINGULAR, sign),
            *_told("getrs")(forms, frame, stmt)]


def inverse(forms: Forms, frame: Frame, stmt: Lib) -> list[Stmt]:
    """The solution for the columns of the identity."""
    (x,), (a,) = stmt.outs, stmt.ins
    factors, one = (forms.workspace(frame, a.shape, a.dtype) for _ in range(2))
    pivots = forms.workspace(frame, a.shape[:1], _INT32)
    ranges, (i, j) = a.points("w")
    same = Call("eq", (Index(i, _INT64), Index(j, _INT64)), _BOOL)
    unit = algebra.select(same, algebra.number(1, a.dtype), algebra.zero(a.dtype))
    identity = Map(ranges, (Store(one.array, one.at((i, j)), unit),))
    steps = (Lib("lu", (factors, pivots), (a,), {}, stmt.source), identity,
             Lib("solve", (x,), (factors, pivots, one), {}, stmt.source))
    return list(forms.block(frame, steps))


def _definite(forms: DeviceForms, frame: Frame, stmt: Lib) -> list[Stmt]:
    """What the routine of the factorisation says, of which nobody else hears."""
    (told,), (a,) = stmt.outs, stmt.ins
    space, (info, well) = forms.workspace(frame, a.shape, a.dtype), forms.info(frame)
    fine = call("eq", Load(info.array, info.at((ix(0),)), _INT32), const(0, _INT32), dtype=_BOOL)
    return [triangle(space, a), well, Lib("potrf", (space, info), (), {}, stmt.source),
            Map((), (Store(told.array, told.at((ix(0),)), fine),), stmt.source)]


def cholesky_adjoint(forms: Forms, frame: Frame, stmt: Lib) -> list[Stmt]:
    """`S = L^-T phi(L^T C) L^-1` for the lower triangle C of the cotangent, where phi takes the lower triangle and half
    the diagonal; what goes to an element below the diagonal is S there and above (I. Murray, "Differentiation of the
    Cholesky decomposition", 2016): two solves and a product, which are quicker on a device than a recursion."""
    (x,), (factor, cotangent) = stmt.outs, stmt.ins
    low, inner, half, whole = (forms.workspace(frame, x.shape, x.dtype) for _ in range(4))
    solve = {"lower": False, "unit": False}
    turned = factor.transposed
    steps = (triangle(low, cotangent), Lib("matmul", (whole,), (turned, low), {}, stmt.source),
             triangle(inner, whole, halved=True), Lib("trsolve", (half,), (turned, inner), solve, stmt.source),
             Lib("trsolve", (whole,), (turned, half.transposed), solve, stmt.source))
    ranges, (i, j) = x.points("w")
    below, on = (Call(fn, (Index(j, _INT64), Index(i, _INT64)), _BOOL) for fn in ("le", "eq"))
    one, other = (Load(whole.array, whole.at(p), x.dtype) for p in ((i, j), (j, i)))
    both = algebra.select(on, one, algebra.add(one, other))
    value = algebra.select(below, both, algebra.zero(x.dtype))
    return [*forms.block(frame, steps), Map(ranges, (Store(x.array, x.at((i, j)), value),), stmt.source)]


def _finite(held: View, origin: View, bad: View, lower: bool = False) -> list[Stmt]:
    """A copy without what is not finite, and whether any is; `lower`: of a triangle by columns, zeros elsewhere."""
    ranges, at = held.points("w")
    element = origin.load(at)
    counts: Expr = call("isfinite", element, dtype=_BOOL)
    wrong: Expr = call("not", counts, dtype=_BOOL)
    if lower:
        inside = Call("le", (Index(at[0], _INT64), Index(at[1], _INT64)), _BOOL)
        counts, wrong = (call("and", inside, e, dtype=_BOOL) for e in (counts, wrong))
    value = algebra.select(counts, element, algebra.zero(origin.dtype))
    sign = algebra.select(wrong, const(1, _INT32), const(0, _INT32))
    none = Map((), (Store(bad.array, (ix(0),), const(0, _INT32)),))
    return [Map(ranges, (Store(held.array, held.at(at), value),)), none,
            Map(ranges, (Store(bad.array, (ix(0),), sign, "max"),))]


def _put(out: View, first: Ix, origin: View, change: Callable[[Expr], Expr] | None = None) -> Map:
    """Rows of a result, from `first` on; a vector is one row, and may be real where the result is complex."""
    ranges, at = origin.points("w")
    value: Expr = origin.load(at)
    value = algebra.cast(change(value) if change is not None else value, out.dtype)
    place = (first + at[0], at[1]) if len(at) == 2 else (first, at[0])
    return Map(ranges, (Store(out.array, out.at(place), value),))


def _real(dtype: np.dtype) -> np.dtype:
    return np.empty(0, dtype).real.dtype


def _eigh(forms: DeviceForms, frame: Frame, stmt: Lib) -> list[Stmt]:
    (out,), (a,) = stmt.outs, stmt.ins
    n = a.shape[0]
    held, values = forms.workspace(frame, a.shape, a.dtype), forms.workspace(frame, (n,), _real(a.dtype))
    (info, well), (bad, _) = forms.info(frame), forms.info(frame)
    return [*_finite(held, a.transposed, bad, lower=True), well,
            Lib("syevd", (held, values, info), (), {}, stmt.source), forms.noted(UNCONVERGED, info, bad),
            _put(out, ix(0), held.transposed), _put(out, n, values)]


def _svd(forms: DeviceForms, frame: Frame, stmt: Lib) -> list[Stmt]:
    """Of a matrix with more columns than rows that of the transposed one: A^T = conj(V) S U^T."""
    (out,), (a,) = stmt.outs, stmt.ins
    (m, n), extents = a.shape, [e.const for e in a.shape]
    if None in extents:
        raise _refused(stmt, "whose size changes")
    tall = (m - n).const is not None and (m - n).const >= 0
    rows, k = (m, n) if tall else (n, m)
    held, left = (forms.workspace(frame, (k, rows), a.dtype) for _ in range(2))
    right, values = forms.workspace(frame, (k, k), a.dtype), forms.workspace(frame, (k,), _real(a.dtype))
    (info, well), (bad, _) = forms.info(frame), forms.info(frame)
    turn = conjugate if a.dtype.kind == "c" else None
    first, second = (left.transposed, right) if tall else (right, left.transposed)
    return [*_finite(held, a.transposed if tall else a, bad), well,
            Lib("gesvd", (held, values, left, right, info), (), {}, stmt.source), forms.noted(UNCONVERGED, info, bad),
            _put(out, ix(0), first), _put(out, m, second, turn), _put(out, m + n, values)]


def _qr(forms: DeviceForms, frame: Frame, stmt: Lib) -> list[Stmt]:
    (out,), (a,) = stmt.outs, stmt.ins
    m, n = a.shape
    held, tau = forms.workspace(frame, (n, m), a.dtype), forms.workspace(frame, (n,), a.dtype)
    info, well = forms.info(frame)
    upper = all_of((n, n), "w")
    i, j = (ix(r.var) for r in upper)
    value = algebra.select(Call("le", (Index(i, _INT64), Index(j, _INT64)), _BOOL),
                           held.load((j, i)), algebra.zero(a.dtype))
    return [copy(held, a.transposed), well, Lib("geqrf", (held, tau, info), (), {}, stmt.source),
            Map(upper, (Store(out.array, out.at((m + i, j)), value),)),
            Lib("orgqr", (held, info), (tau,), {}, stmt.source), _put(out, ix(0), held.transposed)]


def _argsort(forms: DeviceForms, frame: Frame, stmt: Lib) -> list[Stmt]:
    """Runs of one element become one of all, each pass one kernel: n log^2 n comparisons. Equal values keep their
    order."""
    (out,), (values,) = stmt.outs, stmt.ins
    before: list[Stmt] = []
    if not by_rows(frame, values):
        space = forms.workspace(frame, values.shape, values.dtype)
        before, values = [copy(space, values)], space
    here, there = (forms.workspace(frame, values.shape, _INT64) for _ in range(2))
    ranges, at = values.points("w")
    steps: list[Stmt] = [Map(ranges, (Store(here.array, here.at(at), Index(at[0], _INT64)),))]
    most = size_bound(values.shape[0], frame.bounds) or 0
    for k in range(max(0, most - 1).bit_length()):
        steps.append(Lib(MERGE, (there,), (here, values), {"width": 1 << k, "most": most}, stmt.source))
        here, there = there, here
    return [*before, *steps, copy(out, here)]


def _fft(forms: DeviceForms, frame: Frame, stmt: Lib) -> list[Stmt]:
    """The library's transforms are of complex numbers, not divided by their length, and replace what was there. Signals
    lie at positive distances."""
    (out,), (values,) = stmt.outs, stmt.ins
    kind = np.result_type(out.dtype, np.complex64)
    first, second = (v if v.dtype == kind and _ascends(frame, v) else forms.workspace(frame, v.shape, kind)
                     for v in (values, out))
    before = [copy(first, values, lambda e: algebra.cast(e, kind))] if first is not values else []
    as_it_is = not stmt.attrs["scaled"] and not stmt.attrs.get("accumulate")
    if second is out and not as_it_is:
        second = forms.workspace(frame, out.shape, kind)
    call_ = Lib("fft", (second,), (first,), {"inverse": stmt.attrs["inverse"], "scaled": False}, stmt.source)
    if second is out:
        return [*before, call_]

    def change(e: Expr) -> Expr:
        e = algebra.real(e) if out.dtype.kind != "c" else e
        length = algebra.cast(Index(values.shape[-1], _INT64), out.dtype)
        return call("div", e, length, dtype=out.dtype) if stmt.attrs["scaled"] else e

    ranges, at = out.points("w")
    value = change(Load(second.array, second.at(at), kind))
    op = "+" if stmt.attrs.get("accumulate") else None
    return [*before, call_, Map(ranges, (Store(out.array, out.at(at), value, op),))]


def _ascends(frame: Frame, view: View) -> bool:
    steps, _ = view_strides(frame, view)
    return all(step is not None and 0 < step < _MOST for step in steps)


OPERATIONS: Mapping[str, Form | None] = MappingProxyType({
    "matmul": _product, MATMULS: _products, "lu": _told("getrf"), "solve": _solve, "inv": inverse,
    "cholesky": _told("potrf", SINGULAR), "definite": _definite, "cholesky_tangent": None,
    "cholesky_adjoint": cholesky_adjoint, "trsolve": None, "det": None, "logdet": None, "detsign": None, "pinv": None,
    "eigh": _eigh, "svd": _svd, "qr": _qr, "argsort": _argsort, "fft": _fft, "seal": None, "unseal": None})
"""Forms of the device; None: as on the processor."""
