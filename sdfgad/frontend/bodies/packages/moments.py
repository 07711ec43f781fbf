"""Summaries of samples of `scipy.stats`, in plain NumPy for the interpreter to run in place of a call."""
# The interpreter runs these bodies for any kind of argument: types would say nothing.
# mypy: disable-error-code="no-untyped-def"
from __future__ import annotations

from collections import namedtuple

import numpy as np

from sdfgad.frontend.bodies.special import betainc

PearsonRResult = namedtuple("PearsonRResult", ("statistic", "pvalue"))
DescribeResult = namedtuple("DescribeResult", ("nobs", "minmax", "mean", "variance", "skewness", "kurtosis"))
LinregressResult = namedtuple("LinregressResult", ("slope", "intercept", "rvalue", "pvalue", "stderr"))


def _usual(nan_policy, keepdims=False):
    if nan_policy != "propagate" or keepdims:
        raise ValueError("another policy for NaN, or dimensions that are kept")


def _central(a, order, axis, keepdims=False):
    values = np.asarray(a) * 1.0
    return np.mean((values - np.mean(values, axis=axis, keepdims=True)) ** order, axis=axis, keepdims=keepdims)


def moment(a, order=1, axis=0, nan_policy="propagate", *, center=None, keepdims=False):
    _usual(nan_policy, keepdims)
    if order == 1 and center is None:
        return np.mean(np.asarray(a) * 0.0, axis=axis)
    return _central(a, order, axis) if center is None else np.mean((np.asarray(a) - center) ** order, axis=axis)


def _count(a, axis):
    a = np.asarray(a)
    return a.size if axis is None else a.shape[axis]


def skew(a, axis=0, bias=True, nan_policy="propagate", *, keepdims=False):
    _usual(nan_policy, keepdims)
    n = _count(a, axis)
    found = _central(a, 3, axis) / _central(a, 2, axis) ** 1.5
    return found if bias or n < 3 else found * (((n - 1.0) * n) ** 0.5 / (n - 2.0))


def kurtosis(a, axis=0, fisher=True, bias=True, nan_policy="propagate", *, keepdims=False):
    _usual(nan_policy, keepdims)
    n = _count(a, axis)
    found = _central(a, 4, axis) / _central(a, 2, axis) ** 2
    if not bias and n > 3:
        found = 1.0 / (n - 2) / (n - 3) * ((n * n - 1.0) * found - 3 * (n - 1) ** 2.0) + 3.0
    return found - 3.0 if fisher else found


def zscore(a, axis=0, ddof=0, nan_policy="propagate"):
    _usual(nan_policy)
    return zmap(a, a, axis, ddof)


def zmap(scores, compare, axis=0, ddof=0, nan_policy="propagate"):
    _usual(nan_policy)
    compare = np.asarray(compare)
    away = np.asarray(scores) - np.mean(compare, axis=axis, keepdims=True)
    return away / np.std(compare, axis=axis, ddof=ddof, keepdims=True)


def sem(a, axis=0, ddof=1, nan_policy="propagate", *, keepdims=False):
    _usual(nan_policy, keepdims)
    return np.std(a, axis=axis, ddof=ddof) / _count(a, axis) ** 0.5


def variation(a, axis=0, nan_policy="propagate", ddof=0, *, keepdims=False):
    _usual(nan_policy, keepdims)
    return np.std(a, axis=axis, ddof=ddof) / np.mean(a, axis=axis)


def gmean(a, axis=0, dtype=None, weights=None, nan_policy="propagate", keepdims=False):
    _usual(nan_policy, keepdims)
    if dtype is not None:
        raise ValueError("another type")
    return np.exp(np.average(np.log(np.asarray(a)), axis=axis, weights=weights))


def hmean(a, axis=0, dtype=None, *, weights=None, nan_policy="propagate", keepdims=False):
    _usual(nan_policy, keepdims)
    if dtype is not None:
        raise ValueError("another type")
    return 1.0 / np.average(1.0 / np.asarray(a), axis=axis, weights=weights)


def iqr(x, axis=None, rng=(25, 75), scale=1.0, nan_policy="propagate", interpolation="linear", keepdims=False):
    _usual(nan_policy, keepdims)
    if not isinstance(scale, (int, float)):
        raise ValueError("a scale with a name")
    low, high = (np.percentile(x, p, axis=axis, method=interpolation) for p in rng)
    return (high - low) / scale


def median_abs_deviation(x, axis=0, center=np.median, scale=1.0, nan_policy="propagate", *, keepdims=False):
    _usual(nan_policy, keepdims)
    if center is not np.median and center is not np.mean:
        raise ValueError("another middle")
    factor = 0.6744897501960817 if isinstance(scale, str) and scale == "normal" else scale
    values = np.asarray(x)
    middle = np.median(values, axis=axis, keepdims=True) if center is np.median else np.mean(
        values, axis=axis, keepdims=True)
    return np.median(np.abs(values - middle), axis=axis) / factor


def trim_mean(a, proportiontocut, axis=0, *, nan_policy="propagate", keepdims=False):
    _usual(nan_policy, keepdims)
    rows = np.ravel(a) if axis is None else np.moveaxis(np.asarray(a), axis, 0)
    n = rows.shape[0]
    cut = int(proportiontocut * n)
    return np.mean(np.sort(rows, axis=0)[cut:n - cut], axis=0)


def entropy(pk, qk=None, base=None, axis=0, *, nan_policy="propagate", keepdims=False):
    _usual(nan_policy, keepdims)
    pk = np.asarray(pk) * 1.0
    shares = pk / np.sum(pk, axis=axis, keepdims=True)
    if qk is None:
        found = -np.sum(_x_log(shares, np.ones_like(shares)), axis=axis)
    else:
        qk = np.asarray(qk) * 1.0
        found = np.sum(_x_log(shares, qk / np.sum(qk, axis=axis, keepdims=True)), axis=axis)
    return found if base is None else found / float(np.log(base))


def _x_log(x, y):
    """x log(x / y), which is 0 at 0 and infinite where y alone is 0."""
    some = (x > 0) & (y > 0)
    found = x * np.log(np.where(some, x, 1.0) / np.where(some, y, 1.0))
    return np.where(some, found, np.where((x == 0) & (y >= 0), 0.0, np.where(x == x, np.inf, x)))


def pearsonr(x, y, *, alternative="two-sided", method=None, axis=0):
    x, y = np.asarray(x), np.asarray(y)
    if x.ndim != 1 or alternative != "two-sided" or method is not None or x.shape[0] < 3:
        raise ValueError("several pairs of samples, fewer than three numbers, or another test")
    a, b = x - np.mean(x), y - np.mean(y)
    r = np.clip(np.sum(a * b) / (np.linalg.norm(a) * np.linalg.norm(b)), -1.0, 1.0)
    half = x.shape[0] / 2 - 1
    return PearsonRResult(r, 2 * betainc(half, half, 0.5 * (1 - np.abs(r))))


def linregress(x, y, alternative="two-sided", *, axis=0, nan_policy="propagate"):
    _usual(nan_policy)
    x, y = np.asarray(x), np.asarray(y)
    n = x.shape[0]
    if x.ndim != 1 or alternative != "two-sided" or n < 3:
        raise ValueError("several pairs of samples, fewer than three numbers, or another test")
    a, b = x - np.mean(x), y - np.mean(y)
    over, across, up = np.mean(a * a), np.mean(a * b), np.mean(b * b)
    r = np.clip(across / np.sqrt(over * up), -1.0, 1.0)
    slope = across / over
    freedom = n - 2
    share = (1 - r) * (1 + r)
    # Of t with t^2 = r^2 n / (1 - r^2): the share of Student's distribution beyond it on both sides.
    pvalue = betainc(freedom / 2, 0.5, np.clip(share, 0.0, 1.0))
    return LinregressResult(slope, np.mean(y) - slope * np.mean(x), r, pvalue, np.sqrt(share * up / over / freedom))


def rankdata(a, method="average", *, axis=None, nan_policy="propagate"):
    """Places in the order of size, counted; equal numbers share theirs."""
    _usual(nan_policy)
    if axis is not None or method not in ("average", "min", "max"):
        raise ValueError("ranks along an axis, or another method")
    values = np.ravel(a)
    below = np.sum(values[None, :] < values[:, None], axis=1)
    upto = np.sum(values[None, :] <= values[:, None], axis=1)
    return (below + upto + 1) / 2 if method == "average" else below + 1 if method == "min" else upto


def wasserstein_distance(u_values, v_values, u_weights=None, v_weights=None):
    u, v = np.asarray(u_values), np.asarray(v_values)
    if u_weights is not None or v_weights is not None or u.shape != v.shape:
        raise ValueError("weights, or samples of different sizes")
    return np.mean(np.abs(np.sort(u) - np.sort(v)))


def tmean(a, limits=None, inclusive=(True, True), axis=None, *, nan_policy="propagate", keepdims=False):
    _usual(nan_policy, keepdims)
    values = np.asarray(a) * 1.0
    if limits is None:
        return np.mean(values, axis=axis)
    outside = np.zeros(values.shape, np.bool_)
    if limits[0] is not None:
        outside = values < limits[0] if inclusive[0] else values <= limits[0]
    if limits[1] is not None:
        outside = outside | (values > limits[1] if inclusive[1] else values >= limits[1])
    return np.sum(np.where(outside, 0.0, values), axis=axis) / np.sum(~outside, axis=axis)


def describe(a, axis=0, ddof=1, bias=True, nan_policy="propagate"):
    values = np.asarray(a)
    return DescribeResult(
        _count(a, axis), (np.min(values, axis=axis), np.max(values, axis=axis)), np.mean(values, axis=axis),
        np.var(values, axis=axis, ddof=ddof), skew(a, axis, bias, nan_policy),
        kurtosis(a, axis, True, bias, nan_policy))


NAMES = ("moment", "skew", "kurtosis", "zscore", "zmap", "sem", "variation", "gmean", "hmean", "iqr",
         "median_abs_deviation", "trim_mean", "entropy", "pearsonr", "linregress", "rankdata", "wasserstein_distance",
         "tmean", "describe")
