"""Integers that grow: Python's have no largest one, NumPy's wrap around."""
from __future__ import annotations

import ast
import math

import numpy as np
import pytest

from sdfgad.errors import UnsupportedError
from sdfgad.frontend import parse
from sdfgad.frontend.syntax.growth import growing, only_floats
from tests.frontend.checking import check, check_both_modes
from tests.frontend.programs import V6, Case, collector
from tests.support.point_loops import run

CASES: list[Case] = []
case = collector(CASES)
BEYOND: list[Case] = []
beyond = collector(BEYOND)


@case(V6, 40)
def series(x, n):
    """21! has more than 64 bits."""
    s, fact, power = 0.0, 1, 1
    for k in range(1, n):
        fact = fact * k
        power *= x[0]
        s += power / fact + x[1] ** k / (2 * fact)
    return s / fact


@case(V6.astype(np.float32), 30)
def single_series(x, n):
    fact, s = 1, x[0] * 0
    for k in range(1, n):
        fact *= k
        s += x[0] ** k / fact
    return s


@case(V6, 100)
def sums_of_the_two_before(x, n):
    a, b, s = 0, 1, 0.0
    for _ in range(n):
        a, b = b, a + b
        s = s + x[0] * a / (a + b)
    return s


@case(V6, 10 ** 25)
def up_to_a_large_one(x, end):
    n, s = 1, 0.0
    while n < end:
        n *= 7
        s += x[0] / n
    return s


@case(V6, 3)
def known_ones_beside_floats(x, n):
    return x[0] * n ** 50 + np.sum(x / 2 ** 70), x * 10 ** 30 > 10 ** 29, x[1] - 3 ** 60, x[n] / 2 ** 64


@case(V6, 12345)
def remainders(x, seed):
    s, total = seed, 0.0
    for _ in range(50):
        s = (1103515245 * s + 12345) % 2 ** 31
        total += x[s % 6] * (s / 2 ** 31)
    return total


@case(V6, 20)
def binomials(x, n):
    c, s = 1, 0.0
    for k in range(1, n):
        c = c * (n - k) // k
        s += c * x[c % 6] ** k
    return s


@case(V6, np.array([3, 17], np.int32))
@case(V6, np.array([3, 17]))
@case(V6, np.array([3, 17], np.uint32))
@case(V6, np.array([3, 17], np.int16))
def numbers_of_numpy(x, k):
    """They wrap around."""
    f, s = k[0], 0.0
    for _ in range(30):
        f = f * k[1]
        s += x[0] * f + x[f % 6] + f / 3
    return s


@case(V6, np.array([250, 7, 1], np.uint8))
@case(V6, np.array([100, 120, 1], np.int8))
def small_places(x, k):
    y = np.concatenate([x] * 50)
    return y[k[1] + 100] + y[k[0] + 5] + y[k[1] - 3] + y[k[:2] + 100].sum()


@case(V6, np.array([2 ** 30, 3, 70000], np.int32))
def products_of_32_bits(x, k):
    return x[k[0] * k[1] % 6] + x[(k[2] * k[2]) % 6] + x[k[2] * 100000 % 6] * (k[0] * k[1])


@case(V6, np.array([100000, 2 ** 31 - 3], np.int32))
def remainders_of_32_bits(x, k):
    """Of what has wrapped around, also where a place would not."""
    return x[k[0] * 30000 % 6] + x[(k[1] + k[1]) % 6] + x[(k[1] + 5) // 1000000000] * (k[0] * 30000)


@case(V6, np.array([2 ** 63 + 1, 2 ** 63 - 1], np.uint64), np.array([2 ** 63 - 1, -2 ** 63]))
def comparisons_with_large_ones(x, u, k):
    """Exact: a float would be rounded."""
    unsigned = u[0] > 2 ** 63, u[1] < 2 ** 63, u[0] < 2 ** 70, u > -1
    return unsigned, k[0] < 2 ** 63, k[1] >= -2 ** 63, k > -2 ** 70, x * (k[0] < 2 ** 64)


@pytest.mark.parametrize("index", range(len(CASES)), ids=lambda k: CASES[k][0].__name__)
def test_growing_integers_are_what_they_are_in_python(index):
    fn, arguments = CASES[index]
    with np.errstate(all="ignore"):
        check(fn, *arguments)


def test_series_have_their_derivatives():
    check_both_modes(series, (V6, 30))


@beyond(V6, 45)
def large_places(x, n):
    p, s = 1, 0.0
    for _ in range(n):
        p = 3 * p + 1
        s += x[p % 6]
    return s


@beyond(V6, 70)
def shifts(x, n):
    s = 0.0
    for k in range(n):
        s += x[(1 << k) % 6]
    return s


@beyond(V6, 45)
def powers(x, n):
    s = 0.0
    for k in range(n):
        s += x[3 ** k % 6]
    return s


@beyond(np.array([1e6, 2.0]), 4)
def powers_of_data(x, n):
    m = int(x[0])
    return x[1] * (m * m * m * m)


@beyond(V6, 100)
def items(x, n):
    f = [1]
    for k in range(1, n):
        f.append(f[-1] * k)
    return x[f[-1] % 6]


@beyond(V6, 100)
def sums_of_items(x, n):
    f = [1, 1]
    for _ in range(n):
        f.append(f[-1] + f[-2])
    return x[f[-1] % 6]


@beyond(V6, 45)
def helpers(x, n):
    def more(p, k):
        return p * k + 1

    p, s = 1, 0.0
    for _ in range(n):
        p = more(p, 3) if x[0] < 10 else 1
        s += x[p % 6]
    return s


class Counter:
    def __init__(self):
        self.n = 1

    def step(self, x):
        self.n *= 3
        return x[(self.n + 1) % 5]


@beyond(V6, 80)
def fields(x, n):
    c, s = Counter(), 0.0
    for _ in range(n):
        s += c.step(x)
    return s


@beyond(V6, 80)
def names_of_functions_around(x, n):
    p, s = 1, 0.0

    def step():
        nonlocal p
        p = p * 3

    for _ in range(n):
        step()
        s += x[(p + 1) % 5]
    return s


@beyond(V6, 80)
def items_of_dicts(x, n):
    d, s = {"p": 1}, 0.0
    for _ in range(n):
        d["p"] *= 3
        s += x[(d["p"] + 1) % 5]
    return s


@beyond(V6, 100)
def items_of_tuples(x, n):
    d, s = (1, 1), 0.0
    for _ in range(n):
        d = (d[1], d[0] + d[1])
        s += x[d[0] % 5]
    return s


@beyond(V6, 45)
def branches(x, n):
    p, y = 1, []
    for k in range(n):
        if x[k % 6] < 10:
            p = p * 3
        y.append(x[p % 6])
        y = y[-(k + 1):]
    return y[-1]


@pytest.mark.parametrize("index", range(len(BEYOND)), ids=lambda k: BEYOND[k][0].__name__)
def test_the_run_stops_where_an_integer_leaves_64_bits(index):
    fn, arguments = BEYOND[index]
    fn(*arguments)
    parsed = parse(fn, arguments, {})
    with pytest.raises(OverflowError, match="leaves 64 bits"):
        run(parsed.program, parsed.collect(arguments, {}))


def test_a_handler_for_numbers_that_are_too_large_is_not_for_these():
    def f(x, n):
        p = 1
        for _ in range(n):
            try:
                x = x * math.exp(x[0])
                p = p * 3
            except OverflowError:
                p = 1
        return x[p % 6]

    with pytest.raises(UnsupportedError, match="name other exceptions"):
        parse(f, (V6, 45), {})


def test_remainders_of_written_numbers_are_not_looked_at():
    def f(x, n):
        s, total = 12345, 0.0
        for _ in range(n):
            for k in range(3):
                s = (1103515245 * s + 12345) % 2 ** 31
                total += x[(k + s) % 6]
        return total

    assert not check(f, V6, 50).program.failures
    assert not check(remainders_of_more, V6, 12345).program.failures
    assert check(remainders_of_far_more, V6, 12345).program.failures


def remainders_of_more(x, s):
    total = 0.0
    for _ in range(50):
        s = (6364136223 * s + 12345) % 2 ** 30  # up to 0.74 of 64 bits
        total += x[s % 6]
    return total


def remainders_of_far_more(x, s):
    total = 0.0
    for _ in range(50):
        s = (2 ** 40 * s + 5) % 2 ** 30
        total += x[s % 6]
    return total


def test_counters_and_middles_do_not_grow():
    """Nothing is looked at in the run."""
    def f(x, end):
        low, high, n, all_of_them = 0, x.shape[0] - 1, 0, 0
        while high - low > 1:
            middle = (low + high) // 2
            n += 2
            all_of_them += n
            if x[middle] > end:
                high = middle
            else:
                low = middle
        return x[low] * n + all_of_them

    parsed = check(f, np.sort(V6), 0.1)
    assert not parsed.program.failures


@pytest.mark.parametrize(("body", "names", "floats"), [
    ("f = f * k\n  s += x / f", "f", True),
    ("a, b = b, a + b\n  s += x / a", "a b", True),
    ("n = n // 2 if n % 2 == 0 else 3 * n + 1", "n", False),
    ("middle = (low + high) // 2\n  low = middle\n  high = middle", "", True),
    ("n += 1\n  m -= n\n  s += x[m]", "", True),
    ("self.n *= 2\n  s += x / self.n", "self.n", True),
    ("f = g(f)", "f", False),
    ("f *= 2\n  t = f + 1\n  s += x[t]", "f t", False),
    ("f *= 2\n  s += x * f", "f", True),
    ("s = (a * s + c) % m", "s", False),
    ("p = (q * 3, 1)\n  q = p[0]", "p q", False),
    ("f = f * (2 - 2 ** 0)\n  s += x / f", "", True),
])
def test_what_a_loop_makes_larger_and_larger(body, names, floats):
    module = ast.parse(f"for k in r:\n  {body}")
    found = growing(module.body[0])
    assert found - {"s"} == set(names.split()) - {"s"}
    assert only_floats(module.body, found - ({"s"} if names != "s" else set()), {"s", "x"}) == floats
