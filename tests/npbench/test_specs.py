"""Shapes without data: the same as the real arguments have, for any size, in no memory."""
from __future__ import annotations

import numpy as np
import pytest

from npbench_suite.kernel import load, names
from npbench_suite.specs import Shape, shapes

# Too slow for a test: it draws matrices until one has full rank.
every_kernel = pytest.mark.parametrize("name", sorted(set(names()) - {"gramschmidt"}))
SMALL = {"N": 12, "M": 10, "NI": 5, "NJ": 6, "NK": 7, "H": 32, "W": 32, "nnz": 9, "npt": 10, "K": 3, "R": 2}


def sizes(name: str) -> dict[str, object]:
    """Sizes of preset S, the larger ones made small."""
    return {n: SMALL.get(n, min(v, 8) if isinstance(v, int) else v) for n, v in load(name).sizes("S").items()}


@every_kernel
def test_shapes_are_those_of_the_data(name: str) -> None:
    kernel, chosen = load(name), sizes(name)
    real, seen = kernel.initialize(**chosen), shapes(kernel, chosen)
    assert list(seen) == list(real)
    for argument, value in real.items():
        if isinstance(value, np.ndarray):
            assert isinstance(seen[argument], Shape)
            assert (seen[argument].shape, seen[argument].dtype) == (value.shape, value.dtype)
        else:
            assert seen[argument] == value and type(seen[argument]) is type(value)


@pytest.mark.parametrize("name", names())
def test_the_largest_sizes_take_no_memory(name: str) -> None:
    kernel = load(name)
    for preset in ("L", "paper"):
        assert list(shapes(kernel, kernel.sizes(preset)))


def test_the_module_of_a_kernel_is_left_alone() -> None:
    kernel = load("gemm")
    shapes(kernel, kernel.sizes("S"))
    assert isinstance(kernel.initialize(4, 5, 6)["A"], np.ndarray)


def test_operations_follow_numpy() -> None:
    single, double = Shape((3, 1), np.float32), Shape((1, 4))
    assert (single * 2.0).dtype == np.float32
    assert (single + double).shape == (3, 4) and (single + double).dtype == np.float64
    assert (double % 2 == 0).dtype == bool
    with pytest.raises(NotImplementedError):
        np.add.reduce(double)
