"""C++ text of library operations: calls of the BLAS, LAPACK, sorting and transform routines in `runtime/`."""
from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping
from types import MappingProxyType

from sdfgad.codegen.cpp import Frame, Writer, access, literal, strides
from sdfgad.codegen.mpi.table import HOW, TYPES
from sdfgad.codegen.view_strides import view_strides
from sdfgad.codegen.view_text import lead_of, operand_of, sizes_of, start_of
from sdfgad.errors import InvariantError
from sdfgad.ir.called import PYTHON
from sdfgad.ir.index import ix
from sdfgad.ir.messages import (
    BESIDE,
    EXCHANGE,
    OP,
    PAIRS,
    PART,
    POSTED,
    SHORT,
    SLOT,
    START,
    SWEEPS,
    TURNED,
    VECTORS,
    is_finish,
    received,
    sent,
    sweep_of,
)
from sdfgad.ir.program import Lib, View

BLAS_OPS = frozenset(("matmul", "getrf", "getrs", "getri", "potrf", "potrf_adjoint", "trsolve"))
DECOMPOSITIONS = frozenset(("eigh", "eig", "svd", "qr"))
_MEMORY = "__state->sg_memory"
"""Where routines take their workspaces, in a generated function."""


def emit_lib(writer: Writer, frame: Frame, stmt: Lib) -> None:
    """Write one library call."""
    emit = _EMITTERS.get(stmt.op)
    if emit is None:
        raise InvariantError(f"library operation {stmt.op!r} has no C++ form")
    writer.line(emit(frame, stmt) + ";")


def _matmul(frame: Frame, stmt: Lib) -> str:
    (c,), (a, b) = stmt.outs, stmt.ins[:2]
    add = f"{'true' if stmt.attrs.get('accumulate') else 'false'}, {_scale(frame, stmt)}"
    if len(a.shape) == len(b.shape) == 2:
        sizes = sizes_of(frame, c.shape[0], c.shape[1], a.shape[1])
        operands = ", ".join(operand_of(frame, v) for v in (a, b, c))
        return f"sg::gemm({_MEMORY}, {sizes}, {operands}, {add})"
    if len(a.shape) == 2:
        matrix, vector = operand_of(frame, a), operand_of(frame, b)
        return f"sg::gemv({_MEMORY}, {sizes_of(frame, *a.shape)}, {matrix}, {vector}, {operand_of(frame, c)}, {add})"
    (s0, s1), _ = view_strides(frame, b)
    matrix, vector = f"{start_of(frame, b)}, {s1}, {s0}", operand_of(frame, a)
    return f"sg::gemv({_MEMORY}, {sizes_of(frame, *b.shape[::-1])}, {matrix}, {vector}, {operand_of(frame, c)}, {add})"


def _scale(frame: Frame, stmt: Lib) -> str:
    """What a product is multiplied by: a number, a scalar, or both."""
    dtype = stmt.outs[0].dtype
    factors = [literal(stmt.attrs.get("factor", 1), dtype)]
    return "*".join([*factors, *(access(frame, v.array, v.index) for v in stmt.ins[2:])])


def _getrf(frame: Frame, stmt: Lib) -> str:
    factors, pivots = stmt.outs
    return f"sg::getrf({sizes_of(frame, factors.shape[0])}, {lead_of(frame, factors)}, {start_of(frame, pivots)})"


def _getrs(frame: Frame, stmt: Lib) -> str:
    (rows,), (factors, pivots) = stmt.outs, stmt.ins
    count = rows.shape[0] if len(rows.shape) == 2 else ix(1)
    adjoint = str(bool(stmt.attrs.get("adjoint"))).lower()
    sizes = sizes_of(frame, factors.shape[0], count)
    return (f"sg::getrs({sizes}, {lead_of(frame, factors)}, {start_of(frame, pivots)}, {lead_of(frame, rows)}, "
            f"{adjoint})")


def _getri(frame: Frame, stmt: Lib) -> str:
    matrix, pivots = stmt.outs
    size = sizes_of(frame, matrix.shape[0])
    return f"sg::getri({_MEMORY}, {size}, {lead_of(frame, matrix)}, {start_of(frame, pivots)})"


def _potrf(frame: Frame, stmt: Lib) -> str:
    matrix, *told = stmt.outs
    call = f"({sizes_of(frame, matrix.shape[0])}, {lead_of(frame, matrix)})"
    return f"{access(frame, told[0].array, told[0].at((ix(0),)))} = sg::definite{call}" if told else f"sg::potrf{call}"


def _potrf_adjoint(frame: Frame, stmt: Lib) -> str:
    (x,), (factor,) = stmt.outs, stmt.ins
    return f"sg::potrf_adjoint({_MEMORY}, {sizes_of(frame, x.shape[0])}, {lead_of(frame, factor)}, {lead_of(frame, x)})"


def _trsolve(frame: Frame, stmt: Lib) -> str:
    (x,), (t,) = stmt.outs, stmt.ins
    columns = x.shape[1] if len(x.shape) == 2 else ix(1)
    lower, unit = (str(bool(stmt.attrs[n])).lower() for n in ("lower", "unit"))
    sizes = sizes_of(frame, x.shape[0], columns)
    return f"sg::trsm({sizes}, {operand_of(frame, t)}, {lower}, {unit}, {lead_of(frame, x)})"


def _argsort(frame: Frame, stmt: Lib) -> str:
    (order,), (values,) = stmt.outs, stmt.ins
    sizes = sizes_of(frame, values.shape[0])
    return f"sg::argsort({_MEMORY}, {sizes}, {start_of(frame, values)}, {start_of(frame, order)})"


def _fft(frame: Frame, stmt: Lib) -> str:
    (out,), (values,) = stmt.outs, stmt.ins
    count = values.shape[0] if len(values.shape) == 2 else ix(1)
    sizes = sizes_of(frame, count, values.shape[-1])
    inverse, scaled = (str(bool(stmt.attrs[name])).lower() for name in ("inverse", "scaled"))
    add = "true" if stmt.attrs.get("accumulate") else "false"
    signals = ", ".join(_signals(frame, view, inverse) for view in (values, out))
    return f"sg::fft<{add}>({_MEMORY}, {sizes}, {signals}, {scaled})"


def _signals(frame: Frame, view: View, inverse: str) -> str:
    """The rows of a view as signals: where they begin, and the distances within one and from one to the next."""
    steps, _ = view_strides(frame, view)
    return f"sg::signals({start_of(frame, view)}, {steps[-1]}, {steps[0] if len(steps) == 2 else 0}, {inverse})"


def _decomposition(frame: Frame, stmt: Lib) -> str:
    (out,), (matrix,) = stmt.outs, stmt.ins
    sizes = sizes_of(frame, *(matrix.shape[:1] if stmt.op == "eigh" else matrix.shape))
    return f"sg::{stmt.op}({_MEMORY}, {sizes}, {lead_of(frame, matrix)}, {lead_of(frame, out)})"


def _eig(frame: Frame, stmt: Lib) -> str:
    (out,), (matrix,) = stmt.outs, stmt.ins
    real, size = str(bool(stmt.attrs["real"])).lower(), sizes_of(frame, matrix.shape[0])
    return f"sg::eig({_MEMORY}, {size}, {lead_of(frame, matrix)}, {lead_of(frame, out)}, {real})"


def _block(frame: Frame, view: View) -> str:
    """The address of a view whose elements lie one after the other."""
    steps, _ = view_strides(frame, view)
    if steps != strides(_numbers(view)):
        raise InvariantError(f"a view of {view.array} that is not in one piece reached code generation")
    return f"&{access(frame, view.array, view.at((ix(0),) * len(view.shape)))}"


def _numbers(view: View) -> tuple[int, ...]:
    return tuple(n.const or 0 for n in view.shape)


def _bytes(view: View) -> str:
    return f"int64_t({math.prod(_numbers(view)) * view.dtype.itemsize})"


def _seal(frame: Frame, stmt: Lib) -> str:
    (slot, total), (state,) = stmt.outs, stmt.ins
    seal = access(frame, total.array, total.index)
    return f"sg::seal({_bytes(state)}, {_block(frame, state)}, {_block(frame, slot)}, {seal})"


def _unseal(frame: Frame, stmt: Lib) -> str:
    (state,), (slot, total) = stmt.outs, stmt.ins
    seal, what = access(frame, total.array, total.index), json.dumps(stmt.attrs["what"])
    return f"sg::unseal({_bytes(state)}, {_block(frame, slot)}, {seal}, {_block(frame, state)}, {what})"


def _fail(frame: Frame, stmt: Lib) -> str:
    return f"throw sg::Failed{{{stmt.attrs['which']}}}"


def _python(frame: Frame, stmt: Lib) -> str:
    """A call of a function that stays Python: its address, and where operands and results lie."""
    places = [f"const_cast<void *>(static_cast<const void *>({_block(frame, v)}))"
              for v in (*stmt.ins[1:-1], *stmt.outs[:-1])]
    address = access(frame, stmt.ins[0].array, (ix(0),))
    return f"sg::call_python({address}, {{{', '.join(places)}}}, {stmt.attrs['which']})"


def _message(frame: Frame, stmt: Lib) -> str:
    """A call of `sdfgad_mpi.h`: numbers, record, what is sent and what is received."""
    kind, sweep = stmt.attrs["kind"], SWEEPS.index(sweep_of(stmt))
    line = stmt.source.line if stmt.source else 0
    turned = str(bool(stmt.attrs.get(TURNED))).lower()
    each = (2 if PAIRS in stmt.attrs else 1) if SHORT in stmt.attrs else 0
    table = f"sg::mpi::Place{{static_cast<const sg::mpi::Table *>(__state->sg_mpi), {sweep}, {line}, {turned}, {each}}}"
    if is_finish(stmt):
        record = _block(frame, stmt.outs[-2]) if stmt.attrs.get("record") else "nullptr"
        into = ", ".join(_buffer(frame, v) for v in received(stmt)) if kind == EXCHANGE else ""
        slot = stmt.attrs.get(SLOT, 0)
        return f"sg::mpi::finish({table}, {_block(frame, stmt.ins[-2])}, {record}, {{{into}}}, {slot})"
    numbers = [_block(frame, v) for v in stmt.ins[len(sent(stmt)):-1]]
    buffers = ["{" + ", ".join(_buffer(frame, v) for v in views) + "}" for views in (sent(stmt), received(stmt))]
    if stmt.attrs.get(PART) == START and kind == EXCHANGE:
        return f"sg::mpi::start({table}, {', '.join((*numbers, *buffers))})"
    if kind == EXCHANGE:
        record = _block(frame, stmt.outs[-2]) if stmt.attrs.get("record") else "nullptr"
        return f"sg::mpi::exchange({table}, {', '.join(numbers)}, {record}, {', '.join(buffers)})"
    if kind in VECTORS:
        return f"sg::mpi::vectors<sg::mpi::{kind.upper()}>({table}, {numbers[0]}, {', '.join(buffers)}, " \
            f"{stmt.attrs['count']}, {TYPES.index(stmt.attrs['dtype'].char)})"
    how = f"{stmt.attrs['count']}, {TYPES.index(stmt.attrs['dtype'].char)}, {HOW.index(stmt.attrs.get('how', 'sum'))}"
    how += "".join(f", {'true' if mark in stmt.attrs else 'false'}" for mark in (POSTED, BESIDE))
    done = f"sg::mpi::collective<sg::mpi::{kind.upper()}>({table}, {numbers[0]}, {', '.join(buffers)}, {how})"
    waits = POSTED in stmt.attrs and PART not in stmt.attrs
    return f"{done}, sg::mpi::finish({table}, {numbers[0]}, nullptr, {{}}, sg::mpi::LAST)" if waits else done


def _buffer(frame: Frame, view: View) -> str:
    count = math.prod(_numbers(view))
    return f"{{const_cast<void *>(static_cast<const void *>({_block(frame, view)})), {count}, " \
        f"{TYPES.index(view.dtype.char)}}}"


_EMITTERS: Mapping[str, Callable[[Frame, Lib], str]] = MappingProxyType({
    "matmul": _matmul, "getrf": _getrf, "getrs": _getrs, "getri": _getri, "potrf": _potrf,
    "potrf_adjoint": _potrf_adjoint, "trsolve": _trsolve, "eigh": _decomposition, "eig": _eig, "svd": _decomposition,
    "qr": _decomposition, "argsort": _argsort, "fft": _fft, "seal": _seal, "unseal": _unseal,
    "fail": _fail, OP: _message, PYTHON: _python})
