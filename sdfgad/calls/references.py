"""How what the verbs make is pickled and copied: by the name of the function, as functions are.

What was compiled stays behind: another process finds it in the cache on disk.
"""
from __future__ import annotations

import sys
from collections.abc import Callable
from functools import reduce
from typing import Any


def reduced(made: Any, again: Callable[..., Any], options: Any) -> str | tuple[Any, ...]:
    """What `__reduce__` of something made from the function `made.fn` says; `again(fn, options)` makes it anew.

    A decorated function is what its module holds under its name. Of one that is made from it, or beside it, the
    function itself has to be found there.
    """
    name = vars(made).get("__qualname__", "")
    held = _held(vars(made).get("__module__"), name)
    if held is made:
        return str(name)
    # The function that a decorator has taken the name of is found through what the decorator made.
    return again, (held if getattr(held, "fn", None) is made.fn else made.fn, options)


def bound_again(instance: Any, name: str) -> Any:
    """A decorated method of an object."""
    return getattr(instance, name)


def of_method(made: Any, name: str) -> tuple[Any, ...]:
    """What `__reduce__` of a decorated method of an object says."""
    return bound_again, (made.fn.__self__, name)


def _held(module: Any, name: str) -> Any:
    """What a module holds under a name with dots."""
    return reduce(lambda owner, part: getattr(owner, part, None), name.split("."), sys.modules.get(module)) \
        if module else None
