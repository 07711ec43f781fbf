"""Operands are what they were when Python came to them, whatever calls in later operands bind anew."""
from __future__ import annotations

import numpy as np
import pytest

from tests.frontend.checking import check, check_both_modes
from tests.frontend.refusing import check_refusal

X = np.array([0.3, -1.2, 2.1, 0.7, -0.4, 1.9])


class Walker:
    def __init__(self, v):
        self.v = v

    def step(self, x):
        for q in range(2):
            self.v = self.v * 2 + x[q]
        return self.v


class Acting:
    """Its property and its operators bind what it holds anew."""

    def __init__(self, v):
        self.v = v

    def _moved(self):
        for q in range(2):
            self.v = self.v * 2 + q
        return self.v

    prop = property(_moved)

    def __neg__(self):
        return self._moved()

    def __add__(self, other):
        return self._moved() + other

    def __getitem__(self, k):
        return self._moved()[k]

    def __lt__(self, other):
        return self._moved()[0] < other

    def __bool__(self):
        self._moved()
        return True


class Holder:
    def __init__(self, inner):
        self.inner = inner


def _weighted(a, b):
    return a * 3 + b


_READS = {
    "sum": lambda w, x: w.v + w.step(x), "call": lambda w, x: _weighted(w.v, w.step(x)),
    "keyword": lambda w, x: _weighted(w.v, b=w.step(x)), "ufunc": lambda w, x: np.add(w.v, w.step(x)),
    "list": lambda w, x: [w.v, w.step(x), w.v], "tuple": lambda w, x: (w.step(x), w.step(x)),
    "dict": lambda w, x: {"a": w.v, "b": w.step(x)}, "comparison": lambda w, x: w.v < w.step(x),
    "stack": lambda w, x: np.stack([w.v, w.step(x)]), "inside": lambda w, x: w.v - (w.step(x) + w.v),
    "comprehension": lambda w, x: [w.step(x) for _ in range(3)], "view": lambda w, x: w.v[::-1] * w.step(x),
    "map": lambda w, x: list(map(lambda k: w.step(x) * k, range(3))),
    "pair": lambda w, x: list(map(lambda k: w.step(x), range(3))),
}


@pytest.mark.parametrize("read", _READS.values(), ids=_READS)
def test_operands_beside_calls_that_bind_anew(read):
    def run(x):
        return read(Walker(x * 1.5), x)

    check(run, X)


_ACTS = {
    "property": lambda o, x: o.v + o.prop, "operator": lambda o, x: o.v * (o + 1.0), "negated": lambda o, x: o.v + -o,
    "item": lambda o, x: [o.v, o[1], o.v, o.prop, o.v], "comparison": lambda o, x: o.v + (o < 3.0),
    "truth": lambda o, x: o.v + (1.0 if o else 2.0), "inside": lambda o, x: Holder(o).inner.v - Holder(o).inner.prop,
    "in a list": lambda o, x: (lambda b: b[0].v + -b[0])([o]), "where": lambda o, x: np.where(o.v > 0, o.v, o.prop),
    "comprehension": lambda o, x: [o + x for _ in range(3)], "call": lambda o, x: _weighted(o.v, o + x),
    "chain": lambda o, x: o.v[0] < o[0] < o.v[1],
}


@pytest.mark.parametrize("act", _ACTS.values(), ids=_ACTS)
def test_operands_beside_properties_and_operators_that_bind_anew(act):
    def run(x):
        return act(Acting(x * 1.5), x)

    check(run, X)


def _added(x):
    s = x[0] * 1.5

    def walk():
        nonlocal s
        for q in range(2):
            if x[q] > 1:
                break
            s = s * 2 + x[q]
        return s

    s += walk()
    s -= walk() * s
    return s


def _recursive(x):
    s = x[0] * 1.0

    def walk(n):
        nonlocal s
        if n == 0:
            return s
        for q in range(2):
            if x[q] > 1:
                break
            s += q * x[q]
        else:
            s += x[2]
        return walk(n - 1) + s

    s = s + walk(3)
    return s


def _default(x):
    def scaled(v, *, k=x[0] * 2, j=np.sin(x[1])):
        return v * k + j

    return np.sum(scaled(x) * scaled(x, j=x[2]) + scaled(x, k=1))


@pytest.mark.parametrize("fn", [_added, _recursive, _default])
def test_gradients(fn):
    check_both_modes(fn, (X,))


class Shape:
    def __init__(self, v):
        self.v = v

    @property
    def double(self):
        return self.v * 2

    def __bool__(self):
        return False


class Wider(Shape):
    @property
    def double(self):
        return super().double + 1


def _kinds(x):
    small, single, one = np.array([100, 27, 5], np.int8), x.astype(np.float32), Wider(x)
    return [sum(small), np.power(2, 3) * single, sum([0.5, 0.25]) * single, round(small[0]), round(np.arange(3)[1]),
            one.double, 1.0 * x if one else 2.0 * x, abs(-3) * small]


def test_kinds_and_rules_of_classes():
    check(_kinds, X)


def _out(x):
    v = x[x > 0]
    np.multiply(v, 2.0, out=v)
    return np.sum(v)


def test_results_into_what_a_mask_selects_are_refused():
    check_refusal(_out, (X,), 2, "numpy.multiply of data selected by a mask with out=")


def _item_of_what_changes(x):
    y = x * 2

    def change():
        y[0] = 5.0
        return 1.0

    y[0] += change()
    return y


def test_an_item_that_the_added_value_changes_is_refused():
    check_refusal(_item_of_what_changes, (X,), 7, "an item updated by a value that updates its array")
