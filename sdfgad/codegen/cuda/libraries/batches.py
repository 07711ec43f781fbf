"""Loops as statements for all iterations at once: program to program.

    for k: p[:] = a[k] @ b[k] ; c[k] = sin(p)   ->   p'[k] = a[k] @ b[k] for all k ; c[k] = sin(p'[k]) for all k

An iteration must touch nothing of another one's: of what a loop writes, it has a slice of its own, only adds to it, or
fills a temporary before it looks at it, which then becomes one for each iteration (loop distribution and array
expansion; Allen and Kennedy, "Optimizing Compilers for Modern Architectures", 5.3, 6.2). Products of matrices are one
operation then, and maps one kernel.
"""
from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType

from sdfgad.analysis.elements.cover import replaced
from sdfgad.codegen.cpp import Frame
from sdfgad.ir.index import Bounds, Ix, ix
from sdfgad.ir.program import Block, Lib, Loop, Map, Program, Range, Stmt, Store, View, axis, views_of
from sdfgad.ir.renamed import renamed
from sdfgad.ir.walk import children, expr_reads, map_accesses, reads, rebuild, statements, with_children, writes
from sdfgad.names import fresh
from sdfgad.transform.clearing.clearings import is_zero, without

MATMULS = "matmuls"
"""Products of the matrices of three-dimensional operands."""
SPREAD = 2
"""Temporaries of all iterations may take so many times the bytes of the largest array that the loop touches anyway."""


def batched(program: Program) -> Program:
    """The program with such loops around products taken apart, and its temporaries."""
    pass_ = Batches(program)
    body = pass_.block(program.body)
    return program.but(arrays=pass_.arrays, body=body)


def loops_apart(program: Program) -> Program:
    """The program with such loops around maps taken apart; the same one where there are none."""
    pass_ = Batches(cleared_first(program), maps=True)
    body = pass_.block(pass_.program.body)
    return program if body == pass_.program.body else program.but(arrays=pass_.arrays, body=body)


@dataclass(frozen=True)
class _Clearing:
    """A temporary that a loop clears. first: statement of an iteration that touches it. clears: all that clear it, the
    last one at the end of an iteration."""

    name: str
    first: Map | Lib
    clears: tuple[Map, ...]


def cleared_first(program: Program, libraries: bool = False) -> Program:
    """Temporaries that each iteration clears when it is done with them are cleared when it begins. libraries: in loops
    around operations of libraries, too.

    t[:] = 0 ; for k: t[:] += x[k] ; y[k] = t ; t[:] = 0   ->   for k: t[:] = 0 ; t[:] += x[k] ; y[k] = t
    """
    before: dict[int, list[Map]] = {}
    gone: dict[int, set[str]] = {}
    for loop in (s for s in statements(program.body) if isinstance(s, Loop)):
        for one in _clearings(loop, program, libraries):
            last = one.clears[-1]
            before.setdefault(id(one.first), []).append(replace(last, body=tuple(_stores(last, {one.name}))))
            for stmt in one.clears:
                gone.setdefault(id(stmt), set()).add(one.name)

    def change(stmt: Stmt) -> Block:
        names = gone.get(id(stmt), set())
        left = without(stmt, _stores(stmt, names)) if isinstance(stmt, Map) and names else [stmt]
        return *before.get(id(stmt), ()), *left

    return program.but(body=rebuild(program.body, change)) if gone else program


def _clearings(loop: Loop, program: Program, libraries: bool) -> Iterator[_Clearing]:
    body = [s for s in loop.body if isinstance(s, Map) or libraries and isinstance(s, Lib)]
    if len(body) < len(loop.body):
        return
    for name in sorted({n for s in body for n in writes(s)}):
        inside = [s for s in body if name in reads(s) | writes(s)]
        outside = [s for s in statements(program.body) if name in reads(s) | writes(s)
                   and not any(s is one for one in inside)]
        clears = tuple(s for s in (*outside, inside[-1]) if isinstance(s, Map) and _clears(s, name, program))
        alone = _is_temporary(name, program) and not any(name in reads(s) for s in outside)
        if alone and outside and len(inside) > 1 and len(clears) > len(outside):
            yield _Clearing(name, inside[0], clears)


def _clears(stmt: Stmt, name: str, program: Program) -> bool:
    """Whether a map ends with zeros in all elements of an array, and stores nothing else there."""
    stores = _stores(stmt, {name})
    if not isinstance(stmt, Map) or len(stores) != 1 or name not in replaced(stmt, program.arrays):
        return False
    behind = stmt.body[stmt.body.index(stores[0]) + 1:]
    return is_zero(stores[0]) and not any(name in expr_reads(p.expr) for p in behind)


def _stores(stmt: Stmt, names: Collection[str]) -> list[Store]:
    """What a map stores in some arrays."""
    return [p for p in stmt.body if isinstance(p, Store) and p.array in names] if isinstance(stmt, Map) else []


def _is_temporary(name: str, program: Program) -> bool:
    """Whether nobody but the program's statements knows an array."""
    array = program.arrays[name]
    known = {*program.arguments, *program.constants, *program.live_out, *program.watched,
             *(v.array for v in views_of(program.returns))}
    return name not in known and array.role == "transient" and array.packing is None and array.window is None


@dataclass(frozen=True)
class LoopApart:
    """A loop whose iterations are apart. private: temporaries of one iteration. shared: what all of them add to."""

    range: Range
    body: tuple[Map | Lib, ...]
    private: frozenset[str]
    shared: frozenset[str]


class Batches:
    """maps: whether loops around maps alone are taken apart, too. spread: as `SPREAD` says."""

    spread = SPREAD

    def __init__(self, program: Program, maps: bool = False) -> None:
        self.program, self.maps = program, maps
        self.arrays = dict(program.arrays)
        self.uses = Counter(n for s in statements(program.body) for n in reads(s) | writes(s))
        self.readers = Counter(n for s in statements(program.body) for n in reads(s))

    def block(self, block: Block) -> Block:
        out: list[Stmt] = []
        for stmt in block:
            parts = self.parts(stmt) if isinstance(stmt, Loop) else None
            if parts is not None:
                out += self.apart(parts)
            else:
                out.append(with_children(stmt, [self.block(b) for b in children(stmt)]))
        return tuple(out)

    def parts(self, stmt: Loop) -> LoopApart | None:
        """A loop that may be taken apart; None otherwise."""
        r = stmt.range.upwards
        body = tuple(s for s in stmt.body if isinstance(s, (Map, Lib)))
        if stmt.until is not None or r.step != 1 or (r.trips or 0) < 2 or len(body) < len(stmt.body):
            return None
        if not self.takes([s for s in body if isinstance(s, Lib)], r):
            return None
        if any(v.var == r.var for s in body if isinstance(s, Map) for v in s.domain):
            return None
        written = frozenset(n for s in body for n in writes(s))
        common = frozenset(n for n in written if not self.is_sliced(n, body, r.var))
        shared = frozenset(n for n in common if _is_only_added_to(n, body))
        private = common - shared
        if all(self.is_private(n, body) for n in private) and self.fits(body, private, r.trips or 0):
            return LoopApart(r, body, private, shared)
        return None

    def takes(self, libraries: list[Lib], r: Range) -> bool:
        """Whether the operations of libraries in a loop can be done for all iterations."""
        return bool(libraries or self.maps) and all(map(is_of_matrices, libraries))

    def is_sliced(self, name: str, body: tuple[Map | Lib, ...], var: str) -> bool:
        """Whether every access is, in one dimension, in a slice of the iteration: at the loop's variable, or less than
        its factor behind a multiple of it."""
        found = [(index, _bounds(stmt)) for stmt in body for index in accesses(stmt, name)]
        return any(_is_in_slices([(i[d], b) for i, b in found], var) for d in range(len(self.arrays[name].shape)))

    def is_private(self, name: str, body: tuple[Map | Lib, ...]) -> bool:
        """Whether every iteration fills it first, and nobody else looks at it."""
        first = next(s for s in body if name in reads(s) | writes(s))
        alone = self.readers[name] == sum(name in reads(s) for s in body)
        return _is_temporary(name, self.program) and alone and name not in reads(first) and \
            name in replaced(first, self.arrays)

    def fits(self, body: tuple[Map | Lib, ...], private: frozenset[str], count: int) -> bool:
        known = {n for s in body for n in reads(s) | writes(s)} - private
        most = max((self.arrays[n].bytes for n in known), default=0)
        return sum(self.arrays[n].bytes for n in private) * count <= self.spread * most

    def apart(self, parts: LoopApart) -> list[Stmt]:
        """Each statement for all iterations."""
        return [for_all(s, parts.range) for s in self.moved(parts)]

    def moved(self, parts: LoopApart) -> list[Stmt]:
        """The statements of an iteration, which has temporaries of its own."""
        r, names = parts.range, dict[str, str]()
        for name in sorted(parts.private):
            array, own = self.arrays[name], self.uses[name] == sum(name in reads(s) | writes(s) for s in parts.body)
            names[name] = name if own else fresh(name, self.arrays)
            self.arrays[names[name]] = replace(array, name=names[name], shape=(r.trips or 0, *array.shape))
        changed = (map_accesses(stmt, lambda name, index: (ix(r.var) - r.start, *index) if name in names else index)
                 for stmt in parts.body)
        return list(renamed(tuple(changed), {n: other for n, other in names.items() if other != n}))


def for_all(stmt: Stmt, r: Range) -> Stmt:
    """A statement for all iterations."""
    assert isinstance(stmt, (Map, Lib)), "no control flow is taken apart"
    return _together(stmt, r) if isinstance(stmt, Lib) else replace(stmt, domain=(r, *stmt.domain))


def _is_only_added_to(name: str, body: tuple[Map | Lib, ...]) -> bool:
    """Whether a loop does nothing with an array but add to it: in any order."""
    stores = [p for s in body for p in _stores(s, {name})]
    looked_at = {n for s in body for n in reads(_assigning(s, name))}
    made = [s for s in body if isinstance(s, Lib) and name in writes(s)]
    added = all(s.op == "matmul" and s.attrs.get("accumulate") for s in made) and all(p.op == "+" for p in stores)
    return added and name not in looked_at


def _assigning(stmt: Map | Lib, name: str) -> Map | Lib:
    """A statement with what it adds to an array stored there: it does not look at it then."""
    if isinstance(stmt, Lib):
        return replace(stmt, attrs={k: v for k, v in stmt.attrs.items() if k != "accumulate"})
    return replace(stmt, body=tuple(
        replace(p, op=None) if isinstance(p, Store) and p.array == name else p for p in stmt.body))


def _bounds(stmt: Map | Lib) -> Mapping[str, Bounds]:
    """The intervals of what stands in the indices of a statement."""
    if isinstance(stmt, Map):
        return Frame({}).inside(stmt.domain).bounds
    extents = [n.const or 0 for v in (*stmt.outs, *stmt.ins) for n in v.shape]
    return {axis(k): (0, max(extents, default=1) - 1) for k in range(len(extents))}


def _is_in_slices(found: list[tuple[Ix, Mapping[str, Bounds]]], var: str) -> bool:
    """Whether indices in one dimension keep to parts that iterations have for themselves."""
    factor = abs(found[0][0].coefficient(var) or 0)
    if not factor or any(i.elems or i.coefficient(var) != found[0][0].coefficient(var) for i, _ in found):
        return False
    ends = [(i - ix(var) * (i.coefficient(var) or 0)).bounds(bounds) for i, bounds in found]
    lows, highs = [a for a, _ in ends if a is not None], [b for _, b in ends if b is not None]
    return len(lows) == len(highs) == len(found) and max(highs) - min(lows) < factor


def is_of_matrices(stmt: Lib) -> bool:
    """Whether an operation is a product of matrices of sizes that stay what they are, with nothing else to it."""
    views = (*stmt.outs, *stmt.ins)
    return stmt.op == "matmul" and len(views) == 3 and all(
        len(v.shape) == 2 and all(n.const is not None for n in v.shape) for v in views)


def accesses(stmt: Map | Lib, name: str) -> list[tuple[Ix, ...]]:
    """The indices by which a statement touches an array."""
    found: list[tuple[Ix, ...]] = []

    def seen(array: str, index: tuple[Ix, ...]) -> tuple[Ix, ...]:
        if array == name:
            found.append(index)
        return index

    map_accesses(stmt, seen)
    return found


def _together(stmt: Lib, r: Range) -> Lib:
    """The variable of a loop as the first dimension of all operands."""
    def view(v: View) -> View:
        names = {axis(0): ix(axis(1)), axis(1): ix(axis(2)), r.var: r.start + ix(axis(0))}
        return View(v.array, (ix(r.trips or 0), *v.shape), tuple(i.subs(names) for i in v.index), v.dtype)

    attrs = {**stmt.attrs, "var": r.var}
    return Lib(MATMULS, tuple(map(view, stmt.outs)), tuple(map(view, stmt.ins)), attrs, stmt.source)


def one_of(stmt: Lib) -> tuple[Range, Lib]:
    """The product of the matrices with one number, and the range of these."""
    var = stmt.attrs["var"]

    def view(v: View) -> View:
        names = {axis(0): ix(var), axis(1): ix(axis(0)), axis(2): ix(axis(1))}
        return View(v.array, v.shape[1:], tuple(i.subs(names) for i in v.index), v.dtype)

    attrs = MappingProxyType({k: a for k, a in stmt.attrs.items() if k != "var"})
    one = Lib("matmul", tuple(map(view, stmt.outs)), tuple(map(view, stmt.ins)), attrs, stmt.source)
    return Range(var, ix(0), stmt.outs[0].shape[0]), one
