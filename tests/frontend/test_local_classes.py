"""Classes that functions define inside: with methods, as dataclasses, namedtuples and enumerations."""
from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from enum import Enum
from typing import Any, NamedTuple

import numpy as np
import pytest

import sdfgad
from sdfgad.errors import UnsupportedError
from sdfgad.frontend import parse
from tests.frontend.checking import check_both_modes
from tests.frontend.programs import Case, collector

X = np.array([0.7, 1.3, 0.4])
SCALE = 2.0
CASES: list[Case] = []
case = collector(CASES)


@case(X)
def methods_of_all_kinds(x):
    class State:
        factor = 3.0

        def __init__(self, u, v=2.0):
            self._u, self.v = u, v

        @property
        def u(self):
            return self._u * self.v

        @u.setter
        def u(self, value):
            self._u = value

        @staticmethod
        def square(a):
            return a * a

        @classmethod
        def of(cls, u):
            return cls(u, 4.0)

        def __mul__(self, other):
            return State(self._u * other, self.v)

    s = State.of(x)
    s.u = x * 2
    s = s * 3.0
    return np.sum(State.square(s.u)) * State.factor + s.factor


@case(X)
def state_in_loops(x):
    class Particle:
        def __init__(self, q, v):
            self.q, self.v, self.seen = q, v, []

        def step(self, dt):
            self.v = self.v - dt * self.q * x[2]
            self.q = self.q + dt * self.v
            self.seen.append(self.q)

    pair = [Particle(x[0], x[1]), Particle(x[1], x[2])]
    for _ in range(70):
        pair[0].step(0.01)
    while pair[1].q > 0.5:
        pair[1].step(0.05)
    return pair[0].q * pair[1].v + sum(pair[0].seen) + sum(pair[1].seen)


@case(X)
def data_classes(x):
    @dataclass
    class State:
        u: np.ndarray
        h: float = SCALE
        notes: list = field(default_factory=list)

        def __post_init__(self):
            self.u = self.u * self.h

    @dataclass(frozen=True)
    class Pair:
        a: float
        b: float

        def __add__(self, other):
            return Pair(self.a + other.a, self.b + other.b)

    s = State(x)
    if x[0] > 0.5:
        s = State(x * 2, 3.0)
    else:
        s.u = s.u * 2
    for _ in range(100):
        s = State(s.u * 0.3, s.h)
    total = Pair(x[0], x[1]) + Pair(x[1], x[2])
    return np.sum(s.u) * 1e3 + total.a * total.b


@case(X)
def tuples_and_kinds(x):
    class Pair(NamedTuple):
        u: float
        v: float = 2.0

        @property
        def area(self):
            return self.u * self.v

    class Kind(Enum):
        FIRST = 1
        SECOND = 2

    kind = Kind.SECOND
    return Pair(x[0]).area + Pair(x[1], x[2]).area * (2.0 if kind is Kind.SECOND else x[0])


@case(X)
def inherited(x):
    class Base:
        def __init__(self, k):
            self.k = k

        def f(self):
            return self.k * 2

    class Derived(Base):
        def __init__(self, k, m):
            super().__init__(k)
            self.m = m

        def f(self):
            return super(Derived, self).f() * self.m  # noqa: UP008

    one = Derived(x[0], x[1])
    return one.f() if isinstance(one, Base) else x[2]


@case(X)
def names_around(x):
    """Each call of `scaled` makes a class of its own; methods see what a name is when they run."""
    def scaled(factor):
        row = x * factor

        class Product:
            def __call__(self, y):
                return np.sum(row * y)

        return Product(), row

    (first, row), (second, _) = scaled(2.0), scaled(3.0)
    y, total = x[0], 0.0

    class Counter:
        def add(self, value):
            nonlocal total
            total = total + value * y

    counter = Counter()
    counter.add(x[1])
    y = x[2]
    for k in range(3):
        counter.add(x[k])
    before = first(x)
    row[0] = 5.0
    return before + first(x) + second(x) + total


@pytest.mark.parametrize("fn, arguments", CASES, ids=[c[0].__name__ for c in CASES])
def test_program(fn: Callable[..., Any], arguments: tuple[Any, ...]) -> None:
    check_both_modes(fn, arguments)


def test_a_constant_of_the_body_that_changes() -> None:
    call = sdfgad.forward(data_classes)
    global SCALE
    small = np.array([0.1, 1.3, 0.4])
    before = call(small)
    SCALE = 5.0
    try:
        np.testing.assert_allclose(call(small), data_classes(small))
        assert call(small) != before
    finally:
        SCALE = 2.0


def data_in_the_body(x):
    class State:
        u = x[0]

    return State.u


def loop_in_the_body(x):
    class State:
        for k in range(3):
            pass

    return x[0]


def object_as_a_result(x):
    @dataclass
    class State:
        u: float

    return State(x[0])


def attribute_of_the_class_set(x):
    class State:
        count = 0

    State.count = 1
    return x[0]


@pytest.mark.parametrize("program, what", [
    (data_in_the_body, "in the body of a class"), (loop_in_the_body, "other than methods and constants"),
    (object_as_a_result, "as a return value"), (attribute_of_the_class_set, "an assignment to the attribute")])
def test_refused(program: Callable[..., Any], what: str) -> None:
    with pytest.raises(UnsupportedError, match=what):
        parse(program, (X,))
