"""Random programs: a right gradient or a refusal, never anything else."""
from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest
from hypothesis import HealthCheck, Phase, given, note, seed, settings
from hypothesis import strategies as st

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


def assert_few_refused(seen: Counter[str]) -> None:
    reasons = "\n".join(f"{n} {what}" for what, n in seen.most_common() if what.startswith("refused:"))
    assert seen["refused"] <= MOST_REFUSED * seen["programs"], reasons
    assert seen["smooth"] >= 0.6 * seen["programs"]


def test_interpreted_gradients(tmp_path):
    assert_few_refused(examine(Interpreted(), tmp_path, 100, 1))


def test_compiled_gradients(tmp_path):
    examine(Compiled(), tmp_path, 6, 3)


@pytest.mark.slow
def test_many_compiled_gradients(tmp_path):
    assert_few_refused(examine(Compiled(), tmp_path, 100, 4))


@pytest.mark.slow
def test_many_interpreted_gradients(tmp_path):
    assert_few_refused(examine(Interpreted(), tmp_path, 1000, 2, shrink=True))
