"""Transforms of which real parts are all that is asked for."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import sdfgad
from sdfgad.frontend.parse import parse
from sdfgad.ir.program import Lib
from sdfgad.ir.walk import statements
from sdfgad.transform.stages import prepare_program
from sdfgad.transform.storage.real_parts import take_real_parts
from tests.support.oracle import check_same

U, K = np.linspace(-1.0, 2.0, 24).reshape(4, 6), np.linspace(1.0, 3.0, 24).reshape(4, 6)


def smoothed(u, k):
    return np.sum(np.fft.ifft2(np.fft.fft2(u) / k).real ** 3)


def by_steps(u, k):
    for _ in range(3):
        w = np.fft.ifft(1j * k * np.fft.fft(u, axis=0), axis=0)
        u = u + 0.1 * w.real * u
    return np.sum(u)


def of_half_spectra(u, k):
    return np.sum(np.fft.irfft2(np.fft.rfft2(u) / k[:, :4], s=u.shape) ** 2 * u)


def looked_at_otherwise(u, k):
    z = np.fft.ifft(np.fft.fft(u) / k)
    return np.sum(np.real(z) ** 3) + np.sum(np.imag(z) * u)


def handed_on(u, k):
    z = np.fft.ifft(np.fft.fft(u) * k)
    return np.sum(np.real(z)) + np.sum(np.abs(np.fft.fft(z)))


@pytest.mark.parametrize(("function", "fires"), [
    (smoothed, True), (by_steps, True), (of_half_spectra, True), (looked_at_otherwise, False), (handed_on, False)])
def test_real_parts(function: Callable[..., Any], fires: bool) -> None:
    program = parse(function, (U, K)).program
    prepared = prepare_program(program, ())
    kinds = {v.dtype.kind for s in statements(prepared.body) if isinstance(s, Lib) for v in s.outs}
    assert ("f" in kinds) is fires
    check_same(program, take_real_parts(program))
    sdfgad.check_grads(function, U, K)
