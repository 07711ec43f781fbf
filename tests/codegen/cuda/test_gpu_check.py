"""The command for machines with a device: what it says without one, and its logic, on programs that run here."""
from __future__ import annotations

import json
import os
import sys
import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from npbench_suite.device import agreement, cli, times, workers
from npbench_suite.device.times import DeviceTime, time_of
from npbench_suite.device.workers import Clock, Stage, Task
from sdfgad.codegen import devices
from sdfgad.codegen.cuda.speeds import DeviceSpeeds
from tests.support.on_cpu import on_cpu, running_here

WORDS = ("pass", "ok", "agree", "success", "green")
SAYS = '{"status": "agrees"}'


def test_without_a_device(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    monkeypatch.setattr(devices, "_LIBRARY", "libnobody.so.1")
    monkeypatch.setattr(cli, "find_device", devices.find_device.__wrapped__)
    page = tmp_path / "page.md"
    assert cli.main(["--page", str(page)]) == 0
    said = capsys.readouterr().out
    assert said.startswith("not run: no device") and said.count("\n") == 1 and not page.exists()
    assert not [word for word in WORDS if word in said]


@pytest.fixture
def card(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cli, "find_device", lambda: devices.Device("a stand-in", 90))
    monkeypatch.setattr(cli, "find_nvcc", lambda: "nvcc")
    monkeypatch.setattr(cli, "shutil", SimpleNamespace(which=lambda name: None))


def _here(task: Task) -> Any:
    return cli.work(task, place=running_here)


def test_all_of_it(card: None, tmp_path: Path, capsys: pytest.CaptureFixture[str],
                   monkeypatch: pytest.MonkeyPatch) -> None:
    files = [str(tmp_path / "out" / name) for name in ("gpu.json", "gpu.md")]
    kept: list[DeviceSpeeds] = []
    monkeypatch.setattr(cli, "keep", kept.append)
    monkeypatch.setattr(times, "LAUNCHES", 3)
    monkeypatch.setattr(times, "SMALL", 1 << 10)
    command = ["--preset", "S", "--budget", "0", "--megabytes", "1", "--jobs", "1", "--json", files[0], "--page",
               files[1], "softmax"]
    status = cli.main(command, run=_sized)
    found = json.loads(Path(files[0]).read_text())
    assert not found["left"] and cli.main(command, run=_nobody) == 0  # which finds all of it done
    assert kept[0].launch_seconds == found["launch_seconds"] > 0 and kept[0].bytes_per_second == found["bandwidth"]
    assert status == 0 and found["schema"] == cli.SCHEMA and found["bandwidth"] > 0
    states = {(one["program"], one["mode"]): one["status"] for one in found["agreement"]}
    assert states["softmax", "reverse"] == states["softmax", "forward"] == "agrees"
    (one, *others) = found["times"]
    assert one["gradient"] > 0 and one["primal"] > 0 and one["launches"] > 0 and one["device_bytes"] > 0
    assert all(other["gradient"] is None and other["said"] for other in others[:2])
    text = Path(files[1]).read_text()
    assert "a stand-in" in text and "| softmax | sdfgad |" in text and "not run: it is not installed" in text
    assert text.strip() in capsys.readouterr().out


def _sized(task: Task, seconds: float) -> Any:
    """With sizes that take no time here."""
    if task[0] == "tool":
        return cli.whatever(task, seconds)
    if task[0] != "time" or task[1] != "sdfgad":
        return _here(task) if task[0] != "time" else cli.asdict(DeviceTime(task[2], task[1], said="none"))
    kernel = agreement.load("softmax")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(type(kernel), "sizes", lambda self, preset: {"N": 2, "H": 2, "SM": 8})
        return _here(task)


def _nobody(task: Task, seconds: float) -> Any:
    raise AssertionError(f"{task} is run")


def _short(file: Path) -> list[str]:
    return ["--preset", "S", "--jobs", "1", "--json", str(file), "--page", str(file.with_suffix(".md")), "lu", "gemm"]


def test_what_there_was_no_time_for(card: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is told, and the next command goes on with it; with other sources it begins anew."""
    monkeypatch.setattr(cli, "keep", lambda speeds: None)
    file = tmp_path / "gpu.json"
    assert cli.main([*_short(file), "--minutes", "0"], run=_nobody) == 0
    left = json.loads(file.read_text())["left"]
    assert "agreement lu" in left and "not run; the same command goes on" in file.with_suffix(".md").read_text()
    asked: list[Task] = []

    def interrupted(task: Task, seconds: float) -> Any:
        asked.append(task)
        if task == ("agreement", "gemm"):
            raise KeyboardInterrupt
        return [vars(agreement.Agreement("lu", "reverse", "agrees", 0.0))] if task[0] == "agreement" else 1e12

    for times_asked in (1, 1, 2):
        with pytest.raises(KeyboardInterrupt):
            cli.main(_short(file), run=interrupted)
        assert asked.count(("agreement", "lu")) == asked.count(("launch", "0.3")) == times_asked
        if asked.count(("agreement", "gemm")) == 2:
            monkeypatch.setattr(cli, "version", lambda: "others")


def test_what_was_ended_by_the_end_of_all_is_left() -> None:
    """Nobody says that it took too long. So is what is not begun any more."""
    lu = ("agreement", "lu")
    for left, expected in (((9.0, -1.0), None), ((9.0, 2.0), 9.0), ((4.0, 4.0), None), ((99.0, 99.0), 10.0)):
        clock: Any = SimpleNamespace(left=iter(left).__next__)
        assert list(workers.answers(Stage((lu,), 10.0), clock, lambda task, seconds: seconds)) == [(lu, expected)]
    three, never = Stage((lu,) * 3, 10.0, jobs=2), Clock(time.monotonic() + 1e6)
    assert list(workers.answers(three, never, lambda task, seconds: "said")) == [(lu, "said")] * 3


def test_workers_that_do_not_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """They are ended with what they have started, and say so."""
    child = tmp_path / "child"
    monkeypatch.setattr(workers, "WORKER", ("sh", "-c", f"sleep 60 & echo $! > {child}; wait"))
    began = time.monotonic()
    (one,) = workers.in_process(("agreement", "lu"), 0.5)
    assert one["status"] == "failed" and "took more than" in one["said"] and time.monotonic() - began < 30
    with pytest.raises(ProcessLookupError):
        for _ in range(100):
            os.kill(int(child.read_text()), 0)
            time.sleep(0.1)


def test_a_wrong_result_is_told(card: None, tmp_path: Path) -> None:
    """Of a program of the device that has another number in it."""
    wrong = on_cpu(lambda text: text.replace("0.1", "0.2"))
    (reverse, forward) = agreement.examined("trap:gauss_seidel", lambda: running_here(wrong))
    assert reverse.status == forward.status == "differs" and (reverse.error or 0) > 1e-3
    found = {"agreement": [vars(reverse)], "sanitizer": []}
    assert cli.is_bad(found) and not cli.is_bad({"agreement": [], "sanitizer": []})
    assert agreement.difference([np.array([np.nan])], [np.array([1.0])]) == float("inf")


def test_workers_that_die(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(workers, "WORKER", (sys.executable, "-c", "import sys; sys.exit('broken')"))
    (one,) = workers.in_process(("agreement", "lu"), 60)
    assert one["status"] == "failed" and one["said"] == "exit status 1: broken"
    assert workers.in_process(("bandwidth", "1", "1"), 60) == {"said": "exit status 1: broken"}
    assert workers.in_process(("time", "jax", "lu", "S", "1"), 60)["said"] == "exit status 1: broken"
    monkeypatch.setattr(workers, "WORKER", (sys.executable, "-c", f"print('noise'); print('[{SAYS}]')"))
    assert workers.in_process(("agreement", "lu"), 60) == [json.loads(SAYS)]


def test_what_a_tool_finds(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    tool = tmp_path / "compute-sanitizer"
    tool.write_text("#!/bin/sh\ncase \"$2\" in racecheck) exit 9;; initcheck) exit 3;; esac\n")
    tool.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=":")
    found = {name: cli.whatever(("tool", name, "lu"), 60)["status"] for name in cli.TOOLS}
    assert found == {"memcheck": "found nothing", "racecheck": "found something", "initcheck": "exit status 3",
                     "synccheck": "found nothing"}
    assert cli.is_bad({"agreement": [], "sanitizer": [{"status": "found something"}]})


def test_other_libraries(monkeypatch: pytest.MonkeyPatch) -> None:
    """None of them has a device here."""
    for engine in ("jax", "cupy"):
        found = time_of(engine, "softmax", "S", 0.0)
        assert found.gradient is None and found.said
