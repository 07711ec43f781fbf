"""Other passes in the place of those that there are."""
from __future__ import annotations

from collections.abc import Callable

import pytest

from sdfgad.ir.program import Program
from sdfgad.transform import stages
from sdfgad.transform.passes import Pass

PASSES = {one.name: one for one in vars(stages).values() if isinstance(one, Pass)}
"""Every pass of a stage, by name."""


def replace_pass(monkeypatch: pytest.MonkeyPatch, name: str, run: Callable[[Program], Program]) -> None:
    """Within a test, `run` is applied where the pass of this name would be."""
    monkeypatch.setitem(vars(PASSES[name]), "run", run)
