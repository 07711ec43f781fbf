"""`np.vectorize`: a function of numbers called for every element, where what it returns is surely a float.

NumPy takes the dtype of the result from what the first element gives: a function that returns `0` there makes an array
of integers. Here dtypes are known before the run, so what each `return` gives has to be.
"""
from __future__ import annotations

import ast
from types import FunctionType

import numpy as np

from sdfgad.frontend.arrays.layout import in_any_order, is_turned
from sdfgad.frontend.bodies import mapping as mapping_bodies
from sdfgad.frontend.elements.elementwise import FLOAT, as_array
from sdfgad.frontend.state.builder import reads_of
from sdfgad.frontend.state.context import Context
from sdfgad.frontend.state.values import Applied, Function, Value
from sdfgad.frontend.syntax.source import SourceText, code_of

_FLOATS = frozenset({"sin", "cos", "tan", "exp", "log", "sqrt", "tanh", "sinh", "cosh", "log1p", "expm1", "hypot",
                     "arctan", "atan", "arcsin", "asin", "arccos", "acos", "log2", "log10"})
_HELP = "pass otypes=[float], or return floats: 0.0 instead of 0, and no results of max, min, int or other functions"


def vectorize(ctx: Context, pyfunc: Value, otypes: Value = None, doc: Value = None, excluded: Value = None,
              cache: Value = False, signature: Value = None) -> Value:
    """`np.vectorize(f)`, to be called later."""
    if excluded or signature is not None or not isinstance(pyfunc, (Function, FunctionType)):
        raise ctx.refuse("np.vectorize with these arguments", "write a loop over the elements", "SG101")
    kinds = otypes if isinstance(otypes, str) else "".join(np.dtype(t).char for t in _listed(otypes))
    if kinds not in ("", "d"):
        raise ctx.refuse(f"np.vectorize with results of types {kinds!r}", "otypes=[float] is understood", "SG104")
    return Applied(call, (pyfunc, bool(kinds)), {})


def of_instance(ctx: Context, made: np.vectorize) -> Value:
    """What was made by `np.vectorize` outside of the function."""
    return vectorize(ctx, made.pyfunc, made.otypes, None, made.excluded, False, made.signature)


def _listed(otypes: Value) -> list[Value]:
    return list(getattr(otypes, "items", otypes) or ())


def call(ctx: Context, function: Value, known: bool, *arguments: Value) -> Value:
    """The function at every element of arrays that are broadcast against each other."""
    arrays = [as_array(ctx, a) for a in arguments]
    code = function.code if isinstance(function, Function) else code_of(function, ctx.text)
    if not arrays or not any(a.shape for a in arrays) or any(a.dtype != FLOAT for a in arrays):
        raise ctx.refuse("a function made by np.vectorize of something other than arrays of float64",
                         "convert the arrays: x.astype(float)", "SG104")
    if not known and not _returns_floats(code):
        raise ctx.refuse("a function made by np.vectorize that may return something other than a float", _HELP, "SG104")
    before, turns = reads_of(*arrays), any(is_turned(ctx, a) for a in arrays)
    result = ctx.invoke(ctx, mapping_bodies.each_element, [function, *arrays], {})
    if turns:
        in_any_order(ctx, result, before)
    return result


def _returns_floats(code: SourceText) -> bool:
    nodes = [n for s in code.body for n in ast.walk(s)]
    bound = {n.id for n in nodes if isinstance(n, ast.Name) and not isinstance(n.ctx, ast.Load)}
    floats = {a.arg for a in code.node.args.args} - bound
    inner = any(isinstance(n, (ast.FunctionDef, ast.Lambda)) for n in nodes)
    return not inner and all(_is_float(n.value, floats) for n in nodes if isinstance(n, ast.Return))


def _is_float(node: ast.expr | None, floats: set[str]) -> bool:
    """Whether an expression is a float whatever it is computed from, given names of floats."""
    if isinstance(node, ast.Constant):
        return isinstance(node.value, float)
    if isinstance(node, ast.Name):
        return node.id in floats
    if isinstance(node, ast.BinOp):
        return _is_float(node.left, floats) or _is_float(node.right, floats)
    if isinstance(node, ast.UnaryOp):
        return not isinstance(node.op, ast.Not) and _is_float(node.operand, floats)
    if isinstance(node, ast.IfExp):
        return _is_float(node.body, floats) and _is_float(node.orelse, floats)
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in _FLOATS
