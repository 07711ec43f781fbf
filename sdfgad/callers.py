"""The caller's place, which warnings point at."""
from __future__ import annotations

import sys
import warnings
from pathlib import Path
from types import FrameType

PACKAGE = str(Path(__file__).parent) + "/"
_STANDARD = str(Path(warnings.__file__).parent) + "/"


def warn(message: str, category: type[Warning]) -> None:
    """A warning that points at the line outside of this package, and of what Python brings, that led to it."""
    frame: FrameType = sys._getframe(1)
    while frame.f_back is not None and not is_users(frame.f_code.co_filename):
        frame = frame.f_back
    warnings.warn_explicit(message, category, frame.f_code.co_filename, frame.f_lineno,
                           frame.f_globals.get("__name__", "<unknown>"),
                           frame.f_globals.setdefault("__warningregistry__", {}))


def is_users(file: str) -> bool:
    """Whether a file is neither part of this package nor of what Python brings."""
    standard = file.startswith(_STANDARD) and "-packages/" not in file[len(_STANDARD):]
    return not file.startswith(PACKAGE) and not standard


def called(fn: object) -> str:
    """A function's name, for people."""
    return str(getattr(fn, "__name__", "a function"))
