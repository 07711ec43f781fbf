"""Loops read what they would restore where it was kept, if all they look at is there, and nobody misses the copy."""
from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from sdfgad.codegen.cpu.schedule.copies.propagate_kept_copies import propagate_kept_copies
from sdfgad.ir.index import Ix, ix
from sdfgad.ir.program import Block, If, Loop, Map, Program, Range, Stmt
from sdfgad.ir.walk import all_reads, all_writes
from tests.codegen.build_programs import B1, F8, load, mapped, mul, num, program, span, store
from tests.support.oracle import check_same
from tests.support.thresholds import change

N = 6
I, T = ix("i"), ix("t")
FALLING = Range("t", ix(N - 1), ix(0), -1)
SOME = Range("i", ix(0), T)
COPY = mapped([SOME], store("x", (I,), load("a", T, I)))


def use(index: Ix, r: Range = SOME, name: str = "x", row: bool = False) -> Map:
    return mapped([r], store("y", (T,), mul(load(name, *((T,) if row else ()), index), load("b", I)), "+"))


BOTH = mapped([SOME], store("y", (I,), mul(load("x", I), load("x", T - 1 - I)), "+"))


def build(*body: Stmt) -> Program:
    return program(body, {"a": ((N, N), F8), "b": ((N,), F8), "x": ((N,), F8), "y": ((N,), F8)}, {})


def done(*body: Stmt, keep: tuple[str, ...] = ("y",)) -> Program:
    before = build(*body)
    after = propagate_kept_copies(before.but(live_out=frozenset(keep)))
    check_same(before, after, keep=keep)
    return after


@pytest.mark.parametrize("users", [(use(I),), (use(T - 1 - I),), (BOTH,), (use(I), BOTH),
                                   (use(I - 1, Range("i", ix(1), T)),), (use(ix(0)),)],
                         ids=["alike", "from the end", "both", "two maps", "shifted", "the first one"])
@pytest.mark.parametrize("around", [FALLING, span("t", 1, N), span("t", 1, 2)], ids=["falling", "rising", "once"])
def test_nothing_is_restored(users: tuple[Map, ...], around: Range):
    body = done(Loop(around, (COPY, *users))).body
    assert "x" not in all_reads(body) | all_writes(body)


def test_in_parts():
    """What a part begins with is replaced as a whole, so that it shows nothing of the copies."""
    begin = mapped([span("i", N)], store("x", (I,), load("b", I)))
    again = Loop(span("s", N), (mapped([span("i", N)], store("y", (I,), load("x", I), "+")),))
    body = done(Loop(span("part", 2), (begin, again, Loop(FALLING, (COPY, BOTH))))).body
    assert isinstance(body[0], Loop) and body[0].body[:2] == (begin, again)
    assert "x" not in all_reads(body[0].body[2:]) | all_writes(body[0].body[2:])


@pytest.mark.parametrize("body", [
    (Loop(FALLING, (COPY, use(I, Range("i", ix(0), T + 1)))),),
    (Loop(FALLING, (mapped([Range("i", ix(1), T)], store("x", (I,), load("a", T, I))), use(I))),),
    (Loop(FALLING, (COPY, mapped([SOME], store("x", (I,), mul(load("x", I), num(2.0)))), use(I))),),
    (Loop(FALLING, (COPY, use(I + 1))),),
    (Loop(FALLING, (COPY, use(T - I))),),
    (Loop(FALLING, (COPY, use(ix(1)))),),
    (Loop(FALLING, (use(I), COPY, use(I))),),
    (Loop(FALLING, (COPY, mapped([span("i", 1)], store("x", (I,), num(2.0))), use(I))),),
    (Loop(FALLING, (COPY, mapped([span("i", N)], store("a", (T, I), num(2.0))), use(I))),),
    (Loop(FALLING, (COPY, Loop(span("s", 2), (use(I),)))),),
    (Loop(FALLING, (COPY, If(num(True, B1), (use(I),), ()))),),
    (Loop(FALLING, (COPY, use(I))), mapped([span("i", N)], store("y", (I,), load("x", I), "+"))),
    (Loop(FALLING, (mapped([SOME], store("x", (I,), load("a", T, I), "+")), use(I))),),
    (Loop(FALLING, (COPY,)), use(ix(0), span("i", 1), "x").__class__((), (store("y", (0,), load("x", 0), "+"),))),
], ids=["one more", "one less", "changed by itself", "shifted out",
        "from behind the end", "the second one", "before", "changed", "source changed",
        "inside a loop", "in a branch", "looked at afterwards", "a sum", "only afterwards"])
def test_what_is_needed_stays(body: Block):
    assert done(*body).body == body


def test_a_parallel_loop_looks_at_the_source_and_keeps_its_own_copy():
    loop = replace(Loop(FALLING, (COPY, use(I))), parallel=True, private=("x",))
    (made,) = done(loop).body
    assert isinstance(made, Loop) and made.private == ("x",) and made.body == (COPY, use(I, name="a", row=True))


def test_results_stay():
    body = (Loop(FALLING, (COPY, use(I))),)
    assert done(*body, keep=("x", "y")).body == body


def test_large_copies_stay(monkeypatch: pytest.MonkeyPatch):
    change(monkeypatch, restored_bytes=8)
    body = (Loop(FALLING, (COPY, use(I))),)
    assert done(*body).body == body


WIDE = N + 3
INNER = span("i", WIDE - 2)
PUT_BACK = mapped([INNER], store("z", (I + 1,), load("r", T, I)))
AROUND = mapped([INNER], store("w", (I,), mul(load("z", I + 2), load("z", I)), "+"))


def with_rims(*body: Stmt, behind: Block = (), **shapes: tuple[int, ...]) -> tuple[Program, Program]:
    """A program that records the inner part of an array, and what becomes of it; the results are alike."""
    written = mapped([span("s", N), INNER], store("r", (ix("s"), I), mul(load("c", I), load("c", ix("s")))))
    arrays = {"c": (WIDE,), "w": (WIDE,), "y": (WIDE,), "z": (WIDE,), "r": (N, WIDE - 2)} | shapes
    start = mapped([span("i", WIDE)], store("z", (I,), load("c", I)))
    given, own = ({n: (s, F8) for n, s in arrays.items() if (n in "rz") == mine} for mine in (False, True))
    made = program([start, written, Loop(FALLING, body), *behind], given, own).but(live_out=frozenset("wy"))
    after = propagate_kept_copies(made)
    check_same(made, after, keep="wy")
    return made, after


def test_a_record_has_what_is_around_it(monkeypatch: pytest.MonkeyPatch):
    """It is indexed as the array is, which is not restored, and both ends of it are filled up where they are read."""
    change(monkeypatch, record_rims=1)
    again = mapped([INNER], store("y", (I,), load("z", I + 1), "+"))
    _, after = with_rims(PUT_BACK, AROUND, again)
    assert after.arrays["r"].shape == (N, WIDE)
    loop = after.body[-1]
    assert isinstance(loop, Loop) and "z" not in all_writes(loop.body) and len(loop.body) == 4
    assert all("z" not in all_reads((s,)) for s in loop.body[2:])


@pytest.mark.parametrize(("body", "options"), [
    ((AROUND, PUT_BACK, AROUND), {}),
    ((PUT_BACK, AROUND, mapped([span("i", 1)], store("z", (I,), num(2.0)))), {}),
    ((PUT_BACK, AROUND, mapped([INNER], store("r", (T, I), num(2.0)))), {}),
    ((PUT_BACK, AROUND, mapped([INNER], store("y", (I,), load("r", T, I), "+"))), {}),
    ((PUT_BACK, AROUND), {"behind": (mapped([INNER], store("y", (I,), load("z", I), "+")),)}),
    ((PUT_BACK, Loop(span("s", 2), (AROUND,))), {}),
    ((PUT_BACK, AROUND), {"r": (N, WIDE - 1)}),
    ((mapped([INNER], store("z", (I + 1,), load("r", T, ix(WIDE - 3) - I))), AROUND), {}),
    ((mapped([INNER], store("z", (I + 1,), load("r", T, I), "+")), AROUND), {}),
], ids=["looked at before", "changed", "record changed", "record read", "looked at afterwards", "inside a loop",
        "not all of the record", "backwards", "a sum"])
def test_records_stay_as_they_are(monkeypatch: pytest.MonkeyPatch, body: Block, options: dict[str, Any]):
    change(monkeypatch, record_rims=1)
    before, after = with_rims(*body, **options)
    assert after.arrays["r"].shape == before.arrays["r"].shape and after.body[-1] == before.body[-1]


def test_large_rims_stay(monkeypatch: pytest.MonkeyPatch):
    change(monkeypatch, record_rims=WIDE)
    before, after = with_rims(PUT_BACK, AROUND)
    assert after.arrays["r"].shape == before.arrays["r"].shape and after.body[-1] == before.body[-1]
