"""Serial gradient programs cut over ranks: equal to the serial ones, whatever a rank does not own being NaN."""
from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import sdfgad
from npbench_suite.kernel import load
from sdfgad.analysis.verify import verify
from sdfgad.codegen.fingerprint import fingerprint
from sdfgad.codegen.targets import chosen
from sdfgad.ir.messages import EXCHANGE, is_message, messages, sweep_of
from sdfgad.ir.messages import sent as messages_out
from sdfgad.ir.program import Block, Loop, Program, View
from sdfgad.ir.verify import DERIVED
from sdfgad.ir.walk import children, rebuild, statements
from sdfgad.transform.cutting import maps
from sdfgad.transform.cutting.blocks import Distribution, RankGrid
from tests.support.simulated import SerialGradient, cut_and_run, serial_gradient

GRIDS = ((2,), (3,), (2, 2))


@cache
def kernel(name: str, size: int = 1) -> tuple[SerialGradient, dict[str, tuple[int, ...]]]:
    """The gradient of an NPBench program, and the shapes of its arrays."""
    one = load(name)
    args = one.sample(np.random.default_rng(0), size)
    return serial_gradient(one.program, tuple(args.values()), one.wrt, one.output, "sum"), {
        n: a.shape for n, a in args.items() if isinstance(a, np.ndarray)}


def blocks(shapes: dict[str, tuple[int, ...]], count: int) -> dict[str, tuple[int | None, ...]]:
    """All arrays of the largest extent, or nearly, cut along their first axes."""
    most, rank = max(s[0] for s in shapes.values()), max(map(len, shapes.values()))
    return {n: tuple(k if k < count else None for k in range(len(s))) for n, s in shapes.items()
            if s[0] == most or s[0] >= most - 4 and len(s) == rank}


def checked(program: Program) -> Program:
    verify(program, "cut_over_ranks", DERIVED, True)
    return program


@pytest.mark.parametrize("name", ["jacobi_1d", "jacobi_2d", "heat_3d", "fdtd_2d", "hdiff", "cavity_flow", "gemm",
                                  "k2mm", "atax", "softmax", "arc_distance", "nbody", "conv2d_bias", "doitgen",
                                  "gramschmidt"])
def test_kernels(name: str) -> None:
    serial, shapes = kernel(name)
    for grid in GRIDS[:2] if name == "gramschmidt" else GRIDS:
        assert cut_and_run(serial, blocks(shapes, len(grid)), grid, checked).error < 1e-13, grid


@pytest.mark.parametrize("name", ["jacobi_2d", "hdiff", "nbody"])
def test_passes_behind_the_cut(name: str) -> None:
    """What is made for the machine of a rank sends the same."""
    serial, shapes = kernel(name)
    assert cut_and_run(serial, blocks(shapes, 1), (3,), chosen().optimised).error < 1e-13


def test_more_ranks_than_rows() -> None:
    """Blocks that are smaller than a halo, or empty."""
    serial, shapes = kernel("jacobi_1d")
    assert cut_and_run(serial, blocks(shapes, 1), (11,)).error < 1e-13


def test_a_missing_message_shows() -> None:
    serial, shapes = kernel("jacobi_2d")

    def without_one(program: Program) -> Program:
        first = next(m for m in messages(program.body) if m.attrs["kind"] == EXCHANGE)
        return program.but(body=rebuild(program.body, lambda s: () if is_message(s) and s.ins == first.ins else (s,)))

    assert math.isnan(cut_and_run(serial, blocks(shapes, 1), (2,), without_one).error)


def test_one_exchange_per_sweep_of_a_step() -> None:
    """Each half step reads the halo of one array: it is sent once, whoever reads it."""
    serial, shapes = kernel("jacobi_2d")
    middle = cut_and_run(serial, blocks(shapes, 1), (3,)).programs[1]
    loops = [s for s in statements(middle.body) if isinstance(s, Loop)]
    sent = [[len(m.ins) - 3 for m in messages(s.body)] for s in loops]
    assert sent == [[2, 2], [2, 2]]  # to both sides
    assert middle.arrays["A"].shape == (4, 6)  # of 7 rows two are its own


def test_ranks_with_equal_blocks_have_one_code() -> None:
    serial = serial_gradient(in_levels, (RNG.random((12, 2)), RNG.random(3)))
    texts = [fingerprint(serial.cut(Distribution(RankGrid((4,)), rank, {"u": (0, None)}, gather=False)))
             for rank in range(4)]
    assert texts[1] == texts[2] and len(set(texts)) == 3


@pytest.mark.parametrize("name, cut, forth, back", [
    ("jacobi_2d", "A B", 32, 32), ("heat_3d", "A B", 18, 18), ("fdtd_2d", "ex ey hz", 12, 12),
    ("hdiff", "in_field out_field coeff", 8, 6)])
def test_no_more_messages_back_than_forth(name: str, cut: str, forth: int, back: int) -> None:
    """Cotangents go the other way. What nobody reads, because it is a sum or the end, is sent by neither."""
    serial, shapes = kernel(name)
    sent = sends_of_all(serial, {n: (0, *(None,) * (len(shapes[n]) - 1)) for n in cut.split()})
    assert (sent["forward"], sent["reverse"]) == (forth, back)


@pytest.mark.parametrize("name, sizes, cut, more", [
    ("nbody", {"N": 20, "tEnd": 0.3, "dt": 0.1, "softening": 0.1, "G": 1.0}, "mass pos vel", 0),
    ("cavity_flow", {"ny": 18, "nx": 6, "nt": 3, "nit": 2, "rho": 1.0, "nu": 0.1}, "u v p", 4)])
def test_as_many_messages_back_as_forth(name: str, sizes: dict[str, Any], cut: str, more: int) -> None:
    """more: the halos of what is recorded in all steps, once."""
    one = load(name)
    args = one.initialize(**sizes)
    serial = serial_gradient(one.program, tuple(args.values()), one.wrt, one.output, "sum")
    axes: dict[str, tuple[int | None, ...]] = {n: (0, None) for n in cut.split()}
    sent = sends_of_all(serial, axes)
    assert sent["reverse"] == sent["forward"] + more > more


def sends_of_all(serial: SerialGradient, axes: dict[str, tuple[int | None, ...]]) -> Counter[str]:
    """How many messages three ranks send in each sweep, which leave gradients where they are."""
    sent = Counter[str]()
    for rank in range(3):
        for sweep, count in sends_of(serial.cut(Distribution(RankGrid((3,)), rank, axes, gather=False)).body):
            sent[sweep] += count
    return sent


def test_forces_of_all_on_all_send_no_pairs() -> None:
    """Forces and gradients of bodies are summed in parts: each rank sends numbers for all bodies, not for all pairs."""
    one, count = load("nbody"), 40  # of so many each pair is computed once
    args = one.initialize(N=count, tEnd=0.2, dt=0.1, softening=0.1, G=1.0)
    serial = serial_gradient(one.program, tuple(args.values()), one.wrt, one.output, "sum")
    done = cut_and_run(serial, {"mass": (0, None), "pos": (0, None), "vel": (0, None)}, (2,))
    assert done.error < 1e-12
    assert max(message_size(v) for part in done.programs for m in messages(part.body) for v in m.ins[:-3]) < 4 * count
    assert done.world.sums <= 2 * (2 + 2 * 2 + 1 + 2)


def message_size(view: View) -> int:
    return math.prod(n.const or 0 for n in view.shape)


def sends_of(block: Block) -> Iterator[tuple[str, int]]:
    """How many messages go in each sweep."""
    for stmt in block:
        if is_message(stmt) and stmt.attrs["kind"] == EXCHANGE:
            yield sweep_of(stmt), len(messages_out(stmt))
        times = stmt.range.trips or 1 if isinstance(stmt, Loop) else 1
        for sweep, count in (one for inner in children(stmt) for one in sends_of(inner)):
            yield sweep, times * count


def with_source(u, k, f):
    for t in range(5):
        u[1:-1] = u[1:-1] + k[0] * (u[2:] - 2 * u[1:-1] + u[:-2]) * np.sin(u[1:-1])
        u[0] = f[t]
    return np.sum(u ** 2)


def test_sums_of_steps_are_added_up_once() -> None:
    """Gradients of what every rank has: the loop only adds to them. The last row has one owner, who adds up alone."""
    serial = serial_gradient(with_source, (RNG.random((9, 3)), RNG.random(2), RNG.random(6)))
    for grid in GRIDS[:2]:
        done = cut_and_run(serial, {"u": (0, None)}, grid, checked)
        assert done.error < 1e-13 and done.world.sums <= 2 * math.prod(grid)
    inside = [s for s in statements(done.programs[0].body) if isinstance(s, Loop)]
    assert not any(m.attrs["kind"] == "allreduce" for loop in inside for m in messages(loop.body))


def of_products(a, b):
    return np.sum((a @ b) ** 2)


def test_products_of_cut_factors_send_the_smaller_side() -> None:
    """The gradient of b is a sum over the rows of a: its parts are fewer elements than a, which is left where it is."""
    serial = serial_gradient(of_products, (RNG.random((40, 5)), RNG.random((5, 3))))
    wanted = Distribution(RankGrid((3,)), 1, {"a": (0, None), "b": (0, None)}, gather=False)
    assert serial.cut(wanted).arrays["a"].shape == (13, 5)
    for grid in GRIDS[:2]:
        assert cut_and_run(serial, wanted.axes, grid, checked).error < 1e-13
    assert cut_and_run(serial, {"a": (0, 1), "b": (0, 1)}, (2, 2), checked).error < 1e-13


@pytest.mark.parametrize("axes, turned", [({"a": (0, None), "b": (0, None)}, False),
                                          ({"a": (None, 0), "b": (0, None)}, False),
                                          ({"a": (0, None), "b": (None, 0)}, True)])
def test_each_rank_gets_its_block_of_a_large_sum(axes: dict[str, Any], turned: bool,
                                                 monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(maps, "TOGETHER", 0)
    b = RNG.random((5, 3))
    serial = serial_gradient(of_turned if turned else of_products, (RNG.random((40, 5)), b.T if turned else b))
    for grid in ((2,), (7,)):  # some blocks are empty
        done = cut_and_run(serial, axes, grid, checked)
        assert done.error < 1e-13
        if grid == (2,):
            kinds = [m.attrs["kind"] for m in messages(done.programs[0].body)]
            assert ("reduce_scatterv" in kinds) == (axes["a"][0] == 0)


def of_turned(a, b):
    return np.sum((a @ b.T) ** 2)


def test_sums_go_together() -> None:
    serial, shapes = kernel("k2mm")
    assert cut_and_run(serial, blocks(shapes, 1), (2,)).world.sums == 2 * 2


# other forms

def until_steady(u):
    change, steps = 1.0, 0
    while change > 1e-2 and steps < 50:
        v = u.copy()
        v[1:-1] = 0.5 * u[1:-1] + 0.25 * (u[2:] + u[:-2])
        change = np.max(np.abs(v - u))
        u = v
        steps += 1
    return np.sum(u ** 2)


def by_sign(u, k):
    if u[3] > 0.0:
        u = u * k[0]
    else:
        u = u[::-1] * k[1]
    return np.sum(np.sin(u[::2])) + np.min(u) * np.max(u)


def in_levels(u, f):
    v = np.zeros((4, *u.shape), u.dtype)
    v[0] = u
    for t in range(3):
        v[t + 1, 1:-1] = v[t, 1:-1] + f[t] * (v[t, 2:] - v[t, :-2]) * v[t, 1:-1]
        v[t + 1, 0] = v[t + 1, 1]
    return np.sum(np.abs(v[-1]) ** 2)


def chosen_rows(u, rows):
    return np.sum(u[rows] ** 2 * np.arange(rows.shape[0]))


def rolled(u):
    for _ in range(3):
        u = u + 0.1 * (np.roll(u, 1, 0) - u) * np.roll(u, -2, 0)
    return np.sum(u ** 2)


def outer_product(u, w):
    return np.sum(np.tanh(np.outer(u, w)) @ u[:w.shape[0]])


RNG = np.random.default_rng(3)
FORMS: dict[str, tuple[Any, tuple[Any, ...], dict[str, tuple[int | None, ...]]]] = {
    "until_steady": (until_steady, (RNG.random(13),), {"u": (0,)}),
    "by_sign": (by_sign, (RNG.random(9), RNG.random(2)), {"u": (0,)}),
    "in_levels": (in_levels, (RNG.random((10, 2)), RNG.random(3)), {"u": (0, None)}),
    "in_levels_single": (in_levels, (RNG.random((10, 2)).astype("f4"), RNG.random(3).astype("f4")), {"u": (0, None)}),
    "in_levels_complex": (in_levels, (RNG.random((9, 2)) + 1j, RNG.random(3)), {"u": (0, None)}),
    "in_levels_other_axis": (in_levels, (RNG.random((10, 5)), RNG.random(3)), {"u": (None, 0)}),
    "chosen_rows": (chosen_rows, (RNG.random(6), np.array([4, 0, 0, 5, 2, 3, 1])), {"rows": (0,)}),
    "rolled": (rolled, (RNG.random((11, 2)),), {"u": (0, None)}),
    "outer_product": (outer_product, (RNG.random(8), RNG.random(5)), {"u": (0,), "w": (0,)}),
}


@pytest.mark.parametrize("form", FORMS)
def test_other_forms(form: str) -> None:
    fn, args, axes = FORMS[form]
    serial = serial_gradient(fn, args)
    for grid in GRIDS[:2]:
        assert cut_and_run(serial, axes, grid, checked).error < (1e-5 if form.endswith("single") else 1e-13), grid


def test_two_axes_of_one_array_and_one_of_another() -> None:
    serial = serial_gradient(in_levels, (RNG.random((10, 6)), RNG.random(3)))
    assert cut_and_run(serial, {"u": (0, 1)}, (3, 2), checked).error < 1e-13
    assert cut_and_run(serial, {"u": (1, 0)}, (2, 2), checked).error < 1e-13


# refusals

@pytest.mark.parametrize("name, line", [("seidel_2d", 14), ("lu", 14), ("durbin", 20)])
def test_recurrences_along_a_cut_axis_are_refused(name: str, line: int) -> None:
    serial, shapes = kernel(name)
    text = r"axis 0 of '\w+' is cut, and the loop over \w+ decides"
    with pytest.raises(sdfgad.UnsupportedError, match=text) as error:
        cut_and_run(serial, {n: (0, *(None,) * (len(s) - 1)) for n, s in shapes.items()}, (2,))
    assert (error.value.line, error.value.code) == (line, "SG124") and Path(error.value.file).stem == name


def moved_rows(u):
    for t in range(3):
        u[1:-1] = u[1:-1] + u[t] * u[2:]
    return np.sum(u)


def sorted_values(u):
    return np.sum(np.sort(u) * np.arange(u.shape[0]))


def put_in_rows(u, rows):
    v = np.zeros_like(u)
    v[rows] = u
    return np.sum(v ** 3)


@pytest.mark.parametrize("fn, args, text", [
    (moved_rows, (RNG.random(8),), "the loop over t decides"),
    (sorted_values, (RNG.random(8),), "axis 0 of 'u' is cut, and the operation 'argsort'"),
    (put_in_rows, (RNG.random(4), np.array([1, 3, 0, 2])), "decides which of its elements are written")])
def test_what_cannot_be_cut_is_refused(fn: Any, args: Any, text: str) -> None:
    with pytest.raises(sdfgad.UnsupportedError, match=text) as error:
        cut_and_run(serial_gradient(fn, args), {"u": (0,)}, (2,))
    assert error.value.code == "SG124" and "replicated" in error.value.help and error.value.file == __file__


def shifted(u, k):
    return np.sum(u[1:] * k[:-1])


def test_types_that_no_message_takes_are_refused() -> None:
    serial = serial_gradient(shifted, (RNG.random(8), np.arange(8, dtype=np.int16)))
    with pytest.raises(sdfgad.UnsupportedError, match="int16"):
        cut_and_run(serial, {"u": (0,), "k": (0,)}, (2,))
