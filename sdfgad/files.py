"""Files that are written whole or not at all, and files that need not be there."""
from __future__ import annotations

import os
import tempfile
from os import PathLike
from pathlib import Path

from sdfgad.errors import UsageError


def write_whole(path: str | PathLike[str], text: str) -> None:
    """Write by one rename, so that nobody ever sees half a file; UsageError when it cannot be written."""
    final = Path(path)
    try:
        with tempfile.TemporaryDirectory(dir=final.parent, prefix=f".{final.name}.") as folder:
            scratch = Path(folder) / final.name
            scratch.write_text(text, encoding="utf-8")
            os.replace(scratch, final)
    except OSError as error:
        raise UsageError(f"cannot write {path}: {error.strerror or error}",
                         help="give a file in a folder that exists") from error


def text_of(file: Path) -> str:
    """What a file holds; nothing where it cannot be read."""
    try:
        return file.read_text()
    except OSError:
        return ""
