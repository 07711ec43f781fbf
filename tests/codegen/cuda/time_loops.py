"""Loops over time with a state that nobody can take back: what they store, and how much of it, is a matter of a limit.

Each changes its arguments, and gives a number. All are small models of physics, biology or learning, written for this.
"""
from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType

import numpy as np

from npbench_suite.harness.burgers import burgers


def transport(u, steps):
    """Burgers' equation on a ring."""
    for _ in range(steps):
        u[:] = u - 0.1 * u * (u - np.roll(u, 1)) + 0.05 * (np.roll(u, 1) + np.roll(u, -1) - 2 * u)
    return np.sum(u * u)


def logistic(x, r, steps):
    for _ in range(steps):
        x[:] = (2.5 + r) * x * (1 - x)
    return np.sum(x * r)


def conducting(t, steps):
    """Heat in a medium that conducts better where it is hot."""
    for _ in range(steps):
        k = 0.5 * (1 + 0.3 * (t[1:] ** 2 + t[:-1] ** 2))
        flux = k * (t[1:] - t[:-1])
        t[1:-1] += 0.1 * (flux[1:] - flux[:-1])
    return np.sum(np.sin(t))


def gray_scott(a, b, steps):
    for _ in range(steps):
        reaction = a * b * b
        da = np.roll(a, 1, 0) + np.roll(a, -1, 0) + np.roll(a, 1, 1) + np.roll(a, -1, 1) - 4 * a
        db = np.roll(b, 1, 0) + np.roll(b, -1, 0) + np.roll(b, 1, 1) + np.roll(b, -1, 1) - 4 * b
        a[:] = a + 0.1 * da - reaction + 0.04 * (1 - a)
        b[:] = b + 0.05 * db + reaction - 0.1 * b
    return np.sum(a * b)


def neurons(v, w, steps):
    """FitzHugh and Nagumo's model, one neuron for each element, beside its neighbours."""
    for _ in range(steps):
        spread = np.roll(v, 1) + np.roll(v, -1) - 2 * v
        new = v + 0.1 * (v - v ** 3 / 3 - w + 0.5 + 0.2 * spread)
        w[:] = w + 0.01 * (v + 0.7 - 0.8 * w)
        v[:] = new
    return np.sum(v * w)


def lorenz(x, y, z, steps):
    for _ in range(steps):
        dx, dy, dz = 10 * (y - x), x * (28 - z) - y, x * y - 8 / 3 * z
        x[:] = x + 0.01 * dx
        y[:] = y + 0.01 * dy
        z[:] = z + 0.01 * dz
    return np.sum(x * y + z)


def pendulums(angle, speed, steps):
    for _ in range(steps):
        angle[:] = angle + 0.1 * speed * np.exp(-0.01 * speed * speed)
        speed[:] = speed - 0.1 * np.sin(angle) * (1 + 0.1 * speed)
    return np.sum(angle * speed)


def relaxing(x, v, steps):
    """Van der Pol's oscillator."""
    for _ in range(steps):
        push = (1 - x * x) * v - x
        x[:] = x + 0.05 * v * (1 + 0.1 * v)
        v[:] = v + 0.05 * push
    return np.sum(x * v)


def attracting(p, v, steps):
    """Bodies on a line, each of which all the others pull."""
    for _ in range(steps):
        gap = p[None, :] - p[:, None]
        v[:] = v * 0.99 + 0.01 * np.sum(gap / (gap * gap + 0.5) ** 1.5, axis=1) * np.cos(v)
        p[:] = p + 0.1 * v
    return np.sum(p * p)


def recurrent(h, w, x, steps):
    for t in range(steps):
        h[:] = np.tanh(w @ h + x * np.cos(0.1 * t))
    return np.sum(h * h)


def gated(h, w, u, steps):
    for _ in range(steps):
        gate = 1 / (1 + np.exp(-(u @ h)))
        h[:] = gate * h + (1 - gate) * np.tanh(w @ h)
    return np.sum(h * np.sin(h))


def learning(weights, x, y, steps):
    """Steps downhill of a layer with a bend."""
    for _ in range(steps):
        out = np.tanh(x @ weights)
        weights[:] = weights - 0.1 * x.T @ ((out - y) * (1 - out * out))
    return np.sum(weights ** 2)


def in_step(phase, pace, steps):
    """Kuramoto's oscillators."""
    for _ in range(steps):
        pull = np.sum(np.sin(phase[None, :] - phase[:, None]), axis=1)
        phase[:] = phase + 0.1 * (pace + pull / phase.shape[0])
    return np.sum(np.cos(phase) * pace)


def solitons(u, steps):
    """Korteweg and de Vries' equation."""
    for _ in range(steps):
        slope = np.roll(u, -1) - np.roll(u, 1)
        third = np.roll(u, -2) - 2 * np.roll(u, -1) + 2 * np.roll(u, 1) - np.roll(u, 2)
        u[:] = 0.5 * (np.roll(u, 1) + np.roll(u, -1)) - 0.05 * u * slope - 0.01 * third
    return np.sum(u ** 3)


def shallow(h, q, steps):
    """Shallow water by Lax and Friedrichs' scheme."""
    for _ in range(steps):
        flux = q * q / h + 0.5 * h * h
        new = 0.5 * (np.roll(h, 1) + np.roll(h, -1)) - 0.1 * (np.roll(q, -1) - np.roll(q, 1))
        q[:] = 0.5 * (np.roll(q, 1) + np.roll(q, -1)) - 0.1 * (np.roll(flux, -1) - np.roll(flux, 1))
        h[:] = new
    return np.sum(q * h)


def sine_gordon(now, before, steps):
    for _ in range(steps):
        after = 2 * now - before - 0.04 * np.sin(now)
        after[1:-1] += 0.1 * (now[2:] + now[:-2] - 2 * now[1:-1])
        before[:] = now
        now[:] = after
    return np.sum(now * before)


def allen_cahn(u, steps):
    for _ in range(steps):
        u[1:-1, 1:-1] = u[1:-1, 1:-1] + 0.1 * (
            u[2:, 1:-1] + u[:-2, 1:-1] + u[1:-1, 2:] + u[1:-1, :-2] - 4 * u[1:-1, 1:-1]
            + u[1:-1, 1:-1] - u[1:-1, 1:-1] ** 3)
    return np.sum(u ** 2)


def separating(c, steps):
    """Cahn and Hilliard's equation."""
    for _ in range(steps):
        potential = c ** 3 - c - 0.5 * (np.roll(c, 1) + np.roll(c, -1) - 2 * c)
        c[:] = c + 0.02 * (np.roll(potential, 1) + np.roll(potential, -1) - 2 * potential)
    return np.sum(c ** 4)


def hunting(prey, hunters, steps):
    """Lotka and Volterra's model in space."""
    for _ in range(steps):
        met = 0.1 * prey * hunters
        prey[:] = prey + 0.05 * prey - met + 0.1 * (np.roll(prey, 1) + np.roll(prey, -1) - 2 * prey)
        hunters[:] = 0.95 * hunters + met
    return np.sum(prey * hunters)


def branching(x, y, steps):
    """Each step goes another way where an element is large."""
    for _ in range(steps):
        x[:] = np.where(x > 0.5, y * (1 - x * x), x + 0.3 * np.sin(y * x))
        y[:] = 0.9 * y + 0.1 * x * np.roll(x, 1)
    return np.sum(x * y)


def of_light(psi, steps):
    """Schroedinger's equation with a cubic term."""
    for _ in range(steps):
        spread = np.roll(psi, 1) + np.roll(psi, -1) - 2 * psi
        psi[:] = psi + 0.02j * (spread + psi * (psi.real ** 2 + psi.imag ** 2))
    return np.sum(psi.real * psi.imag)


_ROW, _SQUARE, _MATRIX = (24,), (8, 8), (24, 24)
SHAPES: Mapping[Callable[..., float], tuple[tuple[int, ...], ...]] = MappingProxyType({
    burgers: (_SQUARE, _SQUARE), transport: (_ROW,), logistic: (_ROW, _ROW), conducting: (_ROW,),
    gray_scott: (_SQUARE, _SQUARE), neurons: (_ROW, _ROW), lorenz: (_ROW, _ROW, _ROW), pendulums: (_ROW, _ROW),
    relaxing: (_ROW, _ROW), attracting: (_ROW, _ROW), recurrent: (_ROW, _MATRIX, _ROW), gated: (_ROW, _MATRIX, _MATRIX),
    learning: ((3, 5), (6, 3), (6, 5)), in_step: (_ROW, _ROW), solitons: (_ROW,), shallow: (_ROW, _ROW),
    sine_gordon: (_ROW, _ROW), allen_cahn: (_SQUARE,), separating: (_ROW,), hunting: (_ROW, _ROW),
    branching: (_ROW, _ROW), of_light: (_ROW,),
})
"""Of the arguments in front of the number of steps."""
COMPLEX = frozenset({of_light})
"""Those whose state is complex."""
