"""Libraries for tests: exported once, called through the generated examples or in this process."""
from __future__ import annotations

import ctypes
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

import sdfgad
from sdfgad.arrays import Spec
from tests.codegen.export.programs import Case

COMPILERS = {"c": ("gcc", "-std=c99"), "cpp": ("g++", "-std=c++11"), "f90": ("gfortran",)}
STRICT = ("-Wall", "-Wextra", "-pedantic", "-Werror")
NOTHING: dict[str, str] = {}


def run(*command: str, environment: dict[str, str] | None = None) -> str:
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, env=environment)
    assert done.returncode == 0, done.stderr + done.stdout
    return done.stdout


def example(folder: Path, name: str, language: str) -> list[str]:
    """The lines that the example prints, compiled and run where nothing of this process is known."""
    program = folder / "examples" / f"{name}_{language}"
    source = folder / "examples" / f"{name}_example.{language}"
    strict = STRICT if language != "f90" else ("-J", str(source.parent))
    run(*COMPILERS[language], *strict, str(source), f"-I{folder}", f"-L{folder}", f"-l{name}",
        f"-Wl,-rpath,{folder}", "-o", str(program))
    return run(str(program), "all", environment=NOTHING).splitlines()


def filled(case: Case) -> list[Any]:
    """The arguments that the examples make up. Every array and float of the call has the next number."""
    numbers = iter(range(100))
    return [_filled(a, numbers) for a in case.args]


def _fill(k: np.ndarray) -> np.ndarray:
    return 0.25 + (37 * k % 101) / 128.0


def _filled(value: Any, numbers: Any) -> Any:
    if isinstance(value, dict):
        return {k: _filled(v, numbers) for k, v in value.items()}
    if isinstance(value, (float, np.floating)):
        return type(value)(_fill(np.array(7 * next(numbers)))[()])
    if not isinstance(value, Spec):
        return value
    k = np.arange(int(np.prod(value.shape))) + 7 * next(numbers)
    kind = value.dtype.kind
    found = _fill(k) if kind in "fc" else k % 2 if kind == "b" else 0 * k
    return (found + 1j * _fill(k + 1) if kind == "c" else found).astype(value.dtype).reshape(value.shape)


def expected(case: Case) -> tuple[Any, dict[str, np.ndarray]]:
    """Value and gradients by Python."""
    value, found = sdfgad.value_and_grad(case.fn, **case.options)(*filled(case))
    found = found if hasattr(found, "items") else {"x": found}
    return value, {n: np.asarray(g) for n, g in found.items()}


def printed(value: Any, gradients: Sequence[np.ndarray]) -> list[list[float]]:
    """Numbers as the examples print them."""
    lines = [[float(value)]]
    for g in gradients:
        lines += [[n.real, n.imag] if g.dtype.kind == "c" else [float(n)] for n in g.reshape(-1).tolist()]
    return lines


def numbers_of(lines: Sequence[str]) -> list[list[float]]:
    return [[float(n) for n in line.split(" = ")[1].split()] for line in lines]


def loaded(folder: Path, name: str) -> ctypes.CDLL:
    library = ctypes.CDLL(str(folder / f"lib{name}.so"))
    for verb, result in (("create", ctypes.c_void_p), ("error_text", ctypes.c_char_p),
                         ("workspace_bytes", ctypes.c_size_t), ("peak_bytes", ctypes.c_int64)):
        getattr(library, f"{name}_{verb}").restype = result
    for verb in ("destroy", "peak_bytes", "set_threads"):
        getattr(library, f"{name}_{verb}").argtypes = (ctypes.c_void_p, *([ctypes.c_int] if verb[0] == "s" else []))
    return library


def pointer(array: np.ndarray) -> ctypes.c_void_p:
    return ctypes.c_void_p(array.ctypes.data)
