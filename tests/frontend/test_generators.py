"""Generators: loops over them, lists of them, and what they and the loop see of each other."""
from __future__ import annotations

import itertools
import operator
from typing import NamedTuple

import numpy as np
import pytest

import sdfgad
from sdfgad.frontend import parse
from tests.frontend.checking import check
from tests.frontend.programs import Case, collector

N = 70
W = np.sin(np.arange(N) * 1.7) + 0.2
U = np.array([0.5, 1.25, 0.75, -1.0, 0.3])
CASES: list[Case] = []
case = collector(CASES)


def heun(f, y, t, dt, n):
    for _ in range(n):
        k = f(t, y)
        y = y + dt / 2 * (k + f(t + dt, y + dt * k))
        t += dt
        yield t, y


def updated(u, w, n):
    for i in range(n):
        u *= 0.9
        u += w[i]
        yield u


def rates(first, n):
    for i in range(n):
        yield first * 0.9**i


def three(a):
    yield a
    yield a**2
    yield a**3


class Model:
    def __init__(self, x):
        self.x = x
        self.log = []

    def run(self, w):
        for v in w:
            self.x = 0.9 * self.x + v
            self.log.append(self.x)
            yield self.x


@case(W, U)
def a_time_stepper(w, u):
    total, y = 0.0, u
    for t, y in heun(lambda t, y: -y + w[0] * np.sin(t), u, 0.0, 0.01, N):
        total += np.sum(y**2) * t
    energies = [np.sum(v) for _, v in heun(lambda t, v: -v * u, u, 0.0, 0.1, N)]
    return total, y, np.array(energies)


@case(W)
def names_of_the_user(w):
    """A loop with continue over a generator that goes on behind its yield is run once for each item."""
    def two():
        yield w[0]
        yield w[1]

    once, total = 3.0, 0.0
    for v in two():
        if v > 100.0:
            continue
        total += v * once
    return total * once


@case(W, U)
def each_sees_what_the_other_changes(w, u):
    x, total = u.copy(), 0.0
    for v in updated(x, w, N):
        v[1] = 0.5 * v[1]
        total += np.sum(v**2) + x[0]
        x[2] += 1.0
    m = Model(w[0])
    for v in m.run(w):
        total += v
        m.x *= 0.5
    return total, x, m.x, np.array(m.log)


@case(W, U)
def places_of_items(w, u):
    out = np.zeros((N, 5))
    for k, v in enumerate(updated(u.copy(), w, N)):
        out[k] = v
    total = 0.0
    for k, v in enumerate(three(w[1]), start=3):
        total += k * v
    return out, total


@case(W)
def whole_lists(w):
    def own(n=N, *, k=2.0):
        for i in range(n):
            yield w[i] * k

    a, b, c = three(w[2])
    found = list(own())
    return found[3] * found[-1], sum(own(3, k=w[5])), a * b + c, tuple(three(w[0])), sum(own()), len(found)


@case(W)
def a_name_that_is_used_up(w):
    g, total = three(w[0]), 0.0
    for v in g:
        total += v
    for v in g:
        total += 100 * v
    return total


class Pair(NamedTuple):
    a: float
    b: float = 2.0

    @property
    def square(self):
        return self.a**2


@case(W)
def sums_so_far(w):
    p = Pair(w[0])
    return sum(v**2 for v in itertools.accumulate(w)), list(itertools.accumulate(w[:3], operator.mul)), p.square * p.b


@case(W)
def schedules(w):
    x = w[0]
    for rate, v in zip(rates(0.1, N), w, strict=True):
        x = x - rate * np.sin(x) * v
    return x


@case(W)
def names_of_both(w):
    def walked(total, i):
        for v in range(N):
            total = 0.9 * total + w[v]
            i += 1
            yield total * i

    total, i, v = 0.0, 5, 0
    for v in walked(1.0, 0):
        total += v
        i += 2
    return total, i, v


@case(W)
def ends_and_exits(w):
    def smooth(n):
        x = 1.0
        for i in range(n):
            x = x * 0.9 + w[i]
            if x > 2.5:
                return
            yield x

    def twice():
        for i in range(N):
            yield w[i]
            doubled = w[i] * 2
            yield doubled

    a = b = c = 0.0
    for v in smooth(N):
        a += v
    for v in twice():
        if v < 0:
            continue
        b += v**2
    for v in smooth(40):
        if v < 0:
            continue
        c += v**2
        if c > 10:
            break
    else:
        c = -c
    return a, b, c, v


def some(w):
    for i in range(N):
        if i == 3:
            break
        yield w[i]


def few(w):
    for i in range(N):
        if i == 3:
            return
        yield w[i]


def until(w, most):
    for v in w:
        if v > most:
            break
        yield v


@case(W)
def an_else_after_an_early_end(w):
    """It is run when the generator ends, however that comes about, and not when the loop is left."""
    found = []
    for made in (some(w), few(w)):
        total = 0.0
        for v in made:
            if v > 100.0:
                break
            total += v
        else:
            total = total * 2.0
        found.append(total)
    for most in (-100.0, np.mean(w), 100.0):
        total = 1.0
        for v in until(w, most):
            if total > 2.0:
                break
            total += v * v
        else:
            total = total * 3.0
        found.append(total)
    return found


@case(W)
def generators_of_generators(w):
    def inner(k):
        for i in range(10):
            yield w[i] * k

    def outer():
        for k in range(7):
            yield from inner(k)

    total = 0.0
    for v in outer():
        total = 0.9 * total + v
    for a in inner(2):
        for b in inner(3):
            total += a * b
    return total


@pytest.mark.parametrize("program, given", CASES, ids=lambda v: getattr(v, "__name__", ""))
def test_as_in_python(program, given):
    check(program, *given)


def left_before_its_end(w):
    def then_one():
        for i in range(N):
            yield w[i]
        yield 5.0

    total = 0.0
    for v in then_one():
        total += v
        if total > 1:
            break
    return total


def sent_to(w):
    def asked():
        for i in range(3):
            got = yield w[i]
            print(got)

    return sum(asked())


def beside_something(w):
    def seen():
        for i in range(N):
            yield w[0] * i

    total = 0.0
    for v, k in zip(seen(), range(N), strict=True):
        w[0] = w[0] * 0.9
        total += v * k
    return total


def halves(x, low, high):
    if high - low == 1:
        yield x[low]
        return
    yield from halves(x, low, (low + high) // 2)
    yield x[high - 1] * x[low]
    yield from halves(x, (low + high) // 2, high)


def as_far_as(x, t):
    if x[0] > 100.0:
        return
    yield from x
    if x[1] > t:
        yield x[1] ** 2
    if x[1] <= t or x[2] > t:
        return
    yield x[0]


@case(U)
def generators_that_return_behind_a_condition(u):
    total = sum(v * k for k, v in enumerate(halves(u, 0, len(u))))
    for t in (0.5, -2.0, 2.0):
        for k, v in enumerate(as_far_as(u, t)):
            if v >= 0:
                total = total * 0.7 + v * v * k
    return total


def of_one_array(w):
    return np.array(list(updated(w[:5].copy(), w, N)))


def else_of_another_loop(w):
    total = 0.0
    for _ in range(2):
        for v in few(w):
            if v > 100.0:
                break
            total += v
        else:
            break
    return total


async def later(w):
    return w


def of_a_coroutine(w):
    return np.sum(later(w))


@pytest.mark.parametrize("program, says", [
    (of_a_coroutine, "a call of the coroutine 'later'"),
    (else_of_another_loop, "leaves another loop"),
    (left_before_its_end, "goes on behind its own loop"), (sent_to, "yields inside of another statement"),
    (beside_something, "while something else goes on"), (of_one_array, "updated in place since")],
    ids=lambda v: getattr(v, "__name__", ""))
def test_refused(program, says):
    with pytest.raises(sdfgad.UnsupportedError, match=says):
        parse(program, (W,), {})


def test_a_refusal_is_at_the_line_of_the_generator():
    def odd(w):
        for v in broken(w):
            w = w + v
        return np.sum(w)

    with pytest.raises(sdfgad.UnsupportedError) as caught:
        parse(odd, (W,), {})
    assert caught.value.line == broken.__code__.co_firstlineno + 2


def broken(w):
    for i in range(N):
        with open("file"):
            pass
        yield w[i]


def stepped(w):
    m, total = Model(w[0]), 0.0
    for k, v in enumerate(m.run(w)):
        total += v**2 * k
    return total + np.sum(np.array(m.log) ** 3)


def test_gradients():
    sdfgad.check_grads(stepped, W)
