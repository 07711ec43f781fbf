"""Arrays on disk: files without a name, mapped into memory, that are gone with the last reference.

The pages belong to the file, so the system may write them out and take their memory whenever it is short. Space is
reserved before the program starts: a disk that is full is found out then, not in the middle of a sweep.
"""
from __future__ import annotations

import errno
import mmap
import os
import tempfile

import numpy as np

from sdfgad.codegen.targets import chosen
from sdfgad.errors import MemoryLimitError, UnsupportedError, UsageError
from sdfgad.ir.program import Array
from sdfgad.memory import format_bytes

FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)


HOST = "host"
"""As a folder: snapshots of a graphics processor go to the memory of the host."""


def check_spill(spill: str | None) -> None:
    """UnsupportedError for a folder where programs run on a device, UsageError for the memory of the host elsewhere."""
    if spill is None or (spill == HOST) == chosen().on_device:
        return
    if spill == HOST:
        raise UsageError('spill="host" without a graphics processor: snapshots lie there already', code="SG205",
                         help='name a folder; one of this name is "./host"')
    raise UnsupportedError(f"snapshots in the folder {spill!r} on a graphics processor", code="SG123",
                           help='spill="host" keeps them in the memory of the host')


def on_disk(array: Array, folder: str | None) -> np.ndarray:
    """Room for an array in a file in a folder; content undefined. UsageError when the folder cannot be written,
    MemoryLimitError when the disk is full."""
    size = max(1, array.bytes)
    try:
        with tempfile.TemporaryFile(prefix="sdfgad-", dir=folder) as file:
            os.posix_fallocate(file.fileno(), 0, size)
            pages = mmap.mmap(file.fileno(), size)
    except OSError as error:
        if error.errno in FULL:
            raise MemoryLimitError(f"{format_bytes(size)} for snapshots do not fit on the disk of {folder}",
                                   minimum_bytes=size, code="SG304") from error
        raise UsageError(f"spill={folder!r}: no file can be made there: {error.strerror}", code="SG205") from error
    return np.frombuffer(pages, array.dtype, count=array.bytes // array.dtype.itemsize).reshape(array.shape)
