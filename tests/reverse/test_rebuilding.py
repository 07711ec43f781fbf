"""Values made again from other values that are made again."""
from __future__ import annotations

import numpy as np
import pytest

import sdfgad
from npbench_suite import kernel as suite
from sdfgad.calls.arguments import bind
from sdfgad.testing import check_grads
from sdfgad.verbs.pipeline import Request, derive

KERNEL = suite.load("nbody")
"""Distances are cheap, and their powers are made from them; positions are overwritten in each step."""
DISTANCES, POWERS = ("dx", "dy", "dz"), ("inv_r3",)


@pytest.mark.parametrize("asked", [DISTANCES, POWERS, DISTANCES + POWERS, ("dx", "inv_r3_1_1")], ids="-".join)
def test_what_is_made_again_is_not_recorded_beside(asked):
    bound = bind(KERNEL.program, tuple(KERNEL.initialize(**KERNEL.sizes("S")).values()), {})
    choice = derive(KERNEL.program, bound, Request(KERNEL.wrt, output=KERNEL.output, reduce="sum")).choice
    able = frozenset(k.name for k in choice.emit(frozenset(), {}, frozenset()).made.kept if k.recomputable)
    chosen = frozenset(n for n in able if n.startswith(asked))
    made = choice.emit(chosen, {}, frozenset())
    names = [k.name for k in made.made.kept]
    assert chosen and len(names) == len(set(names))
    assert made.peak == sum(made.finished.held.at_peak().values())
    if asked == DISTANCES + POWERS:
        assert not [k for k in made.made.kept if k.array in chosen and not k.again]


@pytest.mark.parametrize("percent", [60, 15])
def test_limits_are_kept_where_values_are_made_again(percent):
    args = KERNEL.initialize(**KERNEL.sizes("S")).values()
    request = {"wrt": KERNEL.wrt, "output": KERNEL.output, "reduce": "sum"}
    plan = sdfgad.grad(KERNEL.program, **request).plan(*args)
    least = plan.outlook.floor_bytes
    limit = least + (plan.predicted.peak_bytes - least) * percent // 100
    found = sdfgad.grad(KERNEL.program, **request, memory_limit=limit).measure(*args)
    assert {"dx_2", "inv_r3_1_1"} & {n for n, how in found.decisions.items() if how == "recompute"}
    assert found.measured.peak_bytes == found.predicted.peak_bytes <= limit


def pairs(x, scale):
    near, far = x * 1.0, np.concatenate((x, x))
    total = 0.0
    for shift in range(1, 4):
        for i in range(5):
            dx, dy = far[i + shift] - far[i], near[i] - far[i + shift] ** 2
            dz = near[i] * far[i + shift] - near[i]
            squares = dx**2 + dy**2 + dz**2
            total += scale * (dz * (squares + 0.1) ** -1.5) * near[i]
            inverse = 1.0 / np.sqrt(squares)  # noqa: F841 (a second reader of the squares)
    return total


def test_values_stay_cheap_where_one_that_they_are_made_of_is_kept():
    # dz is kept for each pair; what reads it then reads three arrays in place of two.
    x = np.linspace(0.3, 1.1, 5)
    found = sdfgad.grad(pairs, wrt=("x",))(x, 2.0).x
    for k in range(5):
        step = np.eye(5)[k] * 1e-6
        slope = (pairs(x + step, 2.0) - pairs(x - step, 2.0)) / 2e-6
        assert abs(found[k] - slope) < 1e-7


def rotated(angles, points):
    """Each piece of `t` is cheap to make of scalars, and no longer by the same rule once those have versions."""
    out = np.zeros(angles.shape[1])
    for k in range(angles.shape[1]):
        a, b = np.sin(angles[0, k]), np.cos(angles[1, k])
        c, d = np.sin(angles[2, k]), np.cos(angles[3, k])
        t = np.zeros(4)
        t[0] = a * b - c * d
        t[1] = a * d
        t[2] = b * c
        t[3] = b * d
        for i in range(points.shape[0]):
            x, y = points[i] * t[0] + t[1], points[i] * t[2] + t[3]
            out[k] += x * x * y * points[i]
    return out


def test_what_is_cheap_of_scalars_is_made_again_when_they_have_versions():
    angles, points = np.linspace(0.1, 1.2, 12).reshape(4, 3), np.linspace(0.3, 1.1, 5)
    gradient = sdfgad.grad(rotated, wrt=("angles", "points"), reduce="sum")
    assert gradient.plan(angles, points).decisions["t"] == "recompute"
    assert check_grads(rotated, angles, points, reduce="sum").ok


def projected(image, angles):
    """x is cheap to make of the cosine, which is kept for nothing else; where the cosine is made again, so is x."""
    out = np.zeros(3)
    for k in range(3):
        c = np.cos(angles[k])
        for s in range(4):
            x = 1.2 + (s - 1.5) * c
            i = int(x)
            if 0 <= i < 3:
                out[k] += (1 - x + i) * image[i] + (x - i) * image[i + 1]
    return np.sum(out**2)


def test_what_is_needed_by_nothing_but_what_is_made_again():
    args = np.linspace(0.3, 1.2, 4), np.linspace(0.2, 0.8, 3)
    with pytest.raises(sdfgad.MemoryLimitError) as refused:
        sdfgad.grad(projected, memory_limit=16)(*args)
    least = sdfgad.grad(projected, memory_limit=refused.value.minimum_bytes)(*args)
    for name, expected in sdfgad.grad(projected)(*args).items():
        np.testing.assert_allclose(least[name], expected, rtol=1e-13)
