"""Values that stand several times in what reads them are computed there only while it stays short enough."""
from __future__ import annotations

import numpy as np

import sdfgad
from sdfgad.frontend import parse
from sdfgad.ir.walk import statements
from sdfgad.thresholds import Thresholds
from sdfgad.transform.fusion.fuse import fuse_pointwise
from tests.support.oracle import check_same


def largest(u):
    return max([u[k] * k for k in tuple(range(40))])  # written out


def test_a_chain_of_choices_does_not_double_at_every_link():
    u = np.sin(np.arange(40.0))
    before = parse(largest, (u,)).program
    after = fuse_pointwise(before.but(live_out=frozenset({before.returns.array})))
    assert len(list(statements(after.body))) < len(list(statements(before.body))) / 2
    assert all(part.expr.size <= Thresholds().fused_nodes for s in statements(after.body) for part in s.body)
    check_same(before, after, {"u": u})
    np.testing.assert_array_equal(sdfgad.grad(largest)(u), np.arange(40.0) * (np.arange(40) == 39))


def nested(u):
    total = u[0]
    for k in (1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12):
        total = np.sin(np.cos(np.sin(np.cos(np.sin(total))))) * u[k]
    return total


def test_a_chain_of_values_does_not_become_deeper_than_can_be_looked_into():
    u = np.linspace(0.5, 1.5, 13)
    before = parse(nested, (u,)).program
    after = fuse_pointwise(before.but(live_out=frozenset({before.returns.array})))
    deepest = max(part.expr.depth for s in statements(after.body) for part in s.body)
    assert Thresholds().fused_depth / 2 < deepest <= Thresholds().fused_depth
    check_same(before, after, {"u": u})
