"""Machine constants: measured once, kept, and mistrusted when absurd; the solver's packages are not imported early."""
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


def test_measured_once_and_kept(tmp_path, monkeypatch):
    calls = []
    monkeypatch.setattr(roofline, "measure", lambda threads: calls.append(threads) or Machine(1e10, 3e9))
    roofline._machine.cache_clear()
    with sdfgad.config(cache_dir=str(tmp_path), num_threads=2):
        first = this_machine()
        roofline._machine.cache_clear()
        assert this_machine() == first == Machine(1e10, 3e9)
    roofline._machine.cache_clear()
    assert calls == [2]
    assert read(next(tmp_path.glob("machine-*.json"))) == first


def test_a_measurement_makes_sense():
    found = measure()
    assert found == FALLBACK or found.measured


def test_absurd_results_are_not_used(monkeypatch):
    monkeypatch.setattr(roofline, "_bytes_per_second", lambda threads: 1.0)
    assert measure() == FALLBACK


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"schema": "sdfgad.machine/2"}', '{"schema": "sdfgad.machine/2", '
                                  '"bytes_per_second": 0.0, "operations_per_second": 1e9, "threads": 1, '
                                  '"measured": true}'])
def test_a_broken_file_is_ignored(tmp_path, text):
    (tmp_path / "machine.json").write_text(text)
    assert read(tmp_path / "machine.json") is None


def test_a_folder_that_cannot_be_written_is_no_error(tmp_path, monkeypatch):
    (tmp_path / "file").write_text("")
    monkeypatch.setattr(roofline, "measure", lambda threads: FALLBACK)
    with sdfgad.config(cache_dir=str(tmp_path / "file")):
        assert this_machine() == FALLBACK
    roofline._keep(tmp_path / "file" / "machine.json", Machine(1e10, 3e9))


def test_the_solver_is_imported_on_first_use_only():
    code = "import sys, sdfgad.checkpoint.pareto; print({'pulp', 'highspy'} & set(sys.modules))"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "set()\n"
