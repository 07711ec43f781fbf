"""Library nodes: reductions, products, and what BLAS and LAPACK do."""
from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import numpy as np

from sdfgad.frontend.graphs import copies
from sdfgad.frontend.graphs.numbers import WIDE, arithmetic, literal
from sdfgad.frontend.graphs.places import ContainerPlace, ElementBox
from sdfgad.frontend.state.builder import cast
from sdfgad.ir.expr import Expr, Load, const
from sdfgad.ir.index import Ix, ix
from sdfgad.ir.program import Range, View, all_of

if TYPE_CHECKING:
    from sdfgad.frontend.graphs.states import StateReader

Operand = tuple[ContainerPlace, ElementBox]


def library(reader: StateReader, node: Any) -> None:
    """Emit what a library node does."""
    found = OPERATIONS.get(type(node).__name__)
    if found is None:
        raise reader.frame.refuse(f"the library node {type(node).__name__}", "expand it: sdfg.expand_library_nodes()",
                                  node=node)
    if reader.body is not None:
        raise reader.frame.refuse("a library node in a map of tasklets", "", node=node)
    found(reader, node)


def operand(reader: StateReader, node: Any, connector: str | None, out: bool = False) -> Operand:
    """What a connector is about."""
    edges = [e for e in (reader.state.out_edges(node) if out else reader.state.in_edges(node))
             if connector is None or (e.src_conn if out else e.dst_conn) == connector]
    if len(edges) != 1:
        raise reader.frame.refuse(f"the connector {connector} with {len(edges)} edges", "", node=node)
    memlet = edges[0].data
    if out and (memlet.wcr is not None or memlet.dynamic) and type(node).__name__ != "Reduce":
        raise reader.frame.refuse("a library node that accumulates", "add its result in a map", node=node)
    if memlet.data in reader.frame.known:
        raise reader.frame.refuse("a library node of an integer argument", "", node=node)
    return reader.frame.place(memlet.data, node), reader.frame.box(memlet.subset, node)


def element(reader: StateReader, part: Operand, position: Sequence[Ix], domain: Sequence[Range] = ()) -> Load:
    place, box = part
    found = place.load(box.unsqueezed(position))
    reader.frame.bounded(place, found.index, domain)
    return found


# reductions

_START: Mapping[str, Callable[[np.dtype], Any]] = MappingProxyType({
    "+": lambda d: 0, "*": lambda d: 1,
    "min": lambda d: np.inf if d.kind == "f" else np.iinfo(d).max if d.kind in "iu" else True,
    "max": lambda d: -np.inf if d.kind == "f" else np.iinfo(d).min if d.kind in "iu" else False})


def reduce(reader: StateReader, node: Any) -> None:
    """`out = sum of in along axes`, from what out holds where there is no identity."""
    source, target = operand(reader, node, None), operand(reader, node, None, out=True)
    op = reader.op_of(node.wcr, node)
    if op not in _START:
        raise reader.frame.refuse(f"a reduction by `{node.wcr}`", "use a sum, a product, min or max", node=node)
    rank = len(source[1].counts)
    axes = set(range(rank)) if node.axes is None else {a % rank for a in node.axes}
    domain = tuple(Range(f"d{k}", ix(0), n) for k, n in enumerate(source[1].counts))
    position = tuple(ix(r.var) for r in domain)
    kept = [k for k in range(rank) if k not in axes]
    outer = tuple(position[k] for k in kept)
    box = target[1]
    place_out = box.unsqueezed([p for p, k in zip(outer, kept, strict=True) if source[1].counts[k].const != 1])
    index = target[0].at(place_out)
    dtype = target[0].dtype
    rows = tuple(domain[k] for k in kept)
    if node.identity is not None:
        start = complex(node.identity) if dtype.kind == "c" else dtype.type(float(node.identity)).item()
        reader.frame.store(target[0].array, index, const(start, dtype), rows)
    e = source[0].load(source[1].at(position))
    reader.frame.bounded(source[0], e.index, domain)
    reader.frame.bounded(target[0], index, rows)
    if source[0].array == target[0].array:
        raise reader.frame.refuse("a reduction into the array that it reads", "use another one", node=node)
    store = reader.frame.joining(target[0].array, index, cast(e, dtype), op)
    if store in reader.frame.reading.joined:
        reader.frame.in_order(domain, store)
    else:
        reader.frame.emit(domain, (store,))


# products

def matmul(reader: StateReader, node: Any) -> None:
    """MatMul, Gemm and BatchedMatMul: `c = alpha op(a) op(b) + beta c`."""
    a, b = operand(reader, node, "_a"), operand(reader, node, "_b")
    out = operand(reader, node, "_c", out=True)
    flags = (bool(getattr(node, "transA", False)), bool(getattr(node, "transB", False)))
    alpha, beta = getattr(node, "alpha", 1), getattr(node, "beta", 0)
    _product(reader, node, a, b, out, flags, alpha, beta)


def gemv(reader: StateReader, node: Any) -> None:
    """`y = alpha op(A) x + beta y`."""
    a, x = operand(reader, node, "_A"), operand(reader, node, "_x")
    out = operand(reader, node, "_y", out=True)
    _product(reader, node, a, x, out, (bool(node.transA), False), node.alpha, node.beta)


def dot(reader: StateReader, node: Any) -> None:
    """`result = sum of x * y`."""
    if getattr(node, "conjugate", False):
        raise reader.frame.refuse("a product with the conjugate", "conjugate before", node=node)
    x, y = operand(reader, node, "_x"), operand(reader, node, "_y")
    _product(reader, node, x, y, operand(reader, node, "_result", out=True), (False, False), 1, 0)


def ger(reader: StateReader, node: Any) -> None:
    """`res = A + alpha x y^T`."""
    x, y, a = (operand(reader, node, c) for c in ("_x", "_y", "_A"))
    out = operand(reader, node, "_res", out=True)
    domain = all_of(out[1].extents, "d")
    if len(domain) != 2:
        raise reader.frame.refuse("an outer product of single numbers", "multiply them", node=node)
    i, j = (ix(r.var) for r in domain)
    e = arithmetic("mul", element(reader, x, (i,), domain), element(reader, y, (j,), domain))
    e = arithmetic("add", element(reader, a, (i, j), domain), _scaled(reader, node, node.alpha, e))
    copies.pointwise(reader, out, domain, (i, j), e)


def axpy(reader: StateReader, node: Any) -> None:
    """`res = a x + y`."""
    x, y = (operand(reader, node, c) for c in ("_x", "_y"))
    out = operand(reader, node, "_res", out=True)
    domain = all_of(out[1].extents, "d")
    position = tuple(ix(r.var) for r in domain)
    e = _scaled(reader, node, node.a, element(reader, x, position, domain))
    copies.pointwise(reader, out, domain, position, arithmetic("add", e, element(reader, y, position, domain)))


def _product(reader: StateReader, node: Any, a: Operand, b: Operand, out: Operand, turned: tuple[bool, bool],
             alpha: Any, beta: Any) -> None:
    plain = _is_number(alpha, 1) and _is_number(beta, 0)
    dtypes = {p.dtype for p, _ in (a, b, out)}
    apart = out[0].array not in (a[0].array, b[0].array)
    if plain and apart and len(dtypes) == 1 and out[0].dtype.kind in "fc" and _by_blas(reader, a, b, out, turned):
        return
    _written_out(reader, node, a, b, out, turned, alpha, beta)


def _by_blas(reader: StateReader, a: Operand, b: Operand, out: Operand, turned: tuple[bool, bool]) -> bool:
    """As one product of matrices and vectors with more than one element in each dimension."""
    sides = [_whole_view(part, flag) for part, flag in zip((a, b), turned, strict=True)]
    result = _whole_view(out, False)
    if any(n.const == 1 for v in (*sides, result) for n in v.shape) or any(len(v.shape) not in (1, 2) for v in sides):
        return False
    left, right = sides
    if (*left.shape[:-1], *right.shape[1:]) != result.shape or left.shape[-1] != right.shape[0] or not result.shape:
        return False
    reader.frame.builder.library("matmul", (result,), (left, right))
    return True


def _whole_view(part: Operand, turned: bool) -> View:
    view = part[0].view(part[1])
    if not turned or len(view.shape) != 2:
        return view
    swap = {"_0": ix("_1"), "_1": ix("_0")}
    return View(view.array, view.shape[::-1], tuple(i.subs(swap) for i in view.index), view.dtype)


def _written_out(reader: StateReader, node: Any, a: Operand, b: Operand, out: Operand, turned: tuple[bool, bool],
                 alpha: Any, beta: Any) -> None:
    """Into a temporary, element by element, and from there to where it belongs."""
    frame = reader.frame
    left, right = _axes(a, turned[0], False), _axes(b, turned[1], True)
    batch, rows, columns = _free_axes(reader, node, left, right)
    shape = (*batch, *rows, *columns)
    domain = all_of((*shape, left[-1]), "d")
    variables = [ix(r.var) for r in domain]
    batches, k = variables[:len(batch)], variables[-1]
    row, column = variables[len(batch):len(batch) + len(rows)], variables[len(batch) + len(rows):-1]
    x = _at(a, turned[0], batches, (*row, k))
    y = _at(b, turned[1], batches, (k, *column))
    made = frame.builder.declare(shape, out[0].dtype, "product")
    inner = domain[:-1]
    frame.store(made.name, variables[:-1], const(0, made.dtype), inner)
    frame.store(made.name, variables[:-1], cast(arithmetic("mul", x, y), made.dtype), domain, "+")
    position = [v for v, n in zip(variables, shape, strict=False) if n.const != 1]
    e: Expr = Load(made.name, tuple(variables[:-1]), made.dtype)
    e = _scaled(reader, node, alpha, e)
    if not _is_number(beta, 0):
        before = _added(reader, node, out)
        e = arithmetic("add", e, _scaled(reader, node, beta, element(reader, before, position, inner)))
    if len(position) != len(out[1].extents):
        raise frame.refuse("a product whose result has another shape", "", node=node)
    copies.pointwise(reader, out, inner, position, e)


def _added(reader: StateReader, node: Any, out: Operand) -> Operand:
    """What a product is added to: an operand, or what the result holds."""
    names = [n for n in ("_c", "_y") if any(e.dst_conn == n for e in reader.state.in_edges(node))]
    return operand(reader, node, names[0]) if names and names[0] in _results(reader, node) else out


def _results(reader: StateReader, node: Any) -> set[str]:
    return {e.src_conn for e in reader.state.out_edges(node)}


def _axes(part: Operand, turned: bool, right: bool) -> tuple[Ix, ...]:
    """Extents of an operand: batch, rows, what is summed; of the right one batch, columns, what is summed."""
    counts = part[1].counts
    if len(counts) < 2:
        return counts
    *batch, rows, columns = counts
    return (*batch, *((columns, rows) if turned != right else (rows, columns)))


def _free_axes(reader: StateReader, node: Any, left: tuple[Ix, ...], right: tuple[Ix, ...]) -> tuple[
        tuple[Ix, ...], tuple[Ix, ...], tuple[Ix, ...]]:
    batches = [side[:-2] for side in (left, right) if len(side) > 2]
    batch = max(batches, key=len, default=())
    if (left[-1] - right[-1]).const not in (0, None):
        raise reader.frame.refuse(f"a product over {left[-1]} and {right[-1]} terms", "make them equal", node=node)
    return batch, left[-2:-1], right[-2:-1]


def _at(part: Operand, turned: bool, batches: Sequence[Ix], position: Sequence[Ix]) -> Load:
    place, box = part
    own = list(position[::-1] if turned else position)
    outer = list(batches)[len(batches) - (len(box.counts) - len(own)):] if len(box.counts) > len(own) else []
    at = [ix(0) if n.const == 1 else p for p, n in zip((*outer, *own), box.counts, strict=True)]
    return place.load(box.at(at))


def _is_number(value: Any, number: int) -> bool:
    return isinstance(value, (int, float, complex)) and value == number or str(value) in (str(number), f"{number}.0")


def _scaled(reader: StateReader, node: Any, factor: Any, e: Expr) -> Expr:
    if _is_number(factor, 1):
        return e
    value = literal(factor) if isinstance(factor, (int, float, complex)) else reader.frame.expression(str(factor), node)
    return arithmetic("mul", cast(value, e.dtype) if e.dtype.kind in "fc" else value, e)


# matrices

def transpose(reader: StateReader, node: Any) -> None:
    """`out[j, i] = in[i, j]`."""
    (place, box), out = operand(reader, node, "_inp"), operand(reader, node, "_out", out=True)
    domain = all_of(out[1].counts, "d")
    position = tuple(ix(r.var) for r in domain)
    e = place.load(box.at(position[::-1]))
    reader.frame.bounded(place, e.index, domain)
    index = out[0].at(out[1].at(position))
    if place.array == out[0].array:
        raise reader.frame.refuse("a transpose in place", "use another array", node=node)
    reader.frame.store(out[0].array, index, cast(e, out[0].dtype), domain)


def tensor_transpose(reader: StateReader, node: Any) -> None:
    """`out = alpha * transpose(in, axes) + beta * out`."""
    (place, box), out = operand(reader, node, "_inp_tensor"), operand(reader, node, "_out_tensor", out=True)
    domain = all_of(out[1].counts, "d")
    position = [ix(0)] * len(domain)
    for k, axis in enumerate(node.axes):
        position[axis] = ix(domain[k].var)
    e = _scaled(reader, node, node.alpha, place.load(box.at(position)))
    if not _is_number(node.beta, 0) or place.array == out[0].array:
        raise reader.frame.refuse("a transpose that adds to its result", "use a map", node=node)
    index = out[0].at(out[1].at([ix(r.var) for r in domain]))
    reader.frame.store(out[0].array, index, cast(e, out[0].dtype), domain)


def inverse(reader: StateReader, node: Any) -> None:
    """`out = in^-1`."""
    _matrix_operation(reader, node, "inv", "_ain", "_aout")


def cholesky(reader: StateReader, node: Any) -> None:
    """The lower factor of a symmetric matrix."""
    if not node.lower:
        raise reader.frame.refuse("the upper Cholesky factor", "transpose the lower one", node=node)
    _matrix_operation(reader, node, "cholesky", "_a", "_b")


def solve(reader: StateReader, node: Any) -> None:
    """`out = A^-1 b`, by the factors of A."""
    builder = reader.frame.builder
    a, b = (_copied(reader, operand(reader, node, c)) for c in ("_ain", "_bin"))
    out = operand(reader, node, "_bout", out=True)
    factors = builder.declare(a.shape, a.dtype, "factors")
    swaps = builder.declare(a.shape[:1], WIDE, "swaps")
    result = builder.declare(b.shape, b.dtype, "solution")
    builder.library("lu", (factors.whole, swaps.whole), (a,))
    builder.library("solve", (result.whole,), (factors.whole, swaps.whole, b))
    _give(reader, result.whole, out)


def _matrix_operation(reader: StateReader, node: Any, op: str, source: str, target: str) -> None:
    builder = reader.frame.builder
    a = _copied(reader, operand(reader, node, source))
    result = builder.declare(a.shape, a.dtype, op)
    builder.library(op, (result.whole,), (a,))
    _give(reader, result.whole, operand(reader, node, target, out=True))


def _copied(reader: StateReader, part: Operand) -> View:
    """A copy of an operand, as a whole array."""
    shape = part[1].counts
    made = reader.frame.builder.declare(shape, part[0].dtype, "operand")
    domain = all_of(shape, "d")
    position = tuple(ix(r.var) for r in domain)
    e = part[0].load(part[1].at(position))
    reader.frame.bounded(part[0], e.index, domain)
    reader.frame.store(made.name, position, e, domain)
    return made.whole


def _give(reader: StateReader, result: View, out: Operand) -> None:
    domain = all_of(out[1].counts, "d")
    position = tuple(ix(r.var) for r in domain)
    reader.frame.store(out[0].array, out[0].at(out[1].at(position)),
                       cast(Load(result.array, position, result.dtype), out[0].dtype), domain)


OPERATIONS: Mapping[str, Callable[..., None]] = MappingProxyType({
    "Reduce": reduce, "MatMul": matmul, "Gemm": matmul, "BatchedMatMul": matmul, "Gemv": gemv, "Dot": dot, "Ger": ger,
    "Axpy": axpy, "Transpose": transpose, "TensorTranspose": tensor_transpose, "Inv": inverse, "Cholesky": cholesky,
    "Solve": solve})
