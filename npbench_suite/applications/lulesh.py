"""lulesh: shock hydrodynamics of a Sedov blast on an unstructured mesh of hexahedra."""

import numpy as np

from npbench_suite.applications.application import Application, Arguments

FACES = ((0, 1, 2, 3), (0, 4, 5, 1), (1, 5, 6, 2), (2, 6, 7, 3), (3, 7, 4, 0), (4, 7, 6, 5))
AROUND = ((1, 2, 3, 4, 5, 7), (2, 3, 0, 5, 6, 4), (3, 0, 1, 6, 7, 5), (0, 1, 2, 7, 4, 6),
          (7, 6, 5, 0, 3, 1), (4, 7, 6, 1, 0, 2), (5, 4, 7, 2, 1, 3), (6, 5, 4, 3, 2, 0))
HOURGLASS = np.array([[1, 1, -1, -1, -1, -1, 1, 1], [1, -1, -1, 1, -1, 1, 1, -1],
                      [1, -1, 1, -1, 1, -1, 1, -1], [-1, 1, -1, 1, 1, -1, 1, -1]], dtype=float)
HG_COEFFICIENT = 3.0
Q_QUADRATIC, Q_LINEAR = 2.0 / 3.0, 0.5
LIMITER, MAX_SLOPE = 2.0, 1.0
E_CUT = P_CUT = Q_CUT = U_CUT = 1e-7
E_MIN, P_MIN = -1e15, 0.0
V_MAX, V_MIN = 1e9, 1e-9
TINY = 1e-36


def triple(ax, ay, az, bx, by, bz, cx, cy, cz):
    return ax * (by * cz - bz * cy) + bx * (az * cy - ay * cz) + cx * (ay * bz - az * by)


def volume(x, y, z):
    """Of hexahedra whose corners are the first axis."""
    first = triple(x[3] - x[1] + x[7] - x[2], y[3] - y[1] + y[7] - y[2], z[3] - z[1] + z[7] - z[2],
                   x[6] - x[3], y[6] - y[3], z[6] - z[3], x[2] - x[0], y[2] - y[0], z[2] - z[0])
    second = triple(x[4] - x[3] + x[5] - x[7], y[4] - y[3] + y[5] - y[7], z[4] - z[3] + z[5] - z[7],
                    x[6] - x[4], y[6] - y[4], z[6] - z[4], x[7] - x[0], y[7] - y[0], z[7] - z[0])
    third = triple(x[1] - x[4] + x[2] - x[5], y[1] - y[4] + y[2] - y[5], z[1] - z[4] + z[2] - z[5],
                   x[6] - x[1], y[6] - y[1], z[6] - z[1], x[5] - x[0], y[5] - y[0], z[5] - z[0])
    return (first + second + third) / 12.0


def shape_derivatives(x, y, z):
    """Gradients of the shape functions of the first four corners at the center, times the volume; those of the corners
    across are the negative. And the volume of the Jacobian."""
    a, b, c, d = x[6] - x[0], x[5] - x[3], x[7] - x[1], x[4] - x[2]
    xi_x, eta_x, zeta_x = 0.125 * (a + b - c - d), 0.125 * (a - b + c - d), 0.125 * (a + b + c + d)
    a, b, c, d = y[6] - y[0], y[5] - y[3], y[7] - y[1], y[4] - y[2]
    xi_y, eta_y, zeta_y = 0.125 * (a + b - c - d), 0.125 * (a - b + c - d), 0.125 * (a + b + c + d)
    a, b, c, d = z[6] - z[0], z[5] - z[3], z[7] - z[1], z[4] - z[2]
    xi_z, eta_z, zeta_z = 0.125 * (a + b - c - d), 0.125 * (a - b + c - d), 0.125 * (a + b + c + d)
    gradients = []
    for p, q, r in ((eta_y * zeta_z - zeta_y * eta_z, zeta_y * xi_z - xi_y * zeta_z, xi_y * eta_z - eta_y * xi_z),
                    (zeta_x * eta_z - eta_x * zeta_z, xi_x * zeta_z - zeta_x * xi_z, eta_x * xi_z - xi_x * eta_z),
                    (eta_x * zeta_y - zeta_x * eta_y, zeta_x * xi_y - xi_x * zeta_y, xi_x * eta_y - eta_x * xi_y)):
        gradients.append((-p - q - r, p - q - r, p + q - r, -p + q - r))
    jacobian = 8.0 * (eta_x * (zeta_y * xi_z - xi_y * zeta_z) + eta_y * (xi_x * zeta_z - zeta_x * xi_z)
                      + eta_z * (zeta_x * xi_y - xi_x * zeta_y))
    return gradients, jacobian


def corner_normals(x, y, z):
    """The areas of the faces, a quarter for each of their corners."""
    nx, ny, nz = np.zeros(x.shape), np.zeros(x.shape), np.zeros(x.shape)
    for a, b, c, d in FACES:
        ux, vx = 0.5 * (x[d] + x[c] - x[b] - x[a]), 0.5 * (x[c] + x[b] - x[d] - x[a])
        uy, vy = 0.5 * (y[d] + y[c] - y[b] - y[a]), 0.5 * (y[c] + y[b] - y[d] - y[a])
        uz, vz = 0.5 * (z[d] + z[c] - z[b] - z[a]), 0.5 * (z[c] + z[b] - z[d] - z[a])
        ax, ay, az = 0.25 * (uy * vz - uz * vy), 0.25 * (uz * vx - ux * vz), 0.25 * (ux * vy - uy * vx)
        for corner in (a, b, c, d):
            nx[corner] += ax
            ny[corner] += ay
            nz[corner] += az
    return nx, ny, nz


def volume_derivative(y, z):
    """Of the volume by the first coordinate of each corner, given the other two."""
    result = np.zeros(y.shape)
    for k, (a, b, c, d, e, f) in enumerate(AROUND):
        result[k] = ((y[b] + y[c]) * (z[a] + z[b]) - (y[a] + y[b]) * (z[b] + z[c]) + (y[a] + y[e]) * (z[d] + z[e])
                     - (y[d] + y[e]) * (z[a] + z[e]) - (y[c] + y[f]) * (z[d] + z[f])
                     + (y[d] + y[f]) * (z[c] + z[f])) / 12.0
    return result


def hourglass_forces(x, y, z, xd, yd, zd, vol, damping):
    """What resists the motions that leave the volume alone (Flanagan and Belytschko)."""
    vx, vy, vz = volume_derivative(y, z), volume_derivative(z, x), volume_derivative(x, y)
    fx, fy, fz = np.zeros(x.shape), np.zeros(x.shape), np.zeros(x.shape)
    for i in range(4):
        mode = HOURGLASS[i]
        gamma = mode[:, None] - (vx * (mode @ x) + vy * (mode @ y) + vz * (mode @ z)) / vol
        fx += damping * gamma * np.sum(gamma * xd, axis=0)
        fy += damping * gamma * np.sum(gamma * yd, axis=0)
        fz += damping * gamma * np.sum(gamma * zd, axis=0)
    return fx, fy, fz


def face_measure(x, y, z, a, b, c, d):
    fx, gx = x[c] - x[a] - x[d] + x[b], x[c] - x[a] + x[d] - x[b]
    fy, gy = y[c] - y[a] - y[d] + y[b], y[c] - y[a] + y[d] - y[b]
    fz, gz = z[c] - z[a] - z[d] + z[b], z[c] - z[a] + z[d] - z[b]
    both = fx * gx + fy * gy + fz * gz
    return (fx * fx + fy * fy + fz * fz) * (gx * gx + gy * gy + gz * gz) - both * both


def characteristic_length(x, y, z, vol):
    area = face_measure(x, y, z, 0, 1, 2, 3)
    for a, b, c, d in ((4, 5, 6, 7), (0, 1, 5, 4), (1, 2, 6, 5), (2, 3, 7, 6), (3, 0, 4, 7)):
        area = np.maximum(area, face_measure(x, y, z, a, b, c, d))
    return 4.0 * vol / np.sqrt(area)


def side(x, a, b, c, d, e, f, g, h):
    """From the middle of the face efgh to that of abcd."""
    return 0.25 * (x[a] + x[b] + x[c] + x[d] - x[e] - x[f] - x[g] - x[h])


def velocity_difference(ux, uy, uz, wx, wy, wz, vx, vy, vz, vol):
    """Across an element between two of its sides, and how long it is that way."""
    ax, ay, az = uy * wz - uz * wy, uz * wx - ux * wz, ux * wy - uy * wx
    length = vol / np.sqrt(ax * ax + ay * ay + az * az + TINY)
    return length, (ax * vx + ay * vy + az * vz) / (vol + TINY)


def slope_limit(delta, before, after, inside_before, inside_after):
    """Of the artificial viscosity, from the neighbours along one direction."""
    scale = 1.0 / (delta + TINY)
    lower = np.where(inside_before, delta[before], delta) * scale
    upper = np.where(inside_after, delta[after], 0.0) * scale
    phi = np.minimum(0.5 * (lower + upper), np.minimum(LIMITER * lower, LIMITER * upper))
    return np.minimum(np.maximum(phi, 0.0), MAX_SLOPE)


def eos_pressure(energy, compression, v):
    p = 2.0 / 3.0 * (compression + 1.0) * energy
    p = np.where(np.abs(p) < P_CUT, 0.0, p)
    return np.maximum(np.where(v >= V_MAX, 0.0, p), P_MIN)


def sound(energy, p, v, compression):
    b = 2.0 / 3.0 * (compression + 1.0)
    square = 2.0 / 3.0 * energy + v * v * b * p
    return np.where(square <= 0.1111111e-36, 0.3333333e-18, np.sqrt(np.maximum(square, 0.1111111e-36)))


def cut(value, least):
    return np.where(np.abs(value) < least, 0.0, value)


def equation_of_state(e, p, q, v, change, q_quadratic, q_linear):
    """Energy, pressure and viscosity after the volumes have changed, by a predictor and two correctors."""
    compression = 1.0 / v - 1.0
    half = 1.0 / (v - 0.5 * change) - 1.0
    energy = np.maximum(e - 0.5 * change * (p + q), E_MIN)
    p_half = eos_pressure(energy, half, v)
    speed = sound(energy, p_half, 1.0 / (1.0 + half), half)
    q_new = np.where(change > 0.0, 0.0, speed * q_linear + q_quadratic)
    energy = energy + 0.5 * change * (3.0 * (p + q) - 4.0 * (p_half + q_new))
    energy = np.maximum(cut(energy, E_CUT), E_MIN)
    p_new = eos_pressure(energy, compression, v)
    speed = sound(energy, p_new, v, compression)
    q_again = np.where(change > 0.0, 0.0, speed * q_linear + q_quadratic)
    energy = energy - (7.0 * (p + q) - 8.0 * (p_half + q_new) + p_new + q_again) * change / 6.0
    energy = np.maximum(cut(energy, E_CUT), E_MIN)
    p_new = eos_pressure(energy, compression, v)
    speed = sound(energy, p_new, v, compression)
    q_new = np.where(change <= 0.0, cut(speed * q_linear + q_quadratic, Q_CUT), q_new)
    return energy, p_new, q_new, sound(energy, p_new, v, compression)


def nodal_forces(x, y, z, xd, yd, zd, corners, sigma, damping, vol):
    """Of stress and hourglass control, added up over the elements around each node."""
    ex, ey, ez = x[corners], y[corners], z[corners]
    nx, ny, nz = corner_normals(ex, ey, ez)
    hx, hy, hz = hourglass_forces(ex, ey, ez, xd[corners], yd[corners], zd[corners], vol, damping)
    fx, fy, fz = np.zeros(x.shape), np.zeros(x.shape), np.zeros(x.shape)
    np.add.at(fx, corners, hx - sigma * nx)
    np.add.at(fy, corners, hy - sigma * ny)
    np.add.at(fz, corners, hz - sigma * nz)
    return fx, fy, fz


def expansion(x, y, z, ux, uy, uz, dt):
    """How fast the volumes change, relative to themselves, in the middle of the step."""
    gradients, jacobian = shape_derivatives(x - 0.5 * dt * ux, y - 0.5 * dt * uy, z - 0.5 * dt * uz)
    vdov = np.zeros(jacobian.shape)
    for k, across in enumerate((6, 7, 4, 5)):
        vdov += (gradients[0][k] * (ux[k] - ux[across]) + gradients[1][k] * (uy[k] - uy[across])
                 + gradients[2][k] * (uz[k] - uz[across])) / jacobian
    return vdov


def viscosity(x, y, z, ux, uy, uz, vol, rho, vdov, below, above, inside_below, inside_above):
    """The linear and the quadratic part of the monotonic artificial viscosity."""
    ix, iy, iz = [side(c, 1, 2, 6, 5, 0, 3, 7, 4) for c in (x, y, z)]
    jx, jy, jz = [side(c, 3, 2, 6, 7, 0, 1, 5, 4) for c in (x, y, z)]
    kx, ky, kz = [side(c, 4, 5, 6, 7, 0, 1, 2, 3) for c in (x, y, z)]
    i_velocity = [side(c, 1, 2, 6, 5, 0, 3, 7, 4) for c in (ux, uy, uz)]
    j_velocity = [side(c, 3, 2, 6, 7, 0, 1, 5, 4) for c in (ux, uy, uz)]
    k_velocity = [side(c, 4, 5, 6, 7, 0, 1, 2, 3) for c in (ux, uy, uz)]
    differences = (velocity_difference(jx, jy, jz, kx, ky, kz, *i_velocity, vol),
                   velocity_difference(kx, ky, kz, ix, iy, iz, *j_velocity, vol),
                   velocity_difference(ix, iy, iz, jx, jy, jz, *k_velocity, vol))
    linear, quadratic = np.zeros(vol.shape), np.zeros(vol.shape)
    for d in range(3):
        long, delta = differences[d]
        phi = slope_limit(delta, below[d], above[d], inside_below[d], inside_above[d])
        jump = np.minimum(delta * long, 0.0)
        linear -= Q_LINEAR * rho * jump * (1.0 - phi)
        quadratic += Q_QUADRATIC * rho * jump * jump * (1.0 - phi * phi)
    return np.where(vdov > 0.0, 0.0, quadratic), np.where(vdov > 0.0, 0.0, linear)


def next_step(dt, ss, vdov, length):
    """The next time step: what sound and compression allow, and not much more than the last one."""
    square = ss * ss + np.where(vdov < 0.0, 4.0 * Q_QUADRATIC**2 * length**2 * vdov**2, 0.0)
    courant = np.min(np.where(vdov != 0.0, length / np.sqrt(square + TINY), 1e20))
    hydro = np.min(0.1 / (np.abs(vdov) + 1e-20))
    proposed = min(0.5 * courant, 2.0 / 3.0 * hydro)
    ratio = proposed / dt
    if ratio > 1.2:
        dt = 1.2 * dt
    elif ratio < 1.0 or ratio > 1.1:
        dt = proposed
    return dt


def blast(x, y, z, energy, corners, below, above, inside_below, inside_above, at_x, at_y, at_z, dt, cycles):
    """Cycles of the Lagrangian scheme from rest: the kinetic energy and a weighted internal one at the end.

    corners: (8, elements) nodes of each element; below, above: (3, elements) neighbours along each direction, where
    inside_below and inside_above say so; at_x, at_y, at_z: nodes on the planes of symmetry.
    """
    nodes, elements = x.shape[0], energy.shape[0]
    reference = volume(x[corners], y[corners], z[corners])
    node_mass = np.zeros(nodes)
    np.add.at(node_mass, corners, np.stack([reference / 8.0 for _ in range(8)]))
    xd, yd, zd = np.zeros(nodes), np.zeros(nodes), np.zeros(nodes)
    e = energy / reference
    p, q, ss = np.zeros(elements), np.zeros(elements), np.zeros(elements)
    v = np.ones(elements)
    for _ in range(cycles):
        vol = reference * v
        damping = -HG_COEFFICIENT * 0.01 * ss * reference / np.cbrt(vol)
        fx, fy, fz = nodal_forces(x, y, z, xd, yd, zd, corners, -p - q, damping, vol)
        ax, ay, az = fx / node_mass, fy / node_mass, fz / node_mass
        ax[at_x] = 0.0
        ay[at_y] = 0.0
        az[at_z] = 0.0
        xd, yd, zd = cut(xd + dt * ax, U_CUT), cut(yd + dt * ay, U_CUT), cut(zd + dt * az, U_CUT)
        x, y, z = x + dt * xd, y + dt * yd, z + dt * zd

        ex, ey, ez = x[corners], y[corners], z[corners]
        ux, uy, uz = xd[corners], yd[corners], zd[corners]
        vol = volume(ex, ey, ez)
        v_new = vol / reference
        length = characteristic_length(ex, ey, ez, vol)
        vdov = expansion(ex, ey, ez, ux, uy, uz, dt)
        q_quadratic, q_linear = viscosity(ex, ey, ez, ux, uy, uz, vol, reference / vol, vdov, below, above,
                                          inside_below, inside_above)
        v_used = np.minimum(np.maximum(v_new, V_MIN), V_MAX)
        e, p, q, ss = equation_of_state(e, p, q, v_used, v_new - v, q_quadratic, q_linear)
        v = np.where(np.abs(v_new - 1.0) < 1e-10, 1.0, v_new)
        dt = next_step(dt, ss, vdov, length)
    kinetic = 0.5 * np.sum(node_mass * (xd * xd + yd * yd + zd * zd))
    return kinetic + np.sum(e * e * reference)


def mesh(n: int) -> Arguments:
    """A cube of n hexahedra each way: corners, neighbours, planes of symmetry."""
    node = np.arange((n + 1) ** 3).reshape(n + 1, n + 1, n + 1)
    low, high = slice(None, -1), slice(1, None)
    corners = np.stack([node[low, low, low], node[low, low, high], node[low, high, high], node[low, high, low],
                        node[high, low, low], node[high, low, high], node[high, high, high],
                        node[high, high, low]]).reshape(8, -1)
    element = np.arange(n**3).reshape(n, n, n)
    place = np.indices((n, n, n)).reshape(3, -1)[::-1]
    return {"corners": corners,
            "below": np.stack([np.roll(element, 1, axis=2 - d).ravel() for d in range(3)]),
            "above": np.stack([np.roll(element, -1, axis=2 - d).ravel() for d in range(3)]),
            "inside_below": place > 0, "inside_above": place < n - 1,
            "at_x": node[:, :, 0].ravel(), "at_y": node[:, 0, :].ravel(), "at_z": node[0].ravel()}


def arguments(n: int, cycles: int, uneven: float = 0.0) -> Arguments:
    """uneven: how far nodes lie from a regular mesh, whose equal faces and elements at rest are kinks."""
    rng = np.random.default_rng(37)
    line = np.linspace(0.0, 1.125, n + 1)
    z, y, x = (c.ravel() + uneven / n * rng.random(c.size) for c in np.meshgrid(line, line, line, indexing="ij"))
    energy = uneven * rng.random(n**3)
    energy[0] = 3.948746e7 * (1.125 / 45) ** 3
    dt = 0.5 * 1.125 / n / np.sqrt(2.0 * energy[0] / (1.125 / n) ** 3)
    return {"x": x, "y": y, "z": z, "energy": energy, **mesh(n), "dt": float(dt), "cycles": cycles}


APPLICATION = Application(
    name="lulesh",
    program=blast,
    arguments=arguments,
    wrt=("x", "y", "z", "energy"),
    sizes={"tiny": {"n": 3, "cycles": 2, "uneven": 0.2}, "usual": {"n": 12, "cycles": 10},
           "large": {"n": 30, "cycles": 10}},
    about="The Sedov blast of the proxy application LULESH (Karlin, Keasler and Neely, LLNL-TR-641973, 2013).",
)
