"""The harness runs here against stand-ins for the package and the suite, in real subprocesses."""

from pathlib import Path

import pytest

STUBS = Path(__file__).parent / "stubs"


@pytest.fixture
def stubs(monkeypatch):
    """Workers import the stub `sdfgad` and `fake_suite`; this process keeps the package."""
    monkeypatch.syspath_prepend(str(STUBS))
    return STUBS
