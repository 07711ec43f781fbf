"""Scattering self-energies of quantum transport: products of small blocks, gathered over neighbours."""

import numpy as np

from npbench_suite.data import complex_uniform, normal, pick, seeded
from npbench_suite.kernel import Arguments, Kernel, jax_port

NAMES = ("Nkz", "NE", "Nqz", "Nw", "N3D", "NA", "NB", "Norb")
SIZES = ((1, 3, 2, 2, 2, 4, 3, 2), (2, 2, 1, 3, 1, 3, 2, 3), (1, 4, 1, 2, 2, 5, 1, 2))


def scattering_self_energies(neigh_idx, dH, G, D, Sigma):
    for k in range(G.shape[0]):
        for E in range(G.shape[1]):
            for q in range(D.shape[0]):
                for w in range(D.shape[1]):
                    for i in range(D.shape[-2]):
                        for j in range(D.shape[-1]):
                            for a in range(neigh_idx.shape[0]):
                                for b in range(neigh_idx.shape[1]):
                                    if E - w >= 0:
                                        dHG = G[k, E - w, neigh_idx[a, b]] @ dH[a, b, i]
                                        dHD = dH[a, b, j] * D[q, w, a, b, i, j]
                                        Sigma[k, E, a] += dHG @ dHD


def neighbours(NA: int, NB: int) -> np.ndarray:
    """The NB atoms around each of NA atoms on a ring."""
    a, b = np.indices((NA, NB))
    return np.asarray(np.floor(np.mod(a - NB / 2 + b, NA)).astype(np.int32))


def _shapes(Nkz: int, NE: int, Nqz: int, Nw: int, N3D: int, NA: int, NB: int, Norb: int) -> dict[str, tuple[int, ...]]:
    return {
        "dH": (NA, NB, N3D, Norb, Norb),
        "G": (Nkz, NE, NA, Norb, Norb),
        "D": (Nqz, Nw, NA, NB, N3D, N3D),
    }


def initialize(Nkz: int, NE: int, Nqz: int, Nw: int, N3D: int, NA: int, NB: int, Norb: int) -> Arguments:
    rng = seeded()
    shapes = _shapes(Nkz, NE, Nqz, Nw, N3D, NA, NB, Norb)
    arrays = {name: complex_uniform(rng, *shape) for name, shape in shapes.items()}
    return {"neigh_idx": neighbours(NA, NB), **arrays, "Sigma": np.zeros(shapes["G"], dtype=np.complex128)}


def sample(rng: np.random.Generator, size: int) -> Arguments:
    sizes = dict(zip(NAMES, pick(SIZES, size), strict=True))
    shapes = _shapes(**sizes)
    shapes["Sigma"] = shapes["G"]
    arrays = {name: normal(rng, *shape) + 1j * normal(rng, *shape) for name, shape in shapes.items()}
    return {"neigh_idx": neighbours(sizes["NA"], sizes["NB"]), **arrays}


KERNEL = Kernel(
    name="scattering_self_energies",
    program=scattering_self_energies,
    initialize=initialize,
    sample=sample,
    wrt=("dH", "G", "D", "Sigma"),
    output="Sigma",
    literal=jax_port("scattering_self_energies", "literal"),
    idiomatic=jax_port("scattering_self_energies", "idiomatic"),
)
