"""What ranks have to say of the checks that several numbers of them run."""
from __future__ import annotations

from typing import Any


def check_samples(found: dict[str, Any], count: int) -> None:
    samples = {n: f for n, f in found.items() if "gradient" in f}
    assert len(samples) == count
    for name, sample in samples.items():
        assert sample["gradient"] < 1e-13 and sample["value"] < 1e-13, name
        assert all(sample["steady"]) and all(sample["kept"]), name


def check_rows(found: dict[str, Any], count: int) -> None:
    rows = {n: f for n, f in found.items() if n.startswith("row ")}
    assert len(rows) == count
    for name, one in rows.items():
        assert one["value"] < 30 and one["dot"] < 100 and one.get("slope", 0.0) < 1e-7, name
        assert set(one["dtypes"]) == {2 * name.split()[2]}, name


def check_random(found: dict[str, Any], count: int) -> None:
    """Right or refused, a few of them."""
    one = found["random"]
    assert not any(one["bad"]), one["bad"][0]
    assert all(seen.get("right", 0) >= 0.9 * count and sum(seen.values()) == count for seen in one["seen"])


def check_silence(found: dict[str, Any]) -> None:
    one = {n.removeprefix("silence "): f for n, f in found.items() if n.startswith("silence ")}
    assert all(f["error"] < 1e-8 for f in one.values() if "error" in f)
    assert all(fault == [] for f in one.values() for fault in f.get("faults", []))
    for name in ("linear", "quiet_for_some", "pullback"):
        assert set(map(tuple, one[name]["forward"])) == {(0, 0)}, name
    for name in ("linear", "quiet_for_some"):
        assert one[name]["reverse"][0][0] > 0
    # What one rank needs, all of them send.
    assert one["linear_but_for_one"]["forward"] == one["linear_but_for_one"]["reverse"]


def check_operations(found: dict[str, Any]) -> None:
    assert found["value"] < 30 and found["dot"] < 100
    assert found.get("slope", 0.0) < 1e-8


def check_limited(found: dict[str, Any], count: int) -> None:
    """Every rank runs the loops alike, within its limit."""
    limited = {n: f for n, f in found.items() if "over" in f}
    assert len(limited) == count
    for name, one in limited.items():
        assert one["error"] < 1e-13 and one["over"] <= 1 and not any(one["faults"]), name
        assert len(set(one["modes"])) == 1, name
    assert all(one["modes"][0] != "[]" for name, one in limited.items() if not name.endswith("0.9"))


def check_checks(found: dict[str, Any]) -> None:
    """All ranks get one report, and one of them a wrong gradient."""
    reports = {n.removeprefix("check "): f for n, f in found.items() if n.startswith("check ")}
    for name in ("heat", "farm", "some", "alike", "wrong"):
        one = reports[name]
        assert set(one["ok"]) == {name != "wrong"} and set(one["reports"]) == {1}, (name, one)
    assert "x              bug" in reports["wrong"]["text"][0] and "\n w  " in reports["some"]["text"][-1]
    for name, form in {"raised": "GradientMismatchError", "refused": "UnsupportedError",
                       "argument": "UsageError", "unmoved": "UsageError"}.items():
        assert {raised for raised, _ in reports[name]["error"]} == {form}, name
    first, *others = reports["shown"]["text"]
    assert "given_by_some: ok" in first and not any(others) and not any(reports["shown"]["status"])


def check_objects(found: dict[str, Any]) -> None:
    """What comes is told by those who send it."""
    objects = {n.removeprefix("objects "): f for n, f in found.items() if n.startswith("objects ")}
    right = {n: f for n, f in objects.items() if "slope" in f}
    assert len(right) == 9 and objects["turned"]["error"] == 0.0
    assert objects["cut 0"]["error"] < 1e-14 and objects["cut 1"]["error"] < 1e-14
    assert {form for form, _ in objects["plan"]["error"]} == {"nothing"}
    assert all(f["value"] < 1e-13 and f["slope"] < 1e-8 and f["dot"] < 1e-12 for f in right.values()), right
    for name, text in {"of_two_forms": "of different forms on one way", "from_nobody": "no rank sends"}.items():
        assert {form for form, _ in objects[name]["error"]} == {"UnsupportedError"}
        assert any(text in message and "objects.py" in message for _, message in objects[name]["error"])


def check_sizes(found: dict[str, Any]) -> None:
    sizes = {n: f for n, f in found.items() if n.startswith("sizes ")}
    assert len(sizes) == 15
    assert all(f["value"] < 1e-13 and f["slope"] < 1e-7 and f["dot"] < 1e-12 for f in sizes.values()), sizes
    for name in ("unlike", "unlike_items", "unlike_in_turn"):
        assert {form for form, _ in found[f"{name} sizes"]["error"]} == {"UnsupportedError"}
        assert any("not made alike" in message for _, message in found[f"{name} sizes"]["error"]), name


def check_ways(found: dict[str, Any]) -> None:
    ways = {n: f for n, f in found.items() if n.startswith("ways ")}
    assert len(ways) == 10
    assert all(f["value"] < 1e-13 and f["slope"] < 1e-7 and f["dot"] < 1e-12 for f in ways.values()), ways


def check_between(found: dict[str, Any], count: int) -> None:
    between = {n: f for n, f in found.items() if n.startswith("between ")}
    assert len(between) == count
    assert all(f["value"] < 1e-14 and f["slope"] < 1e-7 and f["dot"] < 1e-12 for f in between.values()), between
    assert not any(fault for f in between.values() for fault in f["faults"])


def check_nobody(found: dict[str, Any]) -> None:
    nobody = {n: f for n, f in found.items() if n.startswith("nobody ")}
    assert len(nobody) == 6
    assert all(f["value"] < 1e-13 and f["slope"] < 1e-7 and f["dot"] < 1e-12 for f in nobody.values()), nobody
    one = nobody["nobody compiled"]
    assert not any(one["faults"]) and one["sent"][0][0] == one["sent"][0][1] > 0


def check_distributed(found: dict[str, Any], count: int) -> None:
    right = {n: f["error"] for n, f in found.items() if n.startswith("distributed ") and isinstance(f["error"], float)}
    assert len(right) == count and max(right.values()) < 1e-13, right
