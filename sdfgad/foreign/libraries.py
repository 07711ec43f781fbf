"""Which library an array is of: how it takes what was made elsewhere, and on which stream it works."""
from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from importlib import import_module
from types import MappingProxyType
from typing import Any

from sdfgad.foreign.device_array import DeviceArray


@dataclass(frozen=True)
class Library:
    """A function that makes an array without a copy and without waiting. stream: the handle of the stream of now on a
    device, where its arrays do not say it. immutable: nobody may write into its arrays."""

    module: str
    function: str = "from_dlpack"
    options: Mapping[str, Any] = field(default_factory=lambda: MappingProxyType({}))
    stream: Callable[[Any, int], int] | None = None
    immutable: bool = False


_JAX = Library("jax.dlpack", immutable=True)
LIBRARIES: Mapping[str, Library] = MappingProxyType({
    "cupy": Library("cupy"),
    "torch": Library("torch", stream=lambda torch, device: int(torch.cuda.current_stream(device).cuda_stream)),
    "jax": _JAX,
    "jaxlib": _JAX,
    "numba": Library("numba.cuda", "as_cuda_array", MappingProxyType({"sync": False})),
})
"""By the package that the class of an array is from."""


def library_of(value: Any) -> Library | None:
    """The library of an array, if it is one of those known."""
    return LIBRARIES.get(type(value).__module__.partition(".")[0])


def stream_of(value: Any, device: int) -> int | None:
    """The stream that the library of an array works on now; None where it does not say."""
    library = library_of(value)
    if library is None or library.stream is None:
        return None
    return library.stream(import_module(library.module), device) or 1


def taker_of(value: Any) -> Callable[[DeviceArray], Any]:
    """How the library of an array takes another one: by what is known of it, by its array namespace, or as it is."""
    library = library_of(value)
    if library is not None:
        return partial(getattr(import_module(library.module), library.function), **library.options)
    namespace = getattr(value, "__array_namespace__", None)
    found: Callable[[DeviceArray], Any] = _itself if namespace is None else namespace().from_dlpack
    return found


def _itself(array: DeviceArray) -> DeviceArray:
    return array
