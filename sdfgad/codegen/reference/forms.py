"""Programs as graphs can hold them: library operations on whole arrays, maps whose ranges are formulas."""
from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from types import MappingProxyType

from sdfgad.codegen.cpp import Frame
from sdfgad.codegen.library_forms import Forms, copy, product_loops
from sdfgad.codegen.reference.formulas import is_bound
from sdfgad.ir.expr import Call, Const, Expr, Load, call
from sdfgad.ir.program import Array, Block, If, Lib, Loop, Map, Program, Stmt, Store, View, While
from sdfgad.ir.walk import children, reads, with_children, writes

HUGE = 1 << 31


def graph_form(program: Program) -> Program:
    """The program without packed arrays, with library operations on whole arrays, and with maps of simple ranges.

    B[0:3] = inv(A[0:3])   ->   map w: work[w] = A[w] ; work_1 = inv(work) ; map w: B[w] = work_1[w]
    map i = 0:n[0]: x[i] = 1   ->   for i = 0:n[0]: x[i] = 1
    """
    arrays = {n: replace(a, packing=None) for n, a in program.arrays.items()}
    writer = _FormWriter(Forms(dict(arrays)))
    body = writer.block(Frame(arrays), program.body)
    return program.but(arrays=writer.forms.arrays, body=body)


@dataclass
class _FormWriter:
    forms: Forms

    def block(self, frame: Frame, block: Block) -> Block:
        return tuple(s for stmt in block for s in self.statement(frame, stmt))

    def statement(self, frame: Frame, stmt: Stmt) -> Block:
        if isinstance(stmt, Lib):
            return tuple(self.looped(s) if isinstance(s, Map) else s for s in self.library(frame, stmt))
        if isinstance(stmt, Map):
            return (self.looped(stmt),)
        if isinstance(stmt, (Loop, While, If)):
            inner = frame.inside([stmt.range]) if isinstance(stmt, Loop) else frame
            return (with_children(stmt, [self.block(inner, b) for b in children(stmt)]),)
        return (stmt,)

    def library(self, frame: Frame, stmt: Lib) -> list[Stmt]:
        """An operation between copies of what is not a whole array."""
        if stmt.op == "fail":
            return [stmt]
        if stmt.op == "matmul":
            return self.product(frame, stmt)
        ins = [self.whole(frame, v) for v in stmt.ins]
        outs = [self.whole(frame, v) for v in stmt.outs]
        more = "+" if stmt.attrs.get("accumulate") else None
        if more:
            outs = [self.forms.workspace(frame, v.shape, v.dtype) for v in stmt.outs]
        before: list[Stmt] = [copy(w, v) for v, w in zip(stmt.ins, ins, strict=True) if w is not v]
        after: list[Stmt] = [joined(v, w, more) for v, w in zip(stmt.outs, outs, strict=True) if w is not v]
        return [*before, replace(stmt, ins=tuple(ins), outs=tuple(outs)), *after]

    def whole(self, frame: Frame, view: View) -> View:
        """The view itself if it is a whole array, else a new array of its size."""
        if is_whole(view, self.forms.arrays[view.array]):
            return view
        return self.forms.workspace(frame, view.shape, view.dtype)

    def product(self, frame: Frame, stmt: Lib) -> list[Stmt]:
        """A product of matrices of floating point is an operation of DaCe's, but for single rows and columns, which it
        takes for vectors; others are sums."""
        (out,), (a, b, *scale) = stmt.outs, stmt.ins
        extents = [n.const for v in (a, b) for n in v.shape]
        plain = len(a.shape) == len(b.shape) == 2 and all(n and n > 1 for n in extents) and not self.huge(stmt)
        if out.dtype.kind not in "fc" or not plain:
            return product_loops(stmt)
        before: list[Stmt] = []
        ins = []
        for view, side in ((a, "a"), (b, "b")):
            conj = bool(stmt.attrs.get(f"conj_{side}")) and view.dtype.kind == "c"
            held = self.forms.workspace(frame, view.shape, view.dtype) if conj else self.whole(frame, view)
            if held is not view:
                before.append(copy(held, view, _conj) if conj else copy(held, view))
            ins.append(held)
        factor = stmt.attrs.get("factor", 1)
        alone = not scale and factor == 1 and not stmt.attrs.get("accumulate")
        target = self.whole(frame, out) if alone else self.forms.workspace(frame, out.shape, out.dtype)
        product = Lib("matmul", (target,), tuple(ins), MappingProxyType({}), stmt.source)
        if target is out:
            return [*before, product]
        scales: list[Expr] = [Load(v.array, v.index, v.dtype) for v in scale]
        scales += [Const(factor, out.dtype)] if factor != 1 else []
        return [*before, product, joined(out, target, "+" if stmt.attrs.get("accumulate") else None, scales)]

    def looped(self, stmt: Map) -> Map | Loop:
        """A map whose ranges are formulas, or loops around a single point of it: iterations may come in any order."""
        simple = all(is_bound(r.start) and is_bound(r.stop) and (r.step > 0 or r.step == -1) for r in stmt.domain)
        if simple and not self.huge(stmt):
            return replace(stmt, domain=tuple(r.upwards for r in stmt.domain))
        inner: Map | Loop = replace(stmt, domain=())
        for r in reversed(stmt.domain):
            inner = Loop(r, (inner,), stmt.source)
        return inner

    def huge(self, stmt: Stmt) -> bool:
        """Whether it takes more than 32 bits to count the elements of an array, which maps of DaCe's count with."""
        return any(self.forms.arrays[n].size >= HUGE for n in reads(stmt) | writes(stmt))


def _conj(value: Expr) -> Expr:
    return call("conj", value)


def is_whole(view: View, array: Array) -> bool:
    """Whether a view shows an array as it is."""
    own = array.whole
    return view.shape == own.shape and view.index == own.index


def joined(target: View, origin: View, op: str | None = None, scales: Iterable[Expr] = ()) -> Map:
    """`target[...] op= scale * origin[...]`."""
    domain, at = target.points("w")
    value: Expr = origin.load(at)
    for scale in scales:
        value = Call("mul", (value, scale), origin.dtype)
    return Map(domain, (Store(target.array, target.at(at), value, op),))


def is_array(array: Array) -> bool:
    """Whether what the graph keeps for itself has an address: the others are variables of its code."""
    return bool(array.shape) or array.role == "tape"
