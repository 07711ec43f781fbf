"""Snapshots on disk in native code: sealed when they are saved, verified when they come back."""
from __future__ import annotations

from types import MappingProxyType

import numpy as np
import pytest

from sdfgad.codegen.program import compile_program
from sdfgad.errors import InvariantError, SnapshotError
from sdfgad.ir import interpret
from sdfgad.ir.program import Array, Lib, Program, View
from tests.codegen.build_programs import B1, C16, F4, F8, at
from tests.support.checksum import checksum

U8, SLOTS, SLOT = np.dtype("u8"), 3, 1
SHARED = 70_001
"""So many numbers are summed by several threads."""


def views(shape: tuple[int, ...], dtype: np.dtype) -> tuple[View, View, View]:
    """An array, a slot for it, and the slot's seal."""
    own = tuple(f"_{k}" for k in range(len(shape)))
    return (View("A", at(*shape), at(*own), dtype), View("saved", at(*shape), at(SLOT, *own), dtype),
            View("seal", (), at(SLOT), U8))


def made(shape: tuple[int, ...], dtype: np.dtype, *body: Lib) -> Program:
    arrays = {"A": Array("A", shape, dtype, "argument"), "saved": Array("saved", (SLOTS, *shape), dtype, "argument"),
              "seal": Array("seal", (SLOTS,), U8, "argument")}
    return Program("snapshots", arrays, tuple(arrays), body)


def save(shape: tuple[int, ...], dtype: np.dtype) -> Program:
    state, slot, seal = views(shape, dtype)
    return made(shape, dtype, Lib("seal", (slot, seal), (state,)))


def restore(shape: tuple[int, ...], dtype: np.dtype, what: str = "A") -> Program:
    state, slot, seal = views(shape, dtype)
    return made(shape, dtype, Lib("unseal", (state,), (slot, seal), MappingProxyType({"what": what})))


def memory(shape: tuple[int, ...], dtype: np.dtype) -> dict[str, np.ndarray]:
    size = int(np.prod(shape)) * dtype.itemsize
    content = np.random.default_rng(size).bytes(size) if dtype != B1 else bytes(k % 2 for k in range(size))
    # Any bits: a snapshot is not looked at as numbers.
    return {"A": np.frombuffer(content, dtype).reshape(shape).copy(), "saved": np.zeros((SLOTS, *shape), dtype),
            "seal": np.zeros(SLOTS, U8)}


@pytest.mark.parametrize(("shape", "dtype"), [
    ((), F8), ((0,), F8), ((1,), B1), ((13,), B1), ((7,), F4), ((3, 3), F4), ((2048,), F8), ((2049,), F8),
    ((5, 411), C16), ((SHARED,), F8), ((SHARED,), F4)], ids=str)
def test_there_and_back(shape, dtype):
    forth, back = compile_program(save(shape, dtype)), compile_program(restore(shape, dtype))
    for threads in (1, 2, 3):
        forth.threads = back.threads = threads
        held = memory(shape, dtype)
        before = held["A"].tobytes()
        forth(held)
        assert held["seal"].tolist() == [0, checksum(before), 0]
        assert held["saved"][SLOT].tobytes() == before and not held["saved"][[0, 2]].any()
        held["A"][...] = 0
        back(held)
        assert held["A"].tobytes() == before


@pytest.mark.parametrize("threads", [1, 2])
def test_damage_is_found(threads):
    sealed, back = memory((SHARED,), F8), compile_program(restore((SHARED,), F8, 'a "wave" of 1 µm'))
    compile_program(save((SHARED,), F8))(sealed)
    back.threads = threads
    for k in (0, 1, 2047, 2048, SHARED // 2, SHARED - 1):
        held = {n: a.copy() for n, a in sealed.items()}
        held["saved"][SLOT].view(U8)[k] ^= U8.type(1 << k % 64)
        with pytest.raises(SnapshotError, match='the snapshot of a "wave" of 1 µm from disk is damaged') as found:
            back(held)
        assert (found.value.code, found.value.array) == ("SG305", 'a "wave" of 1 µm')
    back(sealed)


def test_a_page_that_never_arrived_or_went_elsewhere():
    sealed, back = memory((SHARED,), F8), compile_program(restore((SHARED,), F8))
    compile_program(save((SHARED,), F8))(sealed)
    lost, swapped = ({n: a.copy() for n, a in sealed.items()} for _ in range(2))
    lost["saved"][SLOT, 512:1024] = 0
    pages = swapped["saved"][SLOT, 2048:3072].reshape(2, 512)
    pages[...] = pages[::-1].copy()
    for held in (lost, swapped):
        with pytest.raises(SnapshotError):
            back(held)


def test_the_interpreter_verifies_too():
    held = memory((9,), F8)
    interpret.run(save((9,), F8), held)
    interpret.run(restore((9,), F8), held)
    held["saved"][SLOT, 4] += 1
    with pytest.raises(SnapshotError, match="the snapshot of A"):
        interpret.run(restore((9,), F8), held)


def test_a_slot_in_pieces_is_a_bug():
    state, slot, seal = views((6,), F8)
    every_other = View("saved", at(6), at("_0", 0), F8)
    with pytest.raises(InvariantError, match="not in one piece"):
        compile_program(made((6,), F8, Lib("seal", (every_other, seal), (state,))), key="in pieces")
