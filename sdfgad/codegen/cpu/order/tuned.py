"""What one thread runs, in a form that goes easy on memory: fewer passes over the data, several rows at a time.

Guards that turn out to be idle leave the loops."""
from __future__ import annotations

from dataclasses import replace

from sdfgad.codegen.cpp import Frame
from sdfgad.codegen.cpu.order.clipped import whole_terms_apart
from sdfgad.codegen.cpu.order.joined import join_maps
from sdfgad.codegen.cpu.order.pieces import ControlFlow, Group, Item, Kernel, kernel_frame
from sdfgad.codegen.cpu.order.row_blocks import block_rows, write_out_few
from sdfgad.codegen.cpu.order.unguarded import merge_guards, without_guards
from sdfgad.ir.program import Block, Loop, Map, Stmt
from sdfgad.ir.walk import children, rebuild, with_children


def tuned(items: tuple[Item, ...], frame: Frame) -> tuple[Item, ...]:
    """The pieces of a schedule with their maps joined and taken several rows at a time."""
    return tuple(_item(item, frame) for item in items)


def _item(item: Item, frame: Frame) -> Item:
    if isinstance(item, Group):
        return replace(item, body=_block(frame, item.body))
    if isinstance(item, Kernel):
        return replace(item, body=_block(kernel_frame(frame, item), item.body))
    return replace(item, parts=tuple(tuned(part, _inside(frame, item)) for part in item.parts))


def _inside(frame: Frame, item: ControlFlow) -> Frame:
    return frame.inside([item.stmt.range]) if isinstance(item.stmt, Loop) else frame


def _block(frame: Frame, block: Block) -> Block:
    done: list[Stmt] = []
    for stmt in block:
        inner = frame.inside([stmt.range]) if isinstance(stmt, Loop) else frame
        if isinstance(stmt, Map):
            done += [write_out_few(frame, part) for part in whole_terms_apart(stmt)]
        else:
            done.append(with_children(stmt, [_block(inner, b) for b in children(stmt)]) if children(stmt) else stmt)
    joined = join_maps(frame, tuple(done))
    return tuple(s for stmt in joined for s in (_parts(frame, stmt) if isinstance(stmt, Map) else (stmt,)))


def _parts(frame: Frame, stmt: Map) -> Block:
    return tuple(rebuild(tuple(without_guards(frame, m) for m in block_rows(frame, stmt)), _merged))


def _merged(stmt: Stmt) -> Block:
    return (merge_guards(stmt) if isinstance(stmt, Map) else stmt,)
