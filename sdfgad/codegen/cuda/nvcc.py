"""How a library is made by the CUDA compiler, and what decides it."""
from __future__ import annotations

from pathlib import Path

from sdfgad.codegen.compiling.build import LIBRARY, RUNTIME, write_meta
from sdfgad.codegen.compiling.toolchain import run
from sdfgad.codegen.devices import find_device, find_nvcc
from sdfgad.codegen.target import Code

SOURCE = "program.cu"
FLAGS = ("-std=c++20", "-O3", "--expt-relaxed-constexpr", "-w", "-Xcompiler", "-fPIC,-w", f"-I{RUNTIME}")


def tools() -> tuple[str, ...]:
    """What decides a library; raises UsageError where it could not run."""
    device = find_device()
    compiler = Path(find_nvcc()).resolve()
    state = compiler.stat()
    return "cuda", str(device.capability), f"{compiler} {state.st_size} {state.st_mtime_ns}"


def for_device(capability: int) -> tuple[str, str]:
    """Flags for machine code of such a device, and for what its driver and newer ones can compile themselves."""
    return "-gencode", f"arch=compute_{capability},code=[sm_{capability},compute_{capability}]"


def compile_code(folder: Path, code: Code) -> None:
    """A library for the least device at hand. For newer ones it has the code that the driver makes programs of."""
    (folder / SOURCE).write_text(code.text)
    write_meta(folder, code.meta)
    command = (find_nvcc(), *FLAGS, *for_device(find_device().capability), "-shared", str(folder / SOURCE),
               "-o", str(folder / LIBRARY))
    run(command, code="SG505", help="this is a defect of the generated code; please report it with the program")
