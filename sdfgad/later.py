"""Functions whose modules are loaded at the first call: a call of a program in the cache needs no passes.

Where a module names such functions, it imports them for the types, so that what it may know of stays to be seen:

    if TYPE_CHECKING:
        from sdfgad.transform.stages import TRIM
    else:
        TRIM = later("sdfgad.transform.stages", "TRIM")
"""
from __future__ import annotations

from importlib import import_module
from typing import Any

from sdfgad.locks import LOADING


class Later:
    """Stands for what a module has that can be called."""

    def __init__(self, home: str, name: str) -> None:
        self._home, self.__name__ = home, name

    def __call__(self, *args: Any, **keywords: Any) -> Any:
        with LOADING:
            module = import_module(self._home)
        return getattr(module, self.__name__)(*args, **keywords)

    def __repr__(self) -> str:
        return f"<{self._home}.{self.__name__}, loaded when it is called>"


def later(home: str, name: str) -> Any:
    """What has a name in a module, which is loaded when it is called."""
    return Later(home, name)
