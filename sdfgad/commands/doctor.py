"""``sdfgad doctor``: is everything there that a gradient needs, and where does each setting come from."""

from __future__ import annotations

import os
import platform
import shutil
import sys
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from importlib import import_module, metadata
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import sdfgad
from sdfgad.checkpoint import highs
from sdfgad.codegen.compiling import blas
from sdfgad.codegen.compiling.cache import cache, check_folder, key_of, publish
from sdfgad.codegen.compiling.toolchain import INSTALL, STANDARD, cpu_model, find_compiler, run
from sdfgad.codegen.devices import CUDA_LIBRARIES, find_device, find_library, find_nvcc
from sdfgad.config import Origin, origins
from sdfgad.errors import SdfgadError, ToolchainError, UsageError
from sdfgad.memory import available_bytes, cgroup_remaining, format_bytes

DACE_VERSION = "2.0.0b1"
SCHEMA = "sdfgad.doctor/1"
_OPENMP_PROGRAM = """\
#include <omp.h>
#include <cstdio>
int main() { int n = 0; _Pragma("omp parallel reduction(+:n)") n += 1; std::printf("%d", n); }
"""
_MPI_LIBRARY = "import mpi4py; mpi4py.rc.initialize = False; from mpi4py import MPI; print(*MPI.get_vendor())"


@dataclass(frozen=True)
class Check:
    """One line of the report; ``fix`` says what to do when the status is not "pass"."""

    name: str
    status: str
    detail: str
    fix: str = ""


@dataclass(frozen=True)
class Report:
    """All checks and the merged settings."""

    checks: tuple[Check, ...]
    settings: Mapping[str, Origin]

    @property
    def ok(self) -> bool:
        """Whether gradients can be compiled here."""
        return all(check.status != "fail" for check in self.checks)

    def to_json(self) -> dict[str, Any]:
        """For ``sdfgad doctor --json``; the schema is stable."""
        return {
            "schema": SCHEMA,
            "ok": self.ok,
            "checks": [asdict(check) for check in self.checks],
            "settings": {name: asdict(origin) for name, origin in self.settings.items()},
        }


def examine() -> Report:
    """Run every check; none of them changes anything but the cache folder."""
    return Report(tuple(_guarded(name, check) for name, check in CHECKS), _origins())


def _origins() -> Mapping[str, Origin]:
    found = dict(origins())
    if found["cache_dir"].value is None:
        found["cache_dir"] = Origin(str(cache.path), "default")
    return found


def _guarded(name: str, check: Callable[[], tuple[str, str, str]]) -> Check:
    """An error of the library is the result of the check."""
    try:
        return Check(name, *check())
    except SdfgadError as error:
        return Check(name, "fail", f"[{error.code}] {error.message}", error.help)


def _python() -> tuple[str, str, str]:
    return "pass", f"{platform.python_version()} at {sys.executable}, sdfgad {sdfgad.__version__}", ""


def _dace() -> tuple[str, str, str]:
    try:
        version = metadata.version("dace")
    except metadata.PackageNotFoundError:
        return "fail", "not installed", f"pip install dace=={DACE_VERSION}"
    if version != DACE_VERSION:
        return "fail", f"{version}; sdfgad works with {DACE_VERSION} only", f"pip install dace=={DACE_VERSION}"
    return "pass", version, ""


def _compiler() -> tuple[str, str, str]:
    compiler = find_compiler()
    found = f"{compiler.version} at {compiler.path}; {cpu_model().rpartition(' ')[0]}"
    try:
        run((compiler.path, STANDARD, "-x", "c++", "-fsyntax-only", os.devnull), code="SG501", help=INSTALL)
    except ToolchainError as error:
        return "fail", found, error.help
    return "pass", found, ""


def _openmp() -> tuple[str, str, str]:
    with tempfile.TemporaryDirectory() as folder:
        source, program = Path(folder, "openmp.cpp"), Path(folder, "openmp")
        source.write_text(_OPENMP_PROGRAM)
        run((find_compiler().path, "-O1", "-march=native", "-fopenmp", str(source), "-o", str(program)), code="SG501",
            help="install OpenMP for this compiler (g++ brings it; for clang: libomp-dev)")
        return "pass", f"{run((str(program),), code='SG501')} threads", ""


def _cmake() -> tuple[str, str, str]:
    """DaCe calls cmake, which its wheel installs beside the interpreter, and make or ninja."""
    beside = os.pathsep.join((str(Path(sys.executable).parent), os.environ.get("PATH", "")))
    missing = [name for name, choices in (("cmake", ("cmake",)), ("make", ("make", "ninja")))
               if not any(shutil.which(choice, path=beside) for choice in choices)]
    if missing:
        return "fail", f"{', '.join(missing)} not found", "pip install cmake ninja"
    return "pass", str(shutil.which("cmake", path=beside)), ""


def _blas() -> tuple[str, str, str]:
    library = blas.find_blas()
    return "pass", f"{library.name} {library.version}, {blas.threads()} threads, {library.library_path}", ""


def _solver() -> tuple[str, str, str]:
    """The smallest integer program whose relaxation has another answer: max x, 2 x <= 5."""
    missing = [name for name in ("pulp", "highspy") if find_spec(name) is None]
    if missing:
        return "fail", f"{', '.join(missing)} not installed", f"pip install {' '.join(missing)}"
    problem = highs.pulp().LpProblem("doctor", highs.pulp().LpMaximize)
    x = problem.add_variable("x", 0, 9, cat="Integer")
    problem += x
    problem += 2 * x <= 5
    found = highs.run(problem, time_limit=60.0)
    if found.values.get("x") != 2:
        raise ToolchainError(f"HiGHS says {found.values} where 2 is right", code="SG506",
                             help="reinstall: pip install --force-reinstall pulp highspy")
    return "pass", f"HiGHS {metadata.version('highspy')} through PuLP {metadata.version('pulp')}", ""


def _cache() -> tuple[str, str, str]:
    check_folder()
    publish(key_of("doctor"), lambda folder: (folder / "written").touch())
    info = cache.info()
    return "pass", f"{info.path}: {info.entries} entries, {format_bytes(info.bytes)}", ""


def _memory() -> tuple[str, str, str]:
    group = cgroup_remaining()
    limit = "no control group limit" if group is None else f"control group leaves {format_bytes(group)}"
    return "pass", f"{format_bytes(available_bytes())} available, {limit}", ""


def _device() -> tuple[str, str, str]:
    def told() -> str:
        found = find_device()
        more = f", one of {found.count}" if found.count > 1 else ""
        return f"{found.name}, capability {found.capability / 10}{more}"
    return _if_there(told)


def _nvcc() -> tuple[str, str, str]:
    def told() -> str:
        found = find_nvcc()
        return f"{run((found, '--version'), code='SG505').strip().splitlines()[-1]} at {found}"
    return _if_there(told)


def _cuda_libraries() -> tuple[str, str, str]:
    """Programs load them when they are called; nothing is wrong with a machine without."""
    found = {stem: find_library(stem) for stem in CUDA_LIBRARIES}
    return "pass", ", ".join(f"lib{stem}: {path or 'none'}" for stem, path in found.items()), ""


def _mpi() -> tuple[str, str, str]:
    """MPI is started only where a launcher has been there before."""
    if find_spec("mpi4py") is None:
        return "pass", "none: mpi4py is not installed", ""
    version = f"mpi4py {metadata.version('mpi4py')}"
    asked = next((os.environ[n] for n in ("PMI_SIZE", "OMPI_COMM_WORLD_SIZE") if n in os.environ), None)
    if asked is None:
        return _library_of(version)
    mpi = import_module("mpi4py.MPI")
    size, vendor = mpi.COMM_WORLD.Get_size(), " ".join(map(str, mpi.get_vendor()))
    told = f"{version} with {vendor}: {size} ranks, thread level {mpi.Query_thread()}"
    if size < int(asked):
        return "warn", f"{told}; the launcher has started {asked}", "use the mpiexec of the library that mpi4py loads"
    return "pass", told, ""


def _library_of(version: str) -> tuple[str, str, str]:
    """What mpi4py loads where no launcher has been: asked in a process of its own, and not started there either."""
    try:
        vendor = run((sys.executable, "-c", _MPI_LIBRARY), code="SG501").strip()
    except ToolchainError as error:
        why = (error.output or str(error)).strip().splitlines()[-1]
        return "warn", f"{version} loads no library of MPI: {why}", "pip install mpich, or load the site's MPI"
    return "pass", f"{version} with {vendor}, not started by mpiexec", ""


def _if_there(told: Callable[[], str]) -> tuple[str, str, str]:
    """Nothing is wrong with a machine that has no graphics processor."""
    try:
        return "pass", told(), ""
    except UsageError as error:
        return "pass", f"none: {error.message}", ""


CHECKS: tuple[tuple[str, Callable[[], tuple[str, str, str]]], ...] = (
    ("python", _python),
    ("dace", _dace),
    ("compiler", _compiler),
    ("openmp", _openmp),
    ("cmake", _cmake),
    ("blas", _blas),
    ("solver", _solver),
    ("cache", _cache),
    ("memory", _memory),
    ("device", _device),
    ("nvcc", _nvcc),
    ("cuda libraries", _cuda_libraries),
    ("mpi", _mpi),
)
