"""The graphics processors at hand, as CUDA's driver library tells without a context, and the compiler and libraries for
them."""
from __future__ import annotations

import ctypes
import ctypes.util
import os
import re
import shutil
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from functools import lru_cache
from importlib import metadata
from pathlib import Path

from sdfgad.errors import UsageError

_LIBRARY = "libcuda.so.1"
WHEELS = "nvidia-cuda-nvcc", "nvidia-cuda-runtime", "nvidia-cuda-cccl"
"""NVIDIA's compiler and what it needs for a program. `cooperative_groups.h` includes headers of the last one, which no
other one asks for."""
CUDA_LIBRARIES = ("cublas", "cusolver", "cufft")
"""What programs call of the toolkit."""
_MAJOR, _MINOR = 75, 76
"""Numbers of the attributes that make up what a device can do."""
_DRIVER = "install NVIDIA's driver (graphics processors of AMD are not supported, hipcc is not used)"
_INSTEAD = 'or run on the processor: device="cpu"; plans need neither driver nor compiler'


@dataclass(frozen=True)
class Device:
    """The first device, and how many there are. capability: what the least of them can do, 90 for 9.0."""

    name: str
    capability: int
    count: int = 1


@lru_cache(maxsize=1)
def find_device() -> Device:
    """What programs run on; raises UsageError where there is none."""
    try:
        driver = ctypes.CDLL(_LIBRARY)
    except OSError as error:
        raise _missing(f"the driver library {_LIBRARY} cannot be loaded") from error
    count = ctypes.c_int()
    if driver.cuInit(0) or driver.cuDeviceGetCount(ctypes.byref(count)) or not count.value:
        raise _missing("the driver finds no device")
    devices = [_handle(driver, k) for k in range(count.value)]
    name = ctypes.create_string_buffer(256)
    if driver.cuDeviceGetName(name, len(name), devices[0]):
        raise _missing("the driver does not tell its device")
    capabilities = [10 * _attribute(driver, _MAJOR, d) + _attribute(driver, _MINOR, d) for d in devices]
    return Device(name.value.decode(), min(capabilities), count.value)


SHARE = 0.9
"""Of a device's memory, for the arrays of a call: the rest is for what the driver and the libraries hold."""


@lru_cache(maxsize=1)
def memory_bytes() -> int | None:
    """What programs may take of the memory of the smallest device where nobody has given a limit; None without one."""
    try:
        count = find_device().count
    except UsageError:
        return None
    driver, sizes = ctypes.CDLL(_LIBRARY), []
    for k in range(count):
        found = ctypes.c_size_t()
        if driver.cuDeviceTotalMem_v2(ctypes.byref(found), _handle(driver, k)):
            return None
        sizes.append(found.value)
    return int(SHARE * min(sizes))


def _handle(driver: ctypes.CDLL, number: int) -> ctypes.c_int:
    found = ctypes.c_int()
    if driver.cuDeviceGet(ctypes.byref(found), number):
        raise _missing("the driver does not tell its device")
    return found


def _attribute(driver: ctypes.CDLL, number: int, device: ctypes.c_int) -> int:
    value = ctypes.c_int()
    if driver.cuDeviceGetAttribute(ctypes.byref(value), number, device):
        raise _missing("the driver does not tell what its device can do")
    return value.value


def find_nvcc() -> str:
    """The CUDA compiler on the PATH, in the folder that CUDA_HOME names, or of the wheel nvidia-cuda-nvcc; raises
    UsageError where there is none."""
    home = os.environ.get("CUDA_HOME", "")
    found = shutil.which("nvcc") or (shutil.which("nvcc", path=str(Path(home, "bin"))) if home else None)
    return found or _nvcc_of_wheels()


def _nvcc_of_wheels() -> str:
    found = next(_of_wheels(WHEELS[0], r".*/bin/nvcc"), None)
    lacking = [name for name in WHEELS if next(_of_wheels(name, ".*"), None) is None]
    if found is None or lacking:
        lacks = " and ".join(lacking or WHEELS[:1])
        raise _missing(f"nvcc is neither on the PATH nor in $CUDA_HOME/bin, and of NVIDIA's wheels there is no {lacks}",
                       f"pip install {' '.join(WHEELS)}, or install the CUDA toolkit")
    return found


def find_library(stem: str) -> str | None:
    """Where a library of CUDA's toolkit is: what the system's loader finds, in the folder that CUDA_HOME names, or in a
    wheel of NVIDIA's."""
    home = os.environ.get("CUDA_HOME", "")
    own = [str(f) for folder in ("lib64", "lib") for f in sorted(Path(home, folder).glob(f"lib{stem}.so*"))] if home \
        else []
    return ctypes.util.find_library(stem) or next(iter(own), None) or next(
        _of_wheels(f"nvidia-{stem}", rf".*/lib{stem}\.so[.\d]*"), None)


@lru_cache(maxsize=1)
def load_libraries() -> None:
    """Load those that the system's loader does not find: programs ask it for them by name, and get what the process has
    loaded already."""
    for stem in CUDA_LIBRARIES:
        found = find_library(stem)
        if found is not None and os.path.isabs(found):
            with suppress(OSError):  # programs say which one is missing
                ctypes.CDLL(found)


def _of_wheels(name: str, file: str) -> Iterator[str]:
    """Files of installed packages of this name, which may say more behind it."""
    for package in metadata.distributions():
        if str(package.metadata["Name"]).startswith(name):
            yield from (str(package.locate_file(f)) for f in package.files or () if re.fullmatch(file, f.as_posix()))


def _missing(what: str, instead: str = _DRIVER) -> UsageError:
    return UsageError(f"programs cannot run on a graphics processor here: {what}", code="SG210",
                      help=f"{instead}, {_INSTEAD}")
