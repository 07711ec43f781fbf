"""What users decide themselves: values that are stored or computed again, loops that start again from snapshots."""
from __future__ import annotations

from collections.abc import Iterable, Mapping

from sdfgad.checkpoint.schedule import RECOMPUTE, SNAPSHOT, STORE
from sdfgad.errors import UsageError

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
