"""A function run for every element of a batch, in plain Python for the interpreter to run."""
# The interpreter runs these bodies for any kind of argument: types would say nothing.
# mypy: disable-error-code="no-untyped-def"
from __future__ import annotations


def each(batch, arguments, keywords):
    rows = []
    for k in range(size_of(batch, arguments, keywords)):
        rows.append(result_of(batch, arguments, keywords, k))
    return together(batch, rows)


def size_of(batch, arguments, keywords):
    """The number of elements: a rule of `frontend/batches.py`, as are those below."""


def result_of(batch, arguments, keywords, k):
    """What the function gives for one element, as a tuple of numbers and arrays."""


def together(batch, rows):
    """The results of all elements, with the axis of the batch."""
