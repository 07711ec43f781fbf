"""Dicts, namedtuples, dataclasses and namespaces as arguments, values and results."""
from __future__ import annotations

import dataclasses
from collections import namedtuple
from dataclasses import dataclass
from functools import cached_property
from types import SimpleNamespace
from typing import NamedTuple

import numpy as np
import pytest

from sdfgad.frontend import parse
from tests.frontend.checking import check
from tests.frontend.programs import V6, Case, collector
from tests.frontend.refusing import check_refusal
from tests.frontend.refusing import collector as refusals
from tests.support.point_loops import run

Pair = namedtuple("Pair", "a b")
GLOBAL = {"w": np.arange(6.0), "k": 3}
W6 = np.linspace(1.0, 2.0, 6)

CASES: list[Case] = []
case = collector(CASES)
REFUSED: list = []
refused = refusals(REFUSED)


class Point(NamedTuple):
    x: np.ndarray
    h: float = 0.5

    def scaled(self, k):
        return self.x * self.h * k


@dataclass
class Material:
    rho: np.ndarray
    c: float = 2.0
    n: int = 3

    @property
    def stiffness(self):
        return self.rho * self.c**self.n

    def flux(self, u):
        return u * self.stiffness + self.twice(u)

    @staticmethod
    def twice(u):
        return 2 * u

    @cached_property
    def total(self):
        return np.sum(self.rho)

    def __call__(self, u):
        return self.flux(u) - 1.0


@dataclass(frozen=True)
class Frozen:
    a: np.ndarray


def data():
    return {"W": W6.copy(), "dt": 0.25, "n": 3, "name": "relu", 7: np.arange(6.0)}


@case(V6, data())
def reading(x, p):
    y = x * p["W"] * p["dt"] ** p["n"] + p[7]
    if p["name"] == "relu" and "dt" in p and "q" not in p:
        y = np.maximum(y, 0.5)
    return y * p.get("q", 2.0) * len(p)


@case(V6)
def repeated_results(x):
    rows, pair, twice = [np.eye(2) * x[0]] * 3, (x + 1.0,) * 2, 2 * [x[1] * x[2]]
    rows[0][0, 1] = x[3]
    sums = dict.fromkeys(("a", "b"), x * 2.0)
    sums["a"] += 1.0
    return [np.array([np.eye(2)] * 2), *rows, np.stack((x * 2.0,) * 3), sum(twice), pair[0] * pair[1],
            sum([x[1] ** 2] * 3), *sums.values(), dict.fromkeys([1])[1] is None]


@case(V6, {"a": V6.copy(), "b": W6.copy()})
def iterating(x, p):
    total = x * 0
    for k in p:
        total += p[k]
    for name, value in p.items():
        total += value * (2.0 if name == "a" else 3.0)
    return total, sum(p.values()), [k for k in p.keys()], [v * 2 for v in p.values()]


@case(V6, {"a": V6.copy(), "b": W6.copy()})
def items_seen_as_they_are_then(x, p):
    d = dict(p)
    seen = []
    for name, value in d.items():
        seen.append(value)
        d["b"] = x * 5.0
        d[name] = value * 2.0
    return seen, d


@case(V6, {"u": W6.copy()})
def updating_in_place(x, p):
    p["u"][1:-1] += x[1:-1]
    p["u"] *= 2.0
    return p["u"] * x


@case(V6)
def aliases(x):
    y = x * 2
    d = {"y": y, "n": 1.0}
    other = d
    d["y"] += 1.0
    d["n"] += x[0]
    other["z"] = y
    y[0] = 9.0
    values = [y]
    values[0] += 1.0
    return y, d["y"], d, values


@case(V6)
def making(x):
    d = {"a": x, **GLOBAL, "b": 2 * x}
    e = {k: v * 2.0 for k, v in d.items() if k != "k"}
    f = dict(e, c=x + 1.0)
    f.update({"a": x - 1.0}, d=d.pop("b"))
    f.setdefault("e", x[0])
    return d, e, f.copy()


@case(V6, SimpleNamespace(dt=0.5, inner=SimpleNamespace(w=W6.copy())))
def namespaces(x, p):
    q = SimpleNamespace(dt=p.dt, inner=p.inner)
    q.dt = q.dt * 2
    q.dt += 1.0
    p.inner.w += 1.0
    return x * q.dt * q.inner.w, SimpleNamespace(a=x + 1.0, b=p.dt)


@case(V6, Point(V6.copy()), Pair(2.0, (W6.copy(), 3)))
def namedtuples(x, p, q):
    a, (w, n) = q
    moved = p._replace(h=x[0])
    return Pair(p.x * p.h * a + w * n + q.b[0], b=moved.scaled(3.0)), Point(x), p[0] + len(q)


@case(V6, Material(W6.copy()))
def dataclasses_run_in_place(x, m):
    other = dataclasses.replace(m, c=x[1])
    return m.flux(x) + m(x) + m.n, other.stiffness, Material(x, n=2), isinstance(m, Material)


@case(V6, Frozen(W6.copy()))
def frozen_ones(x, p):
    p.a[0] = 3.0
    return x * p.a, Frozen(p.a + 1.0)


@case(V6)
def keywords(x):
    def inner(u, **rest):
        return u * rest["w"] + rest["k"], len(rest)

    return inner(x, **GLOBAL), inner(x, w=x, k=1.0)


@case(V6, Pair(1.0, W6.copy()))
def either_namedtuple(x, p):
    if x[0] > 0:
        q = p._replace(b=x)
    else:
        q = p._replace(b=x * 2)
    return q.a * q.b


@case(V6)
def asking_by_name(x):
    p = SimpleNamespace(k=2.0)
    return x * getattr(p, "k") * getattr(p, "q", 3.0) * (2.0 if hasattr(p, "k") else 1.0)  # noqa: B009


@pytest.mark.parametrize(("fn", "arguments"), CASES, ids=[fn.__name__ for fn, _ in CASES])
def test_case(fn, arguments):
    check(fn, *arguments)


def test_an_item_replaced_by_another_array():
    def step(x, p, q):
        p["u"] = p["u"] * x
        q[0] = q[1]
        p["v"][0] = 1.0
        return p["u"]

    parsed = parse(step, (V6, {"u": W6, "v": V6}, [V6, W6]))
    assert parsed.replaced == ("p['u']", "q[0]") and parsed.mutated == {parsed.traced["p['v']"]}


@refused(1, "which is not in the dictionary", V6, {})
def missing_key(x, p):
    return x * p["k"]


@refused(1, "which is more than that", V6, Frozen(V6))
def frozen_attribute(x, p):
    p.a = x
    return x


@refused(1, "which is more than that", V6, Frozen(V6))
def frozen_update(x, p):
    p.a += x
    return x


@refused(1, "a comparison of dictionaries or objects", V6, {"a": 1}, {"a": 1})
def equal_dicts(x, p, q):
    return x if p == q else x * 2


@refused(1, "an item of a dictionary from outside", V6)
def outside_dict(x):
    GLOBAL["w"] = x
    return x


@refused(1, "a key of a dictionary that is no constant", V6, {1: V6})
def key_of_the_data(x, p):
    return p[x[0]]


@refused(1, "the attribute 'q' of an object of class", V6, Frozen(V6))
def unknown_attribute(x, p):
    return x * p.q


@pytest.mark.parametrize(("fn", "arguments", "line", "what"), REFUSED, ids=[r[0].__name__ for r in REFUSED])
def test_refusal(fn, arguments, line, what):
    check_refusal(fn, arguments, line, what)


def test_cached_properties_of_arguments() -> None:
    """One that has been asked for before stays as it was."""
    fresh, known = Material(2 * V6), Material(2 * V6)
    assert known.total > 0
    known.rho = 3 * known.rho

    def fn(x, p):
        return x * p.total

    check(fn, V6, known)
    parsed = parse(fn, (V6, fresh), {})
    value = run(parsed.program, {k: np.asarray(v) for k, v in parsed.collect((V6, fresh), {}).items()})
    np.testing.assert_allclose(value, V6 * fresh.total)
