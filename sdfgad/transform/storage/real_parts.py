"""Transforms of which real parts are all that is asked for."""
from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import replace

import numpy as np

from sdfgad.ir.expr import Call, Expr, Load, const, rewrite
from sdfgad.ir.program import Block, Lib, Map, Program, Stmt, View
from sdfgad.ir.walk import map_exprs, reads, rebuild, statements, writes


def take_real_parts(program: Program) -> Program:
    """t = ifft(z) ; map i: y[i] = f(real(t[i]))   ->   t = real(ifft(z)) ; map i: y[i] = f(t[i])

    For arrays of the program's own that only transforms write, and of which maps read real parts alone. The routine
    needs half the work for them, and so does the derivative, which starts with real numbers.
    """
    written = {name for stmt in statements(program.body) if isinstance(stmt, Lib) and stmt.op == "fft"
               for name in writes(stmt)}
    names = {name for name in written if _is_complex(program, name)}
    for stmt in statements(program.body):
        names -= _otherwise(stmt, names)
        if not names:
            return program
    arrays = {**program.arrays, **{name: replace(program.arrays[name], dtype=_real(program.arrays[name].dtype))
                                   for name in names}}

    def changed(stmt: Stmt) -> Block:
        if isinstance(stmt, Lib) and stmt.outs and stmt.outs[0].array in names:
            return (replace(stmt, outs=tuple(_of_reals(view) for view in stmt.outs)),)
        return (_replaced(stmt, names, _itself),)

    return program.but(arrays=arrays, body=rebuild(program.body, changed))


def _is_complex(program: Program, name: str) -> bool:
    array = program.arrays[name]
    return array.role == "transient" and array.dtype.kind == "c" and name not in program.live_out


def _otherwise(stmt: Stmt, names: Collection[str]) -> set[str]:
    """Those that a statement writes without a transform, or looks at other than at real parts."""
    if isinstance(stmt, Lib) and stmt.op == "fft":
        return {view.array for view in stmt.ins if view.array in names}
    if isinstance(stmt, Map):
        stmt = _replaced(stmt, names, lambda part: const(0, part.dtype))
    return set(names) & (reads(stmt) | writes(stmt))


def _replaced(stmt: Stmt, names: Collection[str], by: Callable[[Load], Expr]) -> Stmt:
    """The statement with something for each real part of these arrays; `by` is given an element that is real itself."""
    def part(node: Expr) -> Expr | None:
        if isinstance(node, Call) and node.fn == "real" and isinstance(held := node.args[0], Load) \
                and held.array in names:
            return by(Load(held.array, held.index, node.dtype))
        return None

    return map_exprs(stmt, lambda e: rewrite(e, part))


def _itself(part: Load) -> Expr:
    return part


def _of_reals(view: View) -> View:
    return replace(view, dtype=_real(view.dtype))


def _real(dtype: np.dtype) -> np.dtype:
    return np.empty(0, dtype).real.dtype
