"""Views, and what is copied from one container to another."""
from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import TYPE_CHECKING, Any

from sdfgad.frontend.graphs.places import ContainerPlace, ElementBox, whole
from sdfgad.frontend.state.builder import cast
from sdfgad.ir.expr import Expr, Load
from sdfgad.ir.index import Ix, ix
from sdfgad.ir.program import Range, all_of

if TYPE_CHECKING:
    from sdfgad.frontend.graphs.states import StateReader

Elements = tuple[ContainerPlace, ElementBox]

def kind_of(node: Any) -> str:
    return type(node).__name__


def is_view_of(desc: Any) -> bool:
    return type(desc).__name__ in ("ArrayView", "View", "StructureView", "ContainerView")


def look(reader: StateReader, nodes: Sequence[Any]) -> None:
    """Say where views are that stand among these nodes; those of views last."""
    pending = [n for n in nodes if kind_of(n) == "AccessNode" and is_view_of(reader.frame.sdfg.arrays[n.data])]
    reader.frame.views.update(n.data for n in pending)
    for _ in range(len(pending)):
        for node in list(pending):
            edge = view_edge(reader, node)
            base = viewed(reader, node, edge)
            if base in {n.data for n in pending} - {node.data}:
                continue
            first = view_start(reader, edge, base, node)
            reader.frame.places[node.data] = reader.frame.look(node.data, base, first, node)
            pending.remove(node)


def view_edge(reader: StateReader, node: Any) -> Any:
    from dace.sdfg import utils

    edge = utils.get_view_edge(reader.state, node) if kind_of(node) == "AccessNode" and is_view_of(
        reader.frame.sdfg.arrays[node.data]) else None
    if edge is None and is_view_of(reader.frame.sdfg.arrays[node.data]):
        raise reader.frame.refuse(f"the view {node.data!r}, of nothing that can be told", "", node=node)
    return edge


def viewed(reader: StateReader, node: Any, edge: Any) -> str:
    path = reader.state.memlet_path(edge)
    other = path[-1].dst if edge.src is node else path[0].src
    return str(other.data)


def view_start(reader: StateReader, edge: Any, viewed: str, node: Any) -> tuple[Ix, ...]:
    memlet = edge.data
    subset = memlet.subset if memlet.data == viewed else memlet.other_subset
    if subset is None:
        return tuple(ix(0) for _ in reader.frame.sdfg.arrays[viewed].shape)
    return reader.frame.box(subset, node).first


def access(reader: StateReader, node: Any) -> None:
    """What is copied into a container, and from it out of a scope."""
    seen = view_edge(reader, node) if is_view_of(reader.frame.sdfg.arrays[node.data]) else None
    for edge in reader.state.in_edges(node):
        source = reader.state.memlet_path(edge)[0].src
        if edge is not seen and not edge.data.is_empty() and kind_of(source) == "AccessNode" and kind_of(
                edge.src) != "MapExit" and not is_view(reader, source, edge):
            copy(reader, edge, source, node)
    for edge in reader.state.out_edges(node):
        if edge is not seen and not edge.data.is_empty() and kind_of(edge.dst) == "MapExit":
            target = reader.state.memlet_path(edge)[-1].dst
            if kind_of(target) == "AccessNode":
                copy(reader, edge, node, target)


def is_view(reader: StateReader, node: Any, edge: Any) -> bool:
    return is_view_of(reader.frame.sdfg.arrays[node.data]) and view_edge(reader, node) is edge


def copy(reader: StateReader, edge: Any, source: Any, target: Any) -> None:
    """`target[...] = source[...]`."""
    frame, memlet = reader.frame, edge.data
    sides = memlet.get_src_subset(edge, reader.state), memlet.get_dst_subset(edge, reader.state)
    read, written = (None if side is None else frame.box(side, edge.dst) for side in sides)
    if read is None and written is None:
        raise frame.refuse(f"a copy of {source.data} to {target.data} that names no elements",
                           "give its memlet a subset", node=edge.dst)
    reader.refuse_dynamic(edge)
    read = read or beginning(reader, source.data, written, edge)
    written = written or beginning(reader, target.data, read, edge)
    op = reader.op_of(edge.data.wcr, target)
    if source.data in reader.locals or reader.is_local(target.data):
        reader.write(target.data, written, reader.element(source.data, read), op, target)
    else:
        transfer(reader, (frame.place(target.data, target), written), (frame.place(source.data, source), read), op,
                 target)


def beginning(reader: StateReader, name: str, other: ElementBox | None, edge: Any) -> ElementBox:
    """As many elements of a container as another one has, when that is all of them."""
    shape, _ = reader.frame.layout(reader.frame.sdfg.arrays[name], edge.dst)
    assert other is not None
    mine = whole(shape)
    if _alike(mine.extents, other.extents) or _count(mine) is not None and _count(mine) == _count(other):
        return mine
    if other.single:
        return ElementBox(mine.first, tuple(ix(1) for _ in shape), mine.steps)
    raise reader.frame.refuse(f"a copy that does not say which elements of {name!r} it means",
                            "give its memlet other_subset", node=edge.dst)


def transfer(reader: StateReader, to: Elements, source: Elements, op: str | None, node: Any) -> None:
    """Copy a box to another one."""
    domain = all_of(to[1].extents, "d")
    position = there = tuple(ix(r.var) for r in domain)
    if not _alike(source[1].extents, to[1].extents):
        there = unravelled(reader, position, to[1], source[1], node)
    e = source[0].load(source[1].unsqueezed(there))
    reader.frame.bounded(source[0], e.index, domain)
    pointwise(reader, to, domain, position, e, op)


def unravelled(reader: StateReader, position: Sequence[Ix], written: ElementBox, read: ElementBox,
               node: Any) -> tuple[Ix, ...]:
    """The position in another shape of as many elements."""
    if _count(read) is None or _count(read) != _count(written):
        raise reader.frame.refuse("a copy between boxes of different sizes", "make them equal", node=node)
    distance = ix(0)
    for p, n in zip(position, written.extents, strict=True):
        distance = distance * n + p
    found: list[Ix] = []
    for n in reversed(read.extents):
        found.insert(0, distance % n)
        distance = distance // n
    return tuple(found)


def pointwise(reader: StateReader, to: Elements, domain: Sequence[Range], position: Sequence[Ix], e: Expr,
              op: str | None = None) -> None:
    """`to[position] op= e` for all positions, as if e were read first."""
    builder, frame = reader.frame.builder, reader.frame
    place, box = to
    index, e = place.at(box.unsqueezed(position)), cast(e, place.dtype)
    frame.bounded(place, index, domain)
    if builder.collides(place.array, index, e, domain) and domain:
        made = builder.declare(tuple(box.extents), place.dtype, "copied")
        frame.store(made.name, position, e, domain)
        e = Load(made.name, tuple(position), place.dtype)
    store = frame.joining(place.array, index, e, op)
    if store in frame.reading.joined:
        frame.in_order(domain, store)
    else:
        builder.store(place.array, index, store.expr, domain, store.op)


def _alike(a: Sequence[Ix], b: Sequence[Ix]) -> bool:
    return len(a) == len(b) and all((x - y).const == 0 for x, y in zip(a, b, strict=True))


def _count(box: ElementBox) -> int | None:
    sizes = [n.const for n in box.counts]
    return None if None in sizes else prod(sizes)  # type: ignore[arg-type]
