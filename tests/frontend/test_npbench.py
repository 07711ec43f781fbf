"""Every benchmark program gives NumPy's results on random arguments."""
from __future__ import annotations

import copy
from importlib.util import find_spec

import numpy as np
import pytest

from npbench_suite.kernel import load, names
from tests.frontend.checking import check

NAMES = [n for n in names() if find_spec(f"npbench_suite.kernels.{n}") is not None]


@pytest.mark.parametrize("name", NAMES)
def test_kernel(name: str) -> None:
    kernel = load(name)
    arguments = kernel.sample(np.random.default_rng(5), 0)
    check(kernel.program, *copy.deepcopy(list(arguments.values())), rtol=1e-9)
