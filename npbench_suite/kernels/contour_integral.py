"""Contour integral over the inverse of a matrix polynomial, one linear solve per point."""

import numpy as np

from npbench_suite.data import complex_uniform, normal, pick, seeded
from npbench_suite.kernel import Arguments, Kernel, jax_port

SIZES = ((3, 4, 2, 3), (4, 4, 2, 2), (5, 2, 3, 4))


def contour_integral(NR, NM, slab_per_bc, Ham, int_pts, Y):
    P0 = np.zeros((NR, NM), dtype=np.complex128)
    P1 = np.zeros((NR, NM), dtype=np.complex128)
    for z in int_pts:
        Tz = np.zeros((NR, NR), dtype=np.complex128)
        for n in range(slab_per_bc + 1):
            zz = np.power(z, slab_per_bc / 2 - n)
            Tz += zz * Ham[n]
        if NR == NM:
            X = np.linalg.inv(Tz)
        else:
            X = np.linalg.solve(Tz, Y)
        if abs(z) < 1.0:
            X = -X
        P0 += X
        P1 += z * X
    return P0, P1


def initialize(NR: int, NM: int, slab_per_bc: int, num_int_pts: int) -> Arguments:
    rng = seeded()
    return {
        "NR": NR, "NM": NM, "slab_per_bc": slab_per_bc,
        "Ham": complex_uniform(rng, slab_per_bc + 1, NR, NR),
        "int_pts": complex_uniform(rng, num_int_pts),
        "Y": complex_uniform(rng, NR, NM),
    }


def sample(rng: np.random.Generator, size: int) -> Arguments:
    nr, nm, slabs, points = pick(SIZES, size)
    # The term with exponent near 0 gets a heavy diagonal; radii alternate around 1, angles stay off the branch cut.
    ham = normal(rng, slabs + 1, nr, nr) + 1j * normal(rng, slabs + 1, nr, nr)
    ham[slabs // 2] += 6 * nr * np.eye(nr)
    radii = np.where(np.arange(points) % 2 == 0, 0.8, 1.25)
    angles = rng.uniform(-2.5, 2.5, points)
    return {
        "NR": nr, "NM": nm, "slab_per_bc": slabs,
        "Ham": ham,
        "int_pts": radii * np.exp(1j * angles),
        "Y": normal(rng, nr, nm) + 1j * normal(rng, nr, nm),
    }


KERNEL = Kernel(
    name="contour_integral",
    program=contour_integral,
    initialize=initialize,
    sample=sample,
    wrt=("Ham", "int_pts", "Y"),
    output=(0, 1),
    literal=jax_port("contour_integral", "literal"),
    idiomatic=jax_port("contour_integral", "idiomatic"),
    gradient="a.e.",
    tolerance=1e-7,
    notes="Y is not used, and has gradient 0, where NR = NM.",
)
