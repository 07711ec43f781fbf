"""Programs of the suite once more, element by element: each returns its outputs and leaves its arguments alone."""

from __future__ import annotations

import math

import numpy as np

Array = np.ndarray
Outputs = tuple[Array, ...]


def adi(TSTEPS: int, N: int, u: Array) -> Outputs:
    u, v, q, p = u.copy(), np.zeros((N, N)), np.zeros((N, N)), np.zeros((N, N))
    m1, m2 = 2.0 * N * N / TSTEPS, 1.0 * N * N / TSTEPS
    a, b, d, e = -m1 / 2.0, 1.0 + m2, -m2 / 2.0, 1.0 + m2
    for _ in range(TSTEPS):
        for i in range(1, N - 1):
            v[0, i], p[i, 0], q[i, 0] = 1.0, 0.0, 1.0
            for j in range(1, N - 1):
                den = a * p[i, j - 1] + b
                p[i, j] = -a / den
                q[i, j] = (-d * u[j, i - 1] + (1 + 2 * d) * u[j, i] - d * u[j, i + 1] - a * q[i, j - 1]) / den
            v[N - 1, i] = 1.0
            for j in range(N - 2, 0, -1):
                v[j, i] = p[i, j] * v[j + 1, i] + q[i, j]
        for i in range(1, N - 1):
            u[i, 0], p[i, 0], q[i, 0] = 1.0, 0.0, 1.0
            for j in range(1, N - 1):
                den = d * p[i, j - 1] + e
                p[i, j] = -d / den
                q[i, j] = (-a * v[i - 1, j] + (1 + 2 * a) * v[i, j] - a * v[i + 1, j] - d * q[i, j - 1]) / den
            u[i, N - 1] = 1.0
            for j in range(N - 2, 0, -1):
                u[i, j] = p[i, j] * u[i, j + 1] + q[i, j]
    return (u,)


def atax(A: Array, x: Array) -> Outputs:
    m, n = A.shape
    y = [sum(A[i, k] * x[k] for k in range(n)) for i in range(m)]
    return (np.array([sum(A[i, j] * y[i] for i in range(m)) for j in range(n)]),)


def bicg(A: Array, p: Array, r: Array) -> Outputs:
    n, m = A.shape
    s = [sum(r[i] * A[i, j] for i in range(n)) for j in range(m)]
    q = [sum(A[i, j] * p[j] for j in range(m)) for i in range(n)]
    return np.array(s), np.array(q)


def cholesky(A: Array) -> Outputs:
    L = A.copy()
    for i in range(len(A)):
        for j in range(i):
            L[i, j] = (A[i, j] - sum(L[i, k] * L[j, k] for k in range(j))) / L[j, j]
        L[i, i] = math.sqrt(A[i, i] - sum(L[i, k] ** 2 for k in range(i)))
    return (L,)


cholesky2 = cholesky


def correlation(M: int, float_n: float, data: Array) -> Outputs:
    n = len(data)
    columns = []
    for j in range(M):
        mean = sum(data[i, j] for i in range(n)) / n
        deviation = math.sqrt(sum((data[i, j] - mean) ** 2 for i in range(n)) / n)
        deviation = 1.0 if deviation <= 0.1 else deviation
        columns.append([(data[i, j] - mean) / (math.sqrt(float_n) * deviation) for i in range(n)])
    corr = np.eye(M)
    for i in range(M):
        for j in range(M):
            if i != j:
                corr[i, j] = sum(columns[i][k] * columns[j][k] for k in range(n))
    return (corr,)


def covariance(M: int, float_n: float, data: Array) -> Outputs:
    n = len(data)
    means = [sum(data[i, j] for i in range(n)) / n for j in range(M)]
    cov = np.zeros((M, M))
    for i in range(M):
        for j in range(M):
            products = ((data[k, i] - means[i]) * (data[k, j] - means[j]) for k in range(n))
            cov[i, j] = sum(products) / (float_n - 1.0)
    return (cov,)


def covariance2(M: int, float_n: float, data: Array) -> Outputs:
    return covariance(M, len(data), data)


def _filtered(x: Array, alpha: float) -> Array:
    """Both recurrences of deriche along one line."""
    small, n = math.exp(-alpha), len(x)
    k = (1 - small) ** 2 / (1 + alpha * small - math.exp(2 * alpha))
    a1, a2, a3, a4 = k, k * small * (alpha - 1), k * small * (alpha + 1), -k * math.exp(-2 * alpha)
    b1, b2 = 2.0 ** -alpha, -math.exp(-2 * alpha)
    forth, back = [0.0] * (n + 2), [0.0] * (n + 2)
    for j in range(n):
        old = x[j - 1] if j > 0 else 0.0
        forth[j + 2] = a1 * x[j] + a2 * old + b1 * forth[j + 1] + b2 * forth[j]
    for j in range(n - 2, -1, -1):
        far = x[j + 2] if j + 2 < n else 0.0
        back[j] = a3 * x[j + 1] + a4 * far + b1 * back[j + 1] + b2 * back[j + 2]
    return np.array([forth[j + 2] + back[j] for j in range(n)])


def deriche(alpha: float, imgIn: Array) -> Outputs:
    rows = np.array([_filtered(row, alpha) for row in imgIn])
    return (np.array([_filtered(column, alpha) for column in rows.T]).T,)


def doitgen(NR: int, NQ: int, NP: int, A: Array, C4: Array) -> Outputs:
    out = np.zeros((NR, NQ, NP))
    for r, q, p in np.ndindex(NR, NQ, NP):
        out[r, q, p] = sum(A[r, q, s] * C4[s, p] for s in range(NP))
    return (out,)


def durbin(r: Array) -> Outputs:
    y, alpha, beta = [-r[0]], -r[0], 1.0
    for k in range(1, len(r)):
        beta = beta * (1.0 - alpha**2)
        alpha = -(r[k] + sum(r[k - 1 - i] * y[i] for i in range(k))) / beta
        y = [y[i] + alpha * y[k - 1 - i] for i in range(k)] + [alpha]
    return (np.array(y),)


def fdtd_2d(TMAX: int, ex: Array, ey: Array, hz: Array, _fict_: Array) -> Outputs:
    ex, ey, hz = ex.copy(), ey.copy(), hz.copy()
    nx, ny = ex.shape
    for t in range(TMAX):
        for i, j in np.ndindex(nx, ny):
            ey[i, j] = _fict_[t] if i == 0 else ey[i, j] - 0.5 * (hz[i, j] - hz[i - 1, j])
        for i, j in np.ndindex(nx, ny):
            ex[i, j] -= 0.5 * (hz[i, j] - hz[i, j - 1]) if j > 0 else 0.0
        for i, j in np.ndindex(nx - 1, ny - 1):
            hz[i, j] -= 0.7 * (ex[i, j + 1] - ex[i, j] + ey[i + 1, j] - ey[i, j])
    return ex, ey, hz


def floyd_warshall(path: Array) -> Outputs:
    path = path.copy()
    n = len(path)
    for k, i, j in np.ndindex(n, n, n):
        path[i, j] = min(path[i, j], path[i, k] + path[k, j])
    return (path,)


def gemm(alpha: float, beta: float, C: Array, A: Array, B: Array) -> Outputs:
    out = beta * C
    for i, j, k in np.ndindex(*C.shape, len(B)):
        out[i, j] += alpha * A[i, k] * B[k, j]
    return (out,)


def gemver(alpha: float, beta: float, A: Array, **vectors: Array) -> Outputs:
    n, A, v = len(A), A.copy(), vectors
    for i, j in np.ndindex(n, n):
        A[i, j] += v["u1"][i] * v["v1"][j] + v["u2"][i] * v["v2"][j]
    x, w = v["x"] + v["z"], v["w"].copy()
    for i, j in np.ndindex(n, n):
        x[j] += beta * A[i, j] * v["y"][i]
    for i, j in np.ndindex(n, n):
        w[i] += alpha * A[i, j] * x[j]
    return A, w, x


def gesummv(alpha: float, beta: float, A: Array, B: Array, x: Array) -> Outputs:
    out = np.zeros(len(A))
    for i, j in np.ndindex(*A.shape):
        out[i] += alpha * A[i, j] * x[j] + beta * B[i, j] * x[j]
    return (out,)


def go_fast(a: Array) -> Outputs:
    return (a + sum(math.tanh(a[i, i]) for i in range(len(a))),)


