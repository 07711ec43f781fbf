"""Functions with derivative rules of the user's."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

from sdfgad.errors import UsageError
from sdfgad.frontend.libraries.own_rules import CustomJvp, CustomVjp


def custom_vjp(fn: Callable[..., Any], *, python: bool = False,
               result: Callable[..., Any] | None = None) -> CustomVjp:
    """A function whose reverse mode is said by two others, which are compiled like it.

    `f = custom_vjp(f)`, then `f.defvjp(forward, backward)`: `forward(*args)` returns `(value, residuals)`, where value
    is what f returns, and `backward(residuals, cotangent)` a tuple with the cotangent of each argument, None for zero.
    residuals: any container of arrays and numbers. cotangent: like the value, None in place of what has no derivative.
    A cotangent has the shape of its argument and a dtype that casts to the argument's.

    Where f is called in a program that is differentiated, forward runs in its place, and backward in the reverse sweep.
    From Python, and where no derivative is asked for, f is f. None of the three may update an argument. Second
    derivatives differentiate backward. Forward mode through f is an UnsupportedError unless `f.defjvp(rule)` has set a
    rule for it, which is one of `custom_jvp` and may stay Python like the others.

    python: f, forward and backward stay Python and may call anything. The compiled program calls them back with copies
    of their arguments, and copies what they return, which costs some microseconds beside the work itself; an exception
    is raised by the call as it is. Shapes and dtypes of results are those of a trial with ones, of `result(*args)`
    where that is given (for f), else of the functions themselves; another result is a TypeError of the call. There are
    no second derivatives then, and no other device than the CPU.
    """
    _check(fn)
    return CustomVjp(fn, python, result)


def custom_jvp(fn: Callable[..., Any], *, python: bool = False,
               result: Callable[..., Any] | None = None) -> CustomJvp:
    """A function whose derivative is said by another one, which is compiled like it.

    `f = custom_jvp(f)`, then `f.defjvp(rule)`: `rule(primals, tangents)` returns `(value, tangent)` of tuples with one
    entry for each argument; the tangent of what has no derivative is None. The tangent that is returned has the form,
    shapes and dtypes of the value, and is linear in the tangents: reverse mode transposes it.

    From Python, and where no derivative is asked for, f is f. The rule may not update an argument.

    python, result: as in `custom_vjp`. A rule that stays Python cannot be transposed: reverse mode through f is an
    UnsupportedError.
    """
    _check(fn)
    return CustomJvp(fn, python, result)


def _check(fn: object) -> None:
    if not callable(fn):
        raise UsageError(f"{fn!r} is not a function", code="SG205")
