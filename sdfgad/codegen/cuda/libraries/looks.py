"""Programs with calls of NVIDIA's libraries, and where the host looks whether one of them, or a thread, has failed."""
from __future__ import annotations

import numpy as np

from sdfgad.codegen.cpp import Frame
from sdfgad.codegen.cuda.libraries.batches import batched
from sdfgad.codegen.cuda.libraries.checks import checked_once
from sdfgad.codegen.cuda.libraries.operations import LOOK, SIGNS, SINGULAR, DeviceForms
from sdfgad.codegen.cuda.libraries.snapshots import snapshots_of
from sdfgad.ir import algebra
from sdfgad.ir.expr import call, const, index_elems, loads
from sdfgad.ir.index import ix
from sdfgad.ir.program import Block, If, Lib, Loop, Map, Program, Stmt, Store, View, While
from sdfgad.ir.walk import all_variables, children, with_children

_INT32, _BOOL = np.dtype(np.int32), np.dtype(np.bool_)


def device_operations(program: Program) -> Program:
    """The program with its library operations as calls and kernels, their workspaces declared."""
    program = checked_once(batched(program))
    forms = DeviceForms(dict(program.arrays), set(all_variables(program.body)), snapshots=snapshots_of(program))
    told = [s for s in program.body if isinstance(s, Lib) and s.op == SIGNS]
    body = forms.block(Frame(program.arrays), tuple(s for s in program.body if not any(s is one for one in told)))
    if told or forms.trouble is not None:
        trouble = forms.number()
        well = Map((), (Store(trouble.array, (ix(0),), const(0, _INT32)),))
        look: Block = (*(_gathered(trouble, v) for s in told for v in s.ins), Lib(LOOK, (), (trouble,)))
        body = (well, *_with_looks(body, look), *look)
    return program.but(arrays=forms.arrays, body=body)


def _gathered(trouble: View, signs: View) -> Map:
    """Trouble for a sign of any iteration."""
    ranges, at = signs.points("w")
    none = const(0, _INT32)
    failed = call("ne", signs.load(at), none, dtype=_BOOL)
    value = algebra.select(failed, const(SINGULAR, _INT32), none)
    return Map(ranges, (Store(trouble.array, (ix(0),), value, "max"),))


def _with_looks(block: Block, look: Block) -> Block:
    """Trouble comes before whatever the host decides by data: NumPy would have raised there."""
    out: list[Stmt] = []
    for stmt in block:
        inner = [_with_looks(b, look) for b in children(stmt)]
        if isinstance(stmt, While) or isinstance(stmt, Loop) and stmt.until is not None:
            inner = [(*b, *look) for b in inner]
        if _decides(stmt):
            out += look
        out.append(with_children(stmt, inner))
    return tuple(out)


def _decides(stmt: Stmt) -> bool:
    if isinstance(stmt, If):
        return bool(loads(stmt.cond) or index_elems(stmt.cond))
    if isinstance(stmt, Loop):
        return stmt.until is not None or bool(stmt.range.start.elems or stmt.range.stop.elems)
    return isinstance(stmt, While) or isinstance(stmt, Lib) and stmt.op == "fail"
