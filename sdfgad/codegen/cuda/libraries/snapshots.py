"""Snapshots that go to pinned memory of the host: which operations they are on a device, and where they lie."""
from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

import numpy as np

from sdfgad.codegen.cpp import Frame
from sdfgad.codegen.library_forms import Forms
from sdfgad.errors import unsupported
from sdfgad.ir.index import Ix
from sdfgad.ir.program import Lib, Program, View

SAVE, RESTORE, SLOT, HOST, TABLES = "save", "restore", "slot", "host memory", "tables"
"""The operations, and what they know: which snapshot, where those of each array lie, the tables of a schedule."""
STANDING = "standing"
"""The role of an array whose bytes are its own throughout a call."""
_LINE = 256


@dataclass
class SnapshotForms:
    """places: where those of each array begin, and under HOST how many bytes there are. under_way: what snapshots of a
    kind are copied to on the device, until they are on the host, and where they come back."""

    places: Mapping[str, int] = field(default_factory=dict)
    constants: Mapping[str, np.ndarray] = field(default_factory=dict)
    under_way: dict[tuple[tuple[Ix, ...], np.dtype], View] = field(default_factory=dict)

    def saved(self, forms: Forms, frame: Frame, stmt: Lib) -> Lib:
        """A copy on the device, which is under way to the host while the program goes on. It takes no bytes of another
        array, as it is looked at until it has arrived."""
        (slot, _), (state,) = stmt.outs, stmt.ins
        room, number = self._room(forms, frame, state)
        return Lib(SAVE, (room,), (state,), {**self._place(stmt, slot), "number": number}, stmt.source)

    def restored(self, forms: Forms, frame: Frame, stmt: Lib) -> Lib:
        """A copy from the host, by the room in which it may be already."""
        room, number = self._room(forms, frame, stmt.outs[0])
        attrs = {**self._place(stmt, stmt.ins[0]), "number": number}
        return Lib(RESTORE, (stmt.outs[0], room), (), attrs, stmt.source)

    def _room(self, forms: Forms, frame: Frame, state: View) -> tuple[View, int]:
        """That of a kind, and its number."""
        key = state.shape, state.dtype
        if key not in self.under_way:
            room = self.under_way[key] = forms.workspace(frame, *key)
            forms.arrays[room.array] = replace(forms.arrays[room.array], role=STANDING)
        return self.under_way[key], list(self.under_way).index(key)

    def _place(self, stmt: Lib, slot: View) -> dict[str, object]:
        """What the host has to know of a snapshot: it reads the tables of a schedule itself."""
        tables = {e.array for i in slot.index for e in i.elems}
        if not tables <= self.constants.keys():
            raise unsupported(stmt.source, "snapshots in the memory of the host whose place data decide",
                              "leave out spill=, or name a loop of fixed length with snapshot=", code="SG123")
        return {SLOT: slot, HOST: self.places, TABLES: {n: self.constants[n] for n in sorted(tables)}}


def snapshots_of(program: Program) -> SnapshotForms:
    """Each array of snapshots begins a line of 256 bytes behind the one before."""
    places, end = {}, 0
    for name in sorted(n for n, a in program.arrays.items() if a.role == "disk"):
        places[name] = end
        end += -(-program.arrays[name].bytes // _LINE) * _LINE
    return SnapshotForms({**places, HOST: end}, program.constants)
