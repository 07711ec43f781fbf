"""Which arrays a computation replaces, of those that are asked about."""
from __future__ import annotations

from sdfgad.analysis.elements.cover import replaced
from sdfgad.ir.index import ix
from sdfgad.ir.program import Array
from tests.support.build import F8, at, each, put, span


def test_a_map_stores_into_arrays_that_nobody_asks_about():
    x, y = (Array(name, (5,), F8, "argument") for name in "xy")
    stmt = each(span("i", 0, 5), put("x", (ix("i"),), at("z", ix("i"))), put("y", (ix("i"),), at("z", ix("i"))))
    assert replaced(stmt, {"x": x}) == {"x"}
    assert replaced(stmt, {"x": x, "y": y}) == {"x", "y"}
    assert replaced(each(span("i", 1, 5), put("x", (ix("i"),), at("z", ix("i")))), {"x": x}) == frozenset()
