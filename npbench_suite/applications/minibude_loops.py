"""minibude_loops: docking energies by loops over poses, ligand atoms and protein atoms."""

import numpy as np

from npbench_suite.applications import minibude
from npbench_suite.applications.application import Application
from npbench_suite.applications.minibude import (
    BOTH,
    CHARGES,
    DONOR,
    REACH_APOLAR,
    REACH_MIXED,
    REACH_POLAR,
    WALL,
    rotation,
)


def energies(poses, protein, protein_radius, protein_water, protein_charge, protein_type,
             ligand, ligand_radius, ligand_water, ligand_charge, ligand_type):
    """The sum of the squares of all poses' energies, each over 1000."""
    total = 0.0
    for pose in range(poses.shape[0]):
        turned = rotation(poses[pose])
        energy = 0.0
        for i in range(ligand.shape[0]):
            x = turned[0][0] * ligand[i, 0] + turned[0][1] * ligand[i, 1] + turned[0][2] * ligand[i, 2] + poses[pose, 3]
            y = turned[1][0] * ligand[i, 0] + turned[1][1] * ligand[i, 1] + turned[1][2] * ligand[i, 2] + poses[pose, 4]
            z = turned[2][0] * ligand[i, 0] + turned[2][1] * ligand[i, 1] + turned[2][2] * ligand[i, 2] + poses[pose, 5]
            for j in range(protein.shape[0]):
                radii = ligand_radius[i] + protein_radius[j]
                distance = np.sqrt((x - protein[j, 0]) ** 2 + (y - protein[j, 1]) ** 2 + (z - protein[j, 2]) ** 2)
                gap = distance - radii
                if gap < 0.0:
                    energy += 2.0 * WALL * (1.0 - distance / radii)
                if ligand_type[i] == BOTH and protein_type[j] == BOTH:
                    reach = 4.0
                else:
                    reach = 2.0
                if gap < reach:
                    charge = ligand_charge[i] * protein_charge[j]
                    if gap >= 0.0:
                        charge = charge * (1.0 - gap / reach)
                    if ligand_type[i] == DONOR or protein_type[j] == DONOR:
                        charge = -np.abs(charge)
                    energy += CHARGES * charge
                if ligand_water[i] < 0.0 and protein_water[j] < 0.0:
                    far = REACH_APOLAR
                    water = ligand_water[i] + protein_water[j]
                elif ligand_water[i] < 0.0 or protein_water[j] < 0.0:
                    far = REACH_MIXED
                    water = -np.abs(ligand_water[i]) - np.abs(protein_water[j])
                else:
                    far = REACH_POLAR
                    water = 0.0
                if gap < 0.0:
                    energy += water
                elif gap < far:
                    energy += water * (1.0 - gap / far)
        total += (0.5 * energy / 1000.0) ** 2
    return total


APPLICATION = Application(
    name="minibude_loops",
    program=energies,
    arguments=minibude.arguments,
    wrt=minibude.WRT,
    sizes=minibude.sizes(),
    about=minibude.ABOUT,
)
