"""Arguments that every rank holds alike: their gradients are sums over the ranks, the same everywhere."""
from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import Any

import numpy as np

from sdfgad.calls.arguments import Bound
from sdfgad.calls.asked import resolve_wrt
from sdfgad.codegen.compiling.digest import digest_of_array
from sdfgad.errors import UsageError
from sdfgad.transform.cutting.blocks import Distribution


def replicated_leaves(fn: Any, bound: Bound, wrt: Sequence[str], replicated: Any, ranks: Any | None) -> tuple[str, ...]:
    """Names of the leaves that `replicated=` names. UsageError for those that are not differentiated, that this rank
    has not got, and where no other rank takes part."""
    if not replicated:
        return ()
    if ranks is None:
        raise UsageError("replicated= of a function whose ranks are found nowhere", code="SG205",
                         help="give their communicator as an argument, or leave replicated= out")
    found = resolve_wrt(fn, bound, replicated)
    for name in found:
        if name not in wrt:
            raise UsageError(f"replicated= names {name!r}, which is not differentiated", code="SG205",
                             help="name it in wrt=, too")
    return found


def whole_leaves(bound: Bound, cut: Distribution | None) -> tuple[str, ...]:
    """Names of the leaves that every rank of a distributed program has whole."""
    return () if cut is None else tuple(n for n in bound.leaves if all(d is None for d in cut.axes.get(n, ())))


def digest_of(bound: Bound, names: Sequence[str]) -> str:
    """In hexadecimal, of what these leaves hold; the same on all ranks if they do."""
    if not names:
        return "0"
    text = hashlib.blake2b(digest_size=7)
    for name in names:
        value = np.asarray(bound.leaves[name])
        text.update(repr((name, value.shape, value.dtype.str, digest_of_array(value))).encode())
    return text.hexdigest()


def summed(ranks: Any, gradients: dict[str, Any], names: Sequence[str]) -> dict[str, Any]:
    """The gradients with the sums over all ranks for these names, of one rank, who tells all others: equal in every
    bit, which the sums of an allreduce need not be."""
    found = dict(gradients)
    for name in names:
        own = np.ascontiguousarray(gradients[name])
        total = np.empty_like(own)
        ranks.Reduce(own, total)
        ranks.Bcast(total)
        found[name] = total if total.shape else total[()]
    return found
