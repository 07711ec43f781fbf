"""Texts with values of the run, which are for messages alone; names, classes and masks of values."""
# ruff: noqa: UP031, UP032
import numpy as np
import pytest

import sdfgad
from sdfgad.errors import UnsupportedError
from sdfgad.frontend import parse
from tests.frontend.checking import check
from tests.support.point_loops import run

X = np.array([0.4, -1.2, 0.7])


class Layer:
    kind = "dense"

    def name(self):
        return f"{self.__class__.__name__}:{Layer.__name__.lower()}"


def messages(x):
    told = "x: " + str(x[0]) + f", {x[1]:.3f} of {len(x):03d}"
    other = "{} and {:.2e}".format("x", np.sum(x)) + "%s, %d" % ("a", x[2])
    assert np.sum(x) < 10, told
    if x[0] > 100:
        raise ValueError(other)
    return np.sum(x)


def too_large(x):
    told = "x: " + str(x[0]) + f", {x[1]:.3f} of {len(x):03d}" + " {:.1f}".format(x[2]) + f"; {x[0]!r}"
    assert x[0] < 0, told
    return x[0]


def asked(x, a):
    total = 1.0 if bool(x[0] > 0) is True else 2.0
    total += 4.0 if bool(x[0] > 9) is not False else 8.0
    total += 16.0 if (x[0] > 0) is True else 32.0  # of NumPy, and neither of Python's
    total += 64.0 * len(Layer().name()) + len(f"{2.5:6.2f}") + len(str(x.dtype)) + len(np.sin.__name__)
    known = [np.isscalar(v) for v in (x, x[0], a, 3, "a", None, np.sum(x))]
    if np.ma.is_masked(x) or np.ma.isMaskedArray(x) or np.ma.getmask(x) is not np.ma.nomask:
        total += 1000.0
    return total + sum(2**k for k, v in enumerate(known) if v) * x[1]


def complex_domain(z, w):
    before = np.seterr(invalid="ignore", over="ignore")
    root = np.emath.sqrt(w * 1j)
    np.seterr(**before)
    return [root, np.emath.sqrt(z + 0j), np.emath.log(z * 1j), np.emath.arcsin(z + 2j), np.emath.power(w + 0j, 0.3)]


def test_same_as_numpy():
    check(messages, X)
    check(asked, X, 0.5)
    check(complex_domain, X, 2.0)


def test_values_stand_in_messages_as_in_the_source():
    with pytest.raises(AssertionError, match=r"(?m)^x: \{x\[0\]\}, \{x\[1\]\} of 003 \{\.\.\.\}; \{x\[0\]\}$"):
        sdfgad.grad(too_large)(X)


@pytest.mark.parametrize("program, what", [
    (lambda x: np.sum(x) * len(str(x[0])), "text made from values"),
    (lambda x: x[0] if f"{x[0]}" == "0.4" else x[1], "text made from values"),
    (lambda x: {"a": x[0]}["%s" % x[1]], "no constant text"),
    (lambda x: f"{x[0]}", "text made from values"),
    (lambda x: np.sum(np.emath.sqrt(x)), "whether the result is complex"),
    (lambda x: [np.sum(x), np.seterr(all="raise")][0], "that raise")],
    ids=["length", "compared", "key", "result", "real", "raising"])
def test_refused(program, what):
    with pytest.raises(UnsupportedError, match=what):
        parse(program, (X,), {})


CONNECTED = {
    "all_or": lambda x: np.all((np.abs(x) < 1) | (x == x[::-1])), "all_and": lambda x: np.all((x < 9) & np.isfinite(x)),
    "any_and": lambda x: np.any((x > 0.6) & (x[::-1] < 1)), "any_xor": lambda x: np.any((x > 9) ^ (x[::-1] > 9)),
    "close": lambda x: np.allclose(x, x + 1e-12)}


def connected(x):
    total = np.sum(x * x)
    for k, holds in enumerate(CONNECTED.values()):
        if holds(x):
            total = total + 10.0**k * np.sum(x)
    assert np.all((x < 9) & (x > -9)), "far away"
    return total


def test_truths_that_connectives_make_are_joined():
    """C++ makes an int of `bool & bool`: what is true of all elements was no program it took."""
    value, gradient = sdfgad.value_and_grad(connected)(X)
    np.testing.assert_allclose(value, connected(X), rtol=1e-14)
    slope = sum(10.0**k for k, holds in enumerate(CONNECTED.values()) if holds(X))
    np.testing.assert_allclose(gradient, 2 * X + slope, rtol=1e-14)
    parsed = parse(connected, (X,), {})
    assert run(parsed.program, {"x": X.copy()}) == pytest.approx(value)
    with pytest.raises(AssertionError, match="far away"):
        sdfgad.value_and_grad(connected)(X * 10)


def looked_for(x):
    s = 0.0
    for i in range(3):
        if str(i) not in {"2", "4"} and f"k{i}" in ("k1", "k2"):
            s += x[i] * len(str(i * 7))
        if "2" == str(i) or f"a{i}".endswith("0"):
            s += x[i] ** 2
        match str(i):
            case "1":
                s -= x[i]
    return s


def test_texts_that_are_looked_at_are_those_of_python() -> None:
    check(looked_for, X)
