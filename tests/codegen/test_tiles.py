"""Sums in register tiles against the reference interpreter: every shape of tile, and what must not become one."""
from __future__ import annotations

import numpy as np
import pytest

from sdfgad.codegen.cpp import Frame
from sdfgad.codegen.cpu.generate import source
from sdfgad.codegen.cpu.lower import lower
from sdfgad.codegen.cpu.nests import tiles
from sdfgad.codegen.cpu.nests.tiles import plan_tile
from sdfgad.codegen.cpu.order import parallel
from sdfgad.ir.expr import call
from sdfgad.ir.index import elem, ix, maximum, minimum
from sdfgad.ir.program import Map, Program
from sdfgad.transform.sums.collect import collect_sums
from tests.codegen.build_programs import F4, F8, I8, add, agree, compare, load, mapped, mul, num, program, span, store
from tests.support.thresholds import change

# Images, height, width, filter, channels in, channels out: extents 1, odd ones, more than one vector.
SIZES = ((2, 5, 6, 3, 2, 7, F4), (1, 4, 9, 2, 3, 16, F8), (3, 3, 3, 2, 1, 6, F4), (1, 1, 1, 1, 1, 2, F8),
         (2, 4, 4, 3, 4, 33, F4))
KINDS = ("forward", "weights", "input")


@pytest.fixture(params=[False, True], ids=["sequential", "parallel"])
def tiled(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every sum that can be a tile is one, in one thread or in many."""
    change(monkeypatch, tile_reuse=0.0)
    change(monkeypatch, parallel_work=0 if request.param else 1 << 60)


def convolution(kind: str, n: int, height: int, width: int, k: int, c: int, d: int, dtype: np.dtype) -> Program:
    """A convolution, or its adjoint in the filter or in the image."""
    domain = [span("n", n), span("i", height), span("j", width), span("a", k), span("b", k), span("c", c), span("d", d)]
    image = load("x", "n", ix("i") + "a", ix("j") + "b", "c", dtype=dtype)
    filters, out = load("w", "a", "b", "c", "d", dtype=dtype), load("y", "n", "i", "j", "d", dtype=dtype)
    target, value = {"forward": (out, mul(image, filters)), "weights": (filters, mul(image, out)),
                     "input": (image, mul(filters, out))}[kind]
    shapes = {"x": ((n, height + k - 1, width + k - 1, c), dtype), "w": ((k, k, c, d), dtype),
              "y": ((n, height, width, d), dtype)}
    return collect_sums(program([mapped(domain, store(target.array, target.index, value, "+"))], shapes))


def planned(made: Program) -> bool:
    stmt = made.body[0]
    assert isinstance(stmt, Map)
    return plan_tile(Frame(made.arrays), stmt) is not None


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("size", SIZES, ids=lambda s: "x".join(map(str, s[:-1])))
def test_convolutions(kind: str, size: tuple, tiled: None) -> None:
    made = convolution(kind, *size)
    assert planned(made)
    agree(made, threads=(1, 2, 3), calls=1)


def test_mixed_precision_counts_downwards_and_constants(tiled: None) -> None:
    term = call("cast", mul(add(load("a", "i", "k"), num(0.5)), load("b", "k", "j")), dtype=F4)
    stmt = mapped([span("i", 6, -1, step=-1), span("k", 10, -1, step=-2), span("j", 12, -1, step=-1)],
                  store("c", ["i", "j"], call("sub", term, call("neg", load("d", "i", "j", dtype=F4))), "+"))
    made = program([stmt], {"a": ((7, 11), F8), "b": ((11, 13), F8), "c": ((7, 13), F4), "d": ((7, 13), F4)})
    assert planned(made)
    agree(made, threads=(1, 2))


def test_lanes_summed_over_with_a_rest(tiled: None) -> None:
    stmt = mapped([span("i", 5), span("j", 3), span("k", 45)],
                  store("c", ["i", "j"], mul(load("a", "i", "k"), load("b", "j", "k")), "+"))
    made = program([stmt], {"a": ((5, 45), F8), "b": ((3, 45), F8), "c": ((5, 3), F8)})
    assert planned(made)
    agree(made, threads=(1, 2))


def test_triangular_and_empty_sums(tiled: None) -> None:
    low, high = maximum(ix("i") - 3, ix(0)), minimum(ix("i") - 1, ix(6))
    stmt = mapped([span("i", 8), span("j", 9), span("k", low, high)],
                  store("c", ["i", "j"], mul(load("a", "i", "k"), load("b", "k", "j")), "+"))
    made = program([stmt], {"a": ((8, 8), F8), "b": ((8, 9), F8), "c": ((8, 9), F8)})
    assert planned(made)
    agree(made, threads=(1, 2))


def product_map(**changes: object) -> Program:
    parts = {"target": ["i", "j"], "op": "+", "value": mul(load("a", "i", "k"), load("b", "k", "j")),
             "domain": [span("i", 32), span("j", 32), span("k", 32)], **changes}
    stmt = mapped(parts["domain"], store("c", parts["target"], parts["value"], parts["op"]))  # type: ignore
    square = ((32, 32), F8)
    return program([stmt], {"a": square, "b": square, "c": square, "n": ((32,), I8)})


@pytest.mark.parametrize("changes", [
    {"op": "max"},
    {"value": mul(load("a", "i", "k"), load("c", "i", "j"))},
    {"value": call("exp", load("a", "i", "k"))},
    {"target": [elem("n", ("i",)), "j"]},
    {"target": [ix("i") + "k", "j"], "domain": [span("i", 16), span("j", 32), span("k", 16)]},
    {"domain": [span("k", 32), span("i", "k"), span("j", 32)]},
], ids=["other operation", "reads its target", "not arithmetic", "target read from an array", "targets collide",
        "target bounded by a term"])
def test_what_is_no_tile(changes: dict) -> None:
    assert planned(product_map())
    assert not planned(product_map(**changes))


def test_one_use_per_element_stays_a_plain_loop() -> None:
    stmt = mapped([span("i", 64), span("k", 64)],
                  store("c", ["i"], mul(load("a", "i", "k"), load("b", "k")), "+"))
    assert not planned(program([stmt], {"a": ((64, 64), F8), "b": ((64,), F8), "c": ((64,), F8)}))


def test_threads_share_what_is_outside_the_tiles_or_blocks_of_terms() -> None:
    for kind, blocks in (("forward", False), ("weights", True), ("input", False)):
        lowered = lower(convolution(kind, 4, 40, 40, 3, 3, 8, F4))
        assert source(lowered).count("#pragma omp parallel for") == 1
        assert any("partial" in name for name in lowered.held.arena.offsets) is blocks


def bins(n: int, m: int, dtype: np.dtype, value: object, target: str) -> Program:
    """Sums over the values, or the bins, under conditions on both."""
    x, d = load("x", "k", dtype=dtype), load("d", "k", dtype=dtype)
    inside = compare("and", compare("le", load("low", "i", dtype=dtype), x),
                     call("not", compare("ge", x, load("high", "i", dtype=dtype))))
    term = {"count": call("cast", inside, dtype=I8), "sum": call("select", inside, d, num(-0.0, dtype), dtype=dtype),
            "spread": call("select", compare("or", inside, compare("eq", d, x)), load("low", "i", dtype=dtype), d,
                           dtype=dtype),
            "fixed": call("select", compare("and", inside, compare("lt", load("low", "i", dtype=dtype),
                                                                   load("high", "i", dtype=dtype))), d, x, dtype=dtype)
            }[str(value)]
    stmt = mapped([span("i", n), span("k", m)], store("t", [target], term, "+"))
    shapes = {"x": ((m,), dtype), "d": ((m,), dtype), "low": ((n,), dtype), "high": ((n,), dtype),
              "t": ((n if target == "i" else m,), I8 if value == "count" else dtype)}
    return program([stmt], shapes)


@pytest.mark.parametrize("dtype", [F8, F4], ids=str)
@pytest.mark.parametrize(("value", "target"), [("count", "i"), ("sum", "i"), ("spread", "k"), ("fixed", "k"),
                                               ("fixed", "i")])
def test_comparisons_and_choices(dtype: np.dtype, value: str, target: str, tiled: None) -> None:
    made = bins(7, 75, dtype, value, target)
    assert planned(made)
    agree(made, threads=(1, 2), calls=1)


def test_comparisons_of_integers(tiled: None) -> None:
    term = call("select", compare("gt", load("a", "i", dtype=I8), load("b", "k", dtype=I8)),
                call("sub", load("a", "i", dtype=I8), load("b", "k", dtype=I8)), num(0, I8), dtype=I8)
    made = program([mapped([span("i", 9), span("k", 21)], store("t", ["i"], term, "+"))],
                   {"a": ((9,), I8), "b": ((21,), I8), "t": ((9,), I8)})
    assert planned(made)
    agree(made, threads=(1, 2))


def test_not_a_number_meets_no_condition(tiled: None) -> None:
    values = {"x": np.array([np.nan, 0.5, np.inf, 0.25] * 10), "d": np.full(40, np.nan), "low": np.zeros(4),
              "high": np.array([1.0, np.nan, np.inf, 0.5]), "t": np.zeros(4)}
    agree(bins(4, 40, F8, "count", "i"), values={**values, "t": np.zeros(4, np.int64)})
    agree(bins(4, 40, F8, "sum", "i"), values={**values, "d": np.arange(40.0)})


def test_a_choice_that_guards_an_index_is_no_tile(tiled: None) -> None:
    term = call("select", compare("lt", load("a", "i"), load("b", "k")), load("a", ix("k") + 1), num(0.0), dtype=F8)
    stmt = mapped([span("i", 9), span("k", 21)], store("t", ["i"], term, "+"))
    assert planned(program([stmt], {"a": ((22,), F8), "b": ((21,), F8), "t": ((9,), F8)}))
    assert not planned(program([stmt], {"a": ((21,), F8), "b": ((21,), F8), "t": ((9,), F8)}))


@pytest.mark.parametrize("size", [16 * 280, 16 * 280 + 1, 16 * 280 + 37], ids=str)
@pytest.mark.parametrize(("value", "target"), [("sum", "i"), ("count", "i"), ("spread", "k")])
def test_blocks_of_long_ranges_and_strips(size: int, value: str, target: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Few targets or many: every block has its part of the long range, whole vectors or not."""
    change(monkeypatch, parallel_work=0)
    change(monkeypatch, tile_reuse=0.0)
    monkeypatch.setattr(parallel, "WIDE_BLOCK", 4)
    monkeypatch.setattr(parallel, "MOST_BLOCKS", 16)
    monkeypatch.setattr(tiles, "_STRIP_BYTES", 1 << 10)
    made = bins(5, size, F8, value, target)
    text = source(lower(made))
    assert "#pragma omp parallel for" in text and "sg::Lanes<" in text
    if size == 16 * 280 or value != "sum":
        assert ("s_strip" in text) is (target == "i")
    agree(made, threads=(1, 2), calls=1)
