"""Special functions as mpmath has them: what they mean, for the interpreter and for tests. Programs call C++."""
from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from functools import cache
from importlib import import_module
from types import MappingProxyType
from typing import Any

import numpy as np

_INF, _NAN = math.inf, math.nan
_DIGITS = 40


@cache
def _library() -> Any:
    """Imported when it is needed, as it takes its time."""
    context = import_module("mpmath").mp.clone()
    context.dps = _DIGITS
    return context


def _function(formula: Callable[..., Any], limits: Mapping[float, float], pole: float = _NAN) -> Callable[..., Any]:
    """The function on arrays, with an order or shapes behind x where it has them. limits: values at zero, of the other
    sign at -0.0, and at infinities; pole: where mpmath has none, of the other sign for even orders above 0."""

    def value(x: float, order: float = 0, *shapes: float) -> float:
        x = float(x)
        if math.isnan(x):
            return _NAN
        if x in limits:
            return math.copysign(1.0, x) * limits[x] if x == 0 else limits[x]
        try:
            found = formula(_library(), x, int(order) if order == int(order) else order, *shapes)
            return float(found.real) if not getattr(found, "imag", 0) else _NAN
        except (ValueError, ZeroDivisionError):
            return -pole if order and order % 2 == 0 else pole
        except OverflowError:
            return _INF

    return np.vectorize(value, otypes=[np.float64])


def _quantile(mp: Any, p: float) -> Any:
    if not 0 < p < 1:
        return _end(p, 0, 1)
    with mp.workdps(_DIGITS - math.frexp(p)[1] // 3):  # 2 p - 1 has to keep the digits of p
        return mp.sqrt(2) * mp.erfinv(2 * mp.mpf(p) - 1)


def _end(x: float, low: float, high: float) -> float:
    return -_INF if x == low else _INF if x == high else _NAN


def _share(mp: Any, x: float, a: float, ends: tuple[float, float]) -> Any:
    return mp.gammainc(a, *ends, regularized=True) if x >= 0 else _NAN


def _lambertw(mp: Any, x: float, branch: int) -> Any:
    if branch not in (0, -1) or branch and x > 0 or x == -_INF:
        return _NAN
    return mp.lambertw(x, branch) if x else -_INF if branch else 0.0


SPECIAL: Mapping[str, Callable[..., Any]] = MappingProxyType({
    "gamma": _function(lambda mp, x, _: mp.gamma(x), {0: _INF, _INF: _INF, -_INF: _NAN}),
    "gammaln": _function(lambda mp, x, _: mp.log(abs(mp.gamma(x))), {_INF: _INF, -_INF: _INF}, _INF),
    "digamma": _function(lambda mp, x, _: mp.digamma(x), {0: -_INF, _INF: _INF, -_INF: _NAN}),
    "polygamma": _function(lambda mp, x, n: mp.polygamma(n, x), {_INF: 0.0, -_INF: _NAN}, _INF),
    "erfc": _function(lambda mp, x, _: mp.erfc(x), {}),
    "erfcx": _function(lambda mp, x, _: mp.exp(mp.mpf(x) ** 2) * mp.erfc(x), {_INF: 0.0, -_INF: _INF}),
    "ndtri": _function(lambda mp, p, _: _quantile(mp, p), {}),
    "erfinv": _function(lambda mp, y, _: mp.erfinv(y) if abs(y) < 1 else _end(y, -1, 1), {}),
    "bessel_j": _function(lambda mp, x, n: mp.besselj(n, x), {_INF: 0.0, -_INF: 0.0}),
    "bessel_y": _function(lambda mp, x, n: mp.bessely(n, x) if x > 0 else _end(x, 0, 1), {_INF: 0.0, -_INF: _NAN}),
    "bessel_i": _function(lambda mp, x, n: mp.besseli(abs(n), x) if math.isfinite(x) else x ** (2 - n % 2), {}),
    "bessel_ie": _function(lambda mp, x, n: mp.exp(-abs(x)) * mp.besseli(abs(n), x), {_INF: 0.0, -_INF: 0.0}),
    "bessel_k": _function(lambda mp, x, n: mp.besselk(n, x) if x > 0 else _end(x, _NAN, 0), {_INF: 0.0, -_INF: _NAN}),
    "exp1": _function(lambda mp, x, _: mp.e1(x) if x > 0 else _end(x, _NAN, 0), {_INF: 0.0, -_INF: _NAN}),
    "expi": _function(lambda mp, x, _: mp.ei(x) if x else -_INF, {_INF: _INF, -_INF: 0.0}),
    "lambertw": _function(_lambertw, {}),
    "gammainc": _function(lambda mp, x, a: _share(mp, x, a, (0, x)), {_INF: 1.0, -_INF: _NAN}),
    "gammaincc": _function(lambda mp, x, a: _share(mp, x, a, (x, mp.inf)), {_INF: 0.0, -_INF: _NAN}),
    "betainc": _function(lambda mp, x, a, b: mp.betainc(a, b, 0, x, regularized=True) if 0 <= x <= 1 else _NAN,
                         {_INF: _NAN, -_INF: _NAN}),
})
"""Of one number, of a number and a whole order, or of a number and shapes."""

OF_ORDERS = frozenset(("polygamma", "bessel_j", "bessel_y", "bessel_i", "bessel_ie", "lambertw"))
"""Those with an order."""

SHAPES: Mapping[str, int] = MappingProxyType({"bessel_k": 1, "gammainc": 1, "gammaincc": 1, "betainc": 2})
"""Those with real numbers behind x, and how many."""
