import json
import os
import signal
import subprocess
import sys
import time
from importlib.util import find_spec

import psutil
import pytest
from click.testing import CliRunner

from npbench_suite.harness import cli
from npbench_suite.harness.cli import bench

REPORT = all(find_spec(name) for name in ("matplotlib", "jinja2"))


@pytest.fixture
def call(stubs):
    def invoke(*arguments):
        return CliRunner().invoke(bench, ["--suite", "fake_suite", *arguments])

    return invoke


@pytest.fixture
def quick(call):
    return lambda *arguments: call("--against", "none", "--threads", "1", "--repeat", "1", *arguments)


def refused(answer, *texts):
    flat = " ".join(answer.stderr.replace("│", " ").split())
    assert answer.exit_code == 2, answer.output
    for text in texts:
        assert text in flat
    assert "[1/" not in flat


def test_table_on_stdout_and_progress_on_stderr(quick):
    answer = quick("cube", "refused", "integers")
    assert answer.exit_code == 0, answer.output
    assert "cube" in answer.stdout and "ok fd" in answer.stdout
    assert "refused: unsupported SG121 refused.py:47: call of expit" in answer.stdout
    assert "no float" in answer.stdout
    assert "[2/3] refused: unsupported" in answer.stderr and "[2/3]" not in answer.stdout


def test_files_are_written(quick, tmp_path):
    arguments = ["cube", "--json", str(tmp_path / "r.json")] + (["--html", str(tmp_path / "r.html")] if REPORT else [])
    assert quick(*arguments).exit_code == 0
    document = json.loads((tmp_path / "r.json").read_text())
    assert [row["kernel"] for row in document["rows"]] == ["cube"]
    if REPORT:
        assert "<td>cube</td>" in (tmp_path / "r.html").read_text()
    assert not [file for file in tmp_path.iterdir() if file.name.startswith(".")]


def test_json_on_stdout_is_alone_there(quick):
    assert json.loads(quick("cube", "--json", "-").stdout)["options"]["repeat"] == 1


def test_a_mismatch_ends_with_5_and_an_error_with_1(quick):
    assert quick("wrong").exit_code == 5
    assert quick("broken").exit_code == 1


def test_a_regression_ends_with_5(quick, tmp_path):
    file = tmp_path / "old.json"
    quick("cube", "--json", str(file))
    document = json.loads(file.read_text())
    document["rows"][0]["ours"]["gradient"]["seconds"] = 1e-12
    file.write_text(json.dumps(document))
    answer = quick("cube", "--baseline", str(file))
    assert answer.exit_code == 5
    assert "regression: cube:" in answer.stdout
    refused(quick("cube", "--preset", "M", "--baseline", str(file)), "measured at preset S, not M")


@pytest.mark.parametrize(("arguments", "text"), [
    (["cub"], "no kernel 'cub'; did you mean cube?"),
    (["--preset", "XL"], "'XL' is not one of"),
    (["--threads", "0"], "no list of positive numbers"),
    (["--threads", "two"], "no list of positive numbers"),
    (["--against", "torch"], "'torch' is none of numpy, jax, dace"),
    (["--memory-limit", "4G"], "'4G' can mean powers of 1000 or of 1024"),
    (["--repeat", "0"], "--repeat"),
    (["--json", "/nowhere/at/all.json"], "cannot write to /nowhere/at/all.json"),
    (["--html", "-"], "give a file"),
    (["--baseline", "/nowhere.json"], "cannot read /nowhere.json"),
])
def test_a_wrong_request_is_refused_before_anything_runs(call, arguments, text):
    refused(call(*arguments), text)


def test_a_folder_as_file_and_a_file_that_is_no_baseline_are_refused(call, tmp_path):
    refused(call("--json", str(tmp_path)), "is a folder")
    (tmp_path / "x.json").write_text("{}")
    refused(call("--baseline", str(tmp_path / "x.json")), "its schema is not sdfgad.bench/2")


@pytest.mark.parametrize(("missing", "arguments"), [
    ("jax", ["--against", "jax"]), ("matplotlib", ["--html", "x.html"]), ("jinja2", ["--html", "x.html"]),
])
def test_a_missing_package_is_a_usage_error_only_when_asked_for(call, monkeypatch, missing, arguments):
    monkeypatch.setattr(cli, "find_spec", lambda name: None if name == missing else find_spec("json"))
    refused(call(*arguments), f"{missing} is not installed")


def test_jax_is_left_out_of_the_default_where_it_is_missing(monkeypatch):
    monkeypatch.setattr(cli, "find_spec", lambda name: None)
    assert cli._competitors(None, None, None) == ("numpy",)


def test_a_stopped_run_goes_on_where_it_was(quick, tmp_path, monkeypatch):
    file, part = tmp_path / "r.json", tmp_path / "r.json.part"
    measured, asked = cli.measured, []

    def stopped(options, *rest):
        asked.append(options.kernels)
        for row in measured(options, *rest):
            yield row
            if len(asked) == 1:
                raise KeyboardInterrupt

    monkeypatch.setattr(cli, "measured", stopped)
    answer = quick("cube", "integers", "--json", str(file))
    assert answer.exit_code == 1 and "1 finished kernels are in" in answer.stderr and "--resume" in answer.stderr
    assert part.exists() and not file.exists()
    refused(quick("cube", "integers", "--json", str(file), "--resume", "--repeat", "2"), "--repeat was 1, is 2")
    assert quick("cube", "integers", "--json", str(file), "--resume").exit_code == 0
    assert asked == [("cube", "integers"), ("integers",)]
    assert {row["kernel"] for row in json.loads(file.read_text())["rows"]} == {"cube", "integers"}
    assert not part.exists()


def test_a_run_that_was_not_stopped_cannot_go_on(quick, tmp_path):
    refused(quick("cube", "--resume"), "--resume needs the --json FILE")
    refused(quick("cube", "--json", str(tmp_path / "r.json"), "--resume"), "cannot go on from", "No such file")


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupted_run_leaves_nothing_behind(stubs, tmp_path, number):
    (scratch := tmp_path / "scratch").mkdir()
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path), "TMPDIR": str(scratch)}
    arguments = ["--suite", "fake_suite", "slow", "--against", "none", "--json", str(tmp_path / "r.json")]
    # In a folder without the package the stub comes first for the workers, which is what makes the kernel slow.
    process = subprocess.Popen([sys.executable, "-c", START, *arguments], cwd=tmp_path, env=environment,
                               stderr=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
    workers = wait_for(lambda: psutil.Process(process.pid).children())
    process.send_signal(number)
    assert process.wait(20) != 0
    assert all(not worker.is_running() for worker in workers)
    assert [file.name for file in tmp_path.iterdir()] == ["scratch"]
    assert list(scratch.iterdir()) == []


# The command needs the package's own errors, the workers need the stub: load the first before the stub is seen.
START = """
import signal, sys
signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell's jobs in the background ignore it
stubs = sys.path.pop(next(n for n, p in enumerate(sys.path) if p.endswith("stubs")))
from npbench_suite.harness.cli import bench
sys.path.insert(0, stubs)
bench()
"""


def wait_for(condition, seconds=20):
    deadline = time.monotonic() + seconds
    while not (found := condition()) and time.monotonic() < deadline:
        time.sleep(0.05)
    return found
