"""Numbers in tasklets are those of the code that DaCe compiles."""
from __future__ import annotations

import dace
import numpy as np
import pytest
from dace import Memlet

from sdfgad.frontend.graphs.function import from_sdfg
from sdfgad.frontend.graphs.reading import read
from tests.graphs.pairs import N
from tests.support.point_loops import run

FORMULAS = (
    "a * (1 / 2)", "k / 2", "k // 2", "k % 3", "float(a) * 0.1", "int(a)", "a ** 2", "a ** 0.5", "a ** -1", "k ** 2",
    "2 ** k", "f * 0.1", "f * f", "f * k", "abs(k)", "abs(-a)", "min(a, k)", "max(f, 0.3)", "min(k, j)",
    "a if k > 0 else j", "(k > 0) + 1", "k * j // 3", "-k // 2", "math.sqrt(k * k)", "exp(f)", "sin(a) + cos(k)",
    "dace.float32(a) * 3", "dace.int32(a * 3)", "a // 0.3", "floor(a * 3) / 2", "k & 3", "(k | 4) ^ j", "not k",
    "a > 0.5 and k != 2", "log(a) if a > 0 else 0", "atan2(a, k)", "tanh(f)", "1 / (k * k + 1)",
)
"""Of a double a, a float f, an int k and a long j."""


def formulas() -> dace.SDFG:
    """Each formula as a map of its own, with its values in a row of `out`."""
    sdfg = dace.SDFG("formulas")
    for name, kind in (("a", dace.float64), ("f", dace.float32), ("k", dace.int32), ("j", dace.int64)):
        sdfg.add_array(f"{name}_all", [N], kind)
    sdfg.add_array("out", [len(FORMULAS), N], dace.float64)
    state = sdfg.add_state("first")
    for number, formula in enumerate(FORMULAS):
        state = sdfg.add_state_after(state, f"s{number}")
        used = [n for n in "afkj" if n in "".join(c if c.isalnum() or c == "_" else " " for c in formula).split()]
        state.add_mapped_tasklet(f"t{number}", {"i": "0:N"}, {n: Memlet(f"{n}_all[i]") for n in used}, f"o = {formula}",
                                 {"o": Memlet(f"out[{number}, i]")}, external_edges=True)
    return sdfg


@pytest.mark.slow
def test_formulas_are_what_dace_compiles() -> None:
    sdfg = formulas()
    given = {"a_all": np.array([0.2, 1.7, 0.9, 2.5]), "f_all": np.array([0.1, 1.3, 2.7, 0.4], np.float32),
             "k_all": np.array([-7, 2, 5, -2], np.int32), "j_all": np.array([3, -4, 9, 2]),
             "out": np.zeros((len(FORMULAS), 4))}
    parsed = read(from_sdfg(sdfg), (), given)
    mine = {n: np.array(v) for n, v in parsed.collect((), given).items()}
    run(parsed.program, mine)
    sdfg(**given, N=4)
    found = mine[parsed.traced["out"]]
    different = [f"{formula}: {one} instead of {other}" for formula, one, other in zip(FORMULAS, found, given["out"],
                                                                                     strict=True)
                 if not np.allclose(one, other, rtol=1e-7, atol=1e-12, equal_nan=True)]
    assert not different, "\n".join(different)
