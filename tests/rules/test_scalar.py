"""Every scalar rule agrees with differences, in both modes; a rule that does not is found."""
from __future__ import annotations

import inspect
import math
from dataclasses import replace

import numpy as np
import pytest

from sdfgad.errors import GradientMismatchError
from sdfgad.ir.algebra import Term
from sdfgad.ir.expr import Call
from sdfgad.ir.primal import PRIMALS
from sdfgad.rules import linear, registry, scalar  # noqa: F401  (the table registers itself)
from tests.support.build import BOOL, F8, I8, at, one, program
from tests.support.oracle import program_tangent
from tests.support.rules import check_rule

RULES = list(registry.scalar_rules())
STRUCTURAL = {"add", "sub", "complex", "abs", "scale", "with_partial", "attached", "displaced"}
OF_COMPLEX = {"exp", "exp2", "expm1", "log", "log2", "log10", "log1p", "sqrt", "sin", "cos", "tan", "sinh", "cosh",
              "tanh", "arcsin", "arccos", "arctan", "arcsinh", "arccosh", "arctanh", "mul", "div", "pow"}
TWO = {"add", "sub", "complex"}

MUTANTS = {
    "tanh_squared_wrongly": ("tanh", lambda y, x: (1 - y) * (1 - y)),
    "tanh_off_by_a_thousandth": ("tanh", lambda y, x: 1.001 * (1 - y * y)),
    "sine_of_wrong_sign": ("sin", lambda y, x: -x.apply("cos")),
    "cosine_of_wrong_sign": ("cos", lambda y, x: x.apply("sin")),
    "product_not_crossed": ("mul", lambda y, a, b: (a, b)),
    "quotient_of_wrong_sign": ("div", lambda y, a, b: (1 / b, y / b)),
    "quotient_over_square": ("div", lambda y, a, b: (1 / b, -a / b)),
    "half_forgotten": ("sqrt", lambda y, x: 1 / y),
    "answer_for_input": ("exp", lambda y, x: x),
    "exponent_forgotten": ("pow", lambda y, a, b: (b * a ** (b - 1), 0)),
    "winner_exchanged": ("maximum", lambda y, a, b: (0, 1)),
    "quadrant_exchanged": ("arctan2", lambda y, a, b: (-b / (a * a + b * b), a / (a * a + b * b))),
    "answer_forgotten": ("gamma", lambda y, x: x.apply("digamma")),
    "order_not_raised": ("polygamma", lambda y, x, n: (x.apply("polygamma", n), None)),
    "neighbours_added": ("bessel_j", lambda y, x, n: (0.5 * (x.apply("bessel_j", n - 1) + x.apply("bessel_j", n + 1)),
                                                      None)),
    "error_function_scaled": ("erf", lambda y, x: 1.1283 * (-x * x).apply("exp")),
}


@pytest.mark.parametrize("rule", RULES, ids=lambda r: r.name)
def test_partials_agree_with_differences(rule):
    check_rule(rule)


@pytest.mark.parametrize("rule", RULES, ids=lambda r: r.name)
def test_a_rule_is_complete(rule):
    assert rule.name in PRIMALS
    assert rule.samples
    arity = len(inspect.signature(rule.partials).parameters) - 1
    assert all((len(s) if isinstance(s, tuple) else 1) == arity for s in (*rule.samples, *rule.complex_samples))
    assert 0 not in rule.samples, "samples lie off the symmetric points"


@pytest.mark.parametrize("name, partials", MUTANTS.values(), ids=MUTANTS)
def test_a_wrong_rule_is_caught(name, partials):
    with registry.override(name, partials), pytest.raises(GradientMismatchError, match=f"rule '{name}'.*differences"):
        check_rule(registry.scalar(name))
    check_rule(registry.scalar(name))


def test_a_rule_without_samples_is_caught():
    with pytest.raises(GradientMismatchError, match="no sample"):
        check_rule(replace(registry.scalar("tanh"), samples=()))


def test_a_wrong_complex_rule_is_caught():
    """Right on the real axis only."""
    with registry.override("exp", lambda y, x: y.apply("conj") if y.expr.dtype.kind == "c" else y), \
            pytest.raises(GradientMismatchError, match="j"):
        check_rule(registry.scalar("exp"))


def test_what_takes_complex_numbers_has_complex_samples():
    assert {r.name for r in RULES if r.complex_samples} == OF_COMPLEX


@pytest.mark.parametrize("name", PRIMALS)
def test_the_book_says_something_about_every_function(name):
    said = [registry.known(name), name in linear.UNARY, name in STRUCTURAL]
    assert sum(said) == 1


def test_no_gradient_names_functions_that_exist():
    assert set(registry.without_gradient()) <= set(PRIMALS)


@pytest.mark.parametrize("name", sorted(registry.without_gradient()))
def test_functions_without_gradient_have_a_zero_tangent(name):
    dtype, out = _dtypes_of(name)
    arity = 1 if name in {"sign", "floor", "ceil", "trunc", "rint", "not", "invert", "isnan", "isinf", "isfinite",
                          "stop_gradient", "passive"} else 2
    args = tuple(Call("cast", (at(n).expr,), dtype) if dtype != F8 else at(n).expr for n in ("x", "y")[:arity])
    answer = Call("cast", (Call(name, args, out),), F8)
    made = program({"x": (), "y": ()}, [one("s", (), Term(answer) + at("x") * 3.0)])
    _, pushed = program_tangent(made, {"x": np.array(2.6), "y": np.array(1.3)},
                                {"x": np.array(1.0), "y": np.array(1.0)})
    assert pushed == 3.0


def _dtypes_of(name):
    if name in {"bitand", "bitor", "bitxor", "invert", "shl", "shr"}:
        return I8, I8
    if name in {"and", "or", "not"}:
        return BOOL, BOOL
    compares = {"lt", "le", "gt", "ge", "eq", "ne", "isnan", "isinf", "isfinite"}
    return F8, BOOL if name in compares else F8


@pytest.mark.parametrize("exponent, expected", [(0, 0.0), (1, 1.0), (2, 3.0), (3, 6.75), (-1, -1 / 2.25), (0.5, None)])
def test_powers_with_a_known_exponent(exponent, expected):
    made = program({"x": ()}, [one("s", (), at("x") ** exponent)])
    _, pushed = program_tangent(made, {"x": np.array(1.5)}, {"x": np.array(1.0)})
    assert pushed == pytest.approx(0.5 / math.sqrt(1.5) if expected is None else expected, rel=1e-14)
