"""What is known of an application: how to call it, what to differentiate, at which sizes."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

Arguments = dict[str, Any]
Size = Mapping[str, Any]


@dataclass(frozen=True)
class Application:
    """One program of application size.

    `program` is plain NumPy and returns a float. `arguments` takes a size by keyword and returns the program's
    arguments by name, in their order; every call makes fresh arrays. `wrt` names the arguments to differentiate.
    sizes: "tiny" is checked against differences in the tests, "usual" is what is measured, others are the
    application's own. about: what it computes and where the method is described.
    """

    name: str
    program: Callable[..., Any]
    arguments: Callable[..., Arguments]
    wrt: tuple[str, ...]
    sizes: Mapping[str, Size]
    about: str

    def at(self, size: str) -> Arguments:
        """Fresh arguments of the size called `size`."""
        return self.arguments(**self.sizes[size])
