"""Integrals of functions as `scipy.integrate` finds them, in plain NumPy for the interpreter to run in place of a call.
"""
# The interpreter runs these bodies for any kind of argument: types would say nothing.
# mypy: disable-error-code="no-untyped-def"
from __future__ import annotations

import numpy as np

_NOT_FOUND = ArithmeticError  # of data: unlike what these bodies do not take, it is raised in the run
_KRONROD = np.array([
    0.995657163025808080735527280689003, 0.973906528517171720077964012084452, 0.930157491355708226001207180059508,
    0.865063366688984510732096688423493, 0.780817726586416897063717578345042, 0.679409568299024406234327365114874,
    0.562757134668604683339000099272694, 0.433395394129247190799265943165784, 0.294392862701460198131126603103866,
    0.148874338981631210884826001129720, 0.0])
_WEIGHTS = np.array([
    0.011694638867371874278064396062192, 0.032558162307964727478818972459390, 0.054755896574351996031381300244580,
    0.075039674810919952767043140916190, 0.093125454583697605535065465083366, 0.109387158802297641899210590325805,
    0.123491976262065851077958109585166, 0.134709217311473325928054001771707, 0.142775938577060080797094273138717,
    0.147739104901338491374841515972068, 0.149445554002916905664936468389821])
_GAUSS = np.array([
    0.066671344308688137593568809893332, 0.149451349150580593145863396957658, 0.219086362515982043995534934228163,
    0.269266719309996355091226921569469, 0.295524224714752870173815619188769])
_PLACES = np.concatenate((-_KRONROD, _KRONROD[-2::-1]))
_ALL_WEIGHTS = np.concatenate((_WEIGHTS, _WEIGHTS[-2::-1]))
_HALF_WEIGHTS = np.concatenate((np.ravel(np.stack((0.0 * _GAUSS, _GAUSS), 1)), np.zeros(1),
                                np.ravel(np.stack((_GAUSS[::-1], 0.0 * _GAUSS), 1))))


def _piece(f, low, high):
    """The integral between two places, and how far off it may be: Kronrod's rule of 21 points beside that of 10.

    Piessens et al., "QUADPACK", 1983.
    """
    half, values = 0.5 * (high - low), np.zeros(21)
    for k in range(21):
        values[k] = f(0.5 * (low + high) + half * _PLACES[k])
    mean, eps = 0.5 * np.sum(_ALL_WEIGHTS * values), np.finfo(np.float64).eps
    size, spread = (np.abs(half) * np.sum(_ALL_WEIGHTS * np.abs(values - m)) for m in (0.0, mean))
    found = 2.0 * mean * half
    away = np.abs(found - half * np.sum(_HALF_WEIGHTS * values))
    if spread != 0 and away != 0:
        away = spread * min(1.0, (200.0 * away / spread) ** 1.5)
    return found, max(away, 50 * eps * size)


def quad(f, a, b, args, epsabs, epsrel, limit):
    """Between numbers: the worst piece is cut in halves until all of them together are good enough."""
    def of_place(x):
        return f(x, *args)

    if not np.abs(a) + np.abs(b) < np.inf:
        raise _NOT_FOUND("quad: a bound found in the run is infinite: write np.inf in the call")
    whole, away = _piece(of_place, a, b)
    lows, highs, values, errors = np.zeros(limit), np.zeros(limit), np.zeros(limit), np.full(limit, -1.0)
    lows[0], highs[0], values[0], errors[0] = a, b, whole, away
    count = 1
    while away > max(epsabs, epsrel * np.abs(whole)):
        if count == limit:
            raise _NOT_FOUND("quad: not found with so many pieces: give limit=, or add up parts")
        worst = np.argmax(errors)
        low, high = lows[worst], highs[worst]
        middle = 0.5 * (low + high)
        values[worst], errors[worst] = _piece(of_place, low, middle)
        values[count], errors[count] = _piece(of_place, middle, high)
        highs[worst] = middle
        lows[count], highs[count] = middle, high
        count = count + 1
        whole, away = np.sum(values), np.sum(np.maximum(errors, 0.0))
    return whole, away


def quad_beyond(f, start, sign, args, epsabs, epsrel, limit):
    """From a number to infinity, or to minus infinity; sign 0: from there to here. t in (0, 1] stands for 1/t - 1."""
    def seen(t):
        x = (1.0 - t) / t
        if sign == 0:
            return (f(x, *args) + f(-x, *args)) / (t * t)
        return f(start + sign * x, *args) / (t * t)

    return quad(seen, 0.0, 1.0, (), epsabs, epsrel, limit)


def turned(found, away):
    """From the upper end to the lower one."""
    return -found, away


PARTS = (quad, quad_beyond, turned)
"""What the rule runs in place of a call."""
