"""`scipy.spatial.transform.Rotation` of data."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from tests.frontend.checking import check_both_modes

R: Any = pytest.importorskip("scipy.spatial.transform").Rotation

X = np.array([0.43, 1.2, 0.9, 1.7, 0.3, 0.6, 0.2, -0.5, 1.1, 0.7, -0.4, 0.1])


def rot1(x):
    r = R.from_rotvec(x[:3])
    return np.sum(r.apply(x[3:]) * np.arange(1.0, 4.0))


def rot2(x):
    r = R.from_quat(x[:4])
    return np.sum(r.as_matrix() * np.arange(9.0).reshape(3, 3))


def rot3(x):
    r = R.from_euler('xyz', x[:3]) * R.from_euler('z', x[3])
    return np.sum(r.as_quat() * np.arange(4.0)) + np.sum(r.inv().as_matrix() * np.arange(9.0).reshape(3, 3))


def rot4(x):
    r = R.from_euler('ZYX', x[:3], degrees=True)
    q = R.from_matrix(r.as_matrix())
    return np.sum(q.as_rotvec() * np.arange(1.0, 4.0))


def rot5(x):
    r = R.from_rotvec(x.reshape(4, 3))
    e = r.as_euler('zyx')
    f = (r[1] * r[2].inv()).as_euler('ZXZ', degrees=True)
    turned = r.apply(x[:3], inverse=True)
    return np.sum(e * np.arange(12.0).reshape(4, 3)) + f[0] + np.sum(r.magnitude() ** 2) + np.sum(turned ** 3)


def rot6(x):
    m = R.from_euler('zyx', x[:3]).as_matrix() + 0.1 * x.reshape(3, 3)
    q = R.from_matrix(m)
    first = R.from_quat(x[:4], scalar_first=True).as_euler('XYZ')[1]
    return np.sum(q.as_quat(canonical=True) * np.arange(4.0)) + q.as_rotvec()[1] + first


def rot7(x):
    pos = x[:3]
    q = R.identity()
    for k in range(20):
        q = q * R.from_rotvec(0.01 * x[3:6] * (k + 1))
        pos = pos + 0.1 * q.apply(x[6:])
    return np.sum(pos ** 2)


@pytest.mark.parametrize("program, size", [(rot1, 6), (rot2, 6), (rot3, 6), (rot4, 6), (rot5, 12), (rot6, 9), (rot7,
    9)])
def test_values_and_derivatives(program: Callable[..., Any], size: int) -> None:
    check_both_modes(program, (X[:size],))
