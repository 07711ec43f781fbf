"""The graph and the source text that programs become."""
from __future__ import annotations

from collections.abc import Iterator

import pytest

from sdfgad.codegen.cpp import Frame
from sdfgad.codegen.cpu.generate import source
from sdfgad.codegen.cpu.lower import lower
from sdfgad.codegen.cpu.order.parallel import share
from sdfgad.ir.index import ix
from sdfgad.ir.program import If, Loop, Map, Program
from tests.codegen.build_programs import B1, F8, add, compare, load, mapped, mul, num, program, span, store
from tests.support.thresholds import change


@pytest.fixture
def everything_parallel(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    change(monkeypatch, parallel_work=0)
    yield


def sweep(target: str, origin: str) -> Map:
    value = add(load(origin, ix("i") - 1, "j"), load(origin, ix("i") + 1, "j"))
    return mapped([span("i", 1, 99), span("j", 100)], store(target, ["i", "j"], value))


def stencil() -> Program:
    scale = mapped([], store("x", [], mul(load("x"), num(0.5))))
    cond = compare("lt", load("x"), num(1.0))
    body = (sweep("B", "A"), If(cond, (sweep("A", "B"),), (scale,)))
    return program([Loop(span("t", 5), body)], {"A": ((100, 100), F8), "B": ((100, 100), F8)}, {"x": ((), F8)})


def test_graph_is_valid(everything_parallel: None) -> None:
    lower(stencil()).sdfg.validate()


def test_kernels_are_parallel_loops_around_one_tasklet(everything_parallel: None) -> None:
    text = source(lower(stencil()))
    assert text.count("#pragma omp parallel for") == 2
    assert "atomic" not in text and "new_array" not in text


def test_small_programs_are_one_tasklet() -> None:
    small = program([Loop(span("i", 5), (mapped([span("j", "i")], store("A", ["i"], load("A", "j"), "+")),))],
                    {"A": ((9,), F8)})
    lowered = lower(small)
    assert len(list(lowered.sdfg.states())) == 2
    assert "#pragma omp parallel" not in source(lowered)


def test_scalars_used_in_one_place_need_no_container() -> None:
    steps = [mapped([], store("x", [], num(2.0))), mapped([], store("A", [0], mul(load("x"), load("x"))))]
    lowered = lower(program(steps, {"A": ((3,), F8)}, {"x": ((), F8)}))
    assert "v_x" not in lowered.sdfg.arrays and lowered.held.arena.bytes == 0


def test_results_are_passed_by_the_caller() -> None:
    made = program([mapped([span("i", 3)], store("y", ["i"], load("A", "i")))], {"A": ((3,), F8)}, {"y": ((3,), F8)})
    assert lower(made, ("y",)).arguments == ("A", "y")
    assert not lower(made, ("y",)).sdfg.arrays["v_y"].transient


def test_colliding_stores_are_never_shared() -> None:
    arrays = {"A": ((300, 300), F8), "s": ((300,), F8)}
    two_places = mapped([span("i", 1, 299)], store("s", ["i"], num(1.0), "+"), store("s", [ix("i") - 1], num(1.0), "+"))
    same_place = mapped([span("i", 300), span("j", 300)], store("s", ["j"], load("A", "i", "j"), "+"))
    frame = Frame(program([], arrays).arrays)
    assert share(two_places, frame, str) is None
    shared = share(same_place, frame, str)
    assert shared is not None and all(r.var != "i" for r in shared.ranges)


def test_a_sum_of_everything_is_shared_in_blocks() -> None:
    total = mapped([span("i", 300), span("j", 300)], store("x", [], load("A", "i", "j"), "+"))
    shared = share(total, Frame(program([], {"A": ((300, 300), F8)}, {"x": ((), F8)}).arrays), str)
    assert shared is not None and [a.shape[1:] for a in shared.added] == [()]
    assert shared.ranges[0].var == "block" and shared.after


@pytest.mark.parametrize(("terms", "blocks"), [(8, 2), (75, 2), (150, 4), (230, 4), (290, 8), (3000, 64)])
def test_threads_get_as_many_blocks_as_each_other(terms: int, blocks: int) -> None:
    total = mapped([span("i", terms)], store("x", [], load("A", "i"), "+"))
    shared = share(total, Frame(program([], {"A": ((terms,), F8)}, {"x": ((), F8)}).arrays), str)
    assert shared is not None and shared.ranges[0].trips == blocks


def test_keywords_and_macros_as_names() -> None:
    names = ["do", "I", "register", "int", "M_PI", "new"]
    steps = [mapped([span("for", 4)], store(n, ["for"], add(load(n, "for"), num(1.0)))) for n in names]
    text = source(lower(program(steps, {n: ((4,), F8) for n in names}, {"flag": ((), B1)})))
    assert "double * __restrict__ v_do" in text
