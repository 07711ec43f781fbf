"""C++ text of scalar expressions as they are read: short ones in one line, branches as branches."""
from __future__ import annotations

from collections import Counter
from collections.abc import Callable

from sdfgad.codegen.cpp import Frame, Writer, ctype, index_text, literal, local
from sdfgad.codegen.expressions import call_text, count_uses, topological
from sdfgad.ir.expr import Call, Const, Expr, Index, Load, Local, certain, operands
from sdfgad.ir.index import Ix

LONGEST = 90
"""Characters of an expression that is written where it is used."""
SMALL = 8
"""Nodes of a choice that is written in one line."""


class TaskletScalars:
    """Texts of expressions at one point of a tasklet. load: the text of an element; reached: whether that takes nothing
    that may lie outside an array. looks_up: makes what an index is made of available."""

    def __init__(self, writer: Writer, frame: Frame, load: Callable[[Load], str], reached: Callable[[Load], bool],
                 looks_up: Callable[[tuple[Ix, ...]], None]) -> None:
        self.writer, self.frame = writer, frame
        self.load, self.reached, self.looks_up = load, reached, looks_up
        self.scopes: list[dict[Expr, str]] = [{}]

    def text(self, root: Expr) -> str:
        """The value of an expression; lines before it are written as needed."""
        self.scopes = [{}]
        return self._value(root, count_uses([root]))

    def _value(self, root: Expr, uses: Counter[Expr]) -> str:
        for node in topological([root], lambda n: () if self._known(n) else certain(n)):
            if not self._known(node):
                self.scopes[-1][node] = self._node(node, uses)
        return self._known(root) or ""

    def _known(self, node: Expr) -> str | None:
        return next((s[node] for s in reversed(self.scopes) if node in s), None)

    def _node(self, node: Expr, uses: Counter[Expr]) -> str:
        if isinstance(node, Const):
            return literal(node.value, node.dtype)
        if isinstance(node, Index):
            self.looks_up((node.ix,))
            value = f"int64_t({index_text(self.frame, node.ix)})"
            return value if node.dtype.name == "int64" else f"sg::cast<{ctype(node.dtype)}>({value})"
        if isinstance(node, Load):
            return self.load(node)
        if isinstance(node, Local):
            return local(node.name)
        if node.fn == "select":
            return self._choice(node, uses)
        text = call_text(node, [self._known(a) or "" for a in node.args])
        return self.named(text, node) if uses[node] > 1 or len(text) > LONGEST else text

    def named(self, text: str, node: Expr) -> str:
        """A local of the tasklet that holds a value."""
        name = self.writer.fresh()
        self.writer.line(f"const {ctype(node.dtype)} {name} = {text};")
        return name

    def _choice(self, node: Call, uses: Counter[Expr]) -> str:
        cond = self._known(node.args[0]) or ""
        if all(map(self._is_small, node.args[1:])):
            chosen = [self._branch(a, Counter()) for a in node.args[1:]]
            text = f"({cond} ? {chosen[0]} : {chosen[1]})"
            return self.named(text, node) if uses[node] > 1 or len(text) > LONGEST else text
        name = self.writer.fresh()
        self.writer.line(f"{ctype(node.dtype)} {name};")
        for head, branch in (f"if ({cond})", node.args[1]), ("else", node.args[2]):
            self.writer.open(head)
            self.writer.line("SG_BRANCH;")
            self.writer.line(f"{name} = {self._branch(branch, uses)};")
            self.writer.close()
        return name

    def _branch(self, branch: Expr, uses: Counter[Expr]) -> str:
        self.scopes.append({})
        text = self._value(branch, uses)
        self.scopes.pop()
        return text

    def _is_small(self, branch: Expr) -> bool:
        """Whether a branch takes no line of its own and reads nothing that is not there."""
        nodes = topological([branch], lambda n: () if self._known(n) else operands(n))
        return len(nodes) <= SMALL and sum(len(operands(n)) for n in nodes) <= SMALL and not any(
            isinstance(n, Call) and n.fn == "select" or isinstance(n, Load) and not self.reached(n)
            or isinstance(n, Index) and n.ix.elems
            for n in nodes if not self._known(n))
