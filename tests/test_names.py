"""Names that the generated code can use."""

from __future__ import annotations

import pytest

from sdfgad.names import again_of, fresh, grad_of, is_generated, safe, tape_of


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
