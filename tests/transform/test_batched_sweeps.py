"""The reverse sweep for one seed after the other gives what it gives for each alone, whatever it replaces."""
from __future__ import annotations

import numpy as np
import pytest

import sdfgad
from sdfgad.errors import PlanNotExecutable
from sdfgad.ir.program import Array, Loop, Program
from sdfgad.reverse import sweeps
from sdfgad.reverse.made import Gradient, ReverseRequest
from sdfgad.reverse.sweeps import gradient
from sdfgad.transform.batched_sweeps import in_turn
from sdfgad.transform.stages import TRIM, prepare_program
from tests.support.build import F8, at, each, put, span
from tests.support.cases import CASES
from tests.support.oracle import execute, undoable, views_of
from tests.support.point_loops import run

COUNT, SIZE = 3, 5
I = span("i", 0, SIZE)
ON_STACKS = {"bound_overwritten_inside", "while_around_a_map", "while_growable", "while_in_while",
             "while_that_never_runs"}
"""Cases whose reverse sweep takes its records from a stack that it empties."""


def swept(*body) -> tuple[Program, Program]:
    """A sweep of one seed d, that of several. x and y are of the function, e is a result, a the program's own."""
    arrays = {n: Array(n, (SIZE,), F8, "argument") for n in "xyde"} | {"a": Array("a", (SIZE,), F8)}
    before = Program("p", arrays, tuple("xyde"), tuple(each(I, s) for s in body))
    after = in_turn(before, frozenset("de"), COUNT)
    rng = np.random.default_rng(0)
    given = {n: rng.normal(size=after.arrays[n].shape) for n in after.arguments}
    found = {n: v.copy() for n, v in given.items()}
    run(after, found)
    for k in range(COUNT):
        alone = {n: v[k].copy() if n in "de" else v.copy() for n, v in given.items()}
        run(before, alone)
        for n in "xye":
            np.testing.assert_array_equal(found[n][k] if n == "e" else found[n], alone[n], err_msg=n)
    return before, after


def copies(after: Program) -> list[str]:
    return [n for n in after.arrays if n.endswith("_held")]


def test_what_does_not_depend_on_the_seed_runs_once():
    _, after = swept(put("a", ("i",), at("d", "i") * at("x", "i")), put("y", ("i",), at("x", "i") * at("x", "i")),
                     put("e", ("i",), at("a", "i") * at("y", "i")))
    *first, sweep = after.body
    assert [s.body[0].array for s in first] == ["y"] and isinstance(sweep, Loop) and len(sweep.body) == 2
    assert after.arrays["a"].shape == (SIZE,) and not copies(after)


def test_what_is_replaced_after_it_was_looked_at_is_put_back_for_each():
    _, after = swept(put("a", ("i",), at("d", "i") * at("x", "i")), put("x", ("i",), at("y", "i") * 2.0),
                     put("e", ("i",), at("a", "i") + at("x", "i")))
    assert copies(after) == ["x_held"]


def test_what_is_filled_before_it_is_looked_at_is_not():
    _, after = swept(put("a", ("i",), at("d", "i") * at("y", "i")), put("y", ("i",), at("x", "i") * 2.0),
                     put("x", ("i",), at("y", "i") * 2.0), put("y", ("i",), at("x", "i")),
                     put("e", ("i",), at("a", "i") + at("y", "i")))
    assert copies(after) == ["x_held", "y_held"]
    _, after = swept(put("e", ("i",), at("d", "i")), put("y", ("i",), at("e", "i") * 0.0 + at("x", "i")),
                     put("e", ("i",), at("e", "i") + at("y", "i")))
    assert not copies(after)


@pytest.mark.parametrize("undo", [False, True], ids=["kept", "undone"])
@pytest.mark.parametrize("name", CASES)
def test_every_kind_of_control_flow(name, undo):
    case = CASES[name]()
    views = tuple(views_of(case.program.returns))
    ready = prepare_program(case.program, views)
    undone = undoable(case.program) if undo else frozenset()
    rng = np.random.default_rng(2)
    seeds = [rng.normal(size=(COUNT, *(n.const for n in v.shape))).astype(v.dtype) for v in views]

    def made(**batch) -> Gradient:
        found = gradient(ready, ReverseRequest(tuple(case.wrt), views, "arguments", **batch), undone=undone)
        return Gradient(**{**vars(found), "program": TRIM(found.program.but(live_out=frozenset(found.results)))})

    def gradients(of: Gradient, given) -> dict[str, np.ndarray]:
        _, memory = execute(of.program, {**case.arrays, **dict(zip(of.seeds, given, strict=True))})
        return {n: memory[g] for n, g in of.gradients.items() if g is not None}

    if name in ON_STACKS:
        with pytest.raises(PlanNotExecutable):
            made(batch=COUNT, in_turn=True)
        return
    found, one = gradients(made(batch=COUNT, in_turn=True), seeds), made()
    for k in range(COUNT):
        alone = gradients(one, [s[k] for s in seeds])
        for n, wanted in alone.items():
            np.testing.assert_allclose(found[n][k], wanted, rtol=1e-13, atol=1e-15)


def test_a_limit_that_seeds_at_once_exceed_is_kept_by_those_in_turn(monkeypatch):
    def f(x):
        for _ in range(8):
            y = np.sin(x[::-1]) * x
            x = np.cos(y[::-1]) + y * x
        return x

    x, seeds = np.linspace(0.1, 1.0, 4000), np.random.default_rng(3).normal(size=(16, 4000))
    _, free = sdfgad.vjp(f, x)
    limit = 2_000_000  # seeds and results are half of it
    _, pullback = sdfgad.vjp(f, x, memory_limit=limit)
    found = pullback(seeds, batched=True)
    assert pullback._derivative.batches[16].plan.predicted.peak_bytes <= limit
    np.testing.assert_allclose(found, [free(s) for s in seeds], rtol=1e-12)
    monkeypatch.setattr(sweeps, "in_turn", sweeps.several)
    with pytest.raises(sdfgad.MemoryLimitError):
        sdfgad.vjp(f, x + 0.0, memory_limit=limit - 8)[1](seeds, batched=True)
