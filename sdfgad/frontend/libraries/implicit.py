"""Implicit functions: `linear_solve`, `root`, `fixed_point`.

How x is found is the affair of the user, and no derivative looks at it. Where F(x, p) = 0 holds, the tangent of x is
-(dF/dx)**-1 (dF/dp) dp: implicit function theorem; A. Griewank, A. Walther, Evaluating Derivatives, 2008, chapter 15;
for fixed points B. Christianson, Reverse accumulation and attractive fixed points, 1994.

    value = solve(...) ; x = own(value, p..., read...)

forward: J dx = -(dF/dp) dp, reverse: J' w = g ; cotangent of p: -(dF/dp)' w, where p is whatever F reads and has
derivatives, arguments and captured values alike. J and its transpose are programs that the engine derives of F.
w is an implicit function of g, x and p again, which is all that a second derivative needs.
"""
from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from types import FunctionType
from typing import Any

import numpy as np

from sdfgad.frontend.bodies import implicit as bodies
from sdfgad.frontend.elements.elementwise import as_array, convert, describe
from sdfgad.frontend.elements.failing import fail
from sdfgad.frontend.functions.arithmetic import kept
from sdfgad.frontend.libraries.routines import Traced, Translated, derivatives, routine, stored, unchanged
from sdfgad.frontend.state.context import Context, held
from sdfgad.frontend.state.values import ArrayValue, Function, Value, ViewValue, is_number
from sdfgad.ir.index import ix
from sdfgad.ir.own import OWN, PULLED, PUSHED, DerivativeRule
from sdfgad.ir.program import Failure, View

CODE = "SG136"
Solve = Callable[[Value, Value], Value]


class Operator(Translated):
    """A linear function that the front end makes, as the user's solver calls it."""

    used = False

    def __init__(self, run: Callable[[Value], Value]) -> None:
        self.stand_for(run)

    def apply(self, ctx: Context, arguments: Sequence[Value], keywords: Any) -> Value:
        if len(arguments) != 1 or keywords:
            raise ctx.refuse("a call of a linear function with several arguments", "give it one array", CODE)
        self.used = True
        return self.function(arguments[0])


@dataclass(frozen=True)
class Implicit:
    """A kind of implicit function, solved at one place.

    name: for messages. residual: F as a function of x alone. along: J of a vector, where it is known better than as the
    derivative of F. forward, reverse: solve systems with J and with its transpose. told: somebody has said that reverse
    does so, whatever it looks at.
    """

    ctx: Context
    name: str
    residual: Callable[[Value], Value]
    forward: Solve
    reverse: Solve | None
    along: Value | None = None
    symmetric: bool = False
    told: bool = False

    def solution(self, value: ViewValue) -> ViewValue:
        """A value with F(value) = 0, and the derivatives of it."""
        builder = self.ctx.builder
        of = routine(self.ctx, self.name, [value], lambda x: [
            alike(self.ctx, self.name, self.residual(x), value, "an equation")], code=CODE)
        inputs = tuple(n for n, v in zip(of.routine.read, of.read, strict=True) if v.dtype.kind in "fc")
        answer = builder.declare(value.shape, value.dtype, "answer")
        at = _Equation(self.ctx, of, inputs, builder.view(answer, value.shape, value.weak, value.scalar))
        likes = [ViewValue(of.part(n)) for n in inputs]
        forward = routine(self.ctx, self.name, likes, lambda *t: [self.tangent(at, t)], (answer.name,), CODE)
        reverse = routine(self.ctx, self.name, [value], lambda g: self.cotangents(at, g), (answer.name,), CODE) \
            if self.reverse else None
        del builder.arrays[answer.name]
        made = [forward] if reverse is None else [forward, reverse]
        rule = DerivativeRule(self.name, len(inputs), tuple(n for m in made for n in m.routine.read),
                              None if reverse is None else reverse.routine, forward.routine, answer.name)
        result = builder.view(builder.declare(value.shape, value.dtype, "solution"))
        ins = (value.view, *(v.view for v in likes), *(v for m in made for v in m.read))
        builder.library(OWN, (result.view,), ins, rule=rule)
        return ViewValue(result.view, scalar=value.scalar, weak=value.weak)

    def tangent(self, at: _Equation, tangents: Sequence[ViewValue]) -> Value:
        along = self.along or Operator(lambda v: at.pushed(at.of.routine.takes, [v]))
        rest = self.ctx.invoke(self.ctx, np.negative, [at.pushed(at.inputs, tangents)], {})
        return self.solved(self.forward, along, rest, at.x)

    def cotangents(self, at: _Equation, g: ViewValue) -> list[Value]:
        assert self.reverse is not None
        back = self.along if self.symmetric else Operator(lambda v: at.pulled(at.of.routine.takes, v)[0])
        value = self.solved(self.reverse, back, g, at.x)

        def residual(w: Value) -> Value:
            return self.ctx.invoke(self.ctx, np.subtract, [self.ctx.invoke(self.ctx, back, [w], {}), g], {})

        again = Implicit(self.ctx, self.name, residual, self.reverse, None, back, told=self.told)
        w = again.solution(stored(self.ctx, value, "adjoint"))
        return [self.ctx.invoke(self.ctx, np.negative, [c], {}) for c in at.pulled(at.inputs, w)]

    def solved(self, solve: Solve, operator: Value, b: Value, x: ArrayValue) -> ArrayValue:
        """What a solver makes of a system."""
        b = kept(self.ctx, b)
        with held(self.ctx, b), derivatives(self.ctx, False), unchanged(self.ctx, self.name):
            found = alike(self.ctx, self.name, solve(operator, b), x, "a solution")
        if isinstance(operator, Operator) and not operator.used and not self.told:
            raise self.ctx.refuse(f"a solver of {self.name} that does not call the function it is given, and so solves "
                                  "the same system for the transpose", "call it, or say transpose_solve= or symmetric="
                                  "True of linear_solve", CODE)
        return found


def alike(ctx: Context, name: str, value: Value, like: ArrayValue, what: str) -> ArrayValue:
    """The value, which has to be such an array."""
    if not (isinstance(value, ArrayValue) or is_number(value)):
        raise ctx.refuse(f"{what} of {name} that is {describe(value)}", "return one array, or one number", CODE)
    found = as_array(ctx, value)
    if found.shape != like.shape or not np.can_cast(found.dtype, like.dtype, "same_kind"):
        raise ctx.refuse(f"{what} of {name} that is {describe(found)}, where x is {describe(like)}",
                         "equations have the shape and dtype of their unknowns", CODE)
    return convert(ctx, found, like.dtype) if found.dtype != like.dtype else found


@dataclass(frozen=True)
class _Equation:
    """F as a routine `of` x, with derivatives by x and by `inputs`, at a solution x."""

    ctx: Context
    of: Traced
    inputs: tuple[str, ...]
    x: ViewValue

    def pushed(self, by: Sequence[str], tangents: Sequence[ViewValue]) -> ViewValue:
        """The derivative of F along tangents of x, or of what it reads."""
        taken = [stored(self.ctx, as_array(self.ctx, t), "tangent").view for t in tangents]
        return self._made(PUSHED, by, taken, self.of.routine.takes)[0]

    def pulled(self, by: Sequence[str], cotangent: Value) -> list[ViewValue]:
        """The cotangents of x, or of what F reads, for one of F."""
        taken = [stored(self.ctx, as_array(self.ctx, cotangent), "cotangent").view]
        return self._made(PULLED, by, taken, by)

    def along(self, tangent: Value) -> ViewValue:
        """The derivative of F, of whatever shape, along a tangent of x."""
        gives = self.of.routine.gives[0]
        assert gives is not None
        made, builder = self.of.routine.arrays[gives], self.ctx.builder
        out = builder.view(builder.declare(tuple(map(ix, made.shape)), made.dtype, "product"), scalar=not made.shape)
        taken = stored(self.ctx, as_array(self.ctx, tangent), "tangent").view
        builder.library(PUSHED, (out.view,), (taken, self.x.view, *self.of.read), of=self.of.routine,
                        by=self.of.routine.takes)
        return out

    def _made(self, op: str, by: Sequence[str], taken: Sequence[View], like: Sequence[str]) -> list[ViewValue]:
        builder = self.ctx.builder
        outs = []
        for name in like:
            source = self.x if name in self.of.routine.takes else ViewValue(self.of.part(name))
            array = builder.declare(source.shape, source.dtype, "product")
            outs.append(builder.view(array, source.shape, scalar=not source.shape))
        ins = (*taken, self.x.view, *self.of.read)
        builder.library(op, tuple(v.view for v in outs), ins, of=self.of.routine, by=tuple(by))
        return outs


def linear_solve(ctx: Context, matvec: Value, b: Value, solve: Value, transpose_solve: Value = None,
                 symmetric: Value = False) -> Value:
    """x with matvec(x) = b."""
    b = kept(ctx, b, "b")

    def residual(x: Value) -> Value:
        return ctx.invoke(ctx, np.subtract, [_of(ctx, "linear_solve", matvec, x), b], {})

    def by(solver: Value) -> Solve:
        return lambda operator, rest: ctx.invoke(ctx, solver, [operator, rest], {})

    back = solve if symmetric or transpose_solve is None else transpose_solve
    with held(ctx, matvec, b, solve, back):
        return _solution(ctx, lambda: ctx.invoke(ctx, solve, [matvec, b], {}), Implicit(
            ctx, "linear_solve", residual, by(solve), by(back), matvec, bool(symmetric),
            transpose_solve is not None))


def root(ctx: Context, f: Value, x0: Value, solve: Value, tangent_solve: Value = None) -> Value:
    """x with f(x) = 0."""
    x0 = kept(ctx, x0, "x0")
    linear = bodies.dense if tangent_solve is None else tangent_solve

    def by(operator: Value, rest: Value) -> Value:
        return ctx.invoke(ctx, linear, [operator, rest], {})

    with held(ctx, f, x0, solve, linear):
        return _solution(ctx, lambda: ctx.invoke(ctx, solve, [f, x0], {}), Implicit(
            ctx, "root", lambda x: _of(ctx, "root", f, x), by, by), "f")


def stationary(ctx: Context, f: Value, x: Value) -> Value:
    """x, where the slope of a function of one number is zero."""
    x = kept(ctx, x, "x")
    name = "minimize_scalar"

    def slope(at: Value) -> Value:
        place = stored(ctx, as_array(ctx, at), "place")
        of = routine(ctx, name, [place], lambda v: [_of(ctx, name, f, v)], code=CODE)
        one = ctx.invoke(ctx, np.ones_like, [place], {})
        return _Equation(ctx, of, (), place).pushed(of.routine.takes, [one])

    def by(operator: Value, rest: Value) -> Value:
        return ctx.invoke(ctx, bodies.dense, [operator, rest], {})

    with held(ctx, f, x):
        return _solution(ctx, lambda: x, Implicit(ctx, name, slope, by, by), "f")


def slope_along(ctx: Context, f: Value, x: Value, t: Value) -> Value:
    """The derivative of f at x along t: J t."""
    at, along = kept(ctx, x, "x"), kept(ctx, t, "t")
    with held(ctx, f, at, along):
        return _at(ctx, f, at).along(along)


def slope_back(ctx: Context, f: Value, x: Value, g: Value) -> Value:
    """The transpose of the derivative of f at x times g: J' g."""
    at, seed = kept(ctx, x, "x"), kept(ctx, g, "g")
    with held(ctx, f, at, seed):
        equation = _at(ctx, f, at)
        return equation.pulled(equation.of.routine.takes, seed)[0]


def named_parameters(ctx: Context, f: Value) -> int:
    """How many parameters a function names."""
    count = len(f.code.node.args.args) if isinstance(f, Function) else f.__code__.co_argcount if isinstance(
        f, FunctionType) else 0
    if count < 2:
        raise ctx.refuse("curve_fit of a function that does not name its parameters", "give p0=, a first guess", CODE)
    return count


def _at(ctx: Context, f: Value, x: Value) -> _Equation:
    """A function at a place, whatever it returns."""
    place = stored(ctx, as_array(ctx, x), "place")
    of = routine(ctx, "least_squares", [place], lambda v: [ctx.invoke(ctx, f, [v], {})], code=CODE)
    return _Equation(ctx, of, (), place)


def fixed_point(ctx: Context, step: Value, x0: Value, tol: Value, max_iter: Value = 1000) -> Value:
    """x with x = step(x)."""
    x0, tol = kept(ctx, x0, "x0"), kept(ctx, tol, "tol")

    def residual(x: Value) -> Value:
        return ctx.invoke(ctx, np.subtract, [x, _of(ctx, "fixed_point", step, x)], {})

    def by(operator: Value, rest: Value) -> Value:
        least = 16.0 * float(np.finfo(as_array(ctx, rest).dtype).eps)
        bound = max(tol, least) if is_number(tol) else ctx.invoke(ctx, np.maximum, [tol, least], {})
        return ctx.invoke(ctx, bodies.refine, [operator, rest, bound, max_iter], {})

    with held(ctx, step, x0, tol):
        return _solution(ctx, lambda: ctx.invoke(ctx, bodies.iterate, [step, x0, tol, max_iter], {}), Implicit(
            ctx, "fixed_point", residual, by, by))


def _of(ctx: Context, name: str, function: Value, x: ArrayValue) -> ArrayValue:
    """A function of x, as large as x."""
    return alike(ctx, name, ctx.invoke(ctx, function, [x], {}), x, "an equation")


def _solution(ctx: Context, solve: Callable[[], Value], implicit: Implicit, kinds: str = "fc") -> Value:
    """What is solved for, with its derivatives where any are asked for."""
    there = frozenset(ctx.builder.arrays)
    with derivatives(ctx, False), unchanged(ctx, implicit.name):
        value = kept(ctx, solve(), "value")
    if not ctx.own_rules:
        return value
    found = as_array(ctx, value) if isinstance(value, ArrayValue) or is_number(value) else None
    if found is None or found.dtype.kind not in kinds:
        raise ctx.refuse(f"a solution of {implicit.name} that is {describe(value)}",
                         "return one array of floating point numbers" +
                         ("" if "c" in kinds else ", real and imaginary parts apart"), CODE)
    solution = implicit.solution(stored(ctx, found, "value"))
    if isinstance(value, ViewValue) and value.shape and value.view.array in there:  # which NumPy has as one array
        ctx.builder.shared = ctx.builder.shared.twinned(solution.view.array, frozenset({value.view.array}))
    return solution


def not_converged(ctx: Context, max_iter: Value) -> None:
    """What `bodies/implicit.py` says when an iteration does not end."""
    told = f" within {max_iter} iterations" if is_number(max_iter) else ""
    fail(ctx, Failure(ArithmeticError, (f"fixed_point: no convergence{told}",)))
