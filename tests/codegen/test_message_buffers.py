"""Messages of what is not in one piece go through copies, which stay as they are until the messages are done."""
from __future__ import annotations

import numpy as np
import pytest

from sdfgad.codegen.library_forms import library_forms
from sdfgad.codegen.targets import chosen
from sdfgad.ir.messages import PART, START, is_finish, messages, sent
from sdfgad.ir.program import Lib, Program
from sdfgad.thresholds import changed
from sdfgad.transform.cutting import strips
from sdfgad.transform.cutting.blocks import Distribution, RankGrid
from sdfgad.transform.stages import CLEAN
from tests.support.simulated import serial_gradient


def product(A, B, w):
    C = A @ B
    return np.sum(C * C * w)


@pytest.fixture
def of_a_rank(monkeypatch) -> Program:
    """Columns of a matrix go from each of four ranks to the three others, while something is computed."""
    monkeypatch.setattr(strips, "TOGETHER", 0)
    serial = serial_gradient(product, tuple(np.random.default_rng(0).random((3, 16, 16))), ("A", "B"))
    cut = serial.cut(Distribution(RankGrid((4,)), 1, dict.fromkeys("ABw", (None, 0)), gather=False))
    with changed(points_beside_messages=1):
        return library_forms(chosen().optimised(CLEAN(cut)))


def starts(program: Program) -> list[Lib]:
    return [m for m in messages(program.body) if m.attrs.get(PART) == START]


def test_copies_are_held_until_the_messages_are_done(of_a_rank):
    finishes = [m for m in messages(of_a_rank.body) if is_finish(m)]
    assert starts(of_a_rank)
    for start, finish in zip(starts(of_a_rank), finishes, strict=True):
        under_way = {v.array for v in (*start.ins, *start.outs)}
        assert under_way <= {v.array for v in (*finish.ins, *finish.outs)}


def test_what_goes_to_several_ranks_is_copied_once(of_a_rank):
    views = [v for m in starts(of_a_rank) for v in sent(m)]
    assert len(views) > len(set(views))
