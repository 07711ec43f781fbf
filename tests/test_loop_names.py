"""Whatever a user calls a loop variable, it means no variable that a pass makes up."""
from __future__ import annotations

import importlib.util
import linecache
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import sdfgad
from sdfgad.frontend import parse
from sdfgad.transform.products import contract, product_sums, streams
from sdfgad.transform.recurrences import block_loops
from tests.support.oracle import program_gradient

NAMES = ("i", "j", "t", "k", "h", "z1", "border", "counter", "row", "column", "here", "strip", "block", "_0", "_1",
         "d0", "c0", "e1", "m0", "w0", "b0", "g0", "s0", "p0", "h0", "i0", "j0", "k0", "r0", "row0", "block0", "slot0",
         "peeled0", "i_part", "lambda_", "u_k")
"""Stems that passes make names of, such names, and names that they once made."""
PROGRAMS = Path(__file__).parent / "data" / "loop_programs.py"


def loaded(names: dict[str, str], folder: Path) -> dict[str, Callable[..., Any]]:
    """The programs with other loop variables, by name."""
    text = re.sub(r"\bloop_(\w)\b", lambda m: names[m.group(1)], PROGRAMS.read_text())
    file = folder / f"{'_'.join(names.values())}.py"
    file.write_text(text)
    linecache.checkcache(str(file))
    spec = importlib.util.spec_from_file_location(file.stem, file)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return {n: f for n, f in vars(module).items() if callable(f) and getattr(f, "__module__", "") == module.__name__}


def arguments() -> tuple[np.ndarray, ...]:
    rng = np.random.default_rng(3)
    return rng.standard_normal((3, 4, 4)) / 2, rng.standard_normal((3, 4, 4)) / 2


def outcome(fn: Callable[..., Any]) -> tuple[Any, ...]:
    """Value and gradients by the reference interpreter, which knows no thread and no address."""
    a, b = arguments()
    parsed = parse(fn, (a, b))
    value, found = program_gradient(parsed.program, {"A": a, "B": b}, ("A", "B"))
    return value, found["A"], found["B"]


@pytest.fixture
def everything_fires(monkeypatch: pytest.MonkeyPatch) -> None:
    """Sizes from which on passes do something are small here."""
    monkeypatch.setattr(product_sums, "LEAST_WORK", 1)
    monkeypatch.setattr(streams, "LEAST_BYTES", 1)
    monkeypatch.setattr(contract, "SMALL_PRODUCT", 1)
    monkeypatch.setattr(contract, "SMALL_EXTENT", 1)
    monkeypatch.setattr(block_loops, "FEWEST_ITERATIONS", 1)


@pytest.fixture(scope="module")
def expected(tmp_path_factory: pytest.TempPathFactory) -> dict[str, tuple[Any, ...]]:
    """With names that nobody ever makes up."""
    plain = loaded({"a": "first", "b": "second", "c": "third"}, tmp_path_factory.mktemp("plain"))
    found = {}
    for name, fn in plain.items():
        a, b = arguments()
        found[name] = fn(a.copy(), b.copy()), *outcome(fn)
    return found


@pytest.mark.parametrize("start", range(0, len(NAMES), 3))
def test_any_name_will_do(start: int, expected: dict[str, tuple[Any, ...]], everything_fires: None,
                          tmp_path: Path) -> None:
    names = [NAMES[(start + k) % len(NAMES)] for k in range(3)]
    for name, fn in loaded(dict(zip("abc", names, strict=True)), tmp_path).items():
        numpys, *ours = expected[name]
        value, *gradients = outcome(fn)
        np.testing.assert_allclose(value, numpys, rtol=1e-12, err_msg=name)
        for one, other in zip((value, *gradients), ours, strict=True):
            np.testing.assert_allclose(one, other, rtol=1e-11, atol=1e-12, err_msg=f"{name} of {names}")


@pytest.mark.parametrize("shape", [(40, 40, 40), (3, 40, 40)])
def test_compiled_sums_of_products_in_a_loop(shape: tuple[int, ...]) -> None:
    """The order of the sums is exchanged inside the user's loop over i."""
    def loss(A, B):
        s = 0.0
        for i in range(A.shape[0]):
            s += np.sum(A[i] @ B[i])
        return s * s

    rng = np.random.default_rng(0)
    a, b = rng.standard_normal(shape), rng.standard_normal(shape)
    total = sum(np.sum(x @ y) for x, y in zip(a, b, strict=True))
    value, (found, other) = sdfgad.value_and_grad(loss, wrt=("A", "B"))(a, b)
    np.testing.assert_allclose(value, total * total, rtol=1e-11)
    np.testing.assert_allclose(found, 2 * total * np.broadcast_to(b.sum(2)[:, None, :], shape), rtol=1e-10)
    np.testing.assert_allclose(other, 2 * total * np.broadcast_to(a.sum(1)[:, :, None], shape), rtol=1e-10)
