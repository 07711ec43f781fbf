"""Texts and members of enumerations that data choose."""
from __future__ import annotations

import enum
from collections import defaultdict

import numpy as np
import pytest

import sdfgad
from tests.frontend.checking import check, check_both_modes

X = np.array([0.7, -0.3, 1.2, 0.4, 0.9, -1.1])
LONG = np.sin(np.arange(70.0) + 0.05)
BESIDE = "outside"


class Valve(enum.Enum):
    SHUT = 0
    OPEN = 1
    BROKEN = 2


class Phase(enum.StrEnum):
    LIQUID = "liquid"
    GAS = "gas"


class Plain(enum.Flag):
    NONE = 0
    SOME = 1


def regime(reynolds):
    if reynolds < 0.5:
        return "laminar"
    if reynolds < 1.0:
        return "transition"
    return "turbulent"


def chosen_in_an_expression(x):
    mode = "square" if x[0] > 0 else "negative"
    total = 0.0
    for v in x:
        total += v ** 2 if mode == "square" else -v
    return total


def chosen_in_branches(x):
    mode = "a"
    if x[0] < 0:
        mode = "b"
    elif x[1] < 0:
        mode = "c"
    return {"a": x[0], "b": x[1], "c": x[2]}[mode] ** 2


def returned(x):
    total = 0.0
    for v in x:
        kind = regime(abs(v))
        if kind == "laminar":
            total += v
        elif kind in ("transition", "unknown"):
            total += v ** 2
        else:
            total += v ** 3
    return total


def a_machine_of_states(x):
    state, total = "idle", 0.0
    for v in x:
        if state == "idle":
            if v < 0:
                state = "run"
            total += v
        elif state == "run":
            total += v ** 2
            if v > 0.9:
                state = "idle"
    return total


def members(x):
    valve, total, n = Valve.SHUT, 0.0, 0
    while valve is not Valve.BROKEN:
        if valve is Valve.SHUT:
            valve = Valve.OPEN if x[n] > 0.5 else Valve.SHUT
        elif valve == Valve.OPEN:
            total += x[n] ** 2
        n += 1
        if total > 1 or n >= len(x):
            valve = Valve.BROKEN
    return total


def members_that_are_texts(x):
    phase = Phase.GAS if x[0] > 0 else Phase.LIQUID
    return x[1] * 3 if phase == "gas" else x[2]


def matched(x):
    out = np.zeros(6)
    for k in range(6):
        match regime(x[k]):
            case "laminar" | "transition":
                out[k] = x[k] ** 2
            case "turbulent":
                out[k] = -x[k]
    return out.sum()


def compared_with_each_other(x):
    before, now, total = "a", "b", 0.0
    for v in x:
        if before == now:
            total += v
        elif now != "a":
            total += v * v
        before, now = now, "c" if v > 0.5 else "a"
    return total


def in_an_object(x):
    class Heater:
        def __init__(self):
            self.state = "off"
            self.energy = 0.0

        def step(self, v):
            if self.state == "off" and v > 0.5:
                self.state = "on"
            elif self.state == "on" and v < 0:
                self.state = "off"
            self.energy += v * v if self.state == "on" else v

    heater = Heater()
    for v in x:
        heater.step(v)
    return heater.energy


def none_or_a_text(x):
    method = None
    if x[0] > 0:
        method = "newton"
    return x[1] ** 2 if method is None else x[2] ** 2


def the_truth_of_one(x):
    name = "" if x[0] > 0 else "b"
    other = name or ("c" if x[2] > 1 else "d")
    return x[2] ** 2 if other == "c" else x[1]


def beside_a_number(x):
    best = None
    for name, v in (("a", x[0]), ("b", x[1]), ("c", x[2])):
        if best is None or v > best[1]:
            best = (name, v)
    return best[1] ** 2 if best[0] == "c" else best[1]


def with_one_from_outside(x):
    name = BESIDE if x[0] > 0 else "inside"
    return x[0] ** 2 if name == "outside" else x[1]


PROGRAMS = [chosen_in_an_expression, chosen_in_branches, returned, a_machine_of_states, members,
            members_that_are_texts, matched, compared_with_each_other, in_an_object, none_or_a_text, the_truth_of_one,
            beside_a_number, with_one_from_outside]


@pytest.mark.parametrize("fn", PROGRAMS)
@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_data_choose_among_texts(fn, sign):
    check_both_modes(fn, (sign * X,))


@pytest.mark.parametrize("fn", [a_machine_of_states, members, compared_with_each_other, in_an_object, returned])
def test_long_loops_hand_texts_on(fn):
    check_both_modes(fn, (LONG,))


@pytest.mark.parametrize("fn", [a_machine_of_states, in_an_object])
def test_compiled(fn):
    value, slope = sdfgad.value_and_grad(fn)(LONG)
    step = np.cos(np.arange(70.0))
    assert value == pytest.approx(fn(LONG), rel=1e-13)
    assert slope @ step == pytest.approx((fn(LONG + 1e-6 * step) - fn(LONG - 1e-6 * step)) / 2e-6, rel=1e-5)


def test_a_key_that_is_not_there():
    def program(x):
        return {"a": x[0], "b": x[1]}["a" if x[0] > 0 else "c"]

    assert sdfgad.value_and_grad(program)(X)[0] == X[0]
    with pytest.raises(KeyError):
        sdfgad.value_and_grad(program)(-X)


def a_part_of_a_text(x):
    return x[0] if ("p" if x[0] > 0 else "n") in "xyzp" else x[1]


def an_order_of_texts(x):
    return x[0] if ("p" if x[0] > 0 else "n") < "o" else x[1]


def a_key(x):
    return {"p" if x[0] > 0 else "n": x[0]}["p"]


def the_key_of_get(x):
    return {"p": x[0]}.get("p" if x[0] > 0 else "n", x[1])


def an_attribute(x):
    return getattr(np, "max" if x[0] > 0 else "min")(x)


def an_option(x):
    return np.convolve(x, x, mode="full" if x[0] > 0 else "same").sum()


def a_class(x):
    return x[0] if isinstance("p" if x[0] > 0 else "n", str) else x[1]


def a_length(x):
    return x[0] * len("p" if x[0] > 0 else "nn")


def a_method(x):
    return x[0] if ("p" if x[0] > 0 else "n").upper() == "P" else x[1]


def a_sum(x):
    return x[0] if ("p" if x[0] > 0 else "n") + "q" == "pq" else x[1]


def a_result(x):
    return x[0], "p" if x[0] > 0 else "n"


def a_member_that_is_false(x):
    return x[0] if (Plain.SOME if x[0] > 0 else Plain.NONE) else x[1]


def a_place_in_a_list(x):
    return x[["p" if v > 0 else "n" for v in x].index("n")]


def a_member_by_identity(x):
    return x[0] if (Phase.GAS if x[0] > 0 else Phase.LIQUID) is Phase.GAS else x[1]


@pytest.mark.parametrize("fn", [
    a_part_of_a_text, an_order_of_texts, a_key, the_key_of_get, an_attribute, an_option, a_class, a_length, a_method,
    a_sum, a_result, a_member_that_is_false, a_place_in_a_list, a_member_by_identity])
def test_what_has_to_be_known_is_refused_at_its_line(fn):
    with pytest.raises(sdfgad.UnsupportedError) as found:
        sdfgad.value_and_grad(fn)(X)
    assert found.value.line in (fn.__code__.co_firstlineno, fn.__code__.co_firstlineno + 1)


def test_a_dict_that_makes_its_items_is_written_out():
    """Its keys are known where the loop is."""
    def f(x):
        found = defaultdict(list)
        for k, v in enumerate(x):
            found["even" if k % 2 == 0 else "odd"].append(v * (k + 1))
        total = 0.0
        for name in sorted(found):
            total = total * 2 + np.array(found[name]).mean()
        return total

    check(f, X)
