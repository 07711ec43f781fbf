"""Masks computed where they are used, scalars with an element per iteration: the interpreter sees no difference."""
from __future__ import annotations

import numpy as np

from sdfgad.analysis.formula import formulas
from sdfgad.ir.algebra import Term, where
from sdfgad.ir.expr import Call
from sdfgad.ir.index import Ix, ix
from sdfgad.ir.program import Loop, Program, Stmt
from sdfgad.ir.walk import all_writes, statements
from sdfgad.transform.normal import masks
from sdfgad.transform.normal.masks import inline_masks
from sdfgad.transform.normal.parallelise import parallelise
from tests.support.build import BOOL, at, each, lit, loop, one, position, program, put, span
from tests.support.oracle import execute

X = np.tile([0.3, 0.7, 1.1, 0.4, 0.9, 0.6], 5)
ROW = span("j", 0, 30)
BINS = span("i", 0, 3)


def below(left: Term, right: Term) -> Term:
    return Term(Call("lt", (left.expr, right.expr), BOOL))


def same(before: Program, after: Program) -> None:
    found, expected = (execute(p, {"x": X})[0] for p in (after, before))
    np.testing.assert_allclose(found, expected, rtol=1e-14)


def masked(*extra: Stmt) -> Program:
    """y[i] = sum of x where x < 0.4 (i + 1), over its count, one mask per i."""
    inside = at("m", "j", dtype=BOOL)
    body = (one("edge", (), position("i") * 0.4 + 0.4), each(ROW, put("m", ("j",), below(at("x", "j"), at("edge")))),
            *extra, one("n", (), lit(0.0)), each(ROW, put("n", (), where(inside, lit(1.0), lit(0.0)), "+")),
            one("t", (), lit(0.0)), each(ROW, put("t", (), where(inside, at("x", "j"), lit(0.0)), "+")),
            one("y", ("i",), at("t") / at("n")))
    total = (one("s", (), lit(0.0)), each(span("z", 0, 3), put("s", (), at("y", "z") * (position("z") + 2.0), "+")))
    return program({"x": X}, [loop(BINS, *body), *total], m=((30,), BOOL), edge=(), n=(), t=(), y=(3,))


def loops(of: Program) -> int:
    return sum(isinstance(s, Loop) for s in statements(of.body))


def test_a_mask_is_computed_where_it_is_used():
    before = masked()
    after = inline_masks(before.but(live_out=frozenset(("s",))))
    assert "m" not in all_writes(after.body)
    same(before, after)


def test_not_when_what_it_compares_changes_in_between():
    before = masked(each(ROW, put("x", ("j",), at("x", "j") * 1.01)))
    after = inline_masks(before.but(live_out=frozenset(("s",))))
    assert "m" in all_writes(after.body)


def test_not_when_somebody_wants_it():
    assert "m" in all_writes(inline_masks(masked().but(live_out=frozenset(("s", "m")))).body)


def test_a_loop_held_together_by_scalars_becomes_maps():
    before = inline_masks(masked().but(live_out=frozenset(("s",))))
    after = parallelise(before.but(live_out=frozenset(("s",))))
    assert (loops(before), loops(after)) == (1, 0)
    same(before, after)


def test_a_scalar_carried_from_iteration_to_iteration_stays():
    body = (one("t", (), at("t") * 0.5 + at("x", "i")), one("y", ("i",), at("t")))
    total = (one("s", (), lit(0.0)), each(span("z", 0, 3), put("s", (), at("y", "z"), "+")))
    before = program({"x": X}, [one("t", (), lit(1.0)), loop(BINS, *body), *total], t=(), y=(3,))
    after = parallelise(before.but(live_out=frozenset(("s",))))
    assert loops(after) == 1
    same(before, after)


def nested(*stmts: Stmt) -> Program:
    """For every i and j: r = x[j] * i ; y[i, j] = r + x[j] ; z[i, j] = r * r; and what else is given."""
    body = (one("r", (), at("x", "j") * position("i")), one("y", ("i", "j"), at("r") + at("x", "j")),
            one("z", ("i", "j"), at("r") * at("r")), *stmts)
    both = at("y", "a", "b") + at("z", "a", "b")
    total = (one("s", (), lit(0.0)), each((span("a", 0, 3), span("b", 0, 30)), put("s", (), both, "+")))
    return program({"x": X}, [loop(BINS, loop(ROW, *body)), *total], r=(), w=(), y=(3, 30), z=(3, 30))


def test_nested_loops_of_points_become_maps_with_a_scalar_for_each_point():
    before = nested()
    after = parallelise(before.but(live_out=frozenset(("s",))))
    assert (loops(before), loops(after), after.arrays["r"].shape) == (2, 0, (3, 30))
    same(before, after)


def test_nested_loops_stay_whole_when_one_of_them_has_to():
    before = nested(one("w", (), at("w") * 0.5 + at("r")), one("y", ("i", "j"), at("w")))
    before = before.but(body=(one("w", (), lit(1.0)), *before.body), live_out=frozenset(("s",)))
    assert parallelise(before) is before


def test_many_scalars_for_each_point_would_take_too_much():
    names = [f"r{k}" for k in range(9)]
    body = [one(n, (), at("x", "j") * (k + 1.0)) for k, n in enumerate(names)]
    value = at("r0")
    for n in names:
        value = value * at(n) + at(n)
    total = (one("s", (), lit(0.0)), each(ROW, put("s", (), at("y", "j") * at("z", "j"), "+")))
    stores = (one("y", ("j",), value), one("z", ("j",), value * value))
    before = program({"x": X}, [loop(ROW, *body, *stores), *total], y=(30,), z=(30,), **{n: () for n in names})
    assert parallelise(p := before.but(live_out=frozenset(("s",)))) is p


def shrinking(index: Ix | str, *, spread: bool = False) -> Program:
    """m = x < 0.8 ; x[j] = select(m[index], x / 2 + 0.1, x), in a loop; `spread`: m is also counted."""
    inside = at("m", index, dtype=BOOL)
    body = [each(ROW, put("m", ("j",), below(at("x", "j"), lit(0.8))))]
    body += [each(ROW, put("c", ("j",), where(inside, lit(1.0), at("c", "j"))))] if spread else []
    body += [each(ROW, put("x", ("j",), where(inside, at("x", "j") * 0.5 + 0.1, at("x", "j"))))]
    total = (one("s", (), lit(0.0)), each(span("z", 0, 30), put("s", (), at("x", "z") * (position("z") + 2.0), "+")))
    clear = each(ROW, put("c", ("j",), lit(0.0)))
    return program({"x": X}, [clear, loop(BINS, *body), *total], m=((30,), BOOL), c=(30,))


def test_loops_in_which_nothing_is_left_are_no_obstacle():
    before = program({"x": X}, [loop(BINS, loop(ROW)), one("s", (), at("x", 3))])
    same(before, parallelise(before.but(live_out=frozenset(("s",)))))


def test_a_mask_of_what_the_statement_itself_overwrites():
    for before in (shrinking("j"), shrinking("j", spread=True)):
        after = inline_masks(before.but(live_out=frozenset(("s", "c"))))
        assert "m" not in all_writes(after.body)
        same(before, after)


def test_not_when_another_element_is_overwritten_first():
    before = shrinking(ix(29) - "j")
    after = inline_masks(before.but(live_out=frozenset(("s", "c"))))
    assert "m" in all_writes(after.body)
    same(before, after)


def test_not_when_an_element_is_overwritten_twice():
    inside = at("m", "j", dtype=BOOL)
    both = [span("k", 0, 2), ROW]
    first = put("x", ("j",), where(inside, at("x", "j") + 0.1, at("x", "j")))
    body = (each(ROW, put("m", ("j",), below(at("x", "j"), lit(0.8)))), each(both, first))
    before = program({"x": X}, [loop(BINS, *body), one("s", (), at("x", 3))], m=((30,), BOOL))
    assert "m" in all_writes(inline_masks(before.but(live_out=frozenset(("s",)))).body)


def test_not_when_it_adds_to_what_it_compares():
    inside = at("m", "j", dtype=BOOL)
    body = (each(ROW, put("m", ("j",), below(at("x", "j"), lit(0.8)))),
            each(ROW, put("x", ("j",), where(inside, lit(0.1), lit(0.0)), "+")))
    before = program({"x": X}, [loop(BINS, *body), one("s", (), at("x", 3))], m=((30,), BOOL))
    assert "m" in all_writes(inline_masks(before.but(live_out=frozenset(("s",)))).body)


def chained(count: int) -> Program:
    """`count` masks of x alone, and `deep`, a mask made of the first of them."""
    names = [f"m{k}" for k in range(count)]
    made = [each(ROW, put(m, ("j",), below(at("x", "j"), lit(0.3 + 0.2 * k)))) for k, m in enumerate(names)]
    first = where(at(names[0], "j", dtype=BOOL), lit(0.5), lit(0.9))
    made.append(each(ROW, put("deep", ("j",), below(at("x", "j"), first))))
    every = (*names, "deep")
    added = [each(ROW, put("t", (), where(at(m, "j", dtype=BOOL), at("x", "j"), lit(0.25)), "+")) for m in every]
    arrays = {m: ((30,), BOOL) for m in every}
    return program({"x": X}, [one("t", (), lit(0.0)), *made, *added, one("s", (), at("t") * 2.0)], t=(), **arrays)


def test_many_masks_go_at_once(monkeypatch):
    """The facts are found anew for masks that are made of masks alone, however many there are."""
    looks = []
    monkeypatch.setattr(masks, "formulas", lambda *a: looks.append(1) or formulas(*a))
    before = chained(9).but(live_out=frozenset(("s",)))
    after = inline_masks(before)
    assert not {n for n in all_writes(after.body) if n.startswith(("m", "deep"))}
    assert len(looks) <= 4
    same(before, after)
