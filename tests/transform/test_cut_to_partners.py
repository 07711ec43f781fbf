"""Maps over a few points more than an earlier one are cut, so that what they have in common can run in one pass."""
from __future__ import annotations

from math import prod

import numpy as np
import pytest

from sdfgad.ir.index import ix
from sdfgad.ir.program import Array, Map, Program, Stmt
from sdfgad.ir.walk import statements
from sdfgad.transform.fusion.cut_to_partners import cut_to_partners
from tests.support.build import F8, at, each, loop, put, span
from tests.support.oracle import check_same
from tests.support.thresholds import change

N, M = 40, 50
I, J = ix("i"), ix("j")
INNER = each((span("i", 1, N - 1), span("j", 1, M - 1)),
             put("y", (I, J), at("x", I, J) + at("x", I - 1, J) + at("x", I + 1, J)))
WHOLE = each((span("a", 0, N), span("b", 0, M)), put("z", ("a", "b"), at("x", "a", "b") * 2.0, "+"))
FIRST_ROW = each((span("j", 0, M),), put("y", (0, J), at("x", 0, J)))


@pytest.fixture(autouse=True)
def little_is_enough(monkeypatch: pytest.MonkeyPatch) -> None:
    change(monkeypatch, cut_map=512)


def made(*body: Stmt) -> list[Map]:
    """The maps afterwards; the meaning stays."""
    arrays = {n: Array(n, (N, M), F8, "argument") for n in "wxyz"}
    before = Program("p", arrays, tuple(arrays), body)
    after = cut_to_partners(before)
    check_same(before, after, {n: np.random.default_rng(k).integers(1, 9, (N, M)) * 1.0 for k, n in enumerate(arrays)})
    return [s for s in statements(after.body) if isinstance(s, Map)]


def points(stmt: Map) -> int:
    return prod(r.trips or 0 for r in stmt.domain)


def test_the_common_points_follow_the_earlier_map() -> None:
    found = made(INNER, FIRST_ROW, WHOLE)
    assert found[0] == INNER and points(found[1]) == points(INNER) and found[2] == FIRST_ROW
    assert [points(m) for m in found[3:]] == [M, M, N - 2, N - 2]


def test_points_that_meet_at_another_place() -> None:
    ahead = each((span("a", -2, N - 2), span("b", 3, M + 3)),
                 put("z", (ix("a") + 2, ix("b") - 3), at("x", ix("a") + 2, ix("b") - 3)))
    found = made(INNER, ahead)
    assert [points(m) for m in found[1:]] == [points(INNER), M, M, N - 2, N - 2]
    assert found[1].domain == (span("a", -1, N - 3), span("b", 4, M + 2))


def test_inside_loops() -> None:
    assert len(made(loop(span("t", 0, 2), INNER, WHOLE))) == 6


def test_sums_into_what_the_earlier_map_adds_to() -> None:
    first = each(INNER.domain, put("z", (I, J), at("x", I, J) * at("x", I + 1, J), "+"))
    assert len(made(first, WHOLE)) == 6


@pytest.mark.parametrize("body", [
    (INNER, INNER),
    (each((span("i", 8, N - 8), span("j", 1, M - 1)), *INNER.body), WHOLE),
    (INNER, each(WHOLE.domain, put("z", ("a", "b"), at("w", "a", "b")))),
    (INNER, each((span("a", 1, N),), put("y", (0, "a"), at("x", 0, "a")))),
    (each(INNER.domain, put("y", (I, J), at("x", I, J))),
     each((span("a", 1, N), span("b", 0, M)), put("z", ("a", "b"), at("x", "a", "b") * at("y", ix("a") - 1, "b")))),
    (INNER, each(WHOLE.domain, put("z", (0, "b"), at("x", "a", "b"), "+"))),
    (INNER, each((span("j", 0, M),), put("x", (3, J), 0.0)), WHOLE),
    (INNER, each((span("j", 0, M),), put("z", (3, J), 0.0)), WHOLE),
], ids=["same points", "many points beside", "nothing in common", "few points", "read elsewhere",
        "many to one", "changed between", "target changed between"])
def test_left_alone(body: tuple[Map, ...]) -> None:
    assert made(*body) == list(body)
