"""xsbench: macroscopic cross sections of neutrons, from tables of nuclides on a unionised grid of energies."""

import numpy as np

from npbench_suite.applications.application import Application, Arguments

CHANNELS = 5
"""Total, elastic, absorption, fission, and neutrons from fission."""


def lookups(energies, materials, union, places, grid, sections, nuclides, densities):
    """Cross sections at `energies` in `materials`: the mean of their squares.

    union: all energies of all tables, sorted; places: of each of them and each nuclide the entry below in the
    nuclide's own table; grid, sections: energies and cross sections of that table; nuclides, densities: of each
    material, the rest with a density of 0.
    """
    place = np.maximum(np.searchsorted(union, energies) - 1, 0)
    macroscopic = np.zeros((energies.shape[0], CHANNELS))
    for k in range(nuclides.shape[1]):
        nuclide = nuclides[materials, k]
        low = places[place, nuclide]
        below, above = grid[nuclide, low], grid[nuclide, low + 1]
        share = (above - energies) / (above - below)
        found = sections[nuclide, low + 1] - share[:, None] * (sections[nuclide, low + 1] - sections[nuclide, low])
        macroscopic += densities[materials, k][:, None] * found
    return np.sum(macroscopic * macroscopic) / energies.shape[0]


def arguments(lookups: int, nuclides: int, points: int, materials: int, most: int) -> Arguments:
    rng = np.random.default_rng(47)
    grid = np.sort(rng.random((nuclides, points)), axis=1)
    grid[:, 0], grid[:, -1] = 0.0, 1.0
    union = np.unique(grid)
    below = np.stack([np.searchsorted(table, union, side="right") - 1 for table in grid], axis=1)
    counts = rng.integers(2, most + 1, materials)
    used = np.arange(most) < counts[:, None]
    return {"energies": rng.random(lookups), "materials": rng.integers(0, materials, lookups), "union": union,
            "places": np.clip(below, 0, points - 2), "grid": grid,
            "sections": rng.random((nuclides, points, CHANNELS)),
            "nuclides": np.where(used, rng.integers(0, nuclides, (materials, most)), 0),
            "densities": np.where(used, rng.random((materials, most)), 0.0)}


APPLICATION = Application(
    name="xsbench",
    program=lookups,
    arguments=arguments,
    wrt=("energies", "sections", "densities"),
    sizes={"tiny": {"lookups": 6, "nuclides": 4, "points": 8, "materials": 3, "most": 3},
           "usual": {"lookups": 20_000, "nuclides": 68, "points": 500, "materials": 12, "most": 20}},
    about="Cross sections of Monte Carlo neutron transport: Tramm, Siegel, Islam and Schulz, PHYSOR (2014).",
)
