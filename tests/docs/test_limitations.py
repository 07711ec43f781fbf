"""The page of limitations is what the tables say today."""
from __future__ import annotations

from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path

SCRIPT = Path(__file__).parents[2] / "scripts" / "limitations.py"


def test_the_page_is_up_to_date() -> None:
    spec = spec_from_file_location("limitations", SCRIPT)
    assert spec is not None and spec.loader is not None
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    assert module.PAGE.read_text() == module.page(), "run: python scripts/limitations.py"
