"""Small pieces the ports share."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
from jax import lax

Array = jax.Array


def put(array: Array, value: Array, *start: int) -> Array:
    """The array with `value` written at `start`: unlike `.at[].set` never a scatter."""
    return lax.dynamic_update_slice(array, value, start)


def repeat(step: Callable[[Any], Any], state: Any, count: int) -> Any:
    """`step` applied `count` times, as a scan: reverse mode needs a fixed trip count."""
    return lax.scan(lambda carry, _: (step(carry), None), state, None, length=count)[0]


def blocks(n: int, least: int, most: int) -> list[tuple[int, int]]:
    """The range 0 ... n cut into at most `most` blocks of at least `least`; the last one may be shorter."""
    size = max(least, -(-n // most))
    return [(low, min(low + size, n)) for low in range(0, n, size)]
