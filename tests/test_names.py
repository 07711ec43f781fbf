"""Names that the generated code can use."""

from __future__ import annotations

from itertools import islice

import pytest

from sdfgad.names import (
    fresh,
    grad_of,
    is_generated,
    is_made_up,
    loop_name,
    loop_variable,
    numbered,
    safe,
    variable,
    variable_of,
    variables,
)


@pytest.mark.parametrize("name, usable", [
    ("A", "A"), ("do", "u_do"), ("double", "u_double"), ("I", "u_I"), ("grad_x", "u_grad_x"), ("_tmp", "_tmp"),
    ("__x", "u___x"), ("β", "u3b2"), ("x_1", "x_1"),
])
def test_users_names_become_cpp_names(name: str, usable: str) -> None:
    assert safe(name) == usable


def test_generated_names_are_told_apart() -> None:
    assert all(is_generated(name) for name in (grad_of("A"), "tape_A", "again_A"))
    assert not is_generated("A")


def test_fresh_names() -> None:
    assert fresh("a", {}) == "a"
    assert fresh("a", {"a", "a_1"}) == "a_2"
    assert fresh("a", {"a"}, first=0) == "a_0"
    for many in range(1, 40):
        assert numbered("a", {f"a_{k}" for k in range(many)}) == f"a_{many}"


def test_a_name_does_not_ask_for_all_names_of_its_kind() -> None:
    class Counted(set[str]):
        asked = 0

        def __contains__(self, name: object) -> bool:
            self.asked += 1
            return super().__contains__(name)

    taken = Counted({"a", *(f"a_{k}" for k in range(1, 4000))})
    assert fresh("a", taken) == "a_4000"
    assert taken.asked < 40


@pytest.mark.parametrize("name", ["c0", "m1", "w0_0", "_0", "_", "_k", "cell2", "p3_", "row0", "part0_i", "x1", "u_c0"])
def test_loop_variables_keep_off_the_names_of_passes(name: str) -> None:
    assert loop_variable(name) == f"u_{name}"
    assert loop_name(f"u_{name}") == name


@pytest.mark.parametrize("name", ["i", "j", "t", "k", "row", "kk", "rows", "i_part", "n_2", "border"])
def test_other_loop_variables_are_themselves(name: str) -> None:
    assert loop_variable(name) == loop_name(name) == name


def test_made_up_variables_are_no_users_and_no_two_alike() -> None:
    made = [variable("c"), variable("c", {"c0"}), variable("row"), variable_of("part", "i"), variable_of("part", "j"),
            *islice(variables("m", {"m1"}), 2), variable_of("slot", variable_of("part", "i"))]
    assert made == ["c0", "c1", "row0", "part0_i", "part0_j", "m0", "m2", "slot0_part0_i"]
    assert all(is_made_up(name) and loop_variable(name) != name for name in made)
