"""What a traceback of a refusal shows: the lines of the user, not how the library found out."""
from __future__ import annotations

import functools
import logging
import sys
from collections.abc import Callable
from typing import ParamSpec, TypeVar

from sdfgad.errors import InvariantError, SdfgadError
from sdfgad.rooms import begun_again

Given = ParamSpec("Given")
Result = TypeVar("Result")
_log = logging.getLogger("sdfgad")


def _on_purpose() -> type[BaseException]:
    """The class of the error at hand, if it is one of the user's program; else that of refusals."""
    error = sys.exc_info()[1]
    return type(error) if error is not None and hasattr(error, "sdfgad_place") else SdfgadError


def shortened(fn: Callable[Given, Result]) -> Callable[Given, Result]:
    """The function, whose errors on purpose have tracebacks that end here; whole ones with SDFGAD_LOG=debug."""

    made = begun_again(fn)

    @functools.wraps(fn)
    def door(*args: Given.args, **keywords: Given.kwargs) -> Result:
        __tracebackhide__ = True
        try:
            return made(*args, **keywords)
        except InvariantError:
            raise
        except _on_purpose() as error:
            if _log.isEnabledFor(logging.DEBUG):
                raise
            raise error.with_traceback(None) from None

    return door
