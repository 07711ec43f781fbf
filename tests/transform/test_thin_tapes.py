"""Of the records of an array that a loop updates, every other one is kept; what lies between is updated again."""
from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest

import sdfgad
from sdfgad.codegen.cpu.schedule.layout.thin_tapes import thin_tapes
from sdfgad.ir.algebra import Term
from sdfgad.ir.expr import call
from sdfgad.ir.index import ix
from sdfgad.ir.program import If, Loop, Map, Program, Range, Stmt, Store
from sdfgad.ir.walk import statements
from tests.support.build import at, each, loop, one, program, put, span, when
from tests.support.oracle import check_same
from tests.support.passes import replace_pass

N, M, T = 5, 9, 7
U, V = ix("u"), ix("v")
SHAPES = {"a": (N, M), "q": (N, T), "g": (N, T), "h": (N, M), "w": (T, M), "r": (T, M)}


def grid(var: str, first: Sequence[int | str] = (), last: object = M) -> tuple[Range, Range]:
    return span("d", 0, N), span("j", ix(var) + 1 if first == () else first[0], last)  # type: ignore[arg-type]


RECORD = put("tape", (U, "d", "j"), at("a", "d", "j"))
UPDATE = put("a", ("d", "j"), at("r", U, "j") * at("q", "d", U) * -1.0, "+")
MADE = each(span("j", 0, M), put("r", (U, "j"), at("a", 0, "j") * 0.25))
READ = put("g", ("d", V), at("tape", V, "d", "j") * at("w", V, "j"), "+")


def written(*, made: Sequence[Stmt] = (MADE,), parts: Sequence[Store] = (RECORD, UPDATE), late: Sequence[Stmt] = (),
            between: Sequence[Stmt] = (), ahead: Range | None = None, domain: Sequence[Range] | None = None,
            back: Range | None = None, reader: Stmt | None = None, shapes: dict[str, object] | None = None,
            before: Sequence[Stmt] = (), tape: tuple[int, ...] = (T, N, M)) -> Program:
    stmt = each(domain or grid("u"), *parts)
    read = reader or each(grid("v"), READ)
    body = [*before, loop(ahead or span("u", 0, T), *made, stmt, *late), *between,
            loop(back or span("v", T - 1, -1, -1), read)]
    return program({**SHAPES, **(shapes or {})}, body, "g", tape=tape)  # type: ignore[dict-item]


def thinned(before: Program, tolerance: float = 0.0) -> Program:
    after = thin_tapes(before.but(live_out=frozenset(tuple(SHAPES))), 0)
    if after is not before:
        check_same(before, after, tolerance=tolerance)
    return after


def branches(made: Program) -> int:
    return sum(isinstance(s, If) for s in statements(made.body))


@pytest.mark.parametrize("first, trips", [(0, 0), (0, 1), (0, 2), (0, 5), (0, 7), (1, 1), (1, 6), (3, 4)])
def test_every_other_record_is_kept(first, trips):
    last = first + trips
    after = thinned(written(ahead=span("u", first, last), back=span("v", last - 1, first - 1, -1)))
    assert branches(after) == 2
    ahead = next(s for s in after.body if isinstance(s, Loop))
    either = next(s for s in ahead.body if isinstance(s, If))
    assert [len(s.body) for b in (either.then, either.orelse) for s in b if isinstance(s, Map)] == [2, 1]


def test_domains_that_stay_or_shrink_at_both_ends():
    for low, high in ((ix(0), ix(M)), (U, ix(M) - U), (ix(2), ix(M - 2))):
        both = [(span("d", 0, N), span("j", low.subs({"u": v}), high.subs({"u": v}))) for v in ("u", "v")]
        assert branches(thinned(written(domain=both[0], reader=each(both[1], READ)))) == 2


def test_other_names_in_the_reading_map():
    read = put("g", ("x", V), at("tape", V, "x", "y") * 2.0, "+")
    there = each((span("x", 0, N), span("y", V + 1, M)), read)
    assert branches(thinned(written(reader=there))) == 2


def test_what_an_array_holds_from_before_the_loop():
    given = each((span("k", 0, T), span("j", 0, M)), put("r", ("k", "j"), at("w", "k", "j")))
    assert branches(thinned(written(made=(), before=(given,)))) == 2
    assert branches(thinned(written(made=()))) == 2


def compared() -> Store:
    value = at("tape", V, "d", "j").expr
    positive = call("gt", value, at("w", V, "j").expr, dtype=np.dtype(bool))
    return put("g", ("d", V), Term(call("select", positive, value, at("w", V, "j").expr, dtype=np.dtype("f8"))), "+")


def sometimes() -> Program:
    """The record under a condition."""
    made = written()
    ahead = made.body[0]
    assert isinstance(ahead, Loop)
    test = Term(call("lt", at("w", 0, 0).expr, at("w", 0, 1).expr, dtype=np.dtype(bool)))
    return made.but(body=(replace(ahead, body=(*ahead.body[:-1], when(test, ahead.body[-1:]))), *made.body[1:]))


SPOIL_R = each(span("j", 0, M), put("r", (U, "j"), at("w", U, "j")))
REFUSED = {
    "the domain grows": written(domain=(span("d", 0, N), span("j", 0, U + 1)),
                                reader=each((span("d", 0, N), span("j", 0, V + 1)), READ)),
    "the domain moves by one": written(domain=(span("d", 0, N), span("j", U, U + 2)),
                                       reader=each((span("d", 0, N), span("j", V, V + 2)), READ)),
    "the reader goes elsewhere": written(reader=each((span("d", 0, N), span("j", V, M)), READ)),
    "something else writes the array": written(late=(one("a", (2, 3), 1.0),)),
    "something else writes the array before": written(made=(MADE, one("a", (2, 3), 1.0))),
    "the update comes first": written(parts=(UPDATE, RECORD)),
    "the update replaces": written(parts=(RECORD, put("a", ("d", "j"), at("r", U, "j") * at("q", "d", U)))),
    "the update moves": written(parts=(put("tape", (U, "d", "j"), at("a", "d", U + "j")),
                                       put("a", ("d", U + "j"), at("r", U, "j"), "+")),
                                domain=(span("d", 0, N), span("j", 0, 2)),
                                reader=each((span("d", 0, N), span("j", 0, 2)), READ)),
    "the domain grows from below": written(domain=(span("d", 0, N), span("j", ix(T) - U, M)),
                                           reader=each((span("d", 0, N), span("j", ix(T) - V, M)), READ)),
    "the term is made after it is read": written(late=(SPOIL_R,)),
    "the term is replaced between the loops": written(between=(one("r", (2, 3), 1.0),)),
    "the term is replaced by a later iteration": written(
        made=(MADE, each(span("j", 0, M), put("r", (0, "j"), at("a", 1, "j"))))),
    "the term reads another row": written(parts=(RECORD, put("a", ("d", "j"), at("r", 0, "j") * at("q", "d", U), "+"))),
    "the term reads the whole of the array": written(parts=(RECORD, put("a", ("d", "j"), at("h", "d", "j"), "+"))),
    "the term is dear": written(parts=(RECORD, put("a", ("d", "j"), at("r", U, "j") / at("q", "d", U), "+"))),
    "the tape is overwritten": written(
        parts=(put("tape", (0, "d", "j"), at("a", "d", "j")), UPDATE),
        reader=each(grid("v"), put("g", ("d", V), at("tape", 0, "d", "j") * at("w", V, "j"), "+"))),
    "the tape is read twice": written(between=(each(span("k", 0, T), put("g", (0, "k"), at("tape", "k", 0, 8), "+")),)),
    "the tape is filled before": written(before=(one("tape", (1, 2, 3), 4.0),)),
    "the tape is read at another place": written(
        reader=each(grid("v"), put("g", ("d", V), at("tape", V, ix(N - 1) - ix("d"), "j"), "+"))),
    "the record is compared": written(reader=each(grid("v"), compared())),
    "the record is put back": written(reader=each(grid("v"), put("h", ("d", "j"), at("tape", V, "d", "j")))),
    "the loop back skips one": written(back=span("v", T - 2, -1, -1)),
    "the loop back goes on": written(back=span("v", 0, T)),
    "the loop back comes first": written().but(body=written().body[::-1]),
    "only some iterations record": sometimes(),
}


@pytest.mark.parametrize("why", REFUSED)
def test_it_is_left_alone_where(why):
    assert thin_tapes(p := REFUSED[why].but(live_out=frozenset(SHAPES)), 0) is p


def test_tapes_that_are_small_or_seen_are_left_alone():
    made = written()
    assert thin_tapes(p := made.but(live_out=frozenset(tuple(SHAPES))), T * N * M * 8 + 1) is p
    assert thin_tapes(made.but(live_out=frozenset(tuple(SHAPES))), T * N * M * 8) is not made
    assert thin_tapes(p := made.but(live_out=frozenset((*SHAPES, "tape"))), 0) is p


def test_what_is_not_finite_stays_so():
    before = written()
    rng = np.random.default_rng(0)
    given = {n: rng.standard_normal(s) for n, s in SHAPES.items()}
    given["a"][1, 4], given["q"][2, 3] = np.nan, np.inf
    check_same(before, thin_tapes(before.but(live_out=frozenset(tuple(SHAPES))), 0), given)


def orthogonal(A):
    Q, R = np.zeros_like(A), np.zeros((A.shape[1], A.shape[1]), dtype=A.dtype)
    for k in range(A.shape[1]):
        R[k, k] = np.sqrt(np.dot(A[:, k], A[:, k]))
        Q[:, k] = A[:, k] / R[k, k]
        for j in range(k + 1, A.shape[1]):
            R[k, j] = np.dot(Q[:, k], A[:, j])
            A[:, j] -= R[k, j] * Q[:, k]
    return np.sum(Q * Q[::-1]) + np.sum(R)


def eliminated(A):
    for k in range(A.shape[1] - 1):
        A[k + 1:, k + 1:] -= np.outer(A[k + 1:, k] / A[k, k], A[k, k + 1:])
    return np.sum(A * A)


@pytest.mark.parametrize("loss", [orthogonal, eliminated])
@pytest.mark.parametrize("shape, dtype", [((70, 60), "f8"), ((64, 61), "f8"), ((70, 61), "f4")])
def test_gradients_stay_the_same(loss, shape, dtype, monkeypatch):
    a = (np.random.default_rng(1).standard_normal(shape) + 4 * np.eye(*shape)).astype(dtype)
    expected = sdfgad.grad(loss)(a.copy())
    done = []

    def all_tapes(made):
        after = thin_tapes(made, 0)
        done.append(after is not made)
        return after

    replace_pass(monkeypatch, "thin_tapes", all_tapes)
    found = sdfgad.grad(loss)(a.copy())
    assert any(done) == (loss is orthogonal)
    near = (1e-4 if dtype == "f4" else 1e-12) * np.abs(expected).max()
    np.testing.assert_allclose(found, expected, rtol=0, atol=near)
