import io
import json
import math

import pytest
from rich.console import Console

from npbench_suite.harness.job import Job, Run
from npbench_suite.harness.machine import Machine, machine
from npbench_suite.harness.report import Baseline, Result, read_baseline, regressions, write_atomically
from npbench_suite.harness.row import Check, row_of
from npbench_suite.harness.session import Options
from npbench_suite.harness.summary import ordered, summarize
from npbench_suite.harness.table import bytes_text, duration, show
from npbench_suite.harness.timing import coverage, interval

HERE = Machine("Some CPU", 2, 8_000_000_000, "Linux", "3.11", None, {"numpy": "2"}, None)


def run(competitor, threads, seconds, name="gradient", status="ok", **details):
    return Run("k", competitor, threads, status, times={name: seconds}, first={name: 5.0}, **details)


def row(kernel="k", ours=0.1, jax=0.2, error=1e-12, status="ok", **details):
    runs = [run("sdfgad", 1, [ours], status=status, **details), run("jax:idiomatic", 1, [jax])]
    return row_of(kernel, runs, [Check("JAX", error, 1e-8)])


def result(*rows, **details):
    return Result(Options(tuple(r.kernel for r in rows)), HERE, tuple(ordered(rows)), summarize(rows), **details)


def shown(found):
    stream = io.StringIO()
    show(Console(file=stream, width=80), found)
    return stream.getvalue()


def test_best_is_the_smallest_median_over_threads_and_ports():
    runs = [run("sdfgad", 1, [3.0, 1.0, 2.0]), run("sdfgad", 2, [1.5]), run("sdfgad", 1, [0.5], "forward"),
            run("jax:literal", 1, [9.0]), run("jax:idiomatic", 1, [6.0]), run("jax:idiomatic", 2, [4.5]),
            run("jax:matrix", 1, [0.1]), run("jax:literal", 2, [0.2], status="mismatch")]
    found = row_of("k", runs, [Check("JAX", 0.0, 1e-8)])
    assert (found.gradient.seconds, found.gradient.threads) == (1.5, 2)
    assert (found.jax.seconds, found.jax.threads, found.jax.competitor) == (4.5, 2, "jax:idiomatic")
    assert found.speedup == 3.0
    assert found.gradient_over_forward == 3.0
    assert found.ours.compile_seconds == 3.0


def test_the_matrix_port_has_a_time_but_no_part_in_the_ratios():
    found = row_of("k", [run("sdfgad", 1, [1.0]), run("jax:idiomatic", 1, [2.0]), run("jax:literal", 1, [5.0]),
                         run("jax:matrix", 1, [0.1])], [Check("JAX", 0.0, 1e-8)])
    assert found.ports["jax:matrix"].gradient.seconds == 0.1
    assert (found.speedup, found.over("jax:literal")) == (2.0, 5.0)
    means = summarize([found]).means
    assert {name: one.best for name, one in means.items()} == {"JAX": 2.0, "JAX idiomatic": 2.0, "JAX literal": 5.0}


def test_value_and_gradient_has_a_ratio_of_its_own():
    ours = Run("k", "sdfgad", 1, "ok", times={"gradient": [1.0], "value_and_gradient": [2.0]}, first={"gradient": 5.0})
    port = Run("k", "jax:literal", 1, "ok", times={"gradient": [1.0], "value_and_gradient": [8.0]},
               first={"gradient": 5.0}, gradient_rss_bytes=77)
    found = row_of("k", [ours, port], [Check("JAX", 0.0, 1e-8)])
    assert (found.speedup, found.value_and_gradient_speedup) == (1.0, 4.0)
    assert found.ports["jax:literal"].peak_rss_bytes == 77


@pytest.mark.parametrize(("count", "k", "held"), [(1, 1, 0.0), (2, 1, 0.5), (5, 1, 0.9375), (6, 1, 0.96875),
                                                  (9, 2, 0.9609375), (10, 2, 0.978515625)])
def test_the_interval_of_a_median(count, k, held):
    low, high, repeats, confidence = interval([float(i) for i in range(count, 0, -1)])
    assert (low, high, repeats, confidence) == (k, count + 1 - k, count, pytest.approx(held))
    assert coverage(count, k + 1) < 0.95


@pytest.mark.parametrize("error", [1e-3, math.inf, math.nan])
def test_a_wrong_gradient_at_any_number_of_threads_is_a_mismatch(error):
    runs = [run("sdfgad", 1, [1.0]), run("sdfgad", 2, [1.0])]
    found = row_of("k", runs, [Check("JAX", 1e-12, 1e-8), Check("JAX", error, 1e-8)])
    assert found.status == "mismatch"
    assert found.speedup is None


def test_the_row_shows_the_check_that_is_closest_to_its_tolerance():
    single, double = Check("JAX in double precision", 1e-5, 1e-3), Check("JAX", 5e-9, 1e-8)
    assert row_of("k", [run("sdfgad", 1, [1.0])], [single, double]).check == double


def test_a_wrong_value_is_a_mismatch():
    numpy = run("numpy", 1, [1.0], "primal", objective=2.0, objective_scale=4.0)
    runs = [numpy, run("sdfgad", 1, [1.0], objective=2.1)]
    found = row_of("k", runs, [Check("JAX", 0.0, 1e-8)])
    assert (found.status, found.value_error) == ("mismatch", pytest.approx(0.025))


def test_a_gradient_without_oracle_is_not_called_right():
    assert row_of("k", [run("sdfgad", 1, [1.0])], []).status == "unchecked"


def test_errors_of_the_other_reverse_mode_are_refusals():
    assert row_of("k", [run("dace", 1, [], status="error")], []).dace_status == "refused"
    assert row_of("k", [run("dace", 1, [1.0], status="mismatch")], []).dace_status == "mismatch"
    assert row_of("k", [], []).dace_status is None


def test_summary_and_order():
    rows = [row("fast", jax=0.8), row("slow", jax=0.05), row("bad", error=1.0), row("even", jax=0.1),
            row_of("none", [run("sdfgad", 1, [], status="unsupported")], [])]
    assert [r.kernel for r in ordered(rows)] == ["bad", "slow", "even", "fast", "none"]
    summary = summarize(rows)
    means = summary.means["JAX"]
    assert (means.kernels, means.worst, means.best, means.median) == (3, 0.5, 8.0, 1.0)
    assert means.geometric == pytest.approx(4 ** (1 / 3))
    assert means.arithmetic == pytest.approx(9.5 / 3)
    assert summary.statuses == {"mismatch": 1, "ok": 3, "unsupported": 1}


def test_table_fits_80_columns_without_colour():
    long = row("scattering_self_energies", predicted_peak_bytes=123_456_789, ours=1.234e-4)
    refused = row_of("adi", [run("sdfgad", 1, [], status="unsupported", code="SG121", message="adi.py:47: expit")], [])
    text = shown(result(long, refused, row_of("crc16", [], []), regressions=("adi: was ok, now unsupported",)))
    lines = text.splitlines()
    assert max(map(len, lines[:4])) <= 80 and "\u2026" not in "".join(lines[1:4]).replace("scattering_self_e\u2026", "")
    assert "\x1b" not in text
    assert "123 MB" in lines[1] and "123 us" in lines[1] and "200 ms" in lines[1]
    assert "adi: unsupported SG121 adi.py:47: expit" in lines
    assert "regression: adi: was ok, now unsupported" in lines
    assert "geometric" in text
    assert max(map(len, text[text.index("kernels:"):text.index("preset")].splitlines())) <= 80


def test_a_failed_port_is_named_once():
    runs = [run("sdfgad", 1, [1.0]), *(run("jax:literal", threads, [], status="timeout", message="stopped after 60 s")
                                       for threads in (1, 2))]
    text = shown(result(row_of("k", runs, [])))
    assert text.count("k: jax:literal timeout stopped after 60 s") == 1


def test_table_without_any_ratio_has_no_means():
    assert "geometric" not in shown(result(row_of("k", [], [])))


@pytest.mark.parametrize(("seconds", "text"), [
    (0.0123, "12.3 ms"), (2.5, "2.5 s"), (4.2e-5, "42 us"), (1234.5, "1234 s"),
])
def test_duration(seconds, text):
    assert duration(seconds) == text


@pytest.mark.parametrize(("count", "text"), [(12, "12 B"), (8_390_000_000, "8.39 GB"), (None, "-"), (999_999, "1 MB")])
def test_bytes(count, text):
    assert bytes_text(count) == text


def test_json_has_the_raw_numbers_and_no_nan(tmp_path):
    document = json.loads(result(row(error=math.nan), row("z")).to_json(), parse_constant=pytest.fail)
    assert document["schema"] == "sdfgad.bench/2"
    bad, good = document["rows"]
    assert (bad["status"], bad["check"]["error"], good["ratios"]["speedup"]) == ("mismatch", None, 2.0)
    assert good["ours"]["gradient"]["confidence"] == 0.0
    assert good["runs"][0]["times"] == {"gradient": [0.1]}
    assert document["machine"]["cpu"] == "Some CPU"


def test_a_result_comes_back_from_its_file():
    first = result(row(error=math.nan), row("z"), row_of("crc16", [], []), preparation_seconds=2.0)
    again = Result.from_json(first.to_json())
    assert again.to_json() == first.to_json()
    assert shown(again) == shown(first)


def test_baseline_finds_slower_and_lost_kernels(tmp_path):
    file = tmp_path / "old.json"
    write_atomically(file, result(row("a"), row("b"), row("c"), row("d", error=1.0)).to_json())
    old = read_baseline(file)
    now = [row("a", ours=0.119), row("b", ours=0.15), row("c", error=1.0), row("d", error=1.0), row("e", ours=9.0)]
    slower, lost = regressions(now, old)
    assert slower == "b: 50 % slower (0.1 s, now 0.15 s)"
    assert lost == "c: was ok, now mismatch"
    assert old.preset == "S"


@pytest.mark.parametrize("text", ["{}", "[]", "no json", '{"schema": "sdfgad.bench/2"}'])
def test_a_file_that_is_no_result_is_refused(tmp_path, text):
    (tmp_path / "x.json").write_text(text)
    with pytest.raises(ValueError):
        read_baseline(tmp_path / "x.json")


def test_a_kernel_without_a_time_in_the_baseline_cannot_be_slower():
    assert regressions([row("a")], Baseline("S", {"a": ("unsupported", None)})) == ()


def test_machine_names_cores_and_versions():
    found = machine()
    assert found.cores >= 1 and found.memory_bytes > 0 and "numpy" in found.versions


def test_job_and_run_survive_json(tmp_path):
    job = Job("gemm", "jax:matrix", 2, "S", 3, str(tmp_path), gradients="g.npz")
    assert Job.from_json(job.to_json()) == job
    run("sdfgad", 1, [1.0]).save(job.result_file)
    assert job.result_file.name == "gemm-jax-matrix-2.json"
    assert Run.load(job.result_file) == run("sdfgad", 1, [1.0])
