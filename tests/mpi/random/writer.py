"""Random programs of several ranks, as text: the same text and the same messages on all of them, by a number.

They hold vectors `a`, `b`, `c` of N elements, `w` of N + 2, matrices `m` and `p` with a row for each rank, and numbers
`s` and `t` which all ranks have alike. Values stay moderate.
"""
from __future__ import annotations

from collections.abc import Callable
from random import Random
from textwrap import indent

N = 4
HEAD = '''import numpy as np
from mpi4py import MPI


def program(comm, half, x, k):
    rank, size = comm.Get_rank(), comm.Get_size()
    left = rank - 1 if rank > 0 else MPI.PROC_NULL
    right = rank + 1 if rank < size - 1 else MPI.PROC_NULL
    a, b, c = np.sin(x), k * x, x.copy()
    w = np.ones(x.shape[0] + 2, dtype=x.dtype)
    m, p = np.ones((size, x.shape[0]), dtype=x.dtype), np.ones((size, x.shape[0]), dtype=x.dtype)
    s = t = 0.5
'''
END = "    return a + 0.5 * b * c + w[1:-1] + 0.1 * np.sum(m * p, axis=0) + 0.1 * s * t"
VECTORS = ("a", "b", "c", "w[1:-1]", "m[{row}]", "w[2:]")
INTO = ("a", "b", "c", "w[1:-1]", "w[:-2]", "p[{row}]")
PARTS = ("[1:3]", "[:1]", "[-2:]", "[1:1]", "")
SIZES = "[r % 3 + 1 for r in range(size)]"
OUTSIDE = -1
"""The depth of a branch: there is no loop around it, and none in it."""
Write = Callable[[Random, int], str]
"""A statement, in so many loops."""


def _vector(r: Random, names: tuple[str, ...] = VECTORS) -> str:
    return r.choice(names).format(row=r.choice(("0", "rank", "size - 1", "(rank + 1) % size")))


def _value(r: Random) -> str:
    """An expression of N elements that is moderate."""
    one, other = _vector(r), _vector(r)
    return r.choice(("np.sin({0}) * {1}", "0.5 * {0} + 0.3 * {1}", "np.tanh({0} + {1})", "{0} * k / (1.5 + {1} * {1})",
                     "{0} * (rank + 1.0) * 0.4", "0.5 * s * {0}", "np.cos({0} * t)")).format(one, other)


def _pair(r: Random) -> tuple[str, str]:
    """What is sent, and another place for what is received, of the same size and with nothing in common."""
    part = r.choice(PARTS)
    if r.random() < 0.3:
        return r.choice((("w[1:2]", "w[-1:]"), ("w[-2:-1]", "w[:1]"), ("w[1:3]", "w[3:5]")))
    one, other = r.sample(("a", "b", "c", "w[1:-1]", "m[rank]"), 2)
    return one + part, other + part


def _local(r: Random, depth: int) -> str:
    if r.random() < 0.3:
        return r.choice(("c[1:] = 0.5 * c[:-1] + a[1:]", "b[::2] *= s", "w[0] = a[1] * b[2]",
                         "m[0] += 0.5 * b", "a = a.copy()", "t = 0.5 * np.tanh(s * t)", "p[rank] = np.tanh(m[rank])"))
    return f"{_vector(r, INTO[:4])} = {_value(r)}" if r.random() < 0.5 else f"{r.choice('abc')} = {_value(r)}"


def _shift(r: Random, depth: int) -> str:
    out, into = _pair(r)
    by, tag = r.choice(("1", "2", "(size - 1)", "0")), r.randint(0, 3)
    if depth > 0 and r.random() < 0.5:
        by = "step"
    if r.random() < 0.3:
        return f"comm.Sendrecv_replace({out}, (rank + {by}) % size, {tag}, (rank - {by}) % size, {tag})"
    return f"comm.Sendrecv({out}, (rank + {by}) % size, {tag}, {into}, (rank - {by}) % size, {tag})"


def _halo(r: Random, depth: int) -> str:
    lines = ["comm.Sendrecv(w[1:2], left, 1, w[-1:], right, 1)", "comm.Sendrecv(w[-2:-1], right, 2, w[:1], left, 2)"]
    if r.random() < 0.4:
        lines = ["asked = [comm.Irecv(w[:1], left, 7), comm.Irecv(w[-1:], right, 8), comm.Isend(w[1:2], left, 8), "
                 "comm.Isend(w[-2:-1], right, 7)]", "MPI.Request.Waitall(asked)"]
    return "\n".join([*lines, "w[1:-1] = 0.4 * w[1:-1] + 0.2 * w[2:] + 0.2 * w[:-2] * w[1:-1]"])


def _direct(r: Random, depth: int) -> str:
    """From one rank to another one; some do nothing. A wildcard leaves no choice: ranks may be ahead of each other."""
    out, into = _pair(r)
    one, other = r.sample(("0", "size - 1"), 2)
    source = r.choice((one, "MPI.ANY_SOURCE"))
    if r.random() < 0.3:
        return "\n".join([f"if rank == {one}:", f"    comm.Send({out}, {other}, 4)", f"elif rank == {other}:",
                          "    told = MPI.Status()", f"    comm.Recv({into}, {one}, MPI.ANY_TAG, told)",
                          "    c[told.Get_tag() - 4] *= 0.5"])
    return "\n".join([f"if rank == {one}:", f"    comm.{r.choice(('Send', 'Ssend'))}({out}, {other}, 4)",
                      f"if rank == {other}:", f"    comm.Recv({into}, {source}, 4)", f"    {_local(r, depth)}"])


def _requests(r: Random, depth: int) -> str:
    out, into = _pair(r)
    return "\n".join([f"one = comm.Irecv({into}, (rank - 1) % size, 6)",
                      f"two = comm.Isend({out}, (rank + 1) % size, 6)",
                      "two.Wait()", "one.Wait()"])


def _partners(r: Random, depth: int) -> str:
    """An odd-even transposition: ranks at the ends have nobody in some iterations, which only the run knows."""
    out, into = _pair(r)
    phase = ("1", "step", "inner")[max(depth, 0)]
    message = r.choice((
        f"comm.Sendrecv({out}, other, 5, {into}, other, 5)", f"comm.Sendrecv_replace({out}, other, 5, other, 5)",
        f"told = MPI.Status()\ncomm.Sendrecv({out}, other, 5, {into}, other, 5, told)\nc[0] *= 0.2 * told.Get_source()",
        f"MPI.Request.Waitall([comm.Irecv({into}, other, 8), comm.Isend({out}, other, 8)])"))
    return "\n".join([f"other = rank + 1 if ({phase} + rank) % 2 == 0 else rank - 1",
                      "other = other if 0 <= other < size else MPI.PROC_NULL", message])


def _sum(r: Random, depth: int) -> str:
    how = r.choice(("", "", "", ", op=MPI.MAX", ", op=MPI.MIN"))
    one = _vector(r)
    return r.choice((f"s = np.tanh(comm.allreduce(np.sum({one}){how}))", f"c = np.sin(comm.allreduce({one}))",
                     f"comm.Allreduce({r.choice('ac')} * 0.5, b{how})",
                     f"comm.Allreduce(MPI.IN_PLACE, a{how})\na = 0.4 * a",
                     f"t = 0.5 * np.cos(half.allreduce(np.sum({one} * k)))\nt = comm.bcast(t, root=0)",
                     "half.Allreduce(a * b, c)\nc = 0.5 * c"))


def _rooted(r: Random, depth: int) -> str:
    root = r.choice(("0", "size - 1"))
    return r.choice((
        f"comm.Bcast({r.choice(('a', 'b[1:]', 'm', 'w'))}, root={root})",
        f"t = np.sin(comm.bcast(a[1] * b[0], root={root}))",
        f"comm.Reduce(b * 0.5, c, root={root})",
        f"total = comm.reduce(np.sum(a * b), root={root})\nif rank == {root}:\n    a = a * np.tanh(total)",
        f"comm.Scatter(m, b, root={root})\nb = np.sin(b)",
        f"comm.Gather(c, p, root={root})",
        f"comm.Gatherv(b, [p, [4] * size] if rank == {root} else None, root={root})",
        f"comm.Reduce(a + 1.0, c, op=MPI.PROD, root={root})\nc = np.sin(c)",
        f"comm.Scatterv([m, ({SIZES}, [3 * r for r in range(size)])] if rank == {root} else None, b[:rank % 3 + 1], "
        f"root={root})"))


def _everybody(r: Random, depth: int) -> str:
    one, how = _vector(r, VECTORS[:4]), r.choice(("", ", op=MPI.MAX", ", op=MPI.PROD"))
    return r.choice((
        f"comm.Allgatherv({one}[:rank % 3 + 1], [p, ({SIZES}, [4 * r for r in range(size)])])",
        f"comm.{r.choice(('Scan', 'Exscan'))}({one} * 0.5, b{how})\nb = np.sin(b)",
        f"t = np.tanh(comm.scan(np.sum({one})))", "comm.Allgather(MPI.IN_PLACE, m)",
        "comm.Reduce_scatter(0.5 * m, c, [4] * size)\nc = np.sin(c)",
        f"comm.Allgather({one}, m)", "comm.Alltoall(m, p)", "comm.Reduce_scatter_block(0.5 * m * p, a)",
        "every = comm.allgather(np.sum(b * b))\nb = b + 0.1 * every[0] * every[size - 1]", "comm.Barrier()",
        f"rows = comm.gather({one} * 0.5, root=0)\nif rank == 0:\n    c = rows[0] * rows[size - 1]"))


def _branch(r: Random, depth: int) -> str:
    """Ranks go different ways, each alone; or the same way by a number that all have."""
    if r.random() < 0.5:
        then, other = _local(r, depth), _local(r, depth)
        test = r.choice(("rank % 2 == 0", "rank == size - 1", "rank > 0"))
    else:
        then, other = _block(r, OUTSIDE, 1), _block(r, OUTSIDE, 1)
        test = r.choice(("comm.allreduce(np.sum(a)) > 0.3", "comm.allreduce(np.max(b), op=MPI.MAX) < 0.7", "size > 2"))
    return f"if {test}:\n{indent(then, '    ')}\nelse:\n{indent(other, '    ')}"


def _loop(r: Random, depth: int) -> str:
    name = "step" if depth == 0 else "inner"
    return f"for {name} in range({r.choice(('2', '3', 'size', '1'))}):\n" + indent(_block(r, depth + 1, 2), "    ")


def _while(r: Random, depth: int) -> str:
    around = f"    comm.Sendrecv(a, (rank + 1) % size, {r.randint(0, 3)}, b, (rank - 1) % size)"
    again = "rest = comm.allreduce(np.sum(a * a))"
    return "\n".join(["a = np.sin(a)", again, "while rest > 0.3:", around, "    a = 0.6 * np.sin(a)", f"    {again}"])


FLAT: tuple[Write, ...] = (_local, _local, _shift, _halo, _direct, _requests, _partners, _sum, _rooted, _everybody)
DEEP: tuple[Write, ...] = (*FLAT, _branch, _loop, _while)


def _block(r: Random, depth: int, most: int) -> str:
    kinds = DEEP if depth == 0 else (*FLAT, _loop) if depth == 1 else FLAT
    return "\n".join(r.choice(kinds)(r, depth) for _ in range(r.randint(1, most)))


def text_of(number: int) -> str:
    """The program with a number."""
    r = Random(number)
    body = "\n".join(_block(r, 0, 1) for _ in range(r.randint(4, 8)))
    return HEAD + indent(body, "    ") + "\n" + END + "\n"
