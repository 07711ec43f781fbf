"""The bytes that the arrays of a call really held at its peak, against what the plan said.

Counted are the caller's arrays that the program reads, the copies made of them, the results, constant tables, and all
that the compiled program takes for itself (`codegen/runtime/sdfgad_memory.h`): temporaries, which it keeps between
calls, tapes, workspaces. Not counted is what belongs to the process: the interpreter, the buffers that the BLAS library
packs operands into, and buffers of dropped results, which are no part of the call. Under a memory limit only those of
them are kept that the call takes.
"""
from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any

import numpy as np

from sdfgad.callers import warn
from sdfgad.calls.directions import PlainDirection
from sdfgad.checkpoint.decided import Predicted
from sdfgad.checkpoint.outlook import Measured
from sdfgad.codegen.program import Executable
from sdfgad.config import settings
from sdfgad.errors import MemoryLimitError, PeakWarning
from sdfgad.foreign.device_array import DeviceArray
from sdfgad.memory import format_bytes

SLACK_SHARE, SLACK_BYTES = 0.01, 10**6
"""So much may be measured above what was predicted."""


@dataclass(frozen=True)
class Usage:
    """Bytes by owner; arguments: of the caller, copies: made of them, program: the compiled program's own."""

    arguments: int
    copies: int
    results: int
    constants: int
    program: int

    @property
    def peak_bytes(self) -> int:
        """All of it: it is alive at once at the end of the call."""
        return self.arguments + self.copies + self.results + self.constants + self.program

    def __str__(self) -> str:
        parts = ((f.name, getattr(self, f.name)) for f in fields(self))
        return ", ".join(f"{name} {format_bytes(size)}" for name, size in parts if size)


def usage_of(code: Executable, memory: Mapping[str, np.ndarray], given: Mapping[str, Any]) -> Usage:
    """What the last call held. `memory`: the arrays it ran on; `given`: the caller's, by the same names."""
    theirs = {n: v if isinstance(v, DeviceArray) else np.asarray(v) for n, v in given.items()
              if n in memory and not isinstance(v, PlainDirection)}
    # A number that is passed is no array of the caller's; the one made of it is the argument.
    # Nor is a copy in the memory of the host one of a device's.
    counted = (DeviceArray,) if code.on_device else (np.ndarray,)
    copied = [n for n, v in theirs.items() if isinstance(given[n], counted) and _is_other(memory[n], v)]
    results = sum(a.nbytes for n, a in memory.items() if n not in theirs)
    return Usage(sum(v.nbytes for v in theirs.values()), sum(memory[n].nbytes for n in copied), results,
                 code.constant_bytes, code.peak_bytes)


def measured(used: Usage, seconds: float, code: Executable) -> Measured:
    """A call as a report shows it. A device holds what a program is passed as well, and no copy that the host made."""
    if not code.on_device:
        return Measured(used.peak_bytes, seconds)
    return Measured(used.peak_bytes, seconds, code.launches, code.copied_bytes, used.peak_bytes)


def _is_other(array: Any, given: Any) -> bool:
    """Whether an array that a program ran on is a copy of the one that was given."""
    if isinstance(given, DeviceArray):
        return bool(array.address != given.address)
    return not np.may_share_memory(array, given)


def promised_bytes(predicted: Predicted, limit: int | None) -> int | None:
    """The most a call may be measured at; None: a growable tape without a bound and a limit promises nothing."""
    bounds = [b for b in (limit, predicted.most_bytes) if b is not None]
    most = min(bounds, default=None) if predicted.unbounded else predicted.peak_bytes
    return None if most is None else int(most * (1 + SLACK_SHARE)) + SLACK_BYTES


def check_peak(used: Usage, predicted: Predicted, limit: int | None) -> None:
    """SG303 as the setting `check` has it, when a call held more than its plan allows."""
    promised = promised_bytes(predicted, limit)
    if promised is None or used.peak_bytes <= promised or (mode := settings().check) == "off":
        return
    text = (f"a call held {format_bytes(used.peak_bytes)} ({used}), {format_bytes(predicted.peak_bytes)} were "
            "predicted")
    if mode == "error":
        raise MemoryLimitError(text, minimum_bytes=used.peak_bytes, limit_bytes=limit, code="SG303",
                               help="please report this; SDFGAD_CHECK=off returns the gradient all the same")
    warn(f"[SG303] {text}", PeakWarning)
