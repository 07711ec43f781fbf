"""Objects of the user's classes made inside of functions, and fields that change in loops and branches."""
import copy
import dataclasses
from dataclasses import dataclass, field
from types import SimpleNamespace

import numpy as np
import pytest

import sdfgad
from sdfgad.errors import UnsupportedError
from sdfgad.frontend import parse
from tests.frontend.checking import check

X = np.linspace(0.2, 1.4, 6)


class Adam:
    rate = 0.05

    def __init__(self, n, decay=0.9):
        self.m = np.zeros(n)
        self.v = np.zeros(n)
        self.decay = decay
        self.t = 0

    def update(self, p, g):
        self.t += 1
        self.m = self.decay * self.m + (1 - self.decay) * g
        self.v = 0.99 * self.v + 0.01 * g * g
        return p - self.rate * self.m / (1 - self.decay ** self.t) / (np.sqrt(self.v) + 0.1)


class Named:
    """Attributes that are computed where there are none."""

    def __init__(self, p):
        self.p = p

    def __getattr__(self, name):
        if name.startswith("p_"):
            return self.p[int(name[2:])]
        raise AttributeError(name)


class Around:
    def __init__(self, inner, k):
        self.inner, self.k = inner, k

    def __getattr__(self, name):
        return getattr(self.inner, name)


def computed_attributes(x):
    held, total = Named(x * 1.0), 0.0
    outer = Around(held, 3.0)
    for _ in range(3):
        held.p = held.p * 1.5
        total += held.p_1 ** 2 * outer.p_0 * outer.k
    return total + outer.p[2] + getattr(outer, "k", 0.0)


def test_attributes_that_are_computed():
    check(computed_attributes, X)
    for program in (lambda x: x[0] * hasattr(Named(x), "q"), lambda x: copy.deepcopy(Named(x)).p[0]):
        with pytest.raises(UnsupportedError, match="which has __getattr__|a copy of"):
            parse(program, (X,))


class Vector:
    def __init__(self, d):
        self.d = d

    def __add__(self, other):
        return Vector(self.d + (other.d if isinstance(other, Vector) else other))

    def __mul__(self, s):
        return Vector(self.d * s)

    __rmul__ = __mul__

    def __getitem__(self, k):
        return self.d[k]

    @classmethod
    def ones(cls, n):
        return cls(np.ones(n))

    @property
    def total(self):
        return np.sum(self.d)


class Body:
    def __init__(self, x):
        self.x = x
        self.count = 0

    def value(self):
        return np.sum(self.x)


class Heavy(Body):
    def __init__(self, x, mass):
        super().__init__(x * 2)
        self.mass = mass

    def value(self):
        return super().value() * self.mass


class Heavier(Heavy):
    """As it is written since Python 2; `shifted` passes one class over."""

    def __init__(self, x, mass):
        super(Heavier, self).__init__(x, mass=mass)  # noqa: UP008
        self.momentum = np.array([])

    def value(self):
        if not self.momentum.any():
            self.momentum = np.ones(6)
        self.momentum = 2.0 * self.momentum + self.x
        return super(Heavier, self).value() + np.sum(self.momentum)  # noqa: UP008

    def shifted(self):
        return super(Heavy, self).value() + super(type(self), self).value()


@dataclass
class State:
    u: np.ndarray
    t: float = 0.0
    steps: int = 0
    seen: dict = field(default_factory=dict)

    def __post_init__(self):
        self.total = np.sum(self.u)

    def step(self, dt):
        self.u = self.u - dt * self.u ** 2
        self.t += dt
        self.steps += 1


def optimised(x, n):
    adam, p = Adam(6), x
    for _ in range(n):
        p = adam.update(p, 2 * p * x)
    return np.sum(p * p) * adam.t


def operators(x):
    v = Vector(x)
    w = v + v * 2.0 + 3.0 * v + Vector.ones(6) + 1.0
    w += v
    return w.total * w[2]


def derived(x):
    one = Heavier(x, 2.0)
    return Heavy(x, 3.0).value() + Body(x).value() + one.value() * one.value() + one.shifted()


def dataclass_in_a_loop(x):
    s = State(x * 1.0)
    for _ in range(80):
        s.step(0.01)
    return np.sum(s.u) * s.t + s.steps * s.total


def in_a_branch(x):
    s = Body(x)
    for k in range(70):
        if s.x[0] > 0.1:
            s.x = s.x * 0.9
            s.count += 1
        else:
            s.x = s.x * 1.05
    return np.sum(s.x) * s.count


def until_it_ends(x):
    s = SimpleNamespace(u=x * 1.0, err=1.0, rounds=0)
    while s.err > 1e-2:
        new = 0.5 * (s.u + np.cos(s.u))
        s.err = np.max(np.abs(new - s.u))
        s.u = new
        s.rounds += 1
    return np.sum(s.u) * s.rounds


def left_early(x):
    d = {"u": x, "sum": 0.0}
    for k in range(100):
        d["u"] = d["u"] * 0.97
        if np.sum(d["u"]) < 3:
            break
        d["sum"] = d["sum"] + np.sum(d["u"]) * k
    return d["sum"] + d["u"][0]


def nested_loops(x):
    s = Body(x * 1.0)
    for k in range(70):
        for j in range(6):
            s.x = s.x * (1 - 0.001 * j)
            if s.x[j] > 0.5:
                s.count += 1
        s.x = s.x + 0.001 * k
    return np.sum(s.x * s.x) + s.count


def exchanged(x):
    s = SimpleNamespace(old=x * 1.0, new=x * 0.5)
    for _ in range(75):
        s.new = 0.3 * s.old + 0.1 * s.new
        s.old, s.new = s.new, s.old
    return np.sum(s.old * s.old) + np.sum(s.new)


def updated_in_place(x):
    s = Body(x.copy())
    other = s.x
    for k in range(70):
        s.x[1:] += 0.01 * s.x[:-1]
        s.x *= 0.99
    return np.sum(s.x * other)


def one_inside_another(x):
    outer = SimpleNamespace(inner=Body(x), scale=1.0)
    same = outer.inner
    for _ in range(70):
        outer.inner.x = outer.inner.x * 0.99
        outer.scale = outer.scale * 1.01
        same.count += 1
    return np.sum(same.x) * outer.scale * outer.inner.count


def shared_with_a_name(x):
    s, history = Body(x), x
    for _ in range(70):
        history = s.x
        s.x = s.x * 0.9 + 0.01
    return np.sum(s.x * history)


PROGRAMS = [operators, derived, dataclass_in_a_loop, in_a_branch, until_it_ends, left_early, nested_loops, exchanged,
            updated_in_place, one_inside_another, shared_with_a_name]


@pytest.mark.parametrize("fn", PROGRAMS, ids=lambda f: f.__name__)
def test_same_as_python(fn):
    check(fn, X.copy())
    sdfgad.check_grads(fn, X.copy())


@pytest.mark.parametrize("n", [1, 2, 70])
def test_state_across_calls_of_a_method(n):
    check(optimised, X.copy(), n)
    sdfgad.check_grads(optimised, X.copy(), n)


def test_an_argument_that_changes():
    def run(s, n):
        for _ in range(n):
            s.u = s.u * 0.9
            s.t = s.t + np.sum(s.u)
        return s.t

    @dataclass
    class Given:
        u: np.ndarray
        t: float

    for n in (3, 80):
        found = sdfgad.grad(run, wrt="s")(Given(X.copy(), 0.5), n)
        assert np.allclose(found["s.u"], sum(0.9 ** k for k in range(1, n + 1)))


def test_a_loop_with_fields_stays_a_loop():
    program = parse(dataclass_in_a_loop, (X,)).program
    assert sum(type(s).__name__ == "Loop" for s in program.body) == 1


def changes_its_shape(x):
    s = Body(x)
    for _ in range(70):
        s.x = np.concatenate((s.x, s.x[:1]))
    return np.sum(s.x)


def sometimes_there(x):
    s = SimpleNamespace(u=x)
    while np.sum(s.u) > 1:
        s.u = s.u * 0.5
        s.last = np.sum(s.u)
    return s.last


def returned(x):
    return Body(x)


def part_of_itself(x):
    s = SimpleNamespace(u=x)
    s.me = s
    return s


class Counted:
    made = 0

    def __new__(cls, x):
        return object.__new__(cls)

    def __init__(self, x):
        self.x = x


class Guarded:
    def __init__(self, x):
        self.x = x

    def __setattr__(self, name, value):
        object.__setattr__(self, name, value * 2)


def own_new(x):
    return np.sum(Counted(x).x)


def own_setattr(x):
    return np.sum(Guarded(x).x)


@pytest.mark.parametrize("fn, what", [
    (changes_its_shape, "changes its shape"), (sometimes_there, "the attribute 'last'"),
    (returned, "an object of class Body as a return value"), (part_of_itself, "part of itself"),
    (own_new, "a call of 'Counted'"), (own_setattr, "a call of 'Guarded'")],
    ids=lambda v: getattr(v, "__name__", ""))
def test_refused(fn, what):
    with pytest.raises(UnsupportedError, match=what):
        parse(fn, (X,))


def test_a_frozen_dataclass():
    @dataclass(frozen=True)
    class Fixed:
        u: np.ndarray
        k: float = 2.0

    def fixed(x):
        f = Fixed(x)
        return np.sum(f.u) * dataclasses.replace(f, k=3.0).k

    check(fixed, X.copy())
