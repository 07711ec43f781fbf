"""rsbench: cross sections of neutrons by windowed multipoles, broadened by temperature."""

import numpy as np

from npbench_suite.applications.application import Application, Arguments

TERMS = 16
SPREAD = np.sqrt(TERMS / np.sqrt(2.0))


def weideman_coefficients() -> np.ndarray:
    """Of the polynomial in `faddeeva`, the highest power first: Weideman, SIAM J. Numer. Anal. 31 (1994)."""
    angle = np.pi * np.arange(1 - 2 * TERMS, 2 * TERMS) / (2 * TERMS)
    t = SPREAD * np.tan(angle / 2.0)
    values = np.concatenate([[0.0], np.exp(-t * t) * (SPREAD**2 + t * t)])
    return np.fft.fft(np.fft.fftshift(values)).real[TERMS:0:-1] / (4 * TERMS)


COEFFICIENTS = weideman_coefficients()


def faddeeva(z):
    """exp(-z^2) erfc(-i z) above the real axis."""
    down = 1.0 / (SPREAD - 1j * z)
    ratio = (SPREAD + 1j * z) * down
    near = np.zeros(z.shape, dtype=np.complex128)
    for k in range(TERMS):
        near = near * ratio + COEFFICIENTS[k]
    return (2.0 * near * down + 1.0 / np.sqrt(np.pi)) * down


def lookups(energies, materials, nuclides, densities, poles, residues, fits, radii, temperature):
    """Total and absorption cross sections at `energies` in `materials`: the mean of their squares.

    poles: complex, of each nuclide, each window of energies, and each pole there; residues: the same for each of the
    two reactions; fits: a quadratic in the root of the energy for each window and reaction; radii: for the phase of
    the total cross section.
    """
    root = np.sqrt(energies)
    width = np.sqrt(temperature)
    window = (energies * poles.shape[1]).astype(np.int64)
    total = np.zeros(energies.shape[0])
    absorbed = np.zeros(energies.shape[0])
    for k in range(nuclides.shape[1]):
        nuclide = nuclides[materials, k]
        density = densities[materials, k]
        fit = fits[nuclide, window]
        phase = 2.0 * radii[nuclide] * root
        turn = np.cos(phase) - 1j * np.sin(phase)
        one = fit[:, 0, 0] + root * (fit[:, 0, 1] + root * fit[:, 0, 2])
        two = fit[:, 1, 0] + root * (fit[:, 1, 1] + root * fit[:, 1, 2])
        for p in range(poles.shape[2]):
            broadened = faddeeva((root - poles[nuclide, window, p]) / width)
            one = one + np.real(residues[nuclide, window, p, 0] * turn * broadened)
            two = two + np.real(residues[nuclide, window, p, 1] * broadened)
        total += density * one
        absorbed += density * two
    return np.sum(total * total + absorbed * absorbed) / energies.shape[0]


def arguments(lookups: int, nuclides: int, windows: int, poles: int, materials: int, most: int) -> Arguments:
    rng = np.random.default_rng(53)
    used = np.arange(most) < rng.integers(1, most + 1, materials)[:, None]
    table = (nuclides, windows, poles)
    edges = np.sqrt((np.arange(windows)[:, None] + rng.random(table)) / windows)
    return {"energies": 0.01 + 0.98 * rng.random(lookups), "materials": rng.integers(0, materials, lookups),
            "nuclides": np.where(used, rng.integers(0, nuclides, (materials, most)), 0),
            "densities": np.where(used, rng.random((materials, most)), 0.0),
            "poles": edges - 1j * (0.01 + 0.05 * rng.random(table)),
            "residues": rng.random((*table, 2)) - 0.5 + 1j * (rng.random((*table, 2)) - 0.5),
            "fits": rng.random((nuclides, windows, 2, 3)), "radii": 1.0 + rng.random(nuclides), "temperature": 1e-3}


APPLICATION = Application(
    name="rsbench",
    program=lookups,
    arguments=arguments,
    wrt=("energies", "densities", "fits", "radii"),
    sizes={"tiny": {"lookups": 5, "nuclides": 3, "windows": 4, "poles": 2, "materials": 3, "most": 2},
           "usual": {"lookups": 10_000, "nuclides": 32, "windows": 100, "poles": 4, "materials": 12, "most": 8}},
    about="Multipole cross sections of Monte Carlo neutron transport: Tramm, Siegel, Forget and Josey, EASC (2014).",
)
