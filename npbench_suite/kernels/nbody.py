"""Gravitation between bodies: leapfrog steps, kinetic and potential energy over time."""

import numpy as np

from npbench_suite.data import normal, pick, seeded
from npbench_suite.kernel import Arguments, Kernel, jax_port

SIZES = ((4, 3), (3, 5), (6, 2))


def getAcc(pos, mass, G, softening):
    x = pos[:, 0:1]
    y = pos[:, 1:2]
    z = pos[:, 2:3]

    dx = x.T - x
    dy = y.T - y
    dz = z.T - z

    inv_r3 = dx**2 + dy**2 + dz**2 + softening**2
    I = inv_r3 > 0
    inv_r3[I] = inv_r3[I] ** (-1.5)

    ax = G * (dx * inv_r3) @ mass
    ay = G * (dy * inv_r3) @ mass
    az = G * (dz * inv_r3) @ mass
    return np.hstack((ax, ay, az))


def getEnergy(pos, vel, mass, G):
    KE = 0.5 * np.sum(mass * vel**2)

    x = pos[:, 0:1]
    y = pos[:, 1:2]
    z = pos[:, 2:3]

    dx = x.T - x
    dy = y.T - y
    dz = z.T - z

    inv_r = np.sqrt(dx**2 + dy**2 + dz**2)
    I = inv_r > 0
    inv_r[I] = 1.0 / inv_r[I]

    PE = G * np.sum(np.triu(-(mass * mass.T) * inv_r, 1))
    return KE, PE


def nbody(mass, pos, vel, N, Nt, dt, G, softening):
    # Into the frame of the centre of mass.
    vel -= np.mean(mass * vel, axis=0) / np.mean(mass)

    acc = getAcc(pos, mass, G, softening)

    KE = np.empty(Nt + 1)
    PE = np.empty(Nt + 1)
    KE[0], PE[0] = getEnergy(pos, vel, mass, G)

    for i in range(Nt):
        vel += acc * dt / 2.0
        pos += vel * dt
        acc = getAcc(pos, mass, G, softening)
        vel += acc * dt / 2.0
        KE[i + 1], PE[i + 1] = getEnergy(pos, vel, mass, G)

    return KE, PE


def initialize(N: int, tEnd: float, dt: float, softening: float, G: float) -> Arguments:
    rng = seeded()
    return {
        "mass": 20.0 * np.ones((N, 1)) / N,
        "pos": rng.random((N, 3)),
        "vel": rng.random((N, 3)),
        "N": N, "Nt": int(np.ceil(tEnd / dt)), "dt": dt, "G": G, "softening": softening,
    }


def sample(rng: np.random.Generator, size: int) -> Arguments:
    n, steps = pick(SIZES, size)
    return {
        "mass": 0.5 + rng.random((n, 1)),
        "pos": 2.0 * normal(rng, n, 3),
        "vel": normal(rng, n, 3),
        "N": n, "Nt": steps, "dt": 0.02, "G": 1.0, "softening": 0.1,
    }


KERNEL = Kernel(
    name="nbody",
    program=nbody,
    initialize=initialize,
    sample=sample,
    wrt=("mass", "pos", "vel"),
    scalars=("dt", "G", "softening"),
    output=(0, 1),
    literal=jax_port("nbody", "literal"),
    idiomatic=jax_port("nbody", "idiomatic"),
    tolerance=1e-5,
    notes="pos and vel hold the final state afterwards and are not part of the objective. The diagonal of the "
    "distances is 0, where the root has no derivative but does not contribute. The orbits are chaotic: at preset S the "
    "gradient reaches 5e9. There every element was compared with a complex step through this program in 80-bit "
    "numbers, as a share of the largest element. Off by at most, plain objective / weighted: sdfgad 1.2e-9 / 2.0e-8, "
    "the literal JAX port 9.8e-9 / 2.1e-7, the idiomatic one 3.7e-7 / 4.4e-6; the last is what the tolerance is for. "
    "Tangents along one direction by the two targets of the processor are 1.2e-7 apart, and 7.1e-8 (tuned) and 4.8e-8 "
    "(plain graphs) from the 80-bit ones; arguments that are one part in 2^52 larger move them by as much. "
    "At preset M (every 12th element) the gradient reaches 4e18: the ports differ by 0.1 to 0.3, sdfgad and the "
    "idiomatic one by 0.2 to 0.5, and all from the 80-bit numbers by 0.6 to 1.3; nothing is known there.",
)
