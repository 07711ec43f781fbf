"""Functions that stand for other ones, and are translated in a way of their own."""
from __future__ import annotations

from collections.abc import Callable
from functools import update_wrapper
from typing import Any


class ReplacedFunction:
    """What a call of `function` goes through instead of it."""

    function: Callable[..., Any]

    def stand_for(self, function: Callable[..., Any]) -> None:
        """Take its place and its names, but nothing that belongs to it as an object."""
        self.function = function
        update_wrapper(self, function, updated=())

    def __call__(self, *args: Any, **keywords: Any) -> Any:
        raise NotImplementedError
