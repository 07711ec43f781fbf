"""What real programs write: sizes that they compute, and tell each other in buffers and in objects before arrays of
these sizes go; neighbours of grids, groups, statuses, flags."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from mpi4py import MPI

import sdfgad
from tests.mpi.random.machine import agreed_by_reference
from tests.mpi.telling import COMM, error_of, tell


def of_root(comm, x):
    """The root decides how much each rank gets."""
    if comm.rank == 0:
        given = np.sin(x)
        each, more = divmod(given.size, comm.size)
        counts = np.array([each + 1 if r < more else each for r in range(comm.size)])
        places = np.array([sum(counts[:r]) for r in range(comm.size)])
    else:
        given, counts, places = None, np.zeros(comm.size, dtype=int), None
    comm.Bcast(counts, root=0)
    part = np.zeros(counts[comm.rank])
    comm.Scatterv([given, counts, places, MPI.DOUBLE], part, root=0)
    return np.sum(part ** 3)


def of_sums(comm, x):
    n = 4 * comm.size + 1
    counts = np.full(comm.size, n // comm.size)
    counts[:n % comm.size] += 1
    places = np.concatenate(([0], np.cumsum(counts)[:-1]))
    low = places[comm.rank]
    mine = np.outer(x[:2], np.arange(1.0, 1 + n)).reshape(-1)[low:low + counts[comm.rank]] * x[0]
    whole, others = np.empty(n), np.insert(np.cumsum(counts), 0, 0)[:-1]
    comm.Allgatherv(mine, [whole, counts, places, MPI.DOUBLE])
    comm.Allgatherv(mine * whole[0], [whole, (counts, others)])
    return np.sum(whole ** 2) * x[1]


def of_loops(comm, x):
    counts, places = np.empty(comm.size, dtype=np.int32), np.empty(comm.size, dtype=np.int32)
    for r in range(comm.size):
        if r < 1:
            counts[r] = 3
        else:
            counts[r] = 2
        places[r] = 0 if r == 0 else places[r - 1] + counts[r - 1]
    own, whole = np.empty(counts[comm.rank]), np.zeros(counts.sum())
    own[:] = np.tanh(x[:counts[comm.rank]])
    comm.Allgatherv([own, MPI.DOUBLE], [whole, counts, places, MPI.DOUBLE])
    return np.sum(whole ** 2 * whole[0])


def of_buffers(comm, x):
    """Every rank has another number of elements."""
    mine, counts = np.sin(x[comm.rank:]), np.zeros(comm.size, dtype=int)
    comm.Allgather(np.array([mine.size]), counts)
    places = np.zeros(comm.size, dtype=int)
    places[1:] = np.cumsum(counts[:-1])
    whole = np.empty(int(counts.sum()))
    comm.Allgatherv(mine, [whole, counts, places, MPI.DOUBLE])
    n, total, first = np.array([mine.size]), np.zeros(1, dtype=int), np.zeros(1, dtype=int)
    comm.Allreduce(n, total)
    comm.Exscan(n, first)
    begin = first[0] if comm.rank else 0
    every = np.zeros(total[0])
    every[begin:begin + mine.size] = mine * x[0]
    comm.Allreduce(MPI.IN_PLACE, every)
    told = np.empty(comm.size, dtype="i") if comm.rank == 0 else None
    comm.Gather(np.array(mine.size, dtype="i"), told, root=0)
    rows = np.empty(sum(told)) if comm.rank == 0 else None
    comm.Gatherv(mine * x[1], [rows, told] if comm.rank == 0 else None, root=0)
    return np.sum(whole * every) + (np.sum(rows ** 3) if comm.rank == 0 else 0.0)


def of_pairs(comm, x):
    chunks = [x[r:r + 1 + (comm.rank + r) % 2] * x[0] for r in range(comm.size)]
    there, back = np.array([c.size for c in chunks], dtype=np.int32), np.empty(comm.size, dtype=np.int32)
    comm.Alltoall(there, back)
    got = np.zeros(sum(back))
    comm.Alltoallv([np.concatenate(chunks), there, [0, *np.cumsum(there)[:-1]], MPI.DOUBLE],
                   [got, back, [0, *np.cumsum(back)[:-1]], MPI.DOUBLE])
    again = comm.alltoall([len(c) for c in chunks])
    same = np.empty(sum(again))
    comm.Alltoallv([np.concatenate(chunks), list(there)], [same, again])
    return np.sum(got ** 2) + np.sum(same ** 3)


def of_shapes(comm, x):
    field = np.outer(x[:2 * comm.size], x[:3]) if comm.rank == 0 else None
    shape, kind = (field.shape, field.dtype) if comm.rank == 0 else (None, None)
    shape, kind = comm.bcast(shape, 0), comm.bcast(kind, 0)
    rows = np.zeros((shape[0] // comm.size, shape[1]), kind)
    comm.Scatter(field, rows, 0)
    n = comm.scatter([2 + r % 2 for r in range(comm.size)] if comm.rank == 0 else None)
    return np.sum(rows ** 3) * np.sum(np.ones(n) * x[0])


def of_objects(comm, x):
    given = {"scale": 2 * x[0], "n": 3, "parts": (x[:3] * 2, [x[1], "text"])} if comm.rank == 0 else None
    got = comm.bcast(given, root=0)
    every = comm.allgather((np.sum(x) * got["scale"], comm.rank + 1, x[:got["n"]]))
    return sum(a * k * np.sum(v * got["parts"][0]) for a, k, v in every) * got["parts"][1][0]


def of_several_shapes(comm, x):
    """As `np.array_split` cuts an array whose length is no multiple of the number of ranks."""
    mine = comm.scatter(np.array_split(np.outer(x[:5], x[:2]), comm.size) if comm.rank == 0 else None, root=0)
    every, whole = comm.gather(np.sin(mine), root=0), comm.allgather(mine[:, 0])
    pairs = comm.allgather((x[:comm.rank + 1], {"first": x[0], "rank": comm.rank}))
    total = np.sum(np.concatenate(whole) ** 3) + sum(np.sum(v) * d["first"] * d["rank"] for v, d in pairs)
    return total + np.sum(np.concatenate(every) ** 2) if comm.rank == 0 else total


def of_lists_of_objects(comm, x):
    """The root has a dict for each rank: texts, numbers and arrays of several shapes."""
    last = comm.size - 1
    jobs = [{"id": r, "name": "job" * (r + 1), "scale": x[r] * x[4], "more": (x[:r + 2], [r, x[1]])}
            for r in range(comm.size)] if comm.rank == last else None
    job = comm.scatter(jobs, root=last)
    part, (k, v) = job["more"]
    return job["scale"] * np.sum(part ** 2) * len(job["name"]) * v + x[job["id"]] * k


def of_objects_in_turn(comm, x):
    """Objects in loops: each is one message, of which numbers that change are read."""
    state, s = {"theta": x[:3], "rate": x[3], "step": 0}, x[0]
    for k in range(2):
        if comm.rank == 0:
            state = {"theta": np.sin(state["theta"] * x[:3]), "rate": state["rate"] * 0.5, "step": k}
        state = comm.bcast(state, root=0)
        work = [(state["theta"] * r * s, r + k, "text") for r in range(1, comm.size + 1)] if comm.rank == 0 else None
        part, n, word = comm.scatter(work, root=0)
        s = state["rate"] * np.sum(part * x[:3]) * (state["step"] + n) * len(word)
        every = comm.gather({"rank": comm.rank, "part": x[:2] * s, "text": "a" * comm.rank}, root=0)
        if comm.rank == 0:
            s = s + sum(np.sum(e["part"] ** 2) * (e["rank"] + len(e["text"])) for e in every)
        for v, r in comm.allgather((x[:2], comm.rank + k)):
            s = s + 0.1 * np.sum(v ** 2) * r
    return s


def among_neighbours(comm, x):
    """A grid that is closed in one direction, and so narrow that both neighbours may be one rank."""
    grid = comm.Create_cart(MPI.Compute_dims(comm.size, 2), periods=[True, False])
    u, sides, back = np.sin(x[:2]), np.ones((4, 2)), np.zeros((4, 2))
    for _ in range(2):
        grid.Neighbor_allgather(u, sides)
        u = u + x[2] * (sides[0] * sides[1] - sides[2] + sides[3])
        grid.Neighbor_alltoall(np.outer(np.arange(1.0, 5.0), u), back)
    return np.sum(back ** 2) + np.sum(sides)


def among_vertices(comm, x):
    """A graph with two edges between the same ranks, and one that only rank 0 sends along."""
    rank, size = comm.rank, comm.size
    right, left = (rank + 1) % size, (rank - 1) % size
    sources = [left, left, 0] if rank == size - 1 else [left, left]
    targets = [right, right, size - 1] if rank == 0 else [right, right]
    graph = comm.Create_dist_graph_adjacent(sources, targets)
    u, got = np.outer(np.sin(x[:2]), x[:len(targets)]), np.zeros(2 * len(sources))
    graph.Neighbor_alltoall(u.T.copy(), got)
    n = [1, 2, 3][:len(targets)]
    more, first = np.ones(9), [4, 1, 6][:len(sources)]
    graph.Neighbor_alltoallv([x[:sum(n)] * got[0], n], [more, ([1, 2, 3][:len(sources)], first)])
    every = np.zeros(2 * len(graph.inedges) + 1)
    graph.Neighbor_allgatherv([more[4:], 2, MPI.DOUBLE], [every, [2] * len(sources)])
    ring = comm.Create_graph([2 * r + 2 for r in range(size)],
                             [n % size for r in range(size) for n in (r - 1, r + 1)])
    both = np.zeros((2, 2))
    ring.Neighbor_allgather(every[:2], both)
    return np.sum(got ** 2) + np.sum(more ** 3) + np.sum(every * x[1]) * len(graph.Get_dist_neighbors()[0]) + both[1, 0]


def with_statuses(comm, x):
    """Waits that say whom messages are of, and one for several that is called on one of them."""
    right, left = (comm.rank + 1) % comm.size, (comm.rank - 1) % comm.size
    a, b, told = np.zeros(2), np.zeros(3), [MPI.Status() for _ in range(4)]
    asked = [comm.Irecv(a, source=left, tag=4), comm.Irecv(b, source=right, tag=5), comm.Isend(x[:2], right, 4),
             comm.Isend(np.sin(x[:3]), left, 5)]
    asked[0].Waitall(asked, told)
    one, c = MPI.Status(), np.zeros(1)
    asked = [comm.Irecv(c, left, 7), comm.Isend(x[3:4], right, 7)]
    asked[0].Wait(one)
    asked[1].Wait()
    return np.sum(a ** 2) * (told[0].source + 1) + np.sum(b) * told[1].Get_tag() + c[0] * one.Get_source()


def until_all_agree(comm, x):
    """Integers stand for flags."""
    u, done, steps = x * 1.0, False, 0
    while not done:
        u, steps = 0.8 * u, steps + 1
        mine, every = np.array(np.max(u) < 0.2 + 0.1 * comm.rank, dtype="i"), np.array(0, dtype="i")
        comm.Allreduce([mine, MPI.INT], [every, MPI.INT], op=MPI.LAND)
        done = bool(every)
    flags, some = np.array([2, 0, comm.rank]), np.zeros(3, dtype=int)
    comm.Allreduce(flags, some, op=MPI.LOR)
    return np.sum(u ** 2) * steps + np.sum(x) * (some[0] + some[2])


def in_groups(comm, x):
    group = comm.Get_group()
    even, odd = (comm.Create(g) for g in (group.Incl(list(range(0, comm.size, 2))),
                                          group.Excl(list(range(0, comm.size, 2)))))
    s = np.sum(x ** 2)
    if even != MPI.COMM_NULL:
        s = even.allreduce(s * x[0])
    if odd != MPI.COMM_NULL:
        s = odd.allreduce(s * x[1]) * odd.Get_size()
    return comm.Split_type(MPI.COMM_TYPE_SHARED).allreduce(s ** 2) * x[2]


PROGRAMS: tuple[Callable[..., Any], ...] = (
    of_root, of_sums, of_loops, of_buffers, of_pairs, of_shapes, of_objects, of_several_shapes, of_lists_of_objects,
    of_objects_in_turn, among_neighbours, among_vertices, with_statuses, until_all_agree, in_groups)


def check_sizes() -> None:
    """Value, tangent and gradient by the reference semantics against differences of the sum over the ranks."""
    for fn in PROGRAMS:
        tell(f"sizes {fn.__name__}", **errors_of(fn))
    for fn in (unlike, unlike_items, unlike_in_turn):
        tell(f"{fn.__name__} sizes", error=error_of(lambda fn=fn: sdfgad.grad(fn, wrt="x", objective="sum")(
            COMM, np.ones(3))))


def errors_of(fn: Callable[..., Any]) -> dict[str, float]:
    rng = np.random.default_rng(COMM.rank)
    x, dx = 0.3 + rng.random(8), rng.random(8)
    seed = np.array(1.0)
    value, pushed, (back,) = agreed_by_reference(fn, {"comm": COMM, "x": x}, {"x": dx}, seed)

    def total(step: float) -> float:
        found = fn(COMM, x + step * dx)
        return COMM.allreduce(0.0 if found is None else float(found))

    sides = np.array([0.0 if v is None else v for v in (value, pushed)] + [np.vdot(back, dx)])
    there, along, slope_back = COMM.allreduce(sides)
    slope = (total(1e-6) - total(-1e-6)) / 2e-6
    return {"value": abs(there - total(0.0)) / abs(there), "slope": abs(along - slope) / abs(slope),
            "dot": abs(along - slope_back) / abs(along)}


def unlike(comm, x):
    """Refused: objects that are not made alike."""
    return comm.allgather((x[0], x[1]) if comm.rank == 0 else (x[0], x[1], x[2]))[0][0]


def unlike_items(comm, x):
    items = [(x[0],), *[(x[0], x[1])] * (comm.size - 1)] if comm.rank == 0 else None
    return comm.scatter(items, root=0)[0]


def unlike_in_turn(comm, x):
    """The loop and its iterations one by one are tried in turn, and ask for other things."""
    s = x[0]
    for _ in range(2):
        s = s * comm.allgather({"a": x[0]} if comm.rank == 0 else {"a": x[:2]})[0]["a"]
    return s


CHECKS_OF_SIZES = {"sizes": check_sizes}
