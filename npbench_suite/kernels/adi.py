"""adi: alternating direction implicit steps, two Thomas recurrences per time step."""

import numpy as np

from npbench_suite.data import normal, pick
from npbench_suite.kernel import Arguments, Kernel, jax_port

SIZES = ((20, 5), (9, 4), (3, 6))


def kernel(TSTEPS, N, u):
    v = np.zeros(u.shape, dtype=u.dtype)
    p = np.zeros(u.shape, dtype=u.dtype)
    q = np.zeros(u.shape, dtype=u.dtype)
    h = 1.0 / N
    tau = 1.0 / TSTEPS
    m1 = 2.0 * tau / (h * h)
    m2 = 1.0 * tau / (h * h)
    a = -m1 / 2.0
    b = 1.0 + m2
    c = a
    d = -m2 / 2.0
    e = 1.0 + m2
    f = d
    for t in range(1, TSTEPS + 1):
        v[0, 1:N - 1] = 1.0
        p[1:N - 1, 0] = 0.0
        q[1:N - 1, 0] = v[0, 1:N - 1]
        for j in range(1, N - 1):
            p[1:N - 1, j] = -c / (a * p[1:N - 1, j - 1] + b)
            q[1:N - 1, j] = (-d * u[j, 0:N - 2] + (1.0 + 2.0 * d) * u[j, 1:N - 1] - f * u[j, 2:N]
                             - a * q[1:N - 1, j - 1]) / (a * p[1:N - 1, j - 1] + b)
        v[N - 1, 1:N - 1] = 1.0
        for j in range(N - 2, 0, -1):
            v[j, 1:N - 1] = p[1:N - 1, j] * v[j + 1, 1:N - 1] + q[1:N - 1, j]
        u[1:N - 1, 0] = 1.0
        p[1:N - 1, 0] = 0.0
        q[1:N - 1, 0] = u[1:N - 1, 0]
        for j in range(1, N - 1):
            p[1:N - 1, j] = -f / (d * p[1:N - 1, j - 1] + e)
            q[1:N - 1, j] = (-a * v[0:N - 2, j] + (1.0 + 2.0 * a) * v[1:N - 1, j] - c * v[2:N, j]
                             - d * q[1:N - 1, j - 1]) / (d * p[1:N - 1, j - 1] + e)
        u[1:N - 1, N - 1] = 1.0
        for j in range(N - 2, 0, -1):
            u[1:N - 1, j] = p[1:N - 1, j] * u[1:N - 1, j + 1] + q[1:N - 1, j]
    return u


def initialize(TSTEPS: int, N: int) -> Arguments:
    i, j = np.indices((N, N), dtype=np.float64)
    return {"TSTEPS": TSTEPS, "N": N, "u": (i + N - j) / N}


def sample(rng: np.random.Generator, size: int) -> Arguments:
    steps, n = pick(SIZES, size)
    return {"TSTEPS": steps, "N": n, "u": normal(rng, n, n)}


KERNEL = Kernel(
    name="adi",
    program=kernel,
    initialize=initialize,
    sample=sample,
    wrt=("u",),
    output="u",
    literal=jax_port("adi", "literal"),
    idiomatic=jax_port("adi", "idiomatic"),
    notes="unstable scheme: values grow to 1e212 at the largest preset, compare relative to the largest element. At "
    "preset M the gradient reaches 2e33; against tangents in extended precision, in two random directions, it is off "
    "by 3e-4 and 4e-4 here, by 2e-5 and 1e-3 in JAX: rounding decides the digits after the third in both.",
)
