"""minibude_poses: docking energies by a loop over poses, the pairs of atoms as arrays."""

import numpy as np

from npbench_suite.applications import minibude
from npbench_suite.applications.application import Application
from npbench_suite.applications.minibude import (
    BOTH,
    CHARGES,
    DONOR,
    REACH_APOLAR,
    REACH_MIXED,
    WALL,
    rotation,
)


def energies(poses, protein, protein_radius, protein_water, protein_charge, protein_type,
             ligand, ligand_radius, ligand_water, ligand_charge, ligand_type):
    """The sum of the squares of all poses' energies, each over 1000."""
    radii = ligand_radius[:, None] + protein_radius[None, :]
    charges = ligand_charge[:, None] * protein_charge[None, :]
    reach = np.where((ligand_type == BOTH)[:, None] & (protein_type == BOTH)[None, :], 4.0, 2.0)
    attracts = (ligand_type == DONOR)[:, None] | (protein_type == DONOR)[None, :]
    apolar = (ligand_water < 0.0)[:, None] & (protein_water < 0.0)[None, :]
    mixed = (ligand_water < 0.0)[:, None] ^ (protein_water < 0.0)[None, :]
    far = np.where(apolar, REACH_APOLAR, REACH_MIXED)
    water = np.where(apolar | mixed, -np.abs(ligand_water)[:, None] - np.abs(protein_water)[None, :], 0.0)
    total = 0.0
    for pose in range(poses.shape[0]):
        placed = np.zeros(ligand.shape)
        turned = rotation(poses[pose])
        for axis in range(3):
            placed[:, axis] = (turned[axis][0] * ligand[:, 0] + turned[axis][1] * ligand[:, 1]
                               + turned[axis][2] * ligand[:, 2] + poses[pose, 3 + axis])
        apart = placed[:, None, :] - protein[None, :, :]
        distance = np.sqrt(np.sum(apart * apart, axis=2))
        gap = distance - radii
        inside = gap < 0.0
        steric = np.where(inside, 2.0 * WALL * (1.0 - distance / radii), 0.0)
        charge = np.where(gap < reach, charges * np.where(inside, 1.0, 1.0 - gap / reach), 0.0)
        charge = np.where(attracts, -np.abs(charge), charge)
        dry = np.where(gap < far, water * np.where(inside, 1.0, 1.0 - gap / far), 0.0)
        energy = 0.5 * np.sum(steric + CHARGES * charge + dry)
        total += (energy / 1000.0) ** 2
    return total


APPLICATION = Application(
    name="minibude_poses",
    program=energies,
    arguments=minibude.arguments,
    wrt=minibude.WRT,
    sizes=minibude.sizes(),
    about=minibude.ABOUT,
)
