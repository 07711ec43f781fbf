"""raise and assert: known while translating, or on data; the exception is that of the function."""
import traceback

import numpy as np
import pytest

import sdfgad
from sdfgad.frontend import parse
from sdfgad.ir.program import If, Lib, Loop
from sdfgad.ir.walk import statements
from tests.support.interpreted import interpreted
from tests.support.point_loops import run

X = np.linspace(0.5, 2.0, 6)


class Diverged(Exception):
    def __init__(self, what, step):
        super().__init__(f"{what} in step {step}")


def positive(x):
    if np.any(x < 0):
        raise ValueError("negative")
    return np.sum(np.sqrt(x))


def asserted(x):
    assert x.min() > 0, "has to be positive"
    return np.sum(np.log(x))


def otherwise(x):
    if np.sum(x) > 0:
        y = x * 2
    else:
        raise RuntimeError
    return np.sum(y * y)


def one_of_three(x):
    if x[0] > 1:
        y = x * 3
    elif x[0] > 0:
        y = x * x
    else:
        raise Diverged("x", len(x))
    return np.sum(y)


def endless(x):
    y, rounds = x.copy(), 0
    while True:
        y = y * 0.5
        rounds += 1
        if np.sum(y) < 1:
            break
        if rounds >= 100:
            raise ArithmeticError("no end")
    return np.sum(y)


def not_found(x):
    for k in range(6):
        x = x * 0.5
        if x[0] < 0.1:
            break
    else:
        raise LookupError("not found")
    return np.sum(x)


def root(v):
    if v < 0:
        raise ValueError("root")
    return np.sqrt(v)


def called(x):
    total = 0.0
    for k in range(x.shape[0]):
        total += root(x[k]) if k > 0 else 0.0
    return total


def searched(x):
    def first(limit):
        for k in range(6):
            if x[k] > limit:
                return x[k]
        raise LookupError("none")

    return first(0.7) * 2


HUGE = X * 1e60
CASES = [(positive, -X, ValueError("negative")), (asserted, -X, AssertionError("has to be positive")),
         (otherwise, -X, RuntimeError()), (one_of_three, -X, Diverged("x", 6)),
         (endless, HUGE, ArithmeticError("no end")), (not_found, HUGE, LookupError("not found")),
         (called, -X, ValueError("root")), (searched, -X, LookupError("none"))]


@pytest.mark.parametrize("fn, bad, expected", CASES, ids=lambda v: getattr(v, "__name__", ""))
def test_what_python_raises(fn, bad, expected):
    with pytest.raises(type(expected)):
        fn(bad.copy())
    for way in (sdfgad.grad(fn), sdfgad.value_and_grad(fn), lambda x: sdfgad.jvp(fn, (x,), (X,)),
                lambda x: run(parse(fn, (x,)).program, {"x": x.copy()})):
        with pytest.raises(type(expected)) as found:
            way(bad)
        assert str(found.value) == str(expected)
    sdfgad.check_grads(fn, X)


def test_the_first_one_in_program_order():
    def two(x, y):
        total = 0.0
        for k in range(6):
            if x[k] < 0:
                raise ValueError("x")
            if y[k] < 0:
                raise KeyError("y")
            total += x[k] * y[k]
        return total

    for at, expected in (((4, 2), KeyError), ((2, 4), ValueError), ((3, 3), ValueError)):
        x, y = X.copy(), X.copy()
        x[at[0]], y[at[1]] = -1, -1
        with pytest.raises(expected):
            sdfgad.grad(two, wrt="x")(x, y)


def test_every_row_of_a_large_matrix():
    """Rows that threads would share: what one of them raises leaves the call."""
    def rows(a):
        total = 0.0
        for i in range(a.shape[0]):
            row = np.exp(a[i] - np.max(a[i]))
            if np.sum(row) < 1.5:
                raise ValueError("row")
            total += np.sum(row * row)
        return total

    a = np.zeros((700, 600))
    assert np.isfinite(sdfgad.grad(rows)(a)).all()
    a[650, 3] = 1e3
    with pytest.raises(ValueError, match="row"):
        sdfgad.grad(rows)(a)


def test_text_with_values_of_the_run():
    def fails(x, n, name="it"):
        if x[n] > 0:
            raise ValueError(f"{name} at {n:03d} {name!r}: {x[n]} of {x.shape}", n, "a" "b", x[0] + 1, None)
        return np.sum(x)

    with pytest.raises(ValueError) as found:
        sdfgad.grad(fails)(X, 2)
    assert found.value.args == ("it at 002 'it': {x[n]} of (6,)", 2, "ab", "x[0] + 1", None)


class Unconverged(Exception):
    def __init__(self, text, rounds=None, residual=None):
        super().__init__(text)
        self.rounds, self.residual = rounds, residual


def test_arguments_by_name():
    def fails(x, n):
        if x[n] > 0:
            raise Unconverged("no root", rounds=n, residual=x[n])
        return np.sum(x * x)

    with interpreted(), pytest.raises(Unconverged) as found:
        sdfgad.grad(fails)(X, 2)
    assert (found.value.args, found.value.rounds, found.value.residual) == (("no root",), 2, "x[n]")
    with interpreted():
        assert np.array_equal(sdfgad.grad(fails)(-X, 2), -2 * X)


def test_known_while_translating():
    def sized(x, n):
        assert x.ndim == 1
        if x.shape[0] != n:
            raise Diverged("size", n)
        return np.sum(x * x)

    assert np.array_equal(sdfgad.grad(sized)(X, 6), 2 * X)
    with pytest.raises(Diverged, match="size in step 5"):
        sdfgad.grad(sized)(X, 5)
    with pytest.raises(AssertionError):
        sdfgad.grad(sized)(np.ones((2, 3)), 2)


def test_a_raise_is_no_exit_of_its_loop():
    """The loop around it stays one whose length is known."""
    program = parse(called, (X,)).program
    assert not any(isinstance(s, Loop) and s.until for s in statements(program.body))
    assert [s.op for s in statements(program.body) if isinstance(s, Lib)] == ["fail"]
    assert any(isinstance(s, If) for s in statements(program.body))


def test_a_trial_that_fails_leaves_none_behind():
    """Names that exchange arrays are tried in several forms of the loop."""
    def swaps(a, b):
        for _ in range(5):
            b[:] = a * 0.5
            if b[0] > 4:
                raise ValueError("large")
            a, b = b, a
        return np.sum(a)

    parsed = parse(swaps, (X.copy(), X.copy()))
    assert len(parsed.program.failures) == sum(isinstance(s, Lib) for s in statements(parsed.program.body))
    sdfgad.check_grads(swaps, X, X.copy())
    with pytest.raises(ValueError, match="large"):
        sdfgad.grad(swaps, wrt="a")(X * 100, X.copy())


def test_under_a_memory_limit():
    def steps(u):
        for _ in range(40):
            u = u + 0.1 * np.sin(u) * u
            assert np.max(u) < 50, "blown up"
        return np.sum(u)

    u = np.linspace(0.1, 0.2, 2000)
    expected = sdfgad.grad(steps)(u)
    limit = sdfgad.plan(steps, u).predicted.peak_bytes // 2
    assert np.allclose(sdfgad.grad(steps, memory_limit=limit)(u), expected, rtol=1e-12)
    with pytest.raises(AssertionError, match="blown up"):
        sdfgad.grad(steps, memory_limit=limit)(u * 500)


def test_the_argument_called_failed():
    def named(failed):
        if failed[0] < 0:
            raise ValueError("negative")
        return np.sum(failed * failed)

    assert np.array_equal(sdfgad.grad(named)(X), 2 * X)
    with pytest.raises(ValueError):
        sdfgad.grad(named)(-X)


def doubled_if_large(v):
    if v > 1.5:
        return 2.0 * v


def grown(x):
    """Comes to no end of its own, so that no run is without a value."""
    while True:
        x = x * 1.5
        if x[0] > 4:
            return x


def left_early(x):
    if x[0] > 1:
        return
    x[1:] *= 2.0


def procedure(x):
    nothing = left_early(x)
    return np.sum(x ** 2) if nothing is None else 0.0


def test_the_end_of_a_function_that_returns_values():
    """Where Python would go on with None, the call fails; where every way has a value, or none has, nothing changes."""
    def f(x):
        return np.sum(x) * doubled_if_large(x[-1])

    sdfgad.check_grads(f, X)
    for way in (sdfgad.grad(f), sdfgad.forward(f)):
        with pytest.raises(TypeError, match="None where a value is needed"):
            way(0.5 * X)
    sdfgad.check_grads(lambda x: np.sum(grown(x)), X)
    for x in (X, 3.0 * X):
        np.testing.assert_allclose(sdfgad.forward(procedure)(x), procedure(x.copy()), rtol=1e-14)


def checked(x):
    def inside(y):
        if y.shape[0] != 2:
            raise ValueError(f"shape {y.shape}")
        return y
    return np.sum(inside(x))


@pytest.mark.parametrize("fn, x, line", [
    (checked, X, "raise ValueError(f"), (positive, -X, 'raise ValueError("negative'),
    (asserted, -X, "assert x.min() > 0"), (otherwise, -X, "raise RuntimeError")])
def test_the_line_that_raises_is_told_and_nothing_of_the_library(fn, x, line):
    """Before: a traceback through the front end, which names no line of the function."""
    with pytest.raises(Exception) as caught:
        sdfgad.grad(fn)(x)
    note, = caught.value.__notes__
    assert line in note and __file__[-20:] in note and f"in {'inside' if fn is checked else fn.__name__}()" in note
    files = [frame.filename for frame in traceback.extract_tb(caught.value.__traceback__)]
    assert not any("frontend" in f or "codegen" in f for f in files if "tests" not in f)
