"""Compile a program and call it."""
from __future__ import annotations

import ctypes
import weakref
from collections.abc import Collection, Iterable, Mapping
from logging import getLogger
from pathlib import Path
from typing import Any

import numpy as np

from sdfgad.codegen.compiling.build import FIRST_FAILURE, FLAGS, LIBRARY, STRAYED, UNHEARD, read_meta, runtime_text
from sdfgad.codegen.compiling.cache import entry, key_of, publish, withdraw
from sdfgad.codegen.compiling.threads import attach, listen
from sdfgad.codegen.compiling.toolchain import environment
from sdfgad.codegen.device_memory import DeviceMemory, declare
from sdfgad.codegen.devices import load_libraries
from sdfgad.codegen.fingerprint import fingerprint
from sdfgad.codegen.mpi.table import mpi_table
from sdfgad.codegen.mpi.watch import lines_of, waits_in
from sdfgad.codegen.notebook import without_viewer
from sdfgad.codegen.targets import chosen, is_own
from sdfgad.codegen.workspaces import Workspace, workspaces
from sdfgad.config import asked_threads
from sdfgad.errors import MemoryLimitError, ToolchainError, UsageError, crowded, damaged, device_failed, library_missing
from sdfgad.foreign.device_array import DeviceArray
from sdfgad.ir.messages import communicates
from sdfgad.ir.program import Program, strayed
from sdfgad.ir.walk import all_writes
from sdfgad.locks import own_lock
from sdfgad.thresholds import thresholds

_NO_LIMIT = 2**63 - 1
OWN = 1 << 16
"""A program that works in fewer bytes, which its code takes as well, keeps them."""
UNUSABLE = (ToolchainError, OSError, ValueError, KeyError, TypeError)
"""What reading a stored program fails with when something has happened to it, or to a library that it needs."""
_log = getLogger("sdfgad")


def compile_program(program: Program, *, results: Iterable[str] = (), key: str | None = None,
                    loose: Collection[str] = ()) -> Executable:
    """The program as native code.

    The caller passes `program.arguments` and the containers named in `results`; what is in those that are `loose` may
    differ in its last digits. A program that was compiled before is loaded without generating code again; `key` is
    added to what tells programs apart.
    """
    results = tuple(results)
    full = key_of("program", key, fingerprint(program), results, sorted(loose), repr(thresholds()), FLAGS,
                  runtime_text(), chosen().name, _own_text(program, results, loose), *environment(), *chosen().tools())
    found = entry(full)
    if found is not None:
        try:
            return Executable(program, found)
        except UNUSABLE as reason:
            _log.info("the stored %s is compiled again: %s", program.name, reason)
            withdraw(full)
    return Executable(program, _build(program, results, full, loose))


def _own_text(program: Program, results: tuple[str, ...], loose: Collection[str]) -> str:
    """The code of a target that may have changed since it made code for the same program."""
    return chosen().generate(program, results, loose).text if is_own() else ""


def _build(program: Program, results: tuple[str, ...], key: str, loose: Collection[str]) -> Path:
    with without_viewer():
        code = chosen().generate(program, results, loose)
    return publish(key, lambda folder: chosen().compile(folder, code))


class Executable:
    """Native code. Calls write into the arrays given; one call at a time.

    tape_limit: bytes that growable tapes may take; where it is set, no other memory to work in is kept beside a call.
    """

    def __init__(self, program: Program, folder: Path) -> None:
        self.folder = folder
        self.threads: int | None = None
        self.tape_limit: int | None = None
        meta = read_meta(folder)
        self.arguments = tuple(n for n in meta.arguments if n not in program.constants)
        self.transient_bytes = meta.transient_bytes
        self.written = frozenset(program.arguments) & all_writes(program.body)
        """Arguments that a call changes."""
        self._kinds = [(n, program.arrays[n].shape, program.arrays[n].dtype) for n in self.arguments]
        self._constants = {n: _constant(program, n) for n in meta.arguments if n in program.constants}
        # Behind the arrays: where the call may work, how many bytes it has there, how many would have been enough.
        self._room = len(meta.arguments)
        self._pointers = (ctypes.c_void_p * (self._room + 3))()
        self._wanted = self.transient_bytes
        self._own = Workspace(self.transient_bytes if self.transient_bytes <= OWN else 0)
        self._work_in(self._own)
        self._take_constants(self._constants)
        self._failures, self._lookups = program.failures, program.lookups
        self._library = _load(folder / LIBRARY)
        if hasattr(self._library, "sg_calls_libraries"):
            load_libraries()
        self._handle = self._library.sg_open()
        self._table = mpi_table() if communicates(program.body) else None  # the code looks at it in every call
        if self._table is not None:
            self._library.sg_connect(self._handle, self._table)
            self._lines = lines_of(program)
        self._close = weakref.finalize(self, self._library.sg_close, self._handle)
        self._lock = own_lock(self)

    def __call__(self, arguments: Mapping[str, np.ndarray]) -> None:
        """Run on C-contiguous arrays of exactly the right shape and dtype, changed in place. Constants among them are
        those of this call alone."""
        others = self._constants.keys() & arguments.keys()
        with self._lock:
            pointers = self._pointers
            for k, (name, shape, dtype) in enumerate(self._kinds):
                array = arguments[name]
                right = array.dtype is dtype or array.dtype == dtype
                if not right or array.shape != shape or not array.flags.c_contiguous:
                    raise UsageError(f"argument {name!r} has to be a C-contiguous array of {dtype} with shape {shape}, "
                                     f"not {array.dtype} with shape {array.shape}")
                pointers[k] = address(array)
            if not others:
                self._start(self.threads)
                return
            held = {n: np.ascontiguousarray(arguments.get(n, c), c.dtype) for n, c in self._constants.items()}
            try:
                self._take_constants(held)
                self._start(self.threads)
            finally:
                self._take_constants(self._constants)

    def _take_constants(self, values: Mapping[str, np.ndarray]) -> None:
        for k, value in enumerate(values.values(), start=len(self.arguments)):
            self._pointers[k] = value.ctypes.data

    def there(self, arrays: Mapping[str, Any], stream: int, device: int) -> None:
        """Start it on arrays of a device, on a stream; numbers may be arrays of the host, which must stay as they are
        until all is done. Arrays are as for a call, by whoever has made them."""
        there = bytearray(self._room)
        with self._lock:
            for k, name in enumerate(self.arguments):
                array = arrays[name]
                there[k] = isinstance(array, DeviceArray) and array.size > 0
                self._pointers[k] = array.address if isinstance(array, DeviceArray) else address(array)
            limit = _NO_LIMIT if self.tape_limit is None else self.tape_limit
            status = self._library.sg_call_there(self._handle, self._pointers, bytes(there), stream, device, limit)
        if status:
            raise self._failure(status)

    def memory_of(self, stream: int, device: int) -> DeviceMemory | None:
        """What a call on a stream of a device asks for memory; None for programs of the processor."""
        return DeviceMemory(self._library, stream, device) if self.on_device else None

    def device_of(self, place: int) -> int:
        """The number of the device that an address belongs to, -1 for none."""
        return int(self._library.sg_device_of(place))

    @property
    def on_device(self) -> bool:
        """Whether it is a program for a graphics processor."""
        return hasattr(self._library, "sg_call_there")

    @property
    def launches(self) -> int | None:
        """Kernels that the last call has started; None for programs of the processor."""
        return int(self._library.sg_launches(self._handle)) if self.on_device else None

    @property
    def copied_bytes(self) -> int | None:
        """Bytes that the last call has copied to the device and from it; None for programs of the processor."""
        return int(self._library.sg_copied_bytes(self._handle)) if self.on_device else None

    def run(self, addresses: list[Any], threads: int | None) -> None:
        """Run on what lies at these addresses, one for each of `arguments`; nothing is checked."""
        with self._lock:
            self._pointers[:len(addresses)] = addresses
            self._start(threads)

    def _start(self, threads: int | None) -> None:
        if self.tape_limit is None and self._wanted <= self._own.size:
            status = self._called(threads, _NO_LIMIT)
        else:
            status = self._in_shared_room(threads)
        if status:
            raise self._failure(status)

    def _in_shared_room(self, threads: int | None) -> int:
        most = None if self.tape_limit is None else self.transient_bytes + self.tape_limit
        block = workspaces().take(self._wanted, most)
        try:
            self._work_in(block)
            return self._called(threads, _NO_LIMIT if self.tape_limit is None else self.tape_limit)
        finally:
            self._work_in(self._own)
            workspaces().give(block)

    def _work_in(self, block: Workspace) -> None:
        self._pointers[self._room], self._pointers[self._room + 1] = block.address, block.size

    def _called(self, threads: int | None, limit: int) -> int:
        if self._table is not None:
            waits_in(self._lines)
        status: int = self._library.sg_call(self._handle, self._pointers, asked_threads(threads), limit)
        if status == UNHEARD:
            listen()
            return self._called(threads, limit)
        self._wanted = self._pointers[self._room + 2] or 0
        return status

    def _failure(self, status: int) -> BaseException:
        if status >= FIRST_FAILURE:
            return self._failures[status - FIRST_FAILURE].error()
        if status == STRAYED:
            found = (ctypes.c_int64 * 2)()
            self._library.sg_strayed(found)
            return strayed(self._lookups, *found)
        if status == 2:
            return np.linalg.LinAlgError("a matrix is singular or not positive definite")
        if status == 9:  # Python's own handler has raised it before, unless it has just been changed
            return KeyboardInterrupt()
        if status == 5:
            return np.linalg.LinAlgError("eigenvalues or singular values did not converge")
        if status == 3:
            return MemoryLimitError("the system has no memory left for a workspace or a tape", code="SG302")
        if status == 4:
            return damaged(self._library.sg_damaged(self._handle).decode())
        if status == 6:
            return device_failed(self._library.sg_damaged(self._handle).decode())
        if status == 7:
            return library_missing(self._library.sg_damaged(self._handle).decode())
        if status == 8:
            return crowded(self._library.sg_damaged(self._handle).decode())
        return MemoryLimitError("the tape of a loop with an unknown number of iterations outgrew its limit",
                                limit_bytes=self.tape_limit, code="SG302")

    @property
    def tape_peak(self) -> int:
        """The most bytes the growable tapes held during the last call."""
        return int(self._library.sg_tape_peak(self._handle))

    @property
    def tape_needed(self) -> int:
        """The bytes that the growable tapes would have held when they last reached their limit."""
        return int(self._library.sg_tape_needed(self._handle))

    @property
    def peak_bytes(self) -> int:
        """The most bytes that arrays of this program's own held during the last call: temporaries, workspaces, tapes,
        what lives on the stacks of the threads."""
        return int(self._library.sg_peak_bytes(self._handle))

    @property
    def constant_bytes(self) -> int:
        """Bytes of the constant tables."""
        return sum(c.nbytes for c in self._constants.values())


_HEAD = object.__basicsize__


def _behind_the_head() -> bool:
    """Whether NumPy keeps the address of the elements right behind the head that all objects have."""
    return all(ctypes.c_void_p.from_address(id(a) + _HEAD).value == a.ctypes.data for a in (np.ones(3), np.ones(2)[1:]))


_IN_SIGHT = _behind_the_head()


def address(array: np.ndarray) -> int:
    """Where the elements of an array begin; several times as quick as asking NumPy, where that is possible."""
    return (_IN_SIGHT and ctypes.c_void_p.from_address(id(array) + _HEAD).value) or \
        int(array.__array_interface__["data"][0])


def _constant(program: Program, name: str) -> np.ndarray:
    return np.ascontiguousarray(program.constants[name], dtype=program.arrays[name].dtype)


def _load(path: Path) -> ctypes.CDLL:
    try:
        library = ctypes.CDLL(str(path))
    except OSError as error:
        raise ToolchainError(f"the compiled program {path} cannot be loaded: {error}", code="SG505") from error
    attach(library)
    library.sg_open.restype = ctypes.c_void_p
    library.sg_close.argtypes = (ctypes.c_void_p,)
    if hasattr(library, "sg_connect"):
        library.sg_connect.argtypes = (ctypes.c_void_p, ctypes.c_void_p)
    if hasattr(library, "sg_call_there"):
        declare(library)
    library.sg_call.argtypes = (ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int, ctypes.c_int64)
    library.sg_call.restype = ctypes.c_int
    for count in (library.sg_tape_peak, library.sg_tape_needed, library.sg_peak_bytes):
        count.argtypes = (ctypes.c_void_p,)
        count.restype = ctypes.c_int64
    library.sg_damaged.argtypes = (ctypes.c_void_p,)
    library.sg_damaged.restype = ctypes.c_char_p
    return library
