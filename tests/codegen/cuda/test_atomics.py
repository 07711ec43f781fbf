"""Atomic sums of gradients of NPBench: scatters through data, and nothing else."""
from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from npbench_suite.device.registers import derived, text_of
from sdfgad.codegen.cuda.schedule import scheduled
from sdfgad.codegen.cuda.work import DeviceItems, DeviceKernel, HostControl, Launch, works
from tests.npbench.calls import DIFFERENTIABLE

SCATTERS = {
    "azimint_hist": {"counts"},  # pixels are counted in the bin that their radius names
    "scattering_self_energies": {"grad_G"},  # neighbours of atoms stand in a table
    "spmv": {"grad_A_val", "grad_x"},  # ends of rows, and columns, stand in the matrix
}
"""What is added to atomically, as docs/gpu.md says, with the reason."""
LIKELY = (*SCATTERS, "doitgen", "lenet")
"""The last two add to elements whose numbers are taken apart into digits."""
PAGE = Path(__file__).parents[3] / "docs" / "gpu.md"


def kernels(items: DeviceItems) -> Iterator[DeviceKernel]:
    for item in items:
        if isinstance(item, DeviceKernel):
            yield item
        elif isinstance(item, Launch):
            yield from item.kernels
        elif isinstance(item, HostControl):
            for part in item.parts:
                yield from kernels(part)


def added_atomically(name: str) -> set[str]:
    every = [w for kernel in kernels(scheduled(derived(name, "S").program).items) for w in works(kernel.parts)]
    return {w.body[k].array for w in every for k in w.atomic}


@pytest.mark.parametrize("name", [n if n in LIKELY else pytest.param(n, marks=pytest.mark.slow)
                                  for n in DIFFERENTIABLE])
def test_only_scatters_are_atomic(name: str) -> None:
    found = added_atomically(name)
    assert found == SCATTERS.get(name, set())
    said = " ".join(PAGE.read_text().split())
    assert all(f"`{array}` of {name}" in said for array in found)


def test_the_text_has_them() -> None:
    assert text_of("spmv", "S").count("join_atomically<") == 2
