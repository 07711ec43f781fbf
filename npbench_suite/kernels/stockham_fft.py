"""Discrete Fourier transform of length R**K by Stockham's self-sorting stages."""

import numpy as np

from npbench_suite.data import complex_uniform, normal, pick, seeded
from npbench_suite.kernel import Arguments, Kernel, jax_port

SIZES = ((2, 3), (3, 2), (2, 4))


def stockham_fft(N, R, K, x, y):
    i_coord, j_coord = np.mgrid[0:R, 0:R]
    dft_mat = np.exp(-2.0j * np.pi * i_coord * j_coord / R)

    y[:] = x
    for i in range(K):
        # Stride permutation.
        yv = np.reshape(y, (R**i, R, R ** (K - i - 1)))
        tmp_perm = np.transpose(yv, (1, 0, 2))
        # Twiddle factors.
        ii_coord, jj_coord = np.mgrid[0:R, 0 : R**i]
        twiddle = np.exp(-2.0j * np.pi * ii_coord * jj_coord / R ** (i + 1))
        tmp_twid = tmp_perm * twiddle[:, :, np.newaxis]
        # Butterfly.
        y[:] = np.reshape(dft_mat @ np.reshape(tmp_twid, (R, R ** (K - 1))), N)


def initialize(R: int, K: int) -> Arguments:
    N = R**K
    return {"N": N, "R": R, "K": K, "x": complex_uniform(seeded(), N), "y": np.zeros(N, dtype=np.complex128)}


def sample(rng: np.random.Generator, size: int) -> Arguments:
    R, K = pick(SIZES, size)
    N = R**K
    return {
        "N": N, "R": R, "K": K,
        "x": normal(rng, N) + 1j * normal(rng, N),
        "y": normal(rng, N) + 1j * normal(rng, N),
    }


KERNEL = Kernel(
    name="stockham_fft",
    program=stockham_fft,
    initialize=initialize,
    sample=sample,
    wrt=("x",),
    output="y",
    literal=jax_port("stockham_fft", "literal"),
    idiomatic=jax_port("stockham_fft", "idiomatic"),
    matrix=jax_port("stockham_fft", "matrix"),
    notes="The plain sum of the result is N x[0]: use weights.",
)
