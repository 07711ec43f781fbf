"""Functions and gradients for batches: the same as a loop in Python, element by element."""
from __future__ import annotations

from functools import partial

import numpy as np
import pytest

import sdfgad
from sdfgad.errors import OutputError, UnsupportedError, UsageError

RNG = np.random.default_rng(7)
XS, W = RNG.normal(size=(5, 4)), RNG.normal(size=(3, 4))


def model(x, w):
    h = np.tanh(w @ x)
    s = 0.0
    for i in range(3):
        s = s + h[i] ** 2 * x[0]
    return s


def branches(x, w):
    """In place, with branches and a loop whose length depends on the element."""
    y = x * 1.0
    y[1:] *= np.where(y[:-1] > 0.0, 2.0, y[:-1])
    k = 0
    while np.sum(y * y) > 0.5 and k < 50:
        y = y * 0.8
        k += 1
    return y, {"norm": np.sqrt(np.sum(w[0] * w[0])), "steps": k, "last": (y[-1], "text")}


def test_functions_of_batches():
    batched = sdfgad.vmap(model, in_axes=(0, None))
    np.testing.assert_allclose(batched(XS, W), [model(x, W) for x in XS], rtol=1e-14)
    np.testing.assert_allclose(sdfgad.vmap(model, (1, None))(XS.T.copy(), W), batched(XS, W), rtol=1e-14)
    np.testing.assert_allclose(sdfgad.vmap(model, (-1, None))(XS.T, W), batched(XS, W), rtol=1e-14)
    np.testing.assert_allclose(batched(XS[:1], W), [model(XS[0], W)], rtol=1e-14)
    assert batched.__name__ == "model"


def test_containers_and_axes_of_results():
    y, rest = sdfgad.vmap(branches, in_axes=(0, None), out_axes=(1, 0))(XS, W)
    expected = [branches(x, W) for x in XS]
    np.testing.assert_allclose(y, np.stack([e[0] for e in expected], axis=1), rtol=1e-14)
    np.testing.assert_allclose(rest["norm"], [e[1]["norm"] for e in expected], rtol=1e-14)
    np.testing.assert_array_equal(rest["steps"], [e[1]["steps"] for e in expected])
    np.testing.assert_allclose(rest["last"][0], [e[1]["last"][0] for e in expected], rtol=1e-14)
    assert rest["last"][1] == "text"

    def of_parameters(p, n):
        return p["a"] * np.sum(p["b"][0]) ** n

    found = sdfgad.vmap(of_parameters, in_axes=({"a": 0, "b": None}, None))({"a": XS[:, 0], "b": [W]}, 2)
    np.testing.assert_allclose(found, XS[:, 0] * np.sum(W) ** 2, rtol=1e-14)


@pytest.mark.parametrize("threads", [1, 2])
def test_gradients_of_elements(threads):
    gradient = sdfgad.grad(model)
    with sdfgad.config(num_threads=threads):
        found = sdfgad.vmap(gradient, in_axes=(0, None))(XS, W)
        values, again = sdfgad.vmap(sdfgad.value_and_grad(model), in_axes=(0, None), out_axes=-1)(XS, W)
    assert found.x.shape == (5, 4) and found.w.shape == (5, 3, 4)
    np.testing.assert_allclose(values, [model(x, W) for x in XS], rtol=1e-14)
    np.testing.assert_allclose(np.moveaxis(again.w, -1, 0), found.w, rtol=1e-13)
    for k, x in enumerate(XS):
        one = gradient(x, W)
        np.testing.assert_allclose(found.x[k], one.x, rtol=1e-13, atol=1e-15)
        np.testing.assert_allclose(found.w[k], one.w, rtol=1e-13, atol=1e-15)


def loss(w, x, y):
    return np.sum((np.tanh(w @ x) - y) ** 2), {"seen": x * 2.0}


def test_gradients_by_what_all_share():
    ys = RNG.normal(size=(5, 3))
    for_each = sdfgad.vmap(sdfgad.grad(loss, argnums=0, has_aux=True, memory_limit="1MB"), in_axes=(None, 0, 0))
    for _ in range(2):
        found, aux = for_each(W, XS, ys)
        np.testing.assert_array_equal(aux["seen"], 2.0 * XS)
        for k in range(5):
            np.testing.assert_allclose(found[k], sdfgad.grad(loss, argnums=0, has_aux=True)(W, XS[k], ys[k])[0],
                                       rtol=1e-13, atol=1e-15)
    (values, _), _ = for_each.value_and_grad(W, XS, ys)
    np.testing.assert_allclose(values, [loss(W, XS[k], ys[k])[0] for k in range(5)], rtol=1e-14)
    plan = for_each.plan(W, XS, ys)
    assert plan.predicted.peak_bytes <= 1_000_000
    limited = sdfgad.vmap(sdfgad.grad(loss, argnums=0, has_aux=True, memory_limit=100), in_axes=(None, 0, 0))
    with pytest.raises(sdfgad.MemoryLimitError):
        limited(W, XS, ys)


def test_numbers_of_elements_are_differentiated_like_those_of_calls():
    def area(a, b, n):
        return a * b**n

    a = np.array([1.0, 2.0, 3.0])
    found = sdfgad.vmap(sdfgad.grad(area), in_axes=(0, None, None))(a, 3.0, 2)
    np.testing.assert_allclose(found.a, [9.0, 9.0, 9.0])
    np.testing.assert_allclose(found.b, 6.0 * a)
    second = sdfgad.vmap(sdfgad.grad(lambda x, c: np.sum(c * x)), in_axes=(0, None))(XS, 2.0)
    np.testing.assert_array_equal(second, np.full((5, 4), 2.0))


def test_derivatives_of_functions_of_batches():
    batched = sdfgad.vmap(model, in_axes=(0, None))
    weights = RNG.normal(size=5)
    out, pullback = sdfgad.vjp(batched, XS, W)
    np.testing.assert_allclose(out, [model(x, W) for x in XS], rtol=1e-14)
    ones = [sdfgad.grad(model)(x, W) for x in XS]
    expected = sum(v * g.w for v, g in zip(weights, ones, strict=True))
    np.testing.assert_allclose(pullback(weights).w, expected, rtol=1e-12)
    _, tangent = sdfgad.jvp(batched, (XS, W), (XS, None))
    np.testing.assert_allclose(tangent, [np.sum(g.x * x) for x, g in zip(XS, ones, strict=True)], rtol=1e-12)
    sdfgad.check_grads(lambda x, w: np.sum(batched(x, w) ** 2), XS, W)
    assert sdfgad.hessian(lambda x: np.sum(sdfgad_free(x)))(XS[0]).shape == (4, 4)


EACH = np.linspace(0.5, 1.5, 5)


def scaled(x, each=EACH, *, other=EACH):
    return np.sum(x) * np.sum(each) + np.sum(other)


def test_arrays_that_are_defaults_are_shared():
    """They have as many elements as the batch, so that nobody complains."""
    batched = sdfgad.vmap(scaled)
    np.testing.assert_allclose(batched(XS), [scaled(x) for x in XS])
    np.testing.assert_allclose(batched(x=XS), [scaled(x) for x in XS])
    pairs = zip(XS, EACH, strict=True)
    np.testing.assert_allclose(batched(XS, EACH, other=EACH), [scaled(x, e, other=e) for x, e in pairs])
    gradient = sdfgad.vmap(sdfgad.grad(scaled, wrt="x"))
    np.testing.assert_allclose(gradient(XS), np.full((5, 4), 5.0))
    np.testing.assert_allclose(gradient(XS, other=EACH), np.full((5, 4), 5.0))
    np.testing.assert_allclose(gradient(XS, EACH), np.outer(EACH, np.ones(4)))
    np.testing.assert_allclose(sdfgad.grad(batched, wrt="x", reduce="sum")(XS), np.full((5, 4), 5.0))


def test_a_batch_that_is_made_inside_of_a_function():
    def network(w, xs):
        w = w * 2.0
        layer = sdfgad.vmap(lambda x, scale=w[0]: np.tanh(w @ x) * scale[:3])
        found = layer(xs)
        for _ in range(2):
            w = w * 0.5
        return np.sum(found * sdfgad.vmap(lambda row: np.cos(row), in_axes=[0], out_axes=0)(found)) + np.sum(w * w)

    def alike(w, xs):
        found = np.tanh(xs @ (w * 2.0).T) * (w[0, :3] * 2.0)
        return np.sum(found * np.cos(found)) + np.sum(w * w) * 0.25

    expected = sdfgad.grad(alike)(W, XS)
    for name, gradient in sdfgad.grad(network)(W, XS).items():
        np.testing.assert_allclose(gradient, expected[name], rtol=1e-12)
    np.testing.assert_allclose(network(W, XS), alike(W, XS))


sdfgad_free = sdfgad.vmap(lambda x: np.sin(x) * x)


def test_batches_inside_of_functions_and_of_batches():
    twice = sdfgad.vmap(sdfgad.vmap(lambda a, b: a * np.sin(b), (0, None)), (None, 0))
    np.testing.assert_allclose(twice(XS[0], XS[1]), np.sin(XS[1])[:, None] * XS[0], rtol=1e-14)

    @partial(sdfgad.vmap, in_axes=(None, 0))
    def layer(w, x):
        return np.tanh(w @ x)

    def network(w, xs):
        return np.sum(layer(w * 2.0, xs) ** 2)

    expected = sdfgad.grad(lambda w, xs: np.sum(np.tanh(xs @ (w * 2.0).T) ** 2), wrt="w")(W, XS)
    np.testing.assert_allclose(sdfgad.grad(network, wrt="w")(W, XS), expected, rtol=1e-12)


def test_pullbacks_for_batches():
    _, pullback = sdfgad.vjp(lambda x: np.sin(x) * x[0], XS[0])
    seeds = RNG.normal(size=(4, 3))
    np.testing.assert_array_equal(sdfgad.vmap(pullback)(np.eye(4)), pullback(np.eye(4), batched=True))
    np.testing.assert_array_equal(sdfgad.vmap(pullback, in_axes=1, out_axes=1)(seeds),
                                  pullback(seeds.T, batched=True).T)


def test_an_update_of_what_an_element_has_is_one_of_the_element():
    def halve(x):
        x *= 0.5
        return np.sum(x)

    xs = XS.copy()
    np.testing.assert_allclose(sdfgad.vmap(halve)(xs), XS.sum(axis=1) / 2)
    np.testing.assert_array_equal(xs, XS)
    np.testing.assert_allclose(sdfgad.vmap(sdfgad.grad(halve))(xs), np.full((5, 4), 0.5))


def halving(x, w):
    w *= 0.5
    return np.sum(w @ x)


def unknown(x):
    return np.sum(np.busday_count(x, 3))


@pytest.mark.parametrize("ask, error, message", [
    (lambda: sdfgad.vmap(model)(XS, W), UnsupportedError, "5 of argument 0, 3 of argument 1"),
    (lambda: sdfgad.vmap(model, (None, None))(XS, W), UnsupportedError, "no common number"),
    (lambda: sdfgad.vmap(model, (2, None))(XS, W), UnsupportedError, "axis 2 of argument 0"),
    (lambda: sdfgad.vmap(model, (0, None), 1)(XS, W), UnsupportedError, "out_axes=1"),
    (lambda: sdfgad.vmap(model, (0, None, 0))(XS, W), UnsupportedError, "3 entries for 2"),
    (lambda: sdfgad.vmap(model, (0,))(XS, W), UnsupportedError, "1 entries for 2"),
    (lambda: sdfgad.vmap(sdfgad.grad(model), (0,))(XS, W), UsageError, "1 entries for 2"),
    (lambda: sdfgad.vmap(sdfgad.grad(lambda *a: np.sum(a[1] @ a[0])), (0,))(XS, W), UsageError, "1 entries for 2"),
    (lambda: sdfgad.vmap(halving, (0, None))(XS, W), UnsupportedError, "all elements of a batch share"),
    (lambda: sdfgad.vmap(sdfgad.grad(model))(XS, W), UsageError, "5 of x, 3 of w"),
    (lambda: sdfgad.vmap(sdfgad.grad(model), (3, None))(XS, W), UsageError, "axis 3 of x"),
    (lambda: sdfgad.vmap(sdfgad.grad(lambda x: x * 2.0))(XS), OutputError, "each element"),
    (lambda: sdfgad.vmap(sdfgad.grad(model), out_axes=(0, 1)), UsageError, "out_axes"),
    (lambda: sdfgad.vmap(sdfgad.grad(model, donate=("x",))), UsageError, "donate"),
    (lambda: sdfgad.vmap(sdfgad.grad(sdfgad.grad(model, wrt="x"), wrt="w", reduce="sum")), UnsupportedError,
     "a batch of derivatives of a gradient"),
    (lambda: sdfgad.vmap(sdfgad.hessian(model, sparsity="auto")), UsageError, "vmap of a matrix with sparsity"),
    (lambda: sdfgad.vmap(sdfgad.jacobian(model), out_axes=(0, 1)), UsageError, "out_axes"),
    (lambda: sdfgad.grad(sdfgad.vmap(sdfgad.grad(model))), UnsupportedError, "derivative of a derivative"),
    (lambda: sdfgad.vmap(3), UsageError, "not a function"),
])
def test_what_does_not_fit(ask, error, message):
    with pytest.raises(error, match=message):
        ask()


def test_a_refusal_names_the_line_of_the_function():
    with pytest.raises(UnsupportedError) as refused:
        sdfgad.vmap(unknown)(XS)
    assert (refused.value.file, refused.value.line) == (__file__, unknown.__code__.co_firstlineno + 1)


def curve(x, w, k):
    h = np.sin(w @ x) * x[0]
    h[0] *= np.where(x[1] > 0.0, 2.0, x[1])
    return h**k


@pytest.mark.parametrize("mode", ["auto", "forward", "reverse"])
def test_jacobians_of_elements(mode):
    matrix = sdfgad.jacobian(curve, wrt=("x", "w"), mode=mode)
    found = sdfgad.vmap(matrix, in_axes=(0, None, None))(XS, W, 2)
    assert found.x.shape == (5, 3, 4) and found.w.shape == (5, 3, 3, 4)
    for k, x in enumerate(XS):
        one = matrix(x, W, 2)
        np.testing.assert_allclose(found.x[k], one.x, rtol=1e-12, atol=1e-14)
        np.testing.assert_allclose(found.w[k], one.w, rtol=1e-12, atol=1e-14)


def test_hessians_of_elements():
    matrix = sdfgad.hessian(model)
    found = sdfgad.vmap(matrix, in_axes=(1, None), out_axes=-1)(XS.T, W)
    for k, x in enumerate(XS):
        one = matrix(x, W)
        for a in ("x", "w"):
            for b in ("x", "w"):
                np.testing.assert_allclose(found[a][b][..., k], one[a][b], rtol=1e-12, atol=1e-14)
    alone = sdfgad.vmap(sdfgad.hessian(lambda x: np.sum(x**3), wrt="x"))(XS)
    np.testing.assert_allclose(alone, 6.0 * XS[:, :, None] * np.eye(4), rtol=1e-12)
    numbers = sdfgad.vmap(sdfgad.hessian(lambda t: t[()] ** 3 if t.ndim else t**3, wrt="t"))(XS[0])
    np.testing.assert_allclose(numbers, 6.0 * XS[0], rtol=1e-12)


def test_derivatives_of_gradients_of_elements():
    matrix = sdfgad.jacobian(sdfgad.grad(model, wrt="w"), wrt="x")
    found = sdfgad.vmap(matrix, in_axes=(0, None))(XS, W)
    assert found.shape == (5, 3, 4, 4)
    np.testing.assert_allclose(found, [matrix(x, W) for x in XS], rtol=1e-12, atol=1e-14)


def test_matrices_by_nothing():
    matrix = sdfgad.jacobian(lambda x, y: np.sin(x) * np.sum(y), wrt=("x", "y"), mode="forward")
    found = sdfgad.vmap(matrix)(XS, np.zeros((5, 0)))
    assert found.x.shape == (5, 4, 4) and found.y.shape == (5, 4, 0) and not found.x.any()


def test_jacobians_by_the_rule_that_there_is():
    reverse = sdfgad.custom_vjp(lambda x: x**2)
    reverse.defvjp(lambda x: (x**2, x), lambda r, g: (3.0 * g * r,))
    forward = sdfgad.custom_jvp(lambda x: x**2)
    forward.defjvp(lambda primals, tangents: (primals[0] ** 2, 3.0 * primals[0] * tangents[0]))
    for rule in (reverse, forward):
        found = sdfgad.vmap(sdfgad.jacobian(lambda x, f=rule: np.concatenate((f(x), x))))(XS)
        np.testing.assert_allclose(found, [np.vstack((np.diag(3.0 * x), np.eye(4))) for x in XS])
