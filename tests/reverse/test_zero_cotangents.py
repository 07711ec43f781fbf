"""Poles under a zero cotangent count as zero in whatever form they come; infinite operands concern only what meets them
(docs/decisions/0016)."""
from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest

import sdfgad
from sdfgad.frontend import parse
from tests.support.oracle import program_gradient, rebuildable

POLES = ("a", "b", "c", "d", "e")
FACTORS = ("f", "g", "h", "k", "m")


def poles(a, b, c, d, e, W, z):
    s = np.sum(np.sqrt(a) * z)
    s += (np.cbrt(b) @ W) @ z
    for i in range(c.shape[0]):
        for j in range(z.shape[0]):
            s += np.arcsin(c[i]) * W[i, j] * z[j]
    s += np.einsum("i,ij,j->", d ** 0.5, W, z)
    y = np.sqrt(e)
    for _ in range(3):
        y = y * z
    return s + np.sum(y)


def factors(f, g, h, k, m, K, z):
    s = np.sum((f * K[1]) * z)
    s += np.sum((g @ K) * z)
    for i in range(h.shape[0]):
        for j in range(z.shape[0]):
            s += h[i] * K[i, j] * z[j]
    s += np.einsum("i,ij,j->", k, K, z)
    return s + np.sum(np.sum(m[:, None] * K, axis=0) * z)


def pole_data(n: int) -> dict[str, np.ndarray]:
    """Element 1 is a pole whose cotangent is zero: of the sums through W, for which row 1 of W is zero, too."""
    random = np.random.default_rng(n)
    found = {x: random.uniform(0.2, 0.8, n) for x in POLES} | {
        "W": random.uniform(0.5, 1.5, (n, n)), "z": random.uniform(0.5, 1.5, n)}
    for x in POLES:
        found[x][1] = 1.0 if x == "c" else 0.0
    found["W"][1] = 0.0
    found["z"][1] = 0.0
    return found


def pole_slopes(a, b, c, d, e, W, z) -> dict[str, np.ndarray]:
    with np.errstate(divide="ignore"):
        slopes = {"a": 0.5 / np.sqrt(a), "b": 1 / (3 * np.cbrt(b) ** 2), "c": 1 / np.sqrt(1 - c * c),
                  "d": 0.5 / np.sqrt(d), "e": 0.5 / np.sqrt(e)}
    after = {"a": z, "b": W @ z, "c": W @ z, "d": W @ z, "e": z ** 3}
    return {x: np.where(after[x] == 0, 0, np.where(after[x] == 0, 0, slopes[x]) * after[x]) for x in POLES}


def interpreted(function, data: dict[str, np.ndarray], wrt: tuple[str, ...]) -> Iterator[dict[str, np.ndarray]]:
    """Gradients of the program as it is reversed: with everything stored, and with what can be computed again."""
    parsed = parse(function, tuple(data.values()))
    traced = [parsed.traced[x] for x in wrt]
    for chosen in ((), frozenset(rebuildable(parsed.program, traced))):
        held = parsed.collect(tuple(np.array(v) for v in data.values()))
        _, found = program_gradient(parsed.program, held, traced, recompute=frozenset(chosen))
        yield {x: found[t] for x, t in zip(wrt, traced, strict=True)}


@pytest.mark.parametrize("n", [5, 70])
def test_poles_count_as_zero_in_every_form(n: int) -> None:
    data = pole_data(n)
    expected = pole_slopes(**data)
    runs = [dict(sdfgad.grad(poles, wrt=POLES)(**data).items())]
    for found in (*runs, *(interpreted(poles, data, POLES) if n < 10 else ())):
        for x in POLES:
            assert found[x][1] == 0, x
            np.testing.assert_allclose(found[x], expected[x], rtol=1e-11, err_msg=x)


@pytest.mark.parametrize("n", [5, 70])
def test_infinite_operands_concern_what_meets_them(n: int) -> None:
    """One entry of each gradient has a term 0 * inf: it is NaN, or what it is without that. All others are right."""
    random = np.random.default_rng(n)
    data = {x: random.uniform(0.2, 0.8, n) for x in FACTORS} | {
        "K": random.uniform(0.5, 1.5, (n, n)), "z": random.uniform(0.5, 1.5, n)}
    data["K"][1, 2], data["z"][2] = np.inf, 0.0
    finite = np.where(np.isinf(data["K"]), 0, data["K"])
    expected = {x: finite @ data["z"] for x in FACTORS} | {"f": finite[1] * data["z"]}
    found = sdfgad.grad(factors, wrt=FACTORS)(**data)
    for x in FACTORS:
        meets = 2 if x == "f" else 1
        others = np.arange(n) != meets
        np.testing.assert_allclose(found[x][others], expected[x][others], rtol=1e-11, err_msg=x)
        assert np.isnan(found[x][meets]) or np.isclose(found[x][meets], expected[x][meets], rtol=1e-11)
