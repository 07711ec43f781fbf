"""The BLAS and LAPACK that generated code calls by ``cblas_*`` and ``LAPACKE_*``.

The scipy-openblas32 wheel comes first: it needs no system package, is one library with CBLAS and LAPACKE, and uses
32-bit integers. All its symbols carry a prefix, which a generated header hides. A system OpenBLAS comes second.
"""

from __future__ import annotations

import ctypes
import os
import platform
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from importlib import metadata
from importlib.util import find_spec
from pathlib import Path

from sdfgad.codegen.compiling.cache import key_of, publish
from sdfgad.errors import ToolchainError

WHEEL = "scipy-openblas32"
WHEEL_PREFIX = "scipy_"
HEADER = "sdfgad_blas.h"

# std::complex<double> in LAPACKE's signatures is the type the generated code uses; without these macros, C's complex.h
# would leak its macro `I` into the program. <complex> has to come first: the C headers include it inside extern "C".
_HEADER_TEXT = """\
#pragma once
#include <complex>
#define LAPACK_COMPLEX_CUSTOM
#define lapack_complex_float std::complex<float>
#define lapack_complex_double std::complex<double>
#include "{cblas}"
#include "{lapacke}"
{defines}
"""
_SYSTEM_ROOTS = ("/usr/local", "/usr", "/opt/OpenBLAS")


@dataclass(frozen=True)
class BlasLibrary:
    """A library with CBLAS and LAPACKE, and a header for it that declares the plain names."""

    name: str
    include_dirs: tuple[str, ...]
    """Folders to search for ``header``."""
    library_path: str
    """Shared library, linked by its full path."""
    header: str
    """What C++ code includes."""
    prefix: str
    """What every symbol of the library starts with; the header hides it."""
    version: str
    extra_libraries: tuple[str, ...] = ()
    """Further shared libraries, where a system keeps LAPACKE apart."""

    @property
    def libraries(self) -> tuple[str, ...]:
        """All shared libraries in link order."""
        return (*self.extra_libraries, self.library_path)

    def compile_flags(self) -> tuple[str, ...]:
        """For a compiler that is called directly."""
        return tuple(f"-I{folder}" for folder in self.include_dirs)

    def link_flags(self) -> tuple[str, ...]:
        """Full paths and run-time search paths."""
        folders = dict.fromkeys(os.path.dirname(path) for path in self.libraries)
        return (*self.libraries, *(f"-Wl,-rpath,{folder}" for folder in folders))


def find_blas() -> BlasLibrary:
    """The wheel's OpenBLAS, else a system OpenBLAS, else a ToolchainError; never a slow fallback."""
    found = wheel_blas() or system_blas()
    if found is None:
        raise ToolchainError("no BLAS library: neither the scipy-openblas32 package nor a system OpenBLAS with headers",
                             code="SG502", help=f"pip install {WHEEL} (or install OpenBLAS and LAPACKE with headers)")
    return found


def threads() -> int:
    """Size of the BLAS library's own thread pool, which does not follow OpenMP's."""
    blas = find_blas()
    return int(_function(blas.library_path, f"{blas.prefix}openblas_get_num_threads")())


def wheel_blas() -> BlasLibrary | None:
    """OpenBLAS of the scipy-openblas32 package, if installed."""
    spec = find_spec("scipy_openblas32")
    if spec is None or not spec.submodule_search_locations:
        return None
    folder = Path(spec.submodule_search_locations[0])
    library = next((folder / "lib").glob("libscipy_openblas.*"), None)
    if library is None or not (folder / "include" / "cblas.h").is_file():
        return None
    version = metadata.version(WHEEL)
    shim = _shim(folder / "include", WHEEL_PREFIX, version)
    return BlasLibrary(WHEEL, (str(shim),), str(library), HEADER, WHEEL_PREFIX, version)


def system_blas() -> BlasLibrary | None:
    """An OpenBLAS installed on the system or below ``$OPENBLAS_ROOT``, if it has CBLAS, LAPACKE and headers."""
    headers = next((f for f in _include_folders() if (f / "cblas.h").is_file() and _lapacke(f) is not None), None)
    for library in _shared_libraries("libopenblas.so*"):
        extra = _lapacke_libraries(library)
        if headers is not None and extra is not None:
            version = _version(library)
            shim = _shim(headers, "", version)
            return BlasLibrary("OpenBLAS", (str(shim),), str(library), HEADER, "", version, extra)
    return None


def _shim(headers: Path, prefix: str, version: str) -> Path:
    """Folder with the header that includes CBLAS and LAPACKE by full path and maps plain names to prefixed ones."""
    cblas, lapacke = headers / "cblas.h", _lapacke(headers) or headers / "lapacke.h"

    def write(folder: Path) -> None:
        names = _declared_names(cblas, prefix) | _declared_names(lapacke, prefix) if prefix else set()
        defines = "\n".join(f"#define {name} {prefix}{name}" for name in sorted(names))
        (folder / HEADER).write_text(_HEADER_TEXT.format(cblas=cblas, lapacke=lapacke, defines=defines))

    return publish(key_of("blas header", _HEADER_TEXT, str(headers), prefix, version), write)


def _declared_names(header: Path, prefix: str) -> set[str]:
    """Functions ``header`` declares under ``prefix``, without it."""
    declared = re.compile(rf"\b{prefix}((?:cblas|LAPACKE|openblas)_\w+)\s*\(")
    return set(declared.findall(header.read_text(errors="replace")))


def _lapacke(headers: Path) -> Path | None:
    """LAPACKE's header beside CBLAS' or up to two levels above, where Debian keeps it."""
    return next((file for folder in (headers, *headers.parents[:2]) if (file := folder / "lapacke.h").is_file()), None)


def _roots() -> tuple[str, ...]:
    named = (os.environ.get("OPENBLAS_ROOT", ""), os.environ.get("CONDA_PREFIX", ""))
    return (*(root for root in named if root), *_SYSTEM_ROOTS)


def _triplets() -> tuple[str, ...]:
    """Subfolders in which Debian and others keep the files of one architecture."""
    return ("", f"{platform.machine()}-linux-gnu", f"{platform.machine()}-linux-gnu/openblas-pthread", "openblas")


def _include_folders() -> Iterator[Path]:
    return (Path(root, "include", part) for root in _roots() for part in _triplets())


def _shared_libraries(pattern: str) -> Iterator[Path]:
    folders = (Path(root, lib, part) for root in _roots() for lib in ("lib", "lib64") for part in _triplets())
    return (file for folder in folders for file in sorted(folder.glob(pattern)))


def _lapacke_libraries(library: Path) -> tuple[str, ...] | None:
    """What has to be linked beside ``library`` to have LAPACKE; None when it is missing."""
    if _has(library, "LAPACKE_dpotrf"):
        return ()
    return next(((str(file),) for file in _shared_libraries("liblapacke.so*") if _has(file, "LAPACKE_dpotrf")), None)


def _has(library: Path, symbol: str) -> bool:
    try:
        return hasattr(ctypes.CDLL(str(library)), symbol)
    except OSError:
        return False


def _version(library: Path) -> str:
    words = _function(str(library), "openblas_get_config", ctypes.c_char_p)().decode().split()
    return words[1] if len(words) > 1 else "unknown"


@lru_cache(maxsize=16)
def _function(library: str, symbol: str, result: type = ctypes.c_int) -> ctypes._NamedFuncPointer:
    """A C function of ``library``; generated programs that link it share the loaded copy."""
    try:
        function = getattr(ctypes.CDLL(library), symbol)
    except (OSError, AttributeError) as error:
        raise ToolchainError(f"{library} has no usable {symbol}: {error}", code="SG502") from error
    function.restype = result
    return function
