"""Both targets give the same gradients: traps, programs that are kept for tests, random ones."""
from __future__ import annotations

import inspect
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import sdfgad
from sdfgad.codegen.program import compile_program
from tests.codegen.reference.running import both_targets, same
from tests.data import loop_programs
from tests.programs.examine import Task
from tests.programs.runners import Compiled
from tests.programs.running import check, load, wrt_of
from tests.support.cases import CASES
from tests.support.oracle import reversed_program
from tests.support.point_loops import run
from tests.support.traps import TRAPS

FEW, MANY = 1, 500
LOOPS = {n: f for n, f in inspect.getmembers(loop_programs, inspect.isfunction)}


def with_plain_graphs(number: int, folder: Path) -> str:
    """Differentiate a random program, compare with NumPy, differences and the other mode; why it is refused."""
    task = Task(number, compiled=True)
    with sdfgad.config(target="reference"):
        return check(load(task.text, folder, number), Compiled(()), task.arguments).refused


@pytest.mark.parametrize("number", range(FEW))
def test_a_few_random_programs(number: int, tmp_path: Path) -> None:
    with_plain_graphs(number, tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize("number", range(FEW, MANY))
def test_many_random_programs(number: int, tmp_path: Path) -> None:
    with_plain_graphs(number, tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize("number", range(MANY))
def test_both_targets_agree_on_random_programs(number: int, tmp_path: Path) -> None:
    """In both modes; what one of them refuses, the other one refuses, too."""
    task = Task(number, compiled=True)
    fn, args = load(task.text, tmp_path, number), task.arguments
    tuned, plain = (both_modes(fn, args, target) for target in ("cpu", "reference"))
    if isinstance(tuned, str):
        assert plain == tuned
        return
    close = 1e-3 if args["x"].dtype == np.float32 else 1e-10
    for found, expected in zip(plain, tuned, strict=True):
        finite = np.isfinite(expected)
        np.testing.assert_array_equal(np.isfinite(found), finite)
        scale = np.max(np.abs(expected[finite]), initial=1.0)
        np.testing.assert_allclose(found[finite], expected[finite], rtol=close, atol=close * scale)


def both_modes(fn: Callable[..., Any], args: dict[str, Any], target: str) -> list[np.ndarray] | str:
    """Value, gradients and tangent; why it is refused."""
    runner = Compiled(())
    with sdfgad.config(target=target):
        try:
            value, grads = runner.gradient(fn, args)
            pushed = runner.tangent(fn, args, directions(args))
        except sdfgad.UnsupportedError as error:
            return error.code
    return [np.asarray(found, "f8") for found in (value, pushed, *grads.values())]


def directions(args: dict[str, Any]) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(11)
    return {n: rng.normal(size=np.shape(args[n])) for n in wrt_of(args)}


@pytest.mark.slow
@pytest.mark.parametrize("trap", TRAPS.values(), ids=TRAPS.keys())
def test_traps(trap: Any) -> None:
    x = trap.x.copy()
    plain, found = both_targets(trap.program, x)
    same(found, plain)
    np.testing.assert_array_equal(x, trap.x)
    with sdfgad.config(target="reference"):
        _, pushed = sdfgad.jvp(trap.program, (x,), (np.ones_like(x),))
    np.testing.assert_allclose(pushed, np.sum(plain[1]), rtol=1e-11, atol=1e-11)


@pytest.mark.slow
@pytest.mark.parametrize("fn", LOOPS.values(), ids=LOOPS.keys())
def test_programs_of_loops(fn: Callable[..., Any]) -> None:
    rng = np.random.default_rng(5)
    plain, found = both_targets(fn, *(rng.uniform(0.1, 0.9, (3, 4, 4)) for _ in "AB"))
    same(found, plain, 1e-10, 1e-10)


@pytest.mark.slow
@pytest.mark.parametrize("name", CASES)
def test_programs_written_by_hand(name: str) -> None:
    """The gradient program in native code, against the reference semantics of it."""
    case = CASES[name]()
    with sdfgad.config(target="reference"):
        made = reversed_program(case.program, case.wrt)
        code = compile_program(made.program, results=made.results)
    arrays, keep = made.program.arrays, {}
    held = {n: case.arrays[n].copy() for n in made.program.arguments}
    run(made.program, {n: v.copy() for n, v in held.items()}, keep)
    found = {n: np.zeros(arrays[n].shape, arrays[n].dtype) for n in made.results}
    code({**held, **found})
    for n in made.results:
        np.testing.assert_allclose(found[n], keep[n], rtol=1e-10, atol=1e-12)
