"""Thresholds for one test."""
from __future__ import annotations

from contextvars import ContextVar
from dataclasses import replace
from typing import Any

import pytest

from sdfgad import thresholds as home


def change(monkeypatch: pytest.MonkeyPatch, **some: Any) -> None:
    """Other thresholds until the test ends, in all threads."""
    now = replace(home.thresholds(), **some)
    monkeypatch.setattr(home, "_current", ContextVar("thresholds", default=now))
