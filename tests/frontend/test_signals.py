"""Convolutions, transforms of several dimensions, samples."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from tests.frontend.checking import check
from tests.frontend.programs import A34, F6, I6, V4, V6, Z3, Case, collector

CASES: list[Case] = []
case = collector(CASES)
WITH_HOLES = np.where(A34 > 0.6, np.nan, A34)


@case(V6, V4, I6, Z3)
def convolutions(x, v, i, z):
    return [np.convolve(x, v), np.convolve(v, x), np.convolve(x, v, "same"), np.convolve(v, x, mode="same"),
            np.convolve(x, v, "valid"), np.convolve(x, v[:3], "same"), np.convolve(x, v[:1]), np.convolve(x, z),
            np.convolve(i, i[:2], mode="valid"), np.correlate(x, v), np.correlate(x, z, "full"),
            np.correlate(x, v, mode="same"), np.convolve(x, [1.0, -1.0], "valid")]


@case(V6, A34, Z3, A34[:, :3] + 1j)
def transforms(x, A, z, C):
    return [np.fft.rfft(x), np.fft.rfft(x[:5]), np.fft.rfft(A, axis=0), np.fft.irfft(z), np.fft.irfft(z, 5),
            np.fft.irfft(C, axis=0), np.fft.fft2(A), np.fft.ifft2(C), np.fft.fft2(C, axes=(1, 0)), np.fft.fftn(A),
            np.fft.ifftn(C), np.fft.fftfreq(6), np.fft.fftfreq(5, 0.1), np.fft.rfftfreq(7, 2.0),
            np.fft.fftshift(x[:5]), np.fft.fftshift(A), np.fft.ifftshift(A, 1), np.fft.ifftshift(x[:5]),
            np.fft.fftshift(A, axes=(0,))]


@case(V6, V6[:5], F6, I6)
def samples(x, y, f, i):
    return [np.median(x), np.median(y), np.median(f), np.median(i), np.median(x, axis=0),
            np.select([x > 0.8, x > 0.3], [x**2, -x], default=1.0),
            np.select([f > 0.8], [f]), np.select([i > 1], [i], 7)]


@case(np.array([0.3, np.nan, 0.2]), WITH_HOLES)
def holes(x, A):
    return [np.median(x), np.nansum(x), np.nanmean(x), np.nansum(A, axis=0), np.nanmean(A, axis=1, keepdims=True)]


@pytest.mark.parametrize("fn, arguments", CASES, ids=[c[0].__name__ for c in CASES])
def test_case(fn: Callable[..., Any], arguments: tuple[Any, ...]) -> None:
    check(fn, *arguments)
