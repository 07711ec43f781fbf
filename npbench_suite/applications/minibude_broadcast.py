"""minibude_broadcast: docking energies of all poses and all pairs of atoms by whole arrays."""

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
    turned = rotation(poses[:, :3].T)
    placed = [turned[axis][0][:, None] * ligand[:, 0] + turned[axis][1][:, None] * ligand[:, 1]
              + turned[axis][2][:, None] * ligand[:, 2] + poses[:, 3 + axis][:, None] for axis in range(3)]
    # Poses, ligand atoms, protein atoms.
    apart = [placed[axis][:, :, None] - protein[:, axis] for axis in range(3)]
    distance = np.sqrt(apart[0] ** 2 + apart[1] ** 2 + apart[2] ** 2)
    radii = ligand_radius[:, None] + protein_radius
    gap = distance - radii
    inside = gap < 0.0
    steric = np.where(inside, 2.0 * WALL * (1.0 - distance / radii), 0.0)
    reach = np.where((ligand_type == BOTH)[:, None] & (protein_type == BOTH), 4.0, 2.0)
    charge = ligand_charge[:, None] * protein_charge * np.where(inside, 1.0, 1.0 - gap / reach)
    charge = np.where(gap < reach, charge, 0.0)
    charge = np.where((ligand_type == DONOR)[:, None] | (protein_type == DONOR), -np.abs(charge), charge)
    apolar = (ligand_water < 0.0)[:, None] & (protein_water < 0.0)
    polar = (ligand_water >= 0.0)[:, None] & (protein_water >= 0.0)
    far = np.where(apolar, REACH_APOLAR, REACH_MIXED)
    water = np.where(polar, 0.0, -np.abs(ligand_water)[:, None] - np.abs(protein_water))
    dry = np.where(gap < far, water * np.where(inside, 1.0, 1.0 - gap / far), 0.0)
    energy = 0.5 * np.sum(steric + CHARGES * charge + dry, axis=(1, 2))
    return np.sum((energy / 1000.0) ** 2)


APPLICATION = Application(
    name="minibude_broadcast",
    program=energies,
    arguments=minibude.arguments,
    wrt=minibude.WRT,
    sizes=minibude.sizes(),
    about=minibude.ABOUT,
)
