"""`distribute=`: what it takes, and what plans say. Nothing here needs MPI: a number stands for the ranks."""
from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest

import sdfgad
from npbench_suite.kernel import load
from sdfgad.calls.arguments import bind


def diffuse(u, k, steps):
    for t in range(steps):
        u[1:-1] = u[1:-1] + k * (u[2:] - 2 * u[1:-1] + u[:-2]) * np.cos(u[1:-1])
    return np.sum(u ** 2)


def planned(steps: int = 40, **options: Any) -> sdfgad.Plan:
    made = sdfgad.grad(diffuse, wrt="u", **{"distribute": {"u": "block"}, "comm": 4, **options})
    return made.plan(sdfgad.spec((1000, 20)), 0.1, steps)


def test_plans_say_what_a_rank_has_and_sends() -> None:
    plan = planned()
    text = " ".join(str(plan).split())
    assert "rank 2 of 4 has u[499:751, 0:20]" in text and "t loop, per iteration: 2 messages, 320 B" in text
    traffic = plan.about.traffic
    assert traffic is not None
    assert [(one.messages, one.bytes) for one in traffic.loops] == [(2, 320), (2, 960)]  # of three arrays
    gathered = 3
    assert traffic.messages == 40 * (2 + 2) + gathered
    assert sdfgad.Plan.from_json(plan.to_json()) == plan and "rank 2 of 4" in plan.to_html()
    assert planned(gather=False).about.traffic.messages == 40 * (2 + 2)


def sloshed(h, q, steps):
    for t in range(steps):
        q[1:-1] -= 0.1 * (h[1:] - h[:-1])
        h -= 0.1 * h * (q[1:] - q[:-1])
    return np.sum(h ** 2)


def test_faces_are_cut_beside_their_cells() -> None:
    """Blocks of 102 cells begin at 25, 51 and 76, and of their 103 faces, too; alone they would at 25, 51 and 77."""
    made = sdfgad.grad(sloshed, wrt="h", distribute={"h": "block", "q": "block"}, comm=4, gather=False)
    text = " ".join(str(made.plan(sdfgad.spec(102), sdfgad.spec(103), 3)).split())
    assert "h[50:76]" in text and "q[51:77]" in text
    ends = [sdfgad.grad(sloshed, wrt="q", distribute={"h": form, "q": "block"}, comm=4, gather=False)._blocks.of(
        bind(sloshed, [np.ones(102), np.ones(103), 3], {})).blocks("q", (103,)).axes[0].ends
        for form in ("block", "replicated")]
    assert ends == [(0, 25, 51, 76, 103), (0, 25, 51, 77, 103)]


def test_a_limit_holds_for_parts_with_more_neighbours_than_the_largest() -> None:
    """Of 25 rows the last of three ranks has 9, and the one in the middle 8 with halos on both sides."""
    def middle(limit: int | None) -> sdfgad.Plan:
        made = sdfgad.grad(diffuse, wrt="u", distribute={"u": "block"}, comm=3, gather=False, memory_limit=limit)
        return made.plan(sdfgad.spec((25, 14)), 0.1, 40)

    free = middle(None).predicted.peak_bytes
    limited = middle(free - 8)
    assert limited.predicted.peak_bytes <= free - 8 == limited.limit_bytes and limited.modes


def test_records_take_the_room_of_a_block() -> None:
    serial = sdfgad.grad(diffuse, wrt="u").plan(sdfgad.spec((1000, 20)), 0.1, 40)
    part = planned(gather=False)
    assert 3.5 < serial.predicted.peak_bytes / part.predicted.peak_bytes < 4.5


@pytest.mark.parametrize("form, block, copied", [(("block", None), (10, 40), ""), ((None, "block"), (40, 10), "6.4 kB"),
                                                 (("block", "block"), (20, 20), "6.4 kB")])
def test_plans_count_blocks_of_whole_arrays_that_are_copied(form: Any, block: Any, copied: str) -> None:
    """A block of rows is one piece of memory; others are copied, unless the rank gives the block alone."""
    made = sdfgad.grad(weighted, wrt="u", distribute={"u": form, "w": form}, comm=4, gather=False)
    one = sdfgad.DistributedArray(np.ones(block), (40, 40))
    whole, alone = made.plan(np.ones((40, 40)), np.ones((40, 40))), made.plan(one, one)
    assert whole.predicted.peak_bytes - alone.predicted.peak_bytes == (6400 if copied else 0)
    assert (f"copies {copied} of its arguments" in " ".join(str(whole).split())) == bool(copied)


def weighted(u, w):
    return np.sum(np.sin(u) * w)


def test_limits_hold_for_a_rank() -> None:
    plan = planned(gather=False, memory_limit="500kB")
    assert plan.predicted.peak_bytes <= 500_000 and plan.modes
    with pytest.raises(sdfgad.MemoryLimitError, match="needs at least"):
        planned(memory_limit="100kB")


def until_small(u):
    while np.sum(u ** 2) > 1.0:
        u = u * np.cos(np.roll(u, 1))
    return np.sum(u)


def test_a_limit_and_a_growing_tape_are_refused() -> None:
    made = sdfgad.grad(until_small, distribute={"u": "block"}, comm=2, memory_limit="1MB")
    with pytest.raises(sdfgad.UnsupportedError, match="loops of unknown length") as error:
        made.plan(np.ones(100))
    assert error.value.file == __file__


@pytest.mark.parametrize("name, sizes, cut", [
    ("hdiff", {"I": 12, "J": 12, "K": 11}, {"coeff": "0:12, 0:12, 5:8"}),  # along k there is no halo
    ("gemm", {"NI": 40, "NJ": 20, "NK": 30}, {"A": "0:40, 15:22", "B": "15:22, 0:20"}),
    # Nobody reads the product itself, whose parts would have to be added up.
    ("fdtd_2d", {"TMAX": 20, "NX": 20, "NY": 24}, {"ey": "10:15, 0:24", "hz": "10:15, 0:24"}),  # but not _fict_
    ("softmax", {"N": 2, "H": 2, "SM": 16}, {"x": "0:2, 0:2, 8:12, 0:16"})])
def test_auto_takes_the_cheapest_axis(name: str, sizes: dict[str, int], cut: dict[str, str]) -> None:
    kernel = load(name)
    made = sdfgad.grad(kernel.program, wrt=kernel.wrt, output=kernel.output, reduce="sum", distribute="auto", comm=4,
                       grid=(4,), gather=False)
    blocks = made.plan(*kernel.initialize(**sizes).values()).about.traffic.blocks
    assert cut.items() <= blocks.items()


def steps_of_five_points(u, steps):
    for _ in range(steps):
        u[1:-1, 1:-1] += 0.1 * (u[2:, 1:-1] + u[:-2, 1:-1] + u[1:-1, 2:] + u[1:-1, :-2] - 4 * u[1:-1, 1:-1])
    return np.sum(u ** 2)


@pytest.mark.parametrize("comm, grid, block", [(16, None, "1999:3001, 1999:3001"), (16, (16,), "1999:2251, 0:4000")])
def test_auto_takes_grids_of_ranks(comm: int, grid: Any, block: str) -> None:
    """Where blocks of two axes send less, and as far as the caller says nothing else."""
    made = sdfgad.grad(steps_of_five_points, distribute="auto", comm=comm, grid=grid, gather=False)
    assert made.plan(sdfgad.spec((4000, 4000)), 3).about.traffic.blocks == {"u": block}


def test_auto_says_what_stands_in_the_way() -> None:
    kernel = load("seidel_2d")
    made = sdfgad.grad(kernel.program, wrt="A", output="A", reduce="sum", distribute="auto", comm=4)
    with pytest.raises(sdfgad.UnsupportedError, match="the loop over i decides"):
        made.plan(2, 40, np.ones((40, 40)))
    few = sdfgad.grad(diffuse, wrt="u", distribute="auto", comm=400)
    with pytest.raises(sdfgad.UnsupportedError, match="as many elements as there are ranks"):
        few.plan(np.ones((30, 2)), 0.1, 3)


@pytest.mark.parametrize("u, grid, why, what", [
    (np.ones(40), (2, 2), "has not two axes of 2 elements or more", "give grid=(4,), which cuts one axis"),
    (np.ones((40, 40)), (2, 2, 1), "one axis is cut, or two", "leave grid= out"),
    (np.ones(3), None, "as many elements as there are ranks, 4", "take fewer ranks"),
    (1.0, None, "no argument is an array", 'distribute={"u": ("block", None)}')])
def test_auto_says_what_to_do(u: Any, grid: Any, why: str, what: str) -> None:
    made = sdfgad.grad(weighted, wrt="u", distribute="auto", comm=4, grid=grid)
    with pytest.raises(sdfgad.UnsupportedError) as error:
        made.plan(u, 2.0)
    assert why in str(error.value) and what in (error.value.help or "")


@pytest.mark.parametrize("options, text", [
    ({"distribute": {"u": "block"}, "comm": None}, "comm=None is no communicator"),
    ({"distribute": "rows"}, "distribute='rows'"), ({"distribute": None}, "options of distribute="),
    ({"distribute": {"w": "block"}}, "'w' is no argument that is an array(.|\n)*arrays: u"),
    ({"distribute": {"k": "block"}}, "'k' is a number, which every rank has"),
    ({"distribute": {"u": "cyclic"}}, "no cyclic layouts"), ({"grid": 4}, r"grid=4(.|\n)*grid=\(4,\)"),
    ({"grid": "2x2"}, "grid='2x2'"), ({"distribute": {"u": ("block", "block")}, "grid": (3, 2)},
                                      r"room for 6 ranks, and there are 4(.|\n)*give grid=\(2, 2\)"),
    ({"distribute": {"u": ("block",)}}, "for 2 axes"), ({"distribute": {"u": ("rows", None)}}, "for 2 axes"),
    ({"distribute": {"u": "replicated"}}, "cuts no array"), ({"grid": (2, 2)}, "4 ranks in 1 dimensions"),
    ({"grid": (3,)}, "room for 3 ranks, and there are 4"), ({"plan": planned}, r"plan= of a distributed"),
    ({"spill": "/tmp"}, "spill= of a distributed"), ({"objective": "sum"}, "objective= of a distributed")])
def test_options_that_do_not_fit(options: dict[str, Any], text: str) -> None:
    options = {n: v() if callable(v) else v for n, v in options.items()}
    with pytest.raises((sdfgad.UsageError, sdfgad.UnsupportedError), match=text):
        planned(**options)


def test_a_number_of_ranks_computes_nothing() -> None:
    made = sdfgad.grad(diffuse, wrt="u", distribute={"u": "block"}, comm=4)
    with pytest.raises(sdfgad.UsageError, match="comm=4 is a number of ranks"):
        made(np.ones((9, 2)), 0.1, 2)


@pytest.mark.parametrize("use", [
    lambda g: sdfgad.grad(g, reduce="sum"), lambda g: sdfgad.vmap(g), lambda g: sdfgad.vmap(sdfgad.forward(g)),
    lambda g: sdfgad.jvp(g, (np.ones((9, 2)), 0.1, 2), {"u": np.ones((9, 2))}),
    lambda g: sdfgad.export(g, [np.ones((9, 2)), 0.1, 2], folder="nowhere")])
def test_nobody_drops_it(use: Any) -> None:
    with pytest.raises((sdfgad.UsageError, sdfgad.UnsupportedError), match="distribute"):
        use(sdfgad.grad(diffuse, wrt="u", distribute={"u": "block"}, comm=4))


def test_blocks_alone_need_distribute() -> None:
    block = sdfgad.DistributedArray(np.ones((3, 2)), (9, 2))
    with pytest.raises(sdfgad.UsageError, match="distribute= does not cut"):
        sdfgad.grad(diffuse, wrt="u")(block, 0.1, 2)
    with pytest.raises(sdfgad.UsageError, match="all of it is needed"):
        sdfgad.jvp(diffuse, (block, 0.1, 2), {"u": np.ones((9, 2))})
    assert block.shape == (9, 2) and re.match("float64", str(block.dtype))
