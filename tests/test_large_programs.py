"""Programs of twice as many statements take twice as much work, counted in calls of what once took their square."""
from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from sdfgad.codegen.cpu.schedule.copies import unseen_copies
from sdfgad.frontend import parse
from sdfgad.frontend.state.context import Context
from sdfgad.ir import verify
from sdfgad.ir.program import Program
from sdfgad.transform.storage import broadcasts
from tests.programs.running import load

X = np.linspace(0.1, 1.0, 40)
FEW = 24
TWICE = 2.6
"""Twice as much, and a little for what is there once."""


def updates(n: int) -> str:
    """An array is updated in turn with another one, at places that lie apart or not."""
    lines = ["    a = x * 1.5", "    b = np.sin(x)"]
    for k in range(n):
        p, q, i = "ab"[k % 2], "ba"[k % 2], 1 + 7 * k % 19
        lines.append(f"    {p}[{i}:{i + 8}] = {q}[{i - 1}:{i + 7}]")
    return "\n".join(["import numpy as np", "def program(x):", *lines, "    return np.sum(a) + np.sum(b)", ""])


def scalars(n: int) -> str:
    lines = ["    v0 = x[0]", "    v1 = x[1]"]
    lines += [f"    v{k} = np.sin(v{k - 1}) * v{k - 2}" for k in range(2, n)]
    return "\n".join(["import numpy as np", "def program(x):", *lines, f"    return v{n - 1}", ""])


def fillings(n: int) -> str:
    lines = [f"    a{k} = np.full(5, x[{k % 40}])" for k in range(n)]
    total = " + ".join(f"a{k}[{k % 5}]" for k in range(n))
    return "\n".join(["import numpy as np", "def program(x):", *lines, f"    return {total}", ""])


def branches(n: int) -> str:
    lines = ["    v0 = x[0]"]
    for k in range(1, n):
        lines += [f"    if v{k - 1} > 0.1:", f"        v{k} = np.sin(v{k - 1})", "    else:", f"        v{k} = x[1]"]
    return "\n".join(["import numpy as np", "def program(x):", *lines, f"    return v{n - 1}", ""])


class Counted:
    """Counts calls of what it stands for."""

    def __init__(self, one: Any) -> None:
        self.one, self.times = one, 0

    def __call__(self, *args: Any) -> Any:
        self.times += 1
        return self.one(*args)


class Arrays(dict[str, Any]):
    """Counts how many names are handed out, as a whole that somebody goes through."""

    given = 0

    def keys(self) -> Any:
        self.given += len(self)
        return super().keys()


def program_of(text: str, folder: Any, number: int) -> Program:
    """As the front end gives it: passes would make less of it."""
    return parse(load(text, folder, number), (X,)).program


def looks(program: Program, monkeypatch: pytest.MonkeyPatch) -> int:
    """How often a store and a look are compared."""
    seen = Counted(unseen_copies._Looks._sees)
    monkeypatch.setattr(unseen_copies._Looks, "_sees", lambda *args: seen(*args))
    unseen_copies.remove_unseen_copies(program)
    return seen.times


def formulas(program: Program, monkeypatch: pytest.MonkeyPatch) -> int:
    """How often known values are looked through for what they are made of."""
    read = Counted(broadcasts.expr_reads)
    monkeypatch.setattr(broadcasts, "expr_reads", read)
    broadcasts.propagate_broadcasts(program)
    return read.times


def names(program: Program, monkeypatch: pytest.MonkeyPatch) -> int:
    """How many names of arrays are gone through to verify statements that nobody has looked at."""
    fresh = program.but(body=tuple(replace(s) for s in program.body))
    arrays = Arrays(fresh.arrays)
    verify._ProgramWalk(arrays, verify.PREPARED).block(fresh.body, frozenset())
    return arrays.given


def test_branches_look_into_no_numbers(tmp_path, monkeypatch):
    """What names hold that are no lists, dicts or objects is not gone through at every branch."""
    found = []
    for n in (FEW, 2 * FEW):
        within = Counted(Context._within)
        monkeypatch.setattr(Context, "_within", lambda *args, within=within: within(*args))
        program_of(branches(n), tmp_path, n)
        monkeypatch.undo()
        found.append(within.times)
    assert found[1] <= TWICE * found[0], found


@pytest.mark.parametrize("work, text", [(looks, updates), (formulas, fillings), (names, scalars)])
def test_work_grows_with_the_program(work, text, tmp_path, monkeypatch):
    few, many = (work(program_of(text(n), tmp_path, n), monkeypatch) for n in (FEW, 2 * FEW))
    assert many <= TWICE * few, (few, many)
