"""C++ text of the host's calls of NVIDIA's libraries, and of the one kernel that sorts."""
from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType

from sdfgad.codegen.cpp import Frame, index_text, literal, pointer
from sdfgad.codegen.cuda.batches import MATMULS
from sdfgad.codegen.cuda.operations import LOOK, MERGE
from sdfgad.codegen.cuda.work import BLOCK
from sdfgad.codegen.view_strides import view_strides
from sdfgad.errors import InvariantError
from sdfgad.ir.index import Ix, ix
from sdfgad.ir.program import Lib, View

LIBRARIES = "sg_libraries"
"""The member of the state of a program that has its handles."""
STREAM = "__state->gpu_context->stream"
"""The stream of a call."""


def library_text(stmt: Lib, frame: Frame) -> str:
    """One statement of the host."""
    if stmt.op == "fail":
        return f"throw sg::Failed{{{stmt.attrs['which']}}};"
    if stmt.op == LOOK:
        return f"sg::look({_start(frame, stmt.ins[0])}, {STREAM});"
    return f"__state->{LIBRARIES}.on({STREAM}).{_CALLS[stmt.op](frame, stmt)};"


def merge_text(stmt: Lib, frame: Frame) -> tuple[str, int]:
    """The body of a kernel that makes runs twice as long, and its threads."""
    (out,), (order, values) = stmt.outs, stmt.ins
    most, (n,) = stmt.attrs["most"], values.shape
    before, after, width = pointer(order.array), pointer(out.array), stmt.attrs["width"]
    text = [f"const int64_t at = int64_t(blockIdx.x) * {BLOCK} + threadIdx.x;",
            f"const auto values = {_start(frame, values)};", f"const int64_t n = {index_text(frame, n)};",
            f"if (at < n) {after}[sg::merged_place(values, {before}, n, {width}, at)] = {before}[at];"]
    return "\n".join(text), -(-most // BLOCK) * BLOCK


def _start(frame: Frame, view: View) -> str:
    return f"{pointer(view.array)} + ({index_text(frame, view_strides(frame, view)[1])})"


def _operand(frame: Frame, view: View) -> str:
    """A pointer to a view's first element, and its strides."""
    steps, _ = view_strides(frame, view)
    if None in steps:
        raise InvariantError(f"a view of {view.array} without fixed strides reached code generation")
    return ", ".join([_start(frame, view), *map(str, steps)])


def _lead(frame: Frame, view: View) -> str:
    """A pointer to a view whose last axis has unit stride, and the distance of its rows."""
    steps, _ = view_strides(frame, view)
    return f"{_start(frame, view)}, {steps[0] if len(steps) == 2 else 1}"


def _sizes(frame: Frame, *extents: Ix) -> str:
    return ", ".join(f"int64_t({index_text(frame, n)})" for n in extents)


def _truth(value: object) -> str:
    return "true" if value else "false"


def _matmul(frame: Frame, stmt: Lib) -> str:
    (c,), (a, b) = stmt.outs, stmt.ins
    sizes = _sizes(frame, *c.shape, a.shape[1])
    factor = literal(stmt.attrs.get("factor", 1), c.dtype)
    return (f"gemm({sizes}, {_operand(frame, a)}, {_operand(frame, b)}, {_operand(frame, c)}, "
            f"{_truth(stmt.attrs.get('accumulate'))}, {factor})")


def _matmuls(frame: Frame, stmt: Lib) -> str:
    (c,), (a, b) = stmt.outs, stmt.ins
    sizes = _sizes(frame, *c.shape, a.shape[2])
    factor = literal(stmt.attrs.get("factor", 1), c.dtype)
    operands = ", ".join(f"{_start(frame, v)}, {s0}, {s1}, {next_}"
                         for v in (a, b, c) for next_, s0, s1 in [view_strides(frame, v)[0]])
    return f"gemm_batched({sizes}, {operands}, {_truth(stmt.attrs.get('accumulate'))}, {factor})"


def _trsolve(frame: Frame, stmt: Lib) -> str:
    (x,), (t,) = stmt.outs, stmt.ins
    sizes = _sizes(frame, x.shape[0], _count(x, 1))
    return (f"trsm({sizes}, {_operand(frame, t)}, {_truth(stmt.attrs['lower'])}, {_truth(stmt.attrs['unit'])}, "
            f"{_lead(frame, x)})")


def _count(view: View, dimension: int) -> Ix:
    return view.shape[dimension] if len(view.shape) == 2 else ix(1)


def _getrf(frame: Frame, stmt: Lib) -> str:
    factors, pivots, info = stmt.outs
    places = f"{_lead(frame, factors)}, {_start(frame, pivots)}, {_start(frame, info)}"
    return f"getrf({_sizes(frame, factors.shape[0])}, {places})"


def _getrs(frame: Frame, stmt: Lib) -> str:
    (rows, info), (factors, pivots) = stmt.outs, stmt.ins
    sizes = _sizes(frame, factors.shape[0], _count(rows, 0))
    return (f"getrs({sizes}, {_lead(frame, factors)}, {_start(frame, pivots)}, {_lead(frame, rows)}, "
            f"{_start(frame, info)}, {_truth(stmt.attrs.get('adjoint'))})")


def _potrf(frame: Frame, stmt: Lib) -> str:
    matrix, info = stmt.outs
    return f"potrf({_sizes(frame, matrix.shape[0])}, {_lead(frame, matrix)}, {_start(frame, info)})"


def _whole(*names: str) -> Callable[[Frame, Lib], str]:
    """A routine on workspaces as they are: extents of the first one, which holds columns as rows, and pointers."""

    def text(frame: Frame, stmt: Lib) -> str:
        columns, rows = stmt.outs[0].shape
        sizes = {"m": rows, "n": columns}
        places = [_start(frame, v) for v in (*stmt.outs[:-1], *stmt.ins, stmt.outs[-1])]
        return f"{stmt.op}({', '.join([_sizes(frame, *(sizes[n] for n in names)), *places])})"

    return text


def _fft(frame: Frame, stmt: Lib) -> str:
    (out,), (values,) = stmt.outs, stmt.ins
    sizes = _sizes(frame, _count(values, 0), values.shape[-1])
    return f"fft({sizes}, {_signals(frame, values)}, {_signals(frame, out)}, {_truth(stmt.attrs.get('inverse'))})"


def _signals(frame: Frame, view: View) -> str:
    """Where the rows of a view begin, and the distances within one and from one to the next."""
    steps, _ = view_strides(frame, view)
    whole = (steps[-1] or 1) * (view.shape[-1].const or 1)
    return f"{_start(frame, view)}, {steps[-1]}, {steps[0] if len(steps) == 2 else whole}"


_CALLS: Mapping[str, Callable[[Frame, Lib], str]] = MappingProxyType({
    "matmul": _matmul, MATMULS: _matmuls, "trsolve": _trsolve, "getrf": _getrf, "getrs": _getrs, "potrf": _potrf,
    "fft": _fft, "geqrf": _whole("m", "n"), "orgqr": _whole("m", "n"), "syevd": _whole("n"), "gesvd": _whole("m", "n")})
KERNELS = frozenset((MERGE,))
"""Operations that the device does by itself."""
