"""The page of limitations is what the tables say today."""
from __future__ import annotations

from tests.docs.scripts import script


def test_the_page_is_up_to_date() -> None:
    module = script("limitations")
    assert module.PAGE.read_text() == module.page(), "run: python scripts/limitations.py"
