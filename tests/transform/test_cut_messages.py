"""What the two sweeps of a cut program send: in loops as many messages back as forth, between neighbours."""
from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from npbench_suite.harness.burgers import burgers
from sdfgad.ir.messages import EXCHANGE, is_message, sent, sweep_of
from sdfgad.ir.program import Block, Loop, While
from sdfgad.ir.text import program_text
from sdfgad.ir.walk import children
from tests.support.simulated import SerialGradient, cut_and_run, serial_gradient
from tests.transform.test_cutting import checked

RNG = np.random.default_rng(9)
INSIDE, OUTSIDE = "in loops", "outside"


def sent_in(block: Block, where: str = OUTSIDE) -> Iterator[tuple[tuple[str, str], int, int]]:
    """Messages of one iteration of each loop: where and in which sweep, how many, and of how many elements."""
    for stmt in block:
        if is_message(stmt) and stmt.attrs["kind"] == EXCHANGE:
            sizes = [int(np.prod([n.const or 0 for n in v.shape])) for v in sent(stmt)]
            yield (where, sweep_of(stmt)), len(sizes), sum(sizes)
        for inner in children(stmt):
            yield from sent_in(inner, INSIDE if isinstance(stmt, (Loop, While)) else where)


def counted(serial: SerialGradient, axes: Any, grid: tuple[int, ...]) -> tuple[Counter[Any], Counter[Any]]:
    """Of all ranks, which leave gradients where they are."""
    messages, elements = Counter[Any](), Counter[Any]()
    for rank in range(int(np.prod(grid))):
        for key, count, size in sent_in(serial.cut(serial.distribution(axes, grid, rank, gather=False)).body):
            messages[key] += count
            elements[key] += size
    return messages, elements


def corrected(h, q, steps):
    """Predictor and corrector of the shallow water equations, with both boundaries in one assignment."""
    for t in range(steps):
        g = q ** 2 / h + 0.5 * h ** 2
        hp, qp = h.copy(), q.copy()
        hp[:-1] = h[:-1] - 0.05 * (q[1:] - q[:-1])
        qp[:-1] = q[:-1] - 0.05 * (g[1:] - g[:-1])
        gp = qp ** 2 / hp + 0.5 * hp ** 2
        h[1:-1] = 0.5 * (h[1:-1] + hp[1:-1] - 0.05 * (qp[1:-1] - qp[:-2]))
        q[1:-1] = 0.5 * (q[1:-1] + qp[1:-1] - 0.05 * (gp[1:-1] - gp[:-2]))
        h[0], q[0], h[-1], q[-1] = h[1], -q[1], h[-2], -q[-2]
    return np.sum(h ** 2) + np.sum(q * h)


def upwind(c, u, steps):
    for t in range(steps):
        f = np.where(u > 0, u * c, u * np.roll(c, -1, axis=0))
        c = c - 0.2 * (f - np.roll(f, 1, axis=0))
    return np.sum(c ** 3)


def until_still(u, k):
    r = 1.0
    while r > 1e-2:
        d = k[1:-1] * (u[2:] - 2 * u[1:-1] + u[:-2])
        u[1:-1] += 0.3 * d
        r = np.max(np.abs(d))
    return np.sum(u ** 2)


def streamed(f, steps):
    """A lattice of nine directions: those that cross a cut go together, and so do their cotangents."""
    cx, cy = (0, 1, 0, -1, 0, 1, -1, -1, 1), (0, 0, 1, 0, -1, 1, 1, -1, -1)
    for t in range(steps):
        rho = np.sum(f, axis=0)
        ux = (f[1] - f[3] + f[5] - f[6] - f[7] + f[8]) / rho
        g = np.zeros_like(f)
        for i in range(9):
            g[i] = np.roll(np.roll(f[i] - 0.6 * (f[i] - 0.1 * rho * (1 + cx[i] * ux)), cx[i], axis=0), cy[i], axis=1)
        f = g
    return np.sum(f[1] * f[3])


def staggered(e, b, steps):
    """Maxwell's equations around a torus, with the components of a field in one array."""
    for t in range(steps):
        b[0] -= 0.1 * (np.roll(e[2], -1, 1) - e[2])
        b[1] += 0.1 * (np.roll(e[2], -1, 0) - e[2])
        b[2] -= 0.1 * (np.roll(e[1], -1, 0) - e[1] - np.roll(e[0], -1, 1) + e[0])
        e[0] += 0.1 * (b[2] - np.roll(b[2], 1, 1))
        e[1] -= 0.1 * (b[2] - np.roll(b[2], 1, 0)) * e[1]
        e[2] += 0.1 * (b[1] - np.roll(b[1], 1, 0) - b[0] + np.roll(b[0], 1, 1))
    return np.sum(e ** 2) + np.sum(b[2] ** 3)


def framed(h, steps):
    """Ghost cells on all four sides, which the other ends fill."""
    for t in range(steps):
        h[0] = h[-2]
        h[-1] = h[1]
        h[:, 0] = h[:, -2]
        h[:, -1] = h[:, 1]
        h[1:-1, 1:-1] += 0.1 * h[1:-1, 1:-1] * (h[2:, 1:-1] + h[:-2, 1:-1] + h[1:-1, 2:] + h[1:-1, :-2])
    return np.sum(h ** 2)


@pytest.mark.parametrize("fn, shapes, grid, each", [
    (streamed, [(9, 7, 5)], (2,), (2, 2)), (streamed, [(9, 7, 5)], (3,), (2, 2)),
    (streamed, [(9, 6, 5)], (2, 2), (5, 5)), (staggered, [(3, 7, 6), (3, 7, 6)], (2, 2), (4, 4)),
    (framed, [(8, 9)], (2, 2), (3, 4))])
def test_components_of_an_array_go_together(fn: Any, shapes: Any, grid: tuple[int, ...],
                                            each: tuple[int, int]) -> None:
    """What changes in one component, or at one end, is another region than what is sent of others: each rank sends so
    many messages in a step of the forward and of the reverse sweep."""
    serial = serial_gradient(fn, (*(1 + RNG.random(shape) for shape in shapes), 2))
    axes = {n: (*(None,) * (len(shape) - 2), 0, 1 if len(grid) > 1 else None)
            for n, shape in zip(fn.__code__.co_varnames, shapes, strict=False)}
    assert cut_and_run(serial, axes, grid, checked).error < 1e-12
    messages, _ = counted(serial, axes, grid)
    assert [messages[INSIDE, sweep] for sweep in ("forward", "reverse")] == [
        n * int(np.prod(grid)) for n in each]


@pytest.mark.parametrize("fn, args, neighbours, before", [
    (corrected, (1 + 0.2 * RNG.random(29), 0.1 * RNG.normal(size=29), 3), (2, 2), 0),
    (upwind, (RNG.random(28), RNG.normal(size=28), 3), (2, 2), 1),
    (until_still, (RNG.random(27), RNG.random(27)), (2, 2), 0)])
@pytest.mark.parametrize("ranks", [2, 3, 7])
def test_loops_send_as_many_messages_back_as_forth(fn: Any, args: Any, neighbours: Any, before: int,
                                                   ranks: int) -> None:
    """before: halos of what does not change in the reverse sweep, which are needed once."""
    serial = serial_gradient(fn, args)
    axes = {n: (0,) for n in ("h", "q", "c", "u", "k") if n in fn.__code__.co_varnames[:fn.__code__.co_argcount]}
    assert cut_and_run(serial, axes, (ranks,), checked).error < 1e-12
    messages, _ = counted(serial, axes, (ranks,))
    pairs = ranks if fn is upwind else ranks - 1  # around the circle
    both_ends = fn is upwind and ranks == 2  # lie beside the same neighbour, whom the reverse sweep sends both at once
    assert [messages[INSIDE, sweep] for sweep in ("forward", "reverse")] == [
        neighbours[0] * pairs, neighbours[1] * pairs - both_ends]
    assert (messages[OUTSIDE, "forward"], messages[OUTSIDE, "reverse"]) == (0, before * (ranks - 1))


@pytest.mark.parametrize("grid, axes, each", [((3,), (0, None), 4), ((2, 2), (0, 1), 8)])
def test_cotangents_lie_where_what_is_recorded_lies(grid: tuple[int, ...], axes: Any, each: int) -> None:
    """Copies of the state that every step records: with their cotangents elsewhere there was a message more each step.
    Halos of the records go once, ahead of the loop."""
    serial = serial_gradient(burgers, (RNG.random((12, 7)), RNG.random((12, 7)), 2))
    cut = {"u": axes, "v": axes}
    assert cut_and_run(serial, cut, grid, checked).error < 1e-12
    assert counted(serial, cut, grid)[0] == {
        (INSIDE, "forward"): each, (INSIDE, "reverse"): each, (OUTSIDE, "reverse"): each}


def faces(u, v, h, steps):
    """Shallow water on an Arakawa C-grid: speeds on the faces of cells, fluxes computed from depths beside them."""
    for t in range(steps):
        u[1:-1] -= 0.1 * (h[1:] - h[:-1])
        v[:, 1:-1] -= 0.1 * (h[:, 1:] - h[:, :-1])
        fu, fv = np.zeros_like(u), np.zeros_like(v)
        fu[1:-1] = u[1:-1] * 0.5 * (h[1:] + h[:-1])
        fv[:, 1:-1] = v[:, 1:-1] * 0.5 * (h[:, 1:] + h[:, :-1])
        h = h - 0.1 * (fu[1:] - fu[:-1] + fv[:, 1:] - fv[:, :-1])
    return np.sum(h ** 2)


def marked(u, v, h, steps):
    """A step of the marker-and-cell method: what is advected is squared in the cells."""
    for t in range(steps):
        cells = 0.5 * (u[1:] + u[:-1])
        w = u.copy()
        w[1:-1] = u[1:-1] - 0.05 * (cells[1:] ** 2 - cells[:-1] ** 2) + 0.02 * (u[2:] - 2 * u[1:-1] + u[:-2]) - 0.1 * (
            h[1:] - h[:-1])
        u = w
        v = v + 0.02 * np.tanh(v[:, ::-1])
        h = h - 0.1 * (u[1:] - u[:-1] + v[:, 1:] - v[:, :-1])
    return np.sum(h ** 2) + np.sum(u ** 2)


@pytest.mark.parametrize("fn, each", [(faces, (2, 2)), (marked, (3, 3))])
@pytest.mark.parametrize("grid", [(2,), (3,), (2, 2)])
@pytest.mark.parametrize("cells", [12, 10])
def test_what_can_wait_goes_with_a_later_message_its_way(fn: Any, each: tuple[int, int], grid: tuple[int, ...],
                                                         cells: int) -> None:
    """So many messages in a step between two neighbours, of which the first ones go one way alone. Blocks of faces
    begin with their cells, also where neither are as many on all ranks."""
    shapes = (cells + 1, 6), (cells, 7), (cells, 6)
    serial = serial_gradient(fn, (*(1 + 0.1 * RNG.random(shape) for shape in shapes), 3))
    axes = dict.fromkeys("uvh", (0, 1 if len(grid) == 2 and fn is faces else None))
    grid = grid if fn is faces or len(grid) == 1 else (4,)
    assert cut_and_run(serial, axes, grid, checked).error < 1e-12
    messages, _ = counted(serial, axes, grid)
    pairs = 4 if grid == (2, 2) else grid[0] - 1
    assert [messages[INSIDE, sweep] for sweep in ("forward", "reverse")] == [n * pairs for n in each]


def diffused(u, k, steps):
    for t in range(steps):
        u[1:-1, 1:-1] += k * (u[2:, 1:-1] + u[:-2, 1:-1] + u[1:-1, 2:] + u[1:-1, :-2] - 4 * u[1:-1, 1:-1])
    return np.sum(u ** 2)


@pytest.mark.parametrize("grid, most", [((3,), 2.4), ((2, 2), 2.4)])
def test_sums_are_shared_out_in_the_middle_of_a_stencil(grid: tuple[int, ...], most: float) -> None:
    """The derivative by k is a sum over points: with each point goes its own halo, and no more."""
    serial = serial_gradient(diffused, (RNG.random((12, 13)), 0.1, 3), ("u", "k"))
    axes = {"u": (0, 1 if len(grid) == 2 else None)}
    assert cut_and_run(serial, axes, grid, checked).error < 1e-12
    messages, elements = counted(serial, axes, grid)
    assert messages[INSIDE, "reverse"] == messages[INSIDE, "forward"]
    assert elements[INSIDE, "reverse"] <= most * elements[INSIDE, "forward"]


def largest(u, v):
    """Extremes of everything, of rows, of what is computed, and one of two numbers."""
    m = min(np.min(v), v[4] * 0.5)
    return np.max(u) * np.min(u, axis=0) @ np.arange(u.shape[1]) + m + np.max(np.abs(v)) * np.max(u[3:] * u[:-3])


def test_extremes_take_no_element_along() -> None:
    serial = serial_gradient(largest, (RNG.normal(size=(9, 4)), RNG.normal(size=9)))
    for grid in ((2,), (3,)):
        done = cut_and_run(serial, {"u": (0, None), "v": (0,)}, grid, checked)
        assert done.error < 1e-13 and all("-inf" in program_text(p) for p in done.programs)


def one_row(u, w, k):
    """Numbers of one rank: some are for one rank alone, others for all, for sums in parts, and for the caller."""
    first, last, far = u[0], u[-1], w[2]
    v = w * far + first
    u[0], u[-1] = last * k, first
    s = np.tanh(far)
    return np.sum(u ** 2 * s) + np.sum(np.outer(u, v) @ v) + first


def test_numbers_of_one_rank_are_where_they_are_read() -> None:
    serial = serial_gradient(one_row, (RNG.random(11), RNG.random(7), 0.3), ("u", "w", "k"))
    for grid in ((2,), (3,), (7,)):
        for axes in ({"u": (0,)}, {"u": (0,), "w": (0,)}, {"w": (0,)}):
            assert cut_and_run(serial, axes, grid, checked).error < 1e-13, (grid, axes)
