"""Matrices of tangent programs, as the reference interpreter makes them: nothing is compiled."""
from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from sdfgad.calls.arguments import Bound, bind
from sdfgad.ir.interpret import returned, run
from sdfgad.plans.request import Request
from sdfgad.verbs.pushforwards import Pushed, bent, pushed


def first_derivative(fn: Callable[..., Any], args: Sequence[Any], wrt: Sequence[str]) -> tuple[Pushed, Bound]:
    """The tangent program of a function, and the call."""
    bound = bind(fn, tuple(args), {})
    return pushed(fn, bound, tuple(wrt)), bound


def second_derivative(fn: Callable[..., Any], args: Sequence[Any], wrt: Sequence[str]) -> tuple[Pushed, Bound]:
    """The tangent program of a gradient."""
    bound = bind(fn, tuple(args), {})
    return bent(fn, bound, Request(tuple(wrt), None, None), tuple(wrt)), bound


def matrix(made: Pushed, bound: Bound) -> np.ndarray:
    """The derivatives of all results, one below the other, along each element of the directions."""
    program, returns, names = made.tangent()
    given = {c: np.array(bound.leaves[leaf], program.arrays[c].dtype) for leaf, c in made.parsed.traced.items()
             if c in program.arrays}
    tangents = {leaf: names[c] for leaf, c in made.directions.items()}
    columns = []
    for leaf, name in tangents.items():
        for k in range(np.size(bound.leaves[leaf])):
            along = {t: np.zeros(program.arrays[t].shape) for t in tangents.values() if t in program.arrays}
            if name in along:
                along[name].flat[k] = 1.0
            memory: dict[str, np.ndarray] = {}
            run(program, {**{n: v.copy() for n, v in given.items()}, **along}, memory)
            found = returned(returns, memory)
            columns.append(np.concatenate([np.ravel(r) for r in (found if isinstance(found, tuple) else (found,))]))
    return np.stack(columns, axis=-1)
