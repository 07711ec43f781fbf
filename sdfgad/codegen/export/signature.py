"""The C functions of a library as text, and what their error codes mean."""
from __future__ import annotations

import numpy as np

from sdfgad.codegen.compiling.build import FIRST_FAILURE
from sdfgad.codegen.export.interface import KINDS, Interface, Parameter

ERRORS = (
    (0, "OK", "no error"),
    (1, "TAPE_FULL", "what loops of unknown length keep outgrew the memory limit: export the library again with a "
                     "larger one"),
    (2, "SINGULAR", "a matrix is singular or not positive definite"),
    (3, "NO_MEMORY", "the system has no memory left for a workspace or a tape"),
    (5, "NOT_CONVERGED", "eigenvalues or singular values did not converge"),
    (10, "NULL", "a handle or a pointer is null"),
    (11, "MISALIGNED", "the address of an array is no multiple of the size of its numbers"),
    (12, "OVERLAP", "an output shares memory with an input or with another output"),
    (13, "BUSY", "another thread is in a call with this handle: make a handle for each thread"),
    (14, "INDEX", "an index is out of bounds"),
    (15, "THREADS", "the number of threads is below 1 or above the most that the library was exported for"),
    (63, "UNKNOWN", "an error that should not happen: please report it with the program"),
)
"""Code, name and text of what every library may report. The first ones are those of compiled programs."""


def error_texts(interface: Interface) -> tuple[tuple[int, str], ...]:
    """Every code of a library with its text: those of all libraries, and what the function raises."""
    raised = ((FIRST_FAILURE + k, f"the function raises {text}") for k, text in enumerate(interface.failures))
    return (*((code, text) for code, _, text in ERRORS), *raised)


def type_name(interface: Interface, dtype: np.dtype) -> str:
    """The type of an element, in C and in C++. Those of complex numbers have a name in the header."""
    return f"{interface.name}_{dtype.name}" if dtype.kind == "c" else KINDS[dtype.name].c


def declaration(interface: Interface, p: Parameter, output: bool = False) -> str:
    """A parameter: `const double *x`."""
    kind = type_name(interface, p.dtype)
    if p.by_value and not output:
        return f"{kind} {p.name}"
    return f"{'' if output else 'const '}{kind} *{p.name}"


def signature(interface: Interface) -> str:
    """The head of the function that computes the value and the gradients."""
    parameters = (f"{interface.name}_handle *handle", *(declaration(interface, p) for p in interface.inputs),
                  f"{type_name(interface, interface.value.dtype)} *value",
                  *(declaration(interface, p, output=True) for p in interface.gradients))
    opening = f"int {interface.name}_value_and_grad("
    return opening + f",\n{' ' * len(opening)}".join(parameters) + ")"
