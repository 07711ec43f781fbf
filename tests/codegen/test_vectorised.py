"""The hot loops of adjoints that gather are vectorised, says the compiler."""
from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from npbench_suite.kernel import load
from sdfgad.calls.arguments import bind
from sdfgad.codegen.compiling.build import SOURCE, Meta, compile_source, flags, include_flags
from sdfgad.codegen.compiling.toolchain import find_compiler, run
from sdfgad.codegen.cpu.generate import source
from sdfgad.codegen.cpu.lower import lower
from sdfgad.verbs.pipeline import Derivative, Request, derive

LOOP = re.compile(r"\s*for \(int64_t (\w+) = .*\1\+\+\) \{")
SHARED = re.compile(r"\s*#pragma omp (parallel )?for")
FILL = re.compile(r"\s*p_\w+\[.*\] = [\d.]+;")
TRIPS = re.compile(r"= (-?\d+); \w+ < (\d+);")
VECTORISED = re.compile(rf"{SOURCE}:(\d+):\d+: optimized: loop vectorized using \d+ byte vectors")
pytestmark = pytest.mark.skipif("clang" in find_compiler().version, reason="the report is g++'s")


KERNELS = ("jacobi_2d", "fdtd_2d", "hdiff")
SHORT = 16
"""Trips below which a loop of a stencil's rim need not be vectorised."""


@pytest.mark.parametrize("name", KERNELS)
def test_hot_loops_are_vectorised(name: str, tmp_path: Path) -> None:
    kernel = load(name)
    bound = bind(kernel.program, (), kernel.initialize(**kernel.sizes("M")))
    made = derive(kernel.program, bound, Request(kernel.wrt, kernel.output, "sum"))
    check_hot_loops(made, tmp_path, 2)


def test_choices_by_several_conditions_are_vectorised(tmp_path: Path) -> None:
    """`&&` would be a branch."""
    def forces(x, y, kind):
        gap = np.sqrt(x[:, None] ** 2 + y ** 2) - 1.0
        pull = np.where(gap < 0.5, x[:, None] * np.where(gap < 0.0, 1.0, 1.0 - gap / 0.5), 0.0)
        pull = np.where((kind == 1)[:, None] | (y > 0.5), -np.abs(pull), pull)
        return np.sum(pull + np.where((gap < 0.2) & (y > 0.1), y * np.where(gap < 0.0, 1.0, 1.0 - gap / 0.2), 0.0))

    x, y = np.random.default_rng(0).random((2, 256))
    bound = bind(forces, (x, y, np.arange(256) % 2), {})
    check_hot_loops(derive(forces, bound, Request(("x", "y"))), tmp_path, 1)


def switched(u, v, steps):
    for _ in range(steps):
        u = np.where(u * v > 0.1, np.where(np.abs(u) < np.abs(v), 0.9 * u, 0.8 * v), 0.5 * u)
    return np.sum(u)


def masked(u, wet):
    return np.sum(np.where(wet & (u > 0.5), u * u, np.where(~wet | (u < 0.2), 3.0 * u, 1.0)))


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_recorded_choices_and_masks_are_vectorised(dtype: type, tmp_path: Path) -> None:
    """A single bit, or a stored truth, meets other truths."""
    u = np.random.default_rng(0).random(60000).astype(dtype)
    steps = derive(switched, bind(switched, (u, u[::-1].copy(), 3), {}), Request(("u", "v")))
    assert any(name.startswith("decision") for name in steps.program.arrays)
    check_hot_loops(steps, tmp_path / "steps", 2, "pick")
    check_hot_loops(derive(masked, bind(masked, (u, u > 0.7), {}), Request(("u",))), tmp_path / "mask", 1, "pick")


def test_signs_are_chosen_in_lanes_of_their_own_width(tmp_path: Path) -> None:
    """By way of small integers a vector had as many lanes as these need, and more points were left over."""
    source = tmp_path / "signs.cpp"
    source.write_text('#include "sdfgad.h"\nvoid signs(double *x, double *y) {\n'
                      "#pragma GCC ivdep\nfor (int k = 0; k < 4096; k++) y[k] = sg::sign(x[k]); }\n")
    run((find_compiler().path, *flags(), *include_flags(), "-S", str(source), "-o", f"{source}.s"), code="SG505")
    assert "cvtdq2pd" not in Path(f"{source}.s").read_text()


def check_hot_loops(made: Derivative, tmp_path: Path, least: int, holding: str = "") -> None:
    """All of them that hold a text are vectorised, and there are some."""
    lowered = lower(made.program, made.keep)
    text, report = source(lowered), tmp_path / "report"
    tmp_path.mkdir(exist_ok=True)
    compile_source(tmp_path, text, Meta(made.program.name, lowered.arguments, 0), lowered.uses_blas,
                   (f"-fopt-info-vec-optimized={report}",))
    vectorised = {int(number) for number in VECTORISED.findall(report.read_text())}
    lines = text.splitlines()
    hot = [number for number in hot_loops(lines) if holding in body(lines, number)]
    assert len(hot) >= least
    assert not [lines[number - 1] for number in hot if vectorised.isdisjoint((number - 1, number))]


def body(lines: list[str], number: int) -> str:
    """What is in the loop that a line starts."""
    end = " " * (len(lines[number - 1]) - len(lines[number - 1].lstrip())) + "}"
    return "\n".join(lines[number:lines.index(end, number)])


def hot_loops(lines: list[str]) -> Iterator[int]:
    """The numbers of the lines where the innermost loops inside parallel loops start, but for those of a few trips, and
    for those that fill an array with a number, which become calls of `memset`."""
    opened: list[int] = []
    shared: list[int] = []
    inner = 0
    for number, line in enumerate(lines, start=1):
        if number > 1 and SHARED.match(lines[number - 2]):
            shared.append(len(opened))
        if shared and (loop := LOOP.match(line)):
            inner = number if worth(loop, lines[number:number + 1]) else 0
        for brace in re.findall("[{}]", line):
            if brace == "{":
                opened.append(number)
                continue
            closed = opened.pop()
            if closed == inner:
                yield closed
                inner = 0
            shared = [depth for depth in shared if depth < len(opened)]


def worth(loop: re.Match[str], body: list[str]) -> bool:
    """Whether a loop is long, as far as its bounds say, and does more than fill."""
    trips = TRIPS.search(loop.group())
    return not any(FILL.match(line) for line in body) and not (trips and int(trips[2]) - int(trips[1]) < SHORT)


def test_which_loops_are_hot() -> None:
    assert list(hot_loops("""
        for (int64_t a = 0; a < 99; a++) { }
        #pragma omp parallel for
        for (int m = 0; m < 99; m += 1) {
            double r{};
            for (int64_t b = 0; b < 99; b++) {
                for (int64_t c = 0; c < n; c++) {
                    p_x[c] += p_y[c];
                }
                for (int64_t d = 0; d < 1; d++) {
                    p_x[d] += p_y[d];
                }
                for (int64_t e = 0; e < 99; e++) {
                    p_x[e] = 0.0;
                }
            }
        }
        for (int64_t f = 0; f < 99; f++) { }""".splitlines())) == [7]
