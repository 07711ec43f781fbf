"""Matrix products written out where BLAS is no gain: memory sets their pace, and their neighbours read the same."""
from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum, auto
from types import MappingProxyType
from typing import TypeGuard

from sdfgad.analysis.elements.cover import covers
from sdfgad.analysis.formula import inverse
from sdfgad.ir.program import Block, Lib, Map, Program, Stmt
from sdfgad.ir.walk import all_writes, expr_reads, reads, rebuild_blocks, statements, writes
from sdfgad.thresholds import thresholds
from sdfgad.transform.products.thin_products import thin_product
from sdfgad.transform.spelling import only_store, product_as_maps

_PLAIN = frozenset(("accumulate", "conj_a", "conj_b"))


def write_out_products(program: Program, which: WrittenOut) -> Program:
    """y = matmul(A, x)   ->   map i: y[i] = 0 ; map i, k: y[i] += A[i, k] * x[k]

    For products of one kind. Pointwise fusion and joins then make one pass over memory of them and their neighbours.
    """
    rule = _RULES[which]
    touched = Counter(n for s in statements(program.body) for n in reads(s) | writes(s))
    own = {n for n, a in program.arrays.items() if a.role == "transient" and touched[n] == 2} - program.live_out

    def block(work: list[Stmt]) -> Block:
        return tuple(s for k, stmt in enumerate(work) for s in
                     (_is_product(stmt) and rule(stmt, _ProductPlace(program, own, work[:k])) or (stmt,)))

    return program.but(body=rebuild_blocks(program.body, block))


class WrittenOut(Enum):
    """Kinds of products: with few terms; of a matrix that no cache holds; of one that is made for nothing else."""

    THIN = auto()
    STREAMED = auto()
    MADE_FOR_IT = auto()


@dataclass(frozen=True)
class _ProductPlace:
    """Where a product stands. own: temporaries that nobody touches but one statement and another; before: what comes
    first in its block."""

    program: Program
    own: set[str]
    before: Sequence[Stmt]


def _is_product(stmt: Stmt) -> TypeGuard[Lib]:
    return isinstance(stmt, Lib) and stmt.op == "matmul" and stmt.outs[0].dtype.kind in "fc"


def _thin(stmt: Lib, _: _ProductPlace) -> Block:
    """A large product with few terms per element."""
    made = thin_product(stmt) if stmt.attrs.keys() <= _PLAIN else None
    return () if made is None else (made,)


def _streamed(stmt: Lib, place: _ProductPlace) -> Block:
    """A matrix that no cache holds, with a vector: a scaled copy of it, or an update row by row, can be made in the
    same pass over memory."""
    matrix = next((v for v in stmt.ins if len(v.shape) == 2), None)
    fixed = matrix is not None and all(n.const is not None for n in matrix.shape)
    if matrix is None or not fixed or len(stmt.outs[0].shape) != 1 or \
            place.program.arrays[matrix.array].bytes < thresholds().streamed_matrix:
        return ()
    return product_as_maps(stmt)


def _made_for_it(stmt: Lib, place: _ProductPlace) -> Block:
    """A matrix that is made for one product with a vector: pointwise fusion then leaves none. One with other readers is
    there anyway, and BLAS reads it faster."""
    matrices = [v for v in stmt.ins if sum(n.const != 1 for n in v.shape) > 1]
    vectors = len(matrices) == 1 and stmt.attrs.keys() <= _PLAIN and all(len(v.shape) <= 2 for v in stmt.ins)
    return product_as_maps(stmt) if vectors and _waits(matrices[0].array, place) else ()


def _waits(name: str, place: _ProductPlace) -> bool:
    """Whether a map of the same block makes all of an array of its own, and could as well make it at the end."""
    for k in range(len(place.before) - 1, -1, -1) if name in place.own else ():
        maker = place.before[k]
        if isinstance(maker, Map) and name in writes(maker):
            store = only_store(maker)
            return (store is not None and inverse(maker, store) is not None
                    and covers(maker, store, place.program.arrays[name])
                    and all_writes(tuple(place.before[k + 1:])).isdisjoint(expr_reads(store.expr)))
    return False


_RULES: Mapping[WrittenOut, Callable[[Lib, _ProductPlace], Block]] = MappingProxyType({
    WrittenOut.THIN: _thin, WrittenOut.STREAMED: _streamed, WrittenOut.MADE_FOR_IT: _made_for_it})
