"""An interrupt (Ctrl-C) ends long calls of the main thread, and leaves what they have used as good as before."""
from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import pytest

import sdfgad
from sdfgad.codegen.compiling.threads import listen
from sdfgad.codegen.program import Executable
from sdfgad.thresholds import LEAST, changed

SOON = 3.0
"""Seconds to the end of a call: some milliseconds on a machine that does nothing else."""


def numbers(x, steps):
    s = x[0]
    for _ in range(steps):
        s = np.sin(s) * x[1]
    return s


def until(x, steps):
    s, k = x[0], 0
    while k < steps:
        s = s * x[1] + x[0]
        k += 1
    return s


def rows(x, steps):
    y = np.zeros(8)
    for i in range(8):
        s = x[i]
        for _ in range(steps):
            s = np.sin(s) * 1.01
        y[i] = s
    return np.sum(y)


def field(x, steps):
    x = np.sin(x[:, np.newaxis] * np.linspace(0, 1, 600)[np.newaxis])
    for _ in range(steps):
        x[1:-1, 1:-1] = 0.25 * (x[1:-1, :-2] + x[1:-1, 2:] + x[:-2, 1:-1] + x[2:, 1:-1])
    return np.sum(x * x)


@pytest.fixture(autouse=True)
def usual_handler() -> Iterator[None]:
    """A shell's jobs in the background ignore the signal."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    listen()
    yield
    signal.signal(signal.SIGINT, before)


@contextmanager
def sent_during(monkeypatch: pytest.MonkeyPatch, owner: type, name: str) -> Iterator[list[float]]:
    """A signal a moment after the next call of a method has begun; the time when it is sent."""
    sent, call = list[float](), getattr(owner, name)

    def send() -> None:
        time.sleep(0.1)
        sent.append(time.monotonic())
        os.kill(os.getpid(), signal.SIGINT)

    def called(*args: Any) -> Any:
        monkeypatch.setattr(owner, name, call)
        threads.append(threading.Thread(target=send))
        threads[0].start()
        return call(*args)

    threads = list[threading.Thread]()
    monkeypatch.setattr(owner, name, called)
    yield sent
    threads[0].join()


def verbs(fn: Callable[..., Any]) -> tuple[Callable[..., Any], Callable[..., Any]]:
    return sdfgad.forward(fn), sdfgad.grad(fn, wrt="x")


@pytest.mark.parametrize("fn, size, steps, reverse", [
    (numbers, 2, 100_000_000, False), (until, 2, 1_000_000_000, False), (until, 2, 1_000_000_000, True),
    (rows, 8, 100_000_000, True), (field, 600, 60_000, False)])
def test_a_long_call_ends(monkeypatch: pytest.MonkeyPatch, fn: Callable[..., Any], size: int, steps: int,
                          reverse: bool) -> None:
    """In loops of one thread, in kernels and in teams; the next call is right."""
    x = np.linspace(0.1, 0.9, size)
    call = verbs(fn)[reverse]
    with sdfgad.config(num_threads=2, thread_guard=False):
        with sent_during(monkeypatch, Executable, "_called") as sent, pytest.raises(KeyboardInterrupt):
            call(x, steps)
        assert time.monotonic() - sent[0] < SOON
        again = call(x, 3)
    assert again == pytest.approx(expected(fn, x, 3, reverse), rel=1e-6, abs=1e-8)
    assert np.array_equal(x, np.linspace(0.1, 0.9, size))


def expected(fn: Callable[..., Any], x: np.ndarray, steps: int, reverse: bool) -> Any:
    if not reverse:
        return fn(x.copy(), steps)
    return [(fn(x + e, steps) - fn(x - e, steps)) / 2e-6 for e in 1e-6 * np.eye(len(x))]


def test_a_handler_of_ones_own_finds_the_call_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    """It may only take note, and wants the result."""
    heard = list[int]()
    signal.signal(signal.SIGINT, lambda number, frame: heard.append(number))
    x = np.array([0.1, 0.9])
    with sent_during(monkeypatch, Executable, "_called"):
        found = sdfgad.forward(until)(x, 200_000_000)
    assert found == pytest.approx(1.0) and heard == [signal.SIGINT]


def test_a_call_of_another_thread_goes_on(monkeypatch: pytest.MonkeyPatch) -> None:
    found, over = list[float](), threading.Event()

    def work() -> None:
        found.append(sdfgad.forward(until)(np.array([0.1, 0.9]), 200_000_000))
        over.set()

    with sent_during(monkeypatch, Executable, "_called"), pytest.raises(KeyboardInterrupt):
        threading.Thread(target=work).start()
        time.sleep(100)
    assert over.wait(100) and found == [pytest.approx(1.0)]


@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("between", [1, 20])
def test_looks_change_no_number(between: int, reverse: bool) -> None:
    """Where each iteration of each loop looks, and where some do together."""
    x = np.linspace(0.1, 0.9, 8)
    with changed(heed_work=LEAST.heed_work, heed_between=between):
        for fn in (numbers, until, rows):
            assert verbs(fn)[reverse](x, 7) == pytest.approx(expected(fn, x, 7, reverse), rel=1e-6, abs=1e-8)
