"""Iterators give their items once, and look at their data when they are asked; what functions and iterators hold stays
what it was when a name is bound to something else."""
from __future__ import annotations

import functools
import itertools
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from sdfgad.calls.arguments import bind
from sdfgad.errors import UnsupportedError
from sdfgad.frontend import parse
from sdfgad.verbs.pipeline import Request, derive
from tests.frontend.checking import check_both_modes
from tests.frontend.programs import Case, collector
from tests.support.point_loops import run

ROWS = np.random.default_rng(5).uniform(-0.9, 0.9, (80, 5))
CASES: list[Case] = []
case = collector(CASES)


@case(ROWS)
def used_up(x):
    z, s = zip(x[0], x[1], strict=True), 0.0
    for a, b in z:
        s += a * b
    for _a, _b in z:
        s += 100
    m = map(lambda t: t * 2, x[0])
    s += sum(m) + sum(m) * 1000
    g = (t ** 2 for t in x[1])
    s += sum(g) + len(list(g))
    e = enumerate([x[0, 0], x[0, 1]])
    return s + sum(k * a for k, a in e) + sum(1.0 for _ in e)


@case(ROWS)
def one_by_one(x):
    z, s = iter(x[0]), 0.0
    before = next(z)
    for v in z:
        s += (v - before) ** 2
        before = v
    pairs = iter([x[1, 0], x[1, 1], x[1, 2], x[1, 3]])
    s += next(pairs) * next(pairs) + sum(pairs) + next(pairs, x[2, 0])
    numbers, turns = itertools.count(3), itertools.cycle([x[3, 0], x[3, 1]])
    return s * x[next(numbers), next(numbers)] + sum(next(turns) * k for k in range(5)) + sum(
        itertools.islice(itertools.cycle([x[4, 0], x[4, 1], x[4, 2]]), 1, 6))


@case(ROWS)
def copies_and_pairs(x):
    first, second = itertools.tee(x[0])
    next(second)
    s = sum(a * b for a, b in zip(first, second, strict=False))
    return s + sum(a * b for a, b in itertools.combinations_with_replacement(x[3], 2))


@case(ROWS)
def a_long_sum(x):
    y = np.ravel(x)
    return sum(y[i % 7] * y[i // 30] for i in [n + 1 for n in range(64)] * 5) + sum([y] * 150, 1.0) @ y


@case(ROWS)
def asked_later(x):
    u, k = x[0] * 2, 2.0
    m, g, h = map(lambda a: a * 2, u), (a * 3 for a in u), (a * k for a in x[1])
    z, r = zip(u, x[2], strict=True), reversed(u)
    u[0], k = 100.0, 3.0
    return sum(m) + sum(g) + sum(h) + sum(a * b for a, b in z) + sum(n * a for n, a in enumerate(r))


@case(ROWS)
def given_to_functions(x):
    def twice(it):
        return sum(it) + sum(it)

    k = 2.0
    g = (t * k for t in x[0])
    k = 3.0
    names = ",".join(str(n) for n in range(3))
    items = []
    items.extend(t * 2 for t in x[0])
    items += (t for t in x[1])
    return twice(g) + twice(t * 2 for t in x[1]) + twice(map(np.sin, x[2])) + twice([1.0, k]) + sum(items) * len(names)


@case(ROWS)
def that_functions_give_back(x):
    def made(a):
        return (t * a[0] for t in x[0])

    u = x[1] * 2
    g = made(u)
    for row in x:
        u = 0.5 * u + row
    return sum(g) + np.sum(u)


@case(ROWS)
def rows_of_names_bound_anew(x):
    u = x[0] * 2
    z, e = zip(u, x[1], strict=True), enumerate(u)
    for row in x:
        u = 0.5 * u + row
    return sum(a * b for a, b in z) + sum(k * a for k, a in e) + np.sum(u)


@case(ROWS)
def in_every_iteration(x):
    s = 0.0
    for row in x:
        g, z = (t * row[0] for t in row), zip(row, x[0], strict=True)
        s += sum(g) + sum(a * b for a, b in z)
    for k, t in enumerate(a * 2 for a in x[1]):
        s += k * t
    return s


@case(ROWS)
def functions_that_hold_arrays(x):
    def made(a):
        return lambda t: np.sum(a * t)

    u = x[0] * 2

    def default(t, a=u):
        return np.sum(a * t)

    held, part, s = [made(u)], {"p": functools.partial(lambda a, t: a @ t, u)}, 0.0
    for row in x:
        u = 0.5 * u + row
        s += held[0](row) + default(row) * 2 + part["p"](row) * 3
    if x[0, 0] > -100:
        u = x[1] * 3
    return s + default(x[2]) + held[0](x[3]) + np.sum(u)


# what functions hold

@case(ROWS)
def held_by_functions(x):
    w = x[:, 0]
    def default(t, acc=[0.0]):  # noqa: B006
        acc[0] += t
        return acc[0]

    def made():
        n, last = 0.0, [1.0]

        def f(t):
            nonlocal n
            n, last[0] = n * 0.5 + t, last[0] * 0.9 + n
            return n * last[0]

        return f

    def first(acc, t):
        acc[0] += t
        return acc[0]

    h, s = [0.0, 0.0], 0.0
    push, pop, part = h.append, h.pop, functools.partial(first, [0.0])
    several, named = [made(), made()], {"f": made()}
    for t in w:
        push(t * 2)
        pop(0)
        s += default(t) * 0.1 + several[0](t) * several[1](t * 2) + named["f"](t) + part(t)
    return h[0] * h[1] + s


# the order of dicts

@case(ROWS)
def in_order(x):
    w = x[:, 1]
    d, s = {"a": 1.0, "n": 2.0, "z": 3.0}, 0.0
    if w[0] > -100:
        d["a"] = w[1]
    for t in w:
        if t > 0:
            d["n"] += t
        if t > 2:
            break
        d["a"] *= 0.99
    for i, v in enumerate(d.values()):
        s += (i + 1) ** 2 * v
    return s


def halves(a):
    while True:
        yield a
        a = a * 0.5


@case(ROWS[:70, 0] + 0.3)
def beside_other_things(w):
    """Which of them is asked first shows at the end: the generator goes on once more, or does not."""
    state = {"first": 1.0, "last": 1.0}

    def endless(name):
        while True:
            state[name] = state[name] * 0.9 + 0.01
            yield state[name]

    def counted():
        for i in range(140):
            yield w[i % 7] * i

    total = 0.0
    for v, x in zip(endless("first"), w, strict=False):
        if x > 1.0:
            continue
        total += v * x
    for x, v in zip(w, endless("last"), strict=False):
        total += v * x
    for i, v, x in zip(range(3, 60, 2), counted(), w, strict=False):
        if x > 1.15:
            break
        total += i * v * x
    for k, (x, v) in enumerate(zip([w[0], w[1], w[2]], halves(w[3]), strict=False)):
        total += k * x * v
    return total + state["first"] * 100 + state["last"] * 10


@case(ROWS[:70, 0] + 0.3)
def yields_in_an_else(w):
    def both(limit):
        for v in w[:6]:
            if v > limit:
                break
            yield v
        else:
            yield w[7] * 10

    return sum(v**2 for v in both(0.9)) + 3 * sum(v**2 for v in both(50.0))


@pytest.mark.parametrize("fn, arguments", CASES, ids=[c[0].__name__ for c in CASES])
def test_program(fn: Callable[..., Any], arguments: tuple[Any, ...]) -> None:
    check_both_modes(fn, arguments)


def left_by_break(x):
    z, s = iter(x[0]), 0.0
    for a in z:
        if a > 0.1:
            break
        s += a
    return s + sum(z)


def beside_a_shorter_one(x):
    z = iter([x[0, 0], x[0, 1], x[0, 2]])
    return sum(a * b for a, b in zip([1.0, 2.0], z, strict=False)) + sum(z)


def in_pairs(x):
    z = iter([x[0, 0], x[0, 1], x[0, 2], x[0, 3]])
    return sum(a * b for a, b in zip(z, z, strict=True))


def inside_of_itself(x):
    z, s = iter([x[0, 0], x[0, 1], x[0, 2]]), 0.0
    for a in z:
        for b in z:
            s += a * b
    return s


def of_a_generator(x):
    def rows():
        yield from x

    z, s = rows(), 0.0
    for row in z:
        if row[0] > 0.1:
            break
        s += row[1]
    for row in z:
        s += row[2]
    return s


def sliced(x):
    z = iter([x[0, 0], x[0, 1], x[0, 2]])
    return sum(itertools.islice(z, 2)) * sum(z)


@pytest.mark.parametrize("program", [left_by_break, beside_a_shorter_one, in_pairs, inside_of_itself, of_a_generator,
                                     sliced])
def test_the_rest_of_an_iterator_is_refused(program: Callable[..., Any]) -> None:
    """It counted as nothing, as if all of it had been used."""
    with pytest.raises(UnsupportedError, match="the rest of an iterator that something else has begun to use"):
        parse(program, (ROWS,))


def test_an_iterator_from_outside_of_a_loop_is_refused_in_it() -> None:
    def program(x):
        z, s = zip(x[0], x[1], strict=True), 0.0
        for _ in range(80):
            for a, b in z:
                s += a * b
        return s

    with pytest.raises(UnsupportedError, match="an iterator made outside"):
        parse(program, (ROWS,))


def _deep(a, b):
    return np.sin(np.cos(np.sin(np.cos(np.sin(np.cos(a)))))) * b


def folded(x):
    return functools.reduce(_deep, [x[k] for k in range(160)])


def last_of_all(x):
    return list(itertools.accumulate([x[k] for k in range(160)], _deep))[-1]


@pytest.mark.parametrize("program", [folded, last_of_all])
def test_a_long_chain_is_no_expression_too_deep_to_look_into(program: Callable[..., Any]) -> None:
    """It ended in a RecursionError."""
    x = np.linspace(0.1, 1.0, 160)
    made = derive(program, bind(program, (x,), {}), Request(("x",)))
    memory = {"x": x.copy()} | {n: np.zeros(a.shape, a.dtype) for n, a in made.program.arrays.items() if n in made.keep}
    run(made.program, memory)
    step = 1e-30 * 1j * np.eye(160)[150]
    exact = (program(x + step) / 1e-30).imag
    found = memory[made.made.gradients[made.parsed.traced["x"]]]
    np.testing.assert_allclose(found[150], exact, rtol=1e-12)
