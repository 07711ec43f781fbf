"""Blocks that are equal up to names and places are one function."""
from __future__ import annotations

import re
from collections.abc import Iterator

import numpy as np
import pytest

import sdfgad
from sdfgad.codegen.cpu.text.outline import outline
from sdfgad.thresholds import changed

OPENING = "void __program_sg_f_internal("
HEAD = """struct sg_f_state_t { int x; };
void __program_sg_f_internal(sg_f_state_t*__state, double * __restrict__ v_x, float * __restrict__ v_y)
{
    double* p_a = __state->sg_arena.at<double>(64);
    double* p_b = __state->sg_arena.at<double>(128);
"""
BLOCK = """        {
            const double* p_in = &__state->sg_arena.at<double>(FROM)[0];
            #pragma GCC ivdep
            for (int64_t COUNTER = 0; COUNTER < 8; COUNTER++) {
                TO[COUNTER] = p_in[COUNTER] * 2.0;
            }
        }
"""


@pytest.fixture
def short() -> Iterator[None]:
    """Everything is long, and nothing too short to come again."""
    with changed(cut_program=0, long_block=400, short_block=390, repeated_block=20):
        yield


def block(to: str, place: str, counter: str = "s_i") -> str:
    return BLOCK.replace("COUNTER", counter).replace("TO", to).replace("FROM", place)


def made(*blocks: str) -> tuple[list[str], list[str]]:
    """The parameters of the functions, and the arguments of their calls."""
    code = outline("".join([HEAD, *blocks, "}\nint after;\n"]), OPENING)
    return (re.findall(r"SG_PIECE static void \w+_piece_\d+\((.*)\)", code),
            re.findall(r"^\s*__program_sg_f_internal_piece_\d+\((.*)\);$", code, re.MULTILINE))


def shared(*blocks: str) -> int:
    """How many calls there are more than functions."""
    functions, calls = made(*blocks)
    return len(calls) - len(functions)


@pytest.mark.usefixtures("short")
def test_blocks_with_other_names_and_places_are_one_function() -> None:
    functions, calls = made(block("p_a", "256"), block("p_b", "512", "s_k"))
    assert functions == ["sg_f_state_t *__state, int64_t sg_place_0, int64_t sg_place_1"]
    assert calls == ["__state, 64, 256", "__state, 128, 512"]


@pytest.mark.usefixtures("short")
def test_arguments_keep_their_names_at_the_call() -> None:
    functions, calls = made(block("v_x", "256"), block("v_y", "256"))
    assert functions == ["sg_f_state_t *__state, auto v_x, int64_t sg_place_0"]
    assert calls == ["__state, v_x, 256", "__state, v_y, 256"]


@pytest.mark.usefixtures("short")
@pytest.mark.parametrize("other", [
    block("p_b", "512").replace("* 2.0", "* 3.0"),
    block("p_b", "512").replace("double", "float"),
    block("p_b", "128"),  # where it writes is where it reads
    block("p_b", "512").replace("p_in[s_i]", "p_b[s_i]"),
], ids=["number", "type", "same place", "same name"])
def test_blocks_that_differ_in_more_are_not(other: str) -> None:
    assert shared(block("p_a", "256"), other) == 0


@pytest.mark.usefixtures("short")
def test_loops_of_several_threads_are_shared_and_sums_over_threads_are_not() -> None:
    pragma = "        #pragma omp parallel for\n        for (int m = 0; m < 8; m += 1) {\n"
    loop = [pragma + block(to, place) + "        }\n" for to, place in (("p_a", "256"), ("p_b", "512"))]
    assert shared(*loop) == 1
    sums = [text.replace("parallel for", "parallel for reduction(+:r_s)") for text in loop]
    assert shared(*sums) == 0


def smooth(q, w):
    u = np.zeros_like(q)
    u[1:-1, 1:-1] = w * (q[2:, 1:-1] + q[:-2, 1:-1] + q[1:-1, 2:] + q[1:-1, :-2]) * np.sin(q[1:-1, 1:-1])
    return u


def stages(q, w, steps):
    """Stages of a scheme, unrolled: the same loops over other arrays."""
    for t in range(steps):
        a = smooth(q, w)
        b = smooth(a, w)
        c = smooth(b, w)
        q = 0.5 * q + 0.1 * a + 0.2 * b + 0.3 * c
    return np.sum(q * q)


@pytest.mark.parametrize("threads", [1, 2])
def test_gradients_are_the_same_bits(threads: int) -> None:
    rng = np.random.default_rng(4)
    q, w = rng.random((40, 30)), rng.random((38, 28))
    found = {}
    for least in (1 << 30, 64):
        with sdfgad.config(num_threads=threads), changed(cut_program=0, repeated_block=least):
            gradient = sdfgad.grad(stages)
            found[least] = gradient(q, w, 3)
            text = (next(iter(gradient._known.values()))[0].compiled().folder / "program.cpp").read_text()
        calls = re.findall(r"^\s*(\w+_piece_\d+)\(", text, re.MULTILINE)
        assert (len(set(calls)) < len(calls)) == (least == 64)
    for one, other in zip(found[64], found[1 << 30], strict=True):
        np.testing.assert_array_equal(one, other)
