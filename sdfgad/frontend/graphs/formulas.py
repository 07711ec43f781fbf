"""Formulas of graphs as expressions: Python as tasklets, conditions and edges between states have it."""
from __future__ import annotations

import ast
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import lru_cache, reduce
from types import MappingProxyType

import numpy as np

from sdfgad.errors import UnsupportedError
from sdfgad.frontend.graphs import numbers
from sdfgad.frontend.graphs.numbers import BOOL, FLOAT, arithmetic, chosen, common, compared, literal, truth
from sdfgad.frontend.state.builder import cast
from sdfgad.ir.algebra import direction
from sdfgad.ir.expr import Call, Expr, call
from sdfgad.ir.index import Ix

Refuse = Callable[[str, str], UnsupportedError]

_BINARY: Mapping[type, Callable[[Expr, Expr], Expr]] = MappingProxyType({
    ast.Add: lambda a, b: arithmetic("add", a, b), ast.Sub: lambda a, b: arithmetic("sub", a, b),
    ast.Mult: lambda a, b: arithmetic("mul", a, b), ast.Div: numbers.divided, ast.Mod: numbers.remainder,
    ast.FloorDiv: lambda a, b: arithmetic("floordiv", a, b), ast.Pow: numbers.power,
    ast.BitAnd: lambda a, b: arithmetic("bitand", a, b), ast.BitOr: lambda a, b: arithmetic("bitor", a, b),
    ast.BitXor: lambda a, b: arithmetic("bitxor", a, b), ast.LShift: lambda a, b: arithmetic("shl", a, b),
    ast.RShift: lambda a, b: arithmetic("shr", a, b)})
_COMPARE: Mapping[type, str] = MappingProxyType({
    ast.Lt: "lt", ast.LtE: "le", ast.Gt: "gt", ast.GtE: "ge", ast.Eq: "eq", ast.NotEq: "ne"})
_REAL: Mapping[str, str] = MappingProxyType({
    **{n: n for n in ("sqrt", "cbrt", "exp", "exp2", "expm1", "log", "log2", "log10", "log1p", "sin", "cos", "tan",
                      "sinh", "cosh", "tanh", "arcsin", "arccos", "arctan", "arcsinh", "arccosh", "arctanh", "erf",
                      "floor", "ceil", "trunc", "rint", "erfc", "isnan", "isinf", "isfinite")},
    "asin": "arcsin", "acos": "arccos", "atan": "arctan", "asinh": "arcsinh", "acosh": "arccosh", "atanh": "arctanh",
    "fabs": "abs", "tgamma": "gamma", "lgamma": "gammaln", "ceiling": "ceil", "nearbyint": "rint"})
"""Functions that take a float, with the names of the rule book."""
_PAIRS: Mapping[str, str] = MappingProxyType({
    "min": "minimum", "max": "maximum", "Min": "minimum", "Max": "maximum", "minimum": "minimum",
    "maximum": "maximum", "fmin": "fmin", "fmax": "fmax"})
_REAL_PAIRS: Mapping[str, str] = MappingProxyType({
    "atan2": "arctan2", "arctan2": "arctan2", "hypot": "hypot", "copysign": "copysign"})
_CASTS: Mapping[str, str] = MappingProxyType({
    "int": "int64", "float": "float64", "bool": "bool", "double": "float64", "bool_": "bool", "long": "int64",
    **{n: n for n in ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float32", "float64",
                      "complex64", "complex128")}})
_MODULES = frozenset(("math", "np", "numpy", "dace", "std", "cmath"))
_NUMBERS: Mapping[str, float] = MappingProxyType({"pi": math.pi, "e": math.e, "inf": math.inf, "nan": math.nan})


@dataclass(frozen=True)
class GraphFormula:
    """Reads expressions. value: what a name stands for; element: what is read under indices; refuse: the error for
    what is not taken."""

    value: Callable[[str], Expr | None]
    element: Callable[[str, tuple[Ix, ...]], Expr | None]
    refuse: Refuse

    def read(self, node: ast.expr) -> Expr:
        """The expression that a syntax node means."""
        found = _READERS.get(type(node))
        if found is None:
            raise self.strange(node)
        return found(self, node)

    def strange(self, node: ast.AST) -> UnsupportedError:
        return self.refuse(f"`{ast.unparse(node)}`", "write it with operators and functions of math")

    def index(self, node: ast.expr) -> Ix:
        """An integer that chooses elements or says how often something is done."""
        made = numbers.index_of(self.read(node))
        if made is None:
            raise self.refuse(f"`{ast.unparse(node)}` as an index", "use integers")
        return made

    def name(self, node: ast.Name) -> Expr:
        found = self.value(node.id)
        if found is None and node.id in _NUMBERS:
            return literal(_NUMBERS[node.id])
        if found is None:
            raise self.refuse(f"the name {node.id!r}", "define it in the graph")
        return found

    def binary(self, node: ast.BinOp) -> Expr:
        made = _BINARY.get(type(node.op))
        if made is None:
            raise self.strange(node)
        return made(self.read(node.left), self.read(node.right))

    def unary(self, node: ast.UnaryOp) -> Expr:
        e = self.read(node.operand)
        if isinstance(node.op, ast.Not):
            return call("not", truth(e), dtype=BOOL)
        if isinstance(node.op, ast.UAdd):
            return cast(e, common(e.dtype))
        if isinstance(node.op, ast.Invert):
            return call("invert", cast(e, common(e.dtype)))
        if isinstance(node.operand, ast.Constant):
            return literal(-node.operand.value)  # type: ignore[operator]
        return arithmetic("neg", e)

    def both(self, node: ast.BoolOp) -> Expr:
        parts = [truth(self.read(v)) for v in node.values]
        # What stands behind may be out of bounds where the first decides.
        true, false = literal(True), literal(False)
        if isinstance(node.op, ast.And):
            return reduce(lambda later, first: chosen(first, later, false), reversed(parts))
        return reduce(lambda later, first: chosen(first, true, later), reversed(parts))

    def compare(self, node: ast.Compare) -> Expr:
        fn = _COMPARE.get(type(node.ops[0]))
        if fn is None or len(node.ops) > 1:
            raise self.strange(node)
        return compared(fn, self.read(node.left), self.read(node.comparators[0]))

    def choice(self, node: ast.IfExp) -> Expr:
        return chosen(truth(self.read(node.test)), self.read(node.body), self.read(node.orelse))

    def attribute(self, node: ast.Attribute) -> Expr:
        if isinstance(node.value, ast.Name) and node.value.id in _MODULES and node.attr in _NUMBERS:
            return literal(_NUMBERS[node.attr])
        if node.attr in ("real", "imag"):
            return self.part(node.attr, self.read(node.value))
        raise self.strange(node)

    def part(self, fn: str, e: Expr) -> Expr:
        if e.dtype.kind != "c":
            return e if fn in ("real", "conj") else literal(0)
        return call(fn, e, dtype=e.dtype if fn == "conj" else np.empty(0, e.dtype).real.dtype)

    def subscript(self, node: ast.Subscript) -> Expr:
        parts = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
        if not isinstance(node.value, ast.Name) or any(isinstance(p, ast.Slice) for p in parts):
            raise self.strange(node)
        found = self.element(node.value.id, tuple(self.index(p) for p in parts))
        if found is None:
            raise self.refuse(f"the array {node.value.id!r}", "pass it to the tasklet")
        return found

    def call(self, node: ast.Call) -> Expr:
        name = function_name(node.func)
        if name is None or node.keywords:
            raise self.strange(node)
        args = [self.read(a) for a in node.args]
        made = _called(name, args)
        if made is None:
            raise self.refuse(f"a call of `{ast.unparse(node.func)}`", "write it with functions of math")
        return made


def function_name(node: ast.expr) -> str | None:
    """`sin` of `sin`, `math.sin` and `dace.math.sin`; of a type that DaCe has put there, its name."""
    kind = getattr(node.value, "type", None) if isinstance(node, ast.Constant) else None
    if kind is not None:
        return np.dtype(kind).name
    if isinstance(node, ast.Name):
        return node.id
    if isinstance(node, ast.Attribute) and (
            isinstance(node.value, ast.Name) and node.value.id in _MODULES or
            isinstance(node.value, ast.Attribute) and node.value.attr == "math"):
        return node.attr
    return None


def _called(name: str, args: list[Expr]) -> Expr | None:
    if len(args) == 1:
        return _of_one(name, args[0])
    if name in _PAIRS and args:
        return reduce(lambda a, b: arithmetic(_PAIRS[name], a, b), args)
    if len(args) == 3 and name in ("where", "ITE", "merge"):
        return chosen(truth(args[0]), args[1], args[2])
    if len(args) != 2:
        return None
    a, b = args
    if name == "pow":
        return numbers.power(a, b) if common(a.dtype, b.dtype).kind in "fc" else numbers.power(cast(a, FLOAT), b)
    if name in ("ipow", "int_floor", "int_ceil", "py_mod", "Mod", "PyMod", "py_floor"):
        return _of_integers(name, a, b)
    if name in ("CMod", "c_mod", "fmod"):
        return numbers.remainder(a, b)
    if name == "np_float_pow":
        return arithmetic("pow", cast(a, FLOAT), cast(b, FLOAT))
    if name == "heaviside":
        return chosen(compared("lt", a, literal(0)), literal(0), chosen(compared("gt", a, literal(0)), literal(1), b))
    if name in ("AND", "OR"):
        a, b = truth(a), truth(b)
        return chosen(a, b, literal(False)) if name == "AND" else chosen(a, literal(True), b)
    if name in _REAL_PAIRS:
        dtype = common(a.dtype, b.dtype) if common(a.dtype, b.dtype).kind == "f" else FLOAT
        return call(_REAL_PAIRS[name], cast(a, dtype), cast(b, dtype))
    return None


def _of_integers(name: str, a: Expr, b: Expr) -> Expr | None:
    if name == "ipow":
        return numbers.power(a, b)
    if name in ("int_floor", "py_floor"):
        return arithmetic("floordiv", a, b)
    if name == "int_ceil":
        return arithmetic("floordiv", arithmetic("add", a, arithmetic("sub", b, literal(1))), b)
    return arithmetic("mod", a, b)


def _of_one(name: str, e: Expr) -> Expr | None:
    if name in _CASTS:
        dtype = np.dtype(_CASTS[name])
        return truth(e) if dtype == BOOL else cast(e, dtype)
    if name in ("abs", "Abs", "fabs"):
        dtype = common(e.dtype)
        return call("abs", cast(e, dtype), dtype=np.empty(0, dtype).real.dtype)
    if name in ("real", "imag", "conj"):
        return GraphFormula.part(_NOTHING, name, e)
    if name in ("deg2rad", "rad2deg"):
        factor = math.pi / 180 if name == "deg2rad" else 180 / math.pi
        return arithmetic("mul", e, literal(factor)) if e.dtype.kind != "f" else call("mul", e, cast(literal(factor),
                                                                                                    e.dtype))
    if name == "sign_numpy_2" and e.dtype.kind != "c":
        up, down = (cast(compared(fn, e, literal(0)), common(e.dtype)) for fn in ("gt", "lt"))
        return arithmetic("sub", up, down)
    if name in ("sign", "sgn"):
        return direction(e) if e.dtype.kind == "c" else call("sign", cast(e, common(e.dtype)))
    if name == "reciprocal":
        return numbers.divided(literal(1), e)
    if name in ("NOT", "Not"):
        return call("not", truth(e), dtype=BOOL)
    if name in ("floor", "ceil", "ceiling", "trunc", "rint") and e.dtype.kind in "iub":
        return e
    if name not in _REAL:
        return None
    e = e if e.dtype.kind in "fc" else cast(e, FLOAT)
    made = _REAL[name]
    return Call(made, (e,), BOOL if made.startswith("is") else e.dtype)


def _refuse_nothing(what: str, help: str) -> UnsupportedError:
    return UnsupportedError(what, help=help)


_NOTHING = GraphFormula(lambda name: None, lambda name, index: None, _refuse_nothing)


def _constant(formula: GraphFormula, node: ast.Constant) -> Expr:
    if not isinstance(node.value, (bool, int, float, complex)):
        raise formula.strange(node)
    return literal(node.value)


_READERS: Mapping[type, Callable[..., Expr]] = MappingProxyType({
    ast.Constant: _constant, ast.Name: GraphFormula.name, ast.BinOp: GraphFormula.binary,
    ast.UnaryOp: GraphFormula.unary, ast.BoolOp: GraphFormula.both,
    ast.Compare: GraphFormula.compare, ast.IfExp: GraphFormula.choice,
    ast.Attribute: GraphFormula.attribute, ast.Subscript: GraphFormula.subscript, ast.Call: GraphFormula.call})


@lru_cache(maxsize=4096)
def parsed(text: str) -> ast.expr | None:
    """The syntax of a formula; None if it is no Python."""
    try:
        return ast.parse(text.strip(), mode="eval").body
    except SyntaxError:
        return None



