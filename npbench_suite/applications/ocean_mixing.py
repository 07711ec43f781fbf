"""ocean_mixing: mixing of tracers along surfaces of equal density in an ocean model."""

import numpy as np

from npbench_suite.applications.application import Application, Arguments


def taper(slope, steepest=0.004, width=0.001):
    """How much of the mixing is left where surfaces of equal density are steep."""
    return 0.5 * (1.0 + np.tanh((steepest - np.abs(slope)) / width))


def isopycnal_mixing(temp, salt, mask, dx, dy, dz, kappa):
    """One explicit step of tracer mixing along surfaces of equal density (Redi 1982, as discretised by Griffies et al.
    1998): four triads of slopes per face. Returns the sum of squares of the temperature afterwards."""
    alpha, beta = -0.17 + 0.001 * temp, 0.78 - 0.0005 * salt
    nx, ny, nz = temp.shape
    tx = (temp[1:] - temp[:-1]) / dx * mask[1:] * mask[:-1]
    sx = (salt[1:] - salt[:-1]) / dx * mask[1:] * mask[:-1]
    ty = (temp[:, 1:] - temp[:, :-1]) / dy * mask[:, 1:] * mask[:, :-1]
    sy = (salt[:, 1:] - salt[:, :-1]) / dy * mask[:, 1:] * mask[:, :-1]
    tz = np.zeros(temp.shape)
    sz = np.zeros(temp.shape)
    between = 0.5 * (dz[1:] + dz[:-1])
    tz[:, :, :-1] = (temp[:, :, 1:] - temp[:, :, :-1]) / between * mask[:, :, 1:] * mask[:, :, :-1]
    sz[:, :, :-1] = (salt[:, :, 1:] - salt[:, :, :-1]) / between * mask[:, :, 1:] * mask[:, :, :-1]

    across = np.zeros((nx - 1, ny, nz))          # faces in x
    rising = np.zeros((nx, ny, nz))              # faces in z
    east = np.zeros((nx - 1, ny, nz))
    for kr in range(2):
        below = 1 if kr == 0 else 0
        for ip in range(2):
            a = alpha[ip:nx - 1 + ip, :, below:nz - 1 + below]
            b = beta[ip:nx - 1 + ip, :, below:nz - 1 + below]
            horizontal = a * tx[:, :, below:nz - 1 + below] + b * sx[:, :, below:nz - 1 + below]
            vertical = np.minimum(0.0, a * tz[ip:nx - 1 + ip, :, :nz - 1] + b * sz[ip:nx - 1 + ip, :, :nz - 1]) - 1e-8
            slope = -horizontal / vertical
            part = taper(slope)
            share = 0.25 * dz[below:nz - 1 + below] / dz[:nz - 1] * kappa * part
            across[:, :, below:nz - 1 + below] += share
            east[:, :, below:nz - 1 + below] += share * slope * tz[ip:nx - 1 + ip, :, :nz - 1]
            rising[ip:nx - 1 + ip, :, :nz - 1] += share * slope * tx[:, :, below:nz - 1 + below]

    along = np.zeros((nx, ny - 1, nz))
    north = np.zeros((nx, ny - 1, nz))
    for kr in range(2):
        below = 1 if kr == 0 else 0
        for jp in range(2):
            a = alpha[:, jp:ny - 1 + jp, below:nz - 1 + below]
            b = beta[:, jp:ny - 1 + jp, below:nz - 1 + below]
            horizontal = a * ty[:, :, below:nz - 1 + below] + b * sy[:, :, below:nz - 1 + below]
            vertical = np.minimum(0.0, a * tz[:, jp:ny - 1 + jp, :nz - 1] + b * sz[:, jp:ny - 1 + jp, :nz - 1]) - 1e-8
            slope = -horizontal / vertical
            part = taper(slope)
            share = 0.25 * dz[below:nz - 1 + below] / dz[:nz - 1] * kappa * part
            along[:, :, below:nz - 1 + below] += share
            north[:, :, below:nz - 1 + below] += share * slope * tz[:, jp:ny - 1 + jp, :nz - 1]
            rising[:, jp:ny - 1 + jp, :nz - 1] += share * slope * ty[:, :, below:nz - 1 + below]

    flux_x = across * tx + east
    flux_y = along * ty + north
    new = temp.copy()
    new[1:-1] += 0.1 * (flux_x[1:] - flux_x[:-1]) / dx
    new[:, 1:-1] += 0.1 * (flux_y[:, 1:] - flux_y[:, :-1]) / dy
    new[:, :, 1:] += 0.1 * (rising[:, :, 1:] - rising[:, :, :-1]) / dz[1:]
    return np.sum(new * new)


def arguments(nx: int, ny: int, nz: int) -> Arguments:
    rng, shape = np.random.default_rng(37), (nx, ny, nz)
    mask = np.ones(shape)
    mask[:, :, :nz // 8] = (rng.random((nx, ny)) > 0.3)[:, :, None]
    return {"temp": 0.5 * rng.random(shape) - np.linspace(0.0, 1.0, nz), "salt": 0.6 + 0.14 * rng.random(shape),
            "mask": mask, "dx": 1e4, "dy": 1e4, "dz": 10.0 + 5.0 * rng.random(nz), "kappa": 1000.0}


APPLICATION = Application(
    name="ocean_mixing",
    program=isopycnal_mixing,
    arguments=arguments,
    wrt=("temp", "salt"),
    sizes={"tiny": {"nx": 5, "ny": 4, "nz": 6}, "usual": {"nx": 66, "ny": 66, "nz": 40}},
    about="Tracer mixing by triads of slopes: Griffies et al., J. Phys. Oceanogr. 28 (1998).",
    ported=True,
)
