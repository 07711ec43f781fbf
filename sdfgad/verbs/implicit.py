"""Functions that are defined by an equation: the user solves it, and the derivative is that of the solution."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

from sdfgad.frontend.bodies.implicit import iterate


def linear_solve(matvec: Callable[[Any], Any], b: Any, solve: Callable[[Callable[[Any], Any], Any], Any],
                 transpose_solve: Callable[[Callable[[Any], Any], Any], Any] | None = None,
                 symmetric: bool = False) -> Any:
    """x with `matvec(x) = b`, as `solve(matvec, b)` finds it.

    matvec: linear in its argument, an array like b, of whatever shape; it may capture values. solve: any function that
    sdfgad can compile, as conjugate gradients in a `while` with a tolerance.

    The derivative is that of the solution, whatever solve does: only x is kept for it. A tangent is solved for by
    `solve(matvec, ...)`, a cotangent by `transpose_solve(vecmat, ...)`, which is solve itself where it is not given.
    vecmat is the adjoint of matvec (its transpose, for real numbers), which sdfgad derives, and matvec itself if it is
    `symmetric` (Hermitian, for complex numbers). Derivatives flow to b and to all that matvec captures, second ones
    too. UnsupportedError where solve updates b or what it captures, or returns something else than such an array.
    """
    return solve(matvec, b)


def root(f: Callable[[Any], Any], x0: Any, solve: Callable[[Callable[[Any], Any], Any], Any],
         tangent_solve: Callable[[Callable[[Any], Any], Any], Any] | None = None) -> Any:
    """x with `f(x) = 0`, as `solve(f, x0)` finds it.

    f: as many real equations as x has elements, in an array like x (or a number); it may capture values. The derivative
    is that of the solution and flows to all that f captures; x0 has none, and nothing of what solve does is kept.
    `tangent_solve(operator, b)` solves linear systems with the Jacobian of f, and with its transpose; without it the
    Jacobian is made as a matrix, a column for each unknown, and factorised. Errors as in `linear_solve`.
    """
    return solve(f, x0)


def fixed_point(step: Callable[[Any], Any], x0: Any, tol: float, max_iter: int = 1000) -> Any:
    """x with `x = step(x)`, by iteration from x0 until no element changes by more than `tol`.

    ArithmeticError where that does not happen within max_iter iterations. step: takes and gives an array like x0 (or a
    number); it may capture values. The derivative is that of the fixed point and flows to all that step captures; x0
    has none, and none of the iterations is kept. The linear system of the derivative is solved by iteration as well,
    which converges as fast, until no element changes by more than `tol` times the largest one.
    """
    return iterate(step, x0, tol, max_iter)
