"""Snapshots on disk that change between the sweeps: the program stops where one comes back, whatever is hit."""
from __future__ import annotations

import numpy as np
import pytest

from sdfgad.checkpoint.modes import BINOMIAL, ONLINE, RESTART, SEGMENTS, Mode
from sdfgad.codegen.program import compile_program
from sdfgad.codegen.targets import CPU
from sdfgad.errors import SnapshotError
from sdfgad.ir import algebra, interpret
from sdfgad.ir.index import ix
from sdfgad.ir.program import Array, Lib, Map, Program, Stmt, Store
from sdfgad.ir.walk import statements
from sdfgad.reverse.made import Gradient
from sdfgad.transform.stages import TRIM
from tests.reverse.test_loop_modes import afresh_in_every_iteration, burgers, data, derived, offered, until_settled

BURGERS = burgers, (data(), data()[::-1].copy(), 7)
CASES = [
    (*BURGERS, Mode(SEGMENTS, 3)), (*BURGERS, Mode(BINOMIAL, 3)), (*BURGERS, Mode(RESTART)),
    (afresh_in_every_iteration, (data(),), Mode(SEGMENTS, 2)), (until_settled, (data(),), Mode(ONLINE, 4))]
every_case = pytest.mark.parametrize("fn, args, mode", CASES, ids=[f"{f.__name__}, {m.kind}" for f, _, m in CASES])


def program_of(fn, args, mode, spill=True) -> tuple[Gradient, Program, dict[str, np.ndarray]]:
    """The gradient, and its program, where the innermost loop runs in a mode, and its arguments."""
    loop = offered(derived(fn, args)[0])[-1][0][0]
    made, wrt = derived(fn, args, {loop: mode}, spill=spill)
    given = dict(zip(wrt, (a.copy() for a in args if np.ndim(a)), strict=True))
    return made, CPU.optimised(TRIM(made.program.but(live_out=frozenset(made.results)))), given


def on_disk(program: Program) -> dict[str, Array]:
    """Arrays of snapshots by the array they are of, but for counters."""
    return {n.removeprefix("saved_"): a for n, a in program.arrays.items() if a.role == "disk" and a.dtype.kind == "f"}


def damage(array: Array, slot: tuple[int, ...]) -> Map:
    """Changes the last number in a slot."""
    last = (*slot, *(n - 1 for n in array.shape[len(slot):]))
    return Map((), (Store(array.name, tuple(map(ix, last)), algebra.number(1, array.dtype), "+"),))


def damaged(program: Program, name: str, *slots: tuple[int, ...]) -> Program:
    """The program where snapshots change before the first one comes back: all of an array's, or those in some slots."""
    slots = slots or tuple(np.ndindex(program.arrays[f"seal_{name}"].shape))
    first = next(k for k, s in enumerate(program.body) if "unseal" in operations((s,)))
    hits = [damage(program.arrays[f"saved_{name}"], slot) for slot in slots]
    return program.but(body=(*program.body[:first], *hits, *program.body[first:]))


def operations(block: tuple[Stmt, ...]) -> set[str]:
    return {s.op for s in statements(block) if isinstance(s, Lib)}


@every_case
def test_the_array_that_is_hit_is_named(fn, args, mode):
    made, program, given = program_of(fn, args, mode)
    assert on_disk(program)
    for name in on_disk(program):
        what = made.swept.arrays[name].label or name
        with pytest.raises(SnapshotError, match=f"the snapshot of {what} from disk is damaged"):
            interpret.run(damaged(program, name), {n: a.copy() for n, a in given.items()})


def test_every_slot_is_verified_in_every_iteration_of_the_loops_around():
    _, program, given = program_of(*CASES[3])
    slots = list(np.ndindex(program.arrays["seal_y"].shape))
    assert len(slots) == 8
    for slot in slots:
        with pytest.raises(SnapshotError):
            interpret.run(damaged(program, "y", slot), {n: a.copy() for n, a in given.items()})


def test_seals_move_with_their_snapshots():
    """With four slots of a loop of unknown length, snapshots have moved before they come back."""
    _, program, given = program_of(*CASES[4])
    memory: dict[str, np.ndarray] = {}
    interpret.run(program, given, memory)
    assert next(a for n, a in memory.items() if n.endswith("_stride")) > 2


@every_case
def test_native_code_stops_too(fn, args, mode):
    made, program, given = program_of(fn, args, mode)
    passed = (*made.results, *(n for n, a in program.arrays.items() if a.role == "disk"))
    room = {n: np.zeros(program.arrays[n].shape, program.arrays[n].dtype) for n in passed}
    compile_program(program, results=passed)({**room, **{n: a.copy() for n, a in given.items()}})
    name = next(n for n, a in on_disk(program).items() if len(a.shape) > 1)
    with pytest.raises(SnapshotError, match=f"the snapshot of {made.swept.arrays[name].label or name} "):
        compile_program(damaged(program, name), results=passed)({**room, **given})


def test_snapshots_in_memory_are_not_sealed():
    for spill in (False, True):
        _, program, _ = program_of(*CASES[0], spill)
        assert operations(program.body) == ({"seal", "unseal"} if spill else set())
        assert any(n.startswith("seal") for n in program.arrays) is spill
