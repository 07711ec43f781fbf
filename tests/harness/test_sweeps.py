"""The sweeps over memory limits: one program each, what they report, and how they say that a limit was not kept."""
from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from click.testing import CliRunner

from npbench_suite import kernel as suite
from npbench_suite.harness import memory_sweep, plan_sweep
from sdfgad.calls.results import Gradients


@pytest.fixture(scope="module")
def swept(module_config: object) -> memory_sweep.Sweep:
    """A program small enough to run here."""
    kernel = suite.load("durbin")
    return memory_sweep.sweep(replace(kernel, initialize=lambda **sizes: kernel.initialize(N=60)), "S")


@pytest.fixture(scope="module")
def module_config() -> object:
    """Few calls and limits: nothing is timed here, and each limit is another program."""
    patch = pytest.MonkeyPatch()
    patch.setattr(memory_sweep, "TIMED_CALLS", 1)
    patch.setattr(memory_sweep, "PERCENT", (100, 25, 5))
    yield patch
    patch.undo()


def test_every_limit_is_kept(swept: memory_sweep.Sweep) -> None:
    assert [p.percent for p in swept.points] == list(memory_sweep.PERCENT)
    assert all(p.kept and p.measured <= p.limit and p.error <= 1e-12 for p in swept.points)
    assert swept.floor <= swept.points[-1].predicted < swept.store_all


def test_less_memory_is_never_said_to_be_faster(swept: memory_sweep.Sweep) -> None:
    said = [p.said for p in swept.points]
    assert said == sorted(said)


def test_a_broken_limit_is_shown(swept: memory_sweep.Sweep) -> None:
    point = swept.points[-1]
    assert not replace(point, measured=point.limit + 1).kept
    assert not replace(point, predicted=point.limit + 1).kept
    broken = replace(swept, points=(replace(point, predicted=point.limit + 1),))
    assert "| NO |" in memory_sweep.rows(broken)[0]
    assert not any("| NO |" in row for row in memory_sweep.rows(swept))


@pytest.mark.parametrize("failed", [False, True])
def test_rows_are_shown_and_a_program_without_result_is_no_success(swept, tmp_path, monkeypatch, failed) -> None:
    results = {"durbin": swept, "gemm": None if failed else replace(swept, kernel="gemm", points=())}
    monkeypatch.setattr(memory_sweep, "_in_a_process", lambda name, preset: results[name])
    done = CliRunner().invoke(memory_sweep.main, ["durbin", "gemm", "--markdown", str(tmp_path / "table.md")])
    assert done.exit_code == (1 if failed else 0)
    shown = (tmp_path / "table.md").read_text()
    assert all(row in shown and row in done.output for row in memory_sweep.rows(swept))
    assert f"Nothing to plan: {'none' if failed else 'gemm'}." in shown


def test_nested_gradients_are_compared_whole() -> None:
    gradients = Gradients({"A": np.ones((2, 2)), "B": (np.zeros(3), 1.0)})
    assert memory_sweep._flat(gradients).shape == (8,)


def test_plans_without_and_with_a_limit() -> None:
    free, most, least = plan_sweep.planned("durbin", "S", None, None)
    # The peak is the process's, other tests' too.
    assert replace(free, peak=0).good and not free.solver and least < most
    limited, peak, _ = plan_sweep.planned("durbin", "S", (most + least) // 2, 50)
    assert limited.solver == "optimal" and limited.gap == 0.0 and least <= peak <= (most + least) // 2


def test_plans_that_take_too_long_are_bad() -> None:
    good = plan_sweep.Planned(25, 1.0, 10**8, "optimal", 0.1, 0.0)
    assert good.good
    assert not any(replace(good, **{name: value}).good for name, value in
                   (("seconds", 11.0), ("solver_seconds", 6.0), ("peak", 4 * 10**8)))
    assert "1 of them optimal" in plan_sweep.table([("one", [good]), ("two", [replace(good, solver="feasible")])], "S")


@pytest.mark.parametrize("command", [memory_sweep.main, plan_sweep.main])
def test_unknown_programs(command: object) -> None:
    done = CliRunner().invoke(command, ["nothing"])  # type: ignore[arg-type]
    assert done.exit_code == 2 and "nothing" in done.output
