"""Which ranks read what every rank could have: only these compute it, and receive what it is computed of."""
from __future__ import annotations

from sdfgad.analysis.elements.access import interval_env
from sdfgad.errors import UnsupportedError
from sdfgad.ir.program import Map, Range, Store, views_of
from sdfgad.ir.walk import ranges_of, reads, with_loops, writes
from sdfgad.transform.cutting.maps import share_for
from sdfgad.transform.cutting.tree import CutWork


def readers_of(work: CutWork) -> dict[str, frozenset[int]]:
    """Temporaries that are not cut and that some ranks alone read, by name.

    tmp = h[1] ; h[0] = -tmp   ->   tmp: rank 0, which has h[0]; others need no h[1]

    Backwards as liveness, as long as anything is found; what is added up, or read by something else than maps, is for
    all ranks.
    """
    program, met = work.program, [(s, ranges_of(around)) for s, around in with_loops(work.program.body)]
    seen = {*program.live_out, *program.watched, *(v.array for v in views_of(program.returns))}
    alone = {n for n, a in program.arrays.items() if a.role == "transient" and n not in work.cut} - seen
    for stmt, loops in met:
        alone -= _summed(work, stmt, loops) if isinstance(stmt, Map) else reads(stmt) | writes(stmt)
    found = {n: frozenset[int]() for n in alone}
    runs = [(stmt, _owners(work, stmt, loops, alone)) for stmt, loops in met if isinstance(stmt, Map)
            and not reads(stmt).isdisjoint(alone)]
    changed = True
    while changed:
        changed = False
        for stmt, owners in runs:
            ranks = owners.union(*(found[n] for n in writes(stmt) & alone))
            for name in reads(stmt) & alone:
                changed |= not ranks <= found[name]
                found[name] |= ranks
    return found


def _summed(work: CutWork, stmt: Map, loops: tuple[Range, ...]) -> set[str]:
    """What a map adds to, or what the ranks add up."""
    return {p.array for p in stmt.body if isinstance(p, Store) and (
        p.op is not None or share_for(work, stmt, p, loops).parts)}


def _owners(work: CutWork, stmt: Map, loops: tuple[Range, ...], alone: set[str]) -> frozenset[int]:
    """The ranks that run a map whoever reads what it writes of some arrays."""
    around = interval_env(loops)
    shares = [share_for(work, stmt, p, loops) for p in stmt.body if isinstance(p, Store) and p.array not in alone]
    try:
        return frozenset(r for r, place in enumerate(work.places)
                         if any(s.parts or s.domain(stmt, place, around) is not None for s in shares))
    except UnsupportedError:  # it is refused where its turn comes
        return frozenset(range(len(work.places)))
