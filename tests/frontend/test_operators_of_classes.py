"""Operators that classes define: namedtuples, which NumPy takes for arrays where they are asked second, and objects
behind numbers of NumPy."""
import functools
import importlib
import itertools
import operator
from typing import NamedTuple

import numpy as np
import pytest

from sdfgad import grad
from sdfgad.errors import UnsupportedError
from sdfgad.frontend import parse
from tests.frontend.checking import check, check_both_modes
from tests.support.interpreted import interpreted
from tests.support.ranks import needs_mpi

X = np.array([0.5, 0.7, 1.2, 3.1])


class Quaternion(NamedTuple):
    w: float
    x: float
    y: float
    z: float

    def __mul__(self, o):
        if not isinstance(o, Quaternion):
            return Quaternion(*(v * o for v in self))
        return Quaternion(self.w * o.w - self.x * o.x - self.y * o.y - self.z * o.z,
                          self.w * o.x + self.x * o.w + self.y * o.z - self.z * o.y,
                          self.w * o.y - self.x * o.z + self.y * o.w + self.z * o.x,
                          self.w * o.z + self.x * o.y - self.y * o.x + self.z * o.w)

    __rmul__ = __mul__

    def __add__(self, o):
        return Quaternion(*[a + b for a, b in zip(self, o)])

    def __radd__(self, o):
        return self if o == 0 else NotImplemented

    def __neg__(self):
        return Quaternion(*(-v for v in self))

    def __invert__(self):
        return Quaternion(self.w, -self.x, -self.y, -self.z)

    def __abs__(self):
        return np.sqrt(sum(v * v for v in self))


class Near(NamedTuple):
    x: float

    def __eq__(self, other):
        return abs(self.x - other.x) < 1e-3


class Kernel:
    def __init__(self, s):
        self.s = s

    def __rmul__(self, o):
        return Kernel(self.s * o)

    def __radd__(self, o):
        return Kernel(self.s + o)

    def __rsub__(self, o):
        return Kernel(o - self.s)

    def __rtruediv__(self, o):
        return Kernel(o / self.s)

    def __rpow__(self, o):
        return Kernel(o ** self.s)


class Scaled(Kernel):
    def __add__(self, o):
        return Scaled(self.s - o.s)


class Other(Scaled):
    def __radd__(self, o):
        return Kernel(self.s * o.s)


class First(Kernel):
    __array_priority__ = 1000


class NoUfuncs(Kernel):
    __array_ufunc__ = None


def rotated(x):
    p, q = Quaternion(*x), Quaternion(x[1], x[0], x[3], x[2])
    w, *v = p * q * ~p
    return w + 2 * v[0] * v[1] + (-p * abs(q))[2]


def summed(x):
    p = Quaternion(*x)
    total = sum([p, Quaternion(*x[::-1]) * 0.5])
    return np.prod(total) + np.sum(functools.reduce(operator.mul, [p, total, p]))


def in_a_loop(x):
    q, n = Quaternion(*x), 0
    while q.w > 0.1 and n < 100:
        q += q * Quaternion(0.0, 0.1, 0.2, 0.3) * 0.05
        q *= 1 / abs(q)
        n += 1
    return np.sum(q) * q.w


def summed_in_a_loop(x):
    long = [Quaternion(*(x * k)) for k in range(70)]
    return np.sum(sum(long) * long[3]) + list(itertools.accumulate(long[:3]))[-1].y


def of_arrays(x):
    """NumPy's numbers and arrays on the left make an array of the namedtuple."""
    return np.sum(x[0] * Quaternion(*x)) + np.sum(x * Quaternion(*x)) + (2.0 * Quaternion(*x))[1]


class Wheel:
    def __init__(self, spin, grip):
        self.spin, self.grip = spin, grip


def in_containers(x):
    """`+=` of items and attributes is the operator of the class, too."""
    wheel = Wheel(Quaternion(*x), Scaled(x[1]))
    held = {"q": wheel.spin, "k": [Scaled(x[0]), x[2]]}
    for _ in range(3):
        wheel.spin *= Quaternion(*x[::-1])
        wheel.grip += Scaled(x[3] * wheel.grip.s)
        held["q"] *= wheel.spin
        held["k"][0] += wheel.grip
        held["k"][1] *= 1.5
    return held["q"][0] + wheel.spin[1] * wheel.grip.s + held["k"][1]


class Metres(float):
    def __add__(self, other):
        return 100 * float(self) + float(other)

    __radd__ = __add__

    def __lt__(self, other):
        return float(self) > other


STEP = Metres(2.0)


def of_numbers(x):
    """Numbers of classes from outside."""
    return (STEP + x[0]) * (x[1] + STEP) * STEP + (x[2] if STEP < x[3] else x[0])


def behind_numbers(x):
    k = x[0] * Kernel(2.0)
    k = x[1] + k
    k = x[2] - k
    return (np.exp(x[0]) ** (x[3] / k)).s + (np.float64(3.0) * Kernel(x[1])).s


def hierarchy(x):
    """A derived class on the right comes first where its method is another one."""
    a, b, c = Kernel(x[0]), Scaled(x[1]), Other(x[2])
    return (b + c).s + 2 * (b + a).s + 3 * (c + b).s + (b + b).s * x[3]


class Arm:
    def __init__(self, links):
        self.links = links

    def __iter__(self):
        return iter(self.links)


class Counted(Arm):
    def __iter__(self):
        for k, link in enumerate(self.links):
            yield link * (k + 1)


def iterated(x):
    arm, steps = Arm([x[0], x[1], 2 * x[2]]), Counted([x[3], x[2]])
    total = sum(a * b for a, b in zip(arm, x)) + sum(k * v for k, v in enumerate(arm)) + sorted(arm)[1] ** 2
    for k, w in enumerate(steps):
        total = total * w + k * w
    return total + sum(map(operator.mul, arm, arm)) * any(v < 100 for v in arm) + max(arm) + len(list(steps)) * x[0]


def behind_arrays(x):
    return np.sum((x * First(x[0])).s ** 2) + np.sum((x - NoUfuncs(x)).s) + np.sum((x / NoUfuncs(x[1])).s)


class Places:
    """What veros and others write `at[1:, 0]` with."""

    __slots__ = ()

    @staticmethod
    def __getitem__(key):
        return key

    @classmethod
    def __len__(cls):
        return 2


class Samples:
    def __init__(self, values):
        self.values = values

    def __getitem__(self, k):
        return self.values[k] * 2

    def __len__(self):
        return len(self.values)

    def __iter__(self):
        yield from self.values

    def __contains__(self, k):
        return k == 2

    def __add__(self, other):
        return self.values + other

    __radd__ = __add__

    def __neg__(self):
        return -self.values

    def __matmul__(self, other):
        return self.values @ other

    def __enter__(self):
        return self.values

    def __exit__(self, *_):
        return None


class Gain:
    def __init__(self, by):
        self.by = by

    def __eq__(self, other):
        return self.by == other.by

    def __call__(self, x):
        return self.by * x


AT, SAMPLES, GAIN = Places(), Samples(np.array([1.0, 2.0, 3.0])), Gain(3.0)


def at_places(x):
    y, inside = x.reshape(2, 2), Places()
    return np.sum(y[AT[1:, 0]]) ** 2 + y[AT[0, 1]] * len(AT) + np.sum(y[inside[..., 1]] ** 3)


def called_with_an_equality(x):
    return np.sum(GAIN(x) ** 2) * Gain(2.0)(x[0]) if GAIN == Gain(3.0) else x[0]


def of_outside(x):
    total = np.sum(SAMPLES[1:] * x[2:]) ** 2 + len(SAMPLES) * x[0] + (x[1] if 2 in SAMPLES else x[2])
    for s in SAMPLES:
        total = total + s * x[0] ** 2
    with SAMPLES as values:
        total = total + np.sum(values * x[1:])
    return total + np.sum((SAMPLES + x[1:]) ** 2) + np.sum(-SAMPLES * x[:3]) + SAMPLES @ x[1:]


@pytest.mark.parametrize("fn", [
    rotated, summed, in_a_loop, summed_in_a_loop, in_containers, of_numbers, of_arrays, behind_numbers, behind_arrays,
    hierarchy, iterated, at_places, of_outside, called_with_an_equality])
def test_derivatives(fn):
    check_both_modes(fn, (X,))


def test_single_precision():
    """NumPy hands the method a number of Python, which leaves single precision as it is."""
    check(lambda x: (np.float64(x[0]) * Kernel(x[1:])).s, X.astype(np.float32))
    check(lambda x: (np.float64(x[0]) * First(x[1:])).s, X.astype(np.float32))


def test_methods_of_objects_from_outside_are_looked_up(monkeypatch):
    double = grad(lambda x: np.sum(SAMPLES[:2] * x))
    with interpreted():
        np.testing.assert_array_equal(double(np.ones(2)), [2.0, 4.0])
        SAMPLES.values[0] = 5.0
        np.testing.assert_array_equal(double(np.ones(2)), [10.0, 4.0])
        SAMPLES.values[0] = 1.0
        monkeypatch.setattr(Samples, "__getitem__", lambda self, k: self.values[k] * 3)
        np.testing.assert_array_equal(double(np.ones(2)), [3.0, 6.0])


@pytest.mark.parametrize("fn", [
    lambda x: np.sum(x[:3] + SAMPLES), lambda x: x * Kernel(2.0),
    lambda x: Near(x[0]) == Near(x[1]), lambda x: (x[0] * Quaternion(*x)).w,
    lambda x: (x[0], 1.0, 1.0, 1.0) + Quaternion(*x) * Kernel(2.0)])
def test_refused(fn):
    with pytest.raises(UnsupportedError):
        parse(fn, (X,), {})


@needs_mpi
def test_equality_is_not_asked_beside_mpi() -> None:
    """Which calls are those of MPI is looked at only where it is loaded."""
    importlib.import_module("mpi4py.MPI")
    check_both_modes(called_with_an_equality, (X,))
