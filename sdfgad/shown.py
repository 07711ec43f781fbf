"""How what is made of a function shows itself where somebody prints it."""
from __future__ import annotations


class Shown:
    """What says of itself `<sdfgad.grad of f>`. shown_as: the verb that made it; its name is that of the function."""

    shown_as: str
    __name__: str

    def __repr__(self) -> str:
        return f"<sdfgad.{self.shown_as} of {self.__name__}>"
