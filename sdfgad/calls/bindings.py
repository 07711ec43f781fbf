"""The arrays of one call: what the caller gave, and room for what comes back."""
from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from sdfgad.calls.arguments import Bound, as_input
from sdfgad.calls.buffers import room
from sdfgad.calls.device_calls import DeviceCall
from sdfgad.calls.spill import on_disk
from sdfgad.frontend import Parsed
from sdfgad.ir.program import Array, Program


@dataclass(frozen=True)
class Bindings:
    """What every call needs, looked up once. inputs: names of leaf and array, the array, whether the program writes it.
    made: the arrays that a call makes beside them."""

    parsed: Parsed
    inputs: tuple[tuple[str, str, Array, bool], ...]
    made: tuple[Array, ...]

    def fill_there(self, bound: Bound, donate: frozenset[str], call: DeviceCall) -> dict[str, Any]:
        """The same on a device: nothing is copied but what is written, unless it is given away."""
        self.parsed.check_indices(call.with_indices(self.parsed, bound.leaves))
        memory = {name: call.input(bound.leaves[leaf], a, written and leaf not in donate)
                  for leaf, name, a, written in self.inputs}
        return memory | {a.name: call.empty(a.shape, a.dtype) for a in self.made}

    def fill(self, bound: Bound, donate: frozenset[str], spill: str | None = None) -> dict[str, np.ndarray]:
        """The arrays of one call: inputs (copied when written), and room for results and on disk."""
        self.parsed.check_indices(bound.leaves)
        memory, empty, leaves = {}, room().empty, bound.leaves
        for leaf, name, a, written in self.inputs:
            copy = written and leaf not in donate
            memory[name] = as_input(leaves[leaf], a, empty(a.shape, a.dtype) if copy else None)
        for a in self.made:
            memory[a.name] = on_disk(a, spill) if a.role == "disk" else empty(a.shape, a.dtype)
        return memory


def bindings(program: Program, parsed: Parsed, results: tuple[str, ...], written: frozenset[str]) -> Bindings:
    """What calls of a program need that fills `results` and changes those of its arguments that are `written`."""
    arrays = program.arrays
    inputs = tuple((leaf, n, arrays[n], n in written) for leaf, n in parsed.traced.items() if n in arrays)
    taken = {n for _, n, _, _ in inputs}
    return Bindings(parsed, inputs, tuple(arrays[n] for n in dict.fromkeys(results) if n not in taken))
