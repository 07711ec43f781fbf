"""Linear systems that are factorised first and solved later: LU factors, and sparse ones from outside."""
from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from typing import Any

import numpy as np

from sdfgad.frontend.bodies.packages import sparse as sparse_bodies
from sdfgad.frontend.bodies.packages.sparse_matrices import EntryMatrix
from sdfgad.frontend.bodies.packages.sparse_matrices import solve as solve_entries
from sdfgad.frontend.elements.elementwise import apply, as_array, constant_array, describe, promote, same_size
from sdfgad.frontend.libraries.matrix_operations import factorised, library, square, stored, system_dtype
from sdfgad.frontend.state.context import Context
from sdfgad.frontend.state.values import Opaque, Record, Value, ViewValue
from sdfgad.frontend.static.outside import found_outside


@dataclass(frozen=True, eq=False)
class Factors(Opaque):
    """The factors that `scipy.linalg.lu_factor` makes, good for `lu_solve` alone: their elements lie elsewhere than in
    SciPy's."""

    triangles: ViewValue
    pivots: ViewValue


@dataclass(frozen=True, eq=False)
class Exchanges(Opaque):
    """What `lu_factor` says about exchanged rows."""

    factors: Factors


def lu_factor(ctx: Context, a: Value, overwrite_a: Value = False, check_finite: Value = True) -> Value:
    """`scipy.linalg.lu_factor`."""
    matrix = as_array(ctx, a)
    square(ctx, matrix, "the LU factors")
    made = Factors(*factorised(ctx, stored(ctx, matrix, system_dtype(matrix.dtype))))
    return made, Exchanges(made)


def lu_solve(ctx: Context, lu_and_piv: Value, b: Value, trans: Value = 0, overwrite_b: Value = False,
             check_finite: Value = True) -> Value:
    """`scipy.linalg.lu_solve`."""
    parts = lu_and_piv if isinstance(lu_and_piv, tuple) and len(lu_and_piv) == 2 else (None, None)
    factors, right = parts[0], as_array(ctx, b)
    if not isinstance(factors, Factors) or not isinstance(parts[1], Exchanges) or parts[1].factors is not factors:
        raise ctx.refuse("factors that lu_factor did not make in this function", "call lu_factor in it", "SG102")
    size = factors.triangles.shape[0]
    if right.ndim not in (1, 2) or not same_size(ctx, size, right.shape[0]) or trans not in (0, 1, 2):
        raise ctx.refuse(f"lu_solve with trans={trans!r} and {describe(right)}", code="SG103")
    kind = promote(ctx, (factors.triangles, right))
    if kind != factors.triangles.dtype:
        raise ctx.refuse(f"factors of dtype {factors.triangles.dtype} and {describe(right)}",
                         f"factorise the matrix as one of {kind}", "SG104")
    turned = trans == 1 and kind.kind == "c"
    source = as_array(ctx, apply(ctx, np.conjugate, right)) if turned else right
    operands = [factors.triangles, factors.pivots, stored(ctx, source, kind)]
    found = library(ctx, "solve", right.shape, operands, kind, **({"adjoint": True} if trans else {}))
    return apply(ctx, np.conjugate, found) if turned else found


def solver(callee: Value) -> Any:
    """The factorisation whose `solve` this is, made outside by SciPy; None for anything else."""
    owner = getattr(callee, "__self__", None)
    return owner if is_sparse_factors(owner) and callee.__name__ == "solve" else None


def is_sparse_factors(value: Value) -> bool:
    """Whether this is what `scipy.sparse.linalg.splu` gives."""
    return type(value).__name__ == "SuperLU"


def solve(ctx: Context, factors: Any, rhs: Value, trans: Value = "N") -> Value:
    """`splu(A).solve(b)`: two triangular systems with the factors that SciPy has made, as constants."""
    right = as_array(ctx, rhs)
    if trans not in ("N", "T", "H") or right.ndim not in (1, 2) or right.shape[0].const != factors.shape[0]:
        raise ctx.refuse(f"a solution with sparse factors of shape {factors.shape}, trans={trans!r} and "
                         f"{describe(right)}", code="SG103")
    key = ("factors", id(factors), trans)
    if key not in ctx.hints:
        ctx.hints[key] = (factors, _parts(factors, trans))
    return ctx.invoke(ctx, sparse_bodies.triangles, [*(constant_array(ctx, p) for p in ctx.hints[key][1]), right], {})


def _parts(factors: Any, trans: str) -> tuple[np.ndarray, ...]:
    """Rows of a lower triangle, then of an upper one, both without the diagonal, which comes behind; and how the
    elements are to be reordered before and afterwards. SciPy: `Pr @ A @ Pc = L @ U`."""
    lower, upper, rows, columns = factors.L, factors.U, factors.perm_r, factors.perm_c
    if trans != "N":
        lower, upper, rows, columns = upper.T, lower.T, columns, rows
    if trans == "H":
        lower, upper = lower.conj(), upper.conj()
    parts: list[np.ndarray] = []
    for triangle, part in ((lower, "tril"), (upper, "triu")):
        cut: Callable[..., Any] = getattr(import_module("scipy.sparse"), part)
        strict = cut(triangle, -1 if part == "tril" else 1).tocsr()
        parts += [strict.data, strict.indices.astype(np.int64), strict.indptr.astype(np.int64), triangle.diagonal()]
    return (*parts, np.argsort(rows), np.array(columns, np.int64))


def spsolve(ctx: Context, A: Value, b: Value, permc_spec: Value = None, use_umfpack: Value = True) -> Value:
    """`scipy.sparse.linalg.spsolve` with a matrix from outside: SciPy factorises it when the function is translated."""
    if isinstance(A, Record) and A.form is EntryMatrix:
        return ctx.invoke(ctx, solve_entries, [A, b], {})
    if not hasattr(A, "format") or isinstance(A, ViewValue):
        raise ctx.refuse(f"a sparse system with {describe(A)}",
                         "the matrix is a sparse one from outside the function; for another one use np.linalg.solve",
                         "SG109")
    for name in ("data", "indices", "indptr"):
        if isinstance(part := getattr(A, name, None), np.ndarray):
            found_outside(ctx, A, name, part)
            ctx.surroundings.watched.append((part, part.copy()))
    key = ("spsolve", id(A))
    if key not in ctx.hints:
        ctx.hints[key] = sys.modules["scipy.sparse.linalg"].splu(A.tocsc(), permc_spec=permc_spec)
    return solve(ctx, ctx.hints[key], b)
