"""What is asked of the reverse sweep, and what it gives: a gradient program, and the values that are kept for it."""
from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from math import prod

from sdfgad.analysis.elements.access import Access
from sdfgad.analysis.reversal.activity import active_arrays
from sdfgad.errors import SourceLine
from sdfgad.ir.program import ORDER, Program, Range, View, views_of


@dataclass(frozen=True)
class ReverseRequest:
    """What to differentiate. wrt: argument arrays. outputs: views, one cotangent seed each.

    seeds: "ones", or "arguments": the program takes arrays seed_0, seed_1, ... shaped like the outputs.
    value: whether the program must also deliver its value: what it returns or, when `total` is set, the sum of each
    output (`reverse/results.py`). spill: snapshots of loops lie on disk. share: a constant that seeds of one are
    multiplied by, where another rank may seed the same number. aux: the second of two things that the program returns
    is no output, and delivered with the value. batch: seeds come so many at once, along a first axis that the gradients
    have as well. in_turn: the reverse sweep goes through them one after the other.
    """

    wrt: tuple[str, ...]
    outputs: tuple[View, ...]
    seeds: str = "ones"
    value: bool = False
    total: bool = False
    spill: bool = False
    share: str | None = None
    aux: bool = False
    batch: int | None = None
    in_turn: bool = False

    def sets(self, program: Program) -> tuple[frozenset[str], frozenset[str]]:
        """Arrays with a cotangent, and those somebody looks at after the program."""
        outputs = {v.array for v in self.outputs}
        seen = frozenset(outputs).union((v.array for v in views_of(program.returns)), {ORDER} & program.arrays.keys())
        return active_arrays(program, self.wrt, outputs), seen


@dataclass(frozen=True)
class Kept:
    """A value of the program kept for the reverse sweep. tape: the array or growable tape that holds it.

    bytes: None for a growable tape, whose size is known only at run time. cost: elements computed to rebuild it.
    light: computing it where it is read is no dearer than storing it. again: it is computed again, not stored.
    path: the loops around; order: the place of the statement that makes or destroys it. undone: its overwrites are
    taken back, not stored; how: what is taken back.
    """

    name: str
    array: str
    tape: str
    bytes: int | None
    source: SourceLine | None
    because: str
    recomputable: bool = False
    cost: int = 0
    light: bool = False
    again: bool = False
    path: tuple[Range, ...] = ()
    order: int = 0
    undone: bool = False
    how: str = ""


@dataclass(frozen=True)
class Gradient:
    """The gradient program. gradients: result array for each name of `wrt` (None: identically zero).

    results: arrays the caller receives. kept: every value stored, or rebuilt, for the reverse sweep. swept: the program
    whose statements the sweeps run and undo; reads: what the reverse sweep reads of its values. local: the
    loops around each array that lives within one run of their body; versions: leading dimensions, one for each loop
    around, of those that have a version per iteration.
    """

    program: Program
    gradients: Mapping[str, str | None]
    results: tuple[str, ...]
    seeds: tuple[str, ...]
    kept: tuple[Kept, ...]
    swept: Program
    reads: tuple[Access, ...]
    local: Mapping[str, tuple[Range, ...]]
    versions: Mapping[str, int]

    def bytes_of(self, names: Iterable[str]) -> int:
        """Bytes of arrays of `swept`, one version of each."""
        whole = ((self.swept.arrays[n], self.versions.get(n, 0)) for n in names)
        return sum(prod(a.shape[leading:]) * a.dtype.itemsize for a, leading in whole)
