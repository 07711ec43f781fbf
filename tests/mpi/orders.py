"""What is sent of an expression: its elements in the order in which NumPy has them in memory, or a refusal."""
from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory
from types import MappingProxyType

import numpy as np

import sdfgad
from tests.mpi.random.machine import by_reference
from tests.mpi.telling import COMM, tell
from tests.programs.running import load

SENT = ("x.T", "np.swapaxes(q, 0, 2)", "np.einsum('ij->ji', x)", "x[::-1] * 2.0",
        "np.outer(a, b)", "np.outer(a, b) * b", "np.einsum('i,j->ji', a, b)", "(x @ x.T).T", "np.sum(q, axis=1)",
        "np.ascontiguousarray(np.outer(a, b).T)", "np.matmul(x.T, x)", "x[[2, 0]]", "x.T.copy()")
"""In an order that is known."""
REFUSED = ("np.outer(a, b).T * 1.0", "np.outer(a, b).T", "np.rot90(np.outer(a, b)) * 1.0", "np.sum(q.T, axis=0)",
           "np.swapaxes(q * a[0], 0, 2) + 1.0", "np.einsum('ij,j->ji', x, b)", "np.roll(x.T, 1, axis=0)", "g * 1.0",
           "np.concatenate([x.T, x.T])", "np.flip(np.outer(a, b).T) * 2.0")
TEXT = """import numpy as np

g = np.asfortranarray(np.arange(12.0).reshape(3, 4))


def program(comm, x, a, b, q, count):
    z = np.zeros(count)
    other = (comm.rank + 1) % comm.size
    comm.Sendrecv({}, other, 0, z, (comm.rank - 1) % comm.size, 0)
    return z * np.sin(z)
"""


def orders() -> None:
    """Values, tangents and cotangents on all ranks, and which expressions are refused."""
    wrong, refused = [], []
    with TemporaryDirectory() as folder:
        for k, one in enumerate((*SENT, *REFUSED)):
            try:
                wrong += [] if _right(load(TEXT.format(one), Path(folder), k), one) else [one]
            except sdfgad.UnsupportedError as error:
                refused += [one] if "any order" in str(error) else []
    tell("orders", wrong=wrong, refused=refused)


def _right(program: Callable[..., np.ndarray], text: str) -> bool:
    rng = np.random.default_rng(COMM.rank)
    shapes = {"x": (3, 4), "a": 3, "b": 4, "q": (2, 3, 2)}
    given, along = ({n: rng.random(s) for n, s in shapes.items()} for _ in range(2))
    size = int(eval(text, {"np": np, **given, "g": np.ones((3, 4))}).size)
    seed, more = rng.random(size), {"comm": COMM, **given, "count": size}
    value, pushed, back = by_reference(program, more, along, seed)
    sides = np.array([np.vdot(seed, pushed), sum(np.vdot(g, along[n]) for n, g in zip(along, back, strict=True))])
    one, other = COMM.allreduce(sides)
    return bool(np.allclose(value, program(**more), rtol=1e-13)) and abs(one - other) < 1e-11


CHECKS_OF_ORDERS = MappingProxyType({"orders": orders})
