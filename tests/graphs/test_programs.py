"""Programs of DaCe and the same in NumPy: equal values and gradients, by the reference interpreter."""
from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from sdfgad.analysis.elements.cover import of_one_call
from sdfgad.analysis.verify import verify
from sdfgad.frontend import Parsed, parse
from sdfgad.frontend.graphs.function import GraphFunction, as_function
from sdfgad.frontend.graphs.reading import read
from sdfgad.ir.verify import SOURCE
from tests.graphs import of_arrays, of_elements
from tests.graphs.pairs import Pair
from tests.support.oracle import program_gradient
from tests.support.point_loops import run


def _results(parsed: Parsed, pair: Pair) -> tuple[Any, dict[str, np.ndarray]]:
    """Value and gradients by all floating arguments."""
    given = {n: np.array(v) for n, v in parsed.collect(pair.arguments).items()}
    program = parsed.program
    if pair.output is not None:
        program = program.but(returns=program.arrays[parsed.traced[pair.output]].whole)
    value = run(program, {n: v.copy() for n, v in given.items()})
    wrt = [n for n, v in given.items() if v.dtype.kind in "fc"]
    return value, program_gradient(program, given, wrt)[1]


@pytest.mark.parametrize("pair", of_elements.PAIRS + of_arrays.PAIRS, ids=lambda p: p.name)
def test_a_program_and_its_twin(pair: Pair) -> None:
    check_twin(as_function(pair.program), pair)


def check_twin(function: GraphFunction, pair: Pair) -> None:
    """AssertionError unless a graph and the program in NumPy have the same values and gradients."""
    found = read(function, pair.arguments, {})
    found = replace(found, program=of_one_call(found.program))
    verify(found.program, "read", SOURCE, thorough=True)
    (value, grads), (expected, others) = _results(found, pair), _results(parse(pair.twin, pair.arguments), pair)
    close = 1e-5 if any(np.asarray(a).dtype == np.float32 for a in pair.arguments) else 1e-12
    for one, other in zip(_each(value), _each(expected), strict=True):
        np.testing.assert_allclose(one, other, rtol=close)
    assert grads.keys() == others.keys()
    for name, gradient in grads.items():
        np.testing.assert_allclose(gradient, others[name], rtol=close, atol=close, err_msg=name)


def _each(value: Any) -> tuple[Any, ...]:
    return value if isinstance(value, tuple) else (value,)
