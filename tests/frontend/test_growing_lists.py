"""Lists that long loops make longer: their items become rows of arrays, or the program is refused."""
from __future__ import annotations

import numpy as np
import pytest

import sdfgad
from sdfgad.frontend import parse
from tests.frontend.checking import check
from tests.frontend.programs import Case, collector

N = 70
U = np.array([0.5, 1.25, 0.75, -1.0, 0.3])
CASES: list[Case] = []
case = collector(CASES)


@case(U)
def numbers_and_places(u):
    energies, times = [], []
    for t in range(N):
        u = u * 0.99 + 0.01 * np.sin(u)
        energies.append(np.sum(u**2))
        times.append(t)
    return np.array(energies) * np.array(times), len(energies), energies[3], energies[-1], max(energies), sum(times)


@case(U)
def a_state_made_of_the_last_two(u):
    states = [np.zeros(5), u]
    for i in range(2, N):
        states.append(0.5 * states[i - 1] + 0.1 * states[-2] + 0.01 * u)
    return np.stack(states), np.stack(states, axis=1), np.mean(states, axis=0), states[5:9], states[::-3][1]


@case(U)
def an_item_changed(u):
    states = []
    for _t in range(N):
        states.append(u * 2)
    states[3][0] = 1.0
    return np.sum(np.array(states))


@case(U)
def copies_of_what_changes_in_place(u):
    states = []
    for _t in range(N):
        u[1:-1] = u[1:-1] + 0.1 * (u[2:] - 2 * u[1:-1] + u[:-2])
        states.append(u.copy())
    total = 0.0
    for k, state in enumerate(states):
        total += k * np.sum(state**3)
    return total, np.concatenate(states), np.vstack(states), np.hstack(states)


@case(U)
def names_bound_anew(u):
    before, after = [], [u]
    for _t in range(N):
        before.append(u)
        u = 0.9 * u + 0.1 * np.cos(u)
        after.append(u)
    return np.array(before), np.array(after)


@case(U)
def names_that_take_turns(u):
    seen, a, b = [], u * 1.0, u * 2.0
    for _t in range(N):
        seen.append(a)
        a, b = b * 0.5, a
    return np.array(seen), a, b


@case(U)
def tuples_and_lists_of_items(u):
    orbit, table, x, v = [], [], u[0], u[1]
    for t in range(N):
        v = v - 0.01 * x
        x = x + 0.01 * v
        orbit.append((x, v))
        row = []
        for j in range(3):
            row.append(u[j] * t)
        table.append(row)
    total = sum([x * v for x, v in orbit])
    return total, np.array(orbit), np.array(table), table[7][1], orbit[-1]


@case(U)
def loops_in_loops(u):
    found = [0.0]
    for i in range(N):
        for j in range(65):
            found.append(found[-1] * 0.9 + u[j % 5] * 0.01)
        found.append(u[3] * i)
    return np.array(found), len(found)


@case(U)
def one_loop_after_another(u):
    found = []
    for i in range(N):
        found.append(u[i % 5] * i)
    for i in range(N):
        found += [u[i % 3], 2.0 * i]
    found.append(3.0)
    found[1] = u[0]
    other = found
    other.pop()
    return np.array(found), len(other), sum(found + [u[1]])


@case(U)
def every_tenth(u):
    states, times = [u], []
    for t in range(5, 237):
        u = u * 0.99 + 0.001 * np.sin(u * t)
        if t % 10 == 0 and t > 50:
            states.append(u)
            times.append(0.1 * t)
    return np.array(states), np.array(times)


@case(U)
def at_the_end_of_every_period_and_of_the_loop(u):
    ends, fifths = [], []
    for t in range(100):
        u[1:] = u[1:] * 0.99 + 0.001 * np.sin(u[:-1] * t)
        if (t + 1) % 7 == 0:
            ends.append(u.copy())
        if t % 14 == 5 or t == 99:
            fifths.append(np.sum(u))
    return np.array(ends), np.array(fifths)


@case(U)
def not_at_first(u):
    late, even, odd = [], [], []
    for t in range(90):
        if t >= 20:
            late.append(u[t % 5] * t)
        if not t % 2:
            even.append(u[0] * t)
        else:
            odd.append(u[1] * t)
    return np.array(late), np.dot(np.array(even), np.array(odd))


@case(U)
def from_a_helper(u):
    def run(u):
        found = []
        for _i in range(N):
            u = u * 0.99 + 0.01
            found.append(u[1])
        return found

    return np.dot(np.array(run(u)), np.array(run(2 * u)))


@case(U)
def lists_that_stay_as_they_are(u):
    notes, table, verbose = ["begin"], [[u[0]]], False
    for t in range(N):
        u = u * 0.99
        if verbose:
            notes.append("step")
            table.append([u[t % 5]])
    notes.append("end")
    table[0].append(u[1])
    return u, len(notes), table


@case(U)
def long_comprehensions(u):
    lines = [np.sin(x) * u for x in np.linspace(0, 1, N)]
    pairs = [(line[0], i * u[1]) for i, line in enumerate(lines)]
    largest = max(u[k % 5] * k for k in range(N))
    return np.array(lines), np.array(pairs), sum([a * b for a, b in pairs]), largest, [x for x in u for _k in range(2)]


@case(U)
def sizes_in_a_long_list(u):
    sizes = [k // 20 + 1 for k in range(N)]
    weights = [0.5**k for k in range(N)]
    found = np.zeros(sizes[-1])
    found[: sizes[30]] = u[: sizes[30]] * weights[3]
    return found, np.sum(np.array(weights) * sizes[40])


@pytest.mark.parametrize("program, arguments", CASES, ids=[c[0].__name__ for c in CASES])
def test_program(program, arguments):
    check(program, *arguments)


def held_by_a_list(u):
    states, w = [], u * 1.0
    for _t in range(N):
        w[0] = w[0] * 0.5
        states.append(w)
    return np.sum(np.array(states))


def another_name_changed(u):
    states, w = [], u * 1.0
    first = w
    for _t in range(N):
        states.append(w)
        w = w * 0.9
    first[0] = 7.0
    return np.sum(np.array(states))


def the_next_iteration_changes_it(u):
    states, before = [], u * 1.0
    for _t in range(N):
        before[0] = 1.0
        after = before * 0.9
        states.append(after)
        before = after
    return np.sum(np.array(states))


def a_name_that_got_it_later(u):
    states, w, v = [], u * 1.0, u * 2.0
    for _t in range(N):
        v[1] = 2.0
        states.append(w)
        v = w
        w = w * 0.9
    return np.sum(np.array(states))


def changed_behind_the_loop(u):
    states, before = [], u * 1.0
    for _t in range(N):
        after = before * 0.9
        states.append(after)
        before = after
    before[0] = 1.0
    return np.sum(np.array(states)) + np.sum(before)


def a_part_of_an_array(u):
    states = []
    for _t in range(N):
        states.append(u[1:3])
        u[2] = u[2] * 0.9
    return np.sum(np.array(states))


def an_item_made_longer_later(u):
    found, row = [], [u[0], u[1]]
    for _t in range(N):
        found.append(row)
    row.append(u[2])
    return found[0]


def now_and_then(u):
    found = []
    for t in range(N):
        if u[t % 5] > 0:
            found.append(u[t % 5])
    return np.sum(np.array(found))


def of_other_kinds(u):
    found = [u]
    for t in range(N):
        found.append(u[t % 5])
    return found[1]


def an_item_not_there_yet(u):
    found = []
    for t in range(N):
        found.append(u[t % 5])
        u[0] = found[t + 1]
    return u


@pytest.mark.parametrize("program, says", [
    (held_by_a_list, "updated in place since"), (another_name_changed, "updated in place since"),
    (the_next_iteration_changes_it, "which a list holds"), (a_name_that_got_it_later, "which a list holds"),
    (changed_behind_the_loop, "which a list holds"),
    (a_part_of_an_array, "updated in place since"), (an_item_made_longer_later, "a list changed"),
    (now_and_then, "a list changed"), (of_other_kinds, "of another kind"),
    (an_item_not_there_yet, "not be there yet")], ids=lambda v: getattr(v, "__name__", ""))
def test_what_a_copy_could_be_told_from_is_refused(program, says):
    with pytest.raises(sdfgad.UnsupportedError, match=says):
        parse(program, (U,), {})


def history(u, steps):
    states, energies = [u], []
    for t in range(steps):
        u = states[-1] + 0.1 * np.sin(np.roll(states[-1], 1))
        states.append(u)
        if t % 5 == 0:
            energies.append(np.sum(u**2))
    return np.sum(np.stack(states)[::3] ** 2) + np.dot(np.array(energies), np.arange(len(energies)))


@pytest.mark.parametrize("limit", [None, "12kB"])
def test_gradients(limit):
    sdfgad.check_grads(history, U, 100)
    found = sdfgad.grad(history, memory_limit=limit)(U, 100)
    np.testing.assert_allclose(found, sdfgad.grad(history)(U, 100), rtol=1e-12)
