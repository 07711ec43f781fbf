"""Other passes in the place of those that there are."""
from __future__ import annotations

from collections.abc import Callable

import pytest

from sdfgad.codegen.cpu.schedule import stage
from sdfgad.ir.program import Program
from sdfgad.transform import stages
from sdfgad.transform.passes import Pass

EVERY = tuple(one for table in (stages, stage) for one in vars(table).values() if isinstance(one, Pass))
PASSES = {one.name: one for one in EVERY}
"""Every pass of a stage, by name."""


def replace_pass(monkeypatch: pytest.MonkeyPatch, name: str, run: Callable[[Program], Program]) -> None:
    """Within a test, `run` is applied where the pass of this name would be."""
    for one in EVERY:
        if one.name == name:
            monkeypatch.setitem(vars(one), "run", run)
