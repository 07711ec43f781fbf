"""Small kernels with known adjoints, good and bad, in the shape of `npbench_suite.kernel`."""

import importlib
import os
import time
from dataclasses import dataclass
from typing import Any

import numpy as np

SIZES = {"S": {"n": 5}, "M": {"n": 7}, "L": {"n": 9}, "paper": {"n": 11}}


@dataclass(frozen=True)
class FakeKernel:
    name: str
    program: Any
    wrt: tuple = ("x",)
    scalars: tuple = ()
    output: Any = None
    idiomatic: Any = None
    literal: Any = None
    gradient: str = "yes"
    tolerance: float = 1e-8
    notes: str = ""
    dtype: Any = float

    def initialize(self, n):
        return arguments_of(np.random.default_rng(0), n, self.dtype)

    def sample(self, generator, number):
        return arguments_of(generator, 3 + number, self.dtype)

    def sizes(self, preset):
        return SIZES[preset]

    def outputs(self, returned, arguments):
        return [arguments[self.output] if isinstance(self.output, str) else returned]


def arguments_of(generator, n, dtype):
    x = generator.random(n) + 0.5
    return {"x": (x * np.exp(1j * x) if dtype is complex else x).astype(dtype), "n": n}


def fake(name, adjoint, **details):
    """Decorator: the kernel of a program whose adjoint takes (arguments, seeds) and gives {"x": gradient}."""
    def register(program):
        def outputs(arguments):
            own = {"x": arguments["x"].copy(), "n": arguments["n"]}
            returned = program(**own)
            return own["x"] if details.get("output") == "x" else returned

        program.adjoint, program.outputs, program.names = adjoint, outputs, ("x", "n")
        program.objective = lambda arguments: np.sum(outputs(arguments).real)
        KERNELS[name] = FakeKernel(name, program, **details)
        return program

    return register


KERNELS: dict = {}


def jnp():
    return importlib.import_module("jax.numpy")


def seed(seeds, like):
    return np.ones_like(like) if seeds is None else seeds


@fake("cube", lambda a, s: {"x": 3 * a["x"] ** 2 * seed(s, a["x"])}, idiomatic=lambda x, n: (x**3,),
      literal=lambda x, n: (x * x * x,))
def cube(x, n):
    return x**3


@fake("cube32", lambda a, s: {"x": 3 * a["x"] ** 2 * seed(s, a["x"])}, idiomatic=lambda x, n: (x**3,),
      dtype=np.float32)
def cube32(x, n):
    return x**3


@fake("flat", lambda a, s: {"x": 3e-17 * seed(s, a["x"])}, idiomatic=lambda x, n: (1 + 0 * x,))
def flat(x, n):
    return np.ones_like(x)


@fake("inplace", lambda a, s: {"x": 2 * seed(s, a["x"])}, output="x", idiomatic=lambda x, n: (2 * x,))
def inplace(x, n):
    x *= 2


@fake("spiral", lambda a, s: {"x": np.conj(2 * a["x"]) * seed(s, a["x"])}, dtype=complex,
      idiomatic=lambda x, n: (x * x,))
def spiral(x, n):
    return x * x


def _softmax_adjoint(a, s):
    y = np.exp(a["x"]) / np.sum(np.exp(a["x"]))
    s = seed(s, y)
    return {"x": y * (s - np.sum(s * y))}


@fake("softmax", _softmax_adjoint, idiomatic=lambda x, n: (jnp().exp(x) / jnp().sum(jnp().exp(x)),))
def softmax(x, n):
    e = np.exp(x)
    return e / np.sum(e)


@fake("wrong", lambda a, s: {"x": 1.001 * 3 * a["x"] ** 2 * seed(s, a["x"])}, idiomatic=lambda x, n: (x**3,))
def wrong(x, n):
    return x**3


def _refuse(arguments, seeds):
    error = importlib.import_module("sdfgad").UnsupportedError("call of expit", file="/somewhere/refused.py", line=47)
    raise error


@fake("refused", _refuse)
def refused(x, n):
    return x


def _too_big(arguments, seeds):
    raise importlib.import_module("sdfgad").MemoryLimitError("needs 8 GB at the least\nmore", minimum_bytes=8)


@fake("toobig", _too_big)
def toobig(x, n):
    return x


@fake("broken", lambda a, s: {"y": 1})
def broken(x, n):
    return x


@fake("crash", lambda a, s: os.abort())
def crash(x, n):
    return x


@fake("slow", lambda a, s: time.sleep(30))
def slow(x, n):
    return x


def _hungry(arguments, seeds):
    hold = np.ones(80_000_000)
    time.sleep(10)
    return {"x": hold}


@fake("hungry", _hungry)
def hungry(x, n):
    return x


@fake("integers", lambda a, s: {}, gradient="none", notes="counts only")
def integers(x, n):
    return x


def names():
    return sorted(KERNELS)


def load(name):
    return KERNELS[name]
