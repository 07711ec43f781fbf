"""How ranks say what they have found."""
from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from mpi4py import MPI

import sdfgad

COMM = MPI.COMM_WORLD


def tell(name: str, **found: Any) -> None:
    """Let rank 0 say what was found, the worst of all ranks for floats."""
    every = COMM.gather(found)
    if COMM.rank == 0:
        worst = {k: max(one[k] for one in every) if isinstance(found[k], float) else [one[k] for one in every]
                 for k in found}
        print(json.dumps({"name": name, **worst}), flush=True)


def error_of(run: Callable[[], Any]) -> list[str]:
    """The class and the message of what is raised."""
    try:
        run()
    except (sdfgad.SdfgadError, KeyError) as error:
        return [type(error).__name__, str(error)]
    return ["nothing", ""]
