"""nussinov: base pair maximisation by dynamic programming (integers, no gradient)."""

import numpy as np

from npbench_suite.data import pick
from npbench_suite.kernel import Arguments, Kernel, jax_port

SIZES = (4, 7, 10)


def match(b1, b2):
    if b1 + b2 == 3:
        return 1
    else:
        return 0


def kernel(N, seq):
    table = np.zeros((N, N), np.int32)
    for i in range(N - 1, -1, -1):
        for j in range(i + 1, N):
            if j - 1 >= 0:
                table[i, j] = max(table[i, j], table[i, j - 1])
            if i + 1 < N:
                table[i, j] = max(table[i, j], table[i + 1, j])
            if j - 1 >= 0 and i + 1 < N:
                if i < j - 1:
                    table[i, j] = max(table[i, j], table[i + 1, j - 1] + match(seq[i], seq[j]))
                else:
                    table[i, j] = max(table[i, j], table[i + 1, j - 1])
            for k in range(i + 1, j):
                table[i, j] = max(table[i, j], table[i, k] + table[k + 1, j])
    return table


def initialize(N: int) -> Arguments:
    return {"N": N, "seq": ((np.arange(N) + 1) % 4).astype(np.int32)}


def sample(rng: np.random.Generator, size: int) -> Arguments:
    n = pick(SIZES, size)
    return {"N": n, "seq": rng.integers(0, 4, n, dtype=np.int32)}


KERNEL = Kernel(
    name="nussinov",
    program=kernel,
    initialize=initialize,
    sample=sample,
    wrt=(),
    literal=jax_port("nussinov", "literal"),
    idiomatic=jax_port("nussinov", "idiomatic"),
    gradient="none",
    notes="the sequence enters through an equality test of integers",
)
