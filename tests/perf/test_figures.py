"""Bytes that must move, calls in turn, results on disk, the page, the command line."""
from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

import sdfgad
from npbench_suite.harness.machine import Machine
from npbench_suite.perf import busy, cli, compile_times, document, interleave, task
from npbench_suite.perf.interleave import Call, Ratio, interleaved
from npbench_suite.perf.results import Results
from npbench_suite.perf.subjects import SUBJECTS, enlarged
from npbench_suite.perf.task import MEASURES, Task, complaint
from npbench_suite.perf.traffic import Traffic, last_cache_bytes

HERE = Machine("Some CPU", 2, 8_000_000_000, "Linux", "3.11", None, {"numpy": "2"}, "abc123")
RATIO = {"median": 1.5, "low": 1.4, "high": 1.6, "pairs": 15, "confidence": 0.96}
TIMED = {"threads": 1, "sdfgad": 3e-3, "hand": 2e-3, "forward": 1e-3, "ratio": RATIO, "over_forward": RATIO}
FOUND: dict[str, dict[str, Any]] = {
    "pairs": {"lu": {"name": "lu", "sizes": "N 9", "peak_bytes": 9, "error": 1e-15, "timed": [TIMED], "speedup": None,
                     "hand_speedup": None}},
    "bandwidth": {"jacobi_2d": {"cache": 100, "rows": [
        {"sizes": "N 9", "threads": 1, "footprint": 200, "moved": moved, "sdfgad": 2.0, "hand": 1.0, "triad": 1e9}
        for moved in (0, 1_000_000_000)]}},
    "scaling": {"jacobi_2d": {
        "cache": 100, "sizes": [{"points": 10, "footprint": 50, "sweeps": 5, "threads": 1, "seconds": 1e-6}],
        "steps": [{"points": 10, "sweeps": 5, "footprint": 50, "more_footprint": 200, "threads": 1, "ratio": RATIO}]}},
    "applications": {"ocean_state": {"size": "nx 9", "peak_bytes": 9000, "timed": [
        {"threads": 1, "forward": 1e-3, "gradient": 1.5e-3, "over_forward": RATIO, "jax": 3e-3, "under_jax": RATIO},
        {"threads": 2, "forward": 1e-3, "gradient": 1e-3, "over_forward": RATIO, "jax": None, "under_jax": None}]}},
    "compile": {"lu": {"derive": 0.5, "build": 1.0, "refused": ""},
                "mandelbrot2": {"derive": 0.0, "build": 0.0, "refused": "SG105"}},
    "overheads": {"calls": {"rows": [{"what": "a call", "seconds": 2e-5, "note": ""},
                                     {"what": "another", "seconds": None, "note": "SG501"}]}},
    "busy": {"lu": {"threads": 2, "alone": 1e-3, "shared": 1.5e-3, "ratio": RATIO, "slowest": 3.0,
                    "slowest_alone": 2.0}},
}


def test_what_the_cache_holds_does_not_move() -> None:
    traffic = Traffic(lambda a: a["steps"], lambda a: a["points"], sweep=6, live=6, tape=4, kept=2)
    arguments = {"steps": 10, "points": 100}
    assert traffic.footprint(arguments) == 8 * 100 * 26
    assert traffic.moved(arguments, 8 * 100 * 26) == 0
    assert traffic.moved(arguments, 8 * 100 * 26 - 1) == 8 * 100 * 10 * 4
    assert traffic.moved(arguments, 8 * 100 * 6 - 1) == 8 * 100 * 10 * 10


def test_streams_are_measured_beyond_the_cache() -> None:
    cache = 1 << 16
    for subject in SUBJECTS.values():
        if subject.large is not None:
            arguments = subject.arguments(enlarged(subject, cache))
            assert subject.streams.moved(arguments, cache) > 0
            assert 8 * subject.streams.points(arguments) * subject.streams.live >= 4 * cache


def test_the_last_cache_has_a_size() -> None:
    assert 1 << 18 <= last_cache_bytes() <= 1 << 34


def test_calls_take_turns_and_back(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[str] = []
    monkeypatch.setattr(interleave, "_batch", lambda call: 1)
    times = interleaved({name: Call(lambda name=name: seen.append(name)) for name in "ab"}, 3, float("inf"))
    assert "".join(seen) == "abbaab"
    assert [len(one) for one in times.values()] == [3, 3]


def test_the_budget_ends_rounds_after_the_first() -> None:
    assert len(interleaved({"a": Call(lambda: None)}, 100, 0.0)["a"]) == 1


def test_ratios_are_taken_pair_by_pair() -> None:
    assert Ratio.of([2.0, 30.0, 8.0], [1.0, 10.0, 2.0]).median == 3.0


def test_the_page_says_what_was_not_measured_and_what_failed() -> None:
    empty = Results(HERE, True, {"pairs": {"lu": {"failed": "stopped after 3 s"}}})
    text = document.document(empty)
    assert text.count(document.NOTHING) == 11
    assert "* pairs, lu: stopped after 3 s" in text and "Quick run" in text


def test_the_page_shows_every_part() -> None:
    text = document.document(Results(HERE, False, FOUND))
    assert document.NOTHING not in text and "\n\n\n" not in text
    for line in ("| lu | 1 | 3 ms | 2 ms | 1.50 (1.40 to 1.60) | 1.50 |  |  | 1e-15 |",
                 "| jacobi_2d | N 9 | 1 | 200 B | in cache | 2 s | 1.0 GB/s | - | - |",
                 "| jacobi_2d | N 9 | 1 | 200 B | 1 GB | 2 s | 1.0 GB/s | 50 % | 100 % |",
                 "| jacobi_2d | 10 | 50 B | 0.50 | 1 | 1 us | 20.00 ns |",
                 "| ocean_state | nx 9 | 2 | 1 ms | 1 ms | 1.50 (1.40 to 1.60) | 9 kB |",
                 "| ocean_state | 1.5 ms | 3 ms | 1.50 (1.40 to 1.60) |",
                 "| both | 1 | 1.5 s | 1.5 s | lu |", "Refused: mandelbrot2 (SG105).", "| another | - | SG501 |",
                 "| lu | 2 | 1 ms | 1.5 ms | 1.50 (1.40 to 1.60) | 3.0 | 2.0 |", "0 of 1 within the bounds",
                 "sdfgad takes up to 1.5 times as long."):
        assert line in text


def test_calls_beside_another_job_are_compared_with_one_thread() -> None:
    one = busy.beside(2, [1.0, 2.0, 2.0, 3.0], [1.0, 2.0, 2.2, 9.0])
    assert (one.alone, one.slowest, one.slowest_alone) == (2.0, 4.5, 1.5) and one.good
    assert not busy.beside(2, [1.0] * 4, [1.0, 1.0, 1.0, 5.5]).good
    assert not busy.beside(2, [1.0] * 4, [1.4] * 4).good


def test_results_survive_a_file(tmp_path: Path) -> None:
    results = Results(HERE, False, FOUND)
    results.write(tmp_path / "r.json")
    assert Results.load(tmp_path / "r.json") == results
    (tmp_path / "r.json").write_text("{}")
    with pytest.raises(ValueError, match="schema"):
        Results.load(tmp_path / "r.json")


def test_the_exit_code_tells_a_wrong_gradient() -> None:
    wrong = {**FOUND["pairs"]["lu"], "error": 1e-9}
    assert cli.exit_code(Results(HERE, False, FOUND)) == 0
    assert cli.exit_code(Results(HERE, False, {"pairs": {"lu": wrong}})) == 5
    assert cli.exit_code(Results(HERE, False, {"pairs": {"lu": {"failed": "x"}}})) == 1


@pytest.fixture
def ran(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The names of the tasks that ran, of which the third one is interrupted."""
    names: list[str] = []

    def run_task(one: Task, *_: Any) -> Any:
        names.append(one.name)
        if len(names) == 3:
            raise KeyboardInterrupt
        return FOUND["compile"]["lu"]

    monkeypatch.setattr(cli, "run_task", run_task)
    monkeypatch.setattr(cli, "_prepare", lambda *_: None)
    return names


def test_an_interrupted_run_keeps_what_it_has_and_goes_on(tmp_path: Path, ran: list[str]) -> None:
    file = tmp_path / "r.json"
    command = ["--part", "compile", "lu", "gemm", "adi", "--json", str(file), "--resume"]
    assert CliRunner().invoke(cli.main, command).exit_code == 1
    assert list(Results.load(file).parts["compile"]) == ["adi", "gemm"]
    done = CliRunner().invoke(cli.main, command)
    assert (done.exit_code, ran) == (0, ["adi", "gemm", "lu", "lu"])
    assert "| both | 3 | 1.5 s | 1.5 s |" in done.output


def test_an_unknown_program_is_a_usage_error(tmp_path: Path) -> None:
    done = CliRunner().invoke(cli.main, ["--part", "pairs", "no_such", "--json", str(tmp_path / "r.json")])
    assert done.exit_code == 2 and "no_such" in done.output


def test_every_part_has_names_and_a_placeholder() -> None:
    like = Task("", "", (1,), 1, 1.0)
    made = list(cli.tasks(like, tuple(MEASURES), ()))
    assert {one.part for one in made} == set(MEASURES)
    assert len([one for one in made if one.part == "pairs"]) == 10


def test_a_task_comes_back_or_says_why(tmp_path: Path) -> None:
    found = task.run_task(Task("compile", "trisolv", (1,), 1, 1.0), tmp_path, 120.0)
    assert found["derive"] > 0.0 < found["build"] and not found["refused"]
    assert "KeyError" in task.run_task(Task("compile", "no_such", (1,), 1, 1.0), tmp_path, 120.0)["failed"]
    assert task.run_task(Task("compile", "lu", (1,), 1, 1.0), tmp_path, 0.1)["failed"] == "stopped after 0.1 s"


def test_a_program_that_is_not_taken_has_the_code_of_its_error(monkeypatch: pytest.MonkeyPatch) -> None:
    def refusing(*_: object) -> None:
        raise sdfgad.UnsupportedError("this one", code="SG105")

    monkeypatch.setattr(compile_times, "derive", refusing)
    found = compile_times.measure(Task("compile", "trisolv", (1,), 1, 1.0))
    assert found == {"derive": 0.0, "build": 0.0, "refused": "SG105"}


def test_the_complaint_is_the_line_that_names_the_error() -> None:
    assert complaint("Traceback:\n  x\npkg.SomeError: [SG1] why\n  help: do\n") == "pkg.SomeError: [SG1] why"
    assert complaint("killed\n") == "killed"
    assert complaint("") == ""
