"""What every compilation shares, made once per run: the precompiled headers, without and with BLAS."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

import sdfgad
from npbench_suite.harness.job import Job, Run
from npbench_suite.harness.stopwatch import first_call

SIZE = 64


def measure(job: Job) -> Iterator[Run]:
    """The first gradients of an empty cache; their compile time is nearly all that of the headers."""
    matrix = np.ones((SIZE, SIZE))
    plain, _ = first_call(lambda: sdfgad.grad(squares)(matrix))
    blas, _ = first_call(lambda: sdfgad.grad(product)(matrix, matrix.copy()))
    seconds = plain + blas
    yield Run.of(job).with_times("prepare", seconds, [seconds])


def squares(a: Any) -> Any:
    return np.sum(a * a)


def product(a: Any, b: Any) -> Any:
    # Squared: the gradient of a plain sum needs no matrix product.
    c = a @ b
    return np.sum(c * c)
