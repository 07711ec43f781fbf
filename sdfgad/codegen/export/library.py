"""The folder of a library: compiled and linked beside everything else, then moved into its place file by file."""
from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Mapping
from pathlib import Path

from sdfgad.codegen.compiling.blas import BlasLibrary, find_blas
from sdfgad.codegen.compiling.build import RUNTIME, compile_object, flags
from sdfgad.codegen.compiling.threads import link_flags, thread_objects
from sdfgad.codegen.compiling.toolchain import find_compiler, run
from sdfgad.codegen.export.examples import examples
from sdfgad.codegen.export.header import header
from sdfgad.codegen.export.interface import Interface
from sdfgad.codegen.export.package import package
from sdfgad.codegen.export.wrapper import wrapper
from sdfgad.errors import UsageError

_DEFECT = "this is a defect of the export; please report it with the program"
FUNCTIONS = ("abi_version", "workspace_bytes", "create", "destroy", "set_threads", "peak_bytes", "error_text",
             "value_and_grad")
"""What a library defines for others, behind its name and a line."""


def library_file(name: str) -> str:
    """The name of the shared library."""
    return f"lib{name}.so"


def write_library(folder: Path, interface: Interface, code: str, uses_blas: bool, plan: str) -> None:
    """Everything that belongs to the library, in `folder`, which is made where it is missing.

    code: the C++ of the program. plan: as JSON. A file that is there already is replaced at once, so that a process
    that uses the old one goes on with it. UsageError where nothing can be written, ToolchainError without a compiler.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=folder, prefix=".export-") as name:
            scratch = Path(name)
            made = _texts(interface, plan)
            made |= _library(scratch, interface, code, find_blas() if uses_blas else None)
            for place, file in _written(scratch, made).items():
                (folder / place).parent.mkdir(exist_ok=True)
                os.replace(file, folder / place)
    except OSError as error:
        raise UsageError(f"cannot write into {folder}: {error}", code="SG205",
                         help="give a folder that can be written") from error


def _texts(interface: Interface, plan: str) -> dict[str, str | Path]:
    return {f"{interface.name}.h": header(interface), "plan.json": plan, **package(interface), **examples(interface)}


def _written(scratch: Path, made: Mapping[str, str | Path]) -> dict[str, Path]:
    """The files themselves. Texts are written, what is a file already stays where it is."""
    found = {}
    for k, (place, content) in enumerate(made.items()):
        if isinstance(content, str):
            file = scratch / f"text{k}"
            file.write_text(content, encoding="utf-8")
            content = file
        found[place] = content
    return found


def _library(scratch: Path, interface: Interface, code: str, blas: BlasLibrary | None) -> dict[str, str | Path]:
    """The shared library, and beside it the BLAS that it calls."""
    objects = (compile_object(scratch, code, blas is not None), _wrapper(scratch, interface, blas), *thread_objects())
    symbols, library = scratch / "symbols.map", scratch / library_file(interface.name)
    names = " ".join(f"{interface.name}_{f};" for f in FUNCTIONS)
    symbols.write_text(f"{{ global: {names} local: *; }};\n")
    beside: dict[str, str | Path] = {Path(p).name: _copied(scratch, Path(p)) for p in (blas.libraries if blas else ())}
    # The threads of the library never end, so the system must not take its code away from them.
    run((find_compiler().path, *map(str, objects), *link_flags()[1:], "-shared", "-o", str(library),
         f"-Wl,-soname,{library.name}", f"-Wl,--version-script={symbols}", "-Wl,-z,nodelete", "-Wl,--as-needed",
         "-static-libstdc++", "-static-libgcc", *(str(scratch / name) for name in beside),
         *(["-Wl,-rpath,$ORIGIN"] if beside else [])), code="SG505", help=_DEFECT)
    return {library.name: library, **beside}


def _copied(scratch: Path, file: Path) -> Path:
    shutil.copyfile(file, scratch / file.name)
    (scratch / file.name).chmod(0o755)
    return scratch / file.name


def _wrapper(scratch: Path, interface: Interface, blas: BlasLibrary | None) -> Path:
    """The object file of the C interface, with the constants of the program in it."""
    files = {}
    for k, (name, array) in enumerate(interface.constants.items()):
        files[name] = f"constant{k}.bin"
        array.tofile(scratch / files[name])
    (scratch / f"{interface.name}.h").write_text(header(interface), encoding="utf-8")
    (scratch / "wrapper.cpp").write_text(wrapper(interface, files, blas.header if blas else ""), encoding="utf-8")
    object = scratch / "wrapper.o"
    plain = tuple(f for f in flags() if f.startswith(("-std", "-march", "-fPIC", "-w")))
    # Constants are read where the assembler runs.
    run((find_compiler().path, *plain, "-O2", f"-I{RUNTIME}", f"-I{scratch}", f"-Wa,-I{scratch}",
         *(blas.compile_flags() if blas else ()), "-c", str(scratch / "wrapper.cpp"), "-o", str(object)),
        code="SG505", help=_DEFECT)
    return object
