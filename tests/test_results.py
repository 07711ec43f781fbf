"""What a call of a gradient with several arguments gives."""
from __future__ import annotations

import copy
import pickle
from types import SimpleNamespace

import numpy as np
import pytest

import sdfgad
from sdfgad.calls.results import Gradients
from tests.support.interpreted import interpreted

ONE, TWO, THREE = np.ones(1), np.ones(2), np.ones(3)
PLAIN = Gradients({"A": ONE, "x": TWO}, {"A": ONE, "x": TWO})
NESTED = Gradients({"p['W']": ONE, "p['b']": TWO, "q.W": THREE, "q.c": ONE, "items": TWO},
                   {"p": {"W": ONE, "b": TWO}, "q": SimpleNamespace(W=THREE, c=ONE, d=1), "items": TWO})


def test_it_is_read_like_a_dictionary():
    assert "A" in PLAIN and "B" not in PLAIN
    assert PLAIN["A"] is ONE and PLAIN.get("x") is TWO and PLAIN.get("B") is None and PLAIN.get("B", 3) == 3
    assert PLAIN.keys() == ["A", "x"] and [v is w for v, w in zip(PLAIN.values(), (ONE, TWO), strict=True)]
    assert dict(PLAIN).keys() == {"A", "x"} and (lambda **g: g["A"] is ONE)(**PLAIN)
    with pytest.raises(KeyError, match="no gradient for 'B'; there are A, x"):
        PLAIN["B"]


def test_unpacking_gives_the_gradients_in_argument_order():
    a, x = PLAIN
    assert a is ONE and x is TWO and [*PLAIN][1] is TWO and PLAIN[1] is TWO and len(PLAIN) == 2


def test_keys_of_containers_are_attributes():
    assert NESTED.p["W"] is ONE and NESTED.b is TWO and NESTED.c is ONE and NESTED["p['b']"] is TWO
    assert "p" in NESTED and {"b", "c", "p"} <= set(dir(NESTED)) and NESTED["items"] is TWO
    with pytest.raises(AttributeError, match=r"several gradients are called 'W': p\['W'\], q.W"):
        NESTED.W
    with pytest.raises(AttributeError, match="no gradient for 'd'"):
        NESTED.d


@pytest.mark.parametrize("twin", [copy.copy, copy.deepcopy, lambda g: pickle.loads(pickle.dumps(g))])
def test_copies(twin):
    assert twin(NESTED).keys() == NESTED.keys()


def flattened(u):
    r = u * 2.0
    return r.reshape(-1), r.reshape(2, 3, 4)[1:, :, ::2], (u.reshape(2, 3, 4) * 3.0).reshape(4, 6), r.T.reshape(2, 12)


def test_arrays_of_another_shape_are_the_memory_that_was_written():
    u = np.arange(24.0).reshape(6, 4)
    found = sdfgad.forward(flattened)(u)
    for one, other in zip(found, flattened(u), strict=True):
        np.testing.assert_array_equal(one, other)
    assert all(f.base is not None for f in found)


OUTSIDE, TABLE = np.arange(3.0), np.arange(6).reshape(2, 3)


def from_outside(x):
    return np.sum(x * OUTSIDE), {"all": OUTSIDE, "turned": TABLE.T, "end": OUTSIDE[1:], "where": np.triu_indices(2)[0]}


def test_arrays_from_outside_are_results() -> None:
    with interpreted():
        given, (total, expected) = np.ones(3), from_outside(np.ones(3))
        of_call = sdfgad.forward(from_outside)(given)
        of_vjp, _ = sdfgad.vjp(from_outside, given)
        (value, aux), slope = sdfgad.value_and_grad(from_outside, has_aux=True)(given)
    np.testing.assert_array_equal(slope, OUTSIDE)
    for found in (of_call, of_vjp, (value, aux)):
        assert found[0] == total
        for name, array in expected.items():
            np.testing.assert_array_equal(found[1][name], array)
            assert not np.shares_memory(found[1][name], array)


@pytest.mark.parametrize("fn, told", [
    (lambda x: (np.sum(x), x), "has_aux=True for .objective, whatever else."),
    (lambda x: x, r"of shape \(4,\)(?!(.|\n)*has_aux)"), (lambda x: (x, x), "2 of them(?!(.|\n)*has_aux)")])
def test_a_number_and_something_else_are_an_objective_and_aux(fn, told):
    with pytest.raises(sdfgad.OutputError, match=told):
        sdfgad.plan(fn, np.ones(4))
