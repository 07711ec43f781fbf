"""Values replaced in place get names of their own, and only where nobody could tell."""
from __future__ import annotations

import numpy as np
import pytest

import sdfgad
from sdfgad.ir.program import Loop, Map, Program, Stmt
from sdfgad.ir.walk import statements
from sdfgad.transform.fusion.part_versions import part_versions
from tests.codegen.build_programs import F8, add, load, mapped, mul, num, program, span, store
from tests.support.oracle import check_same

N = 6
ALL = (span("i", N),)
MADE = mapped(ALL, store("t", ("i",), add(load("x", "i"), num(1.0))))
UPDATED = mapped(ALL, store("t", ("i",), mul(load("t", "i"), load("t", "i"))))
READ = mapped(ALL, store("y", ("i",), load("t", "i")))


def parted(*body: Stmt, seen: tuple[str, ...] = ()) -> Program:
    before = program([Loop(span("k", 3), body)], {"x": ((N,), F8), "y": ((N,), F8)}, {"t": ((N,), F8)})
    after = part_versions(before.but(live_out=frozenset(seen)))
    check_same(before, after)
    return after


def test_the_value_before_an_update_gets_a_name() -> None:
    after = parted(MADE, UPDATED, UPDATED, READ)
    assert {n for n in after.arrays if n.startswith("t")} == {"t", "t_1", "t_2"}
    assert [p.array for s in statements(after.body) if isinstance(s, Map) for p in s.body] == ["t_1", "t_2", "t", "y"]


@pytest.mark.parametrize("body", [
    pytest.param((UPDATED, READ, MADE), id="made by another iteration"),
    pytest.param((MADE, READ, UPDATED, READ), id="somebody looks in between"),
    pytest.param((MADE, mapped(ALL, store("x", ("i",), num(0.5))), UPDATED, READ), id="made of what changes"),
    pytest.param((mapped((span("i", 1, N),), *MADE.body), UPDATED, READ), id="not all of it made"),
    pytest.param((MADE, mapped((span("i", 1, N),), *UPDATED.body), READ), id="not all of it replaced"),
    pytest.param((MADE, mapped(ALL, store("t", ("i",), load("t", "i"), "+")), READ), id="added to"),
])
def test_left_alone(body: tuple[Stmt, ...]) -> None:
    assert set(parted(*body).arrays) == {"x", "y", "t"}


def test_what_is_seen_afterwards_keeps_its_name() -> None:
    assert set(parted(MADE, UPDATED, READ, seen=("t",)).arrays) == {"x", "y", "t"}


def test_an_update_of_a_value_as_cheap_to_compute_stores_nothing_twice() -> None:
    def masked(x, steps):
        total = 0.0
        for _ in range(steps):
            t = x + 1.0
            t[t > 1.5] = t[t > 1.5] ** 3
            x[:] = 0.1 * x + np.sin(t)
            total += np.sum(t)
        return total

    gradient = sdfgad.grad(masked)
    x = np.linspace(0.0, 1.0, 8)
    h = 1e-6
    slope = [(masked(x + h * e, 3) - masked(x - h * e, 3)) / (2 * h) for e in np.eye(8)]
    np.testing.assert_allclose(gradient(x, 3), slope, rtol=1e-7)
