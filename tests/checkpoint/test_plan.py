"""Plans are values: what they come to, how they print, JSON there and back."""
from __future__ import annotations

import json
import pickle
from pathlib import Path

import pytest

from sdfgad.checkpoint.decided import RECOMPUTE, STORE
from sdfgad.checkpoint.problem import Item, Problem
from sdfgad.errors import UsageError
from sdfgad.plans.plan import Plan
from tests.support.plans import recompute_where_possible, store_all

ITEMS = (Item("h@4", "h", 800, "model.py", 4, "needed by line 5", True, 100),
         Item("x@6", "x", 400, "model.py", 6, "needed by line 4", False, 0),
         Item("w@9", "w", None, "model.py", 9, "needed by line 9", False, 0))
PROBLEM = Problem("model", ITEMS, {"x": 80, "grad_x": 80})


def test_what_a_plan_comes_to():
    stored, rebuilt = store_all(PROBLEM), recompute_where_possible(PROBLEM)
    assert stored.predicted.peak_bytes == stored.predicted.store_all_bytes == 160 + 1200
    assert rebuilt.predicted.peak_bytes == 160 + 400
    assert stored.predicted.unbounded
    assert not Plan(Problem("m", ITEMS[:2], {}), {"h@4": STORE, "x@6": STORE}).predicted.unbounded


def test_decisions():
    rebuilt = recompute_where_possible(PROBLEM, 1000)
    assert rebuilt.decisions == {"h@4": RECOMPUTE, "x@6": STORE, "w@9": STORE}
    assert rebuilt.recomputed == {"h@4"}
    assert store_all(PROBLEM).recomputed == frozenset()


@pytest.mark.parametrize("made", [store_all(PROBLEM), recompute_where_possible(PROBLEM, 10**9)], ids=lambda p: p.policy)
def test_json_there_and_back(made, tmp_path):
    assert Plan.from_json(made.to_json()) == made
    made.save(tmp_path / "plan.json")
    assert Plan.load(tmp_path / "plan.json") == made
    assert Problem.from_json(made.problem.to_json()) == made.problem


def test_the_fields_of_the_json():
    raw = json.loads(recompute_where_possible(PROBLEM, 1000).to_json())
    assert raw["schema"] == "sdfgad.plan/1"
    assert raw["limit_bytes"] == 1000
    assert raw["arrays"][0] | {"decision": RECOMPUTE, "bytes": 800, "line": 4} == raw["arrays"][0]
    assert raw["predicted"]["peak_bytes"] == 560


@pytest.mark.parametrize("text", ["", "{", "[]", "{}", '{"schema": "sdfgad.plan/9"}'])
def test_something_else_is_refused(text):
    with pytest.raises(UsageError, match="not a plan"):
        Plan.from_json(text)


def test_every_truncated_file_is_refused(tmp_path):
    text = store_all(PROBLEM).to_json()
    for end in range(0, len(text) - 1, 37):
        (tmp_path / "plan.json").write_text(text[:end])
        with pytest.raises(UsageError, match="not a plan"):
            Plan.load(tmp_path / "plan.json")


@pytest.mark.parametrize("name, value", [
    ("arrays", []), ("arrays", None), ("problem", {}), ("modes", {"t@3": {"kind": "segments", "colour": 1}}),
    ("about", None), ("outlook", {}), ("schedule", {"schema": "sdfgad.schedule-plan/9"}), ("limit_bytes", ...),
    ("measured", {"peak_bytes": 1}),
])
def test_a_file_with_a_wrong_part_is_refused(name, value):
    raw = json.loads(store_all(PROBLEM).to_json())
    if value is ...:
        del raw[name]
    else:
        raw[name] = value
    with pytest.raises(UsageError):
        Plan.from_json(json.dumps(raw))


def test_a_decision_that_does_not_exist_is_refused():
    raw = json.loads(store_all(PROBLEM).to_json())
    raw["arrays"][0]["decision"] = "forget"
    with pytest.raises(UsageError, match="decide"):
        Plan.from_json(json.dumps(raw))


def test_files_that_cannot_be_read_or_written(tmp_path):
    with pytest.raises(UsageError, match="nowhere"):
        Plan.load(tmp_path / "nowhere.json")
    (tmp_path / "binary").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(UsageError, match="binary"):
        Plan.load(tmp_path / "binary")
    with pytest.raises(UsageError, match="cannot write"):
        store_all(PROBLEM).save(tmp_path / "no folder" / "plan.json")


def test_a_plan_that_cannot_be_written_whole_leaves_the_old_file(tmp_path, monkeypatch):
    old, new = store_all(PROBLEM), recompute_where_possible(PROBLEM)
    old.save(tmp_path / "plan.json")

    def full(self, text, **options):
        with open(self, "w") as file:
            file.write(text[:len(text) // 2])
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "write_text", full)
    with pytest.raises(UsageError, match="No space left"):
        new.save(tmp_path / "plan.json")
    assert Plan.load(tmp_path / "plan.json") == old
    assert [file.name for file in tmp_path.iterdir()] == ["plan.json"]


def test_a_plan_can_be_pickled():
    plan = recompute_where_possible(PROBLEM, 1000)
    assert pickle.loads(pickle.dumps(plan)) == plan


def test_the_printed_form():
    text = str(store_all(PROBLEM, 2000))
    assert "plan for model: store all" in text
    assert "model.py:4" in text
    assert "growable" in text
    assert "limit" in text
    assert "store-all" in recompute_where_possible(PROBLEM)._repr_html_()


def test_what_is_as_cheap_to_compute_says_so():
    mask = Item("mask", "mask", 10**9, "model.py", 3, "needed by line 5", True, 100, light=True)
    plan = Plan(Problem("model", (*ITEMS, mask), {}), {"h@4": STORE, "x@6": STORE, "w@9": STORE, "mask": RECOMPUTE})
    assert plan.predicted.peak_bytes == 1200
    assert plan.reason(mask) == "needed by line 5, as cheap to compute there"
    assert plan.reason(ITEMS[0]) == "needed by line 5"
    assert json.loads(plan.to_json())["arrays"][3]["reason"] == plan.reason(mask)
    assert Plan.from_json(plan.to_json()) == plan


def test_nothing_to_store_is_said():
    assert "nothing has to be stored" in str(store_all(Problem("model", (), {"x": 8})))
