"""The first cell of a notebook, and functions that come with some of their arguments."""
from __future__ import annotations

import functools
import re
import runpy
from pathlib import Path

import numpy as np
import pytest

import sdfgad

README = Path(__file__).parent.parent / "README.md"
PROGRAM = re.findall(r"```python\n(.*?)```", README.read_text(), re.DOTALL)[0]
PRINTED = "".join(f"{line}\n" for line in re.findall(r"^print\(.*\)  +# (.*)$", PROGRAM, re.MULTILINE))
UNDER_MAGIC = """%%time
def helper(x):
    return np.sum(np.exp(x))
print(sdfgad.grad(helper)(np.zeros(2)))"""
AWAITED = """import asyncio
await asyncio.sleep(0)
print(sdfgad.grad(lambda x: np.sum(x * x))(np.ones(2)))"""


def test_a_notebook():
    """The program of the front page in one cell, with nothing else in its output."""
    client = pytest.importorskip("nbclient", reason="needs nbclient: pip install '.[notebook]'")
    formats = pytest.importorskip("nbformat", reason="needs nbformat: pip install '.[notebook]'")
    pytest.importorskip("ipykernel", reason="needs ipykernel: pip install '.[notebook]'")
    cells = [formats.v4.new_code_cell(text) for text in (PROGRAM, UNDER_MAGIC, AWAITED)]
    notebook = formats.v4.new_notebook(cells=cells)
    client.NotebookClient(notebook, timeout=300, kernel_name="python3",
                          resources={"metadata": {"path": str(README.parent)}}).execute()
    outputs = [cell.outputs for cell in notebook.cells]
    assert all(o.output_type == "stream" and o.name == "stdout" for found in outputs for o in found), outputs
    first, second, third = ("".join(o.text for o in found) for found in outputs)  # a kernel may send them in parts
    assert first == PRINTED
    assert second.startswith("[1. 1.]") and third == "[2. 2.]\n"


def test_the_program_of_the_front_page(tmp_path, capsys):
    (tmp_path / "program.py").write_text(PROGRAM)
    runpy.run_path(str(tmp_path / "program.py"))
    assert capsys.readouterr().out == PRINTED != ""


def weighted(x, k, data, *, scale=1.0):
    return np.sum(scale * (x * k - data) ** 2)


def test_a_partial_takes_what_is_left():
    """What it holds belongs to the function: no argument of the call, no gradient, but looked at in every call."""
    data, x = np.arange(4.0), np.ones(4)
    gradient = sdfgad.grad(functools.partial(weighted, data=data, scale=2.0))
    np.testing.assert_allclose(gradient(x, 3.0), 12 * (3 * x - data))
    np.testing.assert_allclose(gradient(k=3.0, x=x), 12 * (3 * x - data))
    data[:] = 1.0
    np.testing.assert_allclose(gradient(x, 3.0), 24 * x)
    given = gradient(x, 3.0, data=2 * x)
    np.testing.assert_allclose([given.x, given.data], [12 * x, -4 * x])
    by_place = functools.partial(weighted, x)
    np.testing.assert_allclose(sdfgad.grad(by_place, wrt="k")(3.0, data), 16.0)
    assert sdfgad.forward(by_place)(3.0, data) == weighted(x, 3.0, data)
    np.testing.assert_allclose(sdfgad.jvp(by_place, (3.0, data), (1.0, None))[1], 16.0)
