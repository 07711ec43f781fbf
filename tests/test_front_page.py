"""What `import sdfgad` gives: its names, its log, and where its warnings point."""
from __future__ import annotations

import ast
import os
import re
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

import sdfgad

ROOT = Path(sdfgad.__file__).parent.parent


def run(program: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=120,
                          env={**os.environ, "PYTHONPATH": str(ROOT), **environment})


def test_no_other_names() -> None:
    """Those of its parts aside, which are there as soon as they have been imported."""
    parts = {path.stem for path in Path(sdfgad.__file__).parent.iterdir()}
    done = run("import sdfgad; print(*vars(sdfgad)); print(*dir(sdfgad))")
    held, listed = (line.split() for line in done.stdout.splitlines())
    assert {n for n in held if not n.startswith("_")} - parts <= set(sdfgad.__all__)
    assert set(listed) == set(sdfgad.__all__)
    for name in sdfgad.__all__:
        assert not isinstance(getattr(sdfgad, name), ModuleType) or name == "errors"


def test_editors_and_the_reference_know_every_name() -> None:
    """Names are loaded at first use, so that type checkers and the page have lists of their own."""
    text = Path(sdfgad.__file__).read_text()
    typed = {alias.asname or alias.name for node in ast.walk(ast.parse(text)) if isinstance(node, ast.ImportFrom)
             for alias in node.names}
    page = (ROOT / "docs/reference.md").read_text()
    for name in set(sdfgad.__all__) - {"__version__", "errors"}:
        assert name in typed, name
        assert re.search(rf":: {name}$", page, re.MULTILINE), name


LOGGING = """
import logging, sdfgad
{setup}
logging.getLogger("sdfgad").info("compiled")
logging.getLogger("sdfgad").debug("details")
"""


def test_the_log_of_a_script() -> None:
    done = run(LOGGING.format(setup=""), SDFGAD_LOG="info")
    assert (done.stdout, done.stderr) == ("", "sdfgad: compiled\n")
    assert "details" in run(LOGGING.format(setup=""), SDFGAD_LOG="debug").stderr
    assert run(LOGGING.format(setup=""), SDFGAD_LOG="").stderr == ""
    own = run(LOGGING.format(setup="logging.basicConfig(format='mine %(message)s')"), SDFGAD_LOG="info")
    assert own.stderr == "mine compiled\n", "said once, as the program wants it"


def unused(x, y):
    return np.sum(x) + 0.0 * 3


@pytest.mark.parametrize("call", [
    lambda x: sdfgad.grad(unused)(x, x.copy()), lambda x: sdfgad.value_and_grad(unused)(x, x.copy()),
    lambda x: sdfgad.vjp(unused, x, x.copy())[1](1.0),
    lambda x: list(map(sdfgad.grad(unused), [x], [x.copy()]))])
def test_warnings_point_at_the_line_of_the_call(call) -> None:
    with pytest.warns(sdfgad.UnusedArgumentWarning) as shown:
        call(np.ones(3))
    assert {w.filename for w in shown if w.category is sdfgad.UnusedArgumentWarning} == {__file__}


def test_the_package_is_a_command() -> None:
    done = subprocess.run([sys.executable, "-m", "sdfgad", "--version"], capture_output=True, text=True, cwd=ROOT)
    assert sdfgad.__version__ in done.stdout
