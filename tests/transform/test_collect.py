"""Shifted sums turned round, before and after by the reference interpreter."""
from __future__ import annotations

import pytest

from sdfgad.codegen.cpp import Frame
from sdfgad.codegen.cpu.nests.injective import injective_variables
from sdfgad.ir.index import ix
from sdfgad.ir.program import Loop, Map, Program
from sdfgad.thresholds import Thresholds
from sdfgad.transform.sums.collect import collect_sums
from tests.codegen.build_programs import F8, I8, index, load, mapped, mul, program, span, store
from tests.support.oracle import check_same


def shifted(op: str = "+", start: int = 0, terms: int = 3) -> Program:
    value = mul(load("a", "i"), mul(load("w", ix("k") - start), index(ix("i") * 3 + "k", F8)))
    stmt = mapped([span("i", 2, 9), span("k", start, start + terms)], store("t", [ix("i") + "k"], value, op))
    return program([stmt], {"a": ((9,), F8), "w": ((terms,), F8), "t": ((30,), F8)})


@pytest.mark.parametrize("op", ["+", "max", "*"])
@pytest.mark.parametrize(("start", "terms"), [(0, 3), (-2, 5), (1, 12)])
def test_every_term_reaches_its_element(op: str, start: int, terms: int) -> None:
    before = shifted(op, start, terms)
    after = collect_sums(before)
    stmt = after.body[0]
    assert isinstance(stmt, Map) and after.body != before.body
    # The variable with more values is the one that numbers the elements.
    assert injective_variables(stmt, Frame(after.arrays)) == {"i" if terms < 7 else "k"}
    check_same(before, after, tolerance=1e-13)


def test_two_dimensions_inside_a_loop() -> None:
    target = [ix("i") + "k", "c", ix("j") + "l"]
    stmt = mapped([span("i", 5), span("k", 2), span("j", 4), span("l", 3), span("c", 2)],
                  store("t", target, mul(load("a", "i", "j"), load("w", "k", "l", "c")), "+"))
    before = program([Loop(span("s", 2), (stmt,))],
                     {"a": ((5, 4), F8), "w": ((2, 3, 2), F8), "t": ((6, 2, 6), F8)})
    after = collect_sums(before)
    assert after.body != before.body
    check_same(before, after, tolerance=1e-13)


@pytest.mark.parametrize(("target", "domain"), [
    ([ix("i") * 2 + "k"], [span("i", 4), span("k", 2)]),
    ([ix("i") - "k" + 4], [span("i", 4), span("k", 2)]),
    ([ix("i") + "k"], [span("i", 4), span("k", 0, "i")]),
    ([ix("i") + "k"], [span("i", 4), span("k", 3, -1, step=-1)]),
    ([ix("i") + "k" + "l"], [span("i", 4), span("k", 2), span("l", 2)]),
], ids=["factor two", "difference", "bounds depend", "downwards", "three variables"])
def test_other_forms_are_left_alone(target: list, domain: list) -> None:
    before = program([mapped(domain, store("t", target, load("a", "i"), "+"))], {"a": ((4,), F8), "t": ((12,), F8)})
    assert collect_sums(before).body == before.body


def test_plain_stores_and_shared_dimensions_are_left_alone() -> None:
    twice = mapped([span("i", 4), span("k", 2)], store("t", [ix("i") + "k", "i"], load("a", "i"), "+"))
    plain = mapped([span("i", 4)], store("t", ["i", "i"], load("a", "i")))
    before = program([twice, plain], {"a": ((4,), F8), "t": ((5, 4), F8), "n": ((4,), I8)})
    assert collect_sums(before).body == before.body


def test_long_rows_of_a_matrix_are_read_in_their_order() -> None:
    def sums(rows: int) -> Program:
        stmt = mapped([span("d", rows), span("i", 40)], store("t", [ix("i") + "d"], load("a", "d", "i"), "+"))
        return program([stmt], {"a": ((rows, 40), F8), "t": ((rows + 40,), F8)})
    assert collect_sums(sums(Thresholds().triangle_row)).body == sums(Thresholds().triangle_row).body
    assert collect_sums(sums(Thresholds().triangle_row - 1)).body != sums(Thresholds().triangle_row - 1).body
