"""The bottom lines: how many rows ended how, and the means of the ratios."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean, geometric_mean, median
from types import MappingProxyType
from typing import Any

from npbench_suite.harness.row import FAILURES, Row

# What sdfgad's time is compared with -> the ratio of a row. The matrix ports are in none of them.
RATIOS: Mapping[str, Callable[[Row], float | None]] = MappingProxyType({
    "JAX": lambda row: row.speedup,
    "JAX idiomatic": lambda row: row.over("jax:idiomatic"),
    "JAX literal": lambda row: row.over("jax:literal"),
    "JAX value_and_grad": lambda row: row.value_and_gradient_speedup,
    "JAX weighted": lambda row: row.weighted_speedup,
})


@dataclass(frozen=True)
class Means:
    """Ratios of the other time over sdfgad's, over the kernels that have one."""

    kernels: int
    geometric: float
    median: float
    arithmetic: float
    worst: float
    best: float

    @classmethod
    def of(cls, ratios: Sequence[float]) -> Means:
        return cls(len(ratios), geometric_mean(ratios), median(ratios), fmean(ratios), min(ratios), max(ratios))


@dataclass(frozen=True)
class Summary:
    """Number of rows by status; the means by what they compare with, see `RATIOS`."""

    statuses: Mapping[str, int]
    means: Mapping[str, Means]

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> Summary:
        return cls(values["statuses"], {name: Means(**means) for name, means in values["means"].items()})


def summarize(rows: Sequence[Row]) -> Summary:
    """The summary of a table."""
    statuses = {status: sum(row.status == status for row in rows) for status in sorted({row.status for row in rows})}
    ratios = {name: [value for row in rows if (value := of(row)) is not None] for name, of in RATIOS.items()}
    return Summary(statuses, {name: Means.of(values) for name, values in ratios.items() if values})


def ordered(rows: Iterable[Row]) -> list[Row]:
    """Failures, then the kernels with a ratio from slow to fast, then the others by name."""
    def key(row: Row) -> tuple[int, float, str]:
        if row.status in FAILURES:
            return FAILURES.index(row.status), 0.0, row.kernel
        if row.speedup is not None:
            return len(FAILURES), row.speedup, row.kernel
        return len(FAILURES) + 1, 0.0, row.kernel

    return sorted(rows, key=key)
