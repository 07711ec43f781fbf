"""Values computed again where they are read: which ones, and that the expression is what was stored."""
from __future__ import annotations

import numpy as np
import pytest

from sdfgad.analysis.block_local import block_locals
from sdfgad.analysis.elements.access import sites
from sdfgad.analysis.formula import NOTHING, Again, Formula, Remake, formulas, repeatable
from sdfgad.ir.algebra import Term, where
from sdfgad.ir.expr import Call
from sdfgad.ir.program import Program, Stmt
from sdfgad.ir.walk import statements
from tests.support.build import BOOL, C16, F8, at, each, lit, loop, one, program, put, span

X = np.linspace(0.1, 0.9, 6)
ROW = span("j", 0, 6)


def found(*body: Stmt, **transients: object) -> dict[str, Formula | Remake]:
    made = program({"x": X}, list(body), **transients)
    return formulas(made, block_locals(made, sites(made.body), ()))


def known(made: Program) -> dict[str, Formula | Remake]:
    return formulas(made, block_locals(made, sites(made.body), ()))


def half(value: Term) -> Term:
    return value * 0.5


def test_a_cheap_elementwise_value_has_a_formula():
    made = found(loop(span("i", 0, 3), each(ROW, put("t", ("j",), half(at("x", "j")))),
                      each(ROW, put("x", ("j",), at("t", "j") * at("x", "j")))), t=(6,))
    assert set(made) == {"t"}
    assert made["t"].inputs == {"x"}


@pytest.mark.parametrize("dear", [at("x", "j").apply("exp"), at("x", "j").apply("sin") * 2.0,
                                  (at("x", "j") * 2.0 + 1.0).apply("sqrt"), 1.0 / at("x", "j").apply("sqrt")], ids=str)
def test_a_dear_one_has_none(dear):
    assert not found(each(ROW, put("t", ("j",), dear)), each(ROW, put("x", ("j",), at("t", "j"))), t=(6,))


def test_a_root_of_a_single_number_is_cheap_beside_vectors():
    root = (at("x", 0) * 2.0 + 1.0).apply("sqrt")
    assert set(found(one("t", (), root), each(ROW, put("x", ("j",), at("t") * at("x", "j"))), t=())) == {"t"}


def test_too_many_operations_are_dear():
    e = at("x", "j")
    for k in range(1, 15):
        e = e * (1.0 + k)
    assert not found(each(ROW, put("t", ("j",), e)), each(ROW, put("x", ("j",), at("t", "j"))), t=(6,))


def test_a_modulus_is_cheap_and_a_complex_product_is_not():
    z = at("z", "j", dtype=C16)
    modulus, of_product = (Term(Call("abs", (e.expr,), F8)) for e in (z, z * z))
    use = each(ROW, put("x", ("j",), at("t", "j")))
    assert set(found(each(ROW, put("t", ("j",), modulus)), use, t=(6,), z=((6,), C16))) == {"t"}
    assert not found(each(ROW, put("t", ("j",), of_product)), use, t=(6,), z=((6,), C16))


def test_a_value_that_reads_itself_or_collects_has_none():
    assert not found(each(ROW, put("t", ("j",), at("x", "j"), "+")), each(ROW, put("x", ("j",), at("t", "j"))), t=(6,))


def test_it_holds_until_what_it_reads_is_overwritten():
    use = each(ROW, put("y", ("j",), at("t", "j")))
    spoil = each(ROW, put("x", ("j",), lit(0.0)))
    late = each(ROW, put("y", ("j",), at("t", "j") * 2.0))
    made = program({"x": X}, [each(ROW, put("t", ("j",), half(at("x", "j")))), use, spoil, late], t=(6,), y=(6,))
    formula = known(made)["t"]
    again = Again({"t": formula}, frozenset({"t"}), {})
    load = at("t", "j").expr
    assert again.value(load, use) == half(at("x", "j")).expr
    assert again.value(load, spoil) is not None, "the statement that overwrites it still sees the old value"
    assert again.value(load, late) is None


def test_a_loop_that_comes_back_after_the_overwrite_spoils_it():
    inner = loop(span("k", 0, 2), each(ROW, put("y", ("j",), at("t", "j"))), each(ROW, put("x", ("j",), lit(0.0))))
    made = program({"x": X}, [each(ROW, put("t", ("j",), half(at("x", "j")))), inner], t=(6,), y=(6,))
    formula = known(made)["t"]
    assert isinstance(formula, Formula)
    assert not any(id(s) in formula.still for s in statements((inner,)))


def test_expressions_of_expressions_at_shifted_elements():
    use = each(span("j", 0, 4), put("y", ("j",), at("t", "j")))
    gap = each(span("q", 0, 4), put("t", ("q",), at("x", "q") - at("s")))
    made = program({"x": X}, [one("s", (), at("x", 0) * 2.0), gap, use], t=(6,), s=(), y=(6,))
    again = Again(known(made), frozenset({"t"}), {})
    value = again.value(at("t", "j").expr, use)
    assert value == (at("x", "j") - at("x", 0) * 2.0).expr


def test_pieces_are_made_again():
    pieces = (each(span("j", 0, 5), put("t", ("j",), at("x", "j") * 1.0)), one("t", (5,), at("x", 0)))
    made = found(*pieces, each(ROW, put("y", ("j",), at("t", "j"))), t=(6,), y=(6,))
    assert not isinstance(made.get("t"), Formula)


def test_rounding():
    a, b = at("x", "j"), at("x", 0)
    assert repeatable((a - b).expr)
    assert not repeatable((a * b + 1.0).expr)
    assert not repeatable((1.0 - where(a.compare("lt", b), a * b, a)).expr)
    assert repeatable(Call("lt", ((a * b).expr, b.expr), BOOL))


def test_nothing_chosen_changes_nothing():
    assert NOTHING.chosen == frozenset()
