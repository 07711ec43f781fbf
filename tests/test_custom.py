"""Derivative rules of the user's: used where a derivative is asked for, and nowhere else; what does not fit is refused.
"""
from __future__ import annotations

import numpy as np
import pytest

import sdfgad
from sdfgad.errors import UnsupportedError, UsageError

X, W = np.array([0.3, -0.8, 1.1, 0.6]), np.array([[0.5, -0.2, 0.1, 0.3], [0.9, 0.4, -0.7, 0.2]])


@sdfgad.custom_jvp
def softplus(x):
    return np.log(1.0 + np.exp(x))


@softplus.defjvp
def softplus_rule(primals, tangents):
    (x,), (t,) = primals, tangents
    return softplus(x), t / (1.0 + np.exp(-x))


def plain_softplus(x):
    return np.log(1.0 + np.exp(x))


def energy(x, f):
    for _ in range(3):
        x[1:] = f(x[1:] * x[:-1]) - 0.4
    return np.sum(f(x) ** 2)


def test_a_jacobian_takes_the_mode_that_there_is_a_rule_for():
    reverse = sdfgad.custom_vjp(lambda x: x**2)
    reverse.defvjp(lambda x: (x**2, x), lambda r, g: (3.0 * g * r,))
    np.testing.assert_allclose(sdfgad.jacobian(lambda x: np.concatenate((reverse(x), x)))(X), np.vstack(
        (np.diag(3.0 * X), np.eye(4))))
    with pytest.raises(UnsupportedError, match="forward mode"):
        sdfgad.jacobian(reverse, mode="forward")(X)
    forward = sdfgad.custom_jvp(lambda x: x**2, python=True)
    forward.defjvp(lambda primals, tangents: (primals[0] ** 2, 3.0 * primals[0] * tangents[0]))
    np.testing.assert_allclose(sdfgad.jacobian(forward)(X), np.diag(3.0 * X))
    with pytest.raises(UnsupportedError):
        sdfgad.jacobian(forward, mode="reverse")(X)


def test_a_forward_rule_in_both_modes_and_orders():
    def own(x):
        return energy(x, softplus)

    def plain(x):
        return energy(x, plain_softplus)

    np.testing.assert_allclose(softplus(X), plain_softplus(X), rtol=1e-15)  # it stays a function of Python's
    np.testing.assert_allclose(sdfgad.grad(own)(X), sdfgad.grad(plain)(X), rtol=1e-13)
    for a, b in zip(sdfgad.jvp(own, (X,), (X[::-1].copy(),)), sdfgad.jvp(plain, (X,), (X[::-1].copy(),)), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-13)
    np.testing.assert_allclose(sdfgad.hessian(own)(X), sdfgad.hessian(plain)(X), rtol=1e-11, atol=1e-13)
    assert sdfgad.check_grads(own, X).ok


def test_a_forward_rule_is_right_where_the_function_alone_is_not():
    large = np.array([800.0, -800.0])
    np.testing.assert_array_equal(sdfgad.grad(lambda x: np.sum(plain_softplus(x)))(large[1:]), [0.0])
    assert np.isnan(sdfgad.grad(lambda x: np.sum(plain_softplus(x)))(large)[0])
    np.testing.assert_array_equal(sdfgad.grad(lambda x: np.sum(softplus(x)))(large), [1.0, 0.0])
    assert sdfgad.hessian(lambda x: np.sum(softplus(x)))(large[:1]) == 0.0


def test_rules_that_say_something_else_than_the_function():
    """Only so can be seen which one is used."""
    @sdfgad.custom_jvp
    def product(x, y, n):
        return x * y**n, n

    product.defjvp(lambda p, t: ((p[0] * p[1] ** p[2], p[2]), (5.0 * t[0] * p[1], None)))

    def f(x, y):
        return np.sum(product(x, y, 2)[0])

    with pytest.warns(sdfgad.UnusedArgumentWarning):
        found = sdfgad.grad(f)(X, 2.0 * X)
    np.testing.assert_allclose(found.x, 10.0 * X, rtol=1e-14)
    np.testing.assert_array_equal(found.y, np.zeros(4))
    assert sdfgad.jvp(f, (X, X), (None, X))[1] == 0.0
    assert sdfgad.forward(f)(X, X) == pytest.approx(np.sum(X**3))
    # The second derivative is that of the rule: 5 y by y.
    np.testing.assert_allclose(sdfgad.hvp(f, (X, X), {"y": np.ones(4)}, wrt="x"), np.full(4, 5.0), rtol=1e-14)


@sdfgad.custom_vjp
def clipped(x, low, high):
    """The identity, with a gradient between two bounds."""
    return x


def clipped_forward(x, low, high):
    return x, (low, high)


def clipped_backward(bounds, g):
    return np.clip(g, *bounds), None, None


clipped.defvjp(clipped_forward, clipped_backward)


def clipping(x, a):
    for _ in range(4):
        x[1:] = np.sin(x[1:] * x[:-1])
        x = clipped(x, -0.2 * a, 0.2)
    return np.sum(x * x)


def by_hand(x, a):
    states = [x]
    for _ in range(4):
        y = x.copy()
        y[1:] = np.sin(x[1:] * x[:-1])
        x = y
        states.append(x)
    g = 2 * x
    for x in reversed(states[:-1]):
        g = np.clip(g, -0.2 * a, 0.2)
        t = g[1:] * np.cos(x[1:] * x[:-1])
        g = np.concatenate([g[:1], t * x[:-1]])
        g[:-1] += t * x[1:]
    return g


@pytest.mark.parametrize("threads", [1, 2])
def test_clipped_gradients(threads):
    with sdfgad.config(num_threads=threads):
        found = sdfgad.grad(clipping)(X, 1.5)
    np.testing.assert_allclose(found, by_hand(X, 1.5), rtol=1e-13)
    np.testing.assert_allclose(sdfgad.vjp(clipping, X, 1.5)[1](np.array([1.0]), batched=True)[0], found, rtol=1e-13)
    each = sdfgad.vmap(sdfgad.grad(clipping), in_axes=(0, None))(np.stack([X, X[::-1]]), 1.5)
    np.testing.assert_allclose(each[1], by_hand(X[::-1], 1.5), rtol=1e-13)
    float32 = sdfgad.grad(clipping)(X.astype(np.float32), np.float32(1.5))
    assert float32.x.dtype == np.float32
    np.testing.assert_allclose(float32.x, found, rtol=2e-6)


TABLE = np.array([2, 0, 1])


@sdfgad.custom_vjp
def layer(p, x):
    return {"h": np.tanh(p["w"] @ x) + p["b"], "s": np.sum(x), "n": x.size}


def layer_forward(p, x):
    h = np.tanh(p["w"] @ x)
    return {"h": h + p["b"], "s": np.sum(x), "n": x.size}, (h, p["w"], x, TABLE)


def layer_backward(residuals, g):
    """Loops, a scalar, and integers among the residuals."""
    h, w, x, table = residuals
    gh = g["h"] * (1.0 - h * h)
    gx = np.zeros(x.size)
    for k in range(table.size):
        for i in range(gh.size):
            gx[table[k]] += gh[i] * w[i, table[k]]
    k = 0
    while k < gh.size:
        gx[3] += gh[k] * w[k, 3]
        k += 1
    return {"w": np.outer(gh, x), "b": g["h"]}, gx + g["s"]


layer.defvjp(layer_forward, layer_backward)


def network(p, x, f, n):
    s = 0.0
    for _ in range(n):
        out = f(p, x)
        x[:2] = out["h"] * 0.5 + 0.1 * x[2:]
        s = s + out["s"] * x[0]
        if s > -10.0:
            s = s + np.sum(f(p, x * 2.0)["h"] ** 2)
    return s


def test_a_reverse_rule_with_containers_loops_and_tapes():
    p = {"w": W, "b": np.array([0.1, -0.3])}
    found = sdfgad.grad(network)(p, X, layer, 6)
    expected = sdfgad.grad(network)(p, X, layer.function, 6)
    np.testing.assert_allclose(found.w, expected.w, rtol=1e-12)
    np.testing.assert_allclose(found.b, expected.b, rtol=1e-12)
    np.testing.assert_allclose(found.x, expected.x, rtol=1e-12)
    for a, b in zip(sdfgad.hvp(network, (p, X, layer, 3), {"x": X}, wrt=("p", "x")).values(),
                    sdfgad.hvp(network, (p, X, layer.function, 3), {"x": X}, wrt=("p", "x")).values(), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-10, atol=1e-12)


def test_a_reverse_rule_under_a_memory_limit():
    def f(x, n):
        for _ in range(n):
            x[1:] = tripled(x[1:] * x[:-1])
        return np.sum(x)

    x = np.random.default_rng(0).uniform(0.5, 1.0, 500)
    everything = sdfgad.grad(f)(x, 60)
    limited = sdfgad.grad(f, memory_limit=150_000)
    assert limited.plan(x, 60).predicted.peak_bytes < sdfgad.plan(f, x, 60).predicted.peak_bytes
    np.testing.assert_allclose(limited(x, 60), everything, rtol=1e-13)


@sdfgad.custom_vjp
def tripled(x):
    return np.sin(x)


tripled.defvjp(lambda x: (np.sin(x), x), lambda x, g: (3.0 * np.cos(x) * g,))


def test_a_reverse_rule_is_checked_by_differences_alone():
    report = sdfgad.check_grads(tripled, 0.4, raise_on_fail=False)
    assert not report.ok and report.mode_error is None and report.arguments[0].verdict == "bug"
    assert "a rule has no forward mode" in str(report)


def test_rules_of_functions_that_are_differentiated_themselves():
    assert sdfgad.grad(tripled)(0.4) == pytest.approx(3 * np.cos(0.4), rel=1e-15)
    assert sdfgad.forward(tripled)(0.4) == pytest.approx(np.sin(0.4))
    assert sdfgad.value_and_grad(tripled)(0.4)[0] == pytest.approx(np.sin(0.4))
    with pytest.raises(sdfgad.GradientMismatchError) as wrong:  # nobody else looks; there is no forward mode to compare
        sdfgad.check_grads(tripled, 0.4, wrt="x")
    assert wrong.value.report.mode_error is None and "no forward mode" in str(wrong.value)
    z = np.array([0.3 + 0.4j, 1.0 - 0.2j])

    @sdfgad.custom_vjp
    def twice(z):
        return 2.0 * z

    twice.defvjp(lambda z: (2.0 * z, None), lambda _, g: (7.0 * g,))
    np.testing.assert_allclose(sdfgad.grad(lambda z: np.sum(np.abs(twice(z)) ** 2))(z), 28.0 * z, rtol=1e-14)
    # Forward mode goes where the rule is not: past what no tangent reaches.
    assert sdfgad.jvp(lambda x, y: tripled(x) * y, (0.4, 2.0), (None, 1.0))[1] == pytest.approx(np.sin(0.4))


def with_rule(forward, backward, fn=lambda x, n: x * n):
    made = sdfgad.custom_vjp(fn)
    made.defvjp(forward, backward)
    return lambda x: np.sum(made(x, 2))


def with_tangent(rule):
    made = sdfgad.custom_jvp(lambda x, n: x * n)
    made.defjvp(rule)
    return lambda x: np.sum(made(x, 2))


def updating(x, n):
    x *= 2.0
    return x, None


@pytest.mark.parametrize("f, message", [
    (with_rule(lambda x, n: x * n, lambda r, g: (g, None)), r"return a pair \(value, residuals\)"),
    (with_rule(lambda x, n: (x * n, n), lambda n, g: n * g), "returns one value for 2 arguments"),
    (with_rule(lambda x, n: (x * n, n), lambda n, g: (n * g,)), "1 cotangents for 2 arguments"),
    (with_rule(lambda x, n: (x * n, n), lambda n, g: (np.sum(g), None)), "has the shape of its argument"),
    (with_rule(lambda x, n: (x * n, n), lambda n, g: (1j * g, None)), "dtype that casts"),
    (with_rule(lambda x, n: (x * n, n), lambda n, g: (g, g)), "which has none"),
    (with_rule(lambda x, n: (x * n, n), lambda n, g: ((g, g), None)), "built in another way"),
    (with_rule(updating, lambda n, g: (g, None)), "updates an argument in place"),
    (with_rule(lambda x, n: (x * n, x), lambda x, g: updating(x, g)), "updates "),
    (with_tangent(lambda p, t: p[0]), r"return a pair \(value, tangent\)"),
    (with_tangent(lambda p, t: (p[0] * 2, t[0][:2])), "has the shape and dtype of the value"),
    (with_tangent(lambda p, t: (p[0] * 2, (t[0],))), "in another way than its value"),
    (lambda x: np.sum(unset(x)), "which has no rule yet"),
])
def test_rules_that_do_not_fit(f, message):
    with pytest.raises(UnsupportedError, match=message) as refused:
        sdfgad.grad(f)(X)
    assert refused.value.code == "SG135" and refused.value.file == __file__


unset = sdfgad.custom_vjp(lambda x: x)


def test_a_rule_does_not_know_which_numbers_are_constant():
    """The cotangent of a float that is a constant at one call and an argument at another."""
    scaled = sdfgad.custom_vjp(lambda x, k: k * np.sin(x))
    scaled.defvjp(lambda x, k: (k * np.sin(x), (x, k)), lambda r, g: (g * r[1] * np.cos(r[0]), g @ np.sin(r[0])))
    found = sdfgad.grad(lambda x, k: np.sum(scaled(x, k) + scaled(x, 2.0)), wrt=("x", "k"))(X, 3.0)
    np.testing.assert_allclose(found.x, 5.0 * np.cos(X))
    np.testing.assert_allclose(found.k, np.sum(np.sin(X)))


def over_loop(x, n):
    s = 0.0
    for k in range(n):
        s = s + weighted(x, k)[0]
    return s


def test_a_backward_function_that_looks_at_the_loop_around_it():
    for n in (5, 500):  # written out, and in a loop
        assert sdfgad.grad(over_loop)(X, n)[0] == n * (n - 1) / 2


def with_both(python):
    """A function with a rule for each mode, of which none is its derivative."""
    own = sdfgad.custom_vjp(lambda x, s: (x * s * s, x[0]), python=python)
    own.defvjp(lambda x, s: ((x * s * s, x[0]), s), lambda s, g: (5.0 * s**2 * g[0], None))
    own.defjvp(lambda p, t: ((p[0] * p[1] ** 2, p[0][0]), (7.0 * t[0] * p[1] ** 2 + p[0] * t[1], 3.0 * t[0][0])))
    return own


@pytest.mark.parametrize("python", [False, True])
def test_a_rule_for_each_mode(python):
    own = with_both(python)

    def twice(x, s):
        for _ in range(2):
            a, b = own(np.sin(x), s)
            x = a + b
        return np.sum(x)

    def pushed(x, s, dx, ds):
        for _ in range(2):
            y, dy = np.sin(x), np.cos(x) * dx
            x, dx = y * s * s + y[0], 7.0 * dy * s * s + y * ds + 3.0 * dy[0]
        return np.sum(x), np.sum(dx)

    found = sdfgad.jvp(twice, (X, 1.5), (W[0, 0] * X, 0.7))
    np.testing.assert_allclose(found, pushed(X, 1.5, W[0, 0] * X, 0.7), rtol=1e-13)
    inner = np.sin(X) * 1.5**2 + np.sin(X[0])
    expected = (5.0 * 1.5**2) ** 2 * np.cos(inner) * np.cos(X)
    np.testing.assert_allclose(sdfgad.grad(twice, wrt="x")(X, 1.5), expected, rtol=1e-13)


def test_a_tangent_that_does_not_fit_is_refused():
    own = with_both(False)
    own.defjvp(lambda p, t: (p[0], t[0]))
    with pytest.raises(UnsupportedError, match="built in another way"):
        sdfgad.jvp(lambda x: np.sum(own(x, 2.0)[0]), (X,), (X,))


weighted = sdfgad.custom_vjp(lambda x, k: x * k)
weighted.defvjp(lambda x, k: (x * k, k), lambda k, g: (g * k, None))


def forwards(x):
    return np.sum(tripled(x))


def test_what_a_rule_cannot_do_is_refused_at_its_line():
    with pytest.raises(UnsupportedError, match="forward mode through 'tripled'") as refused:
        sdfgad.jvp(forwards, (X,), (X,))
    assert refused.value.line == forwards.__code__.co_firstlineno + 1
    with pytest.raises(UsageError, match="not a function"):
        sdfgad.custom_vjp(3)
    with pytest.raises(UsageError, match="not a function"):
        sdfgad.custom_jvp(None)


def test_second_derivatives_take_the_rule_for_the_value_too():
    @sdfgad.custom_jvp
    def same(x):
        return x * 1.0

    same.defjvp(lambda p, t: (p[0] * 1.0, 5.0 * t[0]))
    np.testing.assert_allclose(sdfgad.hessian(lambda x: np.sum(same(x) ** 2))(X), 50.0 * np.eye(4), rtol=1e-14)


def test_what_is_pending_at_a_call_belongs_to_the_program():
    @sdfgad.custom_vjp
    def half(x):
        return 0.5 * x

    half.defvjp(lambda x: (0.5 * x, None), lambda _, g: (3.0 * g,))

    def f(x):
        return np.sum(0.3 * x + half(x))

    np.testing.assert_allclose(sdfgad.grad(f)(X), np.full(4, 3.3), rtol=1e-14)


def test_a_jvp_rule_takes_numbers_that_are_written_down():
    """They have no tangent, and the rule would find None."""
    def scaled(x):
        n = 0
        while softplus(1.1) > 1.0 and n < 2:
            x, n = x * softplus(0.5), n + 1
        return np.sum(x)

    np.testing.assert_allclose(sdfgad.grad(scaled)(X), np.full(4, plain_softplus(0.5) ** 2), rtol=1e-14)
