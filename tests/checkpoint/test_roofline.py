"""Machine constants: measured a few times, kept, mistrusted when absurd; the solver is not imported early."""
from __future__ import annotations

import subprocess
import sys

import pytest

import sdfgad
from sdfgad.analysis.cost import Work
from sdfgad.checkpoint import roofline
from sdfgad.checkpoint.roofline import FALLBACK, Machine, measure, read, this_machine


def test_time_is_arithmetic_or_traffic():
    one, two = Machine(10.0, 100.0, 1), Machine(10.0, 100.0, 2)
    assert one.seconds(Work(shared=1000, vector=100, moved=10)) == 11.0
    assert two.seconds(Work(shared=1000, vector=100, moved=10)) == 6.0
    assert two.seconds(Work(shared=1000, vector=100, moved=100)) == 10.0
    assert one.seconds(Work(scalar=100)) == 3.0
    assert one.seconds(Work(forks=7)) == 0.0 < two.seconds(Work(forks=7))


def _in_processes(folder, monkeypatch, measurements):
    """What `this_machine` answers in processes one after another, and for how many threads each measured."""
    calls, left = [], iter(measurements)
    monkeypatch.setattr(roofline, "measure", lambda threads: calls.append(threads) or next(left))
    answers = []
    with sdfgad.config(cache_dir=str(folder), num_threads=2):
        for _ in measurements:
            roofline._machine.cache_clear()
            answers.append(this_machine())
            assert this_machine() is answers[-1]
    roofline._machine.cache_clear()
    return answers, calls


def test_measured_by_a_few_processes_and_kept(tmp_path, monkeypatch):
    same = Machine(1e10, 3e9)
    answers, calls = _in_processes(tmp_path, monkeypatch, [same] * (roofline.READINGS + 2))
    assert set(answers) == {same}
    assert calls == [2] * roofline.READINGS
    assert read(next(tmp_path.glob("machine-*.json"))) == (same, roofline.READINGS)


def test_what_other_work_made_look_slow_is_mended(tmp_path, monkeypatch):
    busy, quiet = Machine(1e9, 3e9, 2, alone=1e9), Machine(1e10, 1e9, 2, alone=7e9)
    fast = Machine(1.1e10, 1e10, 2, alone=7e9)
    answers, _ = _in_processes(tmp_path, monkeypatch, [busy, quiet, fast, FALLBACK, FALLBACK])
    assert answers == [busy, Machine(1e10, 3e9, 2, alone=7e9), *[Machine(1e10, 1e10, 2, alone=7e9)] * 3]


def test_small_differences_change_nothing(tmp_path, monkeypatch):
    answers, _ = _in_processes(tmp_path, monkeypatch, [Machine(1e10, 3e9), Machine(1.2e10, 3.7e9)])
    assert answers[0] == answers[1]


def test_a_measurement_makes_sense():
    found = measure()
    assert found == FALLBACK or found.measured


def test_absurd_results_are_not_used(monkeypatch):
    monkeypatch.setattr(roofline, "_bytes_per_second", lambda threads: 1.0)
    assert measure() == FALLBACK


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"schema": "sdfgad.machine/2"}', '{"schema": "sdfgad.machine/2", '
                                  '"bytes_per_second": 0.0, "operations_per_second": 1e9, "threads": 1, '
                                  '"measured": true}', '{"schema": "sdfgad.machine/5", '
                                  '"readings": 9, "bytes_per_second": 0.0, "operations_per_second": 1e9}'])
def test_a_broken_file_is_ignored(tmp_path, text):
    (tmp_path / "machine.json").write_text(text)
    assert read(tmp_path / "machine.json") == (None, 0)


def test_a_folder_that_cannot_be_written_is_no_error(tmp_path, monkeypatch):
    (tmp_path / "file").write_text("")
    monkeypatch.setattr(roofline, "measure", lambda threads: FALLBACK)
    with sdfgad.config(cache_dir=str(tmp_path / "file")):
        assert this_machine() == FALLBACK
    roofline._keep(tmp_path / "file" / "machine.json", Machine(1e10, 3e9), 1)


def test_the_solver_is_imported_on_first_use_only():
    code = "import sys, sdfgad.checkpoint.solve; print({'pulp', 'highspy'} & set(sys.modules))"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "set()\n"
