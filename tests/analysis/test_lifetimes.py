"""When arrays are in use: small trees by hand, and random ones run with arrays that share room."""
from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from dataclasses import replace

import pytest

from sdfgad.analysis.lifetimes import Either, Held, Lifetimes, Repeated, Step, Steps, lifetimes
from sdfgad.caches import LINE
from sdfgad.codegen.arena import pack

NAMES = "abcd"


def step(reads: str = "", writes: str = "", fills: str = "") -> Step:
    return Step(0, frozenset(reads), frozenset(writes + fills), frozenset(fills))


def used(*steps: Step | Either | Repeated) -> list[str]:
    lives = lifetimes(steps)
    return ["".join(sorted(lives.used(k))) for k in range(len(lives.steps))]


def test_from_the_first_write_to_the_last_read():
    assert used(step(fills="a"), step("a", fills="b"), step(), step("b")) == ["a", "ab", "b", "b"]


def test_a_write_in_part_keeps_what_was_there():
    assert used(step(fills="a"), step(), step(writes="a"), step("a")) == ["a", "a", "a", "a"]
    assert used(step(fills="a"), step(), step(fills="a"), step("a")) == ["a", "", "a", "a"]


def test_what_nobody_wrote_holds_nothing():
    assert used(step(), step(writes="a"), step("a")) == ["", "a", "a"]
    assert used(step(), step("a"), step(fills="a"), step("a")) == ["", "a", "a", "a"]


def test_a_write_that_nobody_reads_needs_room():
    assert used(step(fills="a"), step(fills="b"), step("a")) == ["a", "ab", "a"]


def test_an_array_made_afresh_by_each_iteration_lives_within_it():
    assert used(Repeated((step(fills="a"), step("a", fills="b"), step("b")), True)) == ["a", "ab", "b"]


def test_a_carried_array_lives_throughout_the_loop():
    assert used(step(fills="a"), Repeated((step(), step("a", writes="a"), step()), False), step()) == \
        ["a", "a", "a", "a", ""]
    assert used(Repeated((step(), step(writes="a"), step("a")), True)) == ["a", "a", "a"]


def test_a_loop_that_may_not_run_passes_on_what_was_there():
    assert used(step(fills="a"), step(), Repeated((step(fills="a"),), False), step("a")) == ["a", "a", "a", "a"]
    assert used(step(fills="a"), step(), Repeated((step(fills="a"),), True), step("a")) == ["a", "", "a", "a"]


def test_a_branch_may_not_write():
    both = Either(((step(), step(fills="a")), (step(),)))
    assert used(step(fills="a"), both, step("a")) == ["a", "", "a", "a", "a"]


def test_a_conditional_write_outlives_the_iteration():
    body = (step(fills="b"), step("b"), Either(((step(fills="a"),), ())), step())
    assert used(Repeated(body, True), step("a"))[0] == "ab"


def test_branches_share_nothing_with_each_other():
    assert used(Either(((step(fills="a"), step("a")), (step(fills="b"), step("b"))))) == ["a", "a", "b", "b"]


def test_the_fullest_step():
    lives = lifetimes((step(fills="a"), step("a", fills="b"), step("b", fills="c"), step("c")))
    assert lives.fullest({"a": 3, "b": 1, "c": 4}) == {"b", "c"}
    assert lives.fullest({"a": 3, "b": 1, "c": 4}, [0, 1]) == {"a", "b"}
    assert lives.fullest({}) == lives.fullest({"a": 1}, []) == frozenset()
    assert lives.moments == {"a": 0b11, "b": 0b110, "c": 0b1100}


def test_all_that_is_held():
    lives = lifetimes((step(fills="a"), step("a", fills="b"), step("b")))
    assert Held({"x": 5}, {"a": 64, "b": 10}, 128, lives).at_peak() == {"x": 5, "a": 64, "b": 10, "between arrays": 54}
    assert Held({"x": 5}, {}, 0, lives).at_peak() == {"x": 5}


# Random programs, run with each array by itself and with arrays that share room.


def random_steps(draw: random.Random, depth: int = 2) -> Steps:
    return tuple(_node(draw, depth) for _ in range(draw.randint(1, 5)))


def _node(draw: random.Random, depth: int) -> Step | Either | Repeated:
    kind = draw.randint(0, 9) if depth else 9
    if kind == 0:
        return Either((random_steps(draw, depth - 1), random_steps(draw, depth - 1) if draw.random() < 0.5 else ()))
    if kind <= 3:
        return Repeated(random_steps(draw, depth - 1), draw.random() < 0.5)
    chosen = [draw.sample(NAMES, draw.choice((0, 0, 0, 1))) for _ in range(3)]
    return step(*("".join(names) for names in chosen))


def trace(draw: random.Random, steps: Steps) -> Iterator[Step]:
    """The steps of one run."""
    for node in steps:
        if isinstance(node, Step):
            yield node
        elif isinstance(node, Either):
            yield from trace(draw, draw.choice(node.parts))
        else:
            for _ in range(draw.randint(int(node.sure), 3)):
                yield from trace(draw, node.body)


def goes_wrong(steps: Steps, lives: Lifetimes, draw: random.Random) -> bool:
    """Whether some read sees something else when arrays that are never in use at once lie in the same place.

    An array has two elements; a step that does not fill an array writes one of them.
    """
    moments = {n: lives.moments.get(n, 0) for n in NAMES}
    places = pack(dict.fromkeys(NAMES, LINE), moments).offsets
    own: dict[tuple[str, int], object] = {}
    shared: dict[tuple[int, int], object] = {}
    for k, now in enumerate(trace(draw, steps)):
        for name in sorted(now.reads):
            if any((name, e) in own and own[name, e] != shared[places[name], e] for e in (0, 1)):
                return True
        for name in sorted(now.writes):
            for e in (0, 1) if name in now.fills else (k % 2,):
                own[name, e] = shared[places[name], e] = (k, name)
    return False


def examined(change: Callable[[Steps, Lifetimes], Lifetimes]) -> list[int]:
    """The random programs that go wrong with changed lifetimes."""
    bad = []
    for seed in range(1000):
        draw = random.Random(seed)
        steps = random_steps(draw)
        lives = change(steps, lifetimes(steps))
        bad += [seed] if any(goes_wrong(steps, lives, draw) for _ in range(5)) else []
    return bad


def test_no_read_sees_what_another_array_left():
    assert not examined(lambda _, lives: lives)


def test_some_arrays_share():
    shared = 0
    for seed in range(100):
        moments = lifetimes(random_steps(random.Random(seed))).moments
        shared += any(not moments[a] & moments[b] for a in moments for b in moments)
    assert shared > 30


def _where(steps: Steps, names: Callable[[int, Step], frozenset[str]]) -> dict[str, int]:
    return {n: sum(1 << k for k, step in enumerate(steps) if n in names(k, step)) for n in NAMES}


def _as_if_all_writes_filled(steps: Steps, _: Lifetimes) -> Lifetimes:
    def changed(nodes: Steps) -> Steps:
        return tuple(replace(n, fills=n.writes) if isinstance(n, Step) else
                     Either(tuple(map(changed, n.parts))) if isinstance(n, Either) else
                     Repeated(changed(n.body), n.sure) for n in nodes)
    return lifetimes(changed(steps))


def _as_if_loops_always_ran(steps: Steps, _: Lifetimes) -> Lifetimes:
    def sure(nodes: Steps) -> Steps:
        return tuple(Repeated(sure(n.body), True) if isinstance(n, Repeated) else
                     Either(tuple(map(sure, n.parts))) if isinstance(n, Either) else n for n in nodes)
    return lifetimes(sure(steps))


def _as_if_loops_ran_once(steps: Steps, _: Lifetimes) -> Lifetimes:
    def flat(nodes: Steps) -> Steps:
        return tuple(m for n in nodes for m in (flat(n.body) if isinstance(n, Repeated) else
                     (Either(tuple(map(flat, n.parts))),) if isinstance(n, Either) else (n,)))
    return lifetimes(flat(steps))


@pytest.mark.parametrize("wrong", [
    lambda _, lives: replace(lives, moments=_where(lives.steps, lambda k, step: step.touches)),
    lambda _, lives: replace(lives, moments=_where(lives.steps, lambda k, step: lives.used(k) - step.writes)),
    _as_if_all_writes_filled, _as_if_loops_always_ran, _as_if_loops_ran_once],
    ids=["touches", "no dead writes", "fills", "sure loops", "no loops"])
def test_wrong_lifetimes_are_caught(wrong):
    assert examined(wrong)
