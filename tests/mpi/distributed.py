"""Serial programs that are distributed, through the public functions, on real ranks."""
from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any
from unittest.mock import patch

import numpy as np

import sdfgad
from npbench_suite.kernel import load
from sdfgad.transform.cutting import maps, strips
from tests.mpi.random.machine import not_compiled
from tests.mpi.telling import COMM, error_of, tell
from tests.support.interpreted import interpreted


def diffuse(u, k, steps):
    for _ in range(steps):
        u[1:-1] = u[1:-1] + k[0] * (u[2:] - 2 * u[1:-1] + u[:-2]) * np.cos(u[1:-1])
    return np.sum(u ** 2) + k[1]


LIMIT = 3000
"""Bytes for a rank, of some 6000 that store everything on the largest one of two."""


def own_rows(value: np.ndarray) -> np.ndarray:
    """The array with NaN in the rows of other ranks."""
    known = np.full_like(value, np.nan)
    first, behind = (value.shape[0] * (COMM.rank + k) // COMM.size for k in (0, 1))
    known[first:behind] = value[first:behind]
    return known


def off(found: Any, expected: Any) -> float:
    with np.errstate(invalid="ignore"):
        worst = np.max(np.abs(np.asarray(found) - expected), initial=0) / np.max(np.abs(expected), initial=1)
    return float(worst) if np.isfinite(worst) else 1e9


def check_verbs() -> None:
    """grad, value_and_grad and forward; each rank knows its own rows alone; the second call as the first."""
    rng = np.random.default_rng(0)
    u, k = rng.random((11, 3)), np.array([0.1, 2.0])
    how: dict[str, Any] = {"distribute": {"u": "block", "k": "replicated"}, "comm": COMM}
    with interpreted():
        value, (du, dk) = sdfgad.value_and_grad(diffuse)(u, k, 5)
        expected = sdfgad.grad(diffuse, wrt="u")(u, k, 40)
    both, left = sdfgad.value_and_grad(diffuse, **how), sdfgad.grad(diffuse, gather=False, **how)
    mine, worst = own_rows(u), 0.0
    for _ in range(2):
        found, (gu, gk) = both(mine, k, 5)
        worst = max(worst, off(found, value), off(gu, du), off(gk, dk))
    kept = np.array_equal(mine, own_rows(u), equal_nan=True)
    part, whole = left(mine, k, 5)
    rows = slice(*(u.shape[0] * (COMM.rank + n) // COMM.size for n in (0, 1)))
    worst = max(worst, off(part, du[rows]), off(whole, dk), float(part.shape != du[rows].shape))
    alone, copy = sdfgad.DistributedArray(u[rows].copy(), u.shape), u[rows].copy()
    worst = max(worst, off(left(alone, k, 5).u, du[rows]), off(sdfgad.forward(diffuse, **how)(alone, k, 5), value))
    kept = kept and np.array_equal(alone.local, copy)
    counts = left.measure(alone, k, 5).messages
    tell("distributed verbs", error=worst, kept=bool(kept), sent=[counts.forward, counts.reverse],
         sums=sum(row.count for row in counts.rows if row.kind == "allreduce"))
    limited = sdfgad.grad(diffuse, wrt="u", memory_limit=LIMIT, **how)
    peak = limited.measure(mine, k, 40).measured.peak_bytes
    tell("distributed limit", error=off(limited(mine, k, 40), expected), peak=float(peak),
         modes=len(limited.plan(mine, k, 40).modes))


def check_kernels() -> None:
    for name, cut in KERNELS.items():
        kernel = load(name)
        args = kernel.sample(np.random.default_rng(1), 1)
        plain = sdfgad.grad(kernel.program, wrt=kernel.wrt, output=kernel.output, reduce="sum")
        made = sdfgad.grad(kernel.program, wrt=kernel.wrt, output=kernel.output, reduce="sum",
                           distribute=dict.fromkeys(cut, "block"), comm=COMM)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", sdfgad.UnusedArgumentWarning)
            with interpreted():
                expected = plain(*args.values())
            found = made(*(own_rows(v) if n in cut else v for n, v in args.items()))
        pairs = zip(_all(found), _all(expected), strict=True)
        tell(f"distributed {name}", error=max(off(a, b) for a, b in pairs))


def _all(gradient: Any) -> list[Any]:
    return list(gradient.values()) if isinstance(gradient, sdfgad.calls.results.Gradients) else [gradient]


def inside(u, w):
    """Parts of rows and of columns are sent, and something takes time meanwhile."""
    for _ in range(3):
        u[1:-1, 1:-1] += 0.1 * (u[2:, 1:-1] + u[:-2, 1:-1] + u[1:-1, 2:] + u[1:-1, :-2] - 4 * u[1:-1, 1:-1])
        w = np.sin(w) * 1.1
    return np.sum(u ** 2) + np.sum(w)


def check_inside() -> None:
    rng = np.random.default_rng(3)
    u, w = rng.random((40, 40)), rng.random(20000)
    with interpreted():
        expected = sdfgad.grad(inside)(u.copy(), w)
    for name, how in (("rows", ("block", None)), ("columns", (None, "block"))):
        made = sdfgad.grad(inside, distribute={"u": how}, comm=COMM)
        tell(f"distributed {name}", error=max(off(a, b) for a, b in zip(made(u.copy(), w), expected, strict=True)))


def check_grid() -> None:
    """Blocks of both axes, on the ranks of a grid."""
    rng = np.random.default_rng(2)
    u, k = rng.random((7, 9)), np.array([0.1, 2.0])
    expected = sdfgad.grad(diffuse)(u, k, 4)
    made = sdfgad.grad(diffuse, distribute={"u": ("block", "block")}, comm=COMM)
    tell("distributed grid", error=max(off(a, b) for a, b in zip(made(u, k, 4), expected, strict=True)))
    chosen = sdfgad.grad(diffuse, distribute="auto", comm=COMM, grid=(2, 2))
    tell("distributed chosen", error=max(off(a, b) for a, b in zip(chosen(u, k, 4), expected, strict=True)))


def product(A, B, w):
    C = A @ B
    return np.sum(C * C * w)


def check_products() -> None:
    """Blocks that are not in one piece go to several ranks at once, while products are computed; and panel by panel."""
    args = tuple(np.random.default_rng(4).random((3, 264, 264)))
    expected = sdfgad.grad(product, wrt=("A", "B"))(*args)
    for name, how, panelled in (("columns", (None, "block"), 1 << 30), ("blocks", ("block", "block"), 1 << 30),
                                ("panels", ("block", "block"), 0)):
        with patch.object(strips, "TOGETHER", 0), patch.object(maps, "PANELLED", panelled):
            made = sdfgad.grad(product, wrt=("A", "B"), distribute=dict.fromkeys("ABw", how), comm=COMM)
            tell(f"distributed {name} of products", error=max(map(off, made(*args).values(), expected.values())))
    left = sdfgad.grad(product, wrt=("A", "B"), distribute=dict.fromkeys("ABw", ("block", "block")), comm=COMM,
                       gather=False)
    whole = left.measure(*args)
    alone = left.measure(*(sdfgad.DistributedArray(own_blocks(a), a.shape) for a in args))
    tell("room of products", whole=room_of(whole), alone=room_of(alone))


def own_blocks(value: np.ndarray) -> np.ndarray:
    """The block of this rank of 2 x 2."""
    rows, columns = (n // 2 for n in value.shape)
    first, second = COMM.rank // 2 * rows, COMM.rank % 2 * columns
    return value[first:first + rows, second:second + columns].copy()


def room_of(plan: sdfgad.Plan) -> tuple[int, int]:
    return plan.predicted.peak_bytes, plan.measured.peak_bytes


def check_agreement() -> None:
    """What is refused or differs is an error on all ranks."""
    made = sdfgad.grad(diffuse, distribute={"u": "block"}, comm=COMM)
    k = np.array([0.1, 2.0])
    rows = 9 if COMM.rank else 8
    tell("distributed shapes", error=error_of(lambda: made(np.ones((rows, 2)), k, 3)))
    tell("distributed steps", error=error_of(lambda: made(np.ones((8, 2)), k, 3 + COMM.rank)))
    forth = sdfgad.forward(diffuse, distribute={"u": "block"}, comm=COMM)
    for name, call in (("gradient", made), ("forward", forth)):
        tell(f"distributed other {name}", error=error_of(lambda call=call: call(np.ones((8, 2)), k + COMM.rank, 3)))
    seidel = load("seidel_2d")
    along = sdfgad.grad(seidel.program, wrt="A", output="A", reduce="sum", distribute={"A": "block"}, comm=COMM)
    tell("distributed seidel", error=error_of(lambda: along(2, 5, np.ones((5, 5)))))
    here = sdfgad.grad(lambda u: COMM.allreduce(np.sum(u ** 2)), distribute={"u": "block"}, comm=COMM)
    tell("distributed messages", error=error_of(lambda: here(np.ones(4))))
    short = sdfgad.DistributedArray(np.ones((4, 2)), (9, 2))
    tell("distributed block", error=error_of(lambda: made(short, k, 3)))
    plain = sdfgad.grad(diffuse)
    tell("distributed nothing", error=error_of(lambda: plain(short, k, 3)))
    tell("distributed again", error=off(made(np.zeros((8, 2)), k, 3)[0], np.zeros((8, 2))))


def check_quickly() -> None:
    check_verbs()
    check_kernels()
    check_inside()
    with not_compiled():
        check_agreement()


KERNELS: Mapping[str, tuple[str, ...]] = MappingProxyType({
    "jacobi_2d": ("A", "B"), "hdiff": ("in_field", "out_field", "coeff"), "gemm": ("A", "C")})
"""Programs and what is cut of them. Others are cut in `tests/transform/test_cutting.py`, without MPI."""
DISTRIBUTED: Mapping[str, Callable[[], None]] = MappingProxyType({
    "distributed": check_quickly,
    "distributed-few": check_verbs, "distributed-grid": lambda: (check_grid(), check_products())})  # type: ignore[func-returns-value]
