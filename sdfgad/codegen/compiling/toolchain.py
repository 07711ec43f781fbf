"""The C++ compiler and the processor: what is there, and what of it decides the binary code."""

from __future__ import annotations

import hashlib
import os
import platform
import shutil
import signal
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from dataclasses import dataclass
from errno import ENOSPC
from functools import lru_cache
from importlib import metadata
from pathlib import Path
from types import MappingProxyType

from sdfgad import __version__
from sdfgad.codegen.compiling.cache import ON_FULL, cache
from sdfgad.errors import ToolchainError, UsageError
from sdfgad.files import write_whole

COMPILER = "compiler"
"""The file in the cache folder that names the compiler that filled it last."""
LONGEST = 600
"""Seconds that a compiler may take."""
NATIVE = "native"
BASELINES: Mapping[str, frozenset[str]] = MappingProxyType({
    "x86-64-v2": frozenset({"sse2", "ssse3", "sse4_1", "sse4_2"}),
    "x86-64-v3": frozenset({"sse2", "ssse3", "sse4_1", "sse4_2", "avx", "avx2", "fma"}),
})
"""Processors that stand for many: levels of the x86-64 ABI (System V psABI supplement, table 3.1), and what of them
decides how programs are written."""
_processor: ContextVar[str] = ContextVar("processor", default=NATIVE)
STANDARD = "-std=c++20"
ON_OLD = "this compiler is too old, it does not know C++20: install a newer one, or point CXX at one"
INSTALL = "install g++ (Debian: the package g++) or point the environment variable CXX at a compiler"


@dataclass(frozen=True)
class Compiler:
    """A C++ compiler: absolute path and the first line of its ``--version``."""

    path: str
    version: str


def find_compiler() -> Compiler:
    """``$CXX``, else g++, c++ or clang++ on the PATH, with the version it prints."""
    path = compiler_path()
    return _inspect(path, Path(path).stat().st_mtime_ns)


def compiler_path() -> str:
    """The same, without running it."""
    asked = os.environ.get("CXX", "").split()
    candidates = asked[:1] or ["g++", "c++", "clang++"]
    found = next((path for name in candidates if (path := shutil.which(name))), None)
    if found is None:
        raise ToolchainError(f"no C++ compiler: {', '.join(candidates)} not found", code="SG501", help=INSTALL)
    return found


@lru_cache(maxsize=4)
def _inspect(path: str, changed: int) -> Compiler:
    """Ask the compiler once per process; ``changed`` is its time stamp, which tells an upgrade."""
    return Compiler(path, run((path, "--version"), code="SG501", help=INSTALL).splitlines()[0])


@lru_cache(maxsize=4)
def accepts(compiler: Compiler, flags: tuple[str, ...]) -> bool:
    """Whether the compiler knows these flags."""
    command = (compiler.path, *flags, "-Werror", "-x", "c++", "-fsyntax-only", os.devnull)
    try:
        _finished(command, None)
    except subprocess.CalledProcessError:
        return False
    return True


def run(command: Sequence[str], *, code: str, help: str = "", folder: Path | None = None) -> str:
    """Standard output of ``command``, or a ToolchainError with the last lines it printed."""
    try:
        done = _finished(command, folder)
    except subprocess.CalledProcessError as error:
        told = error.stderr or error.stdout
        raise ToolchainError(f"{command[0]} failed with exit status {error.returncode}", code=code, command=command,
                             output=told, help=_advice(told) or help) from error
    except (OSError, subprocess.TimeoutExpired) as error:
        raise ToolchainError(f"{command[0]} cannot be run: {error}", code=code, command=command, help=help) from error
    return done.stdout


def _advice(told: str) -> str:
    """What mends a failure that has nothing to do with the program, by what a compiler said; empty for others."""
    if os.strerror(ENOSPC) in told:
        return ON_FULL
    lines = [line for line in told.splitlines() if STANDARD in line]
    return ON_OLD if any("unrecognized" in line or "invalid value" in line for line in lines) else ""


def _finished(command: Sequence[str], folder: Path | None) -> subprocess.CompletedProcess[str]:
    """The command after it has ended. Whoever is interrupted here ends it with all that it has started."""
    # Started by another thread, which interrupts do not reach: one that came meanwhile would leave nobody to end it.
    with ThreadPoolExecutor(1) as starter:
        starting = starter.submit(subprocess.Popen, command, cwd=folder, stdout=subprocess.PIPE,
                                  stderr=subprocess.PIPE, text=True, start_new_session=True)
        try:
            output, errors = starting.result().communicate(timeout=LONGEST)
        finally:
            _end(starting)
    if starting.result().returncode:
        raise subprocess.CalledProcessError(starting.result().returncode, command, output, errors)
    return subprocess.CompletedProcess(command, 0, output, errors)


def _end(starting: Future[subprocess.Popen[str]]) -> None:
    """A compiler works in processes of its own, which would go on without it."""
    if starting.exception() is not None:
        return
    with starting.result() as running:
        if running.returncode is None:
            os.killpg(running.pid, signal.SIGKILL)


@contextmanager
def written_for(processor: str) -> Iterator[None]:
    """Programs of this block are for any processor of a baseline, or, with `NATIVE`, for the one at hand."""
    token = _processor.set(processor)
    try:
        yield
    finally:
        _processor.reset(token)


def processor() -> str:
    """What programs are compiled for now, as the compiler's ``-march`` takes it."""
    return _processor.get()


def cpu_model() -> str:
    """Name and instruction sets of the processor: ``-march=native`` code runs on an equal one only."""
    return _cpu_model() if processor() == NATIVE else f"{processor()} on {_cpu_model()}"


@lru_cache(maxsize=1)
def _cpu_model() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return f"{platform.machine()} {platform.processor()}"
    wanted = ("model name", "flags", "Features", "CPU part")
    first = {key: line for line in reversed(lines) if (key := line.split(":")[0].strip()) in wanted}
    digest = hashlib.sha256("\n".join(sorted(first.values())).encode()).hexdigest()[:16]
    return f"{first.get('model name', platform.machine()).split(':')[-1].strip()} {digest}"


def _cpu_flags() -> frozenset[str]:
    return BASELINES.get(processor()) or _own_cpu_flags()


@lru_cache(maxsize=1)
def _own_cpu_flags() -> frozenset[str]:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return frozenset()
    return frozenset(next((line for line in lines if line.startswith(("flags", "Features"))), "").split())


def vector_bytes() -> int:
    """The width of the processor's widest vectors."""
    return 64 if "avx512f" in _cpu_flags() else 32 if "avx" in _cpu_flags() else 16


def vector_registers() -> int:
    """How many vectors the processor holds in registers."""
    return 32 if _cpu_flags() & {"avx512f", "asimd"} else 16


@lru_cache(maxsize=1)
def environment() -> tuple[str, ...]:
    """The part of a cache key that does not come from the program: versions, compiler, this processor.

    A process that finds its programs in the cache starts no compiler, so the compiler's file stands for its version.
    """
    return (*_installation(), _cpu_model(), _compiler_stamp(), " ".join(platform.libc_ver()))


def _compiler_stamp() -> str:
    """The compiler's file. Where there is no compiler any more, what it has compiled is still good."""
    try:
        compiler = Path(compiler_path()).resolve()
    except ToolchainError:
        known = _last_compiler()
        if known is None or os.environ.get("CXX"):
            raise
        return known
    state = compiler.stat()
    return f"{compiler} {state.st_size} {state.st_mtime_ns}"


def _last_compiler() -> str | None:
    try:
        return (cache.path / COMPILER).read_text(encoding="utf-8")
    except OSError:
        return None


def remember_compiler() -> None:
    """For processes that find no compiler on this machine: which one has filled the cache."""
    stamp = _compiler_stamp()
    if _last_compiler() != stamp:
        with suppress(UsageError):  # a folder that cannot be written
            write_whole(cache.path / COMPILER, stamp)


def installation() -> tuple[str, ...]:
    """What decides the program that is compiled, the user's own aside: versions and processor."""
    return (*_installation(), cpu_model())


@lru_cache(maxsize=1)
def _installation() -> tuple[str, ...]:
    return __version__, _package_state(), metadata.version("dace"), metadata.version("numpy")


def _package_state() -> str:
    """Digest over sizes and times of the package's files: an edited checkout never meets its old programs."""
    folder = Path(__file__).parents[2]
    stamps = [(str(file.relative_to(folder)), file.stat().st_size, file.stat().st_mtime_ns)
              for file in sorted(folder.rglob("*.py"))]
    return hashlib.sha256(repr(stamps).encode()).hexdigest()[:16]
