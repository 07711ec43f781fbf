"""What a point gives to several neighbours is computed once; what is cheap, or read only on one branch, is not."""
from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from sdfgad.analysis.cost import WEIGHTS
from sdfgad.frontend import parse
from sdfgad.ir.expr import Call, Load, call, walk
from sdfgad.ir.index import ix
from sdfgad.ir.program import Array, Map, Program
from sdfgad.ir.walk import statements
from sdfgad.reverse.gather import GatheredTerm
from sdfgad.reverse.shared_terms import keep_shared
from sdfgad.thresholds import changed
from tests.codegen.build_programs import B1, F8, at, index, load, mapped, mul, num, span, store
from tests.support.oracle import numerical_gradient, program_gradient, reversed_program


def limited(x, y):
    """An upwind flux with a limiter: what a face gives to the four cells around it depends on one slope."""
    step = x[2:-1] - x[1:-2]
    behind = np.where(y[1:-2] > 0.0, x[1:-2] - x[:-3], x[3:] - x[2:-1])
    ratio = behind / np.where(np.abs(step) < 1e-20, 1e-20, step)
    part = np.maximum(0.0, np.maximum(np.minimum(1.0, 2.0 * ratio), np.minimum(2.0, ratio)))
    flux = y[1:-2] * 0.5 * (x[2:-1] + x[1:-2]) - np.abs(y[1:-2]) * (1.0 - part) * step
    return np.sum(flux * flux)


def in_rows(x, y):
    """In two directions, in a loop, over a triangle."""
    z = x.reshape(4, 5)
    s = 0.0
    for i in range(1, 4):
        w = np.tanh(z[i, :i] * np.exp(z[i - 1, :i])) * y[i]
        s += np.sum(w * w * np.sin(z[i, 1:i + 1] * z[i - 1, 1:i + 1]))
    return s


def cheap(x, y):
    return np.sum(x[1:] * x[:-1] * y[1:])


def programs() -> dict[str, Callable]:
    return {f.__name__: f for f in (limited, in_rows, cheap)}


def made(fn: Callable) -> tuple[Program, dict[str, np.ndarray]]:
    rng = np.random.default_rng(4)
    given = (rng.standard_normal(20), rng.standard_normal(20))
    parsed = parse(fn, given)
    return parsed.program, parsed.collect(given)


def operations(program: Program) -> int:
    """Of all points of all maps, where those of one map share what they have in common."""
    total = 0
    for stmt in statements(program.body):
        if isinstance(stmt, Map):
            nodes = {n for part in stmt.body for n in walk(part.expr) if isinstance(n, Call)}
            points = int(np.prod([r.trips or 1 for r in stmt.domain]))
            total += points * sum(WEIGHTS.get(n.fn, 1) for n in nodes)
    return total


@pytest.mark.parametrize("name", programs())
def test_gradients_are_those_of_collected_terms_and_of_differences(name: str) -> None:
    program, arrays = made(programs()[name])
    found = []
    for least in (1, 10 ** 9):
        with changed(kept_terms=least):
            found.append(program_gradient(program, arrays, ("x", "y"))[1])
    for n, one in (("x", 0), ("y", 1)):
        np.testing.assert_allclose(found[0][n], found[1][n], rtol=1e-13)
        expected = numerical_gradient(programs()[name], (arrays["x"], arrays["y"]), one)
        np.testing.assert_allclose(found[0][n], expected, rtol=1e-5, atol=1e-6)


def test_a_limiter_is_evaluated_once_per_face() -> None:
    program, _ = made(limited)
    with changed(kept_terms=10 ** 9):
        collected = reversed_program(program, ("x", "y")).program
    kept = reversed_program(program, ("x", "y")).program
    assert operations(kept) < 0.6 * operations(collected)


def test_cheap_terms_are_collected_as_they_are() -> None:
    program, _ = made(cheap)
    assert not [n for n in reversed_program(program, ("x", "y")).program.arrays if "lin" in n]


def test_what_one_branch_alone_reads_is_not_read_ahead() -> None:
    """The branch reads beyond the array where it is not taken: the choice is kept, not what is in it."""
    inside = call("lt", index("i"), index(4), dtype=B1)
    costly = call("exp", call("sin", load("x", ix("i") + 4)))
    stmt = mapped([span("i", 8)], store("g", ["i"], num(0.0)))
    terms = [GatheredTerm("z", at(ix("i") + k), call("select", inside, mul(num(k + 2.0), costly), num(0.0)))
             for k in range(2)]
    filled, changed_terms = keep_shared(stmt, terms, lambda name, shape, dtype: Array(name, shape, dtype), ())
    assert [part.expr.fn for m in filled for part in m.body] == ["select", "select"]
    assert all(isinstance(t.expr, Load) for t in changed_terms)


def test_terms_of_different_arrays_stay_one_statement() -> None:
    """Sums that meet in no element need no array between what they share and themselves."""
    def pairs(x, y):
        apart = x[:, None] - y
        near = np.exp(-apart * apart) * np.sin(apart) / np.sqrt(1.0 + apart * apart)
        return np.sum(np.tanh(near) * np.log(1.0 + near * near))

    program, arrays = made(pairs)
    reversed_, found = reversed_program(program, ("x", "y")).program, program_gradient(program, arrays, ("x", "y"))[1]
    assert not [n for n in reversed_.arrays if "lin" in n]
    bodies = [{p.array for p in s.body} for s in statements(reversed_.body) if isinstance(s, Map)]
    assert {"grad_x", "grad_y"} in bodies
    for n, one in (("x", 0), ("y", 1)):
        expected = numerical_gradient(pairs, (arrays["x"], arrays["y"]), one)
        np.testing.assert_allclose(found[n], expected, rtol=1e-5, atol=1e-6)


def test_neighbours_make_what_differs_by_a_number_of_one() -> None:
    below = call("lt", index("i"), index(4), dtype=B1)
    part = call("div", num(1.0), call("add", call("add", load("x", ix("i") + 4), num(1.0)), load("x", ix("i") + 3)))
    one, other = (call("select", below, e, num(0.0), dtype=F8) for e in (mul(part, load("y", "i")), part))
    twice, thrice = mul(num(2.0), other), mul(other, num(3.0))
    stmt = mapped([span("i", 8)], store("g", ["i"], num(0.0)))
    terms = [GatheredTerm("z", at(ix("i") + k), e) for k, e in enumerate(
        (one, one, one, one, twice, call("neg", twice), thrice, call("neg", thrice)))]
    filled, _ = keep_shared(stmt, terms, lambda name, shape, dtype: Array(name, shape, dtype), ())
    assert [part.expr for m in filled for part in m.body] == [one, other]
