"""What is changed in DaCe's text has to be there as often as expected."""
from __future__ import annotations

import pytest

from sdfgad.codegen.dace_text import APART, NO_HASH, all_counted, members
from sdfgad.errors import InvariantError

STATE = "struct p_state_t {\n    double * __restrict__ __0_v_x;\n    double * __restrict__ __0_v_y;\n};\n"
TAKE = "    __state->__0_v_x = dace::aligned_new_array<double>(8, 64);\n"


@pytest.mark.parametrize("line", [TAKE, "double *p = new double DACE_ALIGN(64)[8];\n", "p = malloc(8);\n"])
def test_memory_that_nothing_counts(line):
    with pytest.raises(InvariantError, match="not counted"):
        all_counted(line)


def test_changes_are_found_as_often_as_they_must_be():
    state = members("p_state_t", "    int more;\n")
    assert state.made(STATE).startswith("struct p_state_t {\n    int more;\n    double")
    for change, code in ((state, ""), (state, STATE + STATE), (NO_HASH, "")):
        with pytest.raises(InvariantError, match="generated code has"):
            change.made(code)


def test_loops_by_themselves_are_marked_unless_they_take_turns():
    once, turns = "#pragma omp parallel for\n", "#pragma omp parallel for schedule(static, 1)\n"
    assert APART.made(once + turns) == "#pragma omp parallel for proc_bind(spread)\n" + turns
