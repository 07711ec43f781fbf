"""Products of a vector with a matrix that is made for them alone: its elements are multiplied as they are made."""
from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from sdfgad.analysis.elements.cover import covers
from sdfgad.analysis.formula import inverse
from sdfgad.ir.program import Block, Lib, Map, Program, Stmt, View
from sdfgad.ir.walk import all_writes, expr_reads, reads, rebuild_blocks, statements, writes
from sdfgad.transform.spelling import only_store, product_as_maps

_KNOWN = frozenset(("accumulate", "conj_a", "conj_b"))


def multiply_as_made(program: Program) -> Program:
    """map i, j: A[i, j] = f(x[i], x[j]) ; y = matmul(A, v)
    ->   map i, j: A[i, j] = f(x[i], x[j]) ; map i: y[i] = 0 ; map i, j: y[i] += A[i, j] * v[j]

    Pointwise fusion then leaves no A. For temporaries (not in `seen`) that nobody else touches, and only where what f
    reads stays as it is until the product. A matrix with other readers is there anyway, and BLAS reads it faster.
    """
    touched = Counter(n for s in statements(program.body) for n in reads(s) | writes(s))
    own = {n for n, a in program.arrays.items() if a.role == "transient" and touched[n] == 2} - program.live_out

    def block(work: list[Stmt]) -> Block:
        return tuple(s for k, stmt in enumerate(work) for s in _written_out(stmt, work[:k], own, program))

    return program.but(body=rebuild_blocks(program.body, block))


def _written_out(stmt: Stmt, before: Sequence[Stmt], own: set[str], program: Program) -> Block:
    if not isinstance(stmt, Lib) or stmt.op != "matmul" or not stmt.attrs.keys() <= _KNOWN:
        return (stmt,)
    matrices = [v for v in stmt.ins if _is_matrix(v)]
    if len(matrices) != 1 or any(len(v.shape) > 2 for v in stmt.ins) or stmt.outs[0].dtype.kind not in "fc":
        return (stmt,)
    name = matrices[0].array
    return product_as_maps(stmt) if name in own and _waits(before, name, program) else (stmt,)


def _is_matrix(view: View) -> bool:
    return sum(n.const != 1 for n in view.shape) > 1


def _waits(before: Sequence[Stmt], name: str, program: Program) -> bool:
    """Whether a map of the same block makes all of an array, and its elements could as well be made at the end."""
    for k in range(len(before) - 1, -1, -1):
        maker = before[k]
        if isinstance(maker, Map) and name in writes(maker):
            store = only_store(maker)
            return (store is not None and inverse(maker, store) is not None
                    and covers(maker, store, program.arrays[name])
                    and all_writes(tuple(before[k + 1:])).isdisjoint(expr_reads(store.expr)))
    return False
