"""What the verbs make is pickled and copied as functions are."""
from __future__ import annotations

import copy
import functools
import pickle

import numpy as np
import pytest

import sdfgad

X = np.array([1.0, 2.0, 3.0])


def loss(x):
    return np.sum(x ** 3)


@sdfgad.grad
def decorated(x):
    return np.sum(x ** 3)


@sdfgad.forward
def compiled(x):
    return x ** 3


class Model:
    def __init__(self, w):
        self.w = w

    @sdfgad.value_and_grad(wrt="x")
    def loss(self, x):
        return np.sum(self.w * x ** 3)

    @sdfgad.forward
    def value(self, x):
        return self.w * x

    @sdfgad.jacobian
    def matrix(self, x):
        return self.w * x ** 2


TWINS = (copy.copy, copy.deepcopy, lambda made: pickle.loads(pickle.dumps(made)))
MADE = (sdfgad.grad(loss), sdfgad.value_and_grad(loss, memory_limit="1GB"), sdfgad.grad(decorated.fn, wrt="x"),
        sdfgad.grad(functools.partial(loss)), sdfgad.forward(loss), sdfgad.forward(decorated),
        sdfgad.forward(compiled.fn),
        Model(2.0).loss, Model(3.0).value, Model(4.0).matrix, sdfgad.hessian(loss), sdfgad.jacobian(compiled.fn),
        sdfgad.jacobian(decorated))


@pytest.mark.parametrize("twin", TWINS)
def test_a_copy_gives_the_same(twin):
    for made in MADE:
        np.testing.assert_equal(twin(made)(X), made(X))


@pytest.mark.parametrize("twin", TWINS)
def test_decorated_functions_are_themselves(twin):
    for made in (decorated, compiled, Model.loss, Model.matrix):
        assert twin(made) is made


def test_options_go_along():
    made = pickle.loads(pickle.dumps(sdfgad.grad(loss, memory_limit="1B")))
    with pytest.raises(sdfgad.MemoryLimitError):
        made(X)
    copied = copy.deepcopy(sdfgad.grad(loss, plan=sdfgad.plan(loss, X)))
    np.testing.assert_array_equal(copied(X), 3 * X ** 2)


def test_a_copy_of_an_object_takes_its_methods_along():
    one = Model(2.0)
    one.loss(X)
    other = copy.deepcopy(one)
    other.w = 5.0
    assert other.loss(X)[0] == 2.5 * one.loss(X)[0]
    assert copy.deepcopy(one.loss).fn.__self__ is not one


def test_what_has_no_name_is_refused_by_pickle():
    with pytest.raises((AttributeError, pickle.PicklingError)):
        pickle.dumps(sdfgad.grad(lambda x: np.sum(x)))
