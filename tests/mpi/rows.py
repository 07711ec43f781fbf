"""Every collective whose parts differ in size, prefixes, products and places in place: both modes, several types."""
from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from types import MappingProxyType
from typing import Any

import numpy as np
from mpi4py import MPI

from tests.mpi.cases import check_both_modes
from tests.mpi.telling import COMM


def parts(comm, x):
    """Rank r has r + 1 elements, rank 1 of three has none."""
    rank, size = comm.rank, comm.size
    counts = [0 if size == 3 and r == 1 else r + 1 for r in range(size)]
    first = [sum(counts[:r]) + r for r in range(size)]
    mine, total = counts[rank], sum(counts)
    own = np.sin(x[:mine]) if mine else np.empty(0, x.dtype)
    every = np.empty(total, x.dtype)
    comm.Allgatherv(own, [every, counts])
    gaps = np.zeros(total + size, x.dtype) + x[0]
    comm.Allgatherv(own * x[:mine], [gaps, (counts, first)])
    s = np.sum(every * gaps[:total])
    comm.Gatherv(own * s, [every, (counts, None)] if rank == size - 1 else None, root=size - 1)
    if rank == size - 1:
        gaps = gaps * np.sum(every)
    back = np.empty(mine, x.dtype)
    comm.Scatterv([gaps, counts, first, MPI.DOUBLE] if rank == size - 1 and x.dtype == np.float64 else
                  [gaps, (counts, first)] if rank == size - 1 else None, back, root=size - 1)
    comm.Reduce_scatter(np.sin(every) * gaps[:total], back, counts)
    even = np.empty(4 // size + (rank < 4 % size), x.dtype)
    comm.Scatterv(x * x if rank == 0 else None, even, root=0)
    there, come = [rank + 1] * size, [r + 1 for r in range(size)]
    sent, got = np.cos(x[:rank + 1]), np.zeros(sum(come) + 2, x.dtype)
    comm.Alltoallv([np.concatenate([sent * (k + 1) for k in range(size)]), there],
                   [got, (come, [sum(come[:r]) + 1 for r in range(size)])])
    return x * np.sum(got * got) + np.sum(back) * np.sum(even * even) + s


def told(comm, x):
    """Counts that ranks tell each other, or that come out of numbers."""
    rank, size = comm.rank, comm.size
    mine, total = rank % 2 + 1, size + size // 2
    counts = comm.allgather(mine)
    every = np.empty(total, x.dtype)
    comm.Allgatherv(np.sin(x[:mine]), [every, counts])
    again = np.array(counts) + 0
    root = np.zeros(total, x.dtype)
    first = np.insert(np.cumsum(again), 0, 0)[:-1]
    comm.Gatherv(x[:mine] * every[0], [root, (again, first)] if rank == size - 1 else None, root=size - 1)
    back = np.empty(mine, x.dtype)
    comm.Scatterv([root * root, again] if rank == size - 1 else None, back, root=size - 1)
    got = np.empty(total, x.dtype)
    for k in range(2):
        there = np.full(size, mine, dtype=np.int64)
        comm.Alltoallv([np.concatenate([back * (r + k + 1.0) for r in range(size)]), there], [got, again])
        back = back + 0.1 * got[total - 1] * x[:mine]
    return x * np.sum(got * got) + np.sum(back)


def requests(comm, x):
    """Messages that block while others are under way: all of them are there at the wait."""
    right, left = (comm.rank + 1) % comm.size, (comm.rank - 1) % comm.size
    w, y, z = x * x, np.empty_like(x), np.empty_like(x)
    kept = w
    halo = [comm.Send_init(w, right, 7), comm.Recv_init(z, left, 7)]
    for _ in range(2):
        MPI.Prequest.Startall(halo)
        kept[1:] += 0.1 * w[0]
        MPI.Request.Waitall(halo)
        w = w + 0.5 * z
        asked = comm.Irecv(z, left, 1)
        comm.Send(w, right, 2)
        w[0] = x[1]
        comm.Recv(y, left, 2)
        comm.Send(w, right, 1)
        asked.Wait()
        w = np.sin(y) * z + w
        asked = comm.Isend(w, right)
        comm.Recv(y, left)
        asked.Wait()
        w = 0.5 * w + y
    for one in halo:
        one.Free()
    return w


def posted(comm, x):
    """Collectives that do not block: what is sent, and what is said of parts, is that of the call."""
    rank, size = comm.rank, comm.size
    counts, every = [r + 1 for r in range(size)], np.empty(size * (size + 1) // 2, x.dtype)
    own, rows, column = x * x, np.zeros((size, 4), x.dtype), np.empty(4, x.dtype)
    said = np.array(counts)
    each = np.outer(np.arange(1.0, size + 1), x).astype(x.dtype)
    asked = [comm.Iallgatherv(own[:rank + 1], [every, counts]), comm.Ialltoall(each, rows)]
    own[:] = 0.0
    counts = counts + [7]
    MPI.Request.Waitall(asked)
    comm.Iscatter(rows * x if rank == 0 else None, column, root=0).Wait()
    part, back = np.empty(rank + 1, x.dtype), np.empty(4, x.dtype)
    asked = comm.Iscatterv([every * every[0], said] if rank == 0 else None, part, root=0)
    said[:] = 0
    asked.Wait()
    comm.Ireduce_scatter_block(rows * column, back).Wait()
    comm.Ireduce_scatter(every * x[0], part, [r + 1 for r in range(size)]).Wait()
    whole, last = np.zeros_like(every), size - 1
    comm.Igatherv(part * x[1], [whole, [r + 1 for r in range(size)]] if rank == last else None, root=last).Wait()
    swapped = np.empty(size, x.dtype)
    comm.Ialltoallv([np.outer(np.ones(size), x[:1]).ravel().astype(x.dtype) * part[0], [1] * size],
                    [swapped, [1] * size]).Wait()
    before = np.zeros_like(x)
    comm.Iscan(back, before).Wait()
    comm.Iexscan(before * x, back).Wait()
    return x + x * np.sum(whole) + before * np.sum(swapped * swapped) + back * column


def as_they_come(comm, x):
    """Waits for some of several requests, in whatever order they are done; requests of nobody are none."""
    others = [r for r in range(comm.size) if r != comm.rank]
    y = x * 1.0
    for _ in range(2):
        got = [np.empty_like(y) for _ in others]
        sent = [comm.Isend(np.sin(0.2 * y * (r + 1)), dest=r, tag=3) for r in others]
        came = [comm.Irecv(got[k], source=r, tag=3) for k, r in enumerate(others)] + [MPI.REQUEST_NULL]
        for _ in others:
            status = MPI.Status()
            k = MPI.Request.Waitany(came, status)
            y = y + got[k] ** 2 * (status.Get_source() + 1) * (others[k] + 1)
        assert MPI.Request.Waitany(came) == MPI.UNDEFINED
        left = len(sent)
        while left > 0:
            left -= len(MPI.Request.Waitsome(sent))
    return y * x


def empties(comm, x):
    """Nothing goes, by every collective: libraries look at addresses all the same."""
    e, f = np.empty(0, x.dtype), np.empty(0, x.dtype)
    g, h = np.empty((comm.size, 0), x.dtype), np.empty((comm.size, 0), x.dtype)
    comm.Allreduce(x[:0], e)
    comm.Allgather(e, g)
    comm.Bcast(f, root=0)
    comm.Reduce(e, f, root=0)
    comm.Alltoall(g, h)
    comm.Reduce_scatter_block(h, e)
    comm.Scatter(g, f, root=0)
    comm.Gather(f, g, root=0)
    comm.Allgatherv(e, [f, [0] * comm.size])
    comm.Reduce_scatter(h, e, [0] * comm.size)
    return x * x + np.sum(e) + np.sum(g) + np.sum(f)


def prefixes(comm, x):
    y, z = np.zeros_like(x), x * x
    comm.Scan(np.sin(x), y)
    comm.Exscan(y * x, z)
    comm.Scan(MPI.IN_PLACE, z)
    s = comm.scan(np.sum(z * x)) * 0.1
    t = comm.exscan(s * x[0])
    if comm.rank > 0:
        s = s * t
    return z * s * y


def products(comm, x):
    """Zeros on one rank, on two ranks, on none."""
    k = np.ones(4, x.dtype)
    k[1] = 0.0 if comm.rank == 0 else 1.0
    k[2] = 0.0
    y = np.empty_like(x)
    comm.Allreduce(x * k, y, op=MPI.PROD)
    p = comm.allreduce(x[1] * x[0], op=MPI.PROD)
    q = comm.reduce(x[2], op=MPI.PROD, root=0)
    z = x * x
    comm.Reduce(y * x, z, op=MPI.PROD, root=comm.size - 1)
    u = np.zeros_like(x)
    comm.Scan(x * y + 1.0, u, op=MPI.PROD)
    if comm.rank == 0:
        p = p * q
    return x * y * p + z + u


def in_place(comm, x):
    rank, size = comm.rank, comm.size
    m = np.ones((size, 4), x.dtype)
    m[rank] = np.sin(x)
    comm.Allgather(MPI.IN_PLACE, m)
    comm.Alltoall(MPI.IN_PLACE, m)
    comm.Alltoallv(MPI.IN_PLACE, [m, [4] * size])
    y = x * m[0]
    comm.Scatter(m, MPI.IN_PLACE if rank == 0 else y, root=0)
    w = m * y
    comm.Gather(MPI.IN_PLACE if rank == 0 else y, w if rank == 0 else None, root=0)
    w = w * w
    comm.Reduce_scatter_block(MPI.IN_PLACE, w)
    if rank == size - 1:
        comm.Reduce(MPI.IN_PLACE, y, root=size - 1)
    else:
        comm.Reduce(y, None, root=size - 1)
    counts = [4] * size
    comm.Reduce_scatter(MPI.IN_PLACE, w.reshape(-1), counts)
    comm.Gatherv(MPI.IN_PLACE if rank == 0 else y, [m, counts] if rank == 0 else None, root=0)
    comm.Scatterv([m, counts] if rank == 0 else None, MPI.IN_PLACE if rank == 0 else y, root=0)
    comm.Allgatherv(MPI.IN_PLACE, [m, counts])
    return y * w[0] + m[size - 1]


def extremes(comm, x):
    """Ranks tie in the first element."""
    t = x * 1.0
    t[0] = comm.bcast(x[0], root=0)
    y, z = np.empty_like(x), np.zeros_like(x)
    comm.Allreduce(t, y, op=MPI.MAX)
    comm.Reduce(t * x, z, op=MPI.MIN, root=0)
    own = np.empty(4, x.dtype)
    comm.Reduce_scatter_block(np.concatenate([t * (r + 1.0) for r in range(comm.size)]), own, op=MPI.MAX)
    u = np.empty_like(x)
    comm.Scan(t, u, op=MPI.MIN)
    return x * y + z + own * u


SPARSE = MPI.DOUBLE.Create_hvector(2, 1, 16)
"""Made outside, and never sent: committed by nobody."""


def typed(comm, x):
    """Columns, boxes, pairs, and a type whose steps go over the ends of rows, the transpose of an array."""
    rank, size = comm.rank, comm.size
    kind = {"f": MPI.FLOAT, "d": MPI.DOUBLE, "F": MPI.C_FLOAT_COMPLEX, "D": MPI.C_DOUBLE_COMPLEX}[x.dtype.char]
    right, left = (rank + 1) % size, (rank - 1) % size
    m = np.outer(np.sin(x), x)
    column = kind.Create_vector(4, 1, 4).Commit()
    comm.Sendrecv([m.reshape(-1)[1:], 1, column], right, 1, [m, 1, column], left, 1)
    k = m * 1.0
    comm.Sendrecv([k[0, 2:], 1, column], right, 1, m[1], left, 1)
    box = kind.Create_subarray([4, 4], [2, 2], [1, 1]).Commit()
    other = kind.Create_subarray([4, 2], [2, 2], [2, 0], order=MPI.ORDER_FORTRAN).Commit()
    n = np.ones((2, 4), x.dtype) * x
    requests = [comm.Isend([m, box], left), comm.Irecv([n, 1, other], right)]
    MPI.Request.Waitall(requests)
    pair = kind.Create_contiguous(SPARSE.Get_size() // 8).Commit()
    comm.Bcast([n[1:], 1, pair], root=size - 1)
    w = np.zeros((4, size), x.dtype)
    turned = kind.Create_vector(4, 1, size).Create_resized(0, x.itemsize).Commit()
    comm.Allgather(m[2] * x, [w, 1, turned])
    crossing = kind.Create_vector(3, 2, 3).Commit()
    v = np.zeros((3, 6), x.dtype)
    comm.Sendrecv([w.reshape(-1)[:4], 4, kind] if size > 1 else w.reshape(-1), right, 3, v[0, 2:], left, 3)
    comm.Sendrecv([m, 1, crossing], right, 3, [v, 1, crossing], left, 3)
    t = np.zeros_like(m)
    comm.Sendrecv(m.T, right, 5, t, left, 5)  # in the order of memory, which is that of m
    for one in (column, box, other, pair, turned, crossing):
        one.Free()
    v[1] *= t[0, 1]
    return m[0] * np.sum(m) + n[0] * np.sum(n[1] * x) + w[:, size - 1] * w[:, 0] * x + v[0, :4] * v[1, :4] + v[0, 5]


def typed_parts(comm, x):
    """Blocks of columns, of several sizes and in another order, and counts that are smaller than buffers."""
    rank, size = comm.rank, comm.size
    kind = {"f": MPI.FLOAT, "d": MPI.DOUBLE, "F": MPI.C_FLOAT_COMPLEX, "D": MPI.C_DOUBLE_COMPLEX}[x.dtype.char]
    m = np.outer(np.sin(x), np.concatenate([x[:2] * (r + 1.0) for r in range(size)]))
    block = kind.Create_subarray([4, 2 * size], [4, 2], [0, 0]).Create_resized(0, 2 * x.itemsize).Commit()
    places = [size - 1 - r for r in range(size)]
    mine = np.zeros((4, 2), x.dtype)
    comm.Scatterv([m, [1] * size, places, block] if rank == 0 else None, mine, root=0)
    column = kind.Create_vector(4, 1, size + 1).Create_resized(0, x.itemsize).Commit()
    w, last = np.ones((4, size + 1), x.dtype) * x[0], size - 1
    counts = [0 if r == 1 and size > 2 else 1 for r in range(size)]
    comm.Allgatherv(mine[:, 0] * x if counts[rank] else np.zeros(0, x.dtype), [w, (counts, None), column])
    comm.Gatherv(MPI.IN_PLACE if rank == last else w[:, rank] * x, [w, ([1] * size, range(size)), column]
                 if rank == last else None, root=last)
    turned = np.zeros((4, size + 1), x.dtype)
    comm.Alltoallv([w, ([1] * size, list(range(size))), column], [turned, ([1] * size, places), column])
    right, left = (rank + 1) % size, (rank - 1) % size
    n = np.outer(x, x)
    comm.Sendrecv([turned, 3, kind], right, 1, [n, 3, kind], left, 1)
    comm.Bcast([n[1:], 2, kind], root=last)
    every = np.ones(2 * size + 1, x.dtype)
    comm.Allgather([n[1], 2, kind], [every, 2, kind])
    comm.Gather([n[2], 2], [every, 2] if rank == 0 else None, root=0)
    return n[0] * x + n[1] * np.sum(w * w) + every[2 * size] * every[0] * x + n[3] * np.sum(mine)


ROWS: Mapping[str, Callable[..., Any]] = MappingProxyType({
    f.__name__: f
    for f in (parts, told, requests, posted, as_they_come, empties, prefixes, products, in_place, extremes, typed,
              typed_parts)})


def check_rows(names: Iterable[str], *dtypes: str, native: bool = False) -> None:
    for name in names:
        if name == "requests" and COMM.size == 1:  # a rank that sends to itself would wait for its own receive
            continue
        for dtype in dtypes:
            if not (dtype.startswith("c") and name == "extremes"):
                check_both_modes(f"row {name} {dtype}{' native' if native else ''}", ROWS[name], dtype, native)


CHECKS_OF_ROWS: Mapping[str, Callable[[], None]] = MappingProxyType({
    "rows-single": lambda: check_rows(ROWS, "float32"),
    "rows-complex": lambda: check_rows(ROWS, "complex128"),
    "rows-native": lambda: check_rows(ROWS, "complex64", "float64", native=True),
    "rows-native-others": lambda: check_rows(ROWS, "float32", "complex128", native=True),
    "parts-native": lambda: check_rows(("parts",), "float64", native=True)})
