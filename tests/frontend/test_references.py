"""What is inside a value, and what of that is looked at to find out what it needs."""
from __future__ import annotations

from functools import partial

import numpy as np

from sdfgad.frontend.state.references import holding, is_leaf, references
from sdfgad.frontend.state.values import IntValue, ListValue, contained
from sdfgad.ir.index import elem

TABLE = ((0.5, np.float64(2.0)), (1, (True, None, "c")))


def test_everything_comes_in_order():
    inside = IntValue(elem("n", ()))
    value = (TABLE, ListValue([inside, 3.0], 0), partial(len, 4))
    assert list(contained(value)) == [value, TABLE, TABLE[0], 0.5, 2.0, TABLE[1], 1, TABLE[1][1], True, None, "c",
                                      value[1], inside, 3.0, value[2], 4]


def test_tables_of_known_numbers_are_not_looked_into():
    value = (TABLE, [IntValue(elem("n", ()))])
    assert list(holding(value)) == [value, TABLE, value[1], value[1][0]]
    assert references(value) == {"n"} and references(TABLE) == set()


def test_a_table_holds_nothing_that_may_change():
    assert is_leaf(TABLE) and is_leaf(TABLE)
    assert not is_leaf((TABLE, [1.0])) and not is_leaf((IntValue(elem("n", ())),))
