"""Pairs in the order of their distance; the interpreter sees no difference but for the order of sums."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import sdfgad
from sdfgad.ir.algebra import Term
from sdfgad.ir.expr import Call
from sdfgad.ir.index import ix
from sdfgad.ir.program import Map, Program
from sdfgad.ir.walk import statements
from sdfgad.transform.sums.distances import pair_by_distance
from tests.support.build import F8, at, each, lit, program, put, span
from tests.support.oracle import check_same
from tests.support.thresholds import change

SIZES = (3, 4, 5, 8, 9)


def root(term: Term) -> Term:
    return Term(Call("sqrt", (term.expr,), F8))


def minus(term: Term) -> Term:
    return Term(Call("neg", (term.expr,), F8))


def pairs(n: int) -> tuple[Any, Any]:
    return span("i", 0, n), span("j", ix("i") + 1, n)


def gap(n: int) -> Map:
    return each(pairs(n), put("d", ("i", "j"), at("x", "j", 1) - at("x", "i", 1)))


def force(n: int) -> Map:
    inverse = lit(1.0) / root(at("d", "i", "j") * at("d", "i", "j") + 0.1)
    return each(pairs(n), put("f", ("i", "j"), inverse))


def first(n: int) -> Map:
    return each(pairs(n), put("s", ("i",), at("d", "i", "j") * at("f", "i", "j") * at("w", "j"), "+"))


def second(n: int) -> Map:
    return each(pairs(n), put("s", ("j",), minus(at("d", "i", "j")) * at("f", "i", "j") * at("w", "i"), "+"))


def total(n: int) -> Map:
    return each(pairs(n), put("e", (), at("w", "i") * at("w", "j") * at("f", "i", "j"), "+"))


def made(n: int, *body: Any) -> Program:
    x = np.linspace(0.3, 2.1, 2 * n).reshape(n, 2) ** 2
    zeros = (each((span("k", 0, n),), put("s", ("k",), lit(0.0))), each((), put("e", (), lit(0.0))))
    w = np.linspace(-1.0, 1.5, n)
    return program({"x": x, "w": w}, [*zeros, *body], d=(n, n), f=(n, n), s=(n,), e=(), m=(n, n))


def paired(before: Program, seen: tuple[str, ...] = ("s", "e")) -> Program:
    """The program after the pass, which must not change what is `seen`."""
    after = pair_by_distance(before.but(live_out=frozenset(seen)), 1)
    kept = before.but(arguments=("x", "w", *seen))
    start: dict[str, Any] = {n: np.zeros(before.arrays[n].shape) for n in seen}
    n = before.arrays["w"].shape[0]
    start |= {"x": np.linspace(0.3, 2.1, 2 * n).reshape(n, 2) ** 2, "w": np.linspace(-1.0, 1.5, n)}
    check_same(kept, after.but(arguments=kept.arguments), start, tolerance=1e-14)
    return after


def rows(after: Program) -> list[Map]:
    """Maps over pairs that are not over a triangle any more."""
    maps = [s for s in statements(after.body) if isinstance(s, Map) and len(s.domain) == 2]
    return [m for m in maps if m.domain[0].var == "j" and m.domain[1].var == "i"]


@pytest.mark.parametrize("n", SIZES)
def test_every_pair_is_met_once(n: int) -> None:
    after = paired(made(n, gap(n), force(n), first(n), second(n), total(n)))
    assert len(rows(after)) == 5
    assert after.arrays["d_pairs"].shape == (n // 2, n)


@pytest.mark.parametrize("n", (5, 8))
def test_lines_are_filled_again_when_what_they_hold_changes(n: int) -> None:
    change = each((span("k", 0, n),), put("w", ("k",), at("w", "k") * at("w", "k") + 2.0))
    after = paired(made(n, gap(n), force(n), first(n), second(n), change, first(n), second(n)))
    assert len(rows(after)) == 6


def test_sums_of_values_of_different_age_do_not_belong_together() -> None:
    change = each((span("k", 0, 6),), put("w", ("k",), at("w", "k") * at("w", "k") + 2.0))
    before = made(6, gap(6), force(6), first(6), change, second(6))
    assert paired(before).body == before.body


@pytest.mark.parametrize("changed", ["s", "m"], ids=["scaled", "looked at"])
@pytest.mark.parametrize("n", (5, 6))
def test_sums_that_are_scaled_or_looked_at_on_the_way_do_not_belong_together(n: int, changed: str) -> None:
    index = ("k",) if changed == "s" else ("k", 0)
    between = each((span("k", 0, n),), put(changed, index, at("s", "k") * 2.0))
    clear = each((span("i", 0, n), span("j", 0, n)), put("m", ("i", "j"), lit(0.0)))
    before = made(n, clear, gap(n), force(n), first(n), between, second(n))
    assert paired(before, ("s", "m")).body == before.body


@pytest.mark.parametrize("n", (5, 8))
def test_sums_are_complete_before_they_are_read(n: int) -> None:
    use = each((span("k", 0, n),), put("w", ("k",), at("s", "k") * 0.5))
    again = each(pairs(n), put("e", (), at("s", "i") * at("s", "j") * at("f", "i", "j"), "+"))
    after = paired(made(n, gap(n), force(n), first(n), second(n), use, again, total(n)))
    assert len(rows(after)) == 6


def _one_way(n: int) -> list[Map]:
    return [gap(n), force(n), first(n)]


def _other_weight(n: int) -> list[Map]:
    other = each(pairs(n), put("s", ("j",), minus(at("d", "i", "j")) * at("f", "i", "j"), "+"))
    return [gap(n), force(n), first(n), other]


def _odd_total(n: int) -> list[Map]:
    return [gap(n), force(n), total(n), each(pairs(n), put("e", (), at("d", "i", "j") * at("f", "i", "j"), "+"))]


def _lopsided(n: int) -> list[Map]:
    value = each(pairs(n), put("f", ("i", "j"), at("x", "i", 0) * at("x", "i", 0) + at("x", "j", 1)))
    return [value, total(n)]


def _diagonal(n: int) -> list[Map]:
    return [gap(n), force(n), each(pairs(n), put("e", (), at("f", "i", "j") * at("m", "i", "j"), "+"))]


@pytest.mark.parametrize("body", [_one_way, _other_weight, _odd_total, _lopsided, _diagonal])
def test_what_depends_on_the_order_of_a_pair_stays(body: Callable[[int], list[Map]]) -> None:
    before = made(6, *body(6))
    after = paired(before)
    assert not [m for m in rows(after) if any(p.array == "f_pairs" for p in m.body if hasattr(p, "array"))]


def test_matrices_that_others_read_stay() -> None:
    other = each((span("i", 0, 6), span("j", 0, 6)), put("m", ("i", "j"), at("f", "j", "i")))
    before = made(6, gap(6), force(6), first(6), second(6), other)
    assert paired(before, ("s", "m")).body == before.body


def test_long_lines_stay_in_triangles(monkeypatch: pytest.MonkeyPatch) -> None:
    before = made(8, gap(8), force(8), first(8), second(8))
    change(monkeypatch, pair_lines=8 * 8)
    assert pair_by_distance(before.but(live_out=frozenset(("s", "e"))), 1).body == before.body


def energy(x: np.ndarray, w: np.ndarray, steps: int) -> np.ndarray:
    """Repelling bodies on a line, and what holds them together."""
    v = np.zeros_like(x)
    e = np.zeros(steps)
    for t in range(steps):
        d = x[:, None] - x[None, :]
        r = np.sqrt(d ** 2 + 0.05)
        v += 0.01 * (np.sum(d / r ** 3 * w, axis=1) - x)
        x = x + 0.01 * v
        e[t] = np.sum(np.triu(np.outer(w, w) / r, 1))
    return e


@pytest.mark.parametrize("n", (49, 50))
@pytest.mark.parametrize("threads", (1, 2, 3))
def test_gradients_of_whole_programs(n: int, threads: int) -> None:
    rng = np.random.default_rng(n)
    x, w = rng.normal(size=n), 0.5 + rng.random(n)
    seed, dx, dw = rng.random(4), rng.normal(size=n), rng.normal(size=n)
    with sdfgad.config(num_threads=threads):
        _, pullback = sdfgad.vjp(energy, x.copy(), w, 4, wrt=("x", "w"))
        gradient = pullback(seed)
    h = 1e-6
    there, back = (energy(x + s * dx, w + s * dw, 4) @ seed for s in (h, -h))
    assert np.isclose(gradient["x"] @ dx + gradient["w"] @ dw, (there - back) / (2 * h), rtol=1e-6)
