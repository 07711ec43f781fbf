"""Parts of floating-point numbers, polynomials through samples, spectra, and integrals that NumPy does not have."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import scipy.integrate as integrate
import scipy.optimize as optimize
import scipy.signal as signal

import sdfgad
from sdfgad.errors import UnsupportedError
from sdfgad.frontend import parse
from tests.frontend.checking import check, check_both_modes
from tests.frontend.programs import Case, collector

W = np.random.default_rng(0).uniform(-1, 1, 41)
A = np.random.default_rng(1).uniform(0, 1, (12, 15))
CASES: list[Case] = []
case = collector(CASES)


@case(A)
def polynomials_through_samples(a):
    s = np.sum(signal.savgol_filter(a, 5, 2, axis=0) ** 2) + np.sum(signal.savgol_filter(a, 6, 2) ** 2)
    s += np.sum(signal.savgol_filter(a, 7, 3, deriv=2, delta=0.3) ** 3)
    for mode in ("mirror", "constant", "nearest", "wrap"):
        s += np.sum(signal.savgol_filter(a, 5, 3, mode=mode) ** 2)
    return s + np.sum(signal.savgol_filter(a, 4, 1, mode="nearest", deriv=1) ** 2)


@case(W)
def spectra(w):
    s = 0.0
    for kind in ("constant", "linear", False):
        f, p = signal.welch(w, 2.0, nperseg=9, detrend=kind)
        s += np.sum(p ** 2 * f)
    s += np.sum(signal.welch(w, nperseg=10, noverlap=7, nfft=16, scaling="spectrum", window=("kaiser", 4.0))[1] ** 2)
    s += np.sum(signal.welch(w, window=np.hanning(12))[1] ** 2)
    f, p = signal.periodogram(w, 3.0, "hann", scaling="spectrum", detrend="linear", nfft=64)
    return s + np.sum(p ** 2 * f)


@case(A)
def spectra_of_columns(a):
    return np.sum(signal.welch(a, nperseg=6, axis=0)[1] ** 2)


@case(A)
def integrals(a):
    w, x = a[:, 0], np.linspace(0, 1, 12) ** 2
    s = np.sum(integrate.cumulative_simpson(w, dx=0.1, initial=0.5) ** 2)
    for n in (2, 3, 11):
        s += np.sum(integrate.cumulative_simpson(w[:n], x=x[:n]) ** 2)
    s += np.sum(integrate.cumulative_simpson(a, x=x, axis=0, initial=0) ** 2)
    return s + integrate.fixed_quad(lambda t, k: np.sin(w[0] * t) * k, 0.0, w[1], args=(w[2],), n=7)[0]


@case(A)
def valleys(a):
    return optimize.rosen(a[:, 0]) + np.sum(optimize.rosen(a) ** 2) + optimize.rosen([a[0, 0], 2.0])


@case(W)
def parts_of_numbers(w):
    part, power = np.frexp(w * 7)
    s = np.sum(part ** 2 * power) + np.frexp(w[3])[0] + np.sum(np.spacing(w)) * 1e3
    return s + np.sum(np.nextafter(w, 2.0) ** 2) + np.nextafter(w[0], -1.0)


@pytest.mark.parametrize("fn, arguments", CASES, ids=[c[0].__name__ for c in CASES])
def test_program(fn: Callable[..., Any], arguments: tuple[Any, ...]) -> None:
    check_both_modes(fn, arguments)


def test_single_precision() -> None:
    check(lambda w: (signal.savgol_filter(w, 7, 2), signal.welch(w, nperseg=16)[1], optimize.rosen(w)),
          W.astype(np.float32))


ODD = [0.0, -0.0, np.inf, -np.inf, np.nan, np.finfo(float).max, -np.finfo(float).max, 3.0, 1e-310, -5e-324]
POWERS = 2.0 ** np.arange(-1074.0, 1024.0)
NUMBERS = np.concatenate([ODD, POWERS, -POWERS, np.nextafter(POWERS, 0), np.nextafter(POWERS, np.inf)])


@pytest.mark.parametrize("kind", (np.float64, np.float32))
def test_every_power_of_two(kind: type) -> None:
    def parts(x):
        return *np.frexp(x), np.spacing(x), np.nextafter(x, x * 0 + kind(3)), np.nextafter(x, kind(-0.25))

    with np.errstate(all="ignore"):
        x = NUMBERS.astype(kind)
        for found, wanted in zip(sdfgad.forward(parts)(x), parts(x), strict=True):
            assert found.dtype == wanted.dtype
            np.testing.assert_array_equal(found, wanted)


@pytest.mark.parametrize("program, what", [
    (lambda w: signal.welch(w + 0j)[1], "two sides"), (lambda w: signal.savgol_filter(w, 3, 3), "too few samples"),
    (lambda w: signal.welch(w, average="median")[1], "medians")])
def test_refused(program: Callable[..., Any], what: str) -> None:
    with pytest.raises(UnsupportedError, match=what):
        parse(program, (W,))
