"""What cannot be exported is refused with what to do instead; names, headers and the command."""
from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import sdfgad
from sdfgad import cli, spec
from sdfgad.codegen.export import library
from sdfgad.codegen.export.interface import is_library_name, parameter_names
from sdfgad.config import thread_count
from tests.codegen.export.building import run


def total(x):
    return np.sum(x * x)


def pair(x):
    return np.sum(x), x[x > 0].size


TABLE = np.array([2, 0, 1])


def through_a_table(x, order):
    out = 0.0
    for i in range(3):
        out = out + x[TABLE[order[i]] * 4 + 3]
    return out


def called_back(x):
    return np.sum(np.vectorize(abs)(x))


@pytest.mark.parametrize("fn, args, options, error, message", [
    (total, (spec(3),), {"device": "gpu"}, sdfgad.UnsupportedError, 'graphics processors(.|\n)*device="cpu"'),
    (total, (spec(3),), {"name": "timer"}, sdfgad.UsageError, "cannot be called 'timer'(.|\n)*name="),
    (total, (spec(3),), {"name": "a-b"}, sdfgad.UsageError, "cannot be called 'a-b'"),
    (total, (spec(3),), {"name": "x" * 41}, sdfgad.UsageError, "at most 40"),
    (total, (spec(3),), {"portable": "v5"}, sdfgad.UsageError, "portable='v5'(.|\n)*v2"),
    (total, (spec(3),), {"threads": 0}, sdfgad.UsageError, "num_threads is 0"),
    (total, (spec(3),), {"memory_limit": 10}, sdfgad.MemoryLimitError, "SG301"),
    (total, (spec(3),), {"wrt": "y"}, sdfgad.UsageError, "no argument of this name"),
    (total, (np.ones((4, 6))[:, ::2],), {}, sdfgad.UsageError, "'x' is not in C order(.|\n)*spec"),
    (total, (spec(3, "float16"),), {}, sdfgad.UnsupportedError, "float16"),
    (pair, (spec(3),), {}, sdfgad.UsageError, "returns 2 values(.|\n)*output=0"),
    (through_a_table, (spec(9), spec(3, "int64")), {}, sdfgad.UnsupportedError,
     r"SG105(.|\n)*test_refusals.py:\d+(.|\n)*TABLE\[order\[i\]\] (.|\n)*integer arrays among the arguments"),
    (called_back, (spec(3),), {}, sdfgad.UnsupportedError, r"test_refusals.py:\d+(.|\n)*vectorize"),
    (lambda x: x * 2, (spec(3),), {"name": "twice"}, sdfgad.OutputError, 'reduce="sum"'),
    (sdfgad.grad(pair, has_aux=True), (spec(3),), {}, sdfgad.UnsupportedError, "returns the objective alone"),
    (sdfgad.grad(total, spill="/tmp"), (spec(3),), {}, sdfgad.UnsupportedError, "without spill="),
])
def test_refused(fn: Any, args: Any, options: Any, error: Any, message: str, tmp_path: Path) -> None:
    with pytest.raises(error, match=message):
        sdfgad.export(fn, *args, folder=tmp_path / "library", **options)
    assert not (tmp_path / "library").exists(), "nothing is left behind"


def test_other_targets_are_refused(tmp_path: Path) -> None:
    with sdfgad.config(target="reference"), pytest.raises(sdfgad.UnsupportedError, match="for reference"):
        sdfgad.export(total, spec(3), folder=tmp_path)


def test_a_folder_that_is_a_file(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(sdfgad.UsageError, match="cannot write into"):
        sdfgad.export(total, spec(3), folder=tmp_path / "file")


def test_names_that_other_languages_take() -> None:
    paths = ("p['W']", "x", "X", "p_W", "double", "_a", "größe", "value", "layers[0].w", "linux", "x_1", "k" * 60)
    inputs, gradients = parameter_names(paths, paths[:2])
    assert inputs[:10] == ["p_W", "x", "X_1", "p_W_1", "v_double", "a", "gru00f6u00dfe".replace("u00f6", "uf6").replace(
        "u00df", "udf"), "v_value", "layers_0_w", "v_linux"]
    assert gradients == ["grad_p_W", "grad_x"]
    everything = [n.lower() for n in (*inputs, *gradients)]
    assert len(set(everything)) == len(everything) and all(n.isidentifier() and n.isascii() for n in everything)
    assert parameter_names(("x", "grad_x"), ("x", "grad_x")) == (["x", "grad_x"], ["grad_x_1", "grad_grad_x"])
    assert [is_library_name(n) for n in ("cost", "Cost2", "2cost", "int", "pthread", "a b", "")] == [
        True, True, False, False, False, False, False]


def awkward(value, double, X, x, text="a */ b \\ ??/"):
    return np.sum(value * double) * X + np.sum(x)


def test_awkward_names_compile(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The header alone: nothing of the program is compiled."""
    monkeypatch.setattr(library, "_library", lambda *given: {})
    sdfgad.export(awkward, spec(3), spec(3, "complex64"), 1.0, spec((0, 4)), folder=tmp_path, name="awk", output=None,
                  reduce="sum")
    (tmp_path / "use.c").write_text('#include "awk.h"\nint main(void) { return AWK_SIZE_X_1; }\n')
    (tmp_path / "use.cpp").write_text((tmp_path / "use.c").read_text())
    for compiler, standard, file in (("gcc", "-std=c99", "use.c"), ("g++", "-std=c++98", "use.cpp")):
        run(compiler, standard, "-Wall", "-Wextra", "-Werror", "-fsyntax-only", str(tmp_path / file))
    for language, compiler in (("c", "gcc"), ("cpp", "g++")):
        run(compiler, "-Wall", "-Wextra", "-Werror", "-fsyntax-only", f"-I{tmp_path}",
            str(tmp_path / "examples" / f"awk_example.{language}"))
    fortran = (tmp_path / "examples" / "awk_example.f90").read_text()
    assert max(map(len, fortran.splitlines())) <= 132
    text = (tmp_path / "awk.h").read_text()
    assert "text = 'a * / b" in text and "x_1: input, float64 (0, 4): x" in text


MODEL = """\
import numpy as np
import sdfgad


@sdfgad.value_and_grad(memory_limit="1MB", wrt="u")
def cost(u, p, steps):
    for t in range(steps):
        u[1:-1] = u[1:-1] + p * np.sin(u[1:-1]) * u[:-2]
    return np.sum(u * u)


def example_cost(n=50, steps=20):
    return sdfgad.spec(n), np.ones(1), steps
"""


def command(*words: str) -> int:
    with pytest.raises(SystemExit) as ended:
        cli.main(words)
    return int(ended.value.code or 0)


def test_the_command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """A decorated function brings its options; those of the command line win."""
    asked = []
    monkeypatch.setattr(library, "_library", lambda *given: asked.append(thread_count()) or {})
    monkeypatch.setattr(sys, "path", list(sys.path))
    monkeypatch.chdir(tmp_path)
    Path("exported_model.py").write_text(MODEL)
    assert command("export", "exported_model.py:cost", "-s", "n=70") == 0
    assert "cost: cost.h, costConfig.cmake, examples, plan.json" in capsys.readouterr().out
    text = Path("cost/cost.h").read_text()
    assert "float64 (70)" in text and "the limit is 1 MB" in text and "grad_p" not in text and "steps = 20" in text
    assert command("export", "exported_model.py:cost", "--folder", "other", "--name", "small", "--wrt", "u,p",
                   "--memory-limit", "20kB", "--portable", "--threads", "3") == 0
    text = Path("other/small.h").read_text()
    assert "the limit is 20 kB" in text and "grad_p" in text and "x86-64-v3" in text and "threads: 3" in text
    assert asked[-1] == 3
    assert command("export", "exported_model.py:cost", "--portable=v9") == 2
    assert "portable='v9'" in capsys.readouterr().err
