"""The suite of the package with a wrong derivative of tanh, and a program of a user's that meets it."""

import numpy as np

import sdfgad.rules.scalar  # noqa: F401  (the rule has to be there before it is replaced)
from npbench_suite.kernel import load, names
from sdfgad.rules import registry

__all__ = ["load", "names"]


def partials(y, x):
    return (1 - y * y) * 1.001


# Imported by the process that differentiates: the rule stays wrong until that process ends.
broken = registry.override("tanh", partials)
broken.__enter__()


def damped(x):
    return np.sum(np.tanh(x) * x)


def example_damped():
    return (np.array([0.3, -1.1, 0.7]),)
