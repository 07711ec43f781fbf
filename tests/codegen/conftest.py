"""What the tests of generated code share."""
from __future__ import annotations

import pytest

from tests.support.thresholds import change


@pytest.fixture(params=[False, True], ids=["sequential", "parallel"])
def shared(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> bool:
    """Whether every map that can be a parallel kernel is one."""
    change(monkeypatch, parallel_work=0 if request.param else 1 << 60)
    return bool(request.param)
