"""Context managers, operators and properties of the user's classes, and iterators of `itertools`."""
from __future__ import annotations

import contextlib
import itertools
from dataclasses import dataclass, field, replace
from types import SimpleNamespace

import numpy as np
import pytest

import sdfgad
from sdfgad.frontend import parse
from tests.frontend.checking import check
from tests.frontend.programs import Case, collector

N = 70
W = np.sin(np.arange(N) * 1.7) + 0.2
U = np.array([0.5, 1.25, 0.75, -1.0, 0.3])
CASES: list[Case] = []
case = collector(CASES)


class Saved:
    def __init__(self, o):
        self.o = o

    def __enter__(self):
        self.x = self.o.x.copy()
        return self.o

    def __exit__(self, kind, value, trace):
        self.o.x = self.x


class Counter:
    def __init__(self, v):
        self.v = v

    def __iadd__(self, o):
        self.v = self.v + o
        return self

    def __imul__(self, o):
        return Counter(self.v * o)

    def __add__(self, o):
        return Counter(self.v + (o.v if isinstance(o, Counter) else o))

    __radd__ = __add__

    def __abs__(self):
        return np.sqrt(self.v**2)

    def __iter__(self):
        yield self.v
        yield self.v * 2


class Thermometer:
    def __init__(self, c):
        self._c, self.n = c, 0

    @property
    def f(self):
        return self._c * 1.8 + 32

    @f.setter
    def f(self, v):
        self._c = (v - 32) / 1.8
        self.n += 1


@dataclass
class Path:
    x: float
    seen: list = field(default_factory=list)
    y: float = field(init=False)

    def __post_init__(self):
        self.y = self.x**2


@case(W, U)
def what_comes_behind_the_body(w, u):
    o, p, total = SimpleNamespace(x=u.copy()), SimpleNamespace(x=u * 2), 0.0
    with Saved(o) as a, Saved(p):
        for v in w:
            a.x = a.x * 0.9 + v
            total += np.sum(a.x * p.x)
        with Saved(p):
            p.x *= 3
        a.x[0] = np.sum(p.x)
    return total, o.x, p.x


@case(W, U)
def bodies_that_are_left(w, u):
    o, total = SimpleNamespace(x=u.copy()), 0.0

    def doubled():
        with Saved(o):
            o.x *= 2
            if w[0] > -100:
                return o.x.sum()
            o.x *= 3
        return o.x[0]

    for v in w:
        with Saved(o):
            o.x *= v
            total += np.sum(o.x**2)
            if total > 20:
                break
        o.x = o.x * 0.99
    return doubled(), total, o.x


@case(W)
def managers_without_effect(w):
    with contextlib.nullcontext(w[0]) as first, np.printoptions(precision=3), np.errstate(all="ignore"):
        return first * np.sum(w)


@case(W, U)
def managers_that_are_defined_inside(w, u):
    told, total = [], 0.0
    for t in range(3):
        @contextlib.contextmanager
        def scaled(k, *, by=1.0):
            told.append(k * t)
            yield k * w[t]
            told.append(k * u[0] * by)

        with scaled(2.0) as a, scaled(u[1], by=3.0) as b:
            told.append(a * b)

    def doubled(v):
        @contextlib.contextmanager
        def inner():
            try:
                yield v * 2
            finally:
                told.append(v)

        return inner

    for v in w:
        with doubled(v)() as z:
            total += z * z
    return total, told


@case(W)
def operators_of_classes(w):
    a = b = Counter(w[0])
    a += w[1]
    first = b.v
    a *= w[2]
    for v in w:
        a += v
    p, q = Counter(w[3])
    walked = [v for v in Counter(w[4])] + list(Counter(w[5]))
    return a.v, b.v, first, abs(a), p * q, sum(walked), sum([a, Counter(w[6])]).v, sum(Counter(w[7]))


@case(W)
def attributes_that_are_set_by_a_property(w):
    t, total = Thermometer(w[0]), 0.0
    for v in w:
        t.f = t.f * 0.9 + v
        total += t._c
    t.f += 1.0
    p = Path(w[0])
    p.seen.append(w[1])
    p.y = 1.0
    q = replace(p, x=w[2])
    q.seen.append(w[3])
    return total, t.n, sum(p.seen), q.y


@case(W)
def iterators_without_an_end(w):
    a = b = c = d = 0.0
    for k, v in zip(itertools.count(2, 3), w):
        a += k * v
    for v, s in zip(w, itertools.cycle([1.0, w[0], 2.0])):
        b += v**2 * s
    for (p, q), s, k in zip([(w[0], w[1]), (w[2], w[3])], itertools.cycle([w[4]]), itertools.count()):
        c += p * q * s * k
    for k, (s, v) in enumerate(zip(itertools.repeat(w[7]), w)):
        d += k * s * v
    return a, b, c, d


@case(W)
def items_that_are_picked(w):
    known = [0.1 * k for k in range(20)]
    found = sum(itertools.starmap(lambda a, b: a * b, [(w[0], w[1]), (w[2], w[3])]))
    found += sum(w[4] * v for v in itertools.takewhile(lambda v: v < 1, known))
    found += sum(w[5] * v for v in itertools.dropwhile(lambda v: v < 1, known))
    for v in itertools.chain.from_iterable([[w[0], w[1]], [w[2]]]):
        found += v**2
    once = iter([w[0], w[1]])
    for v in once:
        found += v
    for v in once:
        found += 100 * v
    return found


@case(W)
def sets_of_constants(w):
    a, b, c = {1, 2, 3} & {2, 3, 4}, {1, 2} | {5}, set(range(6)) - {0, 1}
    places, times = np.unique([3, 1, 1, 0, 2], return_counts=True)
    both = np.union1d([1, 2], [2, 4])
    apart = np.setdiff1d([0, 3], [3])
    return w[sorted(a | b)], w[sorted(c ^ {2})], len(b), 3 in a, w[places] * times, w[both], w[apart]


@pytest.mark.parametrize("program, given", CASES, ids=lambda v: getattr(v, "__name__", ""))
def test_as_in_python(program, given):
    check(program, *given)


def a_lock(w):
    with contextlib.ExitStack():
        return w * 2


def a_name_without_an_end(w):
    k = itertools.count()
    return sum(a * b for a, b in zip(k, w)) + sum(a * b for a, b in zip(k, w))


@pytest.mark.parametrize("program, says", [
    (a_lock, "ExitStack"), (a_name_without_an_end, "has begun to use")], ids=lambda v: getattr(v, "__name__", ""))
def test_refused(program, says):
    with pytest.raises(sdfgad.UnsupportedError, match=says):
        parse(program, (W,), {})


def saved_and_counted(w):
    o, a = SimpleNamespace(x=w[:5] * 1.0), Counter(w[0])
    for v in w:
        with Saved(o):
            o.x = o.x * v
            a += np.sum(o.x**2)
        o.x = o.x + 0.01 * v
    return a.v + np.sum(o.x**3)


def test_gradients():
    sdfgad.check_grads(saved_and_counted, W)
