"""Whether the files of a cache entry are those that were written: sizes, and digests of all but very large ones."""
from __future__ import annotations

import hashlib
import json
import os
from pathlib import Path
from typing import Any

LIST = "files.json"
"""What an entry says about its files."""
LARGE = 1 << 24
"""Bytes of a file of which only the size is looked at: precompiled headers, which the compiler itself checks."""


def seal(folder: Path) -> None:
    """Write down what is in a finished folder."""
    (folder / LIST).write_text(json.dumps(_found(folder)))


def is_whole(folder: Path) -> bool:
    """Whether everything is still there as it was written. A shortened library would end the process that uses it."""
    try:
        return bool(json.loads((folder / LIST).read_text()) == _found(folder))
    except (OSError, ValueError):
        return False


def _found(folder: Path) -> dict[str, Any]:
    names = sorted(file.name for file in folder.iterdir() if file.name != LIST)
    return {name: _described(folder / name) for name in names}


def _described(file: Path) -> list[Any]:
    if file.is_dir():  # one that belongs to somebody else, by a link
        return ["folder"]
    size = file.stat().st_size
    return [size, "" if size > LARGE else hashlib.sha256(file.read_bytes()).hexdigest()]


def make_removable(folder: Path) -> None:
    """Folders whose permissions were taken away can be moved and emptied again by their owner."""
    for place, _, _ in os.walk(folder):
        os.chmod(place, 0o700)
