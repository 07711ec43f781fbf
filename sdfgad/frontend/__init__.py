"""NumPy functions to programs: an abstract interpreter over the function's syntax tree, specialised to one call.

`parse` is the door. Values are computed symbolically (`values`), statements are emitted through `builder`, and every
construct that is not taken is refused with the user's file, line and column.
"""
from sdfgad.arrays import Spec
from sdfgad.frontend.parse import Parsed, parse

__all__ = ("Parsed", "Spec", "parse")
