"""For all tests."""
from __future__ import annotations

import pytest

from sdfgad import pipeline


@pytest.fixture(autouse=True)
def searching(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every test makes its programs anew: many change a constant of a pass, which what is kept on disk knows nothing
    of."""
    if request.node.get_closest_marker("recalls") is None:
        monkeypatch.setattr(pipeline, "recalled", lambda what, parts, search, outside: search().value)
