"""Whole rows: every way a kernel can end."""

from importlib.util import find_spec

import pytest

from npbench_suite.harness import oracle
from npbench_suite.harness.session import Options, measured

needs_jax = pytest.mark.skipif(find_spec("jax") is None, reason="jax is not installed")


def rows(tmp_path, *kernels, against=("numpy",), **options):
    chosen = Options(kernels, against=against, threads=(1,), repeat=2, suite="fake_suite", **options)
    return list(measured(chosen, tmp_path, lambda run: None))


def row(tmp_path, kernel, **options):
    return rows(tmp_path, kernel, **options)[0]


def test_a_right_gradient_without_jax_is_checked_by_differences(stubs, tmp_path):
    cube = row(tmp_path, "cube")
    assert (cube.status, cube.check.oracle) == ("ok", "differences")
    assert cube.check.error < 1e-9
    assert cube.value_error < 1e-14
    assert cube.peak_bytes == 12345
    assert cube.gradient.seconds > 0 and cube.forward.seconds > 0 and cube.primal.seconds > 0
    assert cube.speedup is None and cube.gradient_over_forward > 0
    assert len(next(run for run in cube.runs if run.competitor == "sdfgad").times["gradient"]) == 6


@pytest.mark.parametrize("kernel", ["inplace", "spiral", "softmax", "cube32"])
def test_differences_accept_in_place_complex_and_degenerate_programs(stubs, tmp_path, kernel):
    assert row(tmp_path, kernel, against=()).status == "ok"


def test_differences_catch_an_error_of_a_thousandth(stubs, tmp_path):
    wrong = row(tmp_path, "wrong", against=())
    assert (wrong.status, wrong.code) == ("mismatch", "SG401")
    assert wrong.check.error > 1e-4
    assert wrong.speedup is None


@needs_jax
@pytest.mark.parametrize("kernel", ["cube", "inplace", "spiral", "softmax"])
def test_right_gradients_agree_with_jax(stubs, tmp_path, kernel):
    found = row(tmp_path, kernel, against=("jax",))
    assert (found.status, found.check.oracle) == ("ok", "JAX"), found.message
    assert found.check.error < 1e-12
    assert found.speedup > 0
    assert found.jax.competitor in ("jax:idiomatic", "jax:literal")


@needs_jax
def test_single_precision_is_checked_as_it_runs_and_in_double_precision(stubs, tmp_path, monkeypatch):
    seen = []
    checks = oracle.gradient_checks
    monkeypatch.setattr(oracle, "gradient_checks", lambda *args: seen.extend(checks(*args)) or seen)
    assert row(tmp_path, "cube32", against=("jax",)).status == "ok"
    double, single = seen
    assert double.error < 1e-14 and double.tolerance == 1e-8
    assert 1e-10 < single.error < 1e-5 and single.oracle == "JAX in double precision"


@needs_jax
def test_a_gradient_that_is_zero_at_the_data_is_checked_elsewhere(stubs, tmp_path):
    flat = row(tmp_path, "flat", against=("jax",))
    assert (flat.status, flat.check.oracle) == ("ok", "differences"), flat.message
    assert flat.speedup is not None


@needs_jax
def test_jax_catches_an_error_of_a_thousandth(stubs, tmp_path):
    wrong = row(tmp_path, "wrong", against=("jax",))
    assert wrong.status == "mismatch"
    assert wrong.check.error == pytest.approx(1e-3)
    assert wrong.jax is not None and wrong.speedup is None


def test_a_refusal_names_code_place_and_construct(stubs, tmp_path):
    refused = row(tmp_path, "refused", against=())
    assert (refused.status, refused.code, refused.message) == ("unsupported", "SG121", "refused.py:47: call of expit")


def test_a_limit_too_low_is_a_row(stubs, tmp_path):
    toobig = row(tmp_path, "toobig", against=())
    assert (toobig.status, toobig.code, toobig.message) == ("over limit", "SG301", "needs 8 GB at the least")


def test_an_unexpected_error_is_a_row_with_its_last_line(stubs, tmp_path):
    broken = row(tmp_path, "broken", against=())
    assert (broken.status, broken.message) == ("error", "KeyError: 'x'")


def test_a_crash_is_a_row(stubs, tmp_path):
    assert (found := row(tmp_path, "crash", against=())).status == "crash"
    assert found.message == "ended by SIGABRT"


def test_a_timeout_is_a_row(stubs, tmp_path):
    slow = row(tmp_path, "slow", against=("numpy",), seconds=8.0)
    assert (slow.status, slow.message) == ("timeout", "stopped after 8 s")
    assert slow.primal is not None


def test_a_measurement_is_repeated_until_its_time_is_spent(stubs, tmp_path):
    assert row(tmp_path, "cube", against=(), spend=1e-9).gradient.repeats == 1
    assert row(tmp_path, "inplace", against=(), spend=5.0).gradient.repeats > 1


def test_a_process_that_takes_too_much_memory_is_stopped(stubs, tmp_path):
    hungry = row(tmp_path, "hungry", against=(), rss_bytes=300_000_000)
    assert hungry.status == "out of memory"
    assert "300000000 allowed" in hungry.message


def test_no_kernel_is_dropped(stubs, tmp_path):
    found = rows(tmp_path, "integers", "refused", "cube", against=())
    assert [row.kernel for row in found] == ["integers", "refused", "cube"]
    assert (found[0].status, found[0].message) == ("no floating input", "counts only")
    assert not list(tmp_path.rglob("*.npz"))
