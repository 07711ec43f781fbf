"""Programs of two arguments (3, 4, 4); loop variables `loop_a`, `loop_b`, `loop_c` are given other names."""
import numpy as np


def sums_of_products(A, B):
    s = 0.0
    for loop_a in range(A.shape[0]):
        s += np.sum(A[loop_a] @ B[loop_a])
    return s * s


def products_of_rows(A, B):
    s = 0.0
    for loop_a in range(A.shape[0]):
        t = A[loop_a] @ B[loop_a]
        for loop_b in range(t.shape[0]):
            s += t[loop_b, loop_b] * np.sum(t[loop_b] ** 2)
    return s


def chains(A, B):
    C = np.zeros((4, 4))
    for loop_a in range(A.shape[0]):
        C += A[loop_a] @ B[loop_a] @ A[loop_a]
        C = C * 0.5 + np.outer(A[loop_a, 0], B[loop_a, :, 1])
    return np.sum(C * C)


def vectors(A, B):
    x = A[0, 0].copy()
    for loop_a in range(3):
        x = np.tanh(B[loop_a] @ x + A[loop_a, 1])
        for loop_b in range(1, 4):
            x[loop_b] = x[loop_b - 1] * 0.5 + x[loop_b]
    return np.sum(x)


def stencils(A, B):
    u = A[0].copy()
    for loop_a in range(3):
        w = np.zeros_like(u)
        w[1:-1, 1:-1] = u[2:, 1:-1] - 2 * u[1:-1, 1:-1] + u[:-2, 1:-1] * B[loop_a, 1:-1, 1:-1]
        for loop_b in range(4):
            u[loop_b] += 0.1 * w[loop_b] * w[3 - loop_b]
    return np.sum(u * u)


def loops_all_the_way(A, B):
    s = 0.0
    for loop_a in range(3):
        for loop_b in range(4):
            for loop_c in range(loop_b, 4):
                s += A[loop_a, loop_b, loop_c] * B[loop_a, loop_c, loop_b] * np.sum(A[loop_a, loop_c])
    return s


def early(A, B):
    x = A[0, 0].copy()
    loop_c = 0
    while loop_c < 3:
        for loop_a in range(3):
            x = np.sin(x * B[loop_a, loop_c])
            if np.sum(x) > 100.0:
                break
        loop_c += 1
    return np.sum(x)


def scans(A, B):
    p = np.zeros((3, 4))
    for loop_a in range(3):
        for loop_b in range(4):
            p[loop_a, loop_b] = np.dot(A[loop_a, loop_b], B[loop_a, :, loop_b])
        p[loop_a] = np.cumsum(p[loop_a]) * np.max(p[loop_a])
    return np.sum(p @ p.T)
