"""Statements that can be undone exactly, and some that look like it, for random programs."""
from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

from tests.programs.text import N, Text
from tests.programs.writer import (
    SIMPLE,
    assign_element,
    assign_scalar,
    assign_slice,
    bounded,
    index,
    scalar,
    sources,
    vector,
)

START = ("q = np.arange(5)", "o = np.argsort(y)", "n = 1", "g = 7", "odd = True")
"""Integers and truths at hand: an index array, a permutation, a counter, a generator of random numbers, a flag."""
USES = (f"x[q % {N}]", f"y[n % {N}]", f"A[g % {N}]", f"x[(n + g) % {N}]", "y[o]", "np.where(odd, x, y)")


def count(t: Text) -> None:
    """A new value of a counter, a generator or a flag, and a use of it."""
    t.line(t.any_of(("n += 1", f"n = n + ind[{index(t)}]", "n = 3 - n", f"n = (n + 1) % {N}", "n -= 2", "n *= 2",
                     "n //= 2", "g = (5 * g + 3) % 16", "g = (16807 * g) % 2147483647", "g = (6 * g + 1) % 16",
                     "g += n", "n = n + g", "odd = not odd", "n = n + n % 2")))
    use(t)


def renumber(t: Text) -> None:
    """New values of the index array, and a use of it."""
    t.line(t.any_of(("q += 1", "q[1:] = q[1:] + 2", "q ^= 3", "q[:] = 4 - q", "q[::2] += n", "q[1:] += q[0]",
                     "q[q < 3] += 1", "q[:] = np.where(odd, q + 2, q)", "q *= 3", "q[:] = q[::-1].copy()",
                     "q[o] += 1", f"q[n % {N}] += 1", "q = q + ind", "q[:] = q[ind]", "q[1:] = q[:-1] + 1")))
    use(t)


def use(t: Text) -> None:
    value = bounded(t, f"{t.any_of(USES)} * {vector(t, 1)}")
    t.line(f"{t.any_of(t.vectors)}{t.any_of(('[:] =', ' +='))} {value}")


def exchange(t: Text) -> None:
    """Copies that lose nothing, or a little."""
    v, w = t.any_of(t.vectors), t.any_of(t.vectors)
    i, j = t.any_of((f"n % {N}", index(t))), t.any_of((f"g % {N}", index(t)))
    for line in t.any_of((
            (f"held = {v}.copy()", f"{v}[:] = {w}", f"{w}[:] = held"), (f"{v}[{i}], {v}[{j}] = {v}[{j}], {v}[{i}]",),
            (f"held = A[{i}].copy()", f"A[{i}] = A[{j}]", f"A[{j}] = held"),
            (f"{v}[:] = np.roll({v}, {t.any_of('1243')})",),
            (f"{v}[:] = {v}[::-1].copy()",), (f"{v}[:] = {v}[o]",), (f"{v}[:] = {v}[ind]",), ("A[:] = A.T.copy()",),
            (f"held = {v}.copy()", f"{v}[:] = {w}"), (f"held = A[:, {i}].copy()", f"A[:, {i}] = A[:, {j}]",
                                                   f"A[:, {j}] = {v}", f"{v}[:] = held"),
            (f"{v}[1:] = {v}[:-1].copy()",), (f"{v} = np.roll({v}, 1)",), (f"held = {v}[{i}]", f"{v}[{i}] = {w}[{j}]",
                                                                           f"{w}[{j}] = held"))):
        t.line(line)
    t.line(f"{t.any_of(t.scalars)} += {bounded(t, scalar(t))} * {t.any_of(t.vectors)}[{i}]")


KEPT = tuple(s for s in SIMPLE if s in (assign_element, assign_scalar, assign_slice))


KINDS = (count, renumber, exchange, count, renumber, exchange, *KEPT)


def bookkeeping() -> st.SearchStrategy[Any]:
    return sources(KINDS, START)
