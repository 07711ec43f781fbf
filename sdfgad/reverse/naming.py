"""The arrays of a derivative program under construction."""
from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from sdfgad.ir.index import Ix
from sdfgad.ir.program import Array
from sdfgad.names import fresh
from sdfgad.rules.linearise import Tangents


@dataclass
class Names:
    """arrays: all of them; active: those with a tangent, named `prefix` + name; versions: of the arrays with leading
    dimensions that count them, the place of the current one."""

    arrays: dict[str, Array]
    active: frozenset[str]
    prefix: str
    versions: Mapping[str, tuple[Ix, ...]] = field(default_factory=dict)
    scratch: dict[str, Array] = field(default_factory=dict)

    def copy(self) -> Names:
        """Names of its own, for trying something."""
        return Names(dict(self.arrays), self.active, self.prefix, self.versions, dict(self.scratch))

    def tangents(self) -> Tangents:
        leading = {name: len(place) for name, place in self.versions.items()}
        return Tangents(self.tangent, self.fresh, self.is_tangent, leading, self.arrays)

    def one_version(self, array: str) -> tuple[int, ...]:
        """The shape of what the program sees of an array at a time."""
        return self.arrays[array].shape[len(self.versions.get(array, ())):]

    def tangent(self, array: str) -> str | None:
        return self.prefix + array if array in self.active else None

    def is_tangent(self, name: str) -> bool:
        if name in self.scratch:
            return name.startswith(self.prefix)
        return name.startswith(self.prefix) and name[len(self.prefix):] in self.active

    def fresh(self, stem: str, shape: tuple[int, ...], dtype: np.dtype, role: str = "transient") -> Array:
        """A temporary; `lin` ones are tangents."""
        made = self.declare((self.prefix if stem == "lin" else "") + stem, shape, dtype, role)
        self.scratch[made.name] = made
        return made

    def declare(self, stem: str, shape: tuple[int, ...], dtype: np.dtype, role: str = "transient") -> Array:
        name = fresh(stem, self.arrays, first=0)
        self.arrays[name] = Array(name, shape, dtype, role)
        return self.arrays[name]
