"""Functions as JAX takes them; tests that need JAX are left out without it."""
from __future__ import annotations

import threading

import numpy as np
import pytest

import sdfgad
from sdfgad.config import settings
from sdfgad.foreign import optional
from sdfgad.verbs import pipeline

jax = pytest.importorskip("jax", reason="needs JAX: pip install '.[jax]'")
from jax import numpy as jnp  # noqa: E402
from jax.test_util import check_grads  # noqa: E402


@pytest.fixture(autouse=True)
def double():
    """For the threads of JAX as well, which take no part in a context."""
    before = jax.config.jax_enable_x64
    jax.config.update("jax_enable_x64", True)
    yield
    jax.config.update("jax_enable_x64", before)


def layer(p, x, scale=1.0, n=1):
    """A container of arguments and one of results, with a number among them that is none."""
    h = np.tanh(x @ p["w"] + p["b"]) * scale
    for _ in range(n):
        h = np.sin(h)
    return {"out": h, "size": np.sum(p["w"] ** 2), "steps": n, "up": h > 0}


def reference(w, b, x, scale=0.5):
    return jnp.sin(jnp.tanh(x @ w + b) * scale), jnp.sum(w**2)


def product(z, w):
    return z * np.conj(w) + np.exp(0.3 * z), np.sum(np.abs(w) ** 2)


@pytest.fixture(scope="module")
def function():
    return sdfgad.as_jax(layer)


def outputs(function):
    def called(w, b, x, scale=0.5):
        found = function({"w": w, "b": b}, x, scale)
        return found["out"], found["size"]
    return called


def loss(of):
    def called(*given):
        first, second = of(*given)
        return jnp.sum(jnp.abs(first) ** 2) * second
    return called


def numbers(*shape):
    return jnp.asarray(np.random.default_rng(sum(shape)).normal(size=shape))


def close(found, expected, **options):
    jax.tree.map(lambda a, b: np.testing.assert_allclose(a, b, **{"rtol": 1e-10, "atol": 1e-12} | options), found,
                 expected)


def given():
    return numbers(3, 2), numbers(2), numbers(4, 3)


def test_check_grads_of_first_and_second_derivatives(function):
    check_grads(outputs(function), given(), order=1, modes=["fwd"])
    check_grads(outputs(function), given(), order=2, modes=["rev"])


def test_complex_numbers_have_the_cotangents_of_jax():
    function = sdfgad.as_jax(product)
    z, w = numbers(3) + 1j * numbers(4)[1:], numbers(5)[2:] - 1j * numbers(3)
    check_grads(function, (z, w), order=1, modes=["fwd"])
    check_grads(function, (z, w), order=2, modes=["rev"])

    def theirs(z, w):
        return z * jnp.conj(w) + jnp.exp(0.3 * z), jnp.sum(jnp.abs(w) ** 2)

    def second(of):
        return jax.grad(lambda z, w: jnp.real(jnp.sum(jax.grad(loss(of))(z, w) * w)), (0, 1))

    close(jax.grad(loss(function), (0, 1))(z, w), jax.jit(jax.grad(loss(theirs), (0, 1)))(z, w))
    close(second(function)(z, w), jax.jit(second(theirs))(z, w))


def test_under_jit_and_vmap(function):
    mine, theirs = loss(outputs(function)), loss(reference)
    w, b, x = given()
    close(*(jax.jit(jax.value_and_grad(of, (0, 1, 2)))(w, b, x) for of in (mine, theirs)))
    several = [jax.vmap(jax.grad(of, (0, 1, 2)), (0, None, None)) for of in (mine, theirs)]
    close(*(jax.jit(of)(jnp.stack([w, 2 * w]), b, x) for of in several))
    expected = jax.jit(jax.hessian(theirs, (0, 1, 2)))(w, b, x)
    close(jax.jacrev(jax.grad(mine, (0, 1, 2)), (0, 1, 2))(w, b, x), expected)
    close(jax.jit(jax.hessian(mine))(w, b, x), expected[0][0])


def test_forward_mode(function):
    mine, theirs = outputs(function), reference
    w, b, x = given()
    tangents = [(jnp.ones_like(w), jnp.zeros_like(b), 2.0 * x)]
    close(*(jax.jit(lambda *t, of=of: jax.jvp(of, (w, b, x), t))(*tangents[0]) for of in (mine, theirs)))
    close(jax.jacfwd(mine, (0, 1))(w, b, x), jax.jit(jax.jacfwd(theirs, (0, 1)))(w, b, x))

    def scanned(of):
        return lambda w: jax.lax.scan(lambda s, _: (s + of(s, b, x)[0][0, 0] * s, None), w, None, 2)[0].sum()

    products = [jax.jit(lambda w, of=of: jax.jvp(jax.grad(scanned(of)), (w,), (w,)))(w) for of in (mine, theirs)]
    close(*products)
    with pytest.raises(sdfgad.UnsupportedError, match="derivative of a tangent"):
        jax.jacfwd(jax.jacfwd(loss(mine)))(w, b, x)


def test_values_and_what_is_fixed(function):
    w, b, x = given()
    found = jax.jit(function, static_argnames="n")({"w": w, "b": b}, x, 0.5, n=2)
    expected = layer({"w": np.asarray(w), "b": np.asarray(b)}, np.asarray(x), 0.5, 2)
    close(found, {k: np.asarray(v) for k, v in expected.items()})
    assert found["up"].dtype == bool
    eager = function({"w": w, "b": b}, np.asarray(x), 0.5, 2)
    assert eager["steps"] == 2 and type(eager["steps"]) is int
    close(eager["out"], expected["out"])


def test_single_precision_unless_jax_has_another(function):
    """A number of Python is one of the precision of the arrays around it, for NumPy as for JAX."""
    with jax.enable_x64(False):
        w, b, x = (jnp.asarray(g, jnp.float32) for g in given())
        found = jax.grad(lambda w, s: jnp.sum(function({"w": w, "b": b}, x, s)["out"]), (0, 1))(w, 0.5)
        assert [f.dtype for f in found] == [jnp.float32] * 2
        close(found, jax.grad(lambda w, s: jnp.sum(reference(w, b, x, s)[0]), (0, 1))(w, 0.5), rtol=1e-4, atol=1e-5)


def test_gradient_descent(function):
    w, b, x = given()
    target = 0.1 * x[:, :2]

    @jax.jit
    def step(w, b):
        def misfit(w, b, x):
            return jnp.mean((function({"w": w, "b": b}, x)["out"] - target) ** 2)
        value, (by_w, by_b, _) = jax.value_and_grad(misfit, (0, 1, 2))(w, b, x)
        return value, w - 0.5 * by_w, b - 0.5 * by_b

    values = []
    for _ in range(60):
        value, w, b = step(w, b)
        values.append(float(value))
    assert values[-1] < 0.05 * values[0]


def test_callbacks_have_the_settings_of_where_they_were_traced(monkeypatch):
    """JAX calls from threads of its own, which know nothing of `with sdfgad.config(...)`."""
    seen = []
    monkeypatch.setattr(pipeline, "thread_count", lambda: seen.append(settings().num_threads))
    with sdfgad.config(num_threads=1):
        traced = jax.jit(sdfgad.as_jax(lambda x: np.sum(x * x))).lower(x := numbers(3)).compile()

    def run():
        with jax.enable_x64(True):
            jax.block_until_ready(traced(x))

    thread = threading.Thread(target=run)
    thread.start()
    thread.join()
    assert seen == [1]


def test_what_is_refused(function):
    w, b, x = given()
    with pytest.raises(sdfgad.UnsupportedError, match="third derivative|derivative of a tangent"):
        jax.jacfwd(lambda w: jnp.sum(jax.jacrev(jax.grad(loss(outputs(function)), (0, 1, 2)))(w, b, x)[1]))(w)
    with pytest.raises(sdfgad.DtypeError, match="key<fry>, which NumPy has not"):
        function({"w": w, "b": b}, jax.random.key(0))
    limited = sdfgad.as_jax(lambda x: np.sum(x**3), memory_limit="1MB")
    close(jax.grad(limited)(b), 3 * b**2)
    with pytest.raises(Exception, match="memory_limit with a derivative of a gradient"):
        jax.block_until_ready(jax.jacrev(jax.grad(limited))(b))
    with pytest.raises(sdfgad.UnsupportedError, match="a call of 'eval'"):
        jax.jit(sdfgad.as_jax(lambda x: x * eval("2")))(b)


def test_without_the_package(monkeypatch):
    def missing(name):
        raise ModuleNotFoundError("No module named 'jax'", name="jax.numpy")

    monkeypatch.setattr(optional, "import_module", missing)
    with pytest.raises(sdfgad.UsageError, match=r"JAX is not installed\n  help: pip install 'sdfgad\[jax\]'"):
        sdfgad.as_jax(layer)
    with pytest.raises(ModuleNotFoundError):
        sdfgad.as_torch(layer)
