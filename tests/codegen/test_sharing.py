"""How the iterations of a map are shared: whole rows where there are some, copies of sums where there are none."""
from __future__ import annotations

from collections.abc import Mapping

import pytest

from sdfgad.codegen.cpp import Frame
from sdfgad.codegen.cpu.order.parallel import SharedMap, share
from sdfgad.ir.program import Array, Map
from sdfgad.names import fresh
from tests.support.build import F8, at, each, put, span

SHAPES = {"energy": (64,), "place": (64, 26), "radius": (26, 256), "reach": (26, 256), "x": (256, 256), "t": (256, 256),
          "row": (256,), "column": (256,)}


def shared(made: Map, shapes: Mapping[str, tuple[int, ...]] = SHAPES) -> SharedMap | None:
    arrays = {n: Array(n, shape, F8) for n, shape in shapes.items()}
    return share(made, Frame(arrays), lambda stem: fresh(stem, arrays))


def test_blocks_copy_only_the_sums_that_collide() -> None:
    x = at("x", "i", "j")
    found = shared(each((span("i", 0, 256), span("j", 0, 256)), put("t", ("i", "j"), x), put("row", ("j",), x, "+"),
                        put("column", ("i",), x, "+")))
    assert found and len(found.added) == 1 and len(found.after) == 1
    assert found.ranges[0].trips == 16


def test_rows_behind_a_loop_that_is_summed_over_are_shared_without_copies() -> None:
    """The rows that all sums look at stay outermost; blocks of the longest loop would be too short for vectors."""
    apart = (at("place", "i", "j") - at("radius", "j", "k")).apply("sqrt") / at("reach", "j", "k")
    found = shared(each((span("i", 0, 64), span("j", 0, 26), span("k", 0, 256)), put("energy", ("i",), apart, "+")))
    assert found and not found.added and not found.before and not found.after
    assert found.ranges[0].trips == 16
    (core,) = found.body
    assert {r.var: r.trips for r in core.domain} == {"i": 4, "j": 26, "k": 256}


@pytest.mark.parametrize(("extents", "split", "blocks"), [
    ((200, 300), "i", 40), ((50, 1000), "i", 10), ((9, 5000), "j", 36), ((6, 100), "j", 2), ((1000,), "i", 28)])
def test_blocks_of_a_sum_fill_vectors(extents: tuple[int, ...], split: str, blocks: int) -> None:
    """Rows are cut before what lies in a row is."""
    ranges = [span(v, 0, n) for v, n in zip("ij", extents, strict=False)]
    place = tuple(r.var for r in ranges)
    found = shared(each(ranges, put("total", (), at("x", *place) * at("t", *place), "+")), {
        "total": (), "x": extents, "t": extents})
    assert found and found.ranges[0].trips == blocks
    (core,) = (m for m in found.body if m.domain)
    assert [r.var for r in core.domain if "block" in str(r.start)] == [split]


def test_rows_that_are_too_few_leave_the_sum_to_be_cut() -> None:
    """Of 20 rows no block is made; what each sums over is cut, with copies."""
    sizes = {"energy": (20,), "place": (20, 10), "radius": (10, 256), "reach": (10, 256)}
    apart = (at("place", "i", "j") - at("radius", "j", "k")).apply("sqrt") / at("reach", "j", "k")
    found = shared(each((span("i", 0, 20), span("j", 0, 10), span("k", 0, 256)), put("energy", ("i",), apart, "+")),
                   sizes)
    assert found and len(found.added) == 1 and found.ranges[0].trips == 2
