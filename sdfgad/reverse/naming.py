"""The arrays of a derivative program under construction."""
from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from sdfgad.ir.program import Array
from sdfgad.rules.linearise import Tangents


@dataclass
class Names:
    """arrays: all of them; active: those with a tangent, named `prefix` + name; versions: see `Tangents`."""

    arrays: dict[str, Array]
    active: frozenset[str]
    prefix: str
    versions: Mapping[str, int] = field(default_factory=dict)
    scratch: dict[str, Array] = field(default_factory=dict)

    def copy(self) -> Names:
        """Names of its own, for trying something."""
        return Names(dict(self.arrays), self.active, self.prefix, self.versions, dict(self.scratch))

    def tangents(self) -> Tangents:
        return Tangents(self.tangent, self.fresh, self.is_tangent, self.versions)

    def tangent(self, array: str) -> str | None:
        return self.prefix + array if array in self.active else None

    def is_tangent(self, name: str) -> bool:
        if name in self.scratch:
            return name.startswith(self.prefix)
        return name.startswith(self.prefix) and name[len(self.prefix):] in self.active

    def fresh(self, stem: str, shape: tuple[int, ...], dtype: np.dtype) -> Array:
        """A temporary; `lin` ones are tangents."""
        made = self.declare((self.prefix if stem == "lin" else "") + stem, shape, dtype)
        self.scratch[made.name] = made
        return made

    def declare(self, stem: str, shape: tuple[int, ...], dtype: np.dtype, role: str = "transient") -> Array:
        name, k = stem, 0
        while name in self.arrays:
            name, k = f"{stem}_{k}", k + 1
        self.arrays[name] = Array(name, shape, dtype, role)
        return self.arrays[name]
