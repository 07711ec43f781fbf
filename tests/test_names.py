"""Names that the generated code can use."""

from __future__ import annotations

import pytest

from sdfgad.names import again_of, fresh, grad_of, is_generated, loop_variable, safe, tape_of


@pytest.mark.parametrize("name, usable", [
    ("A", "A"), ("do", "u_do"), ("double", "u_double"), ("I", "u_I"), ("grad_x", "u_grad_x"), ("_tmp", "_tmp"),
    ("__x", "u___x"), ("β", "u3b2"), ("x_1", "x_1"),
])
def test_users_names_become_cpp_names(name: str, usable: str) -> None:
    assert safe(name) == usable


def test_generated_names_are_told_apart() -> None:
    assert all(is_generated(of("A")) for of in (grad_of, tape_of, again_of))
    assert not is_generated("A")


def test_fresh_names() -> None:
    assert fresh("a", {}) == "a"
    assert fresh("a", {"a", "a_1"}) == "a_2"


@pytest.mark.parametrize("name", ["k", "row", "column", "here", "c0", "m1", "w0_0", "_0", "_", "cell2", "p3_"])
def test_loop_variables_keep_off_the_names_of_passes(name: str) -> None:
    assert loop_variable(name) == f"u_{name}"


@pytest.mark.parametrize("name", ["i", "j", "t", "kk", "rows", "t0", "_k"])
def test_other_loop_variables_are_themselves(name: str) -> None:
    assert loop_variable(name) == name
