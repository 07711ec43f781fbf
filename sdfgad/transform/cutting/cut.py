"""A derived program cut over ranks: owners compute, halos and sums are messages of ordinary IR."""
from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from sdfgad.analysis.elements.access import interval_env
from sdfgad.errors import unsupported
from sdfgad.ir.index import ix
from sdfgad.ir.messages import OP, order_array
from sdfgad.ir.program import ORDER, Block, If, Lib, Loop, Map, Pop, Program, Push, Range, Stmt, While
from sdfgad.ir.walk import children, reads, rebuild, within, writes
from sdfgad.transform.cutting.accesses import HaloNeed, ReadBox, accesses, widened
from sdfgad.transform.cutting.alignment import blocks_of
from sdfgad.transform.cutting.blocks import Distribution
from sdfgad.transform.cutting.digits import digits_apart
from sdfgad.transform.cutting.extremes import from_nothing
from sdfgad.transform.cutting.halos import Halos, moving
from sdfgad.transform.cutting.maps import pieces_of
from sdfgad.transform.cutting.readers import readers_of
from sdfgad.transform.cutting.shares import told
from sdfgad.transform.cutting.sums import only_added_to, packed
from sdfgad.transform.cutting.tree import CutNode, CutWork, PendingSum, RankPiece, RankRegion, boxes_of
from sdfgad.transform.cutting.windows import within_windows
from sdfgad.transform.spelling import product_as_maps


def cut_over_ranks(program: Program, wanted: Distribution, gathered: Sequence[str] = ()) -> Program:
    """map i = 0:100: y[i] = x[i - 1] + x[i + 1]
    ->   exchange(x[49:50], x[50:51]) ; map i = 0:50: y[i] = x[i - 1] + x[i + 1]          on rank 0 of 2

    Each statement runs where its result lies (owner computes: A. Rogers, K. Pingali, Process decomposition through
    locality of reference, PLDI 1989). An array that is cut has room for the block of the rank and what it receives, and
    says which part of the whole that is. gathered: arrays that every rank has whole behind the program.
    UnsupportedError for what cannot be cut.
    """
    program = program.but(body=from_nothing(rebuild(program.body, _without_products)))
    work = CutWork(program, wanted, blocks_of(program, wanted))
    if not work.cut:
        return program
    work.readers = readers_of(work)
    nodes = [*_nodes(work, program.body, ()), _gathering(work, gathered)]
    work.arrays[ORDER] = order_array()
    body = Halos(work).block(nodes, {})
    return within_windows(work.finished(body), work).but(live_out=program.live_out | {ORDER})


def _without_products(stmt: Stmt) -> Block:
    """Products as sums, which are cut like others; what is left of them on a rank is contracted again."""
    made = product_as_maps(stmt) if isinstance(stmt, Lib) and stmt.op == "matmul" else (stmt,)
    return tuple(digits_apart(s) if isinstance(s, Map) else s for s in made)


def _gathering(work: CutWork, gathered: Sequence[str]) -> RankPiece:
    """The need of every rank for all of some arrays."""
    def need(name: str) -> HaloNeed:
        box: ReadBox = tuple((ix(0), ix(n)) for n in work.arrays[name].shape)
        return HaloNeed(name, work.axes(name), (box,) * len(work.places), frozenset(), work.arrays[name].source)
    found = [n for n in dict.fromkeys(gathered) if n in work.cut]
    return RankPiece((), tuple(map(need, found)), frozenset(found), frozenset())


def _nodes(work: CutWork, block: Block, loops: tuple[Range, ...]) -> list[CutNode]:
    return packed(work, [node for stmt in block for node in _cut(work, stmt, loops)])


def _cut(work: CutWork, stmt: Stmt, loops: tuple[Range, ...]) -> Sequence[CutNode | PendingSum]:
    if isinstance(stmt, Map):
        return pieces_of(work, stmt, loops)
    if isinstance(stmt, Lib):
        _check_library(work, stmt)
        return [RankPiece((stmt,), (), reads(stmt), writes(stmt))]
    if isinstance(stmt, (Push, Pop)):
        return [RankPiece((stmt,), (), reads(stmt), writes(stmt))]
    if not isinstance(stmt, Loop):
        return [_region(work, stmt, loops)]
    return _loop(work, stmt, loops)


def _check_library(work: CutWork, stmt: Lib) -> None:
    if stmt.op == OP:
        raise unsupported(stmt.source, "a message in a program that is distributed",
                          "a program that communicates itself takes no distribute=", "SG124")
    cut = sorted((reads(stmt) | writes(stmt)) & work.cut.keys())
    if cut:
        axes = ", ".join(map(str, work.axes(cut[0])))
        raise unsupported(stmt.source, f"axis {axes} of {told(cut[0])!r} is cut, and the operation {stmt.op!r} needs "
                          "it whole", 'leave the arrays of this operation whole: "replicated"', "SG124")


def _loop(work: CutWork, stmt: Loop, loops: tuple[Range, ...]) -> Sequence[CutNode | PendingSum]:
    """for t: p = 0 ; p += e(t) ; s += allreduce(p)   ->   p = 0 ; for t: p += e(t) ; s += allreduce(p)

    where the loop does not look at s.
    """
    before, depth = (work.added_in, work.changing), len(loops)
    work.added_in = {n: before[0].get(n, depth) for n in only_added_to(stmt)}
    work.changing = within(stmt)[1]
    nodes = [node for inner in stmt.body for node in _cut(work, inner, (*loops, stmt.range))]
    work.added_in, work.changing = before
    behind = [n for n in nodes if isinstance(n, PendingSum) and n.loops <= depth]
    cleared = [n.cleared for n in behind]
    left = [n for n in nodes if not any(n is other for other in (*behind, *cleared))]
    return [*cleared, _region_of(work, stmt, (tuple(packed(work, left)),), loops), *behind]


def _region(work: CutWork, stmt: Stmt, loops: tuple[Range, ...]) -> RankRegion:
    before, work.added_in = (work.added_in, work.changing), {}  # a sum of all ranks stays in its branch
    work.changing = within(stmt)[1] if isinstance(stmt, While) else work.changing
    blocks = tuple(tuple(_nodes(work, b, loops)) for b in children(stmt))
    work.added_in, work.changing = before
    return _region_of(work, stmt, blocks, loops)


def _region_of(work: CutWork, stmt: Stmt, blocks: tuple[tuple[CutNode, ...], ...],
               loops: tuple[Range, ...]) -> RankRegion:
    inner = (*loops, stmt.range) if isinstance(stmt, Loop) else loops
    written = frozenset(n for b in blocks for node in b for n in node.writes) | writes(stmt)
    needs = [n for b in blocks for node in b for n in node.needs]
    for need in needs:
        if need.array in written and need.varies:
            raise moving(need)
    before = [n for n in needs if n.array not in written]
    if isinstance(stmt, Loop):
        before = [_outside(work, n, inner) for n in before]
    blocks = tuple(tuple(_left_over(node, written) for node in b) for b in blocks)
    into = {} if writes(stmt) else boxes_of(node for b in blocks for node in b)
    return RankRegion(stmt, blocks, (*before, *_of_condition(work, stmt, loops)), within(stmt)[0], written, into=into)


def _left_over(node: CutNode, written: frozenset[str]) -> CutNode:
    """The same with the needs that cannot be met before the region around it, which writes those arrays."""
    return replace(node, needs=tuple(n for n in node.needs if n.array in written))


def _outside(work: CutWork, need: HaloNeed, loops: tuple[Range, ...]) -> HaloNeed:
    """What all iterations of the innermost loop need."""
    env, var = interval_env(loops), loops[-1].var
    shape = work.arrays[need.array].shape
    boxes = tuple(None if b is None else widened(b, shape, env, var) for b in need.boxes)
    return replace(need, boxes=boxes, varies=need.varies - {var})


def _of_condition(work: CutWork, stmt: Stmt, loops: tuple[Range, ...]) -> tuple[HaloNeed, ...]:
    """What decides where a program goes on has to be known to every rank."""
    found = list(accesses(stmt.cond)) if isinstance(stmt, If) else []
    if isinstance(stmt, Loop):
        found += [(e.array, e.parts) for i in (stmt.range.start, stmt.range.stop) for e in i.elems]
    return work.needs(found, [()] * len(work.places), loops, stmt)

