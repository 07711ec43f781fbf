"""Targets of commands: files, modules, kernels, and the arguments for them."""

from __future__ import annotations

import sys
from pathlib import Path
from types import ModuleType, SimpleNamespace

import numpy as np
import pytest

from sdfgad import UsageError
from sdfgad.commands.subject import load_subject, read_sizes

MODEL = """
def cost(a, n, scale=2.0):
    return scale * a * n

def example_cost(n=3):
    return {"n": n, "a": 1.5}

def plain(a):
    return a

def example_arguments():
    return 7

def other():
    return (5,)

limit = 3
"""


@pytest.fixture
def model(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setattr(sys, "path", list(sys.path))
    monkeypatch.setattr(sys, "modules", dict(sys.modules))
    monkeypatch.chdir(tmp_path)
    (tmp_path / "model_under_test.py").write_text(MODEL)
    return "model_under_test.py"


def test_a_function_of_a_file_with_its_example(model: str) -> None:
    target = load_subject(f"{model}:cost", sizes={"n": 5})
    assert target.arguments == (1.5, 5, 2.0) or target.arguments == (1.5, 5)
    assert target.program(*target.arguments) == 15


def test_a_function_of_a_module(model: str) -> None:
    assert load_subject("model_under_test:plain", sizes={}).arguments == (7,)


def test_arguments_from_a_named_function(model: str) -> None:
    assert load_subject(f"{model}:plain", sizes={}, arguments="model_under_test:other").arguments == (5,)


def test_a_decorated_function_gives_the_plain_one(model: str) -> None:
    with open(model, "a") as file:
        file.write("class Wrapped:\n    fn = staticmethod(plain)\n    def __call__(self): pass\nwrapped = Wrapped()\n")
    assert load_subject(f"{model}:wrapped", sizes={}).program(3) == 3


@pytest.mark.parametrize("text, message", [
    ("cost", "not a target"),
    ("nothing.py:cost", "no file nothing.py"),
    ("no_such_module_here:cost", "No module named"),
    ("model_under_test.py:cots", "did you mean cost"),
    ("model_under_test.py:limit", "no function 'limit'"),
    ("npbench:jacobi_2b", "no kernel 'jacobi_2b'(.|\n)*jacobi_2d"),
])
def test_what_cannot_be_found(model: str, text: str, message: str, monkeypatch: pytest.MonkeyPatch) -> None:
    _fake_catalogue(monkeypatch)
    with pytest.raises(UsageError, match=rf"SG208(.|\n)*{message}"):
        load_subject(text, sizes={})


def test_a_size_that_the_example_does_not_take(model: str) -> None:
    with pytest.raises(UsageError, match=r"example_cost\(\) does not take m(.|\n)*it takes n"):
        load_subject(f"{model}:cost", sizes={"m": 1})


def test_a_target_without_an_example(tmp_path: Path, model: str) -> None:
    (tmp_path / "bare_under_test.py").write_text("def f(x):\n    return x\n")
    with pytest.raises(UsageError, match=r"write example_f\(\) beside it"):
        load_subject("bare_under_test.py:f", sizes={})


def test_example_arguments_that_do_not_fit(tmp_path: Path, model: str) -> None:
    (tmp_path / "wrong_under_test.py").write_text("def f(x):\n    return x\ndef example_f():\n    return {'y': 1}\n")
    with pytest.raises(UsageError, match="do not fit"):
        load_subject("wrong_under_test.py:f", sizes={})


def test_sizes() -> None:
    assert read_sizes(["N=512", "eps=1e-3", "mode=fast"]) == {"N": 512, "eps": 1e-3, "mode": "fast"}
    with pytest.raises(UsageError, match="write -s N=512"):
        read_sizes(["N"])


def test_a_kernel_by_sample_and_by_preset(monkeypatch: pytest.MonkeyPatch) -> None:
    _fake_catalogue(monkeypatch)
    sampled = load_subject("npbench:jacobi_2d", sizes={})
    assert (sampled.wrt, sampled.output, len(sampled.arguments)) == (("A",), "A", 1)
    assert sampled.arguments[0].shape == (4,)
    assert load_subject("npbench:jacobi_2d", sizes={}, preset="S").arguments[0].shape == (150,)
    assert load_subject("npbench:jacobi_2d", sizes={"N": 9}).arguments[0].shape == (9,)
    with pytest.raises(UsageError, match="presets: S, M, L, paper"):
        load_subject("npbench:jacobi_2d", sizes={}, preset="XL")


def _fake_catalogue(monkeypatch: pytest.MonkeyPatch) -> None:
    """A catalogue with one kernel, so that these tests do not depend on the suite's programs."""
    kernel = SimpleNamespace(
        program=lambda A: A, wrt=("A",), output="A", sample=lambda rng, size: {"A": rng.random(4)},
        initialize=lambda N, TSTEPS: {"A": np.zeros(N)},
    )
    folder = Path(__file__).parent / "data"
    catalogue = ModuleType("npbench_suite.kernel")
    catalogue.__dict__.update(names=lambda: ["jacobi_2d"], load=lambda name: kernel, __file__=str(folder / "kernel.py"))
    monkeypatch.setitem(sys.modules, "npbench_suite.kernel", catalogue)


@pytest.mark.parametrize("text, shown", [
    ("def cost(x:\n", ["loading bad.py raises SyntaxError", 'bad.py", line 1']),
    ("import no_such_module\n", ["loading bad.py raises ModuleNotFoundError", 'bad.py", line 1']),
    ("raise SystemExit(3)\n", ["loading bad.py ends the process", '__name__ == "__main__"']),
    ("def cost(x): pass\ndef example_cost(n=1):\n    return 1 / (n - 1)\n",
     ["example_cost() raises ZeroDivisionError", 'bad.py", line 3, in example_cost'])])
@pytest.mark.parametrize("as_module", [False, True])
def test_what_the_users_code_raises_is_shown_without_the_lines_that_called_it(
    text: str, shown: list[str], as_module: bool, model: str, tmp_path: Path,
) -> None:
    (tmp_path / "bad.py").write_text(text)
    where = "bad" if as_module else "bad.py"
    with pytest.raises(UsageError) as caught:
        load_subject(f"{where}:cost", sizes={})
    told = str(caught.value)
    assert all(line.replace("loading bad.py", f"loading {where}") in told for line in shown), told
    assert "subject.py" not in told and "frozen" not in told
