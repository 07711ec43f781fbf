"""Shapes and dtypes of the operands of library operations."""
from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from types import MappingProxyType

from sdfgad.ir.index import Ix, ix
from sdfgad.ir.program import Lib, View

SHAPES: Mapping[str, str] = MappingProxyType({
    "lu": "nn->nn,n", "solve": "nn,n,n*->n*", "inv": "nn->nn", "cholesky": "nn->nn", "trsolve": "nn,n*->n*",
    "definite": "nn->1", "det": "nn,n->1", "logdet": "nn,n->1", "detsign": "nn,n->1", "argsort": "n->n",
    "fft": "*->*", "pinv": "nm->mn",
    "cholesky_tangent": "nn,nn->nn", "cholesky_adjoint": "nn,nn->nn", "eigh": "nn->pn", "svd": "mn->pq", "qr": "mn->pn",
    "eig": "nn->pn",
    "seal": "*->*,", "unseal": "*,->*", "fail": "->1"})
"""Letters stand for extents, `*` for any extents: equal ones for equal extents. Products are looked at alone."""


def operand_faults(stmt: Lib) -> Iterator[str]:
    """What does not fit together, as far as extents are numbers or equal formulas."""
    if stmt.op == "matmul":
        yield from _product_faults(stmt)
        return
    if stmt.op == "mpi":
        yield from _message_faults(stmt)
        return
    if stmt.op in ("own", "own_linear", "python"):  # as a function of the user's says
        return
    form = SHAPES.get(stmt.op)
    if form is None:
        yield f"there is no library operation {stmt.op!r}"
        return
    ins, outs = (side.split(",") if side else [] for side in form.split("->"))
    if (len(ins), len(outs)) != (len(stmt.ins), len(stmt.outs)):
        yield f"{stmt.op} of {len(stmt.ins)} operands with {len(stmt.outs)} results"
        return
    known: dict[str, tuple[Ix, ...]] = {}
    for view, letters in zip((*stmt.ins, *stmt.outs), (*ins, *outs), strict=True):
        if not _fits(view.shape, letters, known):
            yield f"the operand {view.array}[{', '.join(map(str, view.shape))}] of {stmt.op} does not fit {form}"


def _fits(shape: Sequence[Ix], letters: str, known: dict[str, tuple[Ix, ...]]) -> bool:
    rest = letters.endswith("*")
    plain = letters.removesuffix("*")
    if len(shape) < len(plain) or len(shape) > len(plain) and not rest:
        return False
    parts: list[tuple[str, tuple[Ix, ...]]] = [(c, (n,)) for c, n in zip(plain, shape, strict=False)]
    parts += [("*", tuple(shape[len(plain):]))] if rest else []
    return all(_alike(known.setdefault(c, (ix(1),) if c == "1" else part), part) for c, part in parts)


def _alike(one: Sequence[Ix], other: Sequence[Ix]) -> bool:
    """Whether extents may be equal: nothing is known of formulas that differ by no number."""
    return len(one) == len(other) and all((a - b).const in (None, 0) for a, b in zip(one, other, strict=True))


def _product_faults(stmt: Lib) -> Iterator[str]:
    if len(stmt.outs) != 1 or len(stmt.ins) < 2:
        yield f"matmul of {len(stmt.ins)} operands with {len(stmt.outs)} results"
        return
    (out,), (a, b, *scale) = stmt.outs, stmt.ins
    if not all(1 <= len(v.shape) <= 2 for v in (a, b)) or any(v.shape for v in scale):
        yield "matmul of operands with so many dimensions"
    elif not _alike((*a.shape, *b.shape[1:]), (*a.shape[:-1], b.shape[0], *b.shape[1:])) or \
            not _alike(out.shape, (*a.shape[:-1], *b.shape[1:])):
        yield f"matmul of {_shape(a)} and {_shape(b)} gives {_shape(out)}"
    others = {v.dtype for v in (a, b, *scale)} - {out.dtype}
    if others:
        yield f"matmul of {', '.join(sorted(d.name for d in others))} gives {out.dtype}"


def _message_faults(stmt: Lib) -> Iterator[str]:
    """Whatever is sent or received is of one type; the order is read and written."""
    if not stmt.ins or not stmt.outs or stmt.ins[-1] != stmt.outs[-1]:
        yield "a message that may change places with others"
    others = {v.dtype for v in (*stmt.ins, *stmt.outs) if v.dtype.kind in "fc"} - {stmt.attrs["dtype"]}
    if others:
        yield f"a message of {stmt.attrs['dtype']} with {', '.join(sorted(d.name for d in others))}"


def _shape(view: View) -> str:
    return f"({', '.join(map(str, view.shape))})"
