"""g++'s sanitizers over gradients of NPBench by CUDA text, each in a process of its own."""
from __future__ import annotations

import subprocess
import sys

import pytest

from tests.codegen.cuda.sanitized import FAULTS, environment
from tests.npbench.calls import DIFFERENTIABLE


def said(*what: str) -> tuple[int, str]:
    done = subprocess.run([sys.executable, "-m", "tests.codegen.cuda.sanitized", *what], env=environment(),
                          capture_output=True, text=True)
    return done.returncode, done.stdout + done.stderr


@pytest.mark.slow
@pytest.mark.parametrize("name", [n for n in DIFFERENTIABLE if n != "mandelbrot2"])
def test_nothing_is_found(name: str) -> None:
    status, text = said(name)
    assert not status and text.strip().endswith(f"{name}: nothing found"), text


@pytest.mark.slow
@pytest.mark.parametrize("fault", FAULTS)
def test_faults_are_found(fault: str) -> None:
    status, text = said(fault, "jacobi_2d")
    assert status and ("AddressSanitizer" in text or "runtime error" in text), text
