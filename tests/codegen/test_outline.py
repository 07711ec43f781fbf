"""Long functions are cut into pieces, which do the same."""
from __future__ import annotations

import re
from collections.abc import Iterator

import numpy as np
import pytest

import sdfgad
from sdfgad.codegen.cpu.text.outline import outline
from sdfgad.thresholds import changed

OPENING = "void __program_sg_f_internal("
CODE = """struct sg_f_state_t { int x; };
void __program_sg_f_internal(sg_f_state_t*__state, double * __restrict__ v_x, int64_t v_n)
{
    double v_total;
    int64_t s_t;
    alignas(64) double p_line[8];
    double* p_y = __state->sg_arena.at<double>(64);
    for (s_t = 0; (s_t < 3); s_t = s_t + 1) {
        {
            for (int64_t s_i = 0; s_i < 8; s_i++) {
                p_y[s_i] = v_x[s_i] + s_t + p_line[s_i];
            }
        }
        {
            v_total = 0.0;
            for (int64_t s_i = 0; s_i < v_n; s_i++) {
                v_total += p_y[s_i];
            }
        }
        if ((v_total > 3.0)) {
            break;
        }
    }
}
int after;
"""


@pytest.fixture
def short() -> Iterator[None]:
    """Everything is long."""
    with changed(cut_program=0, long_block=200, short_block=20):
        yield


def test_short_programs_stay_as_they_are() -> None:
    assert outline(CODE, OPENING) == CODE


@pytest.mark.usefixtures("short")
def test_blocks_become_functions_of_what_is_declared_around_them() -> None:
    made = outline(CODE, OPENING)
    heads = re.findall(r"SG_PIECE static void \w+_piece_\d+\((.*)\)", made)
    assert heads[0].split(", ") == ["sg_f_state_t *__state", "auto v_x", "auto s_t", "auto p_line"]
    assert set(heads[1].split(", ")) == {"sg_f_state_t *__state", "auto &v_total", "auto v_n"}
    # Where an array of the arena lies is said again, not passed.
    assert made.count("double* p_y = __state->sg_arena.at<double>(64);") == 3
    # What leaves the loop stays in it.
    assert made.index("break;") > made.index(OPENING)
    assert made.endswith("int after;\n")


@pytest.mark.usefixtures("short")
def test_loops_that_share_their_iterations_stay_together() -> None:
    line = "p_y[m1] = p_y[m1] + v_x[m2] * p_line[m2];\n"
    nest = "#pragma omp for collapse(2) schedule(static)\nfor (int64_t m1 = 0; m1 < 8; m1 += 1) {\n" \
        "for (int64_t m2 = 0; m2 < 8; m2 += 1) {\n" + "{\n" + 2 * line + "}\n}\n}\n"
    made = outline(CODE.replace("    for (s_t", f"{nest}    for (s_t", 1), OPENING).splitlines()
    second = made.index("for (int64_t m2 = 0; m2 < 8; m2 += 1) {")
    assert made[second - 1] == "for (int64_t m1 = 0; m1 < 8; m1 += 1) {"
    assert "_piece_" in made[second + 1]


@pytest.mark.usefixtures("short")
@pytest.mark.parametrize("damage", [("        }\n        if", "        }}\n        if"), ("{\n    double", "{ double"),
                                    ("        if ((v", "        else {\n        }\n        if ((v")])
def test_text_of_another_form_is_left_alone(damage: tuple[str, str]) -> None:
    code = CODE.replace(*damage, 1)
    assert outline(code, OPENING) == code


def sweeps(x, w, steps):
    """Maps, sums, numbers that change, a loop of unknown length and a choice."""
    scale = 1.0
    for t in range(steps):
        y = np.sin(x) * w
        x[1:-1] = x[1:-1] + 0.1 * (y[2:] - y[:-2]) * scale
        scale = scale + np.sum(y * y) * 0.01
        if scale > 1.5:
            x *= 0.5
    total = np.sum(x * w)
    while total > 1.0:
        x = x * x * 0.9
        total = np.sum(x * w)
    return total * scale


def test_gradients_of_programs_in_pieces_are_the_same() -> None:
    rng = np.random.default_rng(3)
    x, w = rng.random(700), rng.random(700)
    whole = sdfgad.grad(sweeps)(x, w, 4)
    with changed(cut_program=0, long_block=200, short_block=20):
        gradient = sdfgad.grad(sweeps)
        np.testing.assert_allclose(gradient(x, w, 4), whole, rtol=1e-12)
        made = next(iter(gradient._known.values()))[0].compiled().folder / "program.cpp"
        assert made.read_text().count("SG_PIECE") > 5


def guarded(x, w, n, d):
    """Choices with a division that may not be made, alike but for names."""
    total = 0.0
    for k in range(5):
        total += np.sin(x[k] * (n[k] // d[k]) if d[k] > 0 else w[k])
        total += np.sin(w[k] * (d[k] // n[k]) if n[k] > 0 else x[k])
    return total


def test_both_ways_of_a_choice_stay_together() -> None:
    rng = np.random.default_rng(4)
    x, w, n, d = rng.random(5), rng.random(5), np.array([7, 0, 5, 3, 0]), np.array([2, 3, 0, 0, 4])
    whole = sdfgad.grad(guarded, wrt=("x", "w"))(x, w, n, d)
    with changed(cut_program=0, long_block=400, short_block=20, repeated_block=40):
        gradient = sdfgad.grad(guarded, wrt=("x", "w"))
        found = gradient(x, w, n, d)
        made = next(iter(gradient._known.values()))[0].compiled().folder / "program.cpp"
    for name in ("x", "w"):
        np.testing.assert_allclose(found[name], whole[name], rtol=1e-12)
    text = made.read_text()
    assert text.count("SG_PIECE") > 1 and "SG_BRANCH" in text
