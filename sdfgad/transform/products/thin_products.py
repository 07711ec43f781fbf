"""Matrix products with very few terms as sums in one statement."""
from __future__ import annotations

from collections.abc import Iterator
from functools import reduce
from math import prod

from sdfgad.ir.expr import Expr, Load, call
from sdfgad.ir.index import Atom, FloorDiv, Ix, Mod, ix
from sdfgad.ir.program import Lib, Map, Range, Store, View, axis
from sdfgad.names import variables
from sdfgad.thresholds import thresholds


def thin_product(stmt: Lib) -> Map | None:
    """c[_0, floor(_1, 8), mod(_1, 8)](2, 80) = matmul(a[_0, _1](2, 2), b[_0, _1](2, 80))
    ->   map w0 = 0:2, w1 = 0:10, w2 = 0:8: c[w0, w1, w2] = a[w0, 0] * b[0, 8*w1 + w2] + a[w0, 1] * b[1, 8*w1 + w2]

    Dimensions of the result that stand for several of an array are taken apart. None for other products.
    """
    (out,), (a, b) = stmt.outs, stmt.ins
    terms = a.shape[-1].const
    elements = [n.const or 0 for n in out.shape]
    if terms is None or not 1 <= terms <= thresholds().thin_terms or prod(elements) < thresholds().thin_elements:
        return None
    counters = variables("w")
    parts = [_parts(out, k, counters) for k in range(len(out.shape))]
    if any(p is None for p in parts):
        return None
    domain = tuple(r for p in parts if p is not None for r, _ in p)
    at = tuple(sum((ix(r.var) * size for r, size in p), ix(0)) for p in parts if p is not None)
    bounds = {r.var: (0, (r.trips or 1) - 1) for r in domain}

    def element(view: View, place: tuple[Ix, ...], conj: bool) -> Expr:
        load = Load(view.array, tuple(i.simplify(bounds) for i in view.at(place)), view.dtype)
        return call("conj", load) if conj and view.dtype.kind == "c" else load

    rows, columns = at[:len(a.shape) - 1], at[len(a.shape) - 1:]
    products = [call("mul", element(a, (*rows, ix(k)), bool(stmt.attrs.get("conj_a"))),
                     element(b, (ix(k), *columns), bool(stmt.attrs.get("conj_b")))) for k in range(terms)]
    where = tuple(i.simplify(bounds) for i in out.at(at))
    op = "+" if stmt.attrs.get("accumulate") else None
    return Map(domain, (Store(out.array, where, reduce(lambda x, y: call("add", x, y), products), op),), stmt.source)


def _parts(view: View, dimension: int, counters: Iterator[str]) -> list[tuple[Range, int]] | None:
    """Loops that count one dimension of a view, and how far one step of each goes; None when they do not fit."""
    extent = view.shape[dimension].const
    found = {size for i in view.index for size in _cuts(i, axis(dimension))}
    if extent is None or None in found:
        return None
    sizes = [*sorted(c for c in found if c is not None and 1 < c < extent), extent]
    parts, step = [], 1
    for size in sizes:
        if size % step:
            return None
        parts.append((size // step, step))
        step = size
    return [(Range(next(counters), ix(0), ix(count)), step) for count, step in reversed(parts)]


def _cuts(index: Ix, var: str) -> Iterator[int | None]:
    """Where divisions and remainders cut a variable; None for forms that are not plain digits of it."""
    for atom in index.atoms:
        if not isinstance(atom, str) and var in Ix((((atom,), 1),)).symbols:
            yield from _digit(atom, var)


def _digit(atom: Atom, var: str) -> Iterator[int | None]:
    cut = _place(atom, var)
    yield from (None,) if cut is None else cut


def _place(atom: Atom, var: str) -> tuple[int, ...] | None:
    """The cuts of floor(mod(var, 12), 4): 4 and 12. The first one is what the digit counts in."""
    if atom == var:
        return (1,)
    if not isinstance(atom, (FloorDiv, Mod)) or len(atom.parts[0].terms) != 1:
        return None
    (atoms, factor), size = atom.parts[0].terms[0], atom.parts[1].const
    inner = _place(atoms[0], var) if len(atoms) == 1 and factor == 1 and size is not None and size > 0 else None
    if inner is None or size is None:
        return None
    return (inner[0] * size, *inner) if isinstance(atom, FloorDiv) else (*inner, inner[0] * size)
