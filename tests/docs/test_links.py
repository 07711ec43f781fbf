"""Links inside of the built pages are looked at: files and places that are not there are named."""
from __future__ import annotations

from pathlib import Path

from tests.docs.scripts import script

PAGES = {
    "index.html": '<h1 id="top">A</h1><a href="#top">a</a><a href="#gone">b</a><a href="sub/other.html#place">c</a>'
                  '<a href="sub/other.html#none">d</a><img src="no.png"><a href="https://nowhere.invalid/x">e</a>',
    "sub/other.html": '<a name="place" href="../index.html#top">f</a><a href="index.html">g</a>',
    "_static/theme.html": '<a href="gone.html">h</a>'}


def test_links_that_lead_nowhere_are_named(tmp_path: Path) -> None:
    for name, text in PAGES.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    found = [(str(page), link) for page, link in script("links").missing(tmp_path)]
    assert found == [("index.html", "#gone"), ("index.html", "sub/other.html#none"), ("index.html", "no.png"),
                     ("sub/other.html", "index.html")]
