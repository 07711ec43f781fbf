"""For all tests."""
from __future__ import annotations

import os

import pytest

from sdfgad import pipeline

# As many threads as a test asks for, whatever else the machine does: fewer would find no race.
os.environ.setdefault("SDFGAD_THREAD_GUARD", "0")


def pytest_configure(config: pytest.Config) -> None:
    """Every program is looked at after every pass, also in the processes that tests start."""
    os.environ.setdefault("SDFGAD_VERIFY", "1")


@pytest.fixture(autouse=True)
def searching(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every test makes its programs anew: many change a constant of a pass, which what is kept on disk knows nothing
    of."""
    if request.node.get_closest_marker("recalls") is None:
        monkeypatch.setattr(pipeline, "recalled", lambda what, parts, search, outside: search().value)
    else:
        monkeypatch.setenv("SDFGAD_VERIFY", "0")
