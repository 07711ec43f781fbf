"""dg_euler: the Euler equations by a discontinuous Galerkin method with five Runge-Kutta stages."""

import numpy as np

from npbench_suite.applications.application import Application, Arguments

GAMMA = 1.4
RK_A = (0.0, -567301805773 / 1357537059087, -2404267990393 / 2016746695238, -3550918686646 / 2091501179385,
        -1275806237668 / 842570457699)
RK_B = (1432997174477 / 9575080441755, 5161836677717 / 13612068292357, 1720146321549 / 2090206949498,
        3134564353537 / 4481467310338, 2277821191437 / 14882151754819)


def pressure(rho, mx, my, energy):
    return (GAMMA - 1.0) * (energy - 0.5 * (mx * mx + my * my) / rho)


def flux_x(rho, mx, my, energy):
    p = pressure(rho, mx, my, energy)
    u = mx / rho
    return mx, mx * u + p, my * u, (energy + p) * u


def flux_y(rho, mx, my, energy):
    p = pressure(rho, mx, my, energy)
    v = my / rho
    return my, mx * v, my * v + p, (energy + p) * v


def fastest(rho, mx, my, energy):
    return np.sqrt(mx * mx + my * my) / rho + np.sqrt(GAMMA * pressure(rho, mx, my, energy) / rho)


def interface_x(left, right):
    """Local Lax-Friedrichs flux between the states on both sides of the faces across x."""
    speed = np.maximum(fastest(*left), fastest(*right))
    return [0.5 * (f + g) - 0.5 * speed * (b - a)
            for a, b, f, g in zip(left, right, flux_x(*left), flux_x(*right), strict=True)]


def interface_y(below, above):
    """The same across y."""
    speed = np.maximum(fastest(*below), fastest(*above))
    return [0.5 * (f + g) - 0.5 * speed * (b - a)
            for a, b, f, g in zip(below, above, flux_y(*below), flux_y(*above), strict=True)]


def tendency(state, D, lift, h):
    """d/dt of the conserved quantities; element (i, j), node (a, b) along x and y."""
    f = flux_x(*state)
    g = flux_y(*state)
    west = [q[:, :, 0, :] for q in state]
    east = [q[:, :, -1, :] for q in state]
    south = [q[:, :, :, 0] for q in state]
    north = [q[:, :, :, -1] for q in state]
    across_x = interface_x(east, [np.roll(q, -1, axis=0) for q in west])
    across_y = interface_y(north, [np.roll(q, -1, axis=1) for q in south])
    result = []
    for k in range(4):
        inside = np.einsum("ac,ijcb->ijab", D, f[k]) + np.einsum("bc,ijac->ijab", D, g[k])
        rate = -2.0 / h * inside
        rate[:, :, -1, :] -= 2.0 / h * lift * (across_x[k] - f[k][:, :, -1, :])
        rate[:, :, 0, :] += 2.0 / h * lift * (np.roll(across_x[k], 1, axis=0) - f[k][:, :, 0, :])
        rate[:, :, :, -1] -= 2.0 / h * lift * (across_y[k] - g[k][:, :, :, -1])
        rate[:, :, :, 0] += 2.0 / h * lift * (np.roll(across_y[k], 1, axis=1) - g[k][:, :, :, 0])
        result.append(rate)
    return result


def advance(rho, mx, my, energy, D, lift, h, dt, steps):
    """A low-storage Runge-Kutta method of five stages: the mean entropy at the end."""
    k_rho = np.zeros(rho.shape)
    k_mx = np.zeros(rho.shape)
    k_my = np.zeros(rho.shape)
    k_energy = np.zeros(rho.shape)
    for _ in range(steps):
        for a, b in zip(RK_A, RK_B, strict=True):
            r = tendency((rho, mx, my, energy), D, lift, h)
            k_rho = a * k_rho + dt * r[0]
            k_mx = a * k_mx + dt * r[1]
            k_my = a * k_my + dt * r[2]
            k_energy = a * k_energy + dt * r[3]
            rho = rho + b * k_rho
            mx = mx + b * k_mx
            my = my + b * k_my
            energy = energy + b * k_energy
    return np.sum(rho * np.log(pressure(rho, mx, my, energy) / rho**GAMMA)) / rho.size


def nodes_and_weights(order: int) -> tuple[np.ndarray, np.ndarray]:
    """Points and weights of Gauss, Lobatto and Legendre on [-1, 1]."""
    legendre = np.polynomial.legendre.Legendre.basis(order)
    points = np.concatenate([[-1.0], np.sort(legendre.deriv().roots().real), [1.0]])
    return points, 2.0 / (order * (order + 1) * legendre(points) ** 2)


def derivative_matrix(points: np.ndarray) -> np.ndarray:
    """`D[a, c]`: the slope at point a of the polynomial that is 1 at point c and 0 at the others."""
    gap = points[:, None] - points[None, :] + np.eye(len(points))
    c = np.prod(gap, axis=1)
    D = c[:, None] / c[None, :] / gap
    np.fill_diagonal(D, 0.0)
    return D - np.diag(np.sum(D, axis=1))


def arguments(elements: int, order: int, steps: int) -> Arguments:
    points, weights = nodes_and_weights(order)
    h = 2.0 * np.pi / elements
    center = h * (np.arange(elements) + 0.5)
    x = (center[:, None] + 0.5 * h * points)[:, None, :, None]
    y = (center[:, None] + 0.5 * h * points)[None, :, None, :]
    shape = (elements, elements, order + 1, order + 1)
    rho = np.ascontiguousarray(np.broadcast_to(1.0 + 0.2 * np.sin(x + y), shape))
    mx = rho * (0.3 + 0.1 * np.cos(y))
    my = rho * (-0.2 + 0.1 * np.sin(x))
    energy = 1.0 / (GAMMA - 1.0) + 0.5 * (mx * mx + my * my) / rho
    return {"rho": rho, "mx": mx, "my": my, "energy": energy, "D": derivative_matrix(points),
            "lift": float(1.0 / weights[0]), "h": h, "dt": 0.1 * h / (order + 1) ** 2, "steps": steps}


APPLICATION = Application(
    name="dg_euler",
    program=advance,
    arguments=arguments,
    wrt=("rho", "mx", "my", "energy"),
    sizes={"tiny": {"elements": 3, "order": 2, "steps": 1}, "usual": {"elements": 16, "order": 4, "steps": 10}},
    about="Nodal discontinuous Galerkin on squares (Hesthaven and Warburton, 2008) with the low-storage Runge-Kutta "
          "method of Carpenter and Kennedy (1994).",
)
