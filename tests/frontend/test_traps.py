"""The correctness traps keep NumPy's value."""
from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from types import ModuleType

import pytest

from tests.frontend.checking import check

FILE = Path(__file__).resolve().parents[3] / "shared" / "traps" / "traps.py"
if not FILE.exists():
    pytest.skip("the traps do not lie beside this checkout", allow_module_level=True)


def _load() -> ModuleType:
    spec = importlib.util.spec_from_file_location("traps", FILE)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["traps"] = module
    spec.loader.exec_module(module)
    return module


TRAPS = _load().TRAPS


@pytest.mark.parametrize("name", TRAPS)
def test_trap(name: str) -> None:
    check(TRAPS[name].program, TRAPS[name].x)
