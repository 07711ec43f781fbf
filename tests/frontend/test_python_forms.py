"""Python around the numbers: round, names bound in expressions, match, and what is said or measured on the way."""
from __future__ import annotations

import logging
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import pytest

import sdfgad
from sdfgad.errors import UnsupportedError
from sdfgad.frontend import parse
from tests.frontend.checking import check
from tests.support.oracle import check_program

X = np.array([0.3, -1.2, 2.7, 0.45])
log = logging.getLogger(__name__)


class Point(NamedTuple):
    x: Any
    y: Any


@dataclass
class Disc:
    radius: Any
    at: Any = 0.0


def rounded(x, a, n):
    k = round(a * 10)
    return [round(a), k, x[k % 4], round(a, 1), round(a, 2), round(-a, 0), round(a * 1000, -2), round(n), round(n, 2),
            round(x[0], 1), round(x[1]), round(2.5), round(2.675, 2), round(a, None), round(True)]


@pytest.mark.parametrize("a", [0.15, 2.5, 0.25, -1.005, 0.285, 1e17, 12345.675])
def test_round(a: float) -> None:
    check(rounded, X, a, 3)


def in_steps(x, a):
    return np.sum(x * round(a, 1)) + a * round(a) + a


def test_the_derivative_of_round_is_zero() -> None:
    found = sdfgad.grad(in_steps, wrt=("x", "a"))(X, 1.26)
    np.testing.assert_allclose(found.x, np.full(4, 1.3))
    assert found.a == 2.0
    for a in (0.15, 0.25, 2.675, -0.04, 1.005, 4503599627.370496, 1e22):
        assert sdfgad.forward(decimals)(a) == decimals(a)


def decimals(a):
    return round(a, 1), round(a, 2), round(a, 5), round(a, -1)


def test_what_python_does_not_round() -> None:
    for fn in (lambda x: round(x), lambda x: round(x[:2], 1)):
        with pytest.raises(UnsupportedError, match="round of"):
            parse(fn, (X,))


def walrus(x, n):
    total = (first := x[0] * 2) + first
    if (y := np.sum(x * x)) > 1.0:
        total += y
    k, old = 0, 0.0
    while (size := np.sum(x) + k) < n and k < 20:
        old = size
        k += 1
        if k == 2:
            continue
        total += size * x[1]
    return total * size + old + (z := 3.0) * z


def kinds(x, shape, flag):
    total = 0.0
    for one in (shape, Point(x[0], 2.0), [x[1], x[2], 3.0], {"a": x[3], "b": 2}, "text", None, 4, (1, (2.0, x))):
        match one:
            case Disc(radius=r, at=0.0) if r > 100:
                total += 1000.0
            case Disc(r, at):
                total += np.sum(x) * r + at
            case Point(x=a, y=2.0):
                total += a
            case [a, *rest] if len(rest) == 2:
                total += a * rest[0]
            case {"a": a, **others}:
                total += a * others["b"]
            case "text" | "other":
                total += 1.0
            case None:
                total += 2.0
            case int(k):
                total += k
            case (1, (float() as f, np.ndarray() as y)):
                total += f * np.sum(y)
            case _:
                total += 50.0
    match flag:
        case 0:
            return total
        case 1 | 2 as k:
            total = total * k
        case _ if flag > 5:
            total = -total
    return total * 2


def values(x, places):
    total = 0.0
    for k in range(4):
        match places[k]:
            case 0:
                total += x[k]
            case 1 | 2:
                total += x[k] ** 2
                if x[k] < 0:
                    continue
            case j if j > 5:
                total += x[k] * j
                break
            case _:
                total -= x[k]
        total *= 1.5
    return total


def test_walrus() -> None:
    parsed = check(walrus, X, 7.5)
    check_program(parsed.program, parsed.collect((X, 7.5)), ["x"], rtol=1e-6)


@pytest.mark.parametrize("flag", [0, 1, 2, 4, 7])
def test_match_of_kinds(flag: int) -> None:
    parsed = check(kinds, X, Disc(2.0, 0.5), flag)
    if flag == 2:
        check_program(parsed.program, parsed.collect((X, Disc(2.0, 0.5), flag)), ["x"], rtol=1e-6)


@pytest.mark.parametrize("places", [[0, 1, 2, 3], [2, 2, 7, 0], [9, 1, 1, 1]])
def test_match_of_values(places: list[int]) -> None:
    check(values, X, np.array(places))


def named_by_chance(x):
    return x[0] > 0 and (y := x[1]) > 0 and y > 1


def named_on_one_side(x):
    return (y := x[1]) * y if x[0] > 0 else 0.0


@pytest.mark.parametrize("fn", [named_by_chance, named_on_one_side])
def test_names_that_only_some_runs_bind(fn: Callable[..., Any]) -> None:
    with pytest.raises(UnsupportedError, match="bound in"):
        parse(fn, (X,))


def talks(x, n):
    began = time.perf_counter()
    spent = 0.0
    seen = [1.0, 2.0]
    for k in range(n):
        print("step", k, f"{np.sum(x):.3f}", f"{time.time() - began:.1f} s", x.tolist(), sep=" ")
        x = x * 0.9
        if x[0] > 0:
            log.info("sum %s", np.sum(x))
            spent += time.perf_counter() - began
    print(seen.pop(), "is gone")
    logging.warning("took {:.2f}".format(round(spent, 2)))  # noqa: UP032
    warnings.warn("nothing")
    return np.sum(x**2) * len(seen)


def test_what_is_said_is_left_out_with_one_warning(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.warns(UserWarning, match=r"talks: .*print \(line \d+\), info \(line \d+\), print .*warn") as caught:
        parsed = parse(talks, (X, 70))
    assert len(caught) == 1 and caught[0].filename == __file__
    assert capsys.readouterr().out == ""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        check(talks, X, 70)
    assert not parsed.mutated


def timed(x):
    return np.sum(x) * time.time()


def decided(x):
    if time.perf_counter() > 3:
        return np.sum(x)
    return np.sum(x) * 2


def stored(x):
    x[0] = time.process_time()
    return x


def given(x):
    return np.sum(x), time.time()


@pytest.mark.parametrize("fn", [timed, decided, stored, given])
def test_no_reading_of_a_clock_gets_into_a_result(fn: Callable[..., Any]) -> None:
    with pytest.raises(UnsupportedError, match="clock|not made of arrays"):
        parse(fn, (X,))
