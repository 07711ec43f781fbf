"""What the library logs, and to whom."""
from __future__ import annotations

import logging
import os
import sys
from typing import Any

from sdfgad.config import LOG_LEVELS

VARIABLE = "SDFGAD_LOG"
LOGGER = logging.getLogger("sdfgad")


class ToStderr(logging.StreamHandler[Any]):
    """Writes to stderr as long as the program around the library has set up no logging of its own."""

    def __init__(self) -> None:
        super().__init__()
        self.setFormatter(logging.Formatter("%(name)s: %(message)s"))

    def emit(self, record: logging.LogRecord) -> None:
        if not logging.root.handlers and all(h is self or isinstance(h, logging.NullHandler) for h in LOGGER.handlers):
            self.stream = sys.stderr
            super().emit(record)


def log_as_set() -> None:
    """Follow the environment where it asks for more than silence; a wrong value is left to whoever reads settings."""
    level = os.environ.get(VARIABLE, "")
    if level in LOG_LEVELS and not any(isinstance(h, ToStderr) for h in LOGGER.handlers):
        LOGGER.addHandler(ToStderr())
        LOGGER.setLevel(level.upper())
    elif not LOGGER.handlers:
        LOGGER.addHandler(logging.NullHandler())
