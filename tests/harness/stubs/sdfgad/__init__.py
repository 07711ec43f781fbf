"""Stands in for the package: each program of `fake_suite` carries a hand-written adjoint."""

from types import SimpleNamespace


class SdfgadError(Exception):
    code = "SG901"

    def __init__(self, message="", **details):
        super().__init__(message)
        self.message = self.what = message
        self.file, self.line = "", 0
        vars(self).update(details)


class UnsupportedError(SdfgadError):
    code = "SG121"


class MemoryLimitError(SdfgadError):
    code = "SG301"


class _Gradient:
    def __init__(self, fn, wrt, value):
        self.fn, self.wrt, self.value = fn, wrt, value

    def __call__(self, **arguments):
        gradient = _pull(self.fn, arguments, self.wrt, None)
        return (self.fn.objective(arguments), gradient) if self.value else gradient

    def plan(self, **arguments):
        return SimpleNamespace(predicted=SimpleNamespace(peak_bytes=12345))


def _pull(fn, arguments, wrt, seeds):
    gradients = fn.adjoint(arguments, seeds)
    return gradients[wrt[0]] if len(wrt) == 1 else {name: gradients[name] for name in wrt}


def grad(fn, *, wrt, output=None, reduce=None, memory_limit=None):
    return _Gradient(fn, wrt, False)


def value_and_grad(fn, *, wrt, output=None, reduce=None, memory_limit=None):
    return _Gradient(fn, wrt, True)


def vjp(fn, *args, wrt, output=None):
    arguments = dict(zip(fn.names, args, strict=True))
    return fn.outputs(arguments), lambda seeds: _pull(fn, arguments, wrt, seeds)


def forward(fn, output=None):
    del output
    return lambda *args: fn.outputs(dict(zip(fn.names, args, strict=True)))
