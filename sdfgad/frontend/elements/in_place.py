"""Where an array without dimensions is not as good as a number: what is done to it in place others see as well.

Arguments without dimensions are taken for numbers (`Builder.numbers`), which loops and branches hand on by value. So no
update may change what could be one of them, under whatever name: then they are the arrays that they are.
"""
from __future__ import annotations

import ast

from sdfgad.frontend.state.attempts import AssumptionFailed
from sdfgad.frontend.state.context import Context
from sdfgad.frontend.state.values import ArrayValue, Lazy, Value, ViewValue

_MAKE_NUMBERS = (ast.Constant, ast.BinOp, ast.UnaryOp, ast.Compare)
"""What gives a number of its own, never an array that was there before."""


def ask_for_arrays(ctx: Context, value: Value) -> None:
    """Where the difference shows in what is done with a value of one element: translate again, with arrays.

    NumPy may have made the value of an argument without a copy. What is stored elsewhere may be any of them.
    """
    numbers = ctx.builder.numbers
    if not numbers or not isinstance(value, ArrayValue) or any(n.const != 1 for n in value.shape):
        return
    view = value.stored if isinstance(value, Lazy) else value
    own = view.view.array if isinstance(view, ViewValue) else ""
    if own in numbers or not own or value.scalar or ctx.builder.arrays[own].role != "argument":
        raise AssumptionFailed(own if own in numbers else min(numbers))


def check_update(ctx: Context, name: str, old: Value) -> None:
    """The same for `name op= ...`, unless the name never stands for anything but numbers made for it."""
    if ctx.builder.numbers and not _has_numbers_of_its_own(ctx.frame.code.node, name):
        ask_for_arrays(ctx, old)


def _has_numbers_of_its_own(function: ast.AST, name: str) -> bool:
    """Whether all that binds a name in a function is arithmetic. Parameters are no names in this sense, and bind it."""
    bound = made = 0
    for node in ast.walk(function):
        if name in (getattr(node, "arg", None), getattr(node, "name", None), getattr(node, "rest", None)):
            return False  # a parameter, a function, what a case captures
        bound += isinstance(node, ast.Name) and node.id == name and isinstance(node.ctx, ast.Store)
        if isinstance(node, ast.Assign) and isinstance(node.value, _MAKE_NUMBERS):
            made += sum(isinstance(t, ast.Name) and t.id == name for t in node.targets)
        elif isinstance(node, ast.AugAssign):
            made += isinstance(node.target, ast.Name) and node.target.id == name
    return bound == made
