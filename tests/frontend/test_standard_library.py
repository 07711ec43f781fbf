"""What the standard library has for containers, orders and complex numbers, and objects that act like containers."""
from __future__ import annotations

import bisect
import cmath
import functools
import itertools
import operator
from collections import OrderedDict, defaultdict, namedtuple
from collections.abc import Callable
from dataclasses import dataclass, field
from enum import Enum, IntEnum
from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import pytest

from sdfgad.errors import UnsupportedError
from sdfgad.frontend import parse
from tests.frontend.checking import check, check_both_modes
from tests.frontend.programs import A34, V6, Z3, Case, collector
from tests.support.oracle import check_program

CASES: list[Case] = []
case = collector(CASES)


class Kind(Enum):
    LINEAR = 1
    SQUARE = 2


class Place(IntEnum):
    FIRST = 0
    SECOND = 1


@dataclass(frozen=True)
class Pair:
    a: Any
    b: Any = 1.5
    seen: list[Any] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.seen.append(self.a)

    @property
    def total(self) -> Any:
        return self.a + self.b


@dataclass(frozen=True)
class Completed:
    a: Any
    double: Any = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "double", self.a * 2)


class Polynomial:

    def __init__(self, c: Any) -> None:
        self.c = list(c)

    def __len__(self) -> int:
        return len(self.c)

    def __getitem__(self, k: int) -> Any:
        return self.c[k]

    def __setitem__(self, k: int, value: Any) -> None:
        self.c[k] = value

    def __call__(self, t: Any) -> Any:
        return sum(a * t ** k for k, a in enumerate(self.c))

    def __contains__(self, k: int) -> bool:
        return k in (1, 2)

    def __neg__(self) -> Polynomial:
        return Polynomial([-a for a in self.c])

    def __lt__(self, other: Polynomial) -> Any:
        return self.c[0] < other.c[0]

    def __eq__(self, other: object) -> bool:
        return len(self) == len(other) if isinstance(other, Polynomial) else NotImplemented


@case(V6)
def getters(v):
    owner = SimpleNamespace(x=v[0] * 2, inner=SimpleNamespace(y=v[1]))
    a, b = operator.itemgetter(0, 2)(v)
    x, y = operator.attrgetter("x", "inner.y")(owner)
    rows = sorted([(2, v[0]), (1, v[1])], key=operator.itemgetter(0))
    total = sum(map(operator.itemgetter(1), rows)) * rows[0][1] + operator.methodcaller("sum")(v)
    return a * b + x * y + total + np.sum(operator.itemgetter(slice(1, 4))(v)) + operator.itemgetter("k")({"k": v[5]})


@case(V6)
def named_tuples(x):
    P = namedtuple("P", ["a", "b"])
    Q = namedtuple("Q", "x y", defaults=(2.0,))
    p = P(x[0], x[1:])
    q = p._replace(a=p.a * 2)
    return q.a * np.sum(q.b ** 2) + q[0] + Q(x[1]).y * Q(x[2], x[3]).x


@case(V6)
def frozen_dataclasses(x):
    p, q, r = Pair(x[0]), Pair(x[2], x[1], seen=[]), Completed(x[3])
    return p.total * q.total + q.seen[0] + p.seen[0] * r.double


@case(V6)
def by_key(x):
    a = min([(3, x[0]), (1, x[1])], key=lambda p: p[0])
    b = max(x, key=abs)
    c = max([(x[0], x[1]), (x[2], x[3])], key=lambda p: p[0])
    d, e = max([], default=x[4]), min(x[0], x[1], key=lambda t: -t)
    order = [(2, x[0]), (1, x[1]), (3, x[2])]
    order.sort(key=lambda p: p[0], reverse=True)
    n = [3, 1, 2]
    n.sort(reverse=True)
    m = sorted({"z": 1, "y": 2}.items(), key=lambda kv: -kv[1])
    return a[1] * b + c[1] * d + e * c[0] + order[0][1] * n[0] + order[2][1] * n[2] + x[5] * m[0][1]


@case(V6)
def dicts_that_make_items(x):
    d, e, f = defaultdict(float), defaultdict(lambda: np.zeros(2)), OrderedDict(a=x[0])
    for i in range(5):
        d[i % 2] += x[i]
        e["k"] += x[i]
    f |= {"b": x[1]}
    g = f | dict(a=2.0)
    u = defaultdict(list)
    u["q"].append(x[2])
    u["q"].append(x[3])
    return d[0] * d[1] + np.sum(e["k"] ** 2) + f["a"] * g["a"] * g["b"] + sum(u["q"])


@case(V6)
def objects_like_containers(x):
    p = Polynomial(x[:3])
    p[1] = x[3] * 2
    q, s = -p, 0.0
    if 1 in p:
        s += x[5]
    if p == Polynomial([1.0, 2.0, 3.0]):
        s *= 3
    if q < p:
        s += x[4] ** 2
    return p(x[4]) * len(p) + q[0] + s


@case(V6)
def looked_up(x):
    knots, s = [0.0, 1.0, 2.0], 0.0
    for i in range(5):
        if i in {1, 3}:
            s += x[i] ** 2
        if str(i) not in {"2", "4"}:
            s -= x[i]
    for k in Kind:
        s = s * x[0] if k is Kind.SQUARE else s + x[1]
    return s * len({1, 1, 2}) * x[Place.SECOND] + x[bisect.bisect_right(knots, 1.5)]


class Counter:

    def __init__(self) -> None:
        self.k = 0

    def more(self) -> bool:
        self.k += 1
        return self.k < 5


@case(V6)
def asked_in_a_test(x):
    c, s = Counter(), 0.0
    while c.more():
        s += x[c.k]
    return s * c.k


@case(V6)
def classes_of_dicts(x):
    d, e, f = OrderedDict(a=x[0]), defaultdict(list), defaultdict(None, b=x[1])
    found = [isinstance(d, OrderedDict), isinstance(e, defaultdict), isinstance(f, dict), isinstance({}, OrderedDict)]
    return d["a"] * f["b"] * sum(k * told for k, told in enumerate(found, 1))


@case(V6)
def decorated(x):
    def twice(f):
        def g(t):
            return f(f(t))

        return g

    @twice
    def h(t):
        return t * t + x[0]

    @functools.cache
    def fib(n):
        return x[1] if n < 2 else fib(n - 1) + fib(n - 2) * 0.5

    return h(x[2]) * fib(6)


@case(V6)
def parts_of_lists(x):
    r = [x[0], x[1], x[2], x[3]]
    r[1:3] = [x[4] * 2]
    r[::2] = [x[5], x[0] * 3]
    longest = [a * b for a, b in itertools.zip_longest(r, x[:2], fillvalue=2.0)]
    return sum(longest) * r[0]


@case(Z3)
def complex_numbers(z):
    a = cmath.exp(z[0]) + cmath.log(z[1]) * cmath.sqrt(z[2]) + cmath.sin(z[0])
    r, p = cmath.polar(z[2])
    return abs(a) ** 2 + r * p + cmath.phase(z[0]) + cmath.rect(r, p).real + abs(cmath.sqrt(-1.0)) + cmath.log(
        z[1], 3.0).imag


INVERSES = (cmath.asin, cmath.acos, cmath.atan, cmath.asinh, cmath.acosh, cmath.atanh)


@case(V6)
def inverses_of_complex_numbers(x):
    return sum(abs(f(z) - 0.2j) ** 2 for f in INVERSES for z in (complex(x[0], x[1]), -x[1] + 2.5j * x[2]))


@case(A34, V6)
def inserted_and_deleted(a, x):
    v = x[:4]
    return sum(np.sum(np.cos(t) * np.arange(t.size).reshape(t.shape)) for t in (
        np.insert(v, [1, 3], x[:2]), np.insert(a, 1, v, axis=0), np.insert(a, -1, 5.0, axis=1),
        np.insert(a, [0, 2], np.stack([v, v * 2]), axis=0), np.insert(v, [3, 1], [7.0, 8.0]),
        np.insert(a, [1, 4], x[0], axis=1), np.insert(v, 4, 1.0), np.insert(a, 2, a[:2], axis=0),
        np.insert(a[:, :3], 1, x[:6].reshape(2, 3), axis=1), np.insert(a[:, :3], 1, a[:, 1:], axis=1),
        np.delete(a, slice(1, 3), axis=0), np.delete(x, slice(None, None, 2))))


@case(A34, V6)
def spaced(a, x):
    v = x[:4]
    return sum(np.sum(np.cos(t) * np.arange(t.size).reshape(t.shape)) for t in (
        np.linspace(v, v * 2, 4), np.linspace(v[:2], 1.0, 4, axis=-1), np.linspace(a, v, 3, endpoint=False),
        np.linspace(v, a, 1), np.linspace(0, v, 3, axis=1), np.geomspace(1.0, 2 + x[0] ** 2, 5),
        np.geomspace(1.0, 2 + v ** 2, 4))) + a.nbytes * x[0]


@case(V6)
def of_a_type(x):
    return np.sum(cast(np.ndarray, x) ** 2)


@pytest.mark.parametrize("fn, arguments", CASES, ids=[c[0].__name__ for c in CASES])
def test_program(fn: Callable[..., Any], arguments: tuple[Any, ...]) -> None:
    parsed = check(fn, *arguments)
    held = {k: np.asarray(v) for k, v in parsed.collect(arguments, {}).items()}
    check_program(parsed.program, held, list(parsed.traced.values()), rtol=1e-5)


def test_signs_of_zeros_choose_the_side_of_a_cut() -> None:
    def sides(x):
        cut = (complex(-x[0], -0.0), complex(-x[0], 0.0), -complex(x[0], 0.0), complex(0.0, x[0]), complex(-0.0, x[0]),
               complex(x[0]), complex(complex(x[0], -0.0)), complex(np.inf, x[0]), complex(x[0], np.inf))
        return [f(z) for f in (cmath.sqrt, cmath.log, *INVERSES) for z in cut[:7]], cut

    def slopes(x):
        cut = (complex(x[0], 0.0), complex(-x[0], -0.0), complex(-0.0, x[0]), complex(0.0, -x[0]))
        parts = [(f(z).real, f(z).imag) for f in INVERSES for z in cut]
        return sum((k + 1) * re + (k * k + 2) * im for k, (re, im) in enumerate(parts))

    check(sides, np.array([2.5]))
    check_both_modes(slopes, (np.array([2.5]),))


def test_refused() -> None:
    with pytest.raises(UnsupportedError, match="a defaultdict"):
        parse(lambda x: defaultdict(float, a=x[0]), (V6,))
