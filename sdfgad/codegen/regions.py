"""What makers of graphs share: labels, and regions that follow each other, branch and end early."""
from __future__ import annotations

from collections.abc import Mapping

import dace
from dace.properties import CodeBlock
from dace.sdfg.state import BreakBlock, ConditionalBlock, ControlFlowRegion, LoopRegion


class Regions:
    """sdfg: the graph in the making. count: labels given so far."""

    def __init__(self, sdfg: dace.SDFG) -> None:
        self.sdfg, self.count = sdfg, 0

    def label(self, stem: str) -> str:
        self.count += 1
        return f"{stem}_{self.count}"

    def follow(self, parent: ControlFlowRegion, previous: object, block: object,
               assignments: Mapping[str, str] | None = None) -> object:
        """Add a block behind another one."""
        parent.add_node(block)
        parent.add_edge(previous, block, dace.InterstateEdge(assignments=dict(assignments or {})))
        return block

    def branch(self, choice: ConditionalBlock, cond: str | None) -> ControlFlowRegion:
        """What runs where a condition holds, or, without one, where no other does."""
        made = ControlFlowRegion(self.label("branch"), self.sdfg)
        choice.add_branch(CodeBlock(cond) if cond else None, made)
        return made

    def leave(self, loop: LoopRegion, cond: str, previous: object = None) -> None:
        """Behind what a loop's body begins with, if anything: `if cond: break`."""
        test = ConditionalBlock(self.label("until"))
        if previous is None:
            loop.add_node(test, is_start_block=True)
        else:
            self.follow(loop, previous, test)
        self.branch(test, cond).add_node(BreakBlock(self.label("break")), is_start_block=True)
