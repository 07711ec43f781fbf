"""Products of a large matrix with a vector written out: memory sets their pace, so they join their neighbours."""
from __future__ import annotations

from collections.abc import Mapping

from sdfgad.ir import algebra
from sdfgad.ir.expr import Call, Expr, Load
from sdfgad.ir.index import Ix, ix
from sdfgad.ir.program import Array, Block, Lib, Map, Program, Range, Stmt, Store, View
from sdfgad.ir.walk import rebuild
from sdfgad.names import variable
from sdfgad.thresholds import thresholds

_ATTRIBUTES = frozenset(("accumulate", "conj_a", "conj_b", "factor"))


def stream_products(program: Program) -> Program:
    """y = matmul(A, x)   ->   map i: y[i] = 0 ; map i, k: y[i] += A[i, k] * x[k]

    A scaled copy of A, or an update of A row by row, can then be made in the same pass over memory.
    """
    return program.but(body=rebuild(program.body, lambda s: _streamed(s, program.arrays)))


def _streamed(stmt: Stmt, arrays: Mapping[str, Array]) -> Block:
    if not isinstance(stmt, Lib) or stmt.op != "matmul":
        return (stmt,)
    (out,), (a, b, *scale) = stmt.outs, stmt.ins
    matrix = a if len(a.shape) == 2 else b
    fixed = all(n.const is not None for n in matrix.shape) and stmt.attrs.keys() <= _ATTRIBUTES
    near = arrays[matrix.array].bytes < thresholds().streamed_matrix
    if len(out.shape) != 1 or near or out.dtype.kind not in "fc" or not fixed:
        return (stmt,)
    here, k = Range(variable("h"), ix(0), out.shape[0]), Range(variable("k"), ix(0), a.shape[-1])
    i, s = ix(here.var), ix(k.var)
    left = _element(a, (i, s) if matrix is a else (s,), bool(stmt.attrs.get("conj_a")))
    right = _element(b, (s,) if matrix is a else (s, i), bool(stmt.attrs.get("conj_b")))
    value = algebra.mul(left, right)
    for factor in (algebra.number(stmt.attrs.get("factor", 1), out.dtype), *(_element(v, (), False) for v in scale)):
        value = algebra.mul(factor, value)
    clear = Map((here,), (Store(out.array, out.at((i,)), algebra.zero(out.dtype)),), stmt.source)
    sums = Map((here, k), (Store(out.array, out.at((i,)), value, "+"),), stmt.source)
    return (sums,) if stmt.attrs.get("accumulate") else (clear, sums)


def _element(view: View, position: tuple[Ix, ...], conjugate: bool) -> Expr:
    e: Expr = Load(view.array, view.at(position), view.dtype)
    return Call("conj", (e,), e.dtype) if conjugate and e.dtype.kind == "c" else e
