"""Sparse matrix (compressed rows) times vector."""

import numpy as np
import scipy.sparse

from npbench_suite.data import normal, pick, seeded
from npbench_suite.kernel import Arguments, Kernel, jax_port

SIZES = ((4, 5, 8), (6, 3, 7), (5, 7, 20))


def spmv(A_row, A_col, A_val, x):
    y = np.empty(A_row.size - 1, dtype=A_val.dtype)
    for i in range(A_row.size - 1):
        cols = A_col[A_row[i] : A_row[i + 1]]
        vals = A_val[A_row[i] : A_row[i + 1]]
        y[i] = vals @ x[cols]
    return y


def initialize(M: int, N: int, nnz: int) -> Arguments:
    rng = seeded()
    x = rng.random(N)
    matrix = scipy.sparse.random(M, N, density=nnz / (M * N), format="csr", dtype=np.float64, random_state=rng)
    return {
        "A_row": matrix.indptr.astype(np.uint32),
        "A_col": matrix.indices.astype(np.uint32),
        "A_val": matrix.data,
        "x": x,
    }


def sample(rng: np.random.Generator, size: int) -> Arguments:
    m, n, nnz = pick(SIZES, size)
    row, col = np.divmod(np.sort(rng.choice(m * n, nnz, replace=False)), n)
    return {
        "A_row": np.concatenate([[0], np.cumsum(np.bincount(row, minlength=m))]).astype(np.uint32),
        "A_col": col.astype(np.uint32),
        "A_val": normal(rng, nnz),
        "x": normal(rng, n),
    }


KERNEL = Kernel(
    name="spmv",
    program=spmv,
    initialize=initialize,
    sample=sample,
    wrt=("A_val", "x"),
    literal=jax_port("spmv", "literal"),
    idiomatic=jax_port("spmv", "idiomatic"),
)
