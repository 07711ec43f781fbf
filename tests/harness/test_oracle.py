"""When a difference from JAX says nothing: rounding the arguments moves its gradient as much."""

from types import SimpleNamespace

import numpy as np
import pytest

from npbench_suite.harness.job import Run
from npbench_suite.harness.objective import save_gradients
from npbench_suite.harness.oracle import ill_conditioned
from npbench_suite.harness.row import Check, row_of

KERNEL = SimpleNamespace(tolerance=1e-6)


@pytest.fixture
def files(tmp_path):
    def saved(name, error):
        gradient = {"x": np.array([1.0, 2.0 + 2.0 * error])}
        save_gradients(str(tmp_path / name), {"sum": gradient, "weighted": gradient})
        return str(tmp_path / name)

    return saved


@pytest.mark.parametrize(("moved", "ours", "excused"), [
    (4e-6, 5e-6, True), (1.0, 3.0, True),
    (1e-9, 5e-6, False),   # rounding does not matter
    (4e-6, 1e-3, False),   # sdfgad is much further away
    (5e-7, 2e-6, False),   # rounding moves it less than the tolerance
])
def test_only_what_rounding_decides_is_excused(files, moved, ours, excused):
    others = {"rounding moves": files("second.npz", moved)}
    note = ill_conditioned([Check("JAX", ours, 1e-6)], others, files("first.npz", 0.0), KERNEL)
    assert bool(note) == excused


def test_ports_that_round_differently_are_a_second_opinion_too(files, tmp_path):
    save_gradients(str(tmp_path / "port.npz"), {"sum": {"x": np.array([1.0, 2.0 + 8e-6])}})
    others = {"rounding moves": files("second.npz", 1e-12), "rewriting moves": str(tmp_path / "port.npz")}
    assert "rewriting" in ill_conditioned([Check("JAX", 5e-6, 1e-6)], others, files("first.npz", 0.0), KERNEL)


def test_without_a_second_opinion_nothing_is_excused(files):
    assert not ill_conditioned([Check("JAX", 5e-6, 1e-6)], {}, files("first.npz", 0.0), KERNEL)


def test_the_row_says_so():
    assert row_of("k", [], [], "ill-conditioned").message == "ill-conditioned"


def test_where_rounding_decides_the_value_is_no_oracle_either():
    runs = [Run("k", "numpy", 1, "ok", objective=1.0, objective_scale=1.0),
            Run("k", "sdfgad", 1, "ok", objective=1.1)]
    checks = [Check("differences", 1e-9, 1e-6)]
    assert row_of("k", runs, checks).status == "mismatch"
    assert row_of("k", runs, checks, "ill-conditioned").status == "ok"
