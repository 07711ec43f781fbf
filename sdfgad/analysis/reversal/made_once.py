"""What derivatives read and have made again: once for all of a block that read it, and before loops, not in them."""
from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from sdfgad.analysis.formula import Formula, Remake
from sdfgad.ir.program import Block, If, Stmt
from sdfgad.ir.walk import children, reads, statements
from sdfgad.rules.linearise import Linearised


@dataclass(frozen=True)
class MadeOnce:
    """linear: the linear programs that have become others; ahead: what is made again before the reverse of a loop. Both
    by the `id` of a statement."""

    linear: Mapping[int, Linearised]
    ahead: Mapping[int, tuple[Stmt, ...]]


def made_once(linear: Mapping[int, Linearised], known: Mapping[str, Formula | Remake]) -> MadeOnce:
    """for k: { a = f(u) ; grad_x[k] += a[k] * grad_y[k] } ; a = f(u) ; grad_z += a * grad_w
    ->   a = f(u) ; for k: grad_x[k] += a[k] * grad_y[k] ; grad_z += a * grad_w

    While all that the array is made of is as it was, the reverse sweep makes it again where it first reads it. Nobody
    overwrites it between its readers: all that make it come before them.
    """
    readers: dict[str, list[int]] = {}
    for key, lin in linear.items():
        for name in lin.again:
            readers.setdefault(name, []).append(key)
    changed: dict[int, Linearised] = {}
    ahead: dict[int, dict[str, tuple[Stmt, ...]]] = {}
    for name, keys in readers.items():
        for first, covered in _first_readers(known[name].still.block, keys):
            makers = linear[covered[0]].again[name]
            if id(first) not in linear:
                ahead.setdefault(id(first), {})[name] = makers
            for key in covered if id(first) not in linear else covered[1:]:
                lin = changed.get(key, linear[key])
                changed[key] = replace(lin, again={**lin.again, name: ()})
    return MadeOnce(changed, {key: _in_order(made) for key, made in ahead.items()})


def _first_readers(block: Block, keys: Collection[int]) -> Iterator[tuple[Stmt, list[int]]]:
    """Statements, and the readers (`id`) that what is made again there is made for. Each branch makes it for itself."""
    found: list[tuple[Stmt, list[int]]] = []
    for stmt in reversed(block):
        inside = [id(s) for s in statements((stmt,)) if id(s) in keys]
        if isinstance(stmt, If):
            for branch in children(stmt):
                yield from _first_readers(branch, inside)
        elif inside:
            found.append((stmt, inside))
    if found:
        yield found[0][0], [key for _, inside in found for key in inside]


def _in_order(made: Mapping[str, Sequence[Stmt]]) -> tuple[Stmt, ...]:
    """The statements that make several arrays, those first that others read."""
    out: list[Stmt] = []
    waiting = dict(made)
    while waiting:
        name = next(n for n, makers in waiting.items()
                    if not any(reads(m) & waiting.keys() - {n} for m in makers))
        out += waiting.pop(name)
    return tuple(out)
