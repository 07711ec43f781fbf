"""Look whether links inside of built pages lead anywhere: `python scripts/links.py docs/_build/html`.

Every `href` and `src` to a file has to be there, and so has the `id` behind a `#`. Links to other hosts are not
followed, and what lies in `_static` is the theme's own. Prints what is missing, with the page; then the exit status
is 1.
"""
from __future__ import annotations

import sys
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit


class Page(HTMLParser):
    """The places that a page has, and the links that it makes."""

    def __init__(self, file: Path) -> None:
        super().__init__()
        self.places: set[str] = set()
        self.links: list[str] = []
        self.feed(file.read_text(encoding="utf-8"))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        for name, value in attrs:
            if name == "id" or name == "name" and tag == "a":
                self.places.add(value or "")
            elif name in ("href", "src") and value:
                self.links.append(value)


def missing(root: Path) -> Iterator[tuple[Path, str]]:
    """Pages below a folder, with links of theirs that lead nowhere."""
    pages = {file.resolve(): Page(file) for file in sorted(root.rglob("*.html"))}
    for file, page in pages.items():
        if "_static" in file.relative_to(root.resolve()).parts:
            continue
        for link in dict.fromkeys(page.links):
            where = urlsplit(link)
            if where.scheme or where.netloc:
                continue
            target = (file.parent / unquote(where.path)).resolve() if where.path else file
            place = unquote(where.fragment)
            if not target.exists() or place and target in pages and place not in pages[target].places:
                yield file.relative_to(root.resolve()), link


def main() -> int:
    found = list(missing(Path(sys.argv[1])))
    for page, link in found:
        sys.stdout.write(f"{page}: {link} leads nowhere\n")
    return int(bool(found))


if __name__ == "__main__":
    raise SystemExit(main())
