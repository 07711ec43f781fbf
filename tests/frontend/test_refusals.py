"""Python that is not taken is refused with the user's file, line and a message that says what it is."""
from __future__ import annotations

import os
import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from sdfgad.errors import UnsupportedError, UsageError
from sdfgad.frontend import parse
from tests.frontend.checking import check
from tests.frontend.refusing import Refusal, X, check_refusal, collector

CASES: list[Refusal] = []
refused = collector(CASES)


@refused(3, "an index that may leave its array in a try statement that catches its IndexError", X, 3)
def try_except(x, k):
    for i in range(100):
        try:
            x = x + x[i]
        except IndexError:
            x = x * 2.0
    return x


@refused(1, "a call that fails: invalid literal for int", X)
def text_that_is_no_number(x):
    return x * int("two")


@refused(1, "a generator", X)
def generator(x):
    yield x


@refused(2, "an assignment to the global name", X)
def global_statement(x):
    global X
    X = x


@refused(2, "Nonlocal", X)
def nonlocal_statement(x):
    def inner():
        nonlocal x
        if (x := x + 1)[0] > 0:
            pass

    inner()
    return x


@refused(2, "in the body of a class", X)
def local_class(x):
    class Thing:
        first = x[0]

    return Thing.first


@refused(1, "a set of values only known at run time", X)
def a_set(x):
    return x[len({x[0], x[1]})]


@refused(1, "2 values for 3 names and more", X)
def starred_target(x):
    a, _b, _c, *_d = (x[0], x[1])
    return a


@refused(2, "'y', which has no value yet", X)
def unbound(x):
    if x is None:
        y = 1.0
    return x * y


CASES[-1] = (CASES[-1][0], (X,), 3, "'y', which has no value yet")


@refused(4, "'y', which is 2 on some paths, and on others an array of shape (6,) and dtype float64", X)
def number_or_array(x):
    y = 2
    if x[0] > 0:
        y = y * x
    return np.sum(y)


@refused(1, "'missing', which is not defined", X)
def undefined_name(x):
    return x + missing  # noqa: F821


@refused(1, "places where a mask holds, whose number depends on the data, as a return value", X)
def where_one(x):
    return np.where(x > 0)


@refused(1, "data selected by a mask, whose length depends on the data, as a return value", X)
def mask_returned(x):
    return x[x > 0]


@refused(3, "different masks", X)
def masks_mixed(x):
    a = x > 1
    b = x > 2
    return (x[a] + x[b]).sum()


@refused(1, "selected by a mask combined with an array", X)
def mask_with_array(x):
    return (x[x > 1] + x).sum()


@refused(2, "one mask stored through another mask", X)
def masks_stored(x):
    m = x > 1
    x[m] = x[x > 2]


@refused(4, "one mask stored through another mask", X)
def mask_changed_before_the_store(x):
    m = x > 1
    chosen = x[m] * 2
    m[:] = x <= 1
    x[m] = chosen


@refused(5, "different masks", X)
def mask_changed_before_the_product(x):
    m = x > 1
    chosen = x[m]
    m ^= True
    others = x[m]
    return np.sum(chosen * others)


@refused(4, "different masks", X)
def formula_with_other_values_before_the_product(x):
    y = x * 1.0
    chosen = x[x > 1]
    x[0] = 5.0
    y[x > 1] *= chosen
    return y


@refused(4, "one mask stored through another mask", X)
def mask_changed_by_the_iteration_before(x):
    m = x > 1
    chosen = x[m] * 2
    for k in range(x.size):
        x[m] = chosen
        m[k] = not m[k]


@refused(1, "stored through a mask", X)
def array_through_mask(x):
    x[x > 1] = x[:4] * 2


@pytest.mark.parametrize("fn, arguments, line, what", CASES, ids=[c[0].__name__ for c in CASES])
def test_refusal(fn: Callable[..., Any], arguments: tuple[Any, ...], line: int, what: str) -> None:
    check_refusal(fn, arguments, line, what)


def test_no_source() -> None:
    fn = eval("lambda x: x + 1")
    with pytest.raises(UnsupportedError, match="cannot be read"):
        parse(fn, (X,))
    with pytest.raises(UnsupportedError, match="not a Python function"):
        parse(np.sin, (X,))


def test_arguments_that_do_not_fit() -> None:
    with pytest.raises(UsageError, match="missing a required argument"):
        parse(undefined_name, ())


def test_argument_types() -> None:
    with pytest.raises(UnsupportedError, match="argument 'x' of type set"):
        parse(undefined_name, ({1, 2},))


@pytest.mark.parametrize(("program", "advice"), [
    (lambda x: x * np.random.rand(), "draw the numbers before the call"),
    (lambda x: np.nditer(x), "loop over x.flat"),
    (lambda x: set().add(x[0]), r"seen\[k\] = True"),
    (lambda x: x[0] if x is X else x[1], r"np\.array_equal"),
    (lambda x: x[0] if 3.0 in x else x[1], r"np\.any\(values == x\)"),
], ids=lambda v: v if isinstance(v, str) else "")
def test_the_help_says_what_to_do_instead(program: Callable[..., Any], advice: str) -> None:
    with pytest.raises(UnsupportedError) as caught:
        parse(program, (X,))
    assert re.search(advice, caught.value.help), caught.value.help


@pytest.mark.parametrize("program", [
    lambda x, n: np.sum(np.linspace(0, x[0], int(n))), lambda x, n: np.zeros(int(n * 2)) + x[0],
    lambda x, n: sum(x[k] for k in range(n)), lambda x, n: x[n],
    lambda x, n: np.sum(x[:n]), lambda x, n: ([x] * 65)[int(n)],
    lambda x, n: np.reshape(x, (int(n), -1)), lambda x, n: x[::int(n)],
    lambda x, n: np.sum(x, axis=int(n)), lambda x, n: np.roll(x, n),
    lambda x, n: x[0] * np.arange(0, n), lambda x, n: [x[0]] * int(n),
    lambda x, n: {0: x, 1: x * 2}[int(n)]])
def test_the_help_names_floats_that_should_be_integers(program: Callable[..., Any]) -> None:
    with pytest.raises(UnsupportedError) as caught:
        parse(program, (X, 3.0))
    assert caught.value.help.startswith("pass 'n' as an integer, n=10 and not n=10.0"), caught.value.help


def test_what_the_help_for_growing_lists_says_works() -> None:
    def advised(x):
        out, n = np.zeros(6), 0
        for i in range(6):
            if x[i] > 2.5:
                out[n] = x[i] ** 2
                n += 1
        return np.sum(out * np.arange(6))

    check(advised, X)


def test_a_list_extends_a_list() -> None:
    def extended(x):
        items = [x[0]]
        items.extend([x[1], x[2]])
        items.extend((x[3],))
        return sum(items) * len(items)

    check(extended, X)


def drawn_by(library: str) -> Callable[..., Any]:
    """A function of a library for figures."""
    def plot(*args):
        return args

    plot.__module__ = library
    return plot


PLOT, TABLE = drawn_by("matplotlib.pyplot"), {"w": 2.0}


@pytest.mark.parametrize("program, told", [
    (lambda x: np.summ(x), "'summ' of 'numpy', which is not there(.|\n)*did you mean sum?"),
    (lambda x: x.summ(), r"'summ' of an array of shape \(6,\) .*which is not there(.|\n)*did you mean sum?"),
    (lambda x: PLOT(x), "a call of 'plot'(.|\n)*draw after the call"),
    (lambda x: x + x[1:], "that do not agree(.|\n)*NumPy raises a ValueError here as well"),
    (lambda x: {"w": x}["W"], "the key 'W', which is not in the dictionary(.|\n)*its keys are 'w'"),
    (lambda x: x * TABLE["W"], "the key 'W', which is not in the dictionary(.|\n)*its keys are 'w'"),
    (lambda x: x * len(os.environ.get("HOME", "")), "is part of Python itself(.|\n)*call it before"),
    (lambda x: np.savetxt("x.txt", x), "a call of numpy.*savetxt(.|\n)*write the file after the call")])
def test_slips_are_named(program, told):
    with pytest.raises(UnsupportedError) as caught:
        parse(program, (X,))
    said = f"{caught.value.what}\n{caught.value.help}"  # not the line itself, which has the words of this table
    assert re.search(told, said), said


def test_a_name_that_is_not_defined():
    def slip(x, steps):
        return np.sum(x) * step  # noqa: F821

    with pytest.raises(UnsupportedError, match="cannot be compiled(.|\n)*did you mean steps?"):
        parse(slip, (X, 3))

    def tried(x):
        try:
            return x * not_there_at_all  # noqa: F821
        except NameError:
            return 2 * x

    check(tried, X)
