"""Flat temporaries that others see with rows have these rows."""
from __future__ import annotations

import numpy as np
import pytest

from sdfgad.ir.index import ix
from sdfgad.ir.program import Loop, Map
from sdfgad.ir.walk import statements
from sdfgad.thresholds import LEAST, changed
from sdfgad.transform.normal.flat_arrays import give_rows
from tests.codegen.build_programs import F8, add, load, mapped, mul, num, program, span, store
from tests.frontend.checking import check_both_modes
from tests.support.oracle import check_same

ROWS = (span("i", 3), span("j", 4))
ALL = (span("k", 12),)
I, J, K = ix("i"), ix("j"), ix("k")
MADE = mapped(ROWS, store("t", (I*4 + J,), load("x", "i", "j")))
READ = mapped(ALL, store("s", ("k",), mul(load("t", "k"), load("y", "k"))))
SUM = mapped(ALL, store("z", (), load("s", "k"), "+"))


@pytest.fixture(autouse=True)
def _small():
    with changed(LEAST):
        yield


def given(*body, seen=()):
    arguments = {"x": ((3, 4), F8), "y": ((12,), F8), "z": ((), F8)}
    before = program(body, arguments, {"t": ((12,), F8), "s": ((12,), F8)}).but(live_out=frozenset(("z", *seen)))
    after = give_rows(before)
    check_same(before, after)
    return {n: after.arrays[n].shape for n in ("t", "s")}


def test_rows_are_handed_on():
    assert given(MADE, READ, SUM) == {"t": (3, 4), "s": (3, 4)}
    inner = mapped((span("i", 1, 3), span("j", 3)), store("s", (I*4 + J - 4,), load("t", I*4 + J + 1), "+"))
    assert given(MADE, READ, inner, SUM) == {"t": (3, 4), "s": (3, 4)}
    assert given(Loop(span("m", 2), (MADE, READ, SUM))) == {"t": (3, 4), "s": (3, 4)}


@pytest.mark.parametrize("body, flat", [
    pytest.param((MADE, mapped((span("k", 11),), store("s", ("k",), load("t", K + 1))), SUM), "ts", id="moved"),
    pytest.param((MADE, READ, mapped((span("k", 12),), store("s", ("k",), add(load("t", K*-1 + 11), num(1.0)))), SUM),
                 "t", id="downwards"),
    pytest.param((MADE, mapped((span("i", 2), span("j", 6)), store("t", (I*6 + J,), num(2.0), "+")), READ, SUM),
                 "ts", id="other rows"),
    pytest.param((MADE, mapped(ROWS, store("s", (I*4 + J,), load("t", J*3 + I))), SUM), "t", id="columns"),
])
def test_others_stay_flat(body, flat):
    found = given(*body)
    assert {n for n in found if len(found[n]) == 1} >= set(flat)


def test_what_is_seen_stays_flat():
    assert given(MADE, READ, SUM, seen=("t",))["t"] == (12,)


def masked(x, steps):
    c = x + 0.25 * np.arange(12.0).reshape(3, 4)
    z, flat = np.zeros(12), c.reshape(12)
    for _ in range(steps):
        z = np.where(z < 2.0, z * z * 0.3 + flat, z)
    return np.sum(z.reshape(3, 4) * x)


def escaping(x):
    c = np.outer(x, x[:4])
    z, count = np.zeros(28), c.reshape(28)
    for _ in range(70):
        if not len(z):
            break
        z = z * z + count
        stay = z < 1.3
        z, count = z[stay], count[stay]
    return np.sum(z) + np.sum(c)


@pytest.mark.parametrize("fn, arguments", [
    (masked, (np.linspace(0.2, 0.9, 12).reshape(3, 4), 4)), (escaping, (np.linspace(0.2, 0.9, 7),))])
def test_both_modes(fn, arguments):
    check_both_modes(fn, arguments)


def test_what_is_seen_in_two_ways_is_one_pass():
    from sdfgad.calls.arguments import bind
    from sdfgad.verbs.pipeline import Request, derive
    x = np.linspace(0.2, 0.9, 12).reshape(3, 4)
    made = derive(masked, bind(masked, (x, 70), {}), Request(("x",), None, None)).program
    loops = [s for s in statements(made.body) if isinstance(s, Loop)]
    assert all(len(s.domain) == 2 for loop in loops for s in statements(loop.body) if isinstance(s, Map) and s.domain)
