"""Methods of `scipy.stats.norm`, in plain NumPy for the interpreter to run in place of a call."""
# The interpreter runs these bodies for any kind of argument: types would say nothing.
# mypy: disable-error-code="no-untyped-def,no-untyped-call"
from __future__ import annotations

import math

import numpy as np

from sdfgad.frontend.bodies.special import log_ndtr, ndtr, of_numbers


def pdf(x, loc=0, scale=1):
    z = _standard(x, loc, scale)
    return np.exp(-z * z / 2.0) / math.sqrt(2 * math.pi) / scale


def logpdf(x, loc=0, scale=1):
    z = _standard(x, loc, scale)
    return -z * z / 2.0 - 0.5 * math.log(2 * math.pi) - np.log(scale)


def cdf(x, loc=0, scale=1):
    return ndtr(_standard(x, loc, scale))


def logcdf(x, loc=0, scale=1):
    return log_ndtr(_standard(x, loc, scale))


def sf(x, loc=0, scale=1):
    return ndtr(-_standard(x, loc, scale))


def logsf(x, loc=0, scale=1):
    return log_ndtr(-_standard(x, loc, scale))


def ppf(q, loc=0, scale=1):
    return of_numbers("ndtri", np.asarray(q, np.float64)) * _positive(scale) + loc


def isf(q, loc=0, scale=1):
    return loc - of_numbers("ndtri", np.asarray(q, np.float64)) * _positive(scale)


def _standard(x, loc, scale):
    return (np.asarray(x, np.float64) - loc) / _positive(scale)


def _positive(scale):
    return np.where(np.asarray(scale) > 0, scale, np.nan)
