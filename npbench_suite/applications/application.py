"""What is known of an application: how to call it, what to differentiate, at which sizes."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib import import_module
from typing import Any

Arguments = dict[str, Any]
Size = Mapping[str, Any]


@dataclass(frozen=True)
class Application:
    """One program of application size.

    `program` is plain NumPy and returns a float. `arguments` takes a size by keyword and returns the program's
    arguments by name, in their order; every call makes fresh arrays. `wrt` names the arguments to differentiate.
    sizes: "tiny" is checked against differences in the tests, "usual" is what is measured, others are the
    application's own. about: what it computes and where the method is described. ported: whether `jax_ports` has it
    as well.
    """

    name: str
    program: Callable[..., Any]
    arguments: Callable[..., Arguments]
    wrt: tuple[str, ...]
    sizes: Mapping[str, Size]
    about: str
    ported: bool = False

    def at(self, size: str) -> Arguments:
        """Fresh arguments of the size called `size`."""
        return self.arguments(**self.sizes[size])

    def jax_port(self) -> Callable[..., Any]:
        """The program in JAX, which is imported now; a LookupError without a port."""
        if not self.ported:
            raise LookupError(f"{self.name} has no JAX port")
        port: Callable[..., Any] = import_module(f"npbench_suite.applications.jax_ports.{self.name}").program
        return port
