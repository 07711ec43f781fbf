"""Maps over nearly the same points run together over what they have in common, and alone over their rims."""
from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import sdfgad
from sdfgad.analysis.loops.rows import points
from sdfgad.codegen.cpu.schedule.joining import join_pointwise as joining
from sdfgad.codegen.cpu.schedule.joining.common_core import Cores, common_core
from sdfgad.codegen.cpu.schedule.joining.join_pointwise import join_pointwise
from sdfgad.ir.expr import Load
from sdfgad.ir.index import ix
from sdfgad.ir.program import Loop, Map, Program, Range, Stmt
from sdfgad.ir.text import program_text
from sdfgad.ir.walk import statements
from sdfgad.thresholds import JoinLimits, changed
from sdfgad.verbs import pipeline
from tests.codegen.build_programs import F8, add, agree, load, mapped, mul, num, program, span, store
from tests.support.interpreted import InterpretedProgram
from tests.support.oracle import check_same, numerical_gradient

N = 8
LIMITS = JoinLimits(points=4, core=0.5)
ALL, INNER = (span("i", N), span("j", N)), (span("a", 1, N - 1), span("b", 1, N - 1))
UPPER = (span("a", N - 1), span("b", N))
MATRICES = ("w", "x", "y", "z")


def joined(*body: Stmt, limits: JoinLimits = LIMITS) -> Program:
    arrays = {**{n: ((N, N), F8) for n in MATRICES}, "a3": ((3, N, N), F8), "s": ((1,), F8)}
    before = program(body, arrays, {}).but(live_out=frozenset(arrays))
    after = join_pointwise(before, limits, cores=True)
    check_same(before, after)
    return after


def large(made: Program) -> list[Map]:
    """The maps that are no rims."""
    return [s for s in statements(made.body) if isinstance(s, Map) and points(s) >= (N - 2) ** 2]


def over_all(target: str, *operands: Load, op: str | None = None) -> Map:
    return mapped(ALL, store(target, ("i", "j"), add(num(1.0), *operands), op))


def inside(target: str, *operands: Load, op: str | None = None, domain: tuple[Range, ...] = INNER) -> Map:
    return mapped(domain, store(target, ("a", "b"), add(num(1.0), *operands), op))


X, Y = load("x", "i", "j"), load("y", "a", "b")
BELOW = load("y", ix("a") + 1, "b")
HALO = mapped((span("k", 1), span("l", N)), store("y", ("k", "l"), load("y", N - 1, "l"), "+"))


@pytest.mark.parametrize("first, second", [
    (over_all("y", X), inside("z", Y)),
    (inside("y", load("x", "a", "b")), over_all("z", load("y", "i", "j"))),
    (over_all("y", X), mapped(UPPER, store("y", (ix("a") + 1, "b"), num(2.0), "+"))),
    (over_all("y", X), mapped(UPPER, store("z", ("a", "b"), mul(Y, load("x", "a", "b"))))),
    (inside("y", load("x", "a", "b"), op="+"), mapped((span("c", N - 1), span("d", 1, N)), store(
        "y", ("c", "d"), add(load("x", "c", "d"), load("w", "c", "d")), "+"))),
], ids=["the second is inside", "the first is inside", "added to", "rows", "neither"])
def test_what_maps_have_in_common_is_one_pass(first: Map, second: Map) -> None:
    made = joined(first, second)
    assert len(large(made)) == 1, program_text(made)


def test_places_decide_what_is_in_common() -> None:
    (one,) = large(joined(over_all("y", X), inside("z", Y, domain=UPPER)))
    assert [(r.start.const, r.stop.const) for r in one.domain] == [(0, N - 1), (0, N)]
    (one,) = large(joined(over_all("y", X), inside("z", BELOW, domain=UPPER)))
    assert [(r.start.const, r.stop.const) for r in one.domain] == [(1, N), (0, N)]


def test_neighbours_keep_maps_apart() -> None:
    assert len(large(joined(over_all("y", X), inside("z", Y, BELOW, domain=UPPER)))) == 2


def test_what_both_read_alone_is_no_reason() -> None:
    assert len(large(joined(over_all("y", X), inside("z", load("x", "a", "b"))))) == 2


def test_what_stands_between_may_touch_the_rim() -> None:
    """A halo is added to the row that it stands for: the inner rows need not wait for that."""
    assert len(large(joined(over_all("y", X), HALO, inside("z", Y)))) == 1
    assert len(large(joined(over_all("y", X), HALO, inside("z", Y, domain=UPPER)))) == 2


def test_small_parts_are_no_core() -> None:
    half = inside("z", Y, domain=(span("a", 3), span("b", N)))
    assert max(len(m.body) for m in large(joined(over_all("y", X), half))) == 1
    made = joined(over_all("y", X), half, limits=JoinLimits(points=4, core=0.25))
    assert sorted(len(s.body) for s in made.body if isinstance(s, Map)) == [1, 3]
    assert len(large(joined(over_all("y", X), inside("z", Y), limits=JoinLimits(points=N * N)))) == 2


def test_sums_stay_whole() -> None:
    assert len(large(joined(over_all("y", X), mapped(INNER, store("s", (0,), Y, "+"))))) == 2


def test_rows_of_threads_stay_as_they_are() -> None:
    rows = Loop(span("t", 0, 2), (over_all("y", X), inside("z", Y)), parallel=True)
    before = program((rows,), {n: ((N, N), F8) for n in MATRICES}, {}).but(live_out=frozenset(MATRICES))
    assert join_pointwise(before, LIMITS, cores=True) == before


def test_components_are_slices() -> None:
    into = [mapped(INNER, store("a3", (k, "a", "b"), Y)) for k in (0, 2)]
    assert len(large(joined(over_all("y", X), *into))) == 1


def test_native_code_runs_cores_and_rims() -> None:
    agree(joined(over_all("y", X), HALO, inside("z", Y), inside("x", load("z", "a", "b"))))


def tracer(u: np.ndarray, k: np.ndarray, steps: int) -> float:
    for _ in range(steps):
        f = k[1:-1, 1:] * (u[1:-1, 1:] - u[1:-1, :-1])
        g = k[1:, 1:-1] * (u[1:, 1:-1] - u[:-1, 1:-1])
        u[1:-1, 1:-1] += 0.1 * (f[:, 1:] - f[:, :-1] + g[1:] - g[:-1])
    return float(np.sum(u * u))


def test_gradients_of_stencils_with_rims(monkeypatch: pytest.MonkeyPatch) -> None:
    found: list[Cores] = []

    def noted(*given: Any) -> Cores | None:
        cut = common_core(*given)
        found.extend([cut] if cut is not None else [])
        return cut

    monkeypatch.setattr(joining, "common_core", noted)
    monkeypatch.setattr(pipeline, "compile_program", InterpretedProgram)
    u, k = (np.linspace(1.0, 2.0, 49).reshape(7, 7) ** n for n in (2, 3))
    with changed(joining=JoinLimits(points=4, core=0.5)):
        gradient = sdfgad.grad(tracer, wrt=("u", "k"))(u, k, 2)
    assert found
    for n, wrt in enumerate(("u", "k")):
        np.testing.assert_allclose(gradient[wrt], numerical_gradient(tracer, (u, k, 2), n), rtol=1e-6, atol=1e-6)
