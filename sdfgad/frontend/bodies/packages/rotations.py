"""`scipy.spatial.transform.Rotation`: unit quaternions, real part last, one or rows, for the interpreter to run."""
# The interpreter runs these bodies for any kind of argument: types would say nothing.
# mypy: disable-error-code="no-untyped-def,no-untyped-call"
from __future__ import annotations

import math

import numpy as np


class UnitQuaternions:
    """What stands for a rotation that is made inside."""

    def __init__(self, quat):
        self.quat = quat

    def as_quat(self, canonical=False, *, scalar_first=False):
        q = canonical_of(self.quat) if canonical else self.quat * 1.0
        return np.concatenate((q[..., 3:], q[..., :3]), axis=-1) if scalar_first else q

    def as_matrix(self):
        x, y, z, w = parts(self.quat)
        rows = (x * x - y * y - z * z + w * w, 2 * (x * y - z * w), 2 * (x * z + y * w),
                2 * (x * y + z * w), -x * x + y * y - z * z + w * w, 2 * (y * z - x * w),
                2 * (x * z - y * w), 2 * (y * z + x * w), -x * x - y * y + z * z + w * w)
        return np.reshape(np.stack(rows, axis=-1), self.quat.shape[:-1] + (3, 3))

    def as_rotvec(self, degrees=False):
        q = canonical_of(self.quat)
        square = np.sum(q[..., :3] * q[..., :3], axis=-1, keepdims=True)
        small = square < 2.5e-7
        length = np.sqrt(np.where(small, 1.0, square))
        near = 2.0 + square * (1.0 / 3.0 + square * (3.0 / 20.0))
        found = np.where(small, near, 2.0 * np.arctan2(length, q[..., 3:]) / length) * q[..., :3]
        return found * (180.0 / math.pi) if degrees else found

    def as_euler(self, seq, degrees=False, *, suppress_warnings=False):
        extrinsic, axes = axes_of(seq)
        if len(axes) != 3 or axes[0] == axes[1] or axes[1] == axes[2]:
            raise ValueError("axes of which two neighbours are the same")
        i, j, k = axes if extrinsic else axes[::-1]
        symmetric = i == k
        k = 3 - i - j if symmetric else k
        sign = (i - j) * (j - k) * (k - i) // 2
        a, b, c, d = self.quat[..., 3], self.quat[..., i], self.quat[..., j], self.quat[..., k] * sign
        if not symmetric:
            a, b, c, d = a - c, b + d, c + a, d - b
        if np.any((a * a + b * b) * (c * c + d * d) < 1e-14):
            raise ArithmeticError("Euler angles of a rotation where two axes are the same (gimbal lock)")
        total, away = np.arctan2(b, a), np.arctan2(d, c)
        first, last = (total - away, total + away) if extrinsic else (total + away, total - away)
        middle = 2.0 * np.arctan2(np.hypot(c, d), np.hypot(a, b))
        if not symmetric:
            middle = middle - 0.5 * math.pi
            first, last = (first, sign * last) if extrinsic else (sign * first, last)
        found = wrapped(np.stack((first, middle, last), axis=-1))
        return found * (180.0 / math.pi) if degrees else found

    def apply(self, vectors, inverse=False):
        v = np.asarray(vectors) * 1.0
        matrix = self.as_matrix()
        return np.sum((np.swapaxes(matrix, -1, -2) if inverse else matrix) * v[..., None, :], axis=-1)

    def inv(self):
        return UnitQuaternions(self.quat * np.array((-1.0, -1.0, -1.0, 1.0)))

    def magnitude(self):
        q = self.quat
        return 2.0 * np.arctan2(np.sqrt(np.sum(q[..., :3] * q[..., :3], axis=-1)), np.abs(q[..., 3]))

    def __mul__(self, other):
        return UnitQuaternions(product(self.quat, other.quat))

    def __getitem__(self, indexer):
        if self.quat.ndim == 1:
            raise TypeError("part of one rotation")
        return UnitQuaternions(self.quat[indexer])


def parts(q):
    return q[..., 0], q[..., 1], q[..., 2], q[..., 3]


def canonical_of(q):
    """The one of two quaternions whose last number that is not zero is positive; of those before it, the first."""
    x, y, z, w = parts(q)
    flip = (w < 0) | (w == 0) & ((x < 0) | (x == 0) & ((y < 0) | (y == 0) & (z < 0)))
    return np.where(flip[..., None], -q, q)


def product(p, q):
    a, b, c, d = parts(p)
    x, y, z, w = parts(q)
    return unit(np.stack((d * x + w * a + b * z - c * y, d * y + w * b + c * x - a * z, d * z + w * c + a * y - b * x,
                          d * w - a * x - b * y - c * z), axis=-1))


def unit(q):
    return q / np.sqrt(np.sum(q * q, axis=-1, keepdims=True))


def wrapped(angles):
    return np.where(angles < -math.pi, angles + 2.0 * math.pi, np.where(
        angles > math.pi, angles - 2.0 * math.pi, angles))


def from_quat(quat, *, scalar_first=False):
    q = np.asarray(quat) * 1.0
    if q.ndim > 2 or q.shape[-1] != 4:
        raise ValueError("quaternions that are not four numbers, or rows of them")
    if np.any(np.sum(q * q, axis=-1) == 0):
        raise ArithmeticError("a quaternion of length zero")
    return UnitQuaternions(unit(np.concatenate((q[..., 1:], q[..., :1]), axis=-1) if scalar_first else q))


def from_rotvec(rotvec, degrees=False):
    v = np.asarray(rotvec) * (math.pi / 180.0 if degrees else 1.0)
    if v.ndim > 2 or v.shape[-1] != 3:
        raise ValueError("rotation vectors that are not three numbers, or rows of them")
    square = np.sum(v * v, axis=-1, keepdims=True)
    small = square < 1e-6
    angle = np.sqrt(np.where(small, 1.0, square))
    near = 0.5 - square / 48.0 + square * square / 3840.0
    real = np.where(small, 1.0 - square / 8.0 + square * square / 384.0, np.cos(0.5 * angle))
    return UnitQuaternions(np.concatenate((np.where(small, near, np.sin(0.5 * angle) / angle) * v, real), axis=-1))


def axes_of(seq):
    """Whether the axes stay where they are, and which they are."""
    if seq != seq.lower() and seq != seq.upper():
        raise ValueError("axes in capitals and in small letters")
    return seq == seq.lower(), ["xyz".index(c) for c in seq.lower()]


def from_euler(seq, angles, degrees=False):
    extrinsic, axes = axes_of(seq)
    given = np.asarray(angles) * (math.pi / 180.0 if degrees else 1.0)
    if given.ndim == 0:
        given = np.reshape(given, (1,))
    elif given.ndim == 1 and len(axes) == 1 and given.shape[0] > 1:
        given = given[:, None]
    if given.ndim > 2 or given.shape[-1] != len(axes):
        raise ValueError("as many angles as axes")
    found = about(axes[0], given[..., 0])
    for k in range(1, len(axes)):
        more = about(axes[k], given[..., k])
        found = product(more, found) if extrinsic else product(found, more)
    return UnitQuaternions(found)


def about(axis, angle):
    half = 0.5 * angle
    still = 0.0 * half
    return np.stack([np.sin(half) if k == axis else still for k in range(3)] + [np.cos(half)], axis=-1)


def from_matrix(matrix, *, assume_valid=False):
    m = np.asarray(matrix) * 1.0
    if m.ndim not in (2, 3) or m.shape[-2:] != (3, 3):
        raise ValueError("rotation matrices that are not 3 x 3")
    rows = nearest(m) if not assume_valid else m
    a, b, c = rows[..., 0, 0], rows[..., 1, 1], rows[..., 2, 2]
    trace = a + b + c
    across = [rows[..., (k + 2) % 3, (k + 1) % 3] - rows[..., (k + 1) % 3, (k + 2) % 3] for k in range(3)]
    sums = [rows[..., (k + 2) % 3, (k + 1) % 3] + rows[..., (k + 1) % 3, (k + 2) % 3] for k in range(3)]
    large = [(a >= b) & (a >= c) & (a >= trace), (b >= c) & (b >= trace), c >= trace]
    ways = [(1 - trace + 2 * a, sums[2], sums[1], across[0]), (sums[2], 1 - trace + 2 * b, sums[0], across[1]),
            (sums[1], sums[0], 1 - trace + 2 * c, across[2]), (across[0], across[1], across[2], 1 + trace)]
    chosen = [np.where(large[0], ways[0][k], np.where(large[1], ways[1][k], np.where(large[2], ways[2][k], ways[3][k])))
              for k in range(4)]
    return UnitQuaternions(unit(np.stack(chosen, axis=-1)))


def nearest(m):
    """The orthogonal matrix that is nearest, by Newton's iteration (Higham, 1986), whose derivatives are its own."""
    for _ in range(12):
        first, second, third = m[..., 0, :], m[..., 1, :], m[..., 2, :]
        minors = np.stack((np.cross(second, third), np.cross(third, first), np.cross(first, second)), axis=-2)
        volume = np.sum(first * minors[..., 0, :], axis=-1)
        if np.any(volume <= 0):
            raise ArithmeticError("a rotation matrix whose determinant is not positive")
        m = 0.5 * (m + minors / volume[..., None, None])
    if np.any(np.abs(np.sum(m * m, axis=-1) - 1.0) > 1e-12):
        raise ArithmeticError("a matrix that is too far from a rotation")
    return m


def identity(num=None, *, shape=None):
    if shape is not None:
        raise ValueError("identities of this shape")
    one = np.array((0.0, 0.0, 0.0, 1.0))
    return UnitQuaternions(one if num is None else np.zeros((num, 4)) + one)


NAMES = ("from_quat", "from_rotvec", "from_euler", "from_matrix", "identity")
