"""`sdfgad plan` on real programs: what it prints and writes, exit codes, time and memory at the largest sizes."""
from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

import sdfgad
from sdfgad import cli
from sdfgad.plans.plan import Plan
from tests.support.schema import complaints

ROOT = Path(sdfgad.__file__).parent.parent
MODEL = """\
import numpy as np
import sdfgad


def cost(u, steps):
    for t in range(steps):
        u[1:-1] = u[1:-1] + 0.1 * np.sin(u[1:-1]) * u[:-2] * u[2:]
    return np.sum(u * u)


def example_cost(n=50, steps=20):
    return sdfgad.spec(n) if n > 10**6 else np.linspace(0, 1, n), steps


def rounded(u):
    return np.sum(eval("u"))


def example_rounded():
    return (np.ones(3),)
"""


@pytest.fixture(autouse=True)
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(sys, "path", list(sys.path))
    monkeypatch.delitem(sys.modules, "model", raising=False)
    monkeypatch.chdir(tmp_path)
    (tmp_path / "model.py").write_text(MODEL)
    return tmp_path


def run(*arguments: str) -> int:
    with pytest.raises(SystemExit) as stop:
        cli.main(("plan", *arguments))
    return int(stop.value.code or 0)


def peak_of(file: Path) -> int:
    return json.loads(file.read_text())["predicted"]["peak_bytes"]


def test_a_plan_is_written_and_followed(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("model.py:cost", "--memory-limit", "5kB", "--save", "plan.json", "--html", "plan.html") == 0
    printed = capsys.readouterr()
    assert printed.err == "" and "limit 5 kB" in printed.out and "snapshots" in printed.out
    assert complaints(json.loads((place / "plan.json").read_text())) == []
    assert "<svg" in (place / "plan.html").read_text()
    assert run("model.py:cost", "--plan", "plan.json", "--json", "-") == 0
    again = Plan.from_json(capsys.readouterr().out)
    assert again.modes == Plan.load(place / "plan.json").modes
    assert again.predicted == Plan.load(place / "plan.json").predicted


def test_the_program_behind_each_stage(capsys: pytest.CaptureFixture[str]) -> None:
    assert run("model.py:cost", "--passes", "--memory-limit", "4kB", "--store", "u") == 0
    shown = capsys.readouterr().out
    places = [shown.index(f"\n{stage}: ") for stage in ("prepare", "trim", "clean", "schedule")]
    assert places == sorted(places) and "\n\nprogram cost\n" in shown
    assert "prepare: as it was read" in shown and "trim: remove_dead_code" in shown


def test_a_rank_of_many(capsys: pytest.CaptureFixture[str]) -> None:
    """Without MPI: what is named is cut, along the axes named, else what costs least."""
    size = ("-s", "n=200")
    assert run("model.py:cost", *size, "--ranks", "8", "--distribute", "u=block") == 0
    assert "rank 4 of 8 has u[" in capsys.readouterr().out
    assert run("model.py:cost", *size, "--ranks", "8") == 0
    assert "rank 4 of 8" in capsys.readouterr().out
    assert run("npbench:jacobi_2d", "--preset", "S", "--ranks", "4", "--distribute", "A=block,block", "--distribute",
               "B=block,block", "--grid", "2x2") == 0
    assert "of 4 has A[" in capsys.readouterr().out


@pytest.mark.parametrize("arguments, text", [
    (("--distribute", "u=block"), "--ranks"), (("--grid", "2x2"), "--ranks"),
    (("--ranks", "4", "--distribute", "u"), "u=block"), (("--ranks", "4", "--grid", "two"), "8x8")])
def test_how_ranks_are_asked_for(arguments: tuple[str, ...], text: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("model.py:cost", *arguments) != 0
    assert text in capsys.readouterr().err


def test_the_front_is_in_the_json(place: Path) -> None:
    assert run("model.py:cost", "--pareto=4", "--json", "front.json") == 0
    points = json.loads((place / "front.json").read_text())["pareto"]
    peaks = [p["peak_bytes"] for p in points]
    assert 2 <= len(points) <= 4 and peaks == sorted(peaks, reverse=True)
    assert peaks[0] == peak_of(place / "front.json")


def test_a_run_is_measured(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("model.py:cost", "--measure", "--json", "plan.json") == 0
    measured = json.loads((place / "plan.json").read_text())["measured"]
    assert 0 < measured["peak_bytes"] <= 1.01 * peak_of(place / "plan.json") + 100_000
    assert "measured peak" in capsys.readouterr().out


@pytest.mark.parametrize("arguments, code, message", [
    (("--memory-limit", "100B"), 3, "SG301"),
    (("--snapshot", "q"), 2, "snapshot='q'"),
    (("--plan", "other.json"), 3, "SG311"),
    (("--plan", "broken.json"), 2, "not a plan"),
    (("--plan", "foreign.json"), 2, "not a plan"),
    (("--plan", "other.json", "--store", "u"), 2, "leave out"),
    (("--save", "nowhere/plan.json"), 2, "cannot write"),
])
def test_exit_codes(
    arguments: tuple[str, ...], code: int, message: str, place: Path, capsys: pytest.CaptureFixture[str],
) -> None:
    assert run("model.py:cost", "-s", "n=51", "--save", "other.json") == 0
    text = (place / "other.json").read_text()
    (place / "broken.json").write_text(text[:-100])
    (place / "foreign.json").write_text(text.replace("sdfgad.plan/1", "sdfgad.plan/7"))
    before = sorted(place.iterdir())
    capsys.readouterr()
    assert run("model.py:cost", *arguments) == code
    printed = capsys.readouterr()
    assert printed.out == "" and message in printed.err
    assert sorted(place.iterdir()) == before


def test_an_unsupported_program_ends_with_4(capsys: pytest.CaptureFixture[str]) -> None:
    assert run("model.py:rounded") == 4
    assert "model.py:" in capsys.readouterr().err


LARGEST = ("vadv", "cavity_flow", "nbody", "stockham_fft", "resnet", "compute", "atax")
COMPILERS = ("g++", "c++", "clang++", "cmake")


RESOURCES = """\
import sys, time
from sdfgad import cli

def paced():
    start, seen = time.process_time(), {}
    for k in range(2_000_000):
        key = (k % 1009, k % 31)
        seen[key] = seen.get(key, 0) + k
    return time.process_time() - start

before = paced()
start = time.process_time()
try:
    cli.main(sys.argv[1:])
finally:
    used = time.process_time() - start
    status = open("/proc/self/status").read()
    print("used", used, before + paced(), status.split("VmHWM:")[1].split()[0], file=sys.stderr)
"""
PACE = 0.8
"""Seconds that the two loops around the command take on a usual processor, on which planning may take ten."""


@pytest.mark.parametrize("kernel", LARGEST)
def test_the_largest_preset_is_planned_in_little_time_and_memory(kernel: str, place: Path) -> None:
    for name in COMPILERS:
        (place / name).write_text(f"#!/bin/sh\ntouch {place}/compiled\nexit 1\n")
        (place / name).chmod(0o755)
    command = [sys.executable, "-c", RESOURCES, "plan", f"npbench:{kernel}", "--preset", "paper"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True,
                          env={**os.environ, "PATH": f"{place}:{os.environ['PATH']}", "SDFGAD_VERIFY": "0",
                               "SDFGAD_CACHE_DIR": str(place / "cache")})  # no plan is there yet
    assert done.returncode == 0 and "predicted peak" in done.stdout
    # Time of the processor: other tests may run beside this one.
    seconds, pace, kilobytes = map(float, done.stderr.split()[-3:])
    assert seconds < 10 * max(1.0, pace / PACE) and kilobytes < 300_000
    assert not (place / "compiled").exists()
