"""What is recorded: nothing where every value the reverse sweep reads is final, something where one is lost."""
from __future__ import annotations

import numpy as np
import pytest

from sdfgad.analysis.reversal.activity import active_arrays, differentiable_loads
from sdfgad.ir.algebra import where
from sdfgad.ir.index import ix
from tests.support.build import at, each, flat, loop, one, program, put, span, total
from tests.support.oracle import reversed_program
from tests.support.shapes import NESTS


def kept(made, *wrt):
    return {k.array for k in reversed_program(made, wrt).kept}


@pytest.mark.parametrize("name", ["factorisation", "cholesky", "triangular_solve"])
def test_factorisations_record_nothing(name):
    made = NESTS[name]()
    assert kept(made, *made.arguments) == set()


def test_a_linear_stencil_records_nothing():
    i = ix("i")
    step = loop(span("t", 0, 3), each(span("i", 1, 5), put("h", (i,), at("x", i - 1) + at("x", i + 1))),
                each(span("j", 1, 5), put("x", ("j",), at("h", "j"))))
    made = program({"x": (6,)}, [step, total("x", (6,))], h=(6,))
    assert kept(made, "x") == set()


def test_a_nonlinear_stencil_records_its_state():
    assert kept(NESTS["stencil"](), "x") == {"x"}


def test_an_answer_is_used_where_the_operand_is_lost():
    body = loop(span("t", 0, 3), each(span("i", 0, 4), put("x", ("i",), at("x", "i").apply("exp"))))
    made = program({"x": (4,)}, [body, one("s", (), 0.0), each(span("k", 0, 4), put("s", (), at("x", "k"), "+"))])
    reads = {k.array for k in reversed_program(made, ["x"]).kept}
    assert reads <= {"x"}


def test_what_only_others_need_is_not_recorded():
    """The state of an inactive part may be lost."""
    body = loop(span("t", 0, 3), one("c", (), at("c") * at("c") + 1.0))
    made = program({"x": (4,), "c": ()}, [body, total("x", (4,))])
    assert kept(made, "x") == set()


def test_a_factor_from_an_inactive_part_is_recorded():
    body = loop(span("t", 0, 3), one("c", (), at("c") * at("c") + 1.0), one("x", (0,), at("x", 0) * at("c")))
    made = program({"x": (4,), "c": ()}, [body, total("x", (4,))])
    assert "c" in kept(made, "x")


def test_activity_is_the_way_from_inputs_to_outputs():
    body = flat([one("a", (), at("x") * 2.0), one("b", (), at("y") + at("a")), one("unused", (), at("x")),
                 one("s", (), at("a") * at("y"))])
    made = program({"x": (), "y": ()}, body, a=(), b=(), unused=())
    assert active_arrays(made, ["x"], ["s"]) == {"x", "a", "s"}
    assert active_arrays(made, ["y"], ["s"]) == {"y", "s"}


@pytest.mark.parametrize("value, expected", [
    (at("x").apply("floor") * at("y"), {"y"}),
    (where(at("x").compare("gt", 0.0), at("y"), 0.0), {"y"}),
    (at("x").apply("stop_gradient"), set()),
    (at("x").apply("sqrt"), {"x"}),
])
def test_what_moves_an_expression(value, expected):
    assert differentiable_loads(value.expr) == expected


def test_integers_carry_no_derivative():
    whole = np.dtype(np.int64)
    made = program({"x": ()}, [one("k", (), at("x")), one("s", (), at("x"))], k=((), whole))
    assert "k" not in active_arrays(made, ["x"], ["s"])
