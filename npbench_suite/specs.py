"""The arguments of a program as shapes and dtypes, for any sizes, without the memory of the data.

`initialize` runs with stand-ins for arrays: an operation on them gives the shape and dtype that NumPy would give, and
no numbers.

    field(lambda i, j: i * j / N, N, N) + 1    ->    Shape((N, N), float64)
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from types import FunctionType, SimpleNamespace
from typing import Any

import numpy as np

from npbench_suite.kernel import Arguments, Kernel


class Shape(np.lib.mixins.NDArrayOperatorsMixin):
    """An array without its numbers."""

    def __init__(self, shape: int | Sequence[int], dtype: Any = np.float64) -> None:
        self.shape = (int(shape),) if isinstance(shape, int | np.integer) else tuple(int(n) for n in shape)
        self.dtype = np.dtype(dtype)

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **options: Any) -> Shape:
        if method != "__call__" or options:
            raise NotImplementedError(f"{ufunc.__name__} of arrays without numbers")
        single = ufunc(*(np.ones(1, x.dtype) if isinstance(x, Shape) else x for x in inputs))
        return Shape(np.broadcast_shapes(*(np.shape(x) if not isinstance(x, Shape) else x.shape for x in inputs)),
                     single.dtype)

    def __setitem__(self, index: Any, value: Any) -> None:
        """Numbers make no difference."""

    def astype(self, dtype: Any) -> Shape:
        return Shape(self.shape, dtype)

    def copy(self) -> Shape:
        return self


class _Draws:
    """A generator of random shapes."""

    def random(self, size: Any, dtype: Any = np.float64) -> Shape:
        return Shape(size, dtype)

    def uniform(self, low: float, high: float, size: Any) -> Shape:
        return Shape(size)

    def integers(self, low: int, high: int, size: Any, dtype: Any = np.int64) -> Shape:
        return Shape(size, dtype)


class _NumPy:
    """NumPy, but for what makes large arrays."""

    zeros = ones = staticmethod(Shape)
    random = SimpleNamespace(default_rng=lambda seed: _Draws())
    linalg = SimpleNamespace(matrix_rank=lambda a: min(a.shape))

    def __getattr__(self, name: str) -> Any:
        return getattr(np, name)

    @staticmethod
    def full(shape: Any, value: Any) -> Shape:
        return Shape(shape, np.asarray(value).dtype)

    @staticmethod
    def arange(stop: int) -> Shape:
        return Shape(stop, np.int64)

    @staticmethod
    def indices(shape: Sequence[int], dtype: Any = np.int64) -> list[Shape]:
        return [Shape(shape, dtype) for _ in shape]

    @staticmethod
    def triu_indices(n: int, k: int) -> None:
        return None

    @staticmethod
    def fill_diagonal(a: Shape, value: float) -> None:
        return None


_STAND_INS: Mapping[str, Any] = {
    "np": _NumPy(),
    "field": lambda formula, *shape: Shape(shape),
    "seeded": _Draws,
    "uniform32": lambda rng, *shape: Shape(shape, np.float32),
    "complex_uniform": lambda rng, *shape: Shape(shape, np.complex128),
    "spd_initial": lambda n: Shape((n, n)),
}


def shapes(kernel: Kernel, sizes: Mapping[str, Any]) -> Arguments:
    """The arguments for some sizes by name; arrays as `Shape`."""
    made = _with_stand_ins(kernel.initialize)(**sizes)
    return {name: Shape(v.shape, v.dtype) if isinstance(v, np.ndarray) else v for name, v in made.items()}


def _with_stand_ins(initialize: Callable[..., Arguments]) -> Callable[..., Arguments]:
    """The function with other names in its module; the module itself stays as it is."""
    assert isinstance(initialize, FunctionType)
    known = initialize.__globals__
    if "scipy" in known:
        # Sparse matrices are small, and their shape is a matter of their numbers.
        return initialize
    replaced = {n: v for n, v in _STAND_INS.items() if n in known}
    return FunctionType(initialize.__code__, {**known, **replaced}, initialize.__name__, initialize.__defaults__)
