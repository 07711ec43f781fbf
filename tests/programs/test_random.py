"""Random programs: a right gradient or a refusal, never anything else."""
from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from pathlib import Path

import pytest
from hypothesis import HealthCheck, Phase, given, note, seed, settings
from hypothesis import strategies as st

from sdfgad.thresholds import LEAST, changed
from tests.programs.examine import Task, Verdict
from tests.programs.examine import examine as judge
from tests.programs.holders import HOLDERS
from tests.programs.runners import Compiled, Interpreted
from tests.programs.running import Runner, arguments, check, load
from tests.programs.sums import programs as with_sums

MOST_REFUSED = 0.1


def examine(runner: Runner, folder: Path, examples: int, number: int, shrink: bool = False,
            programs: st.SearchStrategy[str] = with_sums()) -> Counter[str]:
    """Check `examples` programs; a failing one is shown with its text, made smaller (which takes long) on request."""
    phases = (Phase.generate, Phase.shrink) if shrink else (Phase.generate,)
    seen: Counter[str] = Counter()

    @seed(number)
    @settings(max_examples=examples, deadline=None, database=None, print_blob=False,
              suppress_health_check=list(HealthCheck), phases=phases)
    @given(source=programs, data=st.integers(0, 3), single=st.integers(0, 9))
    def one(source: str, data: int, single: int) -> None:
        note(source)
        seen["programs"] += 1
        fn = load(source, folder, seen["programs"])
        outcome = check(fn, runner, arguments(data, "f4" if single == 9 else "f8"))
        seen["refused"] += bool(outcome.refused)
        seen[f"refused: {outcome.refused}"] += bool(outcome.refused)
        seen["smooth"] += outcome.smooth and not outcome.refused

    one()
    return seen


def examined(tasks: Iterable[Task]) -> list[Verdict]:
    return [judge(task) for task in tasks]


def assert_right(found: list[Verdict]) -> None:
    wrong = [f"{v.task}: {v.kind}\n{v.why}\n{v.task.text}" for v in found if v.kind not in ("right", "refused")]
    assert not wrong, "\n\n".join(wrong)
    assert sum(v.kind == "refused" for v in found) <= max(1, MOST_REFUSED * len(found))


def assert_few_refused(seen: Counter[str]) -> None:
    reasons = "\n".join(f"{n} {what}" for what, n in seen.most_common() if what.startswith("refused:"))
    assert seen["refused"] <= MOST_REFUSED * seen["programs"], reasons
    assert seen["smooth"] >= 0.6 * seen["programs"]


def test_interpreted_gradients(tmp_path):
    assert_few_refused(examine(Interpreted(), tmp_path, 14, 1))


@pytest.mark.parametrize("start", [0, *(pytest.param(n, marks=pytest.mark.slow) for n in (8, 16))])
def test_loop_nests_with_least_thresholds(start):
    """Small programs in which most passes change something."""
    with changed(LEAST):
        assert_right(examined(Task(n, 6 + n % 5) for n in range(start, start + 8)))


def test_statements_that_programs_have_less_often():
    assert_right(examined(Task(n, rarer=True) for n in range(5)))


@pytest.mark.parametrize("start", [0, pytest.param(4, marks=pytest.mark.slow)])
def test_loop_nests_of_usual_sizes(start):
    assert_right(examined(Task(n, 40 + 3 * n % 30) for n in range(start, start + 4)))


@pytest.mark.parametrize("holder", HOLDERS)
def test_variables_kept_elsewhere(holder):
    assert_right(examined(Task(n, holder=holder) for n in (6001, 6003, 6007)))


def test_compiled_gradients(tmp_path):
    examine(Compiled(), tmp_path, 6, 3)


def test_compiled_loop_nests_on_several_threads():
    with changed(LEAST):
        assert_right(examined(Task(n, 8, compiled=True, threads=(1, many)) for n, many in ((11, 3),)))


def test_a_number_decides_a_program():
    assert Task(7, 50).text == Task(7, 50).text != Task(8, 50).text
    assert Task(1).text.startswith("import numpy as np")


@pytest.mark.slow
@pytest.mark.parametrize("holder", HOLDERS)
def test_many_variables_kept_elsewhere(holder):
    assert_right(examined(Task(n, holder=holder) for n in range(6100, 6200)))


@pytest.mark.slow
@pytest.mark.parametrize("start", range(1000, 1400, 100))
def test_many_statements_that_programs_have_less_often(start):
    assert_right(examined(Task(n, thorough=True, rarer=True) for n in range(start, start + 100)))


@pytest.mark.slow
def test_many_compiled_gradients(tmp_path):
    assert_few_refused(examine(Compiled(), tmp_path, 100, 4))


@pytest.mark.slow
@pytest.mark.parametrize("start", range(20, 60, 10))
def test_many_compiled_loop_nests_on_several_threads(start):
    with changed(LEAST):
        assert_right(examined(Task(n, 7 + n % 6, compiled=True, threads=(1, 2, 3)) for n in range(start, start + 10)))


@pytest.mark.slow
def test_many_interpreted_gradients(tmp_path):
    assert_few_refused(examine(Interpreted(), tmp_path, 1000, 2, shrink=True))


@pytest.mark.slow
@pytest.mark.parametrize("start", range(100, 400, 50))
def test_many_loop_nests_of_usual_sizes(start):
    assert_right(examined(Task(n, 40 + n % 31) for n in range(start, start + 50)))


@pytest.mark.slow
@pytest.mark.parametrize("start", range(100, 400, 50))
def test_many_programs_with_least_thresholds(start):
    with changed(LEAST):
        assert_right(examined(Task(n, 5 + n % 8) for n in range(start, start + 50)))
