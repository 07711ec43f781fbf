"""The driver, the compiler and the libraries of CUDA: where they are looked for, and what is kept for which device."""
from __future__ import annotations

import ctypes
import subprocess
from pathlib import Path

import pytest

from npbench_suite.device import registers
from sdfgad.codegen import devices
from sdfgad.codegen.compiling.build import Meta
from sdfgad.codegen.compiling.toolchain import find_compiler
from sdfgad.codegen.cuda import nvcc
from sdfgad.codegen.target import Code
from sdfgad.commands import doctor
from sdfgad.errors import ToolchainError, UsageError

DRIVER = """
#include <cstring>
extern "C" int cuInit(unsigned) { return 0; }
extern "C" int cuDeviceGetCount(int *count) { return *count = 2, 0; }
extern "C" int cuDeviceGet(int *device, int k) { return *device = 10 + k, 0; }
extern "C" int cuDeviceGetName(char *name, int, int) { return std::strcpy(name, "a stand-in"), 0; }
extern "C" int cuDeviceGetAttribute(int *value, int which, int device) {
    return *value = which == 75 ? (device == 10 ? 9 : 8) : (device == 10 ? 0 : 6), 0;
}
"""
"""A driver with two devices, of which the second one can do less."""


@pytest.fixture
def stand_in(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "driver.cpp").write_text(DRIVER)
    library = str(tmp_path / "libdriver.so")
    subprocess.run([find_compiler().path, "-shared", "-fPIC", str(tmp_path / "driver.cpp"), "-o", library], check=True)
    monkeypatch.setattr(devices, "_LIBRARY", library)
    monkeypatch.setattr(devices, "find_device", devices.find_device.__wrapped__)
    for module in (nvcc, doctor):
        monkeypatch.setattr(module, "find_device", devices.find_device)


@pytest.fixture
def bare(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """No compiler on the PATH, and a folder that packages are looked for in."""
    monkeypatch.setenv("PATH", str(tmp_path / "nothing"))
    monkeypatch.delenv("CUDA_HOME", raising=False)
    monkeypatch.setattr(devices.metadata, "distributions",
                        lambda: devices.metadata.MetadataPathFinder.find_distributions(
                            devices.metadata.DistributionFinder.Context(path=[str(tmp_path / "site")])))
    return tmp_path


def _program(path: Path) -> str:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("#!/bin/sh\necho release 99\n")
    path.chmod(0o755)
    return str(path)


def _wheel(site: Path, name: str, file: str) -> str:
    info = site / f"{name.replace('-', '_')}-1.0.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
    (info / "RECORD").write_text(f"nvidia/other.txt,,\n{file},,\n")
    return _program(site / file)


def _compiler(site: Path) -> str:
    """The compiler of wheels that are all there."""
    for name in devices.WHEELS[1:]:
        _wheel(site, name, f"nvidia/cu13/include/{name}")
    return _wheel(site, devices.WHEELS[0], "nvidia/cu13/bin/nvcc")


def test_the_compiler(bare: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """On the PATH before the folder of CUDA_HOME, and there before the wheel."""
    with pytest.raises(UsageError, match=r"SG210.*there is no nvidia-cuda-nvcc(.|\n)*pip install nvidia-cuda-nvcc"):
        devices.find_nvcc()
    assert doctor._nvcc()[1].startswith("none: ")
    wheel = _compiler(bare / "site")
    assert devices.find_nvcc() == wheel and doctor._nvcc()[1] == f"release 99 at {wheel}"
    home = _program(bare / "home" / "bin" / "nvcc")
    monkeypatch.setenv("CUDA_HOME", str(bare / "home"))
    assert devices.find_nvcc() == home
    monkeypatch.setenv("PATH", str(Path(own := _program(bare / "own" / "nvcc")).parent))
    assert devices.find_nvcc() == own


def test_a_compiler_without_its_headers_is_told(bare: Path) -> None:
    """Loops on the device include cooperative_groups.h, and that includes what no other wheel asks for."""
    for name in devices.WHEELS[:2]:
        _wheel(bare / "site", name, f"nvidia/cu13/bin/{name.removeprefix('nvidia-cuda-')}")
    with pytest.raises(UsageError, match=r"SG210.*there is no nvidia-cuda-cccl(.|\n)*pip install .* nvidia-cuda-cccl"):
        devices.find_nvcc()


def test_the_libraries(bare: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(devices.ctypes.util, "find_library", lambda stem: None)
    assert doctor._cuda_libraries() == ("pass", "libcublas: none, libcusolver: none, libcufft: none", "")
    wheel = _wheel(bare / "site", "nvidia-cublas-cu13", "nvidia/cu13/lib/libcublas.so.13")
    home = _program(bare / "home" / "lib64" / "libcufft.so.12")
    monkeypatch.setenv("CUDA_HOME", str(bare / "home"))
    assert doctor._cuda_libraries()[1] == f"libcublas: {wheel}, libcusolver: none, libcufft: {home}"


@pytest.fixture
def nobody(tmp_path: Path) -> bytes:
    """A library that is asked for as libnobody.so.7."""
    (tmp_path / "nobody.cpp").write_text("int nobody;")
    made, named = tmp_path / "made.so", "-Wl,-soname,libnobody.so.7"
    subprocess.run([find_compiler().path, "-shared", "-fPIC", str(tmp_path / "nobody.cpp"), named, "-o", str(made)],
                   check=True)
    return made.read_bytes()


def test_libraries_of_wheels_are_loaded(nobody: bytes, bare: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A program asks for them by name, and the loader does not look there."""
    monkeypatch.setattr(devices, "CUDA_LIBRARIES", ("nowhere", "nobody"))
    monkeypatch.setattr(devices, "load_libraries", devices.load_libraries.__wrapped__)
    wheel = _wheel(bare / "site", "nvidia-nobody", "nvidia/cu13/lib/libnobody.so.7")
    devices.load_libraries()  # this one is no library: whoever asks for it is told
    with pytest.raises(OSError, match="libnobody"):
        ctypes.CDLL("libnobody.so.7")
    Path(wheel).write_bytes(nobody)
    devices.load_libraries()
    ctypes.CDLL("libnobody.so.7")


def test_programs_of_each_device_are_kept(stand_in: None, bare: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _compiler(bare / "site")
    assert devices.find_device() == devices.Device("a stand-in", 86, 2)
    assert doctor._device()[1] == "a stand-in, capability 8.6, one of 2"
    least = nvcc.tools()
    assert least[:2] == ("cuda", "86")
    monkeypatch.setattr(nvcc, "find_device", lambda: devices.Device("another", 90))
    assert nvcc.tools() != least


def test_newer_devices_find_something(stand_in: None, bare: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Machine code for the least device at hand, and what drivers of newer ones make theirs of."""
    wheel = _compiler(bare / "site")
    commands: list[tuple[str, ...]] = []
    monkeypatch.setattr(nvcc, "run", lambda command, **_: commands.append(command))
    nvcc.compile_code(bare, Code("", Meta("kernel", (), 0)))
    assert commands[0][0] == wheel and "arch=compute_86,code=[sm_86,compute_86]" in commands[0]


def test_what_the_compiler_says_is_shown(bare: Path, monkeypatch: pytest.MonkeyPatch,
                                         capsys: pytest.CaptureFixture[str]) -> None:
    """Of a program that it does not take: which one, for which device, and why. The other ones are compiled."""
    nvcc = Path(_compiler(bare / "site"))
    nvcc.write_text("#!/bin/sh\necho 'program.cu(7): no such header' >&2\nexit 2\n")
    with pytest.raises(ToolchainError, match=r"failed on gemm for sm_80(.|\n)*\(7\): no such header"):
        registers.built("gemm", "", 80)
    monkeypatch.setattr(registers, "text_of", lambda name, preset: "")
    monkeypatch.setattr(registers.sys, "argv", ["registers", "gemm", "lu", "--arch", "90"])
    assert registers.main() == 1
    assert capsys.readouterr().out.count("no such header") == 2
