"""Index expressions: the normal form means what it says."""
from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sdfgad.ir.index import Ix, elem, floordiv, ix, maximum, minimum, mod
from sdfgad.ir.positions import put_together

NAMES = ("i", "j", "n")
TABLE = (3, 0, 2, 7, 1)
ENV = st.fixed_dictionaries({n: st.integers(-6, 6) for n in NAMES})


def read(array: str, at: tuple[int, ...]) -> int:
    return TABLE[at[0] % len(TABLE)]


@st.composite
def expressions(draw, depth: int = 3):
    """An index and a function that computes the same from the symbols."""
    kind = draw(st.integers(0, 8 if depth else 1))
    if kind == 0:
        value = draw(st.integers(-4, 4))
        return ix(value), lambda env: value
    if kind == 1:
        name = draw(st.sampled_from(NAMES))
        return ix(name), lambda env: env[name]
    (a, f), (b, g) = draw(expressions(depth - 1)), draw(expressions(depth - 1))
    divisor = draw(st.integers(1, 4))
    return [
        lambda: (a + b, lambda env: f(env) + g(env)), lambda: (a - b, lambda env: f(env) - g(env)),
        lambda: (a * b, lambda env: f(env) * g(env)), lambda: (floordiv(a, divisor), lambda env: f(env) // divisor),
        lambda: (mod(a, divisor), lambda env: f(env) % divisor),
        lambda: (minimum(a, b), lambda env: min(f(env), g(env))),
        lambda: (maximum(a, b), lambda env: max(f(env), g(env))),
    ][kind - 2]()


@settings(max_examples=200, deadline=None, database=None, derandomize=True)
@given(expressions(), ENV)
def test_values(pair, env):
    index, value = pair
    assert index.evaluate(env) == value(env)


@settings(max_examples=150, deadline=None, database=None, derandomize=True)
@given(expressions(), ENV, st.integers(-3, 3))
def test_substitution(pair, env, shift):
    index, value = pair
    moved = index.subs({"i": ix("j") + shift, "j": ix("i")})
    assert moved.evaluate(env) == value({**env, "i": env["j"] + shift, "j": env["i"]})


@settings(max_examples=150, deadline=None, database=None, derandomize=True)
@given(expressions(), st.integers(-4, 2), st.integers(0, 4))
def test_bounds_hold_and_simplification_keeps_the_value(pair, low, extent):
    index, value = pair
    bounds = dict.fromkeys(NAMES, (low, low + extent))
    least, most = index.bounds(bounds)
    short = index.simplify(bounds)
    rng = np.random.default_rng(0)
    for _ in range(12):
        env = {n: int(rng.integers(low, low + extent + 1)) for n in NAMES}
        assert least is None or least <= value(env)
        assert most is None or value(env) <= most
        assert short.evaluate(env) == value(env)


@settings(max_examples=100, deadline=None, database=None, derandomize=True)
@given(expressions(2), expressions(2))
def test_sums_and_products_have_one_form(first, second):
    a, b = first[0], second[0]
    assert a + b == b + a
    assert hash(a * b) == hash(b * a)
    assert a - a == ix(0)
    assert (a + b) * 2 == a * 2 + b * 2


@pytest.mark.parametrize("index, text", [
    (ix("i") * 2 - 1, "2*i - 1"), (ix(0), "0"), (-ix("i"), "-i"), (ix("i") * "j" + 3, "i*j + 3"),
    (floordiv("i", 2), "floor(i, 2)"), (elem("k", ("i",)), "k[i]")])
def test_the_printed_form(index, text):
    assert str(index) == text


@pytest.mark.parametrize("index, expected", [
    (floordiv(ix("i") * 4 + 2, 4), ix("i")), (mod(ix("i") * 4 + 5, 4), ix(1)),
    (mod(mod(ix("i") - 1, 4) * 3 + 3, 4), mod(ix("i") * 3, 4)), (minimum(ix("i"), ix("i") + 1), ix("i")),
    (maximum(ix("i"), ix("i") + 1), ix("i") + 1)])
def test_what_is_decided_at_once(index, expected):
    assert index == expected


def test_affine_forms_and_coefficients():
    assert (ix("i") * 3 - "j" + 2).affine == ({"i": 3, "j": -1}, 2)
    assert (ix("i") * "j").affine is None
    assert (ix("i") * 3 + mod("j", 2)).coefficient("i") == 3
    assert (ix("i") * 3 + mod("i", 2)).coefficient("i") is None
    assert (ix("n") * 2).coefficient("i") == 0


def test_elements_of_arrays():
    index = elem("rows", (ix("i") + elem("first", ("j",)),)) + 1
    assert [e.array for e in index.elems] == ["first", "rows"]
    assert index.symbols == {"i", "j"}
    assert index.evaluate({"i": 0, "j": 1}, read) == TABLE[0 + TABLE[1]] + 1
    with pytest.raises(LookupError, match="no reader"):
        index.evaluate({"i": 0, "j": 1})


def test_zero_is_one_object_in_every_disguise():
    assert ix("i") * 0 == ix(0) == Ix(())
    assert ix(0).const == 0


def test_rows_of_a_range_are_put_together():
    i, j = ix("i"), ix("j")
    assert put_together(300 * floordiv(i, 300) + mod(i, 300)) == i
    assert put_together(2 * j + 24 * floordiv(i + j, 12) + 2 * mod(i + j, 12) + 5) == 2 * i + 4 * j + 5
    assert put_together(12 * floordiv(i, 12) + 4 * mod(floordiv(i, 4), 3) + mod(i, 4)) == i
    assert put_together(20 * floordiv(i, 10) + mod(i, 10)) == 20 * floordiv(i, 10) + mod(i, 10)  # rows further apart
    assert put_together(10 * floordiv(i, 10) + mod(j, 10)) == 10 * floordiv(i, 10) + mod(j, 10)


def test_an_index_of_many_positions_at_once():
    i, j = np.ogrid[:7, :5]
    index = mod(ix("i") * 3 + ix("j"), 4) + 5 * floordiv(ix("j") + 2 * ix("i"), 3) * ix("i")
    np.testing.assert_array_equal(index.evaluate({"i": i, "j": j}), (3 * i + j) % 4 + 5 * ((j + 2 * i) // 3) * i)
