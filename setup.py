"""The text of the package page: README.md, whose links lead to files that nobody finds from there."""
from __future__ import annotations

import os
import re
from pathlib import Path

from setuptools import setup

LINK = re.compile(r"(?P<image>!?)\[(?P<text>[^\]]*)\]\((?P<place>[^)\s]+)\)")


def page(text: str, home: str) -> str:
    """The text with absolute links. home: where the files of the repository are found; without it, what a link to one
    of them says is left, and no picture."""
    def absolute(link: re.Match[str]) -> str:
        if re.match("[a-z]+:|#", link["place"]):
            return link[0]
        if home:
            return f"{link['image']}[{link['text']}]({home.rstrip('/')}/{link['place']})"
        return "" if link["image"] else link["text"]

    return LINK.sub(absolute, text)


if __name__ == "__main__":
    readme = Path(__file__).with_name("README.md").read_text(encoding="utf-8")
    setup(long_description=page(readme, os.environ.get("SDFGAD_HOME_PAGE", "")),
          long_description_content_type="text/markdown")
