"""Functions that stay Python: called back with copies, where it is asked for, and nowhere else."""
from __future__ import annotations

import numpy as np
import pytest

import sdfgad
from sdfgad.errors import UnsupportedError

X, W = np.array([0.3, -0.8, 1.1, 0.6]), np.array([0.5, -0.2, 0.1, 0.9])
CALLS: list[str] = []


def descending(x, factor):
    """Nothing that sdfgad would compile."""
    CALLS.append("value")
    assert isinstance(factor, float)
    return {"y": np.array(sorted(x.tolist(), reverse=True)) * factor, "note": None}


def forward(x, factor):
    CALLS.append("forward")
    order = np.array(sorted(range(x.size), key=lambda k: -x[k]))
    return {"y": x[order] * factor, "note": None}, (order, factor)


def backward(residuals, g):
    CALLS.append("backward")
    order, factor = residuals
    assert g["note"] is None
    found = np.empty(order.size)
    found[order] = g["y"] * factor
    g["y"][:] = np.nan  # a copy
    return found, None


ranked = sdfgad.custom_vjp(descending, python=True)
ranked.defvjp(forward, backward)


def energy(x, w, f):
    s = 0.0
    for _ in range(3):
        x = np.sin(f(x * x, 2.0)["y"]) * w
        if x[0] > -5.0:
            s = s + np.sum(x * x)
    return s


def plain(x, factor):
    return {"y": np.sort(x)[::-1] * factor}


def test_a_reverse_rule_is_called_once_each_way():
    gradient = sdfgad.grad(energy)
    found, expected = gradient(X, W, ranked), sdfgad.grad(energy)(X, W, plain)
    np.testing.assert_allclose(found.x, expected.x, rtol=1e-13)
    np.testing.assert_allclose(found.w, expected.w, rtol=1e-13)
    CALLS.clear()
    gradient(X, W, ranked)
    assert CALLS == ["forward"] * 3 + ["backward"] * 3
    batch = sdfgad.vmap(sdfgad.grad(energy, wrt="x"), in_axes=(0, None, None))(np.stack([X[::-1], X]), W, ranked)
    np.testing.assert_allclose(batch[1], expected.x, rtol=1e-13)


def test_the_value_alone():
    CALLS.clear()
    assert sdfgad.forward(energy)(X, W, ranked) == pytest.approx(energy(X, W, plain), rel=1e-14)
    assert set(CALLS) == {"value"}


def test_what_rules_raise_is_raised_with_its_own_trace():
    def broken(x, g):
        if x[0] > 0.0:
            raise KeyError("of the user")
        return (g,)

    fragile = sdfgad.custom_vjp(lambda x: x, python=True, result=np.zeros_like)
    fragile.defvjp(lambda x: (x, x), broken, residuals=np.zeros_like)
    gradient = sdfgad.grad(lambda x: np.sum(fragile(x)))
    with pytest.raises(KeyError, match="of the user") as raised:
        gradient(X + 4.0)
    assert raised.traceback[-1].name == "broken"
    np.testing.assert_array_equal(gradient(X - 4.0), np.ones(4))


def test_results_of_another_shape_than_in_the_trial():
    chosen = sdfgad.custom_vjp(lambda x: x[x > 0.5], python=True)
    chosen.defvjp(lambda x: (x[x > 0.5], None), lambda r, g: (None,))
    with pytest.raises(TypeError, match=r"float64\[2\].*float64\[4\].*trial"):
        sdfgad.grad(lambda x: np.sum(chosen(x)) + np.sum(x))(X)


summed = sdfgad.custom_jvp(lambda x, y: np.cumsum(x) * y, python=True)


@summed.defjvp
def summed_rule(primals, tangents):
    (x, y), (dx, dy) = primals, tangents
    return np.cumsum(x) * y, np.cumsum(dx) * y + np.cumsum(x) * dy


def test_a_forward_rule():
    def f(x, y):
        return summed(x * 2.0, y) ** 2

    value, tangent = sdfgad.jvp(f, (X, 0.4), (W, 1.5))
    c, d = np.cumsum(2.0 * X), np.cumsum(2.0 * W)
    np.testing.assert_allclose(value, (0.4 * c) ** 2, rtol=1e-14)
    np.testing.assert_allclose(tangent, 2.0 * 0.4 * c * (0.4 * d + 1.5 * c), rtol=1e-13)


def test_several_seeds_call_a_rule_for_each():
    pullback, seeds = sdfgad.vjp(energy, X, W, ranked)[1], np.array([1.0, -2.0])
    found, each = pullback(seeds, batched=True), [pullback(s) for s in seeds]
    np.testing.assert_array_equal(found.x, [one.x for one in each])
    np.testing.assert_array_equal(found.w, [one.w for one in each])


def of_the_sum(x):
    return np.sum(summed(x, 1.0))


@pytest.mark.parametrize("ask, message", [
    (lambda: sdfgad.grad(of_the_sum)(X), "reverse mode through"),
    (lambda: sdfgad.jvp(energy, (X, W, ranked), (X, None, None)), "forward mode through 'descending'"),
    (lambda: sdfgad.hvp(energy, (X, W, ranked), {"x": X}), "a rule that stays Python"),
    (lambda: sdfgad.jvp(of_the_sum, (X,), (np.ones((2, 4)),), batched=True), "several directions at once"),
    (lambda: sdfgad.to_sdfg(energy, X, W, ranked), "stays Python on the target"),
    (lambda: sdfgad.export(of_ranks, X, folder="unused"), "in an exported library"),
    (lambda: sdfgad.grad(of_objects)(X), "returns a set"),
])
def test_what_is_refused(ask, message):
    with pytest.raises(UnsupportedError, match=message) as refused:
        ask()
    assert refused.value.file == __file__


def of_ranks(x):
    return np.sum(ranked(x, 1.0)["y"] * x)


opaque = sdfgad.custom_vjp(lambda x: {1.0}, python=True)
opaque.defvjp(lambda x: ({1.0}, None), lambda r, g: (None,))


def of_objects(x):
    return np.sum(opaque(x)) + np.sum(x)
