"""What type checkers and editors are told of the verbs."""
from __future__ import annotations

import importlib.util
from pathlib import Path

import pytest

import sdfgad

USES = """
import numpy as np
import sdfgad

def loss(x: np.ndarray, n: int = 2) -> float:
    return float(np.sum(x ** n))

@sdfgad.grad
def plain(x: np.ndarray, n: int) -> float:
    return float(np.sum(x ** n))

@sdfgad.value_and_grad(memory_limit="4GB", wrt="x")
def limited(x: np.ndarray, n: int) -> float:
    return float(np.sum(x ** n))

class Model:
    @sdfgad.grad(wrt="x")
    def loss(self, x: np.ndarray) -> float:
        return float(np.sum(x))

x = np.ones(3)
plain(x, 2)
limited(x, n=2)
Model().loss(x)
sdfgad.grad(lambda x: np.sum(x * x))(x)
sdfgad.grad(sdfgad.grad(loss), reduce="sum")(x)
sdfgad.plan(loss, sdfgad.spec(3))
plain.plan(sdfgad.spec(3), 2).predicted.peak_bytes
value, gradient = sdfgad.grad(loss).value_and_grad(x)
sdfgad.forward(loss)(x, n=3)
"""
WRONG = {"plain(x)": "Missing positional argument", 'limited(x, m=2)': "Unexpected keyword argument",
         'sdfgad.grad(loss, memory_limt="1GB")': "memory_limt", "sdfgad.forward(loss)(x, 3, 4)": "Too many arguments"}


@pytest.mark.slow
@pytest.mark.skipif(importlib.util.find_spec("mypy") is None, reason="a type checker, installed with [lint]")
def test_the_verbs_have_the_types_of_their_functions(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from mypy import api

    monkeypatch.setenv("MYPYPATH", str(Path(sdfgad.__file__).parents[1]))
    file = tmp_path / "uses.py"
    file.write_text(USES + "\n".join(WRONG))
    out, errors, _ = api.run([str(file), f"--cache-dir={tmp_path / 'cache'}", "--follow-imports=silent"])
    told, first = out.splitlines()[:-1], USES.count("\n") + 1
    for line, (text, message) in enumerate(WRONG.items(), start=first):
        assert any(f":{line}: error" in t and message in t for t in told), (text, out, errors)
    assert all(int(t.split(":")[1]) >= first for t in told), out
