"""What nobody asked for goes; what the control around the rest names stays."""
from __future__ import annotations

import numpy as np

from sdfgad.frontend import parse
from sdfgad.ir.program import While
from sdfgad.ir.walk import statements
from sdfgad.transform.dropping.dead import remove_dead_code


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
