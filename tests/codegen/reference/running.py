"""Running graphs by DaCe alone, and programs by the reference target."""
from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

import sdfgad


def filled(graph: Any, given: Mapping[str, Any], folder: Path, calls: int = 2) -> dict[str, np.ndarray]:
    """What a graph puts into the arguments that are not given; garbage lies there before each call."""
    graph.build_folder = str(folder / graph.name)
    code = graph.compile()
    for _ in range(calls):
        held = {n: as_passed(given[n]) if n in given else np.full(d.shape, 7, d.dtype.type)
                for n, d in graph.arglist().items()}
        before = {n: v.copy() for n, v in held.items()}
        code(**held)
        for name in given:
            np.testing.assert_array_equal(held[name], before[name], err_msg=f"{name} has changed")
    return {n: v for n, v in held.items() if n not in given}


def as_passed(value: Any) -> np.ndarray:
    """Numbers are arrays of one element."""
    held = np.array(value, order="C")
    return held if held.shape else np.full(1, held)  # DaCe takes no views


def both_targets(fn: Callable[..., Any], *args: Any, **options: Any) -> tuple[Any, Any]:
    """What `value_and_grad` gives for either target."""
    plain = sdfgad.value_and_grad(fn, **options)(*args)
    with sdfgad.config(target="reference"):
        return plain, sdfgad.value_and_grad(fn, **options)(*args)


def same(found: Any, expected: Any, rtol: float = 1e-11, atol: float = 1e-11) -> None:
    """Whether numbers, arrays or gradients agree."""
    if hasattr(expected, "keys"):
        assert list(found.keys()) == list(expected.keys())
        found, expected = list(found.values()), list(expected.values())
    if isinstance(expected, (tuple, list)):
        assert len(found) == len(expected)
        for one, other in zip(found, expected, strict=True):
            same(one, other, rtol, atol)
        return
    np.testing.assert_allclose(found, expected, rtol=rtol, atol=atol)
    assert np.asarray(found).dtype == np.asarray(expected).dtype
