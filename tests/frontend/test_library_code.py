"""Forms of code as libraries have it: private names, attributes by name, searches in lists, loops in branches."""
import math
from dataclasses import asdict, astuple, dataclass, fields, is_dataclass

import numpy as np
import pytest
from scipy import special, stats

import sdfgad
from sdfgad.frontend import parse
from tests.frontend.checking import check
from tests.support.interpreted import interpreted

NUMBERS = float | np.floating
X = np.array([0.4, 0.9, 0.3, 1.4, 0.7])


class Spline:
    def __init__(self, y):
        self.__y = y
        self.slopes = self.__slopes(scale=2.0)

    def __slopes(self, scale):
        __gap = self.__y[1:] - self.__y[:-1]
        return scale * __gap

    def at(self, k):
        return self.__y[k] + (lambda __d: self.__y[k] * __d)(self.slopes[k])


class _Curved(Spline):
    def __slopes(self, scale):  # another name than the one of the base class
        return scale

    def bend(self):
        return self.__slopes(3.0) * self._Spline__y[2]


def private(y):
    s = _Curved(y)
    return s.at(1) + s.bend() + np.sum(s.slopes ** 2)


def private_inside(y):
    class _Inner:
        def __init__(self, v):
            self.__v = v

        def __twice(self):
            return self.__v * 2

        def get(self):
            return self.__twice()

    return np.sum(_Inner(y).get() * y)


class Filter:
    def __init__(self, **given):
        for name, value in given.items():
            setattr(self, name, value)
        for name in ("gain", "state"):
            if self.__getattribute__(name) is not None:
                self.__setattr__(name, np.copy(self.__getattribute__(name)) * 2)

    @property
    def level(self):
        return self._level

    @level.setter
    def level(self, v):
        self._level = 3 * v


def by_name(x):
    f = Filter(gain=None, state=x, level=x[0])
    total = 0.0
    for _ in range(70):
        setattr(f, "state", f.state * 0.9 + 0.1 * x)
        total += f.state[1]
    return total + f.level * np.sum(f.state)


def nearest(x):
    total = 0.0
    for k in range(70):
        d = [(0.02 * k - v) ** 2 + 1 for v in x]
        i = d.index(min(d))
        total += x[i] * d[i] + d.count(d[2])
    return total


def not_there(x):
    d = [2 * v for v in x]
    try:
        k = d.index(x[0] + 7)
    except ValueError:
        k = 2
    return d[k] * x[1]


def kepler_in_a_branch(x):
    r = 0.0
    if x[0] > 0.1:
        step, e = x[1], x[0]
        while abs(step) > 1e-12:
            c = np.cos(e)
            step = (x[0] - e + 0.3 * np.sin(e)) / (1 - 0.3 * c)
            e = e + step
        r = e + c
    return r


def series(x):
    t = x[0]
    return sum((-t) ** k / (math.factorial(k) * (2 * k + 1)) for k in range(25)) + np.sum(x / 10**25 * 10**24)


def normalised(x):
    q = [x[0], *x[1:]]
    q /= np.linalg.norm(q)
    return q[0] + q[1] ** 2


def warned(x):
    try:
        r = np.sum(np.log(x))
    except (RuntimeWarning, TypeError):
        r = 0.0
    return r


def degenerate(x):
    cov = np.diag(x[:2]) + 0.1
    return stats.multivariate_normal.logpdf(x[2:4], x[:2], cov, True)


@pytest.mark.parametrize("fn", [private, private_inside, by_name, nearest, not_there, kepler_in_a_branch, series,
                                normalised, warned, degenerate])
def test_forms_of_libraries(fn) -> None:
    check(fn, X)


def test_what_is_not_in_the_list() -> None:
    with pytest.raises(ValueError, match="not in the list"):
        sdfgad.grad(lambda x: x[[v * 1.0 for v in x].index(x[0] + 7)])(X)


def test_nan_among_others() -> None:
    grad = sdfgad.grad(lambda x: x[0] if x[1] * 1.0 in (x[2], x[3]) else x[1])
    with interpreted():
        np.testing.assert_array_equal(grad(np.array([1.0, np.nan, 2.0, 3.0])), [0, 1, 0, 0])
        with pytest.raises(ArithmeticError, match="NaN is looked for"):
            grad(np.array([1.0, np.nan, 2.0, np.nan]))


def test_loop_in_a_branch_that_does_not_run() -> None:
    with pytest.raises(UnboundLocalError, match="'c'"):
        sdfgad.grad(kepler_in_a_branch)(np.array([0.4, 0.0]))


def flat(x):
    return stats.multivariate_normal.logpdf(x, np.zeros(2), np.diag([1.0, 1e-12]), allow_singular=True)


def test_singular_covariance() -> None:
    with pytest.raises(ArithmeticError, match="singular"):
        sdfgad.grad(flat)(X[:2])


def from_beside(x):
    from ..frontend.programs import A34 as table
    from . import checking
    from .refusing import np as numpy
    return numpy.sum(x[:3] * table[:, 1]) + len(checking.__name__) * x[4]


def test_imports_that_lead_up_from_the_package_of_the_file():
    check(from_beside, X)


def known_series(x):
    b = special.bernoulli(8)
    return sum(b[k] / math.factorial(k) * x[1] ** k for k in range(8)) + special.euler(4)[2] * x[0]


def test_numbers_of_series_are_known():
    check(known_series, X)


def steps_of_a_number(x):
    mean = np.mean(x)
    return [np.piecewise(0.0, [True, False], [18.0, 11.0]), x * np.piecewise(2, [False], [lambda v: v, 0.5]),
            np.piecewise(x[1], [x[1] < 0.5, x[1] >= 0.5], [np.sin, lambda v: v ** 2]),
            np.piecewise(mean, [mean < 0.5], [lambda v, p: v * p, lambda v, p: v - p], 3.0)]


def made_like_what_a_mask_selects(x):
    z = x[x > 0.35]
    return [np.sum(np.full_like(z, 2.0) * z), np.sum(np.full_like(z, z[0]) + z), z.item(1) * z.item(np.argmax(-z)),
            np.sum(np.full_like(z, 3, dtype=int))]


class Smoother:
    def __init__(self, size):
        z = np.array([None] * size)
        self.z = np.atleast_2d(z).T
        self.seen = np.reshape(self.z, (1, size))[0, -1]

    def update(self, x):
        self.z, self.seen = x, x[1] if self.seen is None else self.seen
        return x * len(self.z)


def attributes_that_are_not_there_yet(x):
    kept = Smoother(len(x))
    before = kept.z.shape[1]
    return kept.update(x) * before + kept.update(x * x) * kept.seen


@pytest.mark.parametrize("fn", [
    steps_of_a_number, made_like_what_a_mask_selects, attributes_that_are_not_there_yet], ids=lambda f: f.__name__)
def test_everyday_calls(fn):
    check(fn, X)


class Rotation(np.ndarray):
    pass


def test_classes_derived_from_arrays():
    with pytest.raises(sdfgad.UnsupportedError, match="hold the array in an attribute of a class"):
        parse(lambda x: np.sum(Rotation(x)), (X,))


@dataclass
class Layer:
    weight: np.ndarray
    bias: float = 0.5


@dataclass
class Model:
    layers: list
    options: dict
    scale: float = 2.0


def _moved(x):
    return Model([Layer(x, x[0]), Layer(x * 2)], {"low": x[1], "inner": Layer(x[1:])})


def fields_by_name(x):
    model = _moved(x)
    apart = asdict(model)
    apart["layers"][0]["weight"][1] = 7.0  # a copy
    apart["options"]["low"] = 3.0
    names = [f.name for f in fields(model)]
    scale = sum(getattr(model, n) for n in names if n == "scale")
    return [scale * apart["layers"][0]["weight"], model.layers[0].weight,
            apart["options"]["inner"]["bias"] + model.options["low"] + len(fields(Layer))]


def fields_in_order(x):
    (first, second), options, scale = astuple(_moved(x))
    return [first[0] * second[0] + first[1], options["inner"][0] * scale, astuple(Layer(x), tuple_factory=list)[0],
            x * is_dataclass(Layer) + is_dataclass(x)]


def hints(x):
    if isinstance(x, float | np.ndarray) and not isinstance(x[0], int | None):
        x = x * 2
    return x * (np.float64 in (np.float32 | np.float64).__args__) + len(NUMBERS.__args__)


@pytest.mark.parametrize("fn", [fields_by_name, fields_in_order, hints], ids=lambda f: f.__name__)
def test_dataclasses_and_hints(fn):
    check(fn, X)


def test_fields_of_what_is_no_dataclass():
    for fn in (lambda x: astuple(x), lambda x: asdict(Layer), lambda x: fields(x)):
        with pytest.raises(TypeError):
            fn(X)
        with pytest.raises(sdfgad.UnsupportedError, match="dataclass"):
            parse(fn, (X,))


def test_operators_between_a_class_and_a_number():
    with pytest.raises(sdfgad.UnsupportedError, match="this operator between"):
        parse(lambda x: x * (float | 2), (X,))
