"""Lists that `while` loops make longer, parts of lists whose length data decide, and calls that need more room."""
from __future__ import annotations

import linecache
from collections import deque
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import sdfgad
from sdfgad.errors import LengthsDiffer, UnsupportedError
from sdfgad.frontend import parse
from sdfgad.rooms import ListOutgrown, rooms
from sdfgad.thresholds import changed
from tests.frontend.checking import check, check_both_modes
from tests.frontend.programs import Case, collector

X = np.array([0.7, 1.3, 0.4])
CASES: list[Case] = []
case = collector(CASES)


@case(X)
def residuals(x):
    history, y, r, it = [], x.copy(), 1.0, 0
    while r > 1e-3 and it < 100:
        new = 0.5 * np.cos(y) + 0.1 * x
        r = np.sqrt(np.sum((new - y) ** 2))
        history.append(r)
        y = new
        it += 1
    return np.sum(np.array(history)) + history[-1] * len(history) + max(history) - min(history) + sum(history[-3:])


@case(X)
def until_it_lands(x):
    h, v, t = x[0] + 1, x[1], 0.0
    log = {"t": [t], "h": [h], "state": [(h, np.stack([v, h]))]}
    while h > 0:
        v, h, t = v - 0.05, h + 0.05 * v, t + 0.05
        log["t"].append(t)
        log["h"].append(h)
        log["state"].append((h, np.stack([v, h])))
    s = sum(a * b[0] for a, b in log["state"][1:])
    ts, hs = np.array(log["t"]), np.array(log["h"])
    return s + np.trapezoid(hs ** 2, ts) + np.sum((ts[1:] - ts[:-1]) * (hs[1:] + hs[:-1])) + np.trapezoid(log["h"], ts)


@case(X)
def rows_of_a_trajectory(x):
    states, y = [x], x
    while True:
        y = y * 0.8 + 0.01 * np.sin(y)
        states.append(y)
        if np.sum(y ** 2) < 0.1:
            break
    back = np.zeros(3)
    for k in range(len(states) - 1, -1, -1):
        back = 0.9 * back + states[k]
    a = np.stack(states)
    s = np.sum(back ** 2) + np.sum(a[1:] * a[:-1]) + np.sum(np.vstack(states)[-1])
    return s + np.sum(np.linalg.norm(a, axis=1))


@case(X)
def asked_in_the_loop(x):
    seen, s = [x[0]], 0.0
    while len(seen) < 30 and seen[-1] > 0.05:
        seen.append(seen[-1] * 0.8)
        s += sum(seen[-3:]) + np.mean(np.array(seen)) * len(seen[1:])
        if len(seen) > 3:
            s += seen[-4]
    return s


@case(X)
def loops_in_loops(x):
    out, sums, t = [], [], 0.0
    while t < 1.0:
        y, inner = x[0], []
        while y > 0.2:
            inner.append(y)
            out.append(y * t)
            y = y * (0.7 - 0.1 * t)
        for k in range(3):
            out.append(x[k] * t)
        sums.append(sum(inner))
        t += 0.3
    for i in range(3):
        while x[i] + len(out) < 40:
            out.append(x[i])
    return np.sum(np.array(sums) ** 2) + np.sum(np.array(out) ** 2) + len(out)


@case(X)
def of_two_phases(x):
    seen, y = [], x[0]
    same = seen
    while y > 0.3:
        seen.append(y)
        y = y * 0.8
    before, behind = seen[:], seen[1:]
    same.append(x[1])
    for k in range(4):
        seen.append(y * k)
    while y > 0.1:
        seen.extend([y * y, y])
        y = y * 0.8
    return len(before) * x[1] + len(same) * x[2] + sum(seen) + sum(before) * sum(behind) + same[-1]


@case(X)
def rates(x):
    steps, y = [], x[0]
    while True:
        new = 0.5 * np.cos(y) + 0.1 * x[1]
        steps.append(abs(new - y))
        y = new
        if steps[-1] < 1e-4:
            break
    s = sum((b - a) ** 2 for a, b in zip(steps[:-1], steps[1:], strict=False))
    a = np.array(steps)
    return s + np.mean([b / a for a, b in zip(steps[:-1], steps[1:], strict=False)]) + np.sum(np.cumsum(a)) + a @ a + \
        np.sum(np.diff(a) / a[1:]) + np.sum(a[::-1] * a) + np.max(np.abs(np.diff(a)))


@case(X)
def in_a_function(x):
    def solve(y):
        found = []
        while abs(y * y - x[1]) > 1e-9:
            found.append(abs(y * y - x[1]))
            y = 0.5 * (y + x[1] / y)
        return y, found

    y, found = solve(x[0])
    z, others = solve(x[2])
    return y + found[0] * len(found) + z * others[-1] + len(others)


@case(X)
def a_stack(x):
    """Adaptive quadrature; what has been taken from a list stays what it was, whatever is put in its place."""
    def simpson(a, b):
        return (b - a) / 6 * sum(w * np.sin(x[0] * t * 8) * x[1] for w, t in ((1, a), (4, (a + b) / 2), (1, b)))

    left, total, steps = [(0.0, 1.0 + x[2])], 0.0, 0
    while left:
        a, b = left.pop()
        m, steps = (a + b) / 2, steps + 1
        parts = simpson(a, m) + simpson(m, b)
        if abs(parts - simpson(a, b)) < 1e-5:
            total += parts
        else:
            left.append((a, m))
            left.append((m, b))
    path, s = [x[0], x[1]], 0.0
    while len(path) < 6 and s < 10:
        seen, last = path[-1], path.pop()
        path.append(5.0 * last * x[2])
        s += seen * last + path[-1] + np.sum(np.array(path))
        path.append(seen)
    return total * steps + s + sum(path)


@case(np.concatenate([X, -X, np.sin(np.arange(1.0, 81.0))]))
def one_of_two(x):
    above, below, inside = [], [], []
    for value in x:
        (above if value > 0 else below).append(value * value)
        inside.append(value)
        x[0] = 0.01 * np.sum(np.array(inside)) + x[1]
    return sum(above) * 2 + sum(below) * len(above) + x[0]


@case(X)
def as_long_as_a_list(x):
    h = [x[0] + 1]
    while len(h) < 300 and abs(h[-1]) > 1e-4:
        h.append(h[-1] * 0.5)
    a, t = np.array(h), np.arange(len(h)) * 0.1
    slope, _ = np.polyfit(np.arange(len(h)), np.array(h), 1)
    return np.sum(a * t) + np.dot(a, np.ones(len(h))) + np.sum(np.full(len(a), 2.0) * a + np.zeros(len(h))) + slope


@case(np.sin(np.arange(1.0, 81.0)))
def as_long_as_two_lists(w):
    h, g = [], []
    for k in range(80):
        (h if w[k] > 0 else g).append(w[k] ** 2)
    return np.sum(np.array(h) * np.arange(len(h))) + np.sum(np.array(g) * np.arange(len(g), dtype=float) / len(g))


@pytest.mark.parametrize("fn, arguments", CASES, ids=[c[0].__name__ for c in CASES])
def test_program(fn: Callable[..., Any], arguments: tuple[Any, ...]) -> None:
    check_both_modes(fn, arguments)


def test_single_precision_and_integers() -> None:
    def program(x):
        seen, places, y, k = [], [], x[0], 1
        while y > 0.1:
            seen.append(y)
            places.append(k)
            y, k = y * np.float32(0.8), k + 2
        return np.sum(np.array(seen)) + seen[-1], x[places[-1] % 3], np.array(places)[-1]

    check(program, X.astype(np.float32))


PARTS = ("v[2:]", "v[-3:]", "v[:-2]", "v[:4]", "v[::2]", "v[::-1]", "v[-4:-1]", "v[1:-1]", "v[5:1:-1]", "v[-2::-2]",
         "v[7:]", "v[m:]", "v[-m:]", "v[m:m + 3]", "v[300:]", "v[3:2]", "v[:0]")


@pytest.mark.parametrize("count", (0, 1, 3, 9))
@pytest.mark.parametrize("part", PARTS)
def test_parts(part: str, count: int) -> None:
    text = f'''
def program(x):
    v, y = [], x[0]
    while y > 0.1:
        v.append(y * y)
        y = y - 0.1
    m = 2 if len(v) > 4 else 1
    total = 0.0
    for i, value in enumerate({part}):
        total += value * (i + 1)
    part = {part}
    return total + len(part) * x[1] + sum(part) * 2 + (np.sum(np.array(part) ** 2) if len(part) else 0.0)
'''
    name, names = f"<part {part}>", {"np": np}
    linecache.cache[name] = (len(text), None, text.splitlines(True), name)
    exec(compile(text, name, "exec"), names)
    check_both_modes(names["program"], (np.array([count * 0.1 + 0.05, 1.3, 0.4]),))


def relaxed(x, tolerance):
    steps, y, r = [], x.copy(), 1.0
    while r > tolerance:
        new = y - 0.1 * (y - 0.5 * np.cos(y) - 0.1 * x)
        r = np.sqrt(np.sum((new - y) ** 2))
        steps.append(r)
        y = new
    return np.sum(np.array(steps)) + steps[-1] * len(steps) + y[0]


def _differences(tolerance: float) -> np.ndarray:
    step = 1e-6 * np.eye(3)
    return np.array([(relaxed(X + h, tolerance) - relaxed(X - h, tolerance)) / 2e-6 for h in step])


@pytest.fixture
def little_room():
    rooms().clear()
    with changed(list_room=4):
        yield
    rooms().clear()


def test_a_call_that_needs_more_room_begins_again(little_room: None) -> None:
    gradient, value = sdfgad.grad(relaxed, wrt="x"), sdfgad.forward(relaxed)
    for tolerance in (0.5, 1e-2, 1e-4, 1e-2):  # the second and third are calls like the one before
        np.testing.assert_allclose(gradient(X, tolerance), _differences(tolerance), rtol=1e-5)
        np.testing.assert_allclose(value(X, tolerance), relaxed(X, tolerance), rtol=1e-12)
    out, pullback = sdfgad.vjp(lambda x: relaxed(x, 1e-6), X)
    np.testing.assert_allclose(pullback(1.0), _differences(1e-6), rtol=1e-5)
    _, pushed = sdfgad.jvp(lambda x: relaxed(x, 1e-7), (X,), (X,))
    np.testing.assert_allclose(pushed, _differences(1e-7) @ X, rtol=1e-5)


def test_what_cannot_begin_again_has_room_in_the_next_call(little_room: None) -> None:
    gradient = sdfgad.grad(relaxed, wrt="x", donate=["x"])
    with pytest.raises(ListOutgrown, match="SG306.*room of 4"):
        gradient(X.copy(), 1e-2)
    np.testing.assert_allclose(gradient(X.copy(), 1e-2), _differences(1e-2), rtol=1e-5)


def test_a_limit_is_kept(little_room: None) -> None:
    def program(x):
        seen, y = [x], x
        while np.max(y) > 1e-3:
            y = y * 0.8 + 1e-5 * np.sin(y) * x
            seen.append(y)
        return np.sum(np.stack(seen) ** 2) + np.sum(seen[-1])

    x = np.linspace(0.1, 1.0, 500)
    wanted = sdfgad.grad(program)(x)
    used = sdfgad.grad(program).measure(x).measured.peak_bytes
    limited = sdfgad.grad(program, memory_limit=used)
    np.testing.assert_allclose(limited(x), wanted, rtol=1e-12)
    assert limited.measure(x).measured.peak_bytes <= used


def test_lengths_that_differ() -> None:
    def program(x):
        first, second, y = [], [], x[0]
        while y > 0.1:
            first.append(y)
            if y > x[1]:
                second.append(y)
            y = y * 0.8
        return np.sum(np.array(first) * np.array(second))

    call = sdfgad.forward(program)
    np.testing.assert_allclose(call(np.array([1.0, 0.0])), program(np.array([1.0, 0.0])))
    with pytest.raises(LengthsDiffer), np.errstate(all="ignore"):
        call(np.array([1.0, 0.4]))


def test_nothing_left_to_take() -> None:
    def program(x):
        left = [x[0]]
        while x[1] > 0 or left[-1] > 1:
            left.pop()
        return left[-1]

    with pytest.raises(IndexError, match="pop from empty list"):
        sdfgad.forward(program)(X)


def updated_since(x):
    seen, u = [], x.copy()
    while u[0] > 0.1:
        u *= 0.8
        seen.append(u)
    return seen[0][0]


def item_updated(x):
    seen, u = [], x.copy()
    while u[0] > 0.1:
        u = u * 0.8
        seen.append(u.copy())
    for part in seen[-2:]:
        part *= 2
    return seen[-1][0]


def arrays_taken(x):
    left, s = [x], 0.0
    while left:
        u = left.pop()
        s += np.sum(u * u)
        if u[0] > 0.2:
            left.append(u * 0.5)
    return s


@pytest.mark.parametrize("program, what", [(updated_since, "has been updated in place since"),
                                           (item_updated, "which a list holds")])
def test_refused(program: Callable[..., Any], what: str) -> None:
    with pytest.raises(UnsupportedError, match=what):
        parse(program, (X,))


def at_its_begin(x):
    h = []
    for v in x:
        h.insert(0, v * v)
    return np.sum(np.array(h) * x)


def at_the_left(x):
    h = deque()
    for v in x:
        h.appendleft(v * v)
    return np.sum(np.array(h) * x)


@pytest.mark.parametrize("fn", (at_its_begin, at_the_left))
def test_items_put_at_the_begin(fn: Callable[..., Any]) -> None:
    """A list that a long loop makes longer may not turn into one of known items there."""
    check(fn, np.linspace(0.1, 1.4, 6))
    with pytest.raises(UnsupportedError, match="a list changed inside a loop or branch, which makes it longer"):
        parse(fn, (np.linspace(0.1, 1.4, 100),))
