"""The seam: a target that counts operations instead of computing, made of nothing but a `Target`."""
from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import replace

import numpy as np
import pytest

import sdfgad
from sdfgad.analysis.cost import seconds_of
from sdfgad.analysis.lifetimes import Held, Lifetimes
from sdfgad.checkpoint.roofline import FALLBACK
from sdfgad.codegen.compiling.build import Meta
from sdfgad.codegen.target import Code, Target
from sdfgad.errors import MemoryLimitError
from sdfgad.ir.program import Program
from sdfgad.ir.walk import all_reads, all_writes
from sdfgad.transform.stages import PLAIN_STAGE

ENTRY = """
extern "C" void *sg_open() {{ return nullptr; }}
extern "C" void sg_close(void *) {{}}
extern "C" int sg_call(void *, void **args, int, int64_t) {{
    {body}
    return 0;
}}
extern "C" int64_t sg_tape_peak(void *) {{ return 0; }}
extern "C" int64_t sg_tape_needed(void *) {{ return 0; }}
extern "C" int64_t sg_peak_bytes(void *) {{ return 0; }}
extern "C" const char *sg_damaged(void *) {{ return ""; }}
"""


def operations(program: Program) -> float:
    """Elementary operations of one run."""
    return seconds_of(program.body, program.arrays, lambda work: work.operations)


def counter(program: Program, results: tuple[str, ...], loose: Collection[str]) -> Code:
    """Code that puts the number of operations into all that it is to compute."""
    del loose
    passed = tuple(dict.fromkeys((*program.arguments, *results, *program.constants)))
    lines = []
    for place, name in enumerate(passed):
        array = program.arrays[name]
        if name in results and array.dtype == np.float64:
            lines.append(f"for (int64_t i = 0; i < {array.bytes // 8}; ++i) "
                         f"static_cast<double *>(args[{place}])[i] = {operations(program):.1f};")
    return Code("#include <cstdint>\n" + ENTRY.format(body="\n    ".join(lines)), Meta(program.name, passed, 0))


def all_at_once(program: Program, results: Iterable[str], threads: int) -> Held:
    """Every array that is touched, for the whole call."""
    del threads
    kept = all_reads(program.body) | all_writes(program.body) | {*results}
    return Held({n: program.arrays[n].bytes for n in sorted(kept)}, {}, 0, Lifetimes((), {}))


COUNTING = Target("counting", (PLAIN_STAGE,), all_at_once, lambda: FALLBACK, counter)


def steps(x: np.ndarray, count: int) -> float:
    for _ in range(count):
        x[:] = np.sin(x) * x[::-1]
    return np.sum(x)


def counted(size: int, count: int) -> float:
    with sdfgad.config(target=COUNTING):
        found = sdfgad.grad(steps)(np.ones(size), count)
    assert (found == found[0]).all()
    return float(found[0])


def test_it_counts() -> None:
    assert 0 < counted(8, 3) < counted(8, 30)
    assert counted(16, 30) == pytest.approx(2 * counted(8, 30), rel=0.1)


def test_a_forward_program_has_fewer_operations() -> None:
    with sdfgad.config(target=COUNTING):
        assert 0 < sdfgad.forward(steps)(np.ones(8), 3) < counted(8, 3)


def test_the_planner_asks_it_for_bytes() -> None:
    x = np.ones(8)
    with sdfgad.config(target=COUNTING):
        whole = sdfgad.plan(steps, x, 50).predicted.peak_bytes
        with pytest.raises(MemoryLimitError):
            sdfgad.grad(steps, memory_limit=100)(x, 50)
        limited = sdfgad.plan(steps, x, 50, memory_limit=whole // 2)
    assert limited.predicted.peak_bytes <= whole // 2 and (limited.recomputed or limited.modes)


def test_a_target_of_the_same_name_that_makes_other_code() -> None:
    """Nothing that another one has left in the cache is taken, not even under a name of the package's own."""
    def other(program: Program, results: tuple[str, ...], loose: Collection[str]) -> Code:
        made = counter(program, results, loose)
        return replace(made, text=made.text.replace("] = ", "] = -"))

    expected, x = counted(8, 3), np.full(8, 0.5)
    right = sdfgad.grad(steps)(x.copy(), 3)
    for name in ("counting", "cpu"):
        with sdfgad.config(target=replace(COUNTING, name=name, generate=other)):
            assert sdfgad.grad(steps)(x.copy(), 3)[0] == -expected
    np.testing.assert_array_equal(sdfgad.grad(steps)(x.copy(), 3), right)


def test_targets_do_not_meet() -> None:
    """The same function, before and after."""
    gradient, x = sdfgad.grad(steps), np.full(8, 0.5)
    before = gradient(x.copy(), 3)
    with sdfgad.config(target=COUNTING):
        assert gradient(x.copy(), 3)[0] == counted(8, 3)
    np.testing.assert_array_equal(gradient(x.copy(), 3), before)
