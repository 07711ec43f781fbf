"""Programs that communicate, on 1, 2 and 3 ranks."""
from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from tests.mpi.told import (
    check_between,
    check_checks,
    check_distributed,
    check_limited,
    check_nobody,
    check_objects,
    check_operations,
    check_random,
    check_rows,
    check_samples,
    check_silence,
    check_sizes,
    check_ways,
)
from tests.support.once import once
from tests.support.ranks import OPEN_MPI, in_ranks, needs_mpi

pytestmark = [pytest.mark.mpi, needs_mpi]
MIDDLE = ("samples", "operations-float32", "operations-complex", "objectives", "question", "places", "limits",
          "agreement", "refusals", "tutorial", "code", "lists", "idle", "counts", "silence", "plans", "replicated",
          "rows-single", "parts-native", "random:0:20", "distributed", "limited", "orders", "overlap",
          "overlap-native", "objects", "sizes", "ways", "checks", "nobody",
          "between")


@pytest.fixture(scope="module")
def on_two(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """All checks at once: starting Python on both ranks takes as long as some of them."""
    def made() -> dict[str, Any]:
        done = in_ranks(2, *MIDDLE, timeout=500)
        assert done.status == 0, done.err[-4000:]
        return done.found

    return once(tmp_path_factory, "on_two", made)


def test_samples_against_serial_programs(on_two: dict[str, Any]) -> None:
    check_samples(on_two, 8)


def test_three_ranks() -> None:
    done = in_ranks(3, "sample-ring", "sample-farm", "operations-float64", "silence", "rows-complex", "random:24:12",
               "distributed-few", "sizes", "ways", "early", "checks", "nobody",
               "between", timeout=500)
    assert done.status == 0, done.err[-4000:]
    check_samples(done.found, 2)
    check_operations(done.found["operations float64"])
    check_silence(done.found)
    check_rows(done.found, 11)
    check_random(done.found, 12)
    check_distributed(done.found, 2)
    check_sizes(done.found)
    check_ways(done.found)
    assert done.found["early"]["error"] < 1e-13 and done.found["orders of waits"]["error"] < 1e-13
    check_checks(done.found)
    check_nobody(done.found)
    check_between(done.found, 4)


def test_what_all_ranks_hold_alike(on_two: dict[str, Any]) -> None:
    for name in ("heat", "tree"):
        found = on_two[f"replicated {name}"]
        assert found["error"] < 1e-13 and found["equal"] == [1, 1], name
    wrong = {"other": "do not hold the same", "unnamed": "not differentiated", "alone": "found nowhere"}
    for name, text in wrong.items():
        for form, message in on_two[f"replicated {name}"]["error"]:
            assert form == "UsageError" and text in message, name


def test_parts_prefixes_products_and_places(on_two: dict[str, Any]) -> None:
    check_rows(on_two, 13)  # one of them compiled


def test_messages_are_under_way_while_something_is_computed(on_two: dict[str, Any]) -> None:
    found = {n: f for n, f in on_two.items() if n.startswith("overlap ")}
    assert len(found) == 10 and all(one["value"] < 1e-14 and one["dot"] < 1e-12 for one in found.values()), found
    assert all(one["faults"] == [[], []] for name, one in found.items() if "native" in name)
    # Three steps of the function in the gradient and beside the tangents, three steps back.
    assert found["overlap inside_first"]["halves"] == [{"forward": 6, "reverse": 3}] * 2
    assert found["overlap parts_in_turn"]["halves"] == [{"forward": 2}] * 2
    assert found["overlap sums_beside"]["halves"] == [{"forward": 8, "reverse": 4, "tangents": 4}] * 2


def test_collectives_between_messages_and_their_wait(on_two: dict[str, Any]) -> None:
    check_between(on_two, 4)


def test_gradients_are_checked_on_all_ranks_together(on_two: dict[str, Any]) -> None:
    check_checks(on_two)


def test_messages_go_in_the_order_of_memory(on_two: dict[str, Any]) -> None:
    assert on_two["orders"]["wrong"] == [[], []] and [len(one) for one in on_two["orders"]["refused"]] == [10, 10]


def test_messages_in_lower_case(on_two: dict[str, Any]) -> None:
    check_objects(on_two)


def test_which_message_meets_which(on_two: dict[str, Any]) -> None:
    check_ways(on_two)


def test_messages_from_nobody(on_two: dict[str, Any]) -> None:
    check_nobody(on_two)


def test_sizes_that_ranks_tell_each_other(on_two: dict[str, Any]) -> None:
    check_sizes(on_two)


@pytest.mark.slow
def test_messages_in_lower_case_on_three_ranks() -> None:
    done = in_ranks(3, "objects-native", timeout=300)
    assert done.status == 0, done.err[-4000:]
    check_objects(done.found)


@pytest.mark.slow
@pytest.mark.parametrize("count", [1, 2, 3])
@pytest.mark.parametrize("rows", ["rows-native", "rows-native-others"])
def test_compiled_parts_prefixes_products_and_places(rows: str, count: int) -> None:
    done = in_ranks(count, rows, timeout=500)
    assert done.status == 0, done.err[-4000:]
    check_rows(done.found, 23 if count > 1 else 21)


@pytest.mark.slow
@pytest.mark.parametrize("count", [1, 2, 3])
def test_compiled_operations_and_collectives_between_messages(count: int) -> None:
    done = in_ranks(count, "operations-complex128", *["between-native"] * (count > 1), timeout=300)
    assert done.status == 0, done.err[-4000:]
    check_operations(done.found["operations complex128"])
    check_between(done.found, 5 * (count > 1))


def test_random_programs(on_two: dict[str, Any]) -> None:
    check_random(on_two, 20)


@pytest.mark.slow
@pytest.mark.parametrize("ranks, first, count, how", [(2, 100, 80, ""), (3, 200, 80, ""), (2, 300, 20, ":native"),
                                                      (3, 320, 20, ":native")])
def test_more_random_programs(ranks: int, first: int, count: int, how: str) -> None:
    done = in_ranks(ranks, f"random:{first}:{count}{how}", timeout=500)
    assert done.status == 0, done.err[-4000:]
    check_random(done.found, count)


def test_as_many_messages_in_both_sweeps(on_two: dict[str, Any]) -> None:
    found = {n.removeprefix("counts "): f for n, f in on_two.items() if n.startswith("counts ")}
    assert len(found) == 10
    for name, one in found.items():
        assert one["faults"] == [[], []], name
        assert one["forward"] == one["reverse"] and all(n == one["forward"][0][0] for n in one["total"][0]), name
    assert found["heat"]["forward"] == [[14, 112]] * 2  # two messages a step, and the sum on each rank


def test_gradients_of_linear_programs_send_cotangents_alone(on_two: dict[str, Any]) -> None:
    check_silence(on_two)
    valued = on_two["silence valued"]
    assert valued["forward"] == valued["reverse"] == [[11, 96]] * 2


def test_plans_of_all_ranks_in_one_report(on_two: dict[str, Any]) -> None:
    found = on_two["plans"]
    (text, other), (shown, nothing) = found["text"], found["shown"]
    assert text == other and "on 2 ranks" in text and "(rank 1)" in text
    assert found["peaks"][0][0] < found["peaks"][0][1] and found["sent"][0] == [10, 10]
    assert [line.split() for line in shown.splitlines()[1:]] == [line.split() for line in text.splitlines()[1:]]
    assert nothing == ""
    for form, message in found["alone"]:
        assert form == "UnsupportedError" and "plan_of_ranks" in message


@pytest.mark.slow
@pytest.mark.parametrize("count, samples", [(1, 8), (3, 8), (4, 5)])
def test_samples_on_other_numbers_of_ranks(count: int, samples: int) -> None:
    done = in_ranks(count, "samples", threads=2 if count == 1 else 1, timeout=300)
    assert done.status == 0, done.err[-4000:]
    check_samples(done.found, samples)


@pytest.mark.slow
@pytest.mark.skipif(OPEN_MPI is None, reason="SDFGAD_TEST_OPENMPI names no Python beside Open MPI")
@pytest.mark.parametrize("count, samples", [(1, 8), (2, 8), (3, 8), (4, 5)])
def test_another_library(count: int, samples: int) -> None:
    several = ("nobody", "ways", "objects") if count > 1 else ()
    done = in_ranks(count, "samples", "rows-native", *several, python=OPEN_MPI, timeout=900)
    assert done.status == 0, done.err[-4000:]
    check_samples(done.found, samples)
    for check in (check_nobody, check_ways, check_objects) if several else ():
        check(done.found)
    check_rows(done.found, 23 if count > 1 else 21)


@pytest.mark.parametrize("dtype", ["float32", "complex128"])
def test_both_modes_of_every_operation(on_two: dict[str, Any], dtype: str) -> None:
    check_operations(on_two[f"operations {dtype}"])
    assert on_two[f"operations {dtype}"]["dtypes"] == [2 * dtype] * 2


def test_messages_that_carry_no_derivative(on_two: dict[str, Any]) -> None:
    assert on_two["idle"]["error"] == on_two["idle"]["pushed"] == 0.0


def test_objectives(on_two: dict[str, Any]) -> None:
    found = {n: f for n, f in on_two.items() if n.startswith("objective ")}
    assert len(found) == 10
    for name, one in found.items():
        assert one["slope"] < 1e-7 and one["value"] < 1e-14, name


def test_an_objective_that_is_not_clear_is_a_question(on_two: dict[str, Any]) -> None:
    for name, why in {"scaled": "of each rank's own", "unlike": "not alike", "late": "of each rank's own"}.items():
        for form, message in on_two[f"question {name}"]["error"]:
            assert form == "OutputError" and why in message and 'objective="same"' in message
    answered = on_two["question answered"]
    assert answered["same"] == answered["sum"] == 0.0
    assert all(form == "UsageError" for form, _ in answered["error"])


@pytest.mark.parametrize("place", ["attribute", "global", "module", "closure", "default", "partial", "object",
                                   "split", "turns", "of Solver", "of function"])
def test_where_communicators_are_found(on_two: dict[str, Any], place: str) -> None:
    assert on_two[f"place {place}"]["error"] < 1e-8


def test_the_program_of_the_page(on_two: dict[str, Any]) -> None:
    assert on_two["tutorial"]["shapes"] == ["((1000,), (1,))"] * 2


def test_ranks_share_what_is_compiled(on_two: dict[str, Any]) -> None:
    assert len(set(on_two["code"]["folder"])) == 1


def test_lists_flags_and_clocks(on_two: dict[str, Any]) -> None:
    assert on_two["lists"]["error"] < 1e-8


def test_the_doctor_knows_the_launcher(on_two: dict[str, Any]) -> None:
    for (status, told, _), (other, mismatch, fix) in on_two["doctor"]["told"]:
        assert status == "pass" and "2 ranks" in told
        assert other == "warn" and "has started 64" in mismatch and "mpiexec" in fix


def test_limits(on_two: dict[str, Any]) -> None:
    found = on_two["limit"]
    assert found["error"] < 1e-12 and found["peak"] <= 200_000 and 1 in found["modes"]
    assert {form for form, _ in found["message"]} == {"MemoryLimitError"}
    for form, text in on_two["limit of a while"]["message"]:
        assert form == "UnsupportedError" and "loops of unknown length" in text and "objectives.py" in text


def test_loops_that_communicate_run_again_on_all_ranks_alike(on_two: dict[str, Any]) -> None:
    check_limited({n: f for n, f in on_two.items() if n.startswith("limited ")}, 1)
    assert on_two["limited shapes"]["error"] < 1e-14
    assert on_two["limited unlike"]["error"] == 0.0, on_two["limited unlike"]["told"]
    for errors in (on_two["limited too small"]["error"], on_two["limited too small"]["again"],
                   on_two["limited crossing"]["error"]):
        assert {form for form, _ in errors} == {"MemoryLimitError"}
    assert any("unless all that is sent in one is received in it" in m for _, m in on_two["limited crossing"]["error"])
    assert all("with a limit, all of them plan together" in m for _, m in on_two["limited alone"]["error"])


@pytest.mark.slow
@pytest.mark.parametrize("ranks, name, count", [(2, "paper", 1), (3, "heat", 5), (2, "jacobi", 5), (3, "burgers", 5)])
def test_five_limits(ranks: int, name: str, count: int) -> None:
    done = in_ranks(ranks, f"limited-{name}", timeout=500)
    assert done.status == 0, done.err[-4000:]
    check_limited(done.found, count)


@pytest.mark.parametrize("name, form, text", [
    ("refused_on_one", "UnsupportedError", "matrix_rank"), ("raised_on_one", "KeyError", "the block of rank 1"),
    ("limit", "MemoryLimitError", "needs at least")])
def test_an_error_on_one_rank_is_one_on_all(on_two: dict[str, Any], name: str, form: str, text: str) -> None:
    errors = on_two[f"agreed {name}"]["error"]
    assert [e[0] for e in errors] == [form, form]
    assert text not in errors[0][1] and "rank 1 stopped this call" in errors[0][1] and text in errors[1][1]


def test_a_limit_is_one_of_all(on_two: dict[str, Any]) -> None:
    for form, text in on_two["agreed some_limit"]["error"]:
        assert form == "UsageError" and "give all of them a limit" in text


def test_communicators_are_made_by_all(on_two: dict[str, Any]) -> None:
    for form, text in on_two["agreed made_on_one"]["error"]:
        assert form == "UsageError" and "SG211" in text


def test_ranks_whose_shapes_change_derive_alone(on_two: dict[str, Any]) -> None:
    assert on_two["agreed shapes"]["error"] == 0.0


def test_refusals_have_lines(on_two: dict[str, Any]) -> None:
    lines = (Path(__file__).parent / "refused.py").read_text().splitlines()
    marked = {name: (k, text) for k, line in enumerate(lines, 1) if (text := line.partition("  # ")[2])
              for name in [_function_above(lines, k)]}
    assert len(marked) == 22
    for name, (line, text) in marked.items():
        errors = on_two[f"refused {name}"]["error"]
        assert {form for form, _ in errors} == {"UnsupportedError"}, name
        for message in [m for _, m in errors if "stopped this call" not in m]:  # only the root sees all of it
            assert text in message and f"refused.py:{line}:" in message, (name, message)
        assert name == "in_pieces" or not any("stopped this call" in m for _, m in errors), name


def _function_above(lines: list[str], line: int) -> str:
    return next(found[1] for above in reversed(lines[:line]) if (found := re.match(r"def (\w+)", above)))


@pytest.mark.parametrize("name", ["target", "hvp", "jacobian", "graph", "export", "second", "tangents",
                                  "seeds", "batch"])
def test_what_ranks_cannot_do_together(on_two: dict[str, Any], name: str) -> None:
    assert {form for form, _ in on_two[f"refused {name}"]["error"]} == {"UnsupportedError"}


def test_serial_programs_are_distributed(on_two: dict[str, Any]) -> None:
    check_distributed(on_two, 8)
    verbs = on_two["distributed verbs"]
    (there, _), (back, _) = verbs["sent"][0]
    assert all(verbs["kept"]) and verbs["sums"][0] == 2  # gradients of numbers: once on each rank, after five steps
    assert there == back - 2 > 0
    assert on_two["distributed limit"]["peak"] <= 3000 and on_two["distributed limit"]["modes"] == [1, 1]


@pytest.mark.slow
def test_a_grid_of_ranks() -> None:
    done = in_ranks(4, "distributed-grid", "distributed-few", timeout=200)
    assert done.status == 0, done.err[-4000:]
    check_distributed(done.found, 7)
    room = done.found["room of products"]
    assert all(predicted == measured for how in ("whole", "alone") for predicted, measured in room[how])
    assert all(a[0] > b[0] for a, b in zip(room["whole"], room["alone"], strict=True))


@pytest.mark.parametrize("name, form, text", [
    ("shapes", "UsageError", "parts of different programs"), ("steps", "UsageError", "parts of different programs"),
    ("other gradient", "UsageError", "that distribute= leaves whole, do not hold the same"),
    ("other forward", "UsageError", "that distribute= leaves whole, do not hold the same"),
    ("seidel", "UnsupportedError", "axis 0 of 'A' is cut, and the loop over i decides"),
    ("messages", "UnsupportedError", "takes no distribute="), ("block", "UsageError", "rank 1"),
    ("nothing", "UsageError", "distribute= does not cut it")])
def test_ranks_agree_on_what_is_distributed(on_two: dict[str, Any], name: str, form: str, text: str) -> None:
    for found, message in on_two[f"distributed {name}"]["error"]:
        assert found == form and text in message
