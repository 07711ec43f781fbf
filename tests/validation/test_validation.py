"""The tools that validate passes find what is wrong."""
from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from sdfgad.codegen.cpu.schedule.stage import take_rows_apart as honest
from sdfgad.frontend import parse
from sdfgad.ir import interpret
from sdfgad.ir.index import ix
from sdfgad.ir.program import Loop, Map, Program
from sdfgad.transform.passes import Application, watching
from tests.support.build import at, each, one, program, put, span
from tests.support.cases import CASES
from tests.support.oracle import reversed_program, sample
from tests.support.passes import replace_pass
from tests.support.validation import Mistaken, Validator
from tests.support.vectors import run

I0 = ix("i")


def smooth(x, n):
    for _ in range(3):
        x[1:-1] = 0.5 * (x[2:] + x[:-2])
    return np.sum(x * x) + n


def validated() -> Validator:
    x = np.linspace(-1.0, 2.0, 9)
    parsed = parse(smooth, (x, 1.0))
    watch = Validator(parsed.collect((x.copy(), 1.0)))
    with watching(watch):
        reversed_program(parsed.program, (parsed.traced["x"],))
    return watch


def test_passes_that_change_nothing_that_is_seen_are_counted():
    assert validated().fired.total() >= 3


def test_a_pass_that_changes_a_result_is_found(monkeypatch):
    def remove_dead_code(made: Program) -> Program:
        """Forgets the last statement."""
        return made.but(body=made.body[:-1])

    replace_pass(monkeypatch, "remove_dead_code", remove_dead_code)
    with pytest.raises(Mistaken, match="remove_dead_code changed"):
        validated()


def test_a_pass_that_reads_outside_an_array_is_found(monkeypatch):
    def take_rows_apart(made: Program) -> Program:
        """Runs one point further."""
        made = honest(made)
        return made.but(body=tuple(further(s) if isinstance(s, Map) and s.domain else s for s in made.body))

    def further(stmt: Map) -> Map:
        return replace(stmt, domain=(replace(stmt.domain[0], stop=stmt.domain[0].stop + 100), *stmt.domain[1:]))

    replace_pass(monkeypatch, "take_rows_apart", take_rows_apart)
    with pytest.raises(IndexError, match="outside shape"):
        validated()


def test_what_is_left_of_sums_that_cancel_may_be_other_digits():
    """Sums that are zero but for rounding, in another order; and one that is another sum."""
    rng = np.random.default_rng(1)
    a, b = rng.random(50), rng.random(50)
    given = {"a": a, "b": b, "c": -(a + b), "y": np.zeros(50)}
    x, y, z = (at(name, I0) for name in "abc")
    before, other_order, other_sum = (
        replace(program(dict.fromkeys(given, (50,)), (each(span("i", 0, 50), put("y", (I0,), value)),)),
                live_out=frozenset({"y"})) for value in ((x + y) + z, x + (y + z), x + (y + 1.000001 * z)))
    Validator(given)(Application("fold_scales", before, other_order))
    with pytest.raises(Mistaken):
        Validator(given)(Application("fold_scales", before, other_sum))


@pytest.mark.parametrize("name", CASES)
def test_whole_maps_mean_what_their_points_mean(name):
    case = CASES[name]()
    made = case.program
    start = {n: case.arrays[n] if n in case.arrays else sample(made.arrays[n], 3) for n in made.arguments}
    memory: dict[str, np.ndarray] = {}
    interpret.run(made, {n: np.array(a) for n, a in start.items()}, memory)
    for array, found in run(made, start).items():
        np.testing.assert_allclose(found, memory[array], rtol=1e-13, atol=1e-13, err_msg=array)


def test_iterations_that_depend_on_each_other_show():
    """A parallel loop runs backwards, and a map part by part."""
    x = np.arange(1.0, 7.0)
    for body in (Loop(span("i", 1, 6), (one("x", (I0,), at("x", I0 - 1) + at("x", I0)),), parallel=True),
                 each(span("i", 1, 6), put("x", (I0,), at("x", I0 - 1) + at("x", I0)))):
        made = program({"x": (6,)}, (body,), returns="x")
        memory: dict[str, np.ndarray] = {}
        interpret.run(made, {"x": x.copy()}, memory)
        assert not np.allclose(run(made, {"x": x})["x"], memory["x"])
