"""Tasklets of library operations: calls of the textbook routines in `runtime/sdfgad_textbook.h`; and snapshots."""
from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from math import prod
from types import MappingProxyType

from sdfgad.codegen.cpp import Frame, index_text, literal, pointer, register
from sdfgad.codegen.reference.tasklets import End, Tasklet, with_numbers
from sdfgad.errors import unsupported
from sdfgad.ir.index import Ix, ix
from sdfgad.ir.program import Lib, View


def operation_tasklet(stmt: Lib, frame: Frame) -> Tasklet:
    """One operation on whole arrays."""
    made = Tasklet()
    frame = with_numbers(frame)
    for view in stmt.ins:
        if frame.arrays[view.array].shape:
            made.reads(view.array)
        else:
            made.inputs[register(view.array)] = End(view.array, ())
    for view in stmt.outs:
        made.fills(view.array)
    made.looks_up((n for v in (*stmt.ins, *stmt.outs) for n in v.shape), frame.arrays)
    made.lasting = stmt.op in ("fail", "unseal")
    if stmt.op not in _CALLS:
        raise unsupported(stmt.source, f"the library operation {stmt.op} on the target 'reference'",
                          'run it with target="cpu"', "SG121")
    made.writer.line(_CALLS[stmt.op](stmt, frame) + ";")
    return made


def _sizes(frame: Frame, *extents: Ix) -> str:
    return ", ".join(f"int64_t({index_text(frame, n)})" for n in extents)


def _matrix(frame: Frame, view: View) -> str:
    """A pointer, and the distance of rows."""
    shape = frame.arrays[view.array].shape
    return f"{pointer(view.array)}, {shape[1] if len(shape) == 2 else 1}"


def _columns(view: View) -> Ix:
    return view.shape[1] if len(view.shape) == 2 else ix(1)


def _square(stmt: Lib, frame: Frame) -> str:
    """`op(n, in, lead, ..., out, lead)` of square matrices."""
    operands = [_matrix(frame, v) for v in (*stmt.ins, *stmt.outs)]
    return f"sg::{stmt.op}({_sizes(frame, stmt.ins[0].shape[0])}, {', '.join(operands)})"


def _definite(stmt: Lib, frame: Frame) -> str:
    (matrix,), (told,) = stmt.ins, stmt.outs
    return f"sg::definite({_sizes(frame, matrix.shape[0])}, {_matrix(frame, matrix)}, {pointer(told.array)})"


def _lu(stmt: Lib, frame: Frame) -> str:
    factors, pivots = stmt.outs
    return (f"sg::lu({_sizes(frame, factors.shape[0])}, {_matrix(frame, stmt.ins[0])}, {_matrix(frame, factors)}, "
            f"{pointer(pivots.array)})")


def _solve(stmt: Lib, frame: Frame) -> str:
    (x,), (factors, pivots, b) = stmt.outs, stmt.ins
    adjoint = str(bool(stmt.attrs.get("adjoint"))).lower()
    return (f"sg::solve({_sizes(frame, factors.shape[0], _columns(b))}, {_matrix(frame, factors)}, "
            f"{pointer(pivots.array)}, {_matrix(frame, b)}, {_matrix(frame, x)}, {adjoint})")


def _trsolve(stmt: Lib, frame: Frame) -> str:
    (x,), (t, b) = stmt.outs, stmt.ins
    lower, unit = (str(bool(stmt.attrs.get(n))).lower() for n in ("lower", "unit"))
    return (f"sg::trsolve({_sizes(frame, t.shape[0], _columns(b))}, {_matrix(frame, t)}, {_matrix(frame, b)}, "
            f"{_matrix(frame, x)}, {lower}, {unit})")


def _determinant(stmt: Lib, frame: Frame) -> str:
    (out,), (factors, pivots) = stmt.outs, stmt.ins
    return (f"sg::{stmt.op}({_sizes(frame, factors.shape[0])}, {_matrix(frame, factors)}, {pointer(pivots.array)}, "
            f"{pointer(out.array)})")


def _decomposition(stmt: Lib, frame: Frame) -> str:
    (out,), (a,) = stmt.outs, stmt.ins
    sizes = _sizes(frame, *(a.shape[:1] if stmt.op == "eigh" else a.shape))
    return f"sg::{stmt.op}({sizes}, {_matrix(frame, a)}, {_matrix(frame, out)})"


def _pinv(stmt: Lib, frame: Frame) -> str:
    (out,), (a,) = stmt.outs, stmt.ins
    least = literal(float(stmt.attrs["rcond"]), out.dtype.type(0).real.dtype)
    return f"sg::pinv({_sizes(frame, *a.shape)}, {_matrix(frame, a)}, {_matrix(frame, out)}, {least})"


def _argsort(stmt: Lib, frame: Frame) -> str:
    (order,), (values,) = stmt.outs, stmt.ins
    return f"sg::argsort({_sizes(frame, values.shape[0])}, {pointer(values.array)}, {pointer(order.array)})"


def _fft(stmt: Lib, frame: Frame) -> str:
    """Of each row: all dimensions before the last one are rows."""
    (out,), (values,) = stmt.outs, stmt.ins
    count = ix(1)
    for n in values.shape[:-1]:
        count = count * n
    inverse, scaled = (str(bool(stmt.attrs[name])).lower() for name in ("inverse", "scaled"))
    row = frame.arrays[values.array].shape[-1], frame.arrays[out.array].shape[-1]
    return (f"sg::fft({_sizes(frame, count, values.shape[-1])}, {pointer(values.array)}, {row[0]}, "
            f"{pointer(out.array)}, {row[1]}, {inverse}, {scaled})")


def _bytes(view: View) -> str:
    return f"int64_t({prod(n.const or 0 for n in view.shape) * view.dtype.itemsize})"


def _start(frame: Frame, view: View) -> str:
    """The address of what is read."""
    return pointer(view.array) if frame.arrays[view.array].shape else f"&{register(view.array)}"


def _seal(stmt: Lib, frame: Frame) -> str:
    (slot, total), (state,) = stmt.outs, stmt.ins
    return f"sg::seal({_bytes(state)}, {_start(frame, state)}, {pointer(slot.array)}, *{pointer(total.array)})"


def _unseal(stmt: Lib, frame: Frame) -> str:
    (state,), (slot, total) = stmt.outs, stmt.ins
    return (f"sg::unseal({_bytes(state)}, {_start(frame, slot)}, {register(total.array)}, {pointer(state.array)}, "
            f"{json.dumps(stmt.attrs['what'])})")


def _fail(stmt: Lib, frame: Frame) -> str:
    return f"throw sg::Failed{{{stmt.attrs['which']}}}"


_CALLS: Mapping[str, Callable[[Lib, Frame], str]] = MappingProxyType({
    "lu": _lu, "solve": _solve, "trsolve": _trsolve, "inv": _square, "cholesky": _square, "cholesky_tangent": _square,
    "definite": _definite, "cholesky_adjoint": _square, "det": _determinant, "logdet": _determinant,
    "detsign": _determinant,
    "eigh": _decomposition, "svd": _decomposition, "qr": _decomposition, "pinv": _pinv, "argsort": _argsort,
    "fft": _fft, "seal": _seal, "unseal": _unseal, "fail": _fail})
