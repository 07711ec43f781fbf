"""What those who know other packages look for: argnums, what is returned beside the objective, cotangents of None."""
from __future__ import annotations

from functools import partial
from types import SimpleNamespace

import numpy as np
import pytest

import sdfgad
from sdfgad.errors import OutputError, UnsupportedError, UsageError
from tests.support.interpreted import interpreted

X, W = np.array([0.3, -0.8, 1.1]), np.array([[0.5, -0.2, 0.1], [0.9, 0.4, -0.7]])


def loss(w, x, n):
    y = np.tanh(w @ x)
    return np.sum(y**n)


def test_argnums_are_positions():
    by_name, by_number = sdfgad.grad(loss, wrt="x"), sdfgad.grad(loss, argnums=1)
    np.testing.assert_array_equal(by_name(W, X, 2), by_number(W, X, 2))
    np.testing.assert_allclose(sdfgad.value_and_grad(loss, argnums=1)(W, X, 2)[1], by_name(W, X, 2), rtol=1e-14)
    both = sdfgad.grad(loss, argnums=(1, 0))(W, X, 2)
    np.testing.assert_allclose(both[0], by_name(W, X, 2), rtol=1e-14)
    np.testing.assert_allclose(sdfgad.vjp(loss, W, X, 2, argnums=1)[1](1.0), by_name(W, X, 2), rtol=1e-14)
    np.testing.assert_array_equal(sdfgad.hvp(loss, (W, X, 2), {"w": W}, argnums=1),
                                  sdfgad.hvp(loss, (W, X, 2), {"w": W}, wrt="x"))
    assert sdfgad.plan(loss, W, X, 2, argnums=np.int64(0)).about.wrt == ("w",)
    assert sdfgad.check_grads(loss, W, X, 2, argnums=1).arguments[0].name == "x"
    for matrix in (sdfgad.hessian, sdfgad.jacobian):
        np.testing.assert_array_equal(matrix(loss, argnums=1)(W, X, 2), matrix(loss, wrt="x")(W, X, 2))


def test_positions_count_what_stands_behind_a_star():
    def cost(scale, *parts, power=2):
        return scale * parts[0] * parts[1] ** power

    with interpreted():
        assert sdfgad.grad(cost, argnums=2)(2.0, 3.0, 5.0) == 60.0
        assert list(sdfgad.grad(cost, argnums=(1, 0))(2.0, 3.0, 5.0)) == [50.0, 75.0]
        for wrong, message in ((4, "has 4 arguments"), (-1, "type int")):
            with pytest.raises(sdfgad.SdfgadError, match=message):
                sdfgad.grad(cost, argnums=wrong)(2.0, 3.0, 5.0)


@pytest.mark.parametrize("options, message", [
    ({"wrt": "x", "argnums": 1}, "give one of them"), ({"argnums": "x"}, "a tuple of ints"),
    ({"argnums": (0, True)}, "a tuple of ints"), ({"argnums": 3}, "has 3 arguments"), ({"argnums": (1, 1)}, "twice")])
@pytest.mark.parametrize("verb", [sdfgad.grad, sdfgad.value_and_grad, sdfgad.hessian, sdfgad.jacobian])
def test_wrong_argnums_are_refused(verb, options, message):
    with pytest.raises(UsageError, match=message):
        verb(loss, **options)(W, X, 2)


def traced(x, steps):
    path = np.zeros((steps, x.size))
    y = x * 1.0
    for t in range(steps):
        y[1:] = y[1:] + 0.1 * np.sin(y[:-1])
        path[t] = y
    return np.sum(y * y), {"path": path, "end": (y, y.max(), steps, "m"), "counts": (path > 0).sum(axis=0)}


def test_what_is_returned_beside_the_objective():
    expected, aux = traced(X.copy(), 4)
    plain = sdfgad.grad(lambda x, steps: traced(x, steps)[0])(X, 4)
    for _ in range(2):  # the second call goes the short way
        gradient, found = sdfgad.grad(traced, has_aux=True)(X, 4)
        np.testing.assert_allclose(gradient, plain, rtol=1e-14)
        np.testing.assert_allclose(found["path"], aux["path"], rtol=1e-15)
        np.testing.assert_allclose(found["end"][0], aux["end"][0], rtol=1e-15)
        assert found["end"][1] == pytest.approx(aux["end"][1]) and found["end"][2:] == (4, "m")
        np.testing.assert_array_equal(found["counts"], aux["counts"])
    (value, found), gradient = sdfgad.value_and_grad(traced, has_aux=True)(X, 4)
    assert value == pytest.approx(expected) and set(found) == {"path", "end", "counts"}
    np.testing.assert_allclose(gradient, plain, rtol=1e-14)


@sdfgad.grad(has_aux=True, reduce="sum", memory_limit="10MB")
def several(x):
    return np.exp(x) * x, np.sin(x)


def test_a_sum_under_a_limit_with_something_beside_it():
    for _ in range(2):
        gradient, aux = several(X)
        np.testing.assert_allclose(gradient, np.exp(X) * (X + 1), rtol=1e-14)
        np.testing.assert_allclose(aux, np.sin(X), rtol=1e-15)
    (value, _), _ = several.value_and_grad(X)
    assert value == pytest.approx(np.sum(np.exp(X) * X))


def updating(x):
    objective = np.sum(x**3)
    x *= 2.0
    return objective, SimpleNamespace(x=x, half=x[::2])


def test_aux_of_an_argument_that_changes():
    """The reverse sweep takes the update back, and the caller sees what it was."""
    gradient, aux = sdfgad.grad(updating, has_aux=True)(X)
    np.testing.assert_allclose(gradient, 3 * X**2, rtol=1e-14)
    np.testing.assert_array_equal(aux.x, 2 * X)
    np.testing.assert_array_equal(aux.half, 2 * X[::2])


def test_aux_of_pullbacks():
    out, pullback, aux = sdfgad.vjp(traced, X, 4, has_aux=True)
    assert out == pytest.approx(traced(X.copy(), 4)[0])
    np.testing.assert_allclose(pullback(1.0), sdfgad.grad(traced, has_aux=True)(X, 4)[0], rtol=1e-14)
    np.testing.assert_allclose(aux["path"], traced(X.copy(), 4)[1]["path"], rtol=1e-15)


def with_factor(x):
    """The complex factor has no derivative."""
    return np.sum(x * x), np.linalg.cholesky(np.eye(3) * (4.0 + 0j) + 1j * np.outer(x, x) - 1j * np.outer(x, x))


def test_what_aux_alone_needs_has_no_derivative():
    gradient, aux = sdfgad.grad(with_factor, has_aux=True)(X)
    np.testing.assert_allclose(gradient, 2 * X, rtol=1e-15)
    np.testing.assert_allclose(aux, 2.0 * np.eye(3), rtol=1e-14)


@pytest.mark.parametrize("ask, error, message", [
    (lambda: sdfgad.grad(loss, has_aux=True)(W, X, 2), OutputError, "objective, aux"),
    (lambda: sdfgad.grad(lambda x: (np.sum(x), x, x), has_aux=True)(X), OutputError, "a tuple of 3"),
    (lambda: sdfgad.grad(lambda x: (x, x), has_aux=True)(X), OutputError, "one real scalar"),
    (lambda: sdfgad.grad(lambda x: ("no", x), has_aux=True)(X), OutputError, "nothing to differentiate"),
    (lambda: sdfgad.grad(traced, has_aux=True, output=0), UsageError, "leave out output"),
    (lambda: sdfgad.vjp(traced, X, 4, has_aux=True, output=0), UsageError, "leave out output"),
])
def test_wrong_pairs_are_refused(ask, error, message):
    with pytest.raises(error, match=message):
        ask()


def pair(x):
    return np.sin(x), np.sum(x * x)


def test_a_cotangent_of_none_is_zero():
    _, pullback = sdfgad.vjp(pair, X)
    np.testing.assert_allclose(pullback(None, 1.0), 2 * X, rtol=1e-15)
    np.testing.assert_allclose(pullback((np.ones(3), None)), np.cos(X), rtol=1e-15)
    np.testing.assert_array_equal(pullback(None, None), np.zeros(3))
    np.testing.assert_array_equal(sdfgad.vjp(np_square, X)[1](None), np.zeros(3))
    with pytest.raises(OutputError, match="2 outputs, 1 seeds"):
        pullback(None)


def np_square(x):
    return x * x


def area(a, b, n):
    return a * b**n


@pytest.mark.parametrize("kind", [float, np.float64])
def test_numbers_are_differentiated_where_no_argument_is_an_array(kind):
    found = sdfgad.grad(area)(kind(2.0), 3.0, 2)
    assert found.a == pytest.approx(9.0) and found.b == pytest.approx(12.0)
    assert sdfgad.grad(lambda x: x**3)(kind(2.0)) == pytest.approx(12.0)
    assert set(sdfgad.grad(lambda p: p["a"] * p["b"])({"a": 2.0, "b": kind(3.0)}).keys()) == {"p['a']", "p['b']"}


def test_numbers_beside_arrays_are_constants():
    np.testing.assert_allclose(sdfgad.grad(lambda x, a: np.sum(a * x))(X, 3.0), np.full(3, 3.0))


def scaled(x, *, scale, n=2):
    return scale * x**n


def test_arguments_by_name_alone_are_taken_by_all_verbs():
    expected = np.diag(6.0 * X)
    out, pullback = sdfgad.vjp(scaled, X, scale=3.0, wrt="x")
    np.testing.assert_allclose(out, 3.0 * X**2)
    np.testing.assert_allclose(pullback(np.eye(3), batched=True), expected)
    for mode in ("forward", "reverse"):
        np.testing.assert_allclose(sdfgad.jacobian(scaled, wrt="x", mode=mode)(X, scale=3.0), expected)
    np.testing.assert_allclose(sdfgad.jacobian(scaled, wrt="x", sparsity="auto")(X, scale=3.0).toarray(), expected)
    energy = sdfgad.grad(lambda x, *, scale: np.sum(scaled(x, scale=scale, n=3)), wrt="x")
    gradient, pullback = sdfgad.vjp(energy, X, scale=3.0, wrt="x")
    np.testing.assert_allclose(gradient, 9.0 * X**2)
    np.testing.assert_allclose(pullback(np.ones(3)), 18.0 * X)
    sdfgad.check_grads(scaled, X, scale=3.0, wrt="x")


class Weighted:
    """A function with something of its own."""

    def __init__(self, w):
        self.w = w

    def __call__(self, x):
        return np.sum(self.w * x**2)


def test_partials_and_objects_that_can_be_called_are_functions():
    batch = np.stack([X, 2.0 * X])
    found = sdfgad.vmap(partial(scaled, scale=X, n=3))(batch)
    np.testing.assert_allclose(found, X * batch**3)
    np.testing.assert_allclose(sdfgad.vmap(Weighted(X))(batch), np.sum(X * batch**2, axis=1))
    np.testing.assert_allclose(sdfgad.vmap(sdfgad.grad(Weighted(X)))(batch), 2.0 * X * batch)


def test_one_argument_needs_no_tuple():
    _, tangent = sdfgad.jvp(lambda x: x**3, X, X)
    np.testing.assert_allclose(tangent, 3.0 * X**3)
    np.testing.assert_allclose(sdfgad.hvp(Weighted(X), X, X), 2.0 * X * X)
    assert sdfgad.jvp(lambda x: x**3, 2.0, 1.0)[1] == pytest.approx(12.0)


def test_a_real_argument_has_no_complex_tangent():
    with pytest.raises(UsageError, match="the tangent of 'x' has elements of complex128, the argument of float64"):
        sdfgad.jvp(lambda x: x**3, (X,), (1j * X,))


def test_pullbacks_belong_to_what_the_function_was():
    """What changes outside of the function later has no part in them."""
    weights, held, factor = np.array([1.0, 2.0, 3.0]), SimpleNamespace(w=np.ones(3)), 2.0

    def weighted(x):
        return factor * held.w * weights * x**3

    gradient = sdfgad.grad(lambda x: np.sum(weighted(x)))
    seed, (_, pullback), (_, curvature) = np.ones(3), sdfgad.vjp(weighted, X), sdfgad.vjp(gradient, X)
    then, bent = 6.0 * weights * X**2, 12.0 * weights * X
    weights[0], held.w[1], factor = 9.0, 5.0, 7.0
    np.testing.assert_allclose(pullback(seed), then)
    np.testing.assert_allclose(curvature(seed), bent)
    now = 3.0 * factor * held.w * weights * X**2
    np.testing.assert_allclose(sdfgad.vjp(weighted, X)[1](seed), now)  # the same program, with other numbers
    np.testing.assert_allclose(pullback(np.eye(3), batched=True), np.diag(then))
    np.testing.assert_allclose(gradient(X), now)


@pytest.mark.parametrize("verb", [sdfgad.hessian, lambda f: lambda x: sdfgad.jvp(f, (x,), (x,))[1]])
def test_other_derivatives_than_gradients_inside_of_a_function_are_refused(verb):
    square = Weighted(X)
    with pytest.raises(UnsupportedError, match=r"sdfgad.(hessian|jvp) inside another function") as refused:
        sdfgad.grad(lambda x: np.sum(verb(square)(x) ** 2))(X)
    assert "sdfgad.vjp(sdfgad.grad(f), x)" in (refused.value.help or "")


def test_tangents_of_arguments_that_a_star_takes():
    def product(a, *rest):
        return np.sum(a * rest[0] ** 2 * rest[1])

    tangents = (None, X, 2.0 * X)
    expected = np.sum(X * (2.0 * X * X) * X + X * X**2 * 2.0 * X)
    assert sdfgad.jvp(product, (X, X, X), tangents)[1] == pytest.approx(expected)
    found = sdfgad.hvp(product, (X, X, X), tangents, wrt="a")
    np.testing.assert_allclose(found, 2.0 * X * X * X + X**2 * 2.0 * X)
    with pytest.raises(UsageError, match="3 arguments, 2 tangents"):
        sdfgad.jvp(product, (X, X, X), (None, X))


def test_gradients_of_what_one_container_holds_are_found_by_its_keys():
    found = sdfgad.grad(lambda p, x: np.sum((p["w"] @ x + p["b"]) ** 2), argnums=0)({"w": W, "b": np.ones(2)}, X)
    assert found["b"] is found.p["b"] and {k: found[k].shape for k in ("w", "b")} == {"w": (2, 3), "b": (2,)}
    with pytest.raises(KeyError, match="no gradient for 'c'; there are"):
        found["c"]
    both = sdfgad.grad(lambda p, q: np.sum(p["w"] * q["w"]))({"w": X}, {"w": X})
    with pytest.raises(KeyError, match="several gradients are called 'w'"):
        both["w"]


def test_what_verbs_make_says_what_it_is():
    def f(x):
        return np.sum(x * x)

    made = [sdfgad.grad(f), sdfgad.value_and_grad(f), sdfgad.forward(f), sdfgad.vmap(f), sdfgad.jacobian(f),
            sdfgad.hessian(f), sdfgad.custom_vjp(f), sdfgad.custom_jvp(f)]
    verbs = "grad value_and_grad forward vmap jacobian hessian custom_vjp custom_jvp".split()
    assert [repr(m) for m in made] == [f"<sdfgad.{v} of f>" for v in verbs]
    assert repr(sdfgad.vmap(sdfgad.grad(f))) == "<sdfgad.vmap of grad of f>"
    assert repr(sdfgad.grad(sdfgad.grad(f))) == "<sdfgad.grad of the gradient of f>"
    assert repr(sdfgad.vjp(f, np.ones(2))[1]) == "<sdfgad.vjp of f>"


@pytest.mark.parametrize("fn, message", [
    (lambda x: 2 * x, r"but an array of float64 of shape \(3,\)\n.*sdfgad.jacobian$"),
    (lambda x: np.sum(x) * 1j, "but a number of complex128"), (lambda x: (x, x), "but 2 of them(.|\n)*output=1"),
    (lambda x: np.argmax(x), "nothing to differentiate: a number of int64"),
    (lambda x: None, "nothing to differentiate: None"), (lambda x: "text", "nothing to differentiate: str")])
def test_refused_outputs_are_told(fn, message):
    with pytest.raises(OutputError, match=message):
        sdfgad.grad(fn)(X)


def test_wrong_arguments_are_told_what_would_be_right():
    with pytest.raises(UsageError, match="at position 3(.|\n)*the arguments are w, x, n"):
        sdfgad.grad(loss, argnums=3)(W, X, 2)
    for tangents in ({"y": X}, {"n": 1.0}):
        with pytest.raises(UsageError, match="floating or complex(.|\n)*those that have one are w, x$"):
            sdfgad.jvp(loss, (W, X, 2), tangents)
    with pytest.raises(OutputError, match="1 outputs, 3 seeds(.|\n)*np.asarray"):
        sdfgad.vjp(lambda x: 2 * x, X)[1]([1.0, 2.0, 3.0])
    with pytest.raises(UnsupportedError, match="custom_vjp inside another function(.|\n)*outside of the function"):
        sdfgad.grad(lambda x: sdfgad.custom_vjp(np.sum)(x))(X)


@pytest.mark.parametrize("shape", [-3, (3, -1), "3", 2.5, (2.0, 3)])
def test_a_spec_has_a_shape(shape):
    with pytest.raises(UsageError, match="integers, none of them negative"):
        sdfgad.spec(shape)
    assert sdfgad.spec(np.int64(3)) == sdfgad.spec([3])


class _Column:
    """An array of another library, as far as its class tells."""

    shape, dtype = (3,), np.dtype(float)

    def __array__(self, dtype=None, copy=None):
        return np.ones(3)


def _whole(x):
    return int(np.sum(x))


@pytest.mark.parametrize("call, told", [
    (lambda: sdfgad.grad(np.sum)(_Column()), "x: _Column .make it an array: np.asarray.x.|np.asarray"),
    (lambda: sdfgad.grad(lambda x, y: np.sum(x * y))(_Column(), X), "np.asarray"),
    (lambda: sdfgad.grad(lambda x, y: np.sum(x * y))(None, X), "pass a number or an array of numbers"),
    (lambda: sdfgad.grad(lambda x, y: np.sum(x * y))(np.array([1.0, 2.0], dtype=object), X), "astype.float."),
    (lambda: sdfgad.grad(lambda x, n: np.sum(x) * n, wrt="n")(X, 2), r"n: int .make it floating: float.n.."),
    (lambda: sdfgad.grad(_whole)(X), "return a float"),
    (lambda: sdfgad.grad(3.0), "the function itself"),
    (lambda: sdfgad.value_and_grad(_whole, memory_limt="1GB"), r"^value_and_grad.. got an unexpected.*'memory_limt'"),
])
def test_usual_mistakes_are_told_with_a_way_out(call, told):
    with pytest.raises((sdfgad.SdfgadError, TypeError), match=told):
        call()
