"""In a notebook, importing dace writes the viewer of its graphs, some megabytes of HTML, into the cell that did it."""
from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from types import ModuleType

_MODULE = "dace.jupyter"


@contextmanager
def without_viewer() -> Iterator[None]:
    """An import of dace in this block shows nothing; whoever shows a graph later gets the viewer then."""
    if "ipykernel" not in sys.modules or "dace" in sys.modules:
        yield
        return
    silent = sys.modules[_MODULE] = ModuleType(_MODULE)
    try:
        yield
    finally:
        if sys.modules.get(_MODULE) is silent:
            del sys.modules[_MODULE]
            vars(sys.modules.get("dace", silent)).pop("jupyter", None)
