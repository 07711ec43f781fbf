"""g++'s sanitizers over gradients by CUDA text, in processes of their own."""
from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

import sdfgad
from tests.codegen.cuda.device_programs import CASES
from tests.codegen.cuda.sanitized import FAULTS, environment
from tests.npbench.calls import DIFFERENTIABLE
from tests.support import on_cpu

RANDOM, TOGETHER = 100, 20
"""Random programs, and how many a process runs."""
NAMES = ([n] for n in (*CASES, *DIFFERENTIABLE))
COPIED = "727"
"""A tape of this random program keeps a truth value that nobody has written."""
GROUPS = (*NAMES, *([*map(str, range(n, n + TOGETHER))] for n in range(0, RANDOM, TOGETHER)), [COPIED])


def said(threads: bool, *what: str) -> tuple[int, str]:
    done = subprocess.run([sys.executable, "-m", "tests.codegen.cuda.sanitized", *["--threads"] * threads, *what],
                          env=environment(threads), capture_output=True, text=True)
    return done.returncode, done.stdout + done.stderr


@pytest.mark.slow
@pytest.mark.parametrize("threads", [False, True], ids=["addresses", "threads"])
@pytest.mark.parametrize("names", GROUPS, ids=lambda names: names[0])
def test_nothing_is_found(names: list[str], threads: bool) -> None:
    status, text = said(threads, *names)
    assert not status and "nothing found" in text, text


@pytest.mark.slow
@pytest.mark.parametrize("fault", [f for f in FAULTS if f != "same"])
def test_faults_are_found(fault: str) -> None:
    status, text = said(False, "--fault", fault, "jacobi_2d")
    assert status and ("AddressSanitizer" in text or "runtime error" in text), text


@pytest.mark.slow
def test_stores_of_what_was_there_are_found() -> None:
    """By ThreadSanitizer alone: the runtime's own search looks at what an element has become."""
    status, text = said(True, "--fault", "same", "stencil")
    assert status and "WARNING: ThreadSanitizer: data race" in text, text


def test_other_flags_make_another_library(monkeypatch: pytest.MonkeyPatch) -> None:
    """A sanitized run would find what was compiled without a sanitizer, and nothing in it."""
    def folder() -> Path:
        with on_cpu.running_here():
            gradient = sdfgad.grad(CASES["sums"].function)
            gradient(*CASES["sums"].own())
            return next(iter(gradient._known.values()))[0].compiled().folder

    before = folder()
    monkeypatch.setattr(on_cpu, "FLAGS", (*on_cpu.FLAGS, "-g1"))
    assert folder() != before
