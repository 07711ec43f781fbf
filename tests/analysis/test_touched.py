"""The part of an array that an access touches is said of dimensions, whatever its variables are called."""
from __future__ import annotations

from itertools import product

from sdfgad.analysis.elements.access import BEFORE, Access, Site
from sdfgad.analysis.elements.touched import touched
from sdfgad.ir.index import ix
from sdfgad.ir.layout import axis
from tests.support.build import span


def test_positions_in_a_view_are_no_dimensions() -> None:
    """Ranges of views have the names that rows have for dimensions, here that of another one."""
    loops, view = (span("t", 0, 3), span("n", 0, "t")), span(axis(0), 0, 5)
    rows = touched(Access("tape", (ix("t"), ix("n"), ix(axis(0))), (view,), Site(loops, 0, 0), BEFORE))
    assert rows is not None
    for place in product(range(-1, 6), repeat=3):
        held = dict(zip(map(axis, range(3)), place, strict=True))
        inside = all(sum(c * held[v] for v, c in row.items()) + n >= 0 for row, n in rows)
        t, n, k = place
        assert inside == (0 <= n < t < 3 and 0 <= k < 5), place
