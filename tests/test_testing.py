"""The checker of gradients: it passes what is right, names kinks, and catches a rule broken by a thousandth."""
from __future__ import annotations

import json

import numpy as np
import pytest

import sdfgad
from sdfgad import testing
from sdfgad.errors import GradientMismatchError, UsageError
from sdfgad.rules import registry
from sdfgad.testing import check_grads
from tests.support.interpreted import interpreted

X = np.array([0.3, 0.7, 1.1, 0.4])
A = np.array([[0.4, -0.3], [0.1, 0.8], [0.7, 0.2]])


def wave(x):
    x = x.copy()
    for _ in range(3):
        x[1:-1] = np.tanh(x[1:-1] + 0.1 * x[:-2] * x[2:])
    return (x * x).sum()


def test_a_right_gradient_passes():
    report = check_grads(wave, X)
    assert report.ok
    assert [a.verdict for a in report.arguments] == ["ok"]
    assert report.arguments[0].rate == pytest.approx(2.0, abs=0.1)
    assert report.mode_error < 1e-12
    assert report.value_error < 1e-14


def test_arrays_without_dimensions_may_be_written():
    def squared(z):
        z[...] = z * z
        return np.sin(z)

    assert check_grads(squared, np.array(0.7)).ok


@pytest.mark.parametrize("method", ["taylor", "differences"])
@pytest.mark.parametrize("name, wrong", [
    ("tanh", lambda y, x: 1.001 * (1 - y * y)), ("tanh", lambda y, x: (1 - y) * (1 - y)),
    ("tanh", lambda y, x: y * y - 1), ("mul", lambda y, a, b: (b, 1.001 * a))],
    ids=["a thousandth", "wrong square", "sign", "product"])
def test_a_wrong_rule_is_caught(method, name, wrong):
    with registry.override(name, wrong), pytest.raises(GradientMismatchError, match="bug") as caught:
        check_grads(wave, X, method=method)
    assert caught.value.code == "SG401"
    assert caught.value.report.arguments[0].verdict == "bug"


def test_both_modes_of_a_wrong_rule_agree_and_it_is_caught_all_the_same():
    def bend(x):
        return np.tanh(x * x).sum()

    with registry.override("tanh", lambda y, x: 1.01 * (1 - y * y)):
        report = check_grads(bend, X, raise_on_fail=False)
    assert not report.ok
    assert report.mode_error < 1e-12


def test_a_linear_function_has_no_remainder():
    def linear(x):
        return 2.0 * x.sum() - 3.0 * x[1]

    report = check_grads(linear, X)
    assert report.ok
    assert report.arguments[0].rate is None
    assert "exact" in str(report)


def test_a_kink_is_named():
    def bent(x):
        return np.abs(x).sum() + (x * x).sum()

    report = check_grads(bent, np.array([0.0, 1.0, -2.0]))
    assert report.ok
    kink = report.arguments[0]
    assert kink.verdict == "kink?"
    assert kink.left < kink.slope < kink.right


@pytest.mark.parametrize("distance", [1e-5, 1e-4, 3e-4, 2e-3])
@pytest.mark.parametrize("offset", [0.0, 1e7])
def test_a_kink_nearby_is_no_bug(distance, offset):
    def bent(x):
        return np.abs(x).sum() + (x * x).sum() + offset

    report = check_grads(bent, np.array([distance, 1.0, -2.0]), raise_on_fail=False)
    assert report.ok, str(report)


def test_a_bug_at_a_kink_is_a_bug():
    def bent(x):
        return (np.abs(x) * np.exp(x)).sum() + (x * x).sum()

    with registry.override("exp", lambda y, x: -3 * y), pytest.raises(GradientMismatchError, match="no kink explains"):
        check_grads(bent, np.array([0.0, 1.0, -2.0]))


def test_the_report_as_json_says_what_the_text_says():
    with registry.override("tanh", lambda y, x: 2 - y):
        report = check_grads(wave, X, raise_on_fail=False)
    document = json.loads(report.to_json(), parse_constant=pytest.fail)
    assert (document["schema"], document["ok"]) == ("sdfgad.check/1", False)
    assert document["arguments"][0]["verdict"] == "bug"
    assert document["verdict"] == list(report.verdict()) != []
    assert list(check_grads(wave, X).verdict()) == []


def test_outputs_that_are_no_scalar_are_weighted():
    def plain(x, a, c):
        return a @ x * c, x * np.sin(c)

    assert check_grads(plain, X[:2], A, 0.5, wrt=("x", "a", "c")).ok
    assert check_grads(plain, X[:2], A, 0.5, output=1).ok
    assert check_grads(plain, X[:2], A, 0.5, output=0, reduce="sum").ok


def test_arguments_updated_in_place():
    def update(x, y):
        for i in range(1, 4):
            y[i] = y[i - 1] * x[i] + y[i]

    report = check_grads(update, X, X[::-1].copy(), output="y")
    assert report.ok
    assert report.mode_error < 1e-12
    assert len(report.arguments) == 2


def test_complex_arguments():
    def size(z):
        return np.sum(np.abs(z * z + 0.3) ** 2)

    assert check_grads(size, X + 1j * X[::-1]).ok

    def turned(z, w):
        return z * np.conj(w)

    assert check_grads(turned, X + 1j, X - 2j).ok


def test_single_precision():
    assert check_grads(wave, X.astype(np.float32)).ok
    with registry.override("tanh", lambda y, x: 1.01 * (1 - y * y)), pytest.raises(GradientMismatchError):
        check_grads(wave, X.astype(np.float32))


def test_tuples_of_arrays():
    def net(layers, x):
        return np.tanh(layers[1] @ np.tanh(layers[0] @ x)).sum()

    assert check_grads(net, (A, A.T.copy()), X[:2], wrt=("layers", "x")).ok


def test_a_gradient_that_is_nan_is_reported():
    def root(x):
        return np.sqrt(x - x).sum()

    with pytest.raises(GradientMismatchError, match="nan") as caught:
        check_grads(root, X)
    assert caught.value.code == "SG402"


def test_inputs_are_left_alone():
    def overwrite(x):
        x *= x
        return x.sum()

    x = X.copy()
    assert check_grads(overwrite, x).ok
    np.testing.assert_array_equal(x, X)


def test_the_report_fits_a_terminal_and_a_notebook():
    report = check_grads(wave, X)
    assert all(len(line) <= 80 for line in str(report).splitlines())
    assert str(report).splitlines()[0] == "gradient of wave: ok"
    assert report._repr_html_().startswith("<pre>")


def test_a_decorated_function_is_taken_as_it_is():
    assert sdfgad.check_grads(sdfgad.grad(wave), X).ok


def test_an_unknown_method_is_refused():
    with pytest.raises(UsageError, match="methods: taylor, differences"):
        check_grads(wave, X, method="magic")


def counted(b):
    t = n = 0.0
    while t < 50.0:
        t += 0.01 * b[0]
        n += 0.01
    return n * b[1]


def test_an_iteration_stopped_by_a_tolerance_is_told_from_a_bug(monkeypatch):
    point = np.random.default_rng(3).uniform(1, 4, 3)
    for method in ("taylor", "differences"):
        report = check_grads(counted, point, method=method)
        assert report.ok and report.arguments[0].verdict == "stops" and report.arguments[0].error > 0.1
        assert "iteration stopped by a tolerance" in str(report) and "sdfgad.root, fixed_point" in str(report)
    right = testing._PointCheck.gradient
    monkeypatch.setattr(testing._PointCheck, "gradient", lambda check: (
        right(check)[0], {n: 1.01 * g for n, g in right(check)[1].items()}))
    report = check_grads(counted, point, raise_on_fail=False)
    assert not report.ok and report.arguments[0].verdict != "stops"


def test_what_a_search_comes_to_has_no_slope():
    """The gradient by a number that bisection finds is that of the bounds it starts from."""
    def found(a):
        low, high = 0.0, 4.0
        while high - low > 1e-9:
            middle = (low + high) / 2
            if middle * middle < a[0]:
                low = middle
            else:
                high = middle
        return a[0] * low

    with interpreted():
        report = check_grads(found, np.array([2.0]), raise_on_fail=False)
    assert not report.ok and report.arguments[0].verdict == "search?"
    assert "sdfgad.root" in "".join(report.verdict())
