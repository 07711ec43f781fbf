"""What is the same for all directions is computed once where it is dear, and nowhere outside of its arrays."""
from __future__ import annotations

import numpy as np
import pytest

import sdfgad
from sdfgad.ir.algebra import where
from sdfgad.ir.expr import Call, walk
from sdfgad.ir.index import ix, minimum
from sdfgad.ir.program import Array, Map, Program, Store
from sdfgad.ir.walk import statements
from sdfgad.transform.batch import several
from tests.support.build import F8, I8, at, each, loop, number_at, put, span
from tests.support.point_loops import run

COUNT, SIZE = 4, 5
I, J = span("i", 0, SIZE), span("j", 0, SIZE)


def spread(*body) -> Program:
    """The program for several `d`; x is a vector, a a matrix of the function, and e comes of d."""
    arrays = {"x": Array("x", (SIZE,), F8, "argument"), "a": Array("a", (SIZE, SIZE), F8, "argument"),
              "d": Array("d", (SIZE, SIZE), F8, "argument"), "e": Array("e", (SIZE, SIZE), F8, "argument")}
    before = Program("p", arrays, tuple(arrays), body)
    made = several(before, frozenset("de"), COUNT)
    rng = np.random.default_rng(0)
    given = {n: rng.uniform(0.5, 1.5, a.shape) for n, a in made.arrays.items() if a.role == "argument"}
    found = {n: v.copy() for n, v in given.items()}
    run(made, found)
    for k in range(COUNT):
        alone = {n: v[k].copy() if n in "de" else v.copy() for n, v in given.items()}
        run(before, alone)
        np.testing.assert_array_equal(found["e"][k], alone["e"])
    return made


def kept(made: Program) -> dict[str, tuple[int, ...]]:
    return {n: a.shape for n, a in made.arrays.items() if n.startswith("kept")}


def exponentials(made: Program) -> list[int]:
    """The dimensions of the maps that compute one."""
    return [len(s.domain) for s in statements(made.body) if isinstance(s, Map) for p in s.body
            for n in walk(p.expr) if isinstance(n, Call) and n.fn == "exp"]


def e(value) -> Store:
    return put("e", ("i", "j"), value)


def test_dear_parts_are_computed_once_along_the_dimensions_in_which_they_differ():
    made = spread(each((I, J), e(at("x", "i").apply("exp") * at("d", "i", "j") + at("a", "i", "j").apply("exp"))))
    assert sorted(kept(made).values()) == [(SIZE,), (SIZE, SIZE)] and sorted(exponentials(made)) == [1, 2]


def test_cheap_parts_and_those_of_a_direction_stay_where_they_are():
    cheap = at("x", "i") * at("a", "i", "j")
    made = spread(each((I, J), e(cheap * at("d", "i", "j") + (cheap + at("d", "i", "j")).apply("exp"))))
    assert not kept(made) and exponentials(made) == [3]


def test_what_only_a_branch_reads_is_computed_ahead_within_its_array_alone():
    inside = where(at("d", "i", "j").compare("gt", 1.0), at("x", "i").apply("exp"), 0.0)
    assert kept(spread(each((I, J), e(inside)))) == {"kept": (SIZE,)}
    beyond = where(at("x", "i").compare("lt", -1.0), at("d", "i", "j") * at("x", ix("i") + 1).apply("exp"), 0.0)
    made = spread(each((I, J), e(beyond)))
    assert not kept(made)


def test_a_triangle_takes_the_ranges_along_that_say_how_far_it_goes():
    below = span("j", 0, "i")
    made = spread(each((I, below), e(at("x", "j").apply("exp") * at("d", "i", "j"))))
    assert list(kept(made).values()) == [(SIZE, SIZE - 1)]
    rows = loop(span("t", 0, 2), each((I, J), e((at("x", "i") + at("a", "t", "i")).apply("exp") * at("d", "i", "j"))))
    assert list(kept(spread(rows)).values()) == [(SIZE,)]


def test_what_goes_as_far_as_a_direction_says_stays_where_it_is():
    arrays = {"x": Array("x", (SIZE,), F8, "argument"), "n": Array("n", (), I8, "argument"),
              "e": Array("e", (SIZE,), F8, "argument")}
    body = (each(span("i", 0, minimum(number_at("n"), SIZE)), put("e", ("i",), at("x", "i").apply("exp"))),)
    before = Program("p", arrays, tuple(arrays), body)
    made = several(before, frozenset("ne"), COUNT)
    assert not kept(made)
    given = {"x": np.linspace(0.0, 1.0, SIZE), "n": np.array([3, 0, 5, 1]), "e": np.zeros((COUNT, SIZE))}
    run(made, given)
    np.testing.assert_array_equal(given["e"], np.where(np.arange(SIZE) < given["n"][:, None], np.exp(given["x"]), 0.0))


@pytest.mark.parametrize("verb", ["jvp", "vjp"])
def test_several_directions_at_once_are_those_one_by_one(verb):
    def f(x, n):
        w = np.exp(-x**2) / (1.0 + np.sin(x[0]))
        y = np.where(x > 0.2, w * x, np.sqrt(1.0 + x * x))
        for i in range(1, n):
            y[i] += np.exp(x[n - 1 - i]) * y[i - 1] / (1.0 + x[i] * x[i])
        return y

    x, d = np.linspace(-1.0, 1.0, 6), np.random.default_rng(1).standard_normal((16, 6))
    if verb == "jvp":
        found = sdfgad.jvp(f, (x, 6), (d, None), batched=True)[1]
        wanted = [sdfgad.jvp(f, (x, 6), (one, None))[1] for one in d]
    else:
        pullback = sdfgad.vjp(f, x, 6)[1]
        found, wanted = pullback(d, batched=True), [pullback(one) for one in d]
    np.testing.assert_allclose(found, wanted, rtol=1e-13, atol=1e-14)
