"""What the suite knows of a program: how to call it, what to differentiate, how to check it."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np

Arguments = dict[str, Any]


@dataclass(frozen=True)
class JaxPort:
    """A function of `npbench_suite.jax_ports`, imported (and JAX with it) at the first call."""

    kernel: str
    form: str

    @property
    def function(self) -> Callable[..., tuple[Any, ...]]:
        module = import_module(f"npbench_suite.jax_ports.{self.kernel}")
        return getattr(module, self.form)

    def __call__(self, *args: Any, **kwargs: Any) -> tuple[Any, ...]:
        return self.function(*args, **kwargs)


def jax_port(kernel: str, form: str) -> JaxPort:
    """The port `form` ("literal", "idiomatic" or "matrix") of a program."""
    return JaxPort(kernel, form)


@dataclass(frozen=True)
class Kernel:
    """One NPBench program.

    `program` is plain NumPy. `initialize` takes the sizes of a preset by keyword, `sample` a random
    generator and the number of a tiny size (0, 1, 2, ...); both return the program's arguments by name, in
    the program's argument order. `wrt` and `scalars` name the differentiable arrays and float scalars.
    `output` says what is differentiated: None is the return value, a name an argument updated in place, a
    number the position of a returned value, a tuple several of these.

    A JAX port takes the same arguments by name (sizes and counts as Python ints) and returns the tuple of
    differentiated outputs, without changing its arguments. `idiomatic` is the fastest form found, `literal`
    follows the program line by line, `matrix` replaces the loops by the matrix operation they spell out.
    """

    name: str
    program: Callable[..., Any]
    initialize: Callable[..., Arguments]
    sample: Callable[[np.random.Generator, int], Arguments]
    wrt: tuple[str, ...]
    scalars: tuple[str, ...] = ()
    output: Any = None
    literal: Callable[..., tuple[Any, ...]] | None = None
    idiomatic: Callable[..., tuple[Any, ...]] | None = None
    matrix: Callable[..., tuple[Any, ...]] | None = None
    gradient: str = "yes"
    tolerance: float = 1e-8
    notes: str = ""

    def outputs(self, returned: Any, arguments: Mapping[str, Any]) -> list[np.ndarray]:
        """The differentiated outputs of a call that returned `returned` and left `arguments` behind."""
        if self.output is None:
            return [returned]
        wanted = self.output if isinstance(self.output, tuple) else (self.output,)
        return [arguments[one] if isinstance(one, str) else returned[one] for one in wanted]

    def sizes(self, preset: str) -> dict[str, Any]:
        """The sizes of a preset: "S", "M", "L" or "paper"."""
        return dict(presets()[self.name]["presets"][preset])


@cache
def presets() -> dict[str, Any]:
    """The content of `presets.json`: names, domains, tolerances and sizes by program."""
    return json.loads((Path(__file__).parent / "presets.json").read_text())


def names() -> list[str]:
    """The programs of the suite, in alphabetical order."""
    return sorted(presets())


def load(name: str) -> Kernel:
    """The program called `name`; a KeyError lists the known names."""
    if name not in presets():
        raise KeyError(f"{name!r} is not an NPBench program; known: {', '.join(names())}")
    kernel: Kernel = import_module(f"npbench_suite.kernels.{name}").KERNEL
    return kernel
