"""Forms of Python that everyday code has: dataclasses in order, flags, the module `operator`, integers of `math`."""
from __future__ import annotations

import enum
import functools
import math
import operator
from array import array
from dataclasses import dataclass, field

import numpy as np
import pytest

import sdfgad
from sdfgad.frontend import parse
from tests.frontend.checking import check, check_both_modes

X = np.array([0.3, -1.2, 2.1, 0.7, -0.4, 1.9])


@dataclass
class Named:
    number: int
    name: str
    note: str = field(default="", compare=False)


@dataclass(order=True, frozen=True)
class Pair:
    a: float
    b: int


@functools.total_ordering
class Sized:
    def __init__(self, size):
        self.size = size

    def __eq__(self, other):
        return self.size == other.size

    def __lt__(self, other):
        return self.size < other.size


class Mode(enum.Flag):
    FAST = 1
    SAFE = 2
    BOTH = FAST | SAFE


class Bits(enum.IntFlag):
    ONE = 1
    TWO = 2


def _sorted(x):
    first = sorted([Pair(3, 1), Pair(1, 2), Pair(1, 1)])[0]
    return x * first.b + max(Pair(1, 2), Pair(2, 1)).a


def _added_in_place(x):
    y = x * 2
    operator.iadd(y, x)
    operator.setitem(y, 0, x[1])
    return y


def _multiples(x):
    s = 0.0
    for k in range(70):
        s = s + x[0] * math.lcm(k, 4) * math.gcd(k, 12) + math.comb(20, k % 5) * x[1] + math.perm(k % 6, 2)
    return s


def _series(x, n):
    s = 0.0
    for k in range(n):
        s = s + x[0] ** k / math.factorial(k)
    return s * math.factorial(n)


def _quotients_at_places(x):
    y = x * 1.0
    np.divide.at(y, [0, 1, 0], 1.5 * x[2])
    return y


def _reshaped(x):
    v = x[x > 0.5].reshape(-1)
    v *= 2.0
    return np.sum(v.reshape(-1, 1) * x) + np.sum(np.reshape(v, (1, -1)) * v) + np.sum(v)


FORMS = {
    "equal": lambda x: x * 2 if Named(1, "u") == Named(1, "u", "w") else x,
    "not equal": lambda x: x * 2 if Named(1, "u") != Named(2, "u") else x,
    "of two classes": lambda x: x * 2 if Named(1, "u") == Pair(1, 2) else x,
    "less": lambda x: x * 2 if Pair(1, 2) < Pair(1, 3) and Pair(2, 0) >= Pair(1, 9) else x,
    "of data": lambda x: x * 2 if Pair(x[0], 1) > Pair(x[1], 2) else x, "sorted": _sorted,
    "total ordering": lambda x: x * 2 if Sized(1) <= Sized(2) else x,
    "total ordering of data": lambda x: x * 2 if Sized(x[0]) >= Sized(x[1]) else x,
    "in a flag": lambda x: x * 2 if Mode.FAST in (Mode.FAST | Mode.SAFE) and ~Mode.SAFE == Mode.FAST else x,
    "no flag": lambda x: x * 2 if Mode.FAST & Mode.SAFE else x * (1 if Mode.BOTH & Mode.FAST else 3),
    "in a number": lambda x: x * 2 if Bits.ONE in (Bits.ONE | Bits.TWO) else x,
    "shifts": lambda x: operator.lshift(1, 3) * x + operator.rshift(8, 1) + operator.xor(5, 3) + operator.or_(4, 1),
    "operators": lambda x: operator.contains([1, 2], 1) * x + operator.concat([1], [2])[1] + operator.not_(0),
    "identity": lambda x: x * 2 if operator.is_(None, None) and operator.is_not(x, None) else x,
    "in place": _added_in_place, "multiples": _multiples, "quotients": _quotients_at_places, "reshaped": _reshaped,
    "values alone": lambda x: np.linalg.svd(np.outer(x, x)[:3] + np.eye(3, 6))[1],
}


@pytest.mark.parametrize("fn", FORMS.values(), ids=FORMS)
def test_forms(fn):
    check(fn, X)


def test_gradients():
    check_both_modes(lambda x: np.sum(_quotients_at_places(x)) + _reshaped(x), (X,))
    check(_series, X, 20)


def test_factorials_that_leave_64_bits():
    check(_series, X, 22)  # written out, where Python computes them
    with pytest.raises(sdfgad.UnsupportedError, match="may leave 64 bits as loops go on"):
        sdfgad.forward(_series)(X, 70)


def _sent(x):
    def running():
        total = 0.0
        while True:
            total = total + (yield total)

    made = running()
    next(made)
    return made.send(x[0])


def _appended(value, kept=[]):  # noqa: B006
    kept.append(value)
    return kept


def _turned(x):
    x[x > 0.5] = x[x > 0.5][::-1]
    return x


REFUSALS = [
    (_sent, "a generator that is sent values"),
    (lambda x: _appended(x[0])[0], "a list from outside, or a default, changed by 'append'"),
    (lambda x: np.power.at(x, [0], 2.0), "numpy.power.at"),
    (lambda x: np.linalg.svd(np.outer(x, x)[:3])[2] * 2, "all singular vectors"),
    (lambda x: np.sum(np.ma.array(x, mask=x > 1)), "select with a mask"),
    (lambda x: array("d", [1.0, 2.0])[0] * x, "use np.array"),
    (_turned, "in another order or only in part, stored through a mask"),
]


@pytest.mark.parametrize(("fn", "what"), REFUSALS)
def test_refusals(fn, what):
    with pytest.raises(sdfgad.UnsupportedError) as found:
        parse(fn, (X,))
    assert what in f"{found.value.what} {found.value.help}"


def test_late_binding():
    def f(x):
        made = [lambda z: z * k for k in range(3)]
        return made[0](x)

    with pytest.raises(sdfgad.UnsupportedError, match="lambda z, i=i") as found:
        parse(f, (X,))
    assert "'k', which is not defined" in found.value.what
