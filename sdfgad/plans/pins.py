"""What users decide themselves, values that are stored or computed again and loops that start again from snapshots; and
what they are told where that leaves no program within the limit."""
from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence

from sdfgad.checkpoint.problem import Problem
from sdfgad.checkpoint.schedule import RECOMPUTE, SNAPSHOT, STORE
from sdfgad.errors import MemoryLimitError, UsageError
from sdfgad.memory import format_bytes

Names = str | Iterable[str]


def pins_of(store: Names, recompute: Names, snapshot: Names) -> Mapping[str, str]:
    """Name -> pin; UsageError when two pins of one name contradict each other."""
    found: dict[str, str] = {}
    for pin, given in ((STORE, store), (RECOMPUTE, recompute), (SNAPSHOT, snapshot)):
        for name in _names(pin, given):
            if found.get(name, pin) != pin:
                raise UsageError(f"{found[name]}={name!r} and {pin}={name!r} contradict each other", code="SG205")
            found[name] = pin
    return found


def _names(pin: str, given: Names) -> tuple[str, ...]:
    names = (given,) if isinstance(given, str) else tuple(given) if isinstance(given, Iterable) else (given,)
    for name in names:
        if not isinstance(name, str) or not name:
            raise UsageError(f"{pin}={name!r} is not a name", code="SG205",
                             help=f'write {pin}="u" or {pin}={{"u", "v"}}')
    return tuple(sorted(names))


def too_small(problem: Problem, stored: Collection[str], peak: int, limit: int,
              blamed: Sequence[str]) -> MemoryLimitError:
    """The error for a limit below the bytes of the smallest program there is. stored: what that one keeps. blamed: the
    pins without which there would be a smaller one."""
    sizes = {**problem.base, **{i.name: i.peak_bytes for i in problem.items if i.name in stored}}
    largest = sorted(sizes.items(), key=lambda pair: (-pair[1], pair[0]))
    because = f", because of the pins {', '.join(blamed)}" if blamed else ""
    tapes = any(i.bytes is None and i.name in stored for i in problem.items)
    beside = " beside tapes of loops of unknown length, which show their size only as they run" if tapes else ""
    return MemoryLimitError(
        f"the gradient of {problem.target} needs at least {format_bytes(peak)}{beside}, the limit is "
        f"{format_bytes(limit)}{because}",
        minimum_bytes=peak, limit_bytes=limit, help=f"raise memory_limit to {'more than ' * tapes}{peak}",
        floor=tuple(f"{n} {format_bytes(b)}" for n, b in largest[:8]))
