"""Sums over all pairs take each pair once where what they read is symmetric; the interpreter sees no difference."""
from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from sdfgad.analysis.loops.exchange import Exchange
from sdfgad.ir.algebra import Term, where
from sdfgad.ir.expr import Call
from sdfgad.ir.index import ix
from sdfgad.ir.program import Map, Program
from sdfgad.ir.walk import statements
from sdfgad.transform.sums.symmetric import halve_symmetric
from tests.support.build import BOOL, F8, at, each, lit, program, put, span
from tests.support.oracle import check_same

N = 6
X = np.linspace(0.3, 2.1, N) ** 2
W = np.linspace(-1.0, 1.5, N)
BOX = (span("i", 0, N), span("j", 0, N))
XI, XJ, WI, WJ = at("x", "i"), at("x", "j"), at("w", "i"), at("w", "j")


def root(term: Term) -> Term:
    return Term(Call("sqrt", (term.expr,), F8))


def above(term: Term, bound: float) -> Term:
    return Term(Call("gt", (term.expr, lit(bound).expr), BOOL))


def power(term: Term, exponent: float) -> Term:
    return Term(Call("pow", (term.expr, lit(exponent).expr), F8))


DISTANCE = each(BOX, put("d", ("i", "j"), XJ - XI))
SQUARES = each(BOX, put("q", ("i", "j"), power(at("d", "i", "j"), 2.0) + 0.1))
INVERSE = each(BOX, put("f", ("i", "j"), lit(1.0) / root(at("q", "i", "j"))))
FORCE = each(BOX, put("s", ("i",), at("d", "i", "j") * at("f", "i", "j") * WJ, "+"))
BACK = each(BOX, put("s", ("j",), at("f", "i", "j") * WI, "+"))
TOTAL = each(BOX, put("e", (), at("f", "i", "j") * WI * WJ, "+"))
CHAIN = (DISTANCE, SQUARES, INVERSE)


def made(*body: Any) -> Program:
    zeros = (each((span("k", 0, N),), put("s", ("k",), lit(0.0))), each((), put("e", (), lit(0.0))))
    return program({"x": X, "w": W}, [*zeros, *body], d=(N, N), q=(N, N), f=(N, N), s=(N,), e=(), m=(N, N))


def halved(before: Program, seen: tuple[str, ...] = ("s", "e"), long_row: int = 2) -> list[Map]:
    """The maps over pairs after the pass, which must not change what is `seen`."""
    after = halve_symmetric(before.but(live_out=frozenset(seen)), long_row)
    kept = before.but(arguments=("x", "w", *seen))
    start = {n: np.zeros(before.arrays[n].shape) for n in seen} | {"x": X, "w": W}
    check_same(kept, after.but(arguments=kept.arguments), start, tolerance=1e-14)
    return [s for s in statements(after.body) if isinstance(s, Map) and len(s.domain) == 2]


def halves(maps: list[Map]) -> bool:
    return all(s.domain[1].start == ix(s.domain[0].var) + 1 for s in maps)


@pytest.mark.parametrize("sums", [(FORCE,), (BACK,), (TOTAL,), (FORCE, TOTAL), (FORCE, BACK)], ids=len)
def test_pairs_are_visited_once(sums: tuple[Map, ...]) -> None:
    maps = halved(made(*CHAIN, *sums))
    assert len(maps) == len(CHAIN) + 2 * len(sums)
    assert halves(maps)


def test_where_a_mask_keeps_the_diagonal_out() -> None:
    masked = each(BOX, put("f", ("i", "j"), where(above(at("q", "i", "j"), 0.2), lit(1.0) / root(at("q", "i", "j")),
                                                  at("q", "i", "j"))))
    assert halves(halved(made(DISTANCE, SQUARES, masked, FORCE)))


WHOLE = {
    "not symmetric": each(BOX, put("d", ("i", "j"), XJ - XI * 2.0)),
    "twice an index": each(BOX, put("d", ("i", "j"), XJ - at("x", "j"))),
    "weighted": each(BOX, put("d", ("i", "j"), (XJ - XI) * WI)),
}


@pytest.mark.parametrize("first", WHOLE.values(), ids=WHOLE)
def test_what_is_not_symmetric_stays(first: Map) -> None:
    assert not any(s.domain[1].start.symbols for s in halved(made(first, SQUARES, INVERSE, FORCE)))


@pytest.mark.parametrize("reader", [
    each(BOX, put("m", ("i", "j"), at("f", "j", "i"))),
    each(BOX, put("m", ("i", "j"), at("f", "i", "j") * WI)),
    each((span("k", 0, N),), put("s", ("k",), at("f", "k", 0), "+")),
    each((span("i", 0, N), span("j", 1, N)), put("s", ("i",), at("f", "i", "j"), "+")),
], ids=["turned", "kept", "a column", "fewer"])
def test_matrices_that_others_read_stay(reader: Map) -> None:
    maps = halved(made(*CHAIN, FORCE, reader), ("s", "e", "m"))
    assert [s for s in maps if s.domain == BOX]


def test_matrices_that_are_seen_stay() -> None:
    assert not any(s.domain[1].start.symbols for s in halved(made(*CHAIN, FORCE), ("s", "e", "f")))


def test_few_pairs_and_cheap_values_are_left_alone() -> None:
    assert not any(s.domain[1].start.symbols for s in halved(made(*CHAIN, FORCE), long_row=N))
    cheap = each(BOX, put("f", ("i", "j"), at("q", "i", "j") * 2.0))
    assert not any(s.domain[1].start.symbols for s in halved(made(DISTANCE, SQUARES, cheap, FORCE)))


def test_the_sign_of_a_zero_difference_is_not_passed_on() -> None:
    # 1 / (x[j] - x[i]) is +inf both ways where two are equal.
    pole = each(BOX, put("s", ("i",), lit(1.0) / at("d", "i", "j") * at("f", "i", "j"), "+"))
    after = halve_symmetric(made(*CHAIN, pole).but(live_out=frozenset(("s",))), 2)
    assert not any(s.domain[1].start.symbols for s in statements(after.body) if isinstance(s, Map) and s.domain[1:])


TURNED = {
    "a sum": (*CHAIN, each(BOX, put("s", ("i",), at("f", "j", "i") * WJ, "+"))),
    "a matrix": (DISTANCE, each(BOX, put("q", ("i", "j"), power(at("d", "j", "i"), 2.0) + 0.1)), INVERSE, FORCE),
}


@pytest.mark.parametrize("body", TURNED.values(), ids=TURNED)
def test_matrices_that_are_read_turned_stay(body: tuple[Map, ...]) -> None:
    assert any(s.domain == BOX for s in halved(made(*body)))


ADDED = each(BOX, put("e", (), at("f", "i", "j") * at("s", "i") * at("s", "j"), "+"))
OTHER = each(BOX, put("w", ("j",), at("f", "i", "j") * XI, "+"))


@pytest.mark.parametrize("sums", [(FORCE, ADDED), (FORCE, OTHER), (FORCE, OTHER, ADDED)],
                         ids=["one reads another", "one changes what another reads", "both"])
def test_sums_that_need_each_other_keep_their_order(sums: tuple[Map, ...]) -> None:
    assert halves(halved(made(*CHAIN, *sums), ("s", "e", "w")))


@pytest.mark.parametrize(("term", "kind"), [
    (XJ - XI, "odd"), (XI + XJ, "same"), (XI * XJ, "same"), (power(XJ - XI, 2.0), "same"), (XI - WJ, None),
    ((XJ - XI) * (WJ - WI), "even"), ((XJ - XI) * WI, None), ((XJ - XI) * (XJ - XI), "same"), (lit(3.0) * XI, None),
    ((XJ - XI) / (XI + XJ), "odd"), ((XI + XJ) / (XJ - XI), None), (root(XI * XJ), "same"),
    (lit(2.0) - XI * XJ, "same"),
])
def test_what_becomes_of_a_value(term: Term, kind: str | None) -> None:
    assert Exchange("i", "j").kind(term.expr) == kind
