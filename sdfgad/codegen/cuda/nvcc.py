"""The CUDA compiler: where it is, and how a library is made by it."""
from __future__ import annotations

import os
import shutil
from pathlib import Path

from sdfgad.codegen.build import LIBRARY, RUNTIME, write_meta
from sdfgad.codegen.cuda.driver import find_device
from sdfgad.codegen.target import Code
from sdfgad.codegen.toolchain import run
from sdfgad.errors import UsageError

SOURCE = "program.cu"
FLAGS = ("-std=c++20", "-O3", "--expt-relaxed-constexpr", "-w", "-Xcompiler", "-fPIC,-w")


def find_nvcc() -> str:
    """The compiler on the PATH, or in the folder that CUDA_HOME names; raises UsageError where there is none."""
    home = os.environ.get("CUDA_HOME", "")
    found = shutil.which("nvcc") or (shutil.which("nvcc", path=str(Path(home, "bin"))) if home else None)
    if found is None:
        raise UsageError("programs cannot run on a graphics processor here: nvcc is neither on the PATH nor in "
                         "$CUDA_HOME/bin", code="SG210",
                         help='install the CUDA toolkit, or run on the processor: device="cpu"; plans need no compiler')
    return found


def tools() -> tuple[str, ...]:
    """What decides a library; raises UsageError where it could not run."""
    device = find_device()
    compiler = Path(find_nvcc()).resolve()
    state = compiler.stat()
    return "cuda", str(device.capability), f"{compiler} {state.st_size} {state.st_mtime_ns}"


def compile_code(folder: Path, code: Code) -> None:
    """A library for the device at hand."""
    (folder / SOURCE).write_text(code.text)
    write_meta(folder, code.meta)
    command = (find_nvcc(), *FLAGS, f"-arch=sm_{find_device().capability}", f"-I{RUNTIME}", "-shared",
               str(folder / SOURCE), "-o", str(folder / LIBRARY))
    run(command, code="SG505", help="this is a defect of the generated code; please report it with the program")
