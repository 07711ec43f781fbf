"""Rows that wrap round, in pieces without remainders: the interpreter sees no difference."""
from __future__ import annotations

import numpy as np
import pytest

from sdfgad.ir.index import Ix, Mod, ix, mod
from sdfgad.ir.program import Map, Program
from sdfgad.ir.walk import map_stmt_indices, statements
from sdfgad.thresholds import Thresholds
from sdfgad.transform.rows.cut_wraps import cut_wraps
from tests.support.build import at, each, program, put, span, total
from tests.support.oracle import execute

N = 40


def wrapped(*indices: Ix, start: int = 0, n: int = N) -> Program:
    """y[i, j] = x[i, index] * x[mod(i + 1, 3), index] * ..., over the rest of the row from `start`."""
    value = at("x", "i", "j")
    for k, i in enumerate(indices):
        value = value * at("x", mod(ix("i") + k, 3), i) + 0.5
    row = each((span("i", 0, 3), span("j", start, n)), put("y", ("i", "j"), value))
    zero = each((span("i", 0, 3), span("j", 0, n)), put("y", ("i", "j"), at("x", "i", "j")))
    return program({"x": (3, n)}, [zero, row, total("y", (3, n))], y=(3, n))


def remainders(of: Program, var: str) -> int:
    """Remainders of a variable in the indices of all maps."""
    found = 0

    def note(i: Ix) -> Ix:
        nonlocal found
        found += sum(isinstance(a, Mod) and var in a.parts[0].symbols for a in i.atoms)
        return i

    for stmt in statements(of.body):
        map_stmt_indices(stmt, note)
    return found


def same(before: Program, after: Program, n: int = N) -> None:
    x = np.random.default_rng(2).uniform(0.5, 1.5, (3, n))
    found, expected = (execute(p, {"x": x}) for p in (after, before))
    np.testing.assert_allclose(found[0], expected[0], rtol=1e-14)


@pytest.mark.parametrize("start", [0, 1, 3])
@pytest.mark.parametrize("indices", [
    (mod(ix("j") + 1, N),), (mod(ix("j") - 1, N),), (mod(ix("j") - 2, N), mod(ix("j") + 3, N)), (mod(3 - ix("j"), N),),
    (mod(ix("j"), 7),), (mod(ix("j") + 1, 7), mod(-1 - ix("j"), N))])
def test_no_remainder_is_left_in_a_row(indices: tuple[Ix, ...], start: int):
    before = wrapped(*indices, start=start)
    after = cut_wraps(before)
    assert remainders(before, "j") and not remainders(after, "j")
    same(before, after)


def test_pieces_meet_where_the_remainder_begins_afresh():
    maps = [s for s in cut_wraps(wrapped(mod(ix("j") - 1, N))).body if isinstance(s, Map)]
    rows = [s.domain[-1] for s in maps[1:3]]
    assert [(r.start.const, r.stop.const) for r in rows] == [(0, 1), (1, N)]


def test_other_variables_keep_their_remainders():
    before = wrapped(ix("j"), ix("j"))
    assert remainders(before, "i") and cut_wraps(before).body == before.body


@pytest.mark.parametrize("index", [mod(ix("j") * 3, N), mod(ix("j") + 1, 3), mod(ix("j") + "i", N)])
def test_rows_stay_whole_when_the_remainder_is_no_plain_one_or_begins_too_often(index: Ix):
    before = wrapped(index)
    assert cut_wraps(before).body == before.body


def test_short_rows_stay_whole():
    before = wrapped(mod(ix("j") + 1, Thresholds().wrapped_row - 1), n=Thresholds().wrapped_row - 1)
    assert cut_wraps(before).body == before.body
