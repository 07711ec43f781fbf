"""The graphics processor at hand, as CUDA's driver library tells, and the compiler for it: asked without a context."""
from __future__ import annotations

import ctypes
import os
import shutil
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from sdfgad.errors import UsageError

_LIBRARY = "libcuda.so.1"
_MAJOR, _MINOR = 75, 76
"""Numbers of the attributes that make up what a device can do."""
_INSTEAD = 'or run on the processor: device="cpu"; plans need neither driver nor compiler'


@dataclass(frozen=True)
class Device:
    """The first device. capability: 90 for 9.0."""

    name: str
    capability: int


@lru_cache(maxsize=1)
def find_device() -> Device:
    """What programs run on; raises UsageError where there is none."""
    try:
        driver = ctypes.CDLL(_LIBRARY)
    except OSError as error:
        raise _missing(f"the driver library {_LIBRARY} cannot be loaded") from error
    count, first = ctypes.c_int(), ctypes.c_int()
    if driver.cuInit(0) or driver.cuDeviceGetCount(ctypes.byref(count)) or not count.value:
        raise _missing("the driver finds no device")
    name = ctypes.create_string_buffer(256)
    if driver.cuDeviceGet(ctypes.byref(first), 0) or driver.cuDeviceGetName(name, len(name), first):
        raise _missing("the driver does not tell its device")
    major, minor = (_attribute(driver, number, first) for number in (_MAJOR, _MINOR))
    return Device(name.value.decode(), 10 * major + minor)


def _attribute(driver: ctypes.CDLL, number: int, device: ctypes.c_int) -> int:
    value = ctypes.c_int()
    if driver.cuDeviceGetAttribute(ctypes.byref(value), number, device):
        raise _missing("the driver does not tell what its device can do")
    return value.value


def find_nvcc() -> str:
    """The CUDA compiler on the PATH, or in the folder that CUDA_HOME names; raises UsageError where there is none."""
    home = os.environ.get("CUDA_HOME", "")
    found = shutil.which("nvcc") or (shutil.which("nvcc", path=str(Path(home, "bin"))) if home else None)
    if found is None:
        raise _missing("nvcc is neither on the PATH nor in $CUDA_HOME/bin", "install the CUDA toolkit")
    return found


def _missing(what: str, instead: str = "install NVIDIA's driver") -> UsageError:
    return UsageError(f"programs cannot run on a graphics processor here: {what}", code="SG210",
                      help=f"{instead}, {_INSTEAD}")
