"""The ledger has a line for every pass."""
from __future__ import annotations

import re
from pathlib import Path

import sdfgad
from npbench_suite.harness.machine import machine
from tests.passes.document import BETWEEN, document
from tests.passes.entries import Entry
from tests.passes.subjects import NPBENCH, Subject
from tests.support.passes import PASSES


def test_every_pass_has_a_line() -> None:
    """Those of no stage, too, by their names in the source."""
    text = "".join(f.read_text() for f in Path(sdfgad.__file__).parent.rglob("*.py"))
    assert set(re.findall(r"(?<!def )\bapplied\((\w+), \w", text)) - {"d"} == set(BETWEEN) - set(PASSES)
    every = (*PASSES, *BETWEEN)
    page = document([Entry(Subject(NPBENCH, "nbody"), frozenset(every))], machine())
    assert set(re.findall(r"^\| (\w+) \| [A-Z].*\. \| nbody \|", page, re.MULTILINE)) == set(every)
