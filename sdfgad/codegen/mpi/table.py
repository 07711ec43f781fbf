"""Addresses of MPI's functions, and its handles as numbers, for generated code: nothing is linked.

The functions are those of the library that mpi4py has loaded into this process, whichever that is. The layout is that
of `Table` in `runtime/sdfgad_mpi.h`.
"""
from __future__ import annotations

import ctypes
from functools import lru_cache
from pathlib import Path
from typing import Any

from sdfgad.errors import ToolchainError
from sdfgad.ranks import handle_of, library

FUNCTIONS = ("Isend", "Irecv", "Waitall", "Get_count", "Allreduce", "Bcast", "Reduce", "Scatter", "Gather", "Allgather",
             "Reduce_scatter_block", "Alltoall", "Barrier", "Scatterv", "Gatherv", "Allgatherv", "Reduce_scatter",
             "Alltoallv", "Error_string", "Abort", "Comm_rank", "Comm_size", "Iallreduce", "Ibcast", "Ireduce",
             "Iscatter", "Igather", "Iallgather", "Ireduce_scatter_block", "Ialltoall")
TYPES = "dfDFlqi?"
"""Characters of NumPy's types, in the order of the handles in the table."""
HOW = ("sum", "max", "min")
"""Names of reductions, in the order of the handles in the table."""
HEAD, SHOWN = 6, 8
WAIT = (ctypes.c_int64 * (HEAD + 4 * SHOWN))()
"""What this process waits for, in the layout of `Wait` in `runtime/sdfgad_mpi.h`."""
FENCE = (ctypes.c_int64 * 2)()
"""Whether the ranks have to meet between the sweeps, and through which communicator, in the layout of `Fence` there."""
_MARK_SOURCE, _MARK_TAG = 0x5A17, 0x3B29


@lru_cache(maxsize=1)
def mpi_table() -> Any:
    """The table, which stays where it is as long as the process lives; ToolchainError where no library is found."""
    mpi = library()
    if mpi is None:
        raise ToolchainError("a program that communicates, and mpi4py is not loaded", code="SG509",
                             help="import mpi4py.MPI before the call")
    loaded = _loaded()
    functions = [_address(loaded, f"MPI_{name}") for name in FUNCTIONS]
    types = (mpi.DOUBLE, mpi.FLOAT, mpi.C_DOUBLE_COMPLEX, mpi.C_FLOAT_COMPLEX, mpi.INT64_T, mpi.INT64_T, mpi.INT32_T,
             mpi.UINT8_T)
    handles = [mpi._handleof(one) for one in (*types, mpi.SUM, mpi.MAX, mpi.MIN)]
    places = _places_in_status(mpi)
    numbers = [*functions, *handles, mpi._sizeof(mpi.COMM_WORLD), mpi._sizeof(mpi.Status), *places, mpi.PROC_NULL,
               mpi.ANY_SOURCE, mpi.ANY_TAG, ctypes.addressof(WAIT), ctypes.addressof(FENCE), 0]
    return (ctypes.c_uint64 * len(numbers))(*[int(n) & (2**64 - 1) for n in numbers])


def fence(communicator: Any | None) -> None:
    """In the next program the ranks of the communicator meet before the reverse sweep; None: they do not."""
    FENCE[:] = [0, 0] if communicator is None else [1, handle_of(communicator)]


def cross_fence(communicator: Any) -> None:
    """For a rank that sends nothing in the reverse sweep, and has met nobody."""
    if FENCE[0]:
        FENCE[0] = 0
        communicator.Barrier()


def _loaded() -> ctypes.CDLL:
    """The MPI library among the files that are mapped into this process."""
    lines = Path("/proc/self/maps").read_text().splitlines()
    paths = dict.fromkeys(line.split(maxsplit=5)[-1] for line in lines if "/" in line)
    for path in paths:
        if Path(path).name.startswith(("libmpi.", "libmpi_abi.", "libmpich.")):
            found = ctypes.CDLL(path)
            if hasattr(found, "MPI_Isend"):
                return found
    raise ToolchainError("the MPI library that mpi4py uses is not found among the files of this process", code="SG509",
                         help="the libraries of MPICH, Intel MPI and Open MPI are known by their names, libmpi.so")


def _address(loaded: ctypes.CDLL, name: str) -> int:
    try:
        return ctypes.cast(getattr(loaded, name), ctypes.c_void_p).value or 0
    except AttributeError as error:
        raise ToolchainError(f"the MPI library has no {name}", code="SG509", help="MPI 3.1 is needed") from error


def _places_in_status(mpi: Any) -> tuple[int, int]:
    """Where in a status the source and the tag lie, in bytes: libraries differ."""
    status = mpi.Status()
    status.Set_source(_MARK_SOURCE)
    status.Set_tag(_MARK_TAG)
    size = mpi._sizeof(mpi.Status)
    words = list((ctypes.c_int32 * (size // 4)).from_address(mpi._addressof(status)))
    if words.count(_MARK_SOURCE) != 1 or words.count(_MARK_TAG) != 1:
        raise ToolchainError("a status of this MPI library has an unknown form", code="SG509",
                             help="please report the library and its version")
    return 4 * words.index(_MARK_SOURCE), 4 * words.index(_MARK_TAG)
