"""Random programs on all ranks: reverse against forward mode, both against differences of the program itself."""
from __future__ import annotations

import sys
import traceback
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

import sdfgad
from tests.mpi.random.machine import by_reference
from tests.mpi.random.writer import N, text_of
from tests.mpi.telling import COMM, tell
from tests.programs.running import load

STEP, ROUGH, EXACT = 1e-6, 1e-6, 1e-11


@dataclass(frozen=True)
class Directions:
    """Of one program on this rank: its arguments, tangents of them, the cotangent of what it returns."""

    x: np.ndarray
    k: np.ndarray
    dx: np.ndarray
    dk: np.ndarray
    seed: np.ndarray


def directions(number: int) -> Directions:
    rng = np.random.default_rng((number, COMM.rank))
    return Directions(*(rng.uniform(-0.9, 0.9, N) for _ in range(5)))


@lru_cache(maxsize=1)
def halves() -> Any:
    return COMM.Split(COMM.rank % 2, COMM.rank)


def interpreted(fn: Callable[..., Any], d: Directions) -> tuple[Any, Any, list[np.ndarray]]:
    return by_reference(fn, {"comm": COMM, "half": halves(), "x": d.x, "k": d.k}, {"x": d.dx, "k": d.dk}, d.seed)


def compiled(fn: Callable[..., Any], d: Directions) -> tuple[Any, Any, list[np.ndarray]]:
    """By the public functions."""
    value, pushed = sdfgad.jvp(fn, (COMM, halves(), d.x, d.k), {"x": d.dx, "k": d.dk})
    _, pullback = sdfgad.vjp(fn, COMM, halves(), d.x, d.k, wrt=("x", "k"))
    back = pullback(d.seed)
    return value, pushed, [back.x, back.k]


def judged(number: int, folder: Path, native: bool) -> str:
    """What is wrong with a program on this rank or all of them; "refused: ..." where it is refused."""
    fn, d = load(text_of(number), folder, number), directions(number)

    def plain(step: float) -> np.ndarray:
        return fn(COMM, halves(), d.x + step * d.dx, d.k + step * d.dk)

    expected, slope = plain(0.0), (plain(STEP) - plain(-STEP)) / (2 * STEP)
    refusal, found = "", None
    try:
        found = (compiled if native else interpreted)(fn, d)
    except sdfgad.UnsupportedError as error:
        refusal = str(error).splitlines()[0]
    if any(told := COMM.allgather(refusal)):
        return "refused: " + " | ".join(filter(None, told))
    value, pushed, cotangents = found  # type: ignore[misc]
    off = float(np.max(np.abs(value - expected)))
    rough = float(np.max(np.abs(pushed - slope)) / max(1.0, np.max(np.abs(slope))))
    sides = [float(np.vdot(d.seed, pushed)), float(np.vdot(cotangents[0], d.dx) + np.vdot(cotangents[1], d.dk))]
    one, other = COMM.allreduce(np.array(sides))
    exact = abs(one - other) / max(1.0, abs(one))
    worst = COMM.allreduce(max(off / EXACT, rough / ROUGH, exact / EXACT), op=max_of)
    return "" if worst < 1 else f"wrong: value {off:.1e}, differences {rough:.1e}, dot {exact:.1e}"


def max_of(one: float, other: float) -> float:
    """NaN if either is."""
    return float("nan") if one != one or other != other else max(one, other)


def check_random(first: int, count: int, native: bool = False, shown: bool = False) -> None:
    """Programs with these numbers. An error that is none of ours ends all ranks, as the others wait for this one."""
    seen: Counter[str] = Counter()
    bad: list[str] = []
    with TemporaryDirectory() as folder:
        for number in range(first, first + count):
            try:
                verdict = judged(number, Path(folder), native)
            except Exception:
                print(f"program {number}:\n{text_of(number)}\n{traceback.format_exc()}", file=sys.stderr, flush=True)
                raise
            kind = verdict.partition(":")[0] or "right"
            seen[kind] += 1
            bad += [f"{number}: {verdict}"] if verdict and kind == "wrong" else []
            if shown and COMM.rank == 0:
                print(number, verdict or "right", file=sys.stderr, flush=True)
    tell("random", seen=dict(seen), bad=bad)
