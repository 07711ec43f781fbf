"""Messages of a function that its derivative does not need."""
from __future__ import annotations

from dataclasses import replace

from sdfgad.ir.messages import OP, of_function, order_view
from sdfgad.ir.program import ORDER, Block, Lib, Program, Stmt
from sdfgad.ir.walk import rebuild, statements
from sdfgad.names import fresh
from sdfgad.transform.dropping.dead import without_dead_code


def without_messages(program: Program) -> Program | None:
    """The derivative without the messages of the function itself; None where one brings something that is read.

    mpi send x, receive y ; z = 2 * dy    ->   z = 2 * dy

    All of them or none: which of its messages a rank can spare, its peers cannot tell.
    """
    free = fresh("no_order", program.arrays)

    def spared(stmt: Stmt) -> Block:
        """The message with an order of its own, which nobody asks for."""
        if not of_function(stmt):
            return (stmt,)
        own = replace(order_view(), array=free)
        return (Lib(OP, (*stmt.outs[:-1], own), (*stmt.ins[:-1], own), stmt.attrs, stmt.source),)

    arrays = {**program.arrays, free: replace(program.arrays[ORDER], name=free)}
    found = without_dead_code(program.but(body=rebuild(program.body, spared), arrays=arrays), program.live_out)
    return None if any(of_function(s) for s in statements(found.body)) else found


def sends_for_itself(program: Program) -> bool:
    """Whether there are messages of the function itself in a program."""
    return any(of_function(s) for s in statements(program.body))
