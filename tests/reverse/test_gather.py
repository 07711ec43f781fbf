"""Adjoints of stencils collect instead of scattering: no two iterations add to one element, whatever the size."""
from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest

from sdfgad.analysis.elements.cover import is_pointwise
from sdfgad.ir.index import ix, mod
from sdfgad.ir.program import Map, Program, Store
from sdfgad.ir.walk import statements
from sdfgad.transform.clearing.clearings import is_zero
from tests.support.build import at, each, loop, number_at, program, put, span, total
from tests.support.oracle import check_program, reversed_program

FAR = 5


def one_dimension(n: int, offsets: Sequence[int]) -> Program:
    """`y[i] = sum of x[i + offset] ** 2` over an interior of size n."""
    i = ix("i") + FAR
    value = sum((at("x", i + k) * at("x", i + k) for k in offsets[1:]), at("x", i + offsets[0]) * 0.5)
    size = n + 2 * FAR
    return program({"x": (size,)}, [each(span("i", 0, n), put("y", ("i",), value)), total("y", (n,))], y=(n,))


def plane(n: int, m: int) -> Program:
    """The five-point stencil with a corner, on an n by m interior."""
    i, j = ix("i"), ix("j")
    around = at("x", i - 1, j) * at("x", i + 1, j) + at("x", i, j - 1) + at("x", i, j + 1) * at("x", i - 1, j - 1)
    ranges = (span("i", 1, n + 1), span("j", 1, m + 1))
    return program({"x": (n + 2, m + 2)}, [each(ranges, put("y", (i - 1, j - 1), around)), total("y", (n, m))],
                   y=(n, m))


def colliding(made: Program, target: str) -> list[Map]:
    """Maps in which iterations may add to one element of `target`, or two stores to different elements."""
    found = []
    for stmt in statements(made.body):
        adds = [p for p in stmt.body if isinstance(p, Store) and p.array == target and p.op] \
            if isinstance(stmt, Map) and stmt.domain else []
        if len({p.index for p in adds}) > 1 or any(not is_pointwise(stmt.domain, p.index) for p in adds):
            found.append(stmt)
    return found


def data(made: Program) -> dict[str, np.ndarray]:
    return {"x": np.random.default_rng(0).uniform(0.2, 0.9, made.arrays["x"].shape)}


@pytest.mark.parametrize("n", [0, 1, 2, 3, 4, 5, 9])
@pytest.mark.parametrize("offsets", [(-1, 1), (-1, 0, 1), (0, 2), (-3, 2), (4, -5, 0)], ids=str)
def test_stencils_on_a_line(n, offsets):
    made = one_dimension(n, offsets)
    check_program(made, data(made), ["x"])
    assert not colliding(reversed_program(made, ["x"]).program, "grad_x")


@pytest.mark.parametrize("n, m", [(0, 3), (1, 1), (1, 4), (2, 2), (3, 5), (5, 3)])
def test_stencils_on_a_plane(n, m):
    made = plane(n, m)
    check_program(made, data(made), ["x"])
    assert not colliding(reversed_program(made, ["x"]).program, "grad_x")


def test_rows_that_a_loop_counts_collect_each_its_own_terms():
    """Terms for two rows of `x`, three of them for the one and two for the other; what was cleared is assigned."""
    i, j = ix("i"), ix("j")
    value = at("x", i, j) * at("x", i, j + 1) + at("x", i, j + 2) + at("x", i + 1, j) * at("x", i + 1, j + 2)
    row = each(span("j", 0, 4), put("y", (j,), value))
    back = each(span("j", 0, 4), put("x", (i, j), at("y", j)))
    last = each(span("j", 0, 4), put("z", (j,), at("x", 2, j)))
    made = program({"x": (4, 6)}, [loop(span("i", 0, 3), row, back), last, total("z", (4,))], y=(4,), z=(4,))
    check_program(made, data(made), ["x"])
    cells: dict[object, int] = {}
    for stmt in statements(reversed_program(made, ["x"]).program.body):
        for p in stmt.body if isinstance(stmt, Map) else ():
            if isinstance(p, Store) and p.array == "grad_x" and p.index[0].symbols and not is_zero(p):
                cells[p.index[0]] = cells.get(p.index[0], 0) + (stmt.domain[0].trips or 0)
    assert cells == {i: 6, i + 1: 6}


def turning(n: int, extent: int, *shifts: int) -> Program:
    """`y[i, j] = x[mod(i + s, extent), j] * x[i, mod(j - s, n)] * ...` on a plane of extent by n."""
    i, j = ix("i"), ix("j")
    value = at("x", i, j)
    for s in shifts:
        value = value * at("x", mod(i + s, extent), j) + at("x", i, mod(j - s, n)) * at("x", i, j)
    ranges = (span("i", 0, extent), span("j", 0, n))
    return program({"x": (extent, n)}, [each(ranges, put("y", (i, j), value)), total("y", (extent, n))], y=(extent, n))


@pytest.mark.parametrize("n", [1, 2, 3, 5, 6])
@pytest.mark.parametrize("shifts", [(1,), (1, -1), (2, -3), (7,)], ids=str)
def test_periodic_stencils_collect_all_round(n, shifts):
    made = turning(n, 3, *shifts)
    check_program(made, data(made), ["x"])
    assert n == 1 or not colliding(reversed_program(made, ["x"]).program, "grad_x")


@pytest.mark.parametrize("index, size", [(mod(ix("i") + 1, 4), 9), (mod(ix("i") + 1, 9), 9), (mod(ix("i") * 2, 7), 7)],
                         ids=["twice", "a part", "by two"])
def test_remainders_that_turn_no_range_round_stay(index, size):
    made = program({"x": (size,)}, [each(span("i", 0, 7), put("y", ("i",), at("x", index) * at("x", index))),
                                    total("y", (7,))], y=(7,))
    check_program(made, data(made), ["x"])


def test_a_variable_in_two_dimensions_is_not_turned_round():
    i = ix("i")
    made = program({"x": (5, 5)}, [each(span("i", 0, 5), put("y", (i,), at("x", mod(i + 1, 5), i) * at("x", i, i))),
                                   total("y", (5,))], y=(5,))
    check_program(made, data(made), ["x"])


def test_a_transposed_access_is_not_mistaken_for_a_shift():
    i, j = ix("i"), ix("j")
    ranges = (span("i", 0, 3), span("j", 0, 3))
    made = program({"x": (3, 3)}, [each(ranges, put("y", (i, j), at("x", i, j) * at("x", j, i))), total("y", (3, 3))],
                   y=(3, 3))
    check_program(made, data(made), ["x"])


@pytest.mark.parametrize("index", [(0,), (ix("i") * 2,), (ix("i") + ix("j"),)], ids=["same", "strided", "sum"])
def test_accesses_that_are_no_shifts(index):
    ranges = (span("i", 0, 3), span("j", 0, 3))
    made = program({"x": (7,)}, [each(ranges, put("y", ("i", "j"), at("x", *index) * at("x", ix("j") + 1))),
                                 total("y", (3, 3))], y=(3, 3))
    check_program(made, data(made), ["x"])


@pytest.mark.parametrize("start, stop, step", [(1, 8, 2), (7, 0, -2), (0, 0, 1)])
def test_stencils_with_steps(start, stop, step):
    i = ix("i")
    made = program({"x": (10,)}, [each(span("k", 0, 10), put("y", ("k",), 0.0)),
                                  each(span("i", start, stop, step), put("y", (i,), at("x", i) * at("x", i + 1))),
                                  total("y", (10,))], y=(10,))
    check_program(made, data(made), ["x"])


def test_triangular_domains():
    i, j = ix("i"), ix("j")
    ranges = (span("i", 1, 4), span("j", 0, "i"))
    value = at("x", i, j) * at("x", i - 1, j) * at("x", i, j + 1)
    made = program({"x": (5, 5)}, [each((span("a", 0, 5), span("b", 0, 5)), put("y", ("a", "b"), 0.0)),
                                   each(ranges, put("y", (i, j), value)), total("y", (5, 5))], y=(5, 5))
    check_program(made, data(made), ["x"])


def test_the_adjoint_of_a_gather_collides_and_is_right():
    k = np.array([0, 2, 2, 1])
    made = program({"x": (3,), "k": k}, [each(span("i", 0, 4), put("y", ("i",), at("x", number_at("k", "i")))),
                                         total("y", (4,))], y=(4,))
    check_program(made, {**data(made), "k": k}, ["x"])
    assert colliding(reversed_program(made, ["x"]).program, "grad_x")
