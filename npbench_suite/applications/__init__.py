"""Programs of application size: whole simulations in plain NumPy, apart from the NPBench table.

Each module here defines `APPLICATION`; a new one is added by putting its file here and its name into `NAMES`.
"""

from __future__ import annotations

from importlib import import_module

from npbench_suite.applications.application import Application

NAMES = ("d2q9", "d3q19", "dg_euler", "lulesh", "minibude_broadcast", "minibude_loops", "minibude_poses",
         "ocean_closure", "ocean_mixing", "ocean_state", "rsbench", "xsbench")


def names() -> list[str]:
    """The applications, in alphabetical order."""
    return sorted(NAMES)


def load(name: str) -> Application:
    """The application called `name`; a KeyError lists the known names."""
    if name not in NAMES:
        raise KeyError(f"{name!r} is no application; known: {', '.join(names())}")
    application: Application = import_module(f"npbench_suite.applications.{name}").APPLICATION
    return application
