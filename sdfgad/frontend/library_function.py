"""Functions of NumPy and SciPy that are differentiated alone, as in `grad(np.linalg.norm)`."""
from __future__ import annotations

import inspect
from functools import partial
from typing import Any

import numpy as np

from sdfgad.frontend.numpy_table import FUNCTIONS
from sdfgad.frontend.static.polyfills import POLYFILLS


class LibraryFunction:
    """A function of a library called from one that has a text in Python, which its own may not have or not run."""

    def __init__(self, function: Any) -> None:
        self.function = function
        self.__name__, self.__doc__ = function.__name__, function.__doc__

    def __call__(self, *args: Any, **keywords: Any) -> Any:
        return self.function(*args, **keywords)


class _OfOne(LibraryFunction):

    def __call__(self, x: Any, /, *args: Any, **keywords: Any) -> Any:
        return self.function(x, *args, **keywords)


class _OfTwo(LibraryFunction):

    def __call__(self, x: Any, y: Any, /, *args: Any, **keywords: Any) -> Any:
        return self.function(x, y, *args, **keywords)


def called_from_python(fn: Any) -> Any:
    """The function itself, or a call of it where it is one that has a rule or a body here."""
    if isinstance(fn, partial):
        inner = called_from_python(fn.func)
        return fn if inner is fn.func else partial(inner, *fn.args, **fn.keywords)
    try:
        known = fn in FUNCTIONS or fn in POLYFILLS
    except TypeError:  # what cannot be hashed
        known = False
    if not (known or isinstance(fn, np.ufunc)):
        return fn
    return {1: _OfOne, 2: _OfTwo}.get(_count(fn), LibraryFunction)(fn)


def _count(function: Any) -> int:
    """How many arguments a function needs; 0 where nobody knows."""
    if isinstance(function, np.ufunc):
        return function.nin
    try:
        parameters = inspect.signature(function).parameters.values()
    except ValueError:
        return 0
    return sum(p.default is p.empty and p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD) for p in parameters)
