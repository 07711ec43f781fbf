"""Generated code under ThreadSanitizer: no two threads touch the same element without a wait between them."""
from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from npbench_suite.harness.case import wanted
from npbench_suite.kernel import load as kernel_of
from npbench_suite.kernel import names
from sdfgad.calls.arguments import bind
from sdfgad.codegen.cpu.nests import emit as nests
from sdfgad.codegen.cpu.nests import tile_loops
from sdfgad.ir.index import ix, maximum, minimum
from sdfgad.ir.program import Loop, Program, Range
from sdfgad.verbs.pipeline import Request, derive
from tests.codegen.build_programs import F8, load, mapped, mul, program, span, store
from tests.codegen.test_row_updates import PROGRAMS, sample
from tests.programs.row_updates import written
from tests.programs.running import load as program_of
from tests.support.thresholds import change
from tests.support.watched import Found, unavailable, watch, watch_gradient

N = 64
DIGITS = 1e-9
"""Libraries may add up in another order with several threads."""
# Its arrays shrink with the data.
GRADIENTS = [name for name in names() if kernel_of(name).gradient != "none"]


@pytest.fixture(autouse=True)
def everything_is_shared(monkeypatch: pytest.MonkeyPatch) -> None:
    if unavailable():
        pytest.skip(unavailable())
    change(monkeypatch, parallel_work=0)


def own_rows() -> Program:
    """Every thread has some rows of x; only one of them has the rows that are added to y."""
    rows = Range("k", maximum(ix(8), ix("block") * 8), minimum(ix(16), ix("block") * 8 + 8))
    each = mapped([span("k", ix("block") * 8, ix("block") * 8 + 8), span("j", N)],
                  store("x", ["k", "j"], load("z", "k", "j")))
    few = mapped([span("i", N), span("j", N), rows], store("y", ["i", "j"], mul(load("x", "k", "i"),
                                                                               load("z", "k", "j")), "+"))
    body = Loop(span("block", 8), (each, few), parallel=True)
    return program((body,), {n: ((N, N), F8) for n in "xyz"}, {})


def watched(folder: Path) -> Found:
    made = own_rows()
    return watch(made, (), {n: np.ones((N, N)) for n in made.arguments}, folder)


def test_rows_of_other_threads_are_left_alone(tmp_path: Path) -> None:
    found = watched(tmp_path)
    assert found.parallel
    assert (found.races, found.differs) == ((), {})


def test_the_sanitizer_sees_a_lost_update(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A sum that is loaded and stored without a term."""
    monkeypatch.setattr(tile_loops, "trip_tests", lambda bounds, loops: ())
    for module in (tile_loops, nests):
        monkeypatch.setattr(module, "require_terms", lambda bounds, loops, tested: None)
    assert any("sg::store<" in line for line in watched(tmp_path).races)


def clean(found: Found) -> bool:
    return not found.races and all(gap <= DIGITS for gap in found.differs.values())


@pytest.mark.slow
@pytest.mark.parametrize("function", PROGRAMS, ids=lambda f: f.__name__)
def test_updates_of_rows(function: Callable[..., float], tmp_path: Path) -> None:
    bound = bind(function, sample(), {})
    assert clean(watch_gradient(derive(function, bound, Request(("c", "d"))), bound, tmp_path))


@pytest.mark.slow
@pytest.mark.parametrize("number", range(40))
def test_random_updates_of_rows(number: int, tmp_path: Path) -> None:
    function, random = program_of(written(number), tmp_path, number), np.random.default_rng(number)
    bound = bind(function, (random.random((80, 80)) * 0.1, random.random(20) * 0.5, random.random((80, 80))), {})
    assert clean(watch_gradient(derive(function, bound, Request(("c", "d"))), bound, tmp_path))


@pytest.mark.slow
@pytest.mark.parametrize("name", GRADIENTS)
def test_gradients_of_the_suite(name: str, tmp_path: Path) -> None:
    kernel = kernel_of(name)
    bound = bind(kernel.program, (), kernel.initialize(**kernel.sizes("S")))
    assert clean(watch_gradient(derive(kernel.program, bound, Request(wanted(kernel), kernel.output, "sum")), bound,
                                tmp_path))
