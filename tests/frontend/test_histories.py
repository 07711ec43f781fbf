"""Lists of what loops have seen, wherever they are kept, windows that fill up, and deques."""
from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field
from types import SimpleNamespace

import numpy as np
import pytest

import sdfgad
from sdfgad.frontend import parse
from tests.frontend.checking import check
from tests.frontend.programs import Case, collector

N = 70
W = np.sin(np.arange(N) * 1.7) + 0.2
U = np.array([0.5, 1.25, 0.75, -1.0, 0.3])
CASES: list[Case] = []
case = collector(CASES)


@dataclass
class Recorder:
    x: float = 0.0
    trace: list = field(default_factory=list)

    def step(self, v):
        self.x = 0.9 * self.x + np.sin(v)
        self.trace.append(self.x)
        return self


class Filter:
    def __init__(self, n):
        self.taken = deque([0.0] * n, maxlen=n)

    def __call__(self, v):
        self.taken.appendleft(v)
        return sum(c * b for c, b in zip([0.5, 0.3, 0.2], self.taken, strict=True))


def noted(history, v, k=1):
    history.append(v**2 * k)
    return len(history)


@case(W)
def of_an_object(w):
    r = Recorder()
    for v in w:
        r.step(v)
    first = np.array(r.trace)
    for v in w:
        r.step(v * r.trace[0]).trace.append(v)
    r.trace += [w[0], w[1]]
    return first, np.array(r.trace) * np.arange(3 * N + 2), r.trace[-1]


@case(W)
def under_two_names(w):
    a, b = Recorder(), Recorder()
    b.trace = seen = a.trace
    for v in w:
        a.step(v)
        b.step(a.x)
        seen.append(v)
    return np.array(seen), len(a.trace), b.trace[3]


@case(W, U)
def of_a_dict(w, u):
    log = {"u": [], "e": [[0.0]]}
    for i in range(N):
        u = np.sin(u) + w[i]
        log["u"].append(u)
        log["e"][0].append(np.sum(u))
        if i % 10 == 3:
            log["e"][0].extend([w[i], 1.0])
    return np.stack(log["u"]), np.array(log["e"][0])


@case(W)
def given_to_functions(w):
    inner, given = [], [w[3]]
    count = 0

    def note(v):
        inner.append(v * 2)

    for i in range(N):
        note(w[i])
        count += noted(given, w[i], k=2)
    return np.array(inner), np.array(given), count


@case(W)
def called_now_and_then(w):
    r = Recorder()
    for i in range(N):
        if i % 10 == 3:
            r.step(w[i])
    return np.array(r.trace)


@case(W)
def in_nested_loops(w):
    log = {"a": [], "b": []}
    for i in range(3):
        for j in range(N):
            log["a"].append(w[j] * i)
        log["b"].append(w[i])
    return np.array(log["a"]), np.array(log["b"])


@case(W)
def begun_by_the_first_iteration(w):
    o = SimpleNamespace(found=[], before=None)
    smooth = []
    for v in w:
        if o.before is not None:
            o.found.append(v - o.before)
        o.before = v
        smooth.append(0.5 * smooth[-1] + v if smooth else v)
    return np.array(o.found), np.array(smooth)


@case(W, U)
def windows_that_fill_up(w, u):
    xs, last, total = [], [], 0.0
    for v in w:
        last = ([v] + last)[:3]
        xs.append(np.cos(u) * 0.5)
        if len(xs) > 3:
            xs.pop(0)
        u = sum(xs) / len(xs) + 0.01 * v
        total += last[0] * last[-1]
    return u, total, np.array(last)


@case(W, U)
def deques_of_a_fixed_length(w, u):
    steps, f, means = deque([u, 2 * u, 3 * u], maxlen=3), Filter(3), []
    recent = deque(maxlen=4)
    for v in w:
        steps.append(0.3 * steps[-1] + 0.2 * steps[-2] + 0.1 * steps[0] + f(v))
        recent.append(v)
        means.append(sum(recent) / len(recent))
    return steps[-1], steps[0], np.array(means), len(recent), recent.maxlen, list(recent)


@case(W)
def both_ends_of_a_deque(w):
    h = deque([w[0], w[1], w[2]])
    total = 0.0
    for v in w:
        first = h.popleft()
        h.append(np.sin(first) + v)
        h.rotate(1)
        total += h[-1] * h[0]
    g = deque(h, maxlen=3)
    g.extendleft([w[4], w[5]])
    k = g.copy()
    k.append(w[6])
    return total, g[0], k[0], isinstance(g, deque), isinstance(g, list), np.array(g)


@pytest.mark.parametrize("program, given", CASES, ids=lambda v: getattr(v, "__name__", ""))
def test_as_in_numpy(program, given):
    check(program, *given)


def names_that_swap(w):
    a, b = [], []
    for v in w:
        a.append(v)
        b.append(v**2)
        a, b = b, a
    return np.array(a)


def in_a_tuple(w):
    found = []
    pair = (found, 1.0)
    for v in w:
        found.append(v)
    return np.array(pair[0])


def when_data_say_so(w):
    r = Recorder()
    for v in w:
        if v > 0:
            r.step(v)
    return np.array(r.trace)  # its length depends on the data


def a_deque(w):
    return deque([w[0]])


@pytest.mark.parametrize("program, says", [
    (names_that_swap, "changes its shape or type"), (in_a_tuple, "longer or shorter"),
    (when_data_say_so, "selected by a mask"), (a_deque, "a deque as a return value")],
    ids=lambda v: getattr(v, "__name__", ""))
def test_refused(program, says):
    with pytest.raises(sdfgad.UnsupportedError, match=says):
        parse(program, (W,), {})


def tracked(w):
    r, recent = Recorder(), deque(maxlen=3)
    total = 0.0
    for v in w:
        r.step(v)
        recent.append(r.x)
        total += recent[0] * recent[-1]
    return np.sum(np.array(r.trace) ** 2) + total


def test_gradients():
    sdfgad.check_grads(tracked, W)
