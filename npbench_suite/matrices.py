"""Jacobians, Hessians and batches against JAX's of the idiomatic ports: `python -m npbench_suite.matrices [NAME...]`.

At the smallest samples, by the first argument, of the first output; Hessians are those of its sum. A batch is one of
arguments where the program returns the output, and one of tangents where it updates it. Programs whose argument or
output is complex have no matrix, and are left out.
"""
from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

import jax
import numpy as np
from jax import numpy as jnp

import sdfgad
from npbench_suite.kernel import Arguments, Kernel, load, names

CLOSE, SYMMETRIC = 1e-9, 1e-12
"""Parts of the largest number by which a matrix may differ, and a Hessian from its transpose."""
BATCH = 3


class Comparison:
    """One program at small sizes: an argument, an output, and both functions of the argument alone."""

    def __init__(self, kernel: Kernel) -> None:
        self.kernel, self.name = kernel, kernel.wrt[0]
        self.output = kernel.output[0] if isinstance(kernel.output, tuple) else kernel.output
        self.given = kernel.sample(np.random.default_rng(1), 0)

    @property
    def arguments(self) -> Arguments:
        return {n: v.copy() if isinstance(v, np.ndarray) else v for n, v in self.given.items()}

    def theirs(self, x: Any) -> Any:
        found = self.kernel.idiomatic(**{**self.given, self.name: x})[0]
        return jnp.asarray(found)

    @property
    def has_matrix(self) -> bool:
        out = self.theirs(self.given[self.name])
        return self.given[self.name].dtype.kind == "f" and out.dtype.kind == "f"

    def jacobian(self) -> tuple[Any, Any]:
        mine = sdfgad.jacobian(self.kernel.program, wrt=self.name, output=self.output)(**self.arguments)
        return mine, jax.jacobian(self.theirs)(jnp.asarray(self.given[self.name]))

    def hessian(self) -> tuple[Any, Any]:
        mine = sdfgad.hessian(self.kernel.program, wrt=self.name, output=self.output, reduce="sum")(**self.arguments)
        return mine, jax.hessian(lambda x: jnp.sum(self.theirs(x)))(jnp.asarray(self.given[self.name]))

    def vmap(self) -> tuple[Any, Any]:
        """Several tangents in place of several arguments where nothing is returned."""
        x = self.given[self.name]
        along = np.random.default_rng(2).normal(size=(BATCH, *x.shape))
        if self.output is None:
            axes = tuple(0 if n == self.name else None for n in self.given)
            batch = {**self.arguments, self.name: x + 0.1 * along}
            mine = sdfgad.vmap(self.kernel.program, in_axes=axes)(*batch.values())
            return mine, jax.vmap(self.theirs)(x + 0.1 * along)
        _, mine = sdfgad.jvp(self.kernel.program, list(self.arguments.values()), {self.name: along}, output=self.output,
                             batched=True)
        return mine, jax.vmap(lambda t: jax.jvp(self.theirs, (jnp.asarray(x),), (t,))[1])(along)


KINDS: Mapping[str, Callable[[Comparison], tuple[Any, Any]]] = MappingProxyType(
    {"jacobian": Comparison.jacobian, "hessian": Comparison.hessian, "vmap": Comparison.vmap})


def verdict(comparison: Comparison, kind: str) -> str:
    """ "right", "wrong" with the difference, or "refused" with the reason."""
    try:
        mine, theirs = (np.asarray(f) for f in KINDS[kind](comparison))
    except sdfgad.UnsupportedError as error:
        return f"refused: {error.what}"
    if mine.shape != theirs.shape:
        return f"wrong: shapes {mine.shape} and {theirs.shape}"
    size = max(1.0, float(np.max(np.abs(theirs), initial=0.0)))
    worst = float(np.max(np.abs(mine - theirs), initial=0.0)) / size
    if worst > CLOSE:
        return f"wrong: {worst:.1e} of the largest"
    n = comparison.given[comparison.name].size
    apart = float(np.max(np.abs(mine.reshape(n, n) - mine.reshape(n, n).T), initial=0.0)) if kind == "hessian" else 0.0
    return "right" if apart <= SYMMETRIC * size else f"wrong: {apart / size:.1e} from symmetric"


def main() -> int:
    jax.config.update("jax_enable_x64", True)
    seen: Counter[str] = Counter()
    for name in sys.argv[1:] or names():
        kernel = load(name)
        if kernel.idiomatic is None or kernel.gradient != "yes" or not (comparison := Comparison(kernel)).has_matrix:
            continue
        for kind in KINDS:
            found = verdict(comparison, kind)
            seen[f"{kind} {found.split(':')[0]}"] += 1
            sys.stdout.write(f"{name}: {kind} {found}\n")
            sys.stdout.flush()
    sys.stdout.write(f"{dict(sorted(seen.items()))}\n")
    return int(any(k.endswith("wrong") for k in seen))


if __name__ == "__main__":
    raise SystemExit(main())
