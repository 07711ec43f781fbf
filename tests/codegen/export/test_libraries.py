"""Exported libraries give what Python gives, to the last bit, and depend on nothing."""
from __future__ import annotations

import ctypes
import json
import re
import shutil
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

import sdfgad
from sdfgad.codegen.export.library import FUNCTIONS
from sdfgad.plans.plan import Plan
from tests.codegen.export.building import example, expected, loaded, numbers_of, pointer, printed, run
from tests.codegen.export.programs import CASES

ALLOWED = {"linux-vdso.so.1", "libm.so.6", "libmvec.so.1", "libc.so.6", "ld-linux-x86-64.so.2", "ld-linux-aarch64.so.1"}
BLAS = {"libscipy_openblas.so", "libpthread.so.0", "libgfortran.so.5", "libquadmath.so.0"}


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    return {}


@pytest.fixture(params=CASES, scope="module")
def exported(request: pytest.FixtureRequest, folders: dict[str, Path],
             tmp_path_factory: pytest.TempPathFactory) -> tuple[str, Path]:
    name = request.param
    if name not in folders:
        case, folder = CASES[name], tmp_path_factory.mktemp(name) / "library"
        if name == "mixed":
            with pytest.warns(sdfgad.UnusedArgumentWarning, match="'unused'"):
                sdfgad.export(case.fn, *case.args, folder=folder, name=name, **case.options)
        else:
            assert sdfgad.export(case.fn, *case.args, folder=folder, name=name, **case.options) == folder
        folders[name] = folder
    return name, folders[name]


@pytest.mark.filterwarnings("ignore::sdfgad.UnusedArgumentWarning")
@pytest.mark.parametrize("language", [
    "c", "cpp", pytest.param("f90", marks=pytest.mark.skipif(not shutil.which("gfortran"), reason="no gfortran"))])
def test_examples_print_what_python_computes(exported: tuple[str, Path], language: str) -> None:
    name, folder = exported
    value, gradients = expected(CASES[name])
    lines = example(folder, name, language)
    names = [re.sub(r"\W+", "_", path).strip("_") for path in gradients]
    assert lines[0].startswith("value = ")
    assert [n for n in dict.fromkeys(line.split("[")[0] for line in lines[1:])] == [f"grad_{n}" for n in names]
    assert numbers_of(lines) == printed(value, list(gradients.values()))
    assert np.isfinite(numbers_of(lines)[0][0]) and numbers_of(lines)[0][0] != 0


def test_nothing_else_is_defined_or_needed(exported: tuple[str, Path]) -> None:
    name, folder = exported
    symbols = run("nm", "-D", "--defined-only", str(folder / f"lib{name}.so")).splitlines()
    assert sorted(line.split()[-1] for line in symbols) == sorted(f"{name}_{f}" for f in FUNCTIONS)
    needed = {Path(line.split()[0]).name for line in run("ldd", str(folder / f"lib{name}.so")).splitlines()}
    assert needed <= ALLOWED | (BLAS if name == "products" else set())
    assert ("libscipy_openblas.so" in needed) == (name == "products" and (folder / "libscipy_openblas.so").exists())


def test_the_folder(exported: tuple[str, Path]) -> None:
    name, folder = exported
    files = {str(f.relative_to(folder)) for f in folder.rglob("*") if f.is_file() and f.parent != folder / "examples"}
    assert files - {"libscipy_openblas.so"} == {f"lib{name}.so", f"{name}.h", f"{name}Config.cmake", "plan.json"}
    assert Plan.load(folder / "plan.json").limit_bytes == CASES[name].options.get("memory_limit")
    assert json.loads((folder / "plan.json").read_text())["schema"] == "sdfgad.plan/1"


def test_calls_of_blas_from_many_threads(exported: tuple[str, Path]) -> None:
    name, folder = exported
    if name != "products":
        return
    library, rng = loaded(folder, name), np.random.default_rng(1)
    given = [rng.random(s.shape) for s in CASES[name].args]

    def work(_: int) -> list[np.ndarray]:
        outs = [np.zeros(1), *(np.zeros_like(a) for a in given)]
        handle = ctypes.c_void_p(library.products_create())
        for _ in range(3):
            assert library.products_value_and_grad(handle, *map(pointer, (*given, *outs))) == 0
        library.products_destroy(handle)
        return outs

    with ThreadPoolExecutor(100) as pool:
        found = list(pool.map(work, range(100)))
    value, gradients = sdfgad.value_and_grad(CASES[name].fn)(*given)
    for outs in found:
        assert outs[0][0] == value and all(np.array_equal(a, b) for a, b in zip(outs[1:], gradients))


READ_ONLY = """
import ctypes, mmap, sys
import numpy as np
library = ctypes.CDLL(sys.argv[1])
library.updated_create.restype = ctypes.c_void_p
with open(sys.argv[2], "rb") as file:
    u = np.frombuffer(mmap.mmap(file.fileno(), 200, access=mmap.ACCESS_READ))
outs = [np.zeros(1), np.zeros(25), np.zeros(1)]
handle = ctypes.c_void_p(library.updated_create())
print(library.updated_value_and_grad(handle, ctypes.c_void_p(u.ctypes.data), ctypes.c_double(0.3),
                                     *(ctypes.c_void_p(a.ctypes.data) for a in outs)), *outs[0].tolist())
"""


def test_arguments_are_only_read(exported: tuple[str, Path], tmp_path: Path) -> None:
    """Programs that put back what they overwrite would be seen by other threads: the argument is on pages that cannot
    be written."""
    name, folder = exported
    if name != "updated":
        return
    u = np.linspace(0.1, 0.5, 25)
    u.tofile(tmp_path / "u")
    told = run(sys.executable, "-c", READ_ONLY, str(folder / "libupdated.so"), str(tmp_path / "u"))
    value, _ = sdfgad.value_and_grad(CASES[name].fn, **CASES[name].options)(u, 0.3)
    assert [float(n) for n in told.split()] == [0, value]


def test_limits_are_kept(exported: tuple[str, Path]) -> None:
    name, folder = exported
    if name not in ("waves", "until_small"):
        return
    library = loaded(folder, name)
    arrays = [np.full(CASES[name].args[0].shape, 0.5), np.zeros(1), np.zeros(CASES[name].args[0].shape), np.zeros(1)]
    handle = getattr(library, f"{name}_create")()
    status = _call(library, name, handle, arrays)
    peak, workspace = getattr(library, f"{name}_peak_bytes")(handle), getattr(library, f"{name}_workspace_bytes")()
    getattr(library, f"{name}_destroy")(handle)
    assert status == 0 and workspace < peak <= CASES[name].options["memory_limit"]


def _call(library, name, handle, arrays) -> int:
    x, *outs = (ctypes.c_void_p(a.ctypes.data) for a in arrays)
    return getattr(library, f"{name}_value_and_grad")(ctypes.c_void_p(handle), x, ctypes.c_double(0.3), *outs)
