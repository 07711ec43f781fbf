"""What narrow strips keep lies strip after strip, and every value stays what it was."""
from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import sdfgad
from sdfgad.ir.index import ix
from sdfgad.ir.program import Array, Loop, Program, Stmt
from sdfgad.transform.rows.strip_records import line_up_records
from tests.support.build import F8, at, each, loop, put, span
from tests.support.oracle import check_same
from tests.support.thresholds import change

T, N, M, W = 3, 5, 24, 8
SHAPES = {"x": (N, M), "y": (N, M), "tape": (T, N, M)}
ROWS = span("i", 0, N)


@pytest.fixture(autouse=True)
def _everything_pays(monkeypatch: pytest.MonkeyPatch) -> None:
    change(monkeypatch, recorded_bytes=0)


def strip(body: Stmt, width: int = W, var: str = "s", steps: tuple[int, int, int] = (0, T, 1)) -> Loop:
    """All strips, one at a time or together, and all steps of each."""
    return replace(loop(span(var, 0, M // width), loop(span("t", *steps), body)), parallel=True)


def columns(width: int = W, var: str = "s", ahead: int = 0):
    start = ix(var) * width + ahead
    return span("j", start, start + width)


KEEP = strip(each((ROWS, columns()), put("tape", ("t", "i", "j"), at("x", "i", "j")),
                  put("x", ("i", "j"), at("x", "i", "j") * 1.5)))
BACK = strip(each((ROWS, columns(var="p")), put("y", ("i", "j"), at("tape", "t", "i", "j"), "+")), var="p",
             steps=(T - 1, -1, -1))


def shape(*body: Stmt, keep: tuple[str, ...] = ("y",)) -> tuple[int, ...]:
    """The shape of the record after the pass; what the program leaves stays the same, to the bit."""
    made = {n: Array(n, s, F8, "transient" if n == "tape" else "argument") for n, s in SHAPES.items()}
    before = Program("p", made, ("x", "y"), body)
    after = line_up_records(before.but(live_out=frozenset(keep)))
    check_same(before, after, tolerance=0.0)
    return after.arrays["tape"].shape


def test_strips_of_two_loops():
    assert shape(KEEP, BACK) == (M // W, T, N, W)


def test_positions_may_be_counted_from_the_strip():
    near = strip(each((ROWS, span("j", 0, W)), put("y", ("i", ix("s") * W + ix("j")),
                                                   at("tape", "t", "i", ix("s") * W + ix("j")), "+")))
    assert shape(KEEP, near) == (M // W, T, N, W)


@pytest.mark.parametrize("other", [
    strip(each((ROWS, columns(4)), put("y", ("i", "j"), at("tape", "t", "i", "j"), "+")), 4),
    loop(span("t", 0, T), each((ROWS, span("j", 0, M)), put("y", ("i", "j"), at("tape", "t", "i", "j"), "+"))),
    replace(loop(span("s", 0, 2), loop(span("t", 0, T), each((ROWS, columns(ahead=2)), put(
        "y", ("i", "j"), at("tape", "t", "i", "j"), "+")))), parallel=True),
    strip(each((ROWS, columns()), put("y", ("i", "j"), at("tape", "t", "s", "j"), "+"))),
], ids=["of another width", "all at once", "across strips", "a row by the number of the strip"])
def test_other_accesses_keep_the_record_as_it_is(other: Stmt):
    assert shape(KEEP, other) == (T, N, M)


def test_loops_that_are_not_parallel_have_no_strips():
    assert shape(replace(KEEP, parallel=False), BACK) == (T, N, M)


def test_what_somebody_reads_afterwards_stays():
    assert shape(KEEP, BACK, keep=("y", "tape")) == (T, N, M)


def test_wide_strips_stay(monkeypatch: pytest.MonkeyPatch):
    change(monkeypatch, narrow_strip=W)
    assert shape(KEEP, BACK) == (T, N, M)


def test_small_records_stay(monkeypatch: pytest.MonkeyPatch):
    change(monkeypatch, recorded_bytes=1 << 20)
    assert shape(KEEP, BACK) == (T, N, M)


def fluxes(x: np.ndarray, k: np.ndarray, steps: int) -> float:
    for _ in range(steps):
        flux = k[1:] * (x[1:] - x[:-1]) * x[1:]
        x[1:-1] = x[1:-1] + 0.1 * (flux[1:] - flux[:-1])
    return np.sum(x * x)


def test_slopes_of_strips_are_those_of_the_whole():
    rng = np.random.default_rng(0)
    args = rng.random((256, 64)), rng.random((256, 64)), 8
    found = sdfgad.grad(fluxes, wrt=("x", "k"))(*args)
    parts = [sdfgad.grad(fluxes, wrt=("x", "k"))(args[0][:, c:c + 1].copy(), args[1][:, c:c + 1].copy(), 8)
             for c in (0, 7, 8, 63)]
    for part, c in zip(parts, (0, 7, 8, 63), strict=True):
        np.testing.assert_allclose(found.x[:, c:c + 1], part.x, rtol=1e-12)
        np.testing.assert_allclose(found.k[:, c:c + 1], part.k, rtol=1e-12)
