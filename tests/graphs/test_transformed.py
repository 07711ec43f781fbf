"""Programs of DaCe behind its transformations: what they compute stays the same, and so do their gradients."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import dace
import numpy as np
import pytest
from dace.transformation import dataflow, interstate
from dace.transformation.auto.auto_optimize import auto_optimize

import sdfgad
from sdfgad.errors import UnsupportedError
from sdfgad.frontend.graphs.function import from_sdfg
from sdfgad.frontend.graphs.reading import read
from tests.graphs import made, of_arrays, of_elements
from tests.graphs.pairs import Pair, numbers
from tests.graphs.test_programs import check_twin
from tests.support.point_loops import run

Change = Callable[[dace.SDFG], Any]


def by(transformation: type, simple: bool = True, **options: Any) -> Change:
    """A transformation wherever it can be made."""
    def change(sdfg: dace.SDFG) -> None:
        if simple:
            sdfg.simplify()
        assert sdfg.apply_transformations_repeated(transformation, options=options or None)

    return change


def once(transformation: type, **options: Any) -> Change:
    """A transformation of the first place where it can be made."""
    def change(sdfg: dace.SDFG) -> None:
        assert sdfg.apply_transformations(transformation, options=options)

    return change


CHANGES: dict[str, tuple[Change, tuple[str, ...]]] = {
    "simplify": (dace.SDFG.simplify, ("calls", "branches", "masked")),
    "tiles": (once(dataflow.MapTiling, tile_sizes=(3,)), ("tasklet_map", "strided_maps", "calls", "sum_by_wcr")),
    "strips": (once(dataflow.StripMining, tile_size=2, divides_evenly=False), ("broadcasts",)),
    "fusion": (by(dataflow.MapFusionVertical), ("jacobi", "broadcasts", "two_results")),
    "loops as maps": (by(interstate.LoopToMap), ("calls",)),
    "maps as loops": (by(dataflow.MapToForLoop, False), ("tasklet_map",)),
    "auto-optimised": (lambda sdfg: auto_optimize(sdfg, dace.DeviceType.CPU),
                       ("jacobi", "products", "calls", "two_results", "counted_by_data")),
    "one range each": (by(dataflow.MapExpansion, False), ("strided_maps", "broadcasts")),
}
PAIRS = {p.name: p for p in of_elements.PAIRS + of_arrays.PAIRS}


@pytest.mark.parametrize("change, pair", [
    pytest.param(change, PAIRS[name], id=f"{label}: {name}") for label, (change, names) in CHANGES.items()
    for name in names])
def test_a_transformed_program_and_its_twin(change: Change, pair: Pair) -> None:
    sdfg = pair.program.to_sdfg(simplify=False)
    change(sdfg)
    check_twin(from_sdfg(sdfg), pair)


@pytest.mark.parametrize("stop, right", [("Min(t + 2, N)", True), ("Min(t + 3, N)", False)])
def test_tiles_that_meet_are_refused(stop: str, right: bool) -> None:
    """Two neighbours of three elements each that begin two elements apart."""
    sdfg = made.in_tiles(stop)
    given = {"x": numbers(6), "y": numbers(6, seed=1)}
    if right:
        read(from_sdfg(sdfg), (), given)
        return
    with pytest.raises(UnsupportedError, match="share elements of 'y'"):
        read(from_sdfg(sdfg), (), given)


def test_extremes_in_tiles_are_refused() -> None:
    sdfg = made.in_tiles("t + 2", "lambda a, b: max(a, b)")
    with pytest.raises(UnsupportedError, match="SG134"):
        sdfgad.grad(from_sdfg(sdfg), wrt="x", output="y", reduce="sum")(numbers(6), numbers(6, seed=1))


@pytest.mark.parametrize("fresh", [True, False])
def test_what_lives_from_call_to_call_is_filled_by_each(fresh: bool) -> None:
    gradient = sdfgad.grad(from_sdfg(made.lasting(fresh)), wrt="x", output="y", reduce="sum")
    x = numbers(6)
    if fresh:
        np.testing.assert_allclose(gradient(x, np.zeros(6)), 2.0 * x)
        return
    with pytest.raises(UnsupportedError, match="'kept', which lives from call to call, and may be looked at"):
        gradient(x, np.zeros(6))


def test_memory_that_nobody_has_written_adds_nothing() -> None:
    """`0.0 * y[i] + x[i] * x[i]`, as products leave it that are not added to anything."""
    x = numbers(6)
    parsed = read(from_sdfg(made.adding_nothing()), (x,), {})
    np.testing.assert_allclose(run(parsed.program, parsed.collect((x,))), x * x)  # what nobody writes is NaN there
