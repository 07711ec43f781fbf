"""What stands in front of a function runs with it, or is refused; a gradient is not taken for the function itself."""
from __future__ import annotations

import dataclasses
import functools
import operator
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import sdfgad

X = np.array([0.5, 1.0, 2.0])


def doubled(fn):
    @functools.wraps(fn)
    def wrapper(*args, **kwargs):
        return 2 * fn(*args, **kwargs)

    return wrapper


def with_scale(fn):
    @functools.wraps(fn)
    def wrapper(x, *more, scale=3.0):
        return scale * fn(x, *more)

    return wrapper


def timed(fn):
    @functools.wraps(fn)
    def wrapper(*args):
        began = time.time()
        result = fn(*args)
        return result, time.time() - began

    return wrapper


@doubled
def powers(x, k=3):
    return np.sum(x**k)


@with_scale
def scaled(x, k):
    return np.sum(x**k)


@doubled
@with_scale
def twice(x, k):
    return np.sum(x**k)


def calls_others(x):
    return powers(x) + scaled(x, 2) + powers(x, k=2)


@functools.lru_cache
def remembered(n):
    return n * 2.0


def uses_remembered(x):
    return np.sum(x * x) * remembered(3)


class Model:
    factor = 3.0

    @doubled
    def cost(self, x, k=2):
        return np.sum(x**k) * self.factor

    @sdfgad.grad
    @doubled
    def gradient(self, x, k=2):
        return np.sum(x**k) * self.factor


CALLS: list[tuple[Callable[..., Any], tuple[Any, ...], dict[str, Any]]] = [
    (powers, (X,), {}), (powers, (X, 2), {}), (powers, (X,), {"k": 2}), (scaled, (X, 3), {}), (twice, (X, 3), {}),
    (calls_others, (X,), {}), (uses_remembered, (X,), {}), (Model().cost, (X,), {}), (Model().cost, (X, 3), {}),
    (powers.__wrapped__, (X,), {})]


@pytest.mark.parametrize(("fn", "arguments", "keywords"), CALLS)
def test_what_a_call_computes_is_differentiated(fn, arguments, keywords):
    value, gradient = sdfgad.value_and_grad(fn)(*arguments, **keywords)
    slope = [(fn(X + h, *arguments[1:], **keywords) - fn(X - h, *arguments[1:], **keywords)) / 2e-6
             for h in 1e-6 * np.eye(3)]
    np.testing.assert_allclose(value, fn(*arguments, **keywords), rtol=1e-14)
    np.testing.assert_allclose(gradient, slope, rtol=1e-7)
    tangents = (np.ones(3), *[None] * (len(arguments) - 1))
    np.testing.assert_allclose(sdfgad.jvp(fn, arguments, tangents, **keywords)[1], gradient.sum(), rtol=1e-12)
    np.testing.assert_allclose(sdfgad.forward(fn)(*arguments, **keywords), value, rtol=1e-14)


def test_a_decorated_method_of_a_class():
    np.testing.assert_allclose(Model().gradient(X), 12.0 * X)


@timed
def measured(x):
    return np.sum(x)


def test_a_wrapper_that_does_more_than_numpy_is_refused():
    with pytest.raises(sdfgad.UnsupportedError, match="time"):
        sdfgad.grad(measured)(X)
    np.testing.assert_allclose(sdfgad.grad(measured.__wrapped__)(X), np.ones(3))


@sdfgad.grad
def loss(x):
    return np.sum(x**3)


@pytest.mark.parametrize("call", [
    lambda: sdfgad.hessian(loss), lambda: sdfgad.hvp(loss, (X,), (X,)),
    lambda: sdfgad.grad(sdfgad.grad(loss, reduce="sum")), lambda: sdfgad.vjp(sdfgad.jacobian(loss), X),
    lambda: sdfgad.jvp(sdfgad.hessian(loss.fn), (X,), (X,))])
def test_third_derivatives_are_refused(call):
    with pytest.raises(sdfgad.UnsupportedError, match="derivative of a derivative"):
        call()


def test_a_gradient_has_a_derivative():
    np.testing.assert_allclose(sdfgad.grad(loss, reduce="sum")(X), 6 * X)
    gradient, tangent = sdfgad.jvp(loss, (X,), (X,))
    np.testing.assert_allclose((gradient, tangent), (3 * X**2, 6 * X * X))


def test_the_function_behind_a_gradient():
    np.testing.assert_allclose(sdfgad.grad(loss.fn)(X), 3 * X**2)
    np.testing.assert_allclose(sdfgad.forward(loss)(X), np.sum(X**3))
    np.testing.assert_allclose(sdfgad.grad(sdfgad.forward(loss.fn))(X), 3 * X**2)


class Decorated:
    """What decorators make of functions are methods, as functions are."""

    scale = 3.0

    def __init__(self):
        self.w = 2.0

    @classmethod
    @sdfgad.grad
    def of_the_class(cls, x):
        return np.sum(cls.scale * x**2)

    @sdfgad.grad
    @staticmethod
    def of_nobody(x):
        return np.sum(x**3)

    @sdfgad.jacobian
    def slopes(self, x):
        return self.w * x**2

    @sdfgad.hessian
    def curvature(self, x):
        return np.sum(self.w * x**3)

    @sdfgad.jacobian
    @sdfgad.grad
    def curvature_by_columns(self, x):
        return np.sum(self.w * x**3)

    @sdfgad.vmap
    def each(self, x):
        return self.w * np.sum(x)

    @sdfgad.custom_vjp
    def with_rule(self, x):
        return self.w * x


class Scaled(Decorated):
    scale = 5.0


def test_gradients_of_class_methods_and_static_methods():
    for owner, scale in ((Decorated, 3.0), (Scaled, 5.0), (Decorated, 3.0), (Scaled(), 5.0)):
        np.testing.assert_allclose(owner.of_the_class(X), 2 * scale * X)
        np.testing.assert_allclose(owner.of_nobody(X), 3 * X**2)
    assert Decorated.of_the_class is Decorated.of_the_class


def test_matrices_batches_and_rules_are_methods():
    made = Decorated()
    for w in (2.0, 4.0):
        made.w = w
        np.testing.assert_allclose(made.slopes(X), np.diag(2 * w * X))
        np.testing.assert_allclose(made.curvature(X), np.diag(6 * w * X))
        np.testing.assert_allclose(made.curvature_by_columns(X), np.diag(6 * w * X))
        np.testing.assert_allclose(made.each(np.eye(3)), np.full(3, w))
        np.testing.assert_allclose(made.with_rule(X), w * X)


@pytest.mark.parametrize("kind, hint", [(classmethod, "@classmethod above"), (property, "the property is made of")])
def test_what_a_class_makes_of_a_function_is_no_function(kind, hint):
    with pytest.raises(sdfgad.UsageError, match=hint):
        sdfgad.grad(kind(lambda x: np.sum(x)))


@dataclasses.dataclass
class Spring:
    """Compared by what is in it, and therefore not to be hashed."""

    k: float = 2.0

    def __call__(self, x):
        return np.sum(self.k * x**2)


@pytest.mark.parametrize("fn, slope", [(Spring(), 4 * X), (np.poly1d([1.0, 2.0, 3.0]), 2 * X + 2)])
def test_objects_that_are_called_and_have_no_hash(fn, slope):
    np.testing.assert_allclose(sdfgad.grad(fn, reduce="sum")(X), slope)
    np.testing.assert_allclose(sdfgad.jvp(fn, (X,), (np.eye(3)[0],))[1].sum(), slope[0])


def test_an_object_without_hash_may_change():
    spring = Spring()
    gradient = sdfgad.grad(spring)
    for k in (2.0, 5.0):
        spring.k = k
        np.testing.assert_allclose(gradient(X), 2 * k * X)


def test_a_function_whose_arguments_nobody_knows():
    with pytest.raises(sdfgad.UsageError, match="written in Python"):
        sdfgad.grad(operator.itemgetter(0))(X)
