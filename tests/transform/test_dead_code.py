"""What nobody asked for goes; what the control around the rest names stays."""
from __future__ import annotations

import numpy as np

from sdfgad.frontend import parse
from sdfgad.ir.program import Loop, While
from sdfgad.ir.walk import all_writes, statements
from sdfgad.transform.dropping.dead import remove_dead_code
from tests.support.build import at, each, one, program, put, span


def root(a):
    x = np.ones(a.shape)
    while np.max(np.abs(x * x - a)) > 1e-3:
        unused = x * 3.0  # noqa: F841
        x = x - (x * x - a) / (4 * x)
    return np.sum(x)


def test_a_loop_keeps_the_counter_that_it_names():
    """Nothing reads it where no derivative is taken."""
    program = parse(root, (np.full(3, 2.0),)).program
    left = remove_dead_code(program.but(live_out=frozenset((program.returns.array,))))
    loop, = (s for s in statements(left.body) if isinstance(s, While))
    assert loop.trips in left.arrays and "unused" in program.arrays and "unused" not in left.arrays


def test_what_an_iteration_has_to_itself_is_not_read_by_the_next_one():
    """A record that a sweep back brings to where the sweep forward had it, and nobody looks at."""
    row = span("i", 0, 4)
    body = (each(row, put("y", ("i",), at("x", "k", "i"))), each(row, put("s", (), at("y", "i"), "+")),
            each(row, put("y", ("i",), at("x", "k", "i") * 2.0)))
    for private in ((), ("y",)):
        loop = Loop(span("k", 0, 3), body, parallel=bool(private), private=private)
        made = program({"x": (3, 4)}, (one("s", (), 0.0), loop), y=(4,))
        found = remove_dead_code(made.but(live_out=frozenset(("s",)))).body[-1]
        assert len(found.body) == 3 - len(private) and "y" in all_writes(found.body)
