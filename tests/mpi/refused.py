"""Programs that are refused on every rank; the comment says at which line and what the message has to hold."""
from __future__ import annotations

import numpy as np
from mpi4py import MPI


def pickled(comm, x):
    comm.isend({"abc"}, comm.rank)  # a message of
    return comm.allreduce(np.sum(x)) if comm.recv() else 0.0


def one_sided(comm, x):
    MPI.Win.Create(x, comm=comm)  # docs/distributed.md
    return comm.allreduce(np.sum(x))


def where_largest(comm, x):
    return comm.allreduce(np.sum(x), op=MPI.MAXLOC)  # for MAXLOC or MINLOC


def not_waited(comm, x):
    comm.Isend(x, (comm.rank + 1) % comm.size)  # nothing waits for
    return np.sum(x)


def between(comm, x):
    request = comm.Isend(x, comm.rank)
    s = comm.allreduce(np.sum(x))
    while s < 9:
        s = comm.allreduce(s)  # a collective in a loop or a branch, while messages posted around it
    request.Wait()
    return s


def beyond(comm, x):
    comm.Send(x, dest=comm.size)  # ranks count from 0
    return np.sum(x)


def small_types(comm, x):
    comm.Bcast(np.ones(3, dtype=np.int16))  # int16
    return np.sum(x)


def read_at_once(comm, x):
    y = np.empty_like(x)
    request = comm.Isend(x, (comm.rank + 1) % comm.size)
    comm.Recv(y, (comm.rank - 1) % comm.size)
    z = np.sin(y)  # what a message brings that is received while
    request.Wait()
    return np.sum(z)


def in_pieces(comm, x):
    y = np.empty(3)
    comm.Scatter(x, y)  # all parts have to be of one size
    return np.sum(y)


def scattered_in_place(comm, x):
    y = np.zeros((comm.size, 3))
    comm.Reduce_scatter_block(MPI.IN_PLACE, y[:, 1:])  # not in one piece
    return np.sum(y) + np.sum(x)


def largest_complex(comm, x):
    return np.abs(comm.allreduce(1j * np.sum(x), op=MPI.MAX))  # SUM, PROD, MAX and MIN of numbers are taken


def made_by_data(comm, x):
    s = np.sum(x)
    if s > 0:
        sub = comm.Dup()  # a communicator made in a loop or a branch
        s = sub.allreduce(s)
    return s


def beyond_the_rows(comm, x):
    column = MPI.DOUBLE.Create_vector(3, 1, 2).Commit()
    comm.Bcast([x, 1, column])  # reaches beyond a buffer of 3 elements
    return np.sum(x)


def typed_twice(comm, x):
    kind = MPI.DOUBLE.Create_vector(3, 2, 1)  # an element twice
    comm.Bcast([x, 1, kind])
    return np.sum(x)


def typed_counts(comm, x):
    kind = MPI.DOUBLE.Create_contiguous(1).Commit()
    got = np.zeros(comm.size)
    comm.Allgatherv(x[:1], [got, kind])  # a derived datatype without counts
    return np.sum(got)


def more_than_there_is(comm, x):
    comm.Bcast([x, x.size + 1, MPI.DOUBLE])  # a count or a datatype that reaches beyond
    return np.sum(x)


STRUCT = MPI.Datatype.Create_struct([1, 1], [0, 8], [MPI.DOUBLE, MPI.DOUBLE])


def structures(comm, x):
    comm.Bcast([x, 1, STRUCT])  # a datatype made by struct
    return np.sum(x)


def turned_order(comm, x):
    m = np.outer(x[:2], x[:2])
    y = m.T * 1.0
    comm.Bcast(y)  # in any order
    return np.sum(y)


def of_two_kinds(comm, x):
    """The collective of uneven parts waits for the other ranks."""
    total, got = np.zeros(4 * comm.size), np.zeros(4)
    asked = [comm.Iallgatherv(x[:4], total), comm.Irecv(got, comm.rank), comm.Isend(x, comm.rank)]
    MPI.Request.Waitall(asked)  # requests of messages, and of a collective of uneven parts
    return np.sum(total[:4] * got)


def answered_at_once(comm, x):
    """What comes second may wait for the answer to what came first."""
    got, t = np.zeros((2, 4)), 0.0
    requests = [comm.Irecv(got[k], source=0, tag=k) for k in range(2)]
    for _ in range(2):
        k = MPI.Request.Waitany(requests)
        comm.Send(got[k], dest=0, tag=2)  # a message behind a wait for some requests
        t += np.sum(got[k])
    return t * np.sum(x)


def of_one_way(comm, x):
    """Cotangents would come in the other order than they are waited for."""
    y, z, other = np.zeros_like(x), np.zeros_like(x), (comm.rank + 1) % comm.size
    come, gone = comm.Irecv(y), comm.Isend(x, other)
    come.Wait()
    MPI.Request.Waitall([comm.Irecv(z), comm.Isend(y, other)])  # while others of the same way are under way
    s = comm.allreduce(np.sum(z))
    gone.Wait()
    return s


def asked(comm, x):
    request = comm.Isend(x, (comm.rank + 1) % comm.size)
    while not MPI.Request.Testall([request]):  # wait instead
        pass
    return np.sum(x)


ALL = (pickled, one_sided, where_largest, not_waited, between, beyond, small_types, read_at_once, in_pieces,
       made_by_data, scattered_in_place, largest_complex, beyond_the_rows, typed_twice, typed_counts,
       more_than_there_is,
       structures, turned_order, of_two_kinds, answered_at_once, of_one_way, asked)
