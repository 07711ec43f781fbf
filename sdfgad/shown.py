"""What all that is made of functions has in common: how it shows itself, and that it may be a method."""
from __future__ import annotations

from types import MethodType
from typing import Any


class Shown:
    """What says of itself `<sdfgad.grad of f>`. shown_as: the verb that made it; its name is that of the function."""

    shown_as: str
    __name__: str

    def __repr__(self) -> str:
        return f"<sdfgad.{self.shown_as} of {self.__name__}>"

    def __get__(self, instance: Any, owner: type | None = None) -> Any:
        """As a method, like a function: the object is the first argument."""
        return self if instance is None else MethodType(self, instance)  # type: ignore[arg-type]
