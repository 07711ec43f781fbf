"""What native code holds is known before it is generated, to the byte."""
from __future__ import annotations

import threading

import numpy as np
import pytest

import sdfgad
from sdfgad.calls.arguments import bind
from sdfgad.codegen.cpu.footprint import footprint
from sdfgad.errors import MemoryLimitError
from sdfgad.thresholds import RowLimits
from sdfgad.verbs.pipeline import Request, derive
from tests.support.thresholds import change

SQUARE = np.eye(100) * 4 + np.arange(1e4).reshape(100, 100) / 1e4
ROWS = np.linspace(0.0, 1.0, 600 * 700).reshape(600, 700)


def inverse(a):
    return np.sum(np.linalg.inv(a) ** 2)


def cube(a):
    return np.sum(a[::2, ::2] @ a[::-2, ::-2])


def shares(x):
    e = np.exp(x - np.max(x, axis=1)[:, None])
    s = e / np.sum(e, axis=1)[:, None]
    return np.sum(s * s)


def spectrum(x):
    return np.sum(np.abs(np.fft.fft(x)) ** 2)


def spectra(x):
    return np.sum(np.abs(np.fft.fft(x)) ** 2)


def ordered(x):
    return np.sum(np.sort(x) * np.arange(x.size))


def histogram(x):
    return np.sum(np.histogram(x, bins=8, weights=x * x)[0] ** 2)


def ensemble(x):
    s, i, r = 0.9 * x[3], 0.1 * x[3], 0.0 * x[3]
    for _ in range(200):
        new, old = x[0] * s * i / (s + i + r + 1.0), x[1] * i
        s = s - 0.01 * new + 0.01 * x[2] * r
        i = i + 0.01 * (new - old)
        r = r + 0.01 * old - 0.01 * x[2] * r
    return np.sum(i * i)


def grown(x):
    y = x * 1.5
    while np.max(y) < 50.0:
        y = y + 0.5 * y * y + 1e-9 * x[::-1]
    return np.sum(y)


@pytest.mark.parametrize(("fn", "argument"), [
    (inverse, SQUARE), (cube, SQUARE), (shares, ROWS), (spectrum, np.linspace(0.0, 1.0, 512)),
    (spectrum, np.linspace(0.0, 1.0, 499)), (spectra, ROWS), (ordered, ROWS[0, ::-1].copy()),
    (ordered, np.sin(np.arange(700.0))), (ordered, np.sin(np.arange(700.0, dtype=np.float32))),
    (histogram, ROWS.reshape(-1)), (ensemble, ROWS[100:116].reshape(4, -1))],
    ids=["inverse", "packed", "rows", "small factors", "large factors", "side by side", "sort", "digits",
         "short digits", "partial sums", "rooms"])
def test_the_footprint_is_what_is_measured(fn, argument):
    bound = bind(fn, (argument,), {})
    made = derive(fn, bound, Request((next(iter(bound.leaves)),), reduce="sum"))
    with sdfgad.config(num_threads=2):
        assert made.measured(bound).program == footprint(made.program, made.keep).bytes(2)


def test_parts_of_a_footprint():
    bound = bind(shares, (ROWS,), {})
    made = derive(shares, bound, Request(("x",), reduce="sum"))
    found = footprint(made.program, made.keep)
    assert found.stack > 0 and found.bytes(4) - found.bytes(2) == 2 * found.stack
    assert not set(found.own) & {*made.program.arguments, *made.keep}


def test_private_arrays_that_a_small_stack_does_not_hold_lie_in_a_room_of_each_thread(monkeypatch):
    """Half a megabyte is all that some systems give a thread; records of a strip would take most of it."""
    change(monkeypatch, rows=RowLimits())
    x, found = ROWS[100:116].reshape(4, -1), []
    bound = bind(ensemble, (x,), {})
    made = derive(ensemble, bound, Request(("x",), reduce="sum"))
    held = footprint(made.program, made.keep)
    assert 0 < held.stack <= RowLimits().stack < held.room
    with sdfgad.config(num_threads=1):
        gradient = sdfgad.grad(ensemble)
        expected = gradient(x)
        before = threading.stack_size(1 << 19)
        try:
            caller = threading.Thread(target=lambda: found.append(gradient(x)))
            caller.start()
        finally:
            threading.stack_size(before)
        caller.join()
    np.testing.assert_array_equal(found[0], expected)
    with sdfgad.config(num_threads=2):
        np.testing.assert_array_equal(gradient(x), expected)
    sdfgad.check_grads(ensemble, x)


def test_growable_tapes_are_not_in_it():
    bound = bind(grown, (ROWS[0],), {})
    made = derive(grown, bound, Request(("x",), reduce="sum"))
    held = made.measured(bound).program - footprint(made.program, made.keep).bytes(1)
    assert held >= made.compiled().tape_peak > 0


def test_memory_the_system_does_not_have_is_an_error():
    def far(x):
        t = np.zeros(1 << 46)
        for k in range(3):
            t[k * x.size:(k + 1) * x.size] = t[k] + x * x
        return np.sum(t[:3] * x[:3])

    x = np.ones(8)
    bound = bind(far, (x,), {})
    made = derive(far, bound, Request(("x",), reduce="sum"))
    with pytest.raises(MemoryLimitError, match="not available"):
        made.measured(bound)
