"""What the three styles of miniBUDE share: the force field, where a pose puts the ligand, and a molecule to dock.

The energy of a pair of atoms has three parts: steric (a wall inside the sum of the radii), electrostatic (falling
linearly to zero at a distance that depends on both types) and desolvation (of atoms that repel water).
"""

import numpy as np

from npbench_suite.applications.application import Arguments, Size

WALL = 38.0
CHARGES = 45.0
REACH_POLAR, REACH_MIXED, REACH_APOLAR = 0.0, 1.0, 5.5
"""How far desolvation reaches between two polar atoms, one of each, and two that repel water."""
NEUTRAL, DONOR, BOTH = 0, 1, 2
"""Types of hydrogen bonds: between two of `BOTH` charges reach 4, otherwise 2; a `DONOR` always attracts."""
WRT = ("poses", "protein_charge", "ligand_radius")
ABOUT = "Energies of docked molecules: Poenaru, Lin and McIntosh-Smith, ISC High Performance (2021)."
SIZES = {"tiny": {"poses": 3, "protein": 7, "ligand": 4}, "usual": {"poses": 64, "protein": 256, "ligand": 26}}


def rotation(pose):
    """The matrix of the pose's three angles, row by row."""
    sx, cx = np.sin(pose[0]), np.cos(pose[0])
    sy, cy = np.sin(pose[1]), np.cos(pose[1])
    sz, cz = np.sin(pose[2]), np.cos(pose[2])
    return ((cy * cz, sx * sy * cz - cx * sz, cx * sy * cz + sx * sz),
            (cy * sz, sx * sy * sz + cx * cz, cx * sy * sz - sx * cz),
            (-sy, sx * cy, cx * cy))


def arguments(poses: int, protein: int, ligand: int) -> Arguments:
    rng = np.random.default_rng(43)
    made: Arguments = {"poses": np.concatenate([2.0 * np.pi * rng.random((poses, 3)),
                                                4.0 * rng.random((poses, 3)) - 2.0], axis=1)}
    for molecule, atoms, width in (("protein", protein, 16.0), ("ligand", ligand, 6.0)):
        apolar = rng.random(atoms) < 0.5
        made |= {molecule: width * (rng.random((atoms, 3)) - 0.5),
                 f"{molecule}_radius": 1.2 + 0.8 * rng.random(atoms),
                 f"{molecule}_water": np.where(apolar, -1.0, 1.0) * (0.2 + rng.random(atoms)),
                 f"{molecule}_charge": rng.random(atoms) - 0.5,
                 f"{molecule}_type": rng.integers(0, 3, atoms)}
    return made


def sizes() -> dict[str, Size]:
    """Of all three styles."""
    return dict(SIZES)
