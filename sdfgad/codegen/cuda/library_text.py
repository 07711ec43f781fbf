"""C++ text of the host's calls of NVIDIA's libraries, and of the one kernel that sorts."""
from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType

from sdfgad.codegen.cpp import Frame, ctype, index_text, literal, pointer
from sdfgad.codegen.cuda.libraries.batches import MATMULS
from sdfgad.codegen.cuda.libraries.operations import LOOK, MERGE
from sdfgad.codegen.cuda.libraries.snapshots import HOST, RESTORE, SAVE, SLOT, TABLES
from sdfgad.codegen.cuda.work import BLOCK
from sdfgad.codegen.view_strides import view_strides
from sdfgad.codegen.view_text import lead_of, operand_of, sizes_of, start_of
from sdfgad.ir.index import Ix, ix
from sdfgad.ir.program import Lib, View

LIBRARIES = "sg_libraries"
"""The member of the state of a program that has its handles."""
SNAPSHOTS = "sg_snapshots"
"""The member that has its snapshots in the memory of the host."""
STREAM = "__state->gpu_context->stream"
"""The stream of a call."""


def library_text(stmt: Lib, frame: Frame) -> str:
    """One statement of the host."""
    if stmt.op == "fail":
        return f"throw sg::Failed{{{stmt.attrs['which']}}};"
    if stmt.op == LOOK:
        return f"sg::look({start_of(frame, stmt.ins[0])}, {STREAM});"
    if stmt.op in (SAVE, RESTORE):
        return _snapshot(frame, stmt)
    return f"__state->{LIBRARIES}.on({STREAM}).{_CALLS[stmt.op](frame, stmt)};"


def _snapshot(frame: Frame, stmt: Lib) -> str:
    """A snapshot of an array goes to the host, or comes back."""
    slot, places = stmt.attrs[SLOT], stmt.attrs[HOST]
    tables = [f"static const {ctype(v.dtype)} {pointer(name)}[] = {{{', '.join(map(str, v.ravel().tolist()))}}};"
              for name, v in stmt.attrs[TABLES].items()]
    state = (stmt.ins or stmt.outs)[0]
    kind, count = ctype(slot.dtype), " * ".join([sizes_of(frame, *state.shape).replace(", ", " * ")] if state.shape else
                                                ["int64_t(1)"])
    there = f"{kind} *const {pointer(slot.array)} = all.at<{kind}>({places[slot.array]});"
    size = f"{count} * int64_t(sizeof({kind}))"
    number, place = stmt.attrs["number"], start_of(frame, slot)
    call = f"restore({number}, {start_of(frame, state)}, {start_of(frame, stmt.outs[1])}, {place}, {size})" \
        if stmt.op == RESTORE else \
        f"save({number}, {place}, {start_of(frame, stmt.outs[0])}, {start_of(frame, state)}, {size})"
    return " ".join(tables) + f" auto &all = __state->{SNAPSHOTS}.on({STREAM}, {places[HOST]}); {there} all.{call};"


def merge_text(stmt: Lib, frame: Frame) -> tuple[str, int]:
    """The body of a kernel that makes runs twice as long, and its threads."""
    (out,), (order, values) = stmt.outs, stmt.ins
    most, (n,) = stmt.attrs["most"], values.shape
    before, after, width = pointer(order.array), pointer(out.array), stmt.attrs["width"]
    text = [f"const int64_t at = int64_t(blockIdx.x) * {BLOCK} + threadIdx.x;",
            f"const auto values = {start_of(frame, values)};", f"const int64_t n = {index_text(frame, n)};",
            f"if (at < n) {after}[sg::merged_place(values, {before}, n, {width}, at)] = {before}[at];"]
    return "\n".join(text), -(-most // BLOCK) * BLOCK


def _truth(value: object) -> str:
    return "true" if value else "false"


def _matmul(frame: Frame, stmt: Lib) -> str:
    (c, _), (a, b) = stmt.outs, stmt.ins
    sizes = sizes_of(frame, *c.shape, a.shape[1])
    factor = literal(stmt.attrs.get("factor", 1), c.dtype)
    return (f"gemm({sizes}, {operand_of(frame, a)}, {operand_of(frame, b)}, {operand_of(frame, c)}, "
            f"{_truth(stmt.attrs.get('accumulate'))}, {factor}, {_room(frame, stmt)})")


def _matmuls(frame: Frame, stmt: Lib) -> str:
    (c, _), (a, b) = stmt.outs, stmt.ins
    sizes = sizes_of(frame, *c.shape, a.shape[2])
    factor = literal(stmt.attrs.get("factor", 1), c.dtype)
    operands = ", ".join(f"{start_of(frame, v)}, {s0}, {s1}, {next_}"
                         for v in (a, b, c) for next_, s0, s1 in [view_strides(frame, v)[0]])
    return (f"gemm_batched({sizes}, {operands}, {_truth(stmt.attrs.get('accumulate'))}, {factor}, "
            f"{_room(frame, stmt)})")


def _trsolve(frame: Frame, stmt: Lib) -> str:
    (x, _), (t,) = stmt.outs, stmt.ins
    sizes = sizes_of(frame, x.shape[0], _count(x, 1))
    return (f"trsm({sizes}, {operand_of(frame, t)}, {_truth(stmt.attrs['lower'])}, {_truth(stmt.attrs['unit'])}, "
            f"{lead_of(frame, x)}, {_room(frame, stmt)})")


def _count(view: View, dimension: int) -> Ix:
    return view.shape[dimension] if len(view.shape) == 2 else ix(1)


def _getrf(frame: Frame, stmt: Lib) -> str:
    factors, pivots, info, _ = stmt.outs
    places = f"{lead_of(frame, factors)}, {start_of(frame, pivots)}, {start_of(frame, info)}, {_room(frame, stmt)}"
    return f"getrf({sizes_of(frame, factors.shape[0])}, {places})"


def _getrs(frame: Frame, stmt: Lib) -> str:
    (rows, info), (factors, pivots) = stmt.outs, stmt.ins
    sizes = sizes_of(frame, factors.shape[0], _count(rows, 0))
    return (f"getrs({sizes}, {lead_of(frame, factors)}, {start_of(frame, pivots)}, {lead_of(frame, rows)}, "
            f"{start_of(frame, info)}, {_truth(stmt.attrs.get('adjoint'))})")


def _potrf(frame: Frame, stmt: Lib) -> str:
    matrix, info, _ = stmt.outs
    places = f"{lead_of(frame, matrix)}, {start_of(frame, info)}, {_room(frame, stmt)}"
    return f"potrf({sizes_of(frame, matrix.shape[0])}, {places})"


def _room(frame: Frame, stmt: Lib) -> str:
    """Where a routine works, and how many elements there are."""
    room = stmt.outs[-1]
    return f"{start_of(frame, room)}, {sizes_of(frame, *room.shape)}"


def _whole(*names: str) -> Callable[[Frame, Lib], str]:
    """A routine on workspaces as they are: extents of the first one, which holds columns as rows, and pointers."""

    def text(frame: Frame, stmt: Lib) -> str:
        columns, rows = stmt.outs[0].shape
        sizes = {"m": rows, "n": columns}
        *results, info, _ = stmt.outs
        places = [*(start_of(frame, v) for v in (*results, *stmt.ins, info)), _room(frame, stmt)]
        return f"{stmt.op}({', '.join([sizes_of(frame, *(sizes[n] for n in names)), *places])})"

    return text


def _fft(frame: Frame, stmt: Lib) -> str:
    (out, _), (values,) = stmt.outs, stmt.ins
    sizes = sizes_of(frame, _count(values, 0), values.shape[-1])
    return (f"fft({sizes}, {_signals(frame, values)}, {_signals(frame, out)}, "
            f"{_truth(stmt.attrs.get('inverse'))}, {_room(frame, stmt)})")


def _signals(frame: Frame, view: View) -> str:
    """Where the rows of a view begin, and the distances within one and from one to the next."""
    steps, _ = view_strides(frame, view)
    whole = (steps[-1] or 1) * (view.shape[-1].const or 1)
    return f"{start_of(frame, view)}, {steps[-1]}, {steps[0] if len(steps) == 2 else whole}"


_CALLS: Mapping[str, Callable[[Frame, Lib], str]] = MappingProxyType({
    "matmul": _matmul, MATMULS: _matmuls, "trsolve": _trsolve, "getrf": _getrf, "getrs": _getrs, "potrf": _potrf,
    "fft": _fft, "geqrf": _whole("m", "n"), "orgqr": _whole("m", "n"), "syevd": _whole("n"), "gesvd": _whole("m", "n")})
KERNELS = frozenset((MERGE,))
"""Operations that the device does by itself."""
