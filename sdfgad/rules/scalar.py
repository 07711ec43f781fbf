"""Partial derivatives of the scalar functions: y the answer, then the inputs; one line each, simple ones first.

Linear functions (add, neg, cast, conj, real, ...) are not calculus and live in `rules/linear.py`.
"""
from __future__ import annotations

import math

from sdfgad.ir.algebra import Operand, Term, is_number, number, where, zero
from sdfgad.ir.expr import Const
from sdfgad.rules.registry import no_gradient, scalar_rule

_Z = (0.4 + 0.7j, -0.8 + 0.3j)

no_gradient("floordiv", "sign", "floor", "ceil", "trunc", "rint", "decimal", "lt", "le", "gt", "ge", "eq", "ne", "and",
            "or", "not", "bitand", "bitor", "bitxor", "invert", "shl", "shr", "isnan", "isinf", "isfinite",
            "stop_gradient", "passive")

scalar_rule("exp", lambda y, x: y, [0.3, -1.1], _Z)
scalar_rule("exp2", lambda y, x: y * math.log(2.0), [0.3, -1.1], _Z)
scalar_rule("expm1", lambda y, x: y + 1, [0.3, -1.1], _Z)
scalar_rule("log", lambda y, x: 1 / x, [0.3, 2.1], _Z, singular=True)
scalar_rule("log2", lambda y, x: 1 / (x * math.log(2.0)), [0.3, 2.1], _Z, singular=True)
scalar_rule("log10", lambda y, x: 1 / (x * math.log(10.0)), [0.3, 2.1], _Z, singular=True)
scalar_rule("log1p", lambda y, x: 1 / (x + 1), [0.3, -0.4], _Z, singular=True)
scalar_rule("sqrt", lambda y, x: 0.5 / y, [0.3, 2.1], _Z, singular=True)
scalar_rule("cbrt", lambda y, x: 1 / (3 * y * y), [0.3, -2.1], singular=True)

scalar_rule("sin", lambda y, x: x.apply("cos"), [0.3, -1.1], _Z)
scalar_rule("cos", lambda y, x: -x.apply("sin"), [0.3, -1.1], _Z)
scalar_rule("tan", lambda y, x: 1 + y * y, [0.3, -1.1], _Z)
# On the cut of a complex number 1 - x * x has lost the sign of the zero that chooses the side, the answer has not.
scalar_rule("arcsin", lambda y, x: 1 / (y.apply("cos") if _is_complex(x) else (1 - x * x).apply("sqrt")), [0.3, -0.7],
            _Z, singular=True)
scalar_rule("arccos", lambda y, x: -1 / (y.apply("sin") if _is_complex(x) else (1 - x * x).apply("sqrt")), [0.3, -0.7],
            _Z, singular=True)
scalar_rule("arctan", lambda y, x: 1 / (1 + x * x), [0.3, -1.1], _Z)
scalar_rule("sinh", lambda y, x: x.apply("cosh"), [0.3, -1.1], _Z)
scalar_rule("cosh", lambda y, x: x.apply("sinh"), [0.3, -1.1], _Z)
scalar_rule("tanh", lambda y, x: 1 - y * y, [0.3, -1.1], _Z)
scalar_rule("arcsinh", lambda y, x: 1 / (y.apply("cosh") if _is_complex(x) else (x * x + 1).apply("sqrt")), [0.3, -1.1],
            _Z)
scalar_rule("arccosh", lambda y, x: 1 / (y.apply("sinh") if _is_complex(x) else
                                         (x - 1).apply("sqrt") * (x + 1).apply("sqrt")), [1.3, 2.1], _Z, singular=True)
scalar_rule("arctanh", lambda y, x: 1 / (1 - x * x), [0.3, -0.7], _Z, singular=True)
scalar_rule("erf", lambda y, x: (2 / math.sqrt(math.pi)) * (-x * x).apply("exp"), [0.3, -1.1])
scalar_rule("erfc", lambda y, x: (-2 / math.sqrt(math.pi)) * (-x * x).apply("exp"), [0.3, -1.1])
scalar_rule("erfcx", lambda y, x: _scaled_tail_slope(y, x), [0.3, -1.1, 31.0])
scalar_rule("erfinv", lambda y, x: (math.sqrt(math.pi) / 2) * (y * y).apply("exp"), [0.3, -0.9], singular=True)
scalar_rule("ndtri", lambda y, x: math.sqrt(2 * math.pi) * (0.5 * y * y).apply("exp"), [0.3, 0.9], singular=True)
scalar_rule("gamma", lambda y, x: y * x.apply("digamma"), [0.3, -1.4, 3.1])
scalar_rule("gammaln", lambda y, x: x.apply("digamma"), [0.3, -1.4, 3.1], singular=True)
scalar_rule("exp1", lambda y, x: -(-x).apply("exp") / x, [0.3, 3.1], singular=True)
scalar_rule("expi", lambda y, x: x.apply("exp") / x, [0.3, -1.1, 3.1], singular=True)
scalar_rule("digamma", lambda y, x: x.apply("polygamma", 1), [0.3, -1.4, 3.1], singular=True)

# Of a number and a whole order, through which no derivative goes.
scalar_rule("polygamma", lambda y, x, n: (x.apply("polygamma", n + 1), None), [(0.7, 1), (3.1, 2)], singular=True)
scalar_rule("bessel_j", lambda y, x, n: (_neighbours("bessel_j", x, n, -1), None), [(0.7, 0), (-3.1, 2)])
scalar_rule("bessel_y", lambda y, x, n: (_neighbours("bessel_y", x, n, -1), None), [(0.7, 0), (3.1, 2)], singular=True)
scalar_rule("bessel_i", lambda y, x, n: (_neighbours("bessel_i", x, n, 1), None), [(0.7, 0), (-3.1, 1)])
scalar_rule("bessel_ie", lambda y, x, n: (_neighbours("bessel_ie", x, n, 1) - x.apply("sign") * y, None),
            [(0.7, 0), (-3.1, 1)])

scalar_rule("lambertw", lambda y, x, n: (1 / (x + y.apply("exp")), None), [(0.7, 0), (-0.2, -1), (-0.3, 0)],
            singular=True)

# Of a number and shapes, of which the same holds.
scalar_rule("bessel_k", lambda y, x, v: (-_neighbours("bessel_k", x, v, 1), None), [(0.7, 0), (3.1, 1.5)],
            singular=True)
scalar_rule("gammainc", lambda y, x, a: (_gamma_density(x, a), None), [(0.7, 0.6), (3.1, 2.5)], singular=True)
scalar_rule("gammaincc", lambda y, x, a: (-_gamma_density(x, a), None), [(0.7, 0.6), (3.1, 2.5)], singular=True)
scalar_rule("betainc", lambda y, x, a, b: (_beta_density(x, a, b), None, None), [(0.2, 0.6, 2.0), (0.7, 2.5, 0.5)],
            singular=True)

scalar_rule("mul", lambda y, a, b: (b, a), [(0.6, -1.7)], [_Z])
scalar_rule("div", lambda y, a, b: (1 / b, _quotient_slope(y, a, b)), [(0.6, -1.7)], [_Z], singular=True)
scalar_rule("mod", lambda y, a, b: (1, -_floor_quotient(a, b)), [(7.3, 2.1), (-7.3, 2.1)])
scalar_rule("arctan2", lambda y, a, b: (b / (h := a.apply("hypot", b)) / h, -a / h / h),  # squares leave the numbers
            [(0.6, -1.7)], singular=True)
scalar_rule("hypot", lambda y, a, b: (a / y, b / y), [(0.6, -1.7)], singular=True)
scalar_rule("copysign", lambda y, a, b: (y.apply("sign") * a.apply("sign"), 0), [(0.6, -1.7)])
scalar_rule("pow", lambda y, a, b: (_power_base(a, b), _power_exponent(y, a, b)), [(0.6, 1.7), (1.3, -0.4)], [_Z],
            singular=True)
scalar_rule("maximum", lambda y, a, b: (_share(a, b), _share(b, a)), [(0.6, -1.7), (0.1, 0.4)])
scalar_rule("minimum", lambda y, a, b: (_share(a, b, 0, 1), _share(b, a, 0, 1)), [(0.6, -1.7), (0.1, 0.4)])
scalar_rule("fmax", lambda y, a, b: (_among_numbers(a, b, _share(a, b)), _among_numbers(b, a, _share(b, a))),
            [(0.6, -1.7), (0.1, 0.4)])
scalar_rule("fmin", lambda y, a, b: (_among_numbers(a, b, _share(a, b, 0, 1)),
                                     _among_numbers(b, a, _share(b, a, 0, 1))), [(0.6, -1.7), (0.1, 0.4)])


def _is_complex(x: Term) -> bool:
    return x.expr.dtype.kind == "c"


def _scaled_tail_slope(y: Term, x: Term) -> Term:
    """2 x y - 2 / sqrt(pi), which are nearly equal far out: there the asymptotic series of y, term by term."""
    over = 1 / (x * x)
    series = Term(zero(x.expr.dtype))
    for factor in (135135 / 64, -10395 / 32, 945 / 16, -105 / 8, 15 / 4, -3 / 2, 1):
        series = series * over + factor
    return where(x.compare("gt", 25), series * over * (-1 / math.sqrt(math.pi)), 2 * x * y - 2 / math.sqrt(math.pi))


def _neighbours(fn: str, x: Term, n: Term, sign: int) -> Operand:
    """Half the function of the order before, and half of that of the next one. DLMF 10.6.1, 10.29.1."""
    return 0.5 * (x.apply(fn, n - 1) + sign * x.apply(fn, n + 1))


def _gamma_density(x: Term, a: Term) -> Term:
    """x^(a - 1) exp(-x) / Gamma(a), whose factors may be too large; at zero the power decides."""
    inside = ((a - 1) * x.apply("log") - x - a.apply("gammaln")).apply("exp")
    return where(x.compare("eq", 0), x ** (a - 1) / a.apply("gamma"), inside)


def _beta_density(x: Term, a: Term, b: Term) -> Term:
    """x^(a - 1) (1 - x)^(b - 1) / B(a, b)."""
    height = (a + b).apply("gammaln") - a.apply("gammaln") - b.apply("gammaln")
    inside = ((a - 1) * x.apply("log") + (b - 1) * (-x).apply("log1p") + height).apply("exp")
    return where((x * (1 - x)).compare("eq", 0), x ** (a - 1) * (1 - x) ** (b - 1) * height.apply("exp"), inside)


def _quotient_slope(y: Term, a: Term, b: Term) -> Term:
    """A reciprocal's slope takes the result alone: nobody has to keep what was inverted, and nothing is divided.

    Others share the division with the slope by the numerator. 1 / b is infinite for no normal number but 0.
    """
    return -(y * y) if is_number(a.expr, 1) else -y * (1 / b)


def _floor_quotient(a: Term, b: Term) -> Term:
    # Not the floor of a quotient, which is rounded: 1.0 % 0.1 takes 0.1 away nine times.
    return a.apply("floordiv", b)


def _share(a: Term, b: Term, larger: float = 1, smaller: float = 0) -> Term:
    """What `a` gets where it is the larger one, and the smaller one; a half on a tie, and beside NaN."""
    on_tie = where(a.compare("lt", b), Term(number(smaller, a.expr.dtype)), 0.5)
    return where(a.compare("gt", b), Term(number(larger, a.expr.dtype)), on_tie)


def _among_numbers(a: Term, b: Term, share: Term) -> Term:
    """The share of `a` where NaN loses against any number."""
    return where(a.compare("eq", a), where(b.compare("eq", b), share, 1), 0)


def _power_base(a: Term, b: Term) -> Operand:
    if isinstance(b.expr, Const):
        p = b.expr.value
        return 1 if p == 1 else p * a if p == 2 else 0 if p == 0 else p * a ** (p - 1)
    return where(b.compare("eq", 0), Term(zero(a.expr.dtype)), b * a ** (b - 1))


def _power_exponent(y: Term, a: Term, b: Term) -> Operand | None:
    if isinstance(b.expr, Const):
        return None
    return where(a.compare("eq", 0), Term(zero(a.expr.dtype)), y * a.apply("log"))
