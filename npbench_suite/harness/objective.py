"""The two objectives of every check: the plain sum of the outputs, and a sum with fixed random weights.

The weighted one sees what the plain one cannot: the outputs of a softmax always add up to 1.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

OBJECTIVES = ("sum", "weighted")
# The plain sum once more, as a program in single precision computes it.
SINGLE = "single"


def weights(outputs: Sequence[Any]) -> list[np.ndarray]:
    """One array of weights per output, the same in every process; complex outputs get complex weights."""
    return [_weights(number, np.shape(output), np.result_type(output)) for number, output in enumerate(outputs)]


def _weights(number: int, shape: tuple[int, ...], dtype: np.dtype[Any]) -> np.ndarray:
    generator = np.random.default_rng(1009 + number)
    values = np.asarray(generator.random(shape) + 0.5)
    if np.issubdtype(dtype, np.complexfloating):
        values = values + 1j * (generator.random(shape) + 0.5)
    return values.astype(dtype)


def weighted_sum(outputs: Iterable[Any], factors: Iterable[Any]) -> float:
    """Re sum conj(w) * output: its steepest ascent in the outputs is w."""
    return float(sum(np.sum((np.conj(w) * output).real) for w, output in zip(factors, outputs, strict=True)))


def total(outputs: Iterable[Any]) -> float:
    """The plain objective: real part of the sum of all outputs."""
    return float(sum(np.sum(np.real(output)) for output in outputs))


def magnitude(outputs: Iterable[Any]) -> float:
    """The sum without cancellation: what an error of the plain objective is compared with."""
    return float(sum(np.sum(np.abs(np.real(output))) for output in outputs))


def sensitivity(
    arguments: Mapping[str, Any], outputs: Iterable[Any], gradients: Iterable[Mapping[str, np.ndarray]],
) -> float:
    """How much relative changes of the arguments move the objective, relative to the outputs; the larger of both.

    At the rounding level, the gradient at these arguments is zero and says nothing about a program.
    """
    moved = max(sum(float(np.sum(np.abs(gradient) * np.abs(arguments[name]))) for name, gradient in by_name.items())
                for by_name in gradients)
    size = magnitude(outputs)
    return moved / size if size > 0 else moved


def save_gradients(file: str, gradients: Mapping[str, Mapping[str, Any]]) -> None:
    """``gradients[objective][argument]`` into an .npz file."""
    arrays: dict[str, Any] = {
        f"{objective}/{name}": np.asarray(array)
        for objective, by_name in gradients.items() for name, array in by_name.items()
    }
    with Path(file).open("wb") as stream:
        np.savez(stream, **arrays)


def relative_errors(candidate: str, reference: str) -> dict[str, float]:
    """Per "objective/argument" the largest difference over the largest reference entry, of two .npz files."""
    with np.load(candidate) as ours, np.load(reference) as theirs:
        errors = dict.fromkeys(theirs.files, float("inf"))
        for key in ours.files:
            like = key.replace(f"{SINGLE}/", "sum/")
            if like in theirs.files:
                errors[key] = _relative_error(ours[key], theirs[like], _largest_of_both(theirs, like))
    return errors


def _largest_of_both(reference: Mapping[str, np.ndarray], key: str) -> float:
    """The largest gradient entry of this argument under either objective."""
    name = key.partition("/")[2]
    keys = [f"{objective}/{name}" for objective in OBJECTIVES]
    return max(_largest(reference[one]) for one in keys if one in reference)


def _largest(array: np.ndarray) -> float:
    return float(np.max(np.abs(array), initial=0.0))


def _relative_error(ours: np.ndarray, theirs: np.ndarray, largest_of_both: float) -> float:
    if ours.shape != theirs.shape:
        return float("inf")
    difference, largest = _largest(ours - theirs), _largest(theirs)
    # A gradient this far below that of the other objective is rounding noise around zero.
    noise = 1e3 * np.finfo(ours.dtype).eps * largest_of_both
    scale = largest if largest > noise else largest_of_both
    return difference / scale if scale > 0 else difference
