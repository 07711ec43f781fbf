"""What a caller asks of a program, and which of its results that means."""
from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from sdfgad.checkpoint.plan import Plan
from sdfgad.errors import DtypeError, OutputError
from sdfgad.frontend import Parsed
from sdfgad.ir.program import View
from sdfgad.reverse.storage import views_of
from sdfgad.trees import sequence


@dataclass(frozen=True)
class Wish:
    """What is asked of a program. seeds: the caller gives the outputs' cotangents. spill: folder for snapshots."""

    wrt: tuple[str, ...]
    output: Any = None
    reduce: str | None = None
    value: bool = False
    seeds: bool = False
    limit: int | None = None
    plan: Plan | None = None
    pins: Mapping[str, str] = field(default_factory=dict)
    spill: str | None = None


def resolve_outputs(parsed: Parsed, wish: Wish) -> tuple[View, ...]:
    """The views to differentiate; OutputError when the choice is not clear."""
    if wish.output is None:
        found = [v for v in views_of(parsed.program.returns) if v.dtype.kind in "fc"]
        if not found:
            raise OutputError("the function returns nothing to differentiate", help=_candidates(parsed))
    else:
        entries = wish.output if isinstance(wish.output, (tuple, list)) else (wish.output,)
        found = [_one_output(parsed, entry) for entry in entries]
    if not wish.reduce and not wish.seeds and (len(found) != 1 or found[0].shape or found[0].dtype.kind == "c"):
        raise OutputError("the output is not one real scalar",
                          help=f'pass reduce="sum", or use sdfgad.vjp with a seed; {_candidates(parsed)}')
    return tuple(found)


def _one_output(parsed: Parsed, entry: Any) -> View:
    returns = parsed.program.returns
    if isinstance(entry, str):
        if entry not in parsed.traced:
            raise OutputError(f"output={entry!r}: no array argument of this name", help=_candidates(parsed))
        if any(entry == path or entry.startswith((f"{path}[", f"{path}.")) for path in parsed.replaced):
            raise OutputError(f"output={entry!r}: the program puts another array in its place",
                              help="return that array, or update the one of the argument in place")
        if parsed.traced[entry] in parsed.stale:
            raise OutputError(f"output={entry!r}: updated through a view of its real or imaginary part",
                              help="update the array itself")
        view = parsed.program.arrays[parsed.traced[entry]].whole
    else:
        parts = sequence(returns) or (returns,)
        if not isinstance(entry, int) or not -len(parts) <= entry < len(parts) or not isinstance(parts[entry], View):
            raise OutputError(f"output={entry!r}: no returned array at this position", help=_candidates(parsed))
        view = parts[entry]
    if view.dtype.kind not in "fc":
        raise DtypeError(f"output={entry!r} is of type {view.dtype.name}: nothing to differentiate")
    return view


def _candidates(parsed: Parsed) -> str:
    names = [f"output={n!r} (updated in place)" for n, a in parsed.traced.items() if a in parsed.mutated]
    returns = sequence(parsed.program.returns)
    if returns is not None:
        names += [f"output={k} (returned)" for k, r in enumerate(returns) if isinstance(r, View)]
    return "candidates: " + (", ".join(names) or "none; return a value or update an argument in place")
