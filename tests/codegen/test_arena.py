"""Arrays that share bytes: places, lifetimes of real programs, and programs run in one block of memory."""
from __future__ import annotations

import random
import re
from collections.abc import Iterator, Mapping
from itertools import combinations
from pathlib import Path

import numpy as np
import pytest

import sdfgad
from sdfgad.caches import LINE
from sdfgad.calls.arguments import bind
from sdfgad.codegen.arena import Arena, pack
from sdfgad.codegen.cpu import footprint as footprints
from sdfgad.codegen.cpu.footprint import Footprint, footprint
from sdfgad.codegen.cpu.generate import source
from sdfgad.codegen.cpu.lower import lower
from sdfgad.codegen.program import compile_program
from sdfgad.codegen.workspaces import workspaces
from sdfgad.ir.index import Ix, elem, ix
from sdfgad.ir.program import Loop, Program
from sdfgad.thresholds import Thresholds
from sdfgad.verbs.pipeline import Derivative, Request, derive
from tests.codegen.build_programs import B1, C16, F4, F8, I8, add, index, load, mapped, num, program, span, store
from tests.support.cases import CASES
from tests.support.oracle import reversed_program, views_of
from tests.support.point_loops import run
from tests.support.thresholds import change

# Places.


def intervals(draw: random.Random, count: int) -> tuple[dict[str, int], dict[str, tuple[int, int]]]:
    sizes, lives = {}, {}
    for k in range(count):
        start = draw.randint(0, 30)
        sizes[f"v{k}"], lives[f"v{k}"] = draw.choice((0, 1, 8, 64, 65, 1000, 4096)), (start, start + draw.randint(0, 9))
    return sizes, lives


def meet(a: tuple[int, int], b: tuple[int, int]) -> bool:
    return max(a[0], b[0]) <= min(a[1], b[1])


def moments(lives: Mapping[str, tuple[int, int]]) -> dict[str, int]:
    return {n: (2 << last) - (1 << first) for n, (first, last) in lives.items()}


def always(sizes: Mapping[str, int]) -> Arena:
    """The places of arrays that are all in use at once."""
    return pack(sizes, dict.fromkeys(sizes, 1))


def overlaps(arena: Arena, sizes: Mapping[str, int], lives: Mapping[str, tuple[int, int]]) -> list[tuple[str, str]]:
    """Pairs that are in use at once and share a line, by looking at every line."""
    lines = {n: set(range(arena.offsets[n] // LINE, -(-(arena.offsets[n] + s) // LINE))) for n, s in sizes.items()}
    return [(a, b) for a, b in combinations(sizes, 2) if meet(lives[a], lives[b]) and lines[a] & lines[b]]


@pytest.mark.parametrize("seed", range(60))
def test_what_is_in_use_at_once_lies_apart(seed):
    sizes, lives = intervals(random.Random(seed), 3 + seed)
    arena = pack(sizes, moments(lives))
    assert not overlaps(arena, sizes, lives)
    assert all(place % LINE == 0 and place + sizes[n] <= arena.bytes for n, place in arena.offsets.items())
    assert arena.bytes >= least_bytes(sizes, lives)


def test_rows_of_large_arrays_take_places_of_their_own_in_a_cache():
    """Arrays of a power of two bytes, sixteen at a time, in a cache of 64 lines a way."""
    arena = always({f"v{k}": 1 << 21 for k in range(16)})
    assert len({place // LINE % 64 for place in arena.offsets.values()}) == 16
    assert arena.bytes <= 16 * ((1 << 21) + 1024)
    assert always({"a": 4096 * 20 + 64, "b": 4096 * 20 + 64}).bytes == 2 * (4096 * 20 + 64)


@pytest.mark.skipif(not Path("/proc/self/smaps").exists(), reason="tells of large pages")
def test_large_blocks_ask_for_large_pages():
    """Of which the flag tells whether the system grants them or not."""
    def wanted() -> int:
        parts = re.split(r"(?m)^(?=[0-9a-f]+-[0-9a-f]+ )", Path("/proc/self/smaps").read_text())
        return sum(int(re.search(r"Size: +(\d+)", part)[1]) for part in parts
                   if (flags := re.search(r"VmFlags:(.*)", part)) and " hg" in flags[1])

    n = 6_000_017
    made = program([mapped([span("i", n)], store("t", ["i"], load("A", "i"))),
                    mapped([span("i", n)], store("A", ["i"], load("t", ix(n - 1) - "i")))],
                   {"A": ((n,), F8)}, {"t": ((n,), F8)})
    workspaces().release()
    argument, before = np.zeros(n), wanted()
    executable = compile_program(made)
    executable({"A": argument})
    assert wanted() - before >= 8 * n // 1024 - 4096


def least_bytes(sizes: Mapping[str, int], lives: Mapping[str, tuple[int, int]]) -> int:
    """What is in use at once at some time, in whole lines."""
    return max(sum(-(-sizes[n] // LINE) * LINE for n in sizes if meet(lives[n], (t, t))) for t in range(40))


def test_little_is_lost():
    lost = []
    for seed in range(60):
        sizes, lives = intervals(random.Random(seed), 3 + seed)
        lost.append(pack(sizes, moments(lives)).bytes / least_bytes(sizes, lives))
    assert sum(lost) / len(lost) < 1.05 and max(lost) < 1.5


def test_the_check_of_places_can_fail():
    sizes, lives = intervals(random.Random(5), 30)
    assert overlaps(pack(sizes, dict.fromkeys(sizes, 0)), sizes, lives)
    assert overlaps(pack(sizes, {n: bits * (sizes[n] != 4096) for n, bits in moments(lives).items()}), sizes, lives)


def test_nothing_at_all():
    assert always({}) == Arena({}, 0)
    assert always({"a": 0, "b": 1}) == Arena({"b": 0, "a": 0}, LINE)


# Lifetimes of programs.

N = 100
LONG = {n: ((N,), F8) for n in "abcdef"}


def filled(target: str, *origins: str, part: int = N) -> object:
    terms = [load(o, "i") for o in origins]
    return mapped([span("i", part)], store(target, ["i"], add(num(1.0), *terms)))


def held(*body: object, **more: tuple[tuple[int, ...], np.dtype]) -> Footprint:
    return footprint(program(body, {"x": ((N,), F8)}, {**LONG, **more}))


def repeated(*body: object, stop: Ix | int = 3) -> Loop:
    return Loop(span("t", stop), body)


def share(found: Footprint, a: str, b: str) -> bool:
    first, second = (range(found.arena.offsets[n], found.arena.offsets[n] + found.sizes[n]) for n in (a, b))
    return max(first.start, second.start) < min(first.stop, second.stop)


@pytest.fixture(params=[0, Thresholds().parallel_work], ids=["kernels", "groups"], autouse=True)
def work(request, monkeypatch) -> Iterator[None]:
    change(monkeypatch, parallel_work=request.param)
    yield


def test_a_chain_takes_two_places():
    chain = [filled(b, a) for a, b in zip("abcde", "bcdef", strict=True)]
    found = held(filled("a", "x"), *chain, filled("x", "f"))
    assert found.arena.bytes == 2 * -(-N * 8 // LINE) * LINE
    assert sum(found.sizes.values()) == 6 * N * 8


def test_temporaries_of_an_iteration_share():
    from_iteration = repeated(filled("a", "x"), filled("b", "a"), filled("c", "b"), filled("x", "c"))
    found = held(from_iteration)
    assert share(found, "a", "c") and not share(found, "a", "b")


def test_what_a_loop_carries_lies_by_itself():
    found = held(filled("a", "x"), repeated(filled("b", "a"), filled("c", "b"), filled("x", "c"),
                                               filled("a", "a", "x", part=50)))
    assert not any(share(found, "a", n) for n in "bc")


def test_the_header_of_a_loop_reads():
    bounds = program([mapped([span("i", N)], store("k", ["i"], index("i"))), filled("a", "x"),
                      repeated(filled("b", "a"), filled("x", "b"), stop=elem("k", (ix(5),)))],
                     {"x": ((N,), F8)}, {**LONG, "k": ((N,), I8)})
    lives = footprint(bounds).lives.moments
    assert lives["k"] & lives["a"]


def test_arrays_of_different_types_lie_apart():
    kinds = {"p": F8, "q": F4, "r": C16, "s": B1, "t": I8}
    body = [mapped([span("i", N)], store(n, ["i"], num(1, d))) for n, d in kinds.items()]
    found = held(*body, **{n: ((N,), d) for n, d in kinds.items()})
    assert not any(share(found, a, b) for a, b in combinations(kinds, 2))
    lives = found.lives.moments
    assert not any(lives[a] & lives[b] for a, b in combinations(kinds, 2))


# Programs run in one block.


def in_one_block(made: Program, found: Footprint, arguments: Mapping[str, np.ndarray],
                 results: tuple[str, ...]) -> dict[str, np.ndarray]:
    """What the interpreter leaves in the results when the own arrays lie where the generated code has them."""
    block = np.full(found.arena.bytes + LINE, 0xff, np.uint8)
    room = {n: block[found.arena.offsets[n]:found.arena.offsets[n] + found.sizes[n]].view(a.dtype).reshape(a.shape)
            for n, a in found.own.items() if n in made.arrays}
    memory: dict[str, np.ndarray] = {}
    run(made, {n: np.array(a) for n, a in arguments.items()}, memory, room)
    return {n: memory[n] for n in results}


def gradient_case(name: str) -> tuple[Program, Mapping[str, np.ndarray], tuple[str, ...]]:
    case = CASES[name]()
    made = reversed_program(case.program, case.wrt)
    return made.program, case.arrays, (*made.results, *(v.array for v in views_of(made.program.returns)))


@pytest.mark.parametrize("name", CASES)
def test_gradients_are_the_same_in_one_block(name):
    made, arguments, results = gradient_case(name)
    expected = in_one_block(made, footprint(program([], {})), arguments, results)
    for n, value in in_one_block(made, footprint(made, results), arguments, results).items():
        np.testing.assert_array_equal(value, expected[n])


def test_places_that_are_wrong_are_noticed(monkeypatch):
    monkeypatch.setattr(footprints, "pack", lambda sizes, *_: pack(sizes, dict.fromkeys(sizes, 0)))
    wrong = 0
    for name in CASES:
        made, arguments, results = gradient_case(name)
        expected = in_one_block(made, footprint(program([], {})), arguments, results)
        found = in_one_block(made, footprint(made, results), arguments, results)
        wrong += any(not np.array_equal(found[n], expected[n], equal_nan=True) for n in results)
    assert wrong > 10


# Compiled programs.

WIDE = np.linspace(0.1, 0.9, 70_000)


def stages(x):
    """Temporaries that hand on to each other, in both sweeps, and a loop that keeps some of them."""
    a = np.sin(x) * x
    b = np.cumsum(a)
    c = np.cumsum(b) * a
    for _ in range(3):
        d = np.cumsum(c) * c
        c = np.cos(d[::-1]) + 0.5 * np.sin(np.cumsum(d))
    e = np.cumsum(c) * c[::-1]
    return np.sum(e * np.cumsum(e))


def derived(fn, *args, **more) -> Derivative:
    bound = bind(fn, args, {})
    return derive(fn, bound, Request((next(iter(bound.leaves)),), **more))


def test_the_block_is_what_is_measured_and_predicted():
    made = derived(stages, WIDE, reduce="sum")
    found = footprint(made.program, made.keep)
    assert found.arena.bytes <= 0.8 * sum(found.sizes.values())
    with sdfgad.config(num_threads=2):
        made = derived(stages, WIDE, reduce="sum")
        used = made.measured(bind(stages, (WIDE,), {}))
    assert used.program == found.bytes(2)
    assert used.peak_bytes == made.plan.predicted.peak_bytes
    assert made.compiled().transient_bytes == found.arena.bytes


def test_what_a_call_leaves_behind_does_not_matter():
    gradient = sdfgad.grad(stages)
    fresh = gradient(WIDE)
    assert np.isnan(gradient(np.full_like(WIDE, np.nan))).all()
    np.testing.assert_array_equal(gradient(WIDE), fresh)


def test_only_what_is_passed_is_promised_to_be_alone():
    made = derived(stages, WIDE, reduce="sum")
    text = source(lower(made.program, made.keep))
    assert "double * __restrict__ v_x" in text and "aligned_new_array" not in text


def test_places_in_the_block_are_numbers_in_the_text():
    made = derived(stages, WIDE, reduce="sum")
    text, found = source(lower(made.program, made.keep)), footprint(made.program, made.keep)
    assert found.own and not re.findall(r"__\d+_v_", text)
    used = {int(offset) for offset in re.findall(r"__state->sg_arena\.at<double>\((\d+)\)", text)}
    assert used == {found.arena.offsets[n] for n in found.own}
