"""NPBench programs: the reference target against the tuned one, and their gradients as graphs that DaCe alone runs."""
from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np
import pytest

import sdfgad
from npbench_suite.kernel import Kernel, load
from tests.codegen.reference.running import as_passed, both_targets, filled, same
from tests.npbench.calls import DIFFERENTIABLE, Arguments, active, direction, sample

QUICK = ("atax", "go_fast", "trisolv")
"""Kernels whose graphs DaCe compiles in the quick part of the suite."""
KERNELS = tuple(DIFFERENTIABLE)
CLOSE = 1e-10
WRONG = frozenset((("trmm", "simplified"), *((n, "optimised") for n in ("trmm", "softmax", "deriche"))))
"""What DaCe 2.0.0b1 makes other results of."""
REFUSED_BY_DACE = frozenset((("syrk", "optimised"), ("syr2k", "optimised")))
"""Where its own rules raise an exception."""


@dataclass(frozen=True)
class Tiny:
    """A kernel at its smallest sample, in double precision, with what its gradient takes."""

    kernel: Kernel
    given: Arguments

    @property
    def options(self) -> dict[str, Any]:
        return {"wrt": active(self.kernel), "output": self.kernel.output, "reduce": "sum"}

    def values(self) -> list[Any]:
        """The arguments anew: some programs change them."""
        return [np.copy(v) if isinstance(v, np.ndarray) else v for v in self.given.values()]


def tiny(name: str) -> Tiny:
    kernel = load(name)
    return Tiny(kernel, sample(kernel, 0, wide=True))


def large(values: Any) -> float:
    """By what errors of these numbers are measured."""
    return max(1.0, float(np.max(np.abs(values), initial=0.0)))


@pytest.mark.slow
@pytest.mark.parametrize("name", KERNELS)
def test_both_targets_agree_in_both_modes(name: str) -> None:
    one = tiny(name)
    plain, found = both_targets(one.kernel.program, *one.values(), **one.options)
    largest = large(np.concatenate([np.ravel(g) for g in gradients(one, plain[1]).values()]))
    same(found, plain, CLOSE, CLOSE * largest)
    pushed, other = (tangents(one, target) for target in ("cpu", "reference"))
    same(other, pushed, CLOSE, CLOSE * large(np.concatenate([np.ravel(t) for t in pushed])))


def gradients(one: Tiny, found: Any) -> dict[str, Any]:
    """By name, also where there is but one."""
    names = one.options["wrt"]
    return dict(found.items()) if len(names) > 1 else {names[0]: found}


def tangents(one: Tiny, target: str) -> list[Any]:
    with sdfgad.config(target=target):
        _, found = sdfgad.jvp(one.kernel.program, one.values(), direction(one.kernel, one.given),
                              output=one.kernel.output)
    return list(found) if isinstance(found, tuple) else [found]


def as_it_is(graph: Any) -> None:
    """One state after the other."""


def simplified(graph: Any) -> None:
    """States merged, what is not needed left out."""
    graph.simplify()


def optimised(graph: Any) -> None:
    """What DaCe does on its own for a processor."""
    dace = pytest.importorskip("dace")
    rules = pytest.importorskip("dace.transformation.auto.auto_optimize")
    rules.auto_optimize(graph, dace.DeviceType.CPU)


CHANGES: Mapping[str, Callable[[Any], None]] = MappingProxyType(
    {change.__name__: change for change in (as_it_is, simplified, optimised)})


@lru_cache(maxsize=1)
def expected(name: str) -> tuple[Any, dict[str, Any]]:
    """Value and gradients of the tuned target, for all graphs of a kernel."""
    one = tiny(name)
    value, grads = sdfgad.value_and_grad(one.kernel.program, **one.options)(*one.values())
    return value, gradients(one, grads)


@contextmanager
def compiled_quickly() -> Iterator[None]:
    dace = pytest.importorskip("dace")
    with dace.config.set_temporary("compiler", "cpu", "args", value="-std=c++20 -fPIC -O0 -w"):
        yield


def check_graph(name: str, change: Callable[[Any], None], folder: Path) -> None:
    one = tiny(name)
    graph = sdfgad.to_sdfg(one.kernel.program, *one.values(), value=True, name=f"grad_{name}", **one.options)
    change(graph)
    graph.validate()
    with compiled_quickly():
        found = filled(graph, {n: as_passed(v) for n, v in one.given.items() if n in graph.arglist()}, folder)
    value, grads = expected(name)
    np.testing.assert_allclose(found.pop("value"), [value], rtol=1e-9)
    assert set(found) == {f"grad_{n}" for n in grads}
    for n, right in grads.items():
        made = found[f"grad_{n}"].reshape(np.shape(right))
        assert made.dtype == np.asarray(right).dtype
        np.testing.assert_allclose(made, right, rtol=1e-8, atol=1e-8 * large(right))


@pytest.mark.parametrize("name", QUICK)
def test_some_graphs(name: str, tmp_path: Path) -> None:
    check_graph(name, as_it_is, tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
@pytest.mark.parametrize("name", KERNELS)
def test_all_graphs(name: str, change: Callable[[Any], None], tmp_path: Path) -> None:
    case = name, change.__name__
    if case in REFUSED_BY_DACE:
        with pytest.raises(NotImplementedError, match="dead connector"):
            check_graph(name, change, tmp_path)
    elif case in WRONG:
        with pytest.raises(AssertionError, match="Not equal to tolerance"):
            check_graph(name, change, tmp_path)
    else:
        check_graph(name, change, tmp_path)
