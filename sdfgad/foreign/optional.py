"""Modules of sdfgad whose library may not be there."""
from __future__ import annotations

from importlib import import_module
from types import ModuleType

from sdfgad.errors import UsageError


def imported(package: str, name: str, module: str) -> ModuleType:
    """A module of sdfgad that needs a package; UsageError without it."""
    try:
        return import_module(module)
    except ModuleNotFoundError as error:
        if (error.name or "").split(".")[0] != package:
            raise
        raise UsageError(f"{name} is not installed", code="SG205", help=f"pip install 'sdfgad[{package}]'") from error
