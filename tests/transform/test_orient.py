"""Temporaries lie in memory as the maps that touch them go through them, and every value stays what it was."""
from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import sdfgad
from sdfgad.codegen.cpu.schedule.layout.orient import orient_temporaries
from sdfgad.ir.index import elem, ix
from sdfgad.ir.program import Array, Lib, Loop, Program, Stmt
from tests.support.build import F8, I8, at, each, lit, loop, put, span, when
from tests.support.oracle import check_same

N, M, K = 10, 12, 9
I, J, L = span("i", 0, N), span("j", 0, M), span("l", 0, K)
SHAPES = {"x": (N, M), "z": (M, N), "y": (M, N), "u": (K, N, M), "v": (M, N), "t": (N, M), "s": (N, M, K),
          "small": (3, 2)}
OWN = ("t", "s", "small")
FILL = each((J, I), put("t", ("i", "j"), at("z", "j", "i") * 2.0))
SWEEP = loop(span("j", 1, M), each(I, put("t", ("i", "j"), at("t", "i", ix("j") - 1) * at("z", "j", "i"), "+")))
USE = each((J, I), put("y", ("j", "i"), at("t", "i", "j")))


def shapes(*body: Stmt, keep: tuple[str, ...] = ("y",), least: int = 0,
           arrays: dict[str, Array] | None = None) -> dict[str, tuple[int, ...]]:
    """The shapes of temporaries after the pass; what the program leaves stays the same, to the bit."""
    made = {n: Array(n, s, F8, "transient" if n in OWN else "argument") for n, s in SHAPES.items()} | (arrays or {})
    before = Program("p", made, tuple(n for n, a in made.items() if a.role == "argument"), body)
    after = orient_temporaries(before.but(live_out=frozenset(keep)), least)
    check_same(before, after, tolerance=0.0)
    return {n: after.arrays[n].shape for n in OWN}


def test_a_sweep_along_rows():
    assert shapes(FILL, SWEEP, USE)["t"] == (M, N)


def test_a_sweep_downwards_with_steps_and_a_branch():
    down = loop(span("j", M - 2, -1, step=-2), each(I, put("t", ("i", "j"), at("t", "i", ix("j") + 1), "+")))
    branch = when(lit(1.0).compare("lt", at("z", 0, 0)), (SWEEP,), (down,))
    assert shapes(FILL, branch, down, USE)["t"] == (M, N)


def test_three_dimensions_bring_the_best_one_to_the_end():
    fill = each((L, I, J), put("s", ("i", "j", "l"), at("u", "l", "i", "j")))
    use = each((L, I, J), put("u", ("l", "i", "j"), at("s", "i", "j", "l") * 3.0))
    assert shapes(fill, use, keep=("u",))["s"] == (N, K, M)


@pytest.mark.parametrize("domain", [(I, span("j", 0, ix("i") + 1)), (I, span("j", "i", M)),
                                    (span("i", N - 1, -1, step=-1), J)], ids=["triangle", "upper", "negative step"])
def test_domains_that_are_no_box(domain: tuple):
    some = each(domain, put("t", ("i", "j"), at("z", "j", "i"), "+"))
    assert shapes(FILL, some, SWEEP, USE)["t"] == (M, N)


def test_a_map_that_reads_and_writes_several_of_its_elements():
    both = each((J, I), put("t", ("i", "j"), at("z", "j", "i")), put("v", ("j", "i"), at("t", "i", "j") * 2.0))
    assert shapes(FILL, both, SWEEP, USE)["t"] == (M, N)


def test_what_lies_as_it_should_stays():
    fill = each((I, J), put("t", ("i", "j"), at("x", "i", "j")))
    assert shapes(fill, each((I, J), put("x", ("i", "j"), at("t", "i", "j") * 2.0)))["t"] == (N, M)


def test_what_gains_as_much_as_it_loses_stays():
    fill = each((I, J), put("t", ("i", "j"), at("x", "i", "j")))
    assert shapes(fill, USE)["t"] == (N, M)


def test_a_few_columns_beside_much_that_goes_along_rows_stay():
    rows = loop(span("l", 0, 20), each((I, J), put("t", ("i", "j"), at("x", "i", "j"), "+")))
    assert shapes(FILL, rows, loop(span("j", 1, 3), each(I, put("t", ("i", "j"), at("t", "i", ix("j") - 1)))),
                  USE)["t"] == (N, M)


def test_a_column_beside_much_that_does_not_care_stays():
    column = each(I, put("t", ("i", 0), at("v", 0, "i")))
    rows = loop(span("l", 0, 3), each((I, J), put("x", ("i", "j"), at("t", "i", 0) * 2.0, "+")))
    assert shapes(column, rows, keep=("x",))["t"] == (N, M)
    assert shapes(column, loop(span("l", 0, 3), each(I, put("v", (0, "i"), at("t", "i", 0), "+"))), keep=("v",))["t"] \
        == (M, N)


def test_arrays_of_others_stay():
    assert shapes(FILL, SWEEP, keep=("t",))["t"] == (N, M)
    argument = {"t": Array("t", (N, M), F8, "argument")}
    assert shapes(FILL, SWEEP, USE, arrays=argument)["t"] == (N, M)
    tape = {"t": replace(Array("t", (N, M), F8), role="constant")}
    made = Program("p", {n: Array(n, s, F8, "argument") for n, s in SHAPES.items()} | tape, ("z", "y"), (USE,))
    assert orient_temporaries(p := made.but(live_out=frozenset(("y",))), 0) is p


def test_small_arrays_stay():
    assert shapes(FILL, SWEEP, USE, least=N * M * 8)["t"] == (M, N)
    assert shapes(FILL, SWEEP, USE, least=N * M * 8 + 1)["t"] == (N, M)


def test_what_others_than_maps_touch_stays():
    made = {n: Array(n, s, F8, "argument") for n, s in SHAPES.items()} | {"t": Array("t", (N, M), F8)}
    product = Lib("matmul", (Array("v", (M, N), F8).whole,), (made["z"].whole, Array("t", (N, M), F8).whole))
    before = Program("p", made, ("z", "y", "v"), (FILL, SWEEP, product, USE))
    assert orient_temporaries(p := before.but(live_out=frozenset(("y", "v"))), 0) is p
    guarded = when(at("t", 0, 0).compare("lt", lit(0.0)), (USE,))
    assert shapes(FILL, SWEEP, guarded)["t"] == (N, M)


def test_what_belongs_to_an_iteration_stays():
    own = Loop(span("l", 0, 2), (FILL, SWEEP, each((J, I), put("u", ("l", "i", "j"), at("t", "i", "j")))),
               parallel=True, private=("t",))
    assert shapes(own, keep=("u",))["t"] == (N, M)


def test_numbers_that_are_indices_stay():
    made = {n: Array(n, s, F8, "argument") for n, s in SHAPES.items()} | {"t": Array("t", (N, M), I8)}
    look = each((J, I), put("y", ("j", "i"), at("z", elem("t", ("i", "j")), "i")))
    before = Program("p", made, ("z", "y"), (each((J, I), put("t", ("i", "j"), lit(1, I8))), look))
    assert orient_temporaries(p := before.but(live_out=frozenset(("y",))), 0) is p


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_a_gradient_with_it_is_that_of_differences(dtype: type):
    def solve(u):
        w = np.zeros_like(u)
        for j in range(1, u.shape[0]):
            w[:, j] = u[j, :] + 0.5 * w[:, j - 1]
        for j in range(u.shape[0] - 2, -1, -1):
            u[j, :] = w[:, j] * w[:, j] + 0.25 * u[j + 1, :]
        return np.sum(u)

    n = 96
    u, d = (np.random.default_rng(k).random((n, n)).astype(dtype) for k in (1, 2))
    found = sdfgad.grad(solve)(u.copy())
    near = float(np.sum(found.astype(np.float64) * d))
    h = 1e-5
    wide, slope = u.astype(np.float64), d.astype(np.float64)
    far = (solve(wide + h * slope) - solve(wide - h * slope)) / (2 * h)
    assert near == pytest.approx(far, rel=1e-7 if dtype == np.float64 else 1e-4)
