"""How often garbage is looked for while programs are made."""
from __future__ import annotations

import gc
import threading
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import sdfgad
from sdfgad.garbage import collecting_rarely
from sdfgad.verbs import pipeline


@pytest.fixture
def before() -> Iterator[tuple[int, int, int]]:
    found = gc.get_threshold()
    gc.set_threshold(701, 11, 12)
    yield gc.get_threshold()
    gc.set_threshold(*found)


def test_it_is_as_before_behind_an_error(before: tuple[int, int, int]) -> None:
    with pytest.raises(KeyError), collecting_rarely():
        assert gc.get_threshold()[0] > before[0]
        raise KeyError
    assert gc.get_threshold() == before


def test_of_two_threads_the_last_one_leaves_it_as_it_was(before: tuple[int, int, int]) -> None:
    entered, leave = threading.Event(), threading.Event()

    def other() -> None:
        with collecting_rarely():
            entered.set()
            leave.wait(10)

    thread = threading.Thread(target=other)
    with collecting_rarely():
        thread.start()
        assert entered.wait(10)
    assert gc.get_threshold()[0] > before[0]
    leave.set()
    thread.join()
    assert gc.get_threshold() == before


def test_who_collects_never_goes_on_so(before: tuple[int, int, int]) -> None:
    gc.set_threshold(0)
    with collecting_rarely():
        assert gc.get_threshold()[0] == 0


def test_what_others_set_meanwhile_stays(before: tuple[int, int, int]) -> None:
    with collecting_rarely():
        gc.set_threshold(900, 5, 5)
    assert gc.get_threshold() == (900, 5, 5)


def test_a_gradient_is_made_so(before: tuple[int, int, int], monkeypatch: pytest.MonkeyPatch) -> None:
    seen, translated = [], pipeline.translated

    def watched(*given: Any) -> Any:
        seen.append(gc.get_threshold()[0])
        return translated(*given)

    def energy(x):
        return np.sum(x * x)

    monkeypatch.setattr(pipeline, "translated", watched)
    sdfgad.grad(energy)(np.ones(3))
    assert seen and min(seen) > before[0]
    assert gc.get_threshold() == before
