"""The threads of this process: compiled once per compiler, loaded once, given to every compiled program.

Not those of the OpenMP runtime that the compiler brings: other libraries of the process use them too, and how long they
spin is decided for all of them when they are loaded.
"""
from __future__ import annotations

import ctypes
import signal
from functools import lru_cache
from pathlib import Path

from sdfgad.codegen.compiling.cache import key_of, publish
from sdfgad.codegen.compiling.toolchain import STANDARD, environment, find_compiler, run
from sdfgad.cores import core_quota

SOURCES = Path(__file__).parents[1] / "runtime" / "threads"
POOL, CALLS = "pool.so", "openmp.o"
FLAGS = (STANDARD, "-O2", "-fPIC", "-pthread", "-w")


def threads_text() -> str:
    """What of them is part of every program, for cache keys."""
    return "".join((SOURCES / name).read_text() for name in ("openmp.cpp", "table.h"))


def link_flags() -> tuple[str, ...]:
    """For a program: what the compiler's OpenMP calls, and no OpenMP runtime beside it."""
    if "clang" in find_compiler().version:
        return str(_calls()), "-fopenmp"
    return str(_calls()), "-pthread", "-Wl,-z,defs"


def thread_files() -> tuple[Path, Path]:
    """What is linked into every program, and what is loaded beside them."""
    return _calls(), _pool()


def thread_objects() -> tuple[Path, Path]:
    """What a library that is on its own has in it: what the compiler calls, and the threads themselves."""
    return _calls(), _made("pool.cpp", "pool.o", ("-c",))


def _pool() -> Path:
    return _made("pool.cpp", POOL, ("-shared",))


def _calls() -> Path:
    return _made("openmp.cpp", CALLS, ("-c", "-fopenmp") if "clang" in find_compiler().version else ("-c",))


def _made(source: str, name: str, how: tuple[str, ...]) -> Path:
    """The file in the cache folder of now, which somebody may have emptied."""
    def build(folder: Path) -> None:
        run((find_compiler().path, *FLAGS, *how, str(SOURCES / source), "-o", str(folder / name)), code="SG505")

    return publish(_key(source, how), build) / name


@lru_cache(maxsize=8)
def _key(source: str, how: tuple[str, ...]) -> str:
    text = "".join(file.read_text() for file in sorted(SOURCES.iterdir()))
    return key_of("threads", source, how, text, FLAGS, *environment())


@lru_cache(maxsize=1)
def pool() -> ctypes.CDLL:
    """The threads themselves: one set of them in a process, whatever cache folders it uses."""
    library = ctypes.CDLL(str(_pool()))  # no compiler is asked for anything: there may be none any more
    library.sg_threads.restype = ctypes.c_void_p
    library.sg_listen.argtypes = (ctypes.c_bool,)
    library.sg_quota(core_quota())
    listen(library)
    return library


def attach(program: ctypes.CDLL) -> None:
    """Give the threads to a program that has just been loaded."""
    program.sg_attach.argtypes = (ctypes.c_void_p,)
    program.sg_attach(pool().sg_threads())


def listen(threads: ctypes.CDLL | None = None) -> None:
    """Let interrupts end long calls of the main thread from now on, where Python's own handler turns them into
    `KeyboardInterrupt`. Another handler may want the call to end as usual."""
    (threads or pool()).sg_listen(signal.getsignal(signal.SIGINT) is signal.default_int_handler)
