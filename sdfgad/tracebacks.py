"""What a traceback of a refusal shows: the lines of the user, not how the library found out."""
from __future__ import annotations

import functools
import logging
from collections.abc import Callable
from typing import ParamSpec, TypeVar

from sdfgad.errors import InvariantError, SdfgadError
from sdfgad.rooms import begun_again

Given = ParamSpec("Given")
Result = TypeVar("Result")
_log = logging.getLogger("sdfgad")


def shortened(fn: Callable[Given, Result]) -> Callable[Given, Result]:
    """The function, whose errors on purpose have tracebacks that end here; whole ones with SDFGAD_LOG=debug."""

    made = begun_again(fn)

    @functools.wraps(fn)
    def door(*args: Given.args, **keywords: Given.kwargs) -> Result:
        __tracebackhide__ = True
        try:
            return made(*args, **keywords)
        except Exception as error:
            on_purpose = isinstance(error, SdfgadError) or hasattr(error, "sdfgad_place")
            if not on_purpose or isinstance(error, InvariantError) or _log.isEnabledFor(logging.DEBUG):
                raise
            raise error.with_traceback(None) from None

    return door
