/* cavity_flow: lid-driven cavity with an inner iteration for the pressure.
   n: nx, ny, steps, pressure iterations; c: dt, dx, dy, rho, nu; x: u, v, p; g: u, v, p.

   The pressure enters linearly, so the tape holds the velocities alone, and nothing of the last step. The boundary
   conditions of the pressure copy a neighbour: back, its border gives what it got to the neighbour, which in a sweep over
   inner points is a border of copies again (below: of zeros). Velocities at the border are constants after a step, so only
   the first step's arguments get a cotangent there. */
#include "adjoint.h"

typedef struct {
    int64_t nx, ny;
    double dt, dx, dy, rho, nu;
} Model;

/* Plane of the model's shape. */
#define P(name) double (*restrict name)[m.nx]
#define C(name) const double (*restrict name)[m.nx]
#define INNER(i, end) for (int64_t i = 1; i < (end) - 1; i++)
#define FOR_ROWS _Pragma("omp for schedule(static)") INNER(i, m.ny)

static void source(Model m, C(u), C(v), P(b))
{
    double cx = 0.5 / m.dx, cy = 0.5 / m.dy, rate = 1.0 / m.dt;
    FOR_ROWS INNER(j, m.nx)
    {
        double ux = cx * (u[i][j + 1] - u[i][j - 1]), vy = cy * (v[i + 1][j] - v[i - 1][j]);
        double uy = cy * (u[i + 1][j] - u[i - 1][j]), vx = cx * (v[i][j + 1] - v[i][j - 1]);
        b[i][j] = m.rho * (rate * (ux + vy) - ux * ux - 2.0 * uy * vx - vy * vy);
    }
}

typedef struct {
    double x, y, b;
} Weights;

static Weights weights(Model m)
{
    double x2 = m.dx * m.dx, y2 = m.dy * m.dy, both = 2.0 * (x2 + y2);
    return (Weights){y2 / both, x2 / both, x2 * y2 / both};
}

/* Row i and what repeats it: columns beside the border, the first row under row 1; the lid's row is 0. */
static inline void mirror_row(Model m, P(w), int64_t i)
{
    w[i][0] = w[i][1];
    w[i][m.nx - 1] = w[i][m.nx - 2];
    if (i == 1)
        memcpy(w[0], w[1], m.nx * sizeof(double));
    if (i == m.ny - 2)
        memset(w[m.ny - 1], 0, m.nx * sizeof(double));
}

/* One iteration with its boundary conditions; the row of the lid is 0. */
static void relax(Model m, C(p), C(b), P(next))
{
    Weights w = weights(m);
    FOR_ROWS
    {
        INNER(j, m.nx)
        next[i][j] = w.x * (p[i][j + 1] + p[i][j - 1]) + w.y * (p[i + 1][j] + p[i - 1][j]) - w.b * b[i][j];
        mirror_row(m, next, i);
    }
}

/* The velocities of the next step. */
static void advance(Model m, C(u), C(v), C(p), P(u1), P(v1))
{
    double a = m.dt / m.dx, c = m.dt / m.dy, ex = m.nu * a / m.dx, ey = m.nu * c / m.dy;
    double px = 0.5 * a / m.rho, py = 0.5 * c / m.rho;
    FOR_ROWS
    {
        INNER(j, m.nx)
        {
            double uc = u[i][j], vc = v[i][j], flow_x = a * uc, flow_y = c * vc;
            u1[i][j] = uc - flow_x * (uc - u[i][j - 1]) - flow_y * (uc - u[i - 1][j]) - px * (p[i][j + 1] - p[i][j - 1])
                       + ex * (u[i][j + 1] - 2.0 * uc + u[i][j - 1]) + ey * (u[i + 1][j] - 2.0 * uc + u[i - 1][j]);
            v1[i][j] = vc - flow_x * (vc - v[i][j - 1]) - flow_y * (vc - v[i - 1][j]) - py * (p[i + 1][j] - p[i - 1][j])
                       + ex * (v[i][j + 1] - 2.0 * vc + v[i][j - 1]) + ey * (v[i + 1][j] - 2.0 * vc + v[i - 1][j]);
        }
        u1[i][0] = u1[i][m.nx - 1] = v1[i][0] = v1[i][m.nx - 1] = 0.0;
        if (i == 1) {
            memset(u1[0], 0, m.nx * sizeof(double));
            memset(v1[0], 0, m.nx * sizeof(double));
        }
        if (i == m.ny - 2) {
            fill(m.nx, u1[m.ny - 1], 1.0);
            memset(v1[m.ny - 1], 0, m.nx * sizeof(double));
        }
    }
}

/* From the cotangents gu, gv of the next step (0 at the border) to those of this one, and what the pressure gets, with
   the boundary's part already given to its neighbours. */
static void advance_back(Model m, C(u), C(v), C(gu), C(gv), P(hu), P(hv), P(gp))
{
    double a = m.dt / m.dx, c = m.dt / m.dy, ex = m.nu * a / m.dx, ey = m.nu * c / m.dy;
    double px = 0.5 * a / m.rho, py = 0.5 * c / m.rho, rest = 1.0 - 2.0 * ex - 2.0 * ey;
    FOR_ROWS
    {
        INNER(j, m.nx)
        {
            double uc = u[i][j], vc = v[i][j], after = a * u[i][j + 1] + ex, below = c * v[i + 1][j] + ey;
            double ul = uc - u[i][j - 1], uu = uc - u[i - 1][j], vl = vc - v[i][j - 1], vu = vc - v[i - 1][j];
            double flow = rest - a * uc - c * vc;
            hu[i][j] = gu[i][j] * (flow - a * ul) + gu[i][j + 1] * after + gu[i][j - 1] * ex + gu[i + 1][j] * below
                       + gu[i - 1][j] * ey - a * vl * gv[i][j];
            hv[i][j] = gv[i][j] * (flow - c * vu) + gv[i][j + 1] * after + gv[i][j - 1] * ex + gv[i + 1][j] * below
                       + gv[i - 1][j] * ey - c * uu * gu[i][j];
            gp[i][j] += px * (gu[i][j + 1] - gu[i][j - 1]) + py * (gv[i + 1][j] - gv[i - 1][j]);
        }
        gp[i][1] += px * gu[i][1];
        gp[i][m.nx - 2] -= px * gu[i][m.nx - 2];
        if (i == 1)
            INNER(j, m.nx)
            gp[1][j] += py * gv[1][j];
    }
}

static void mirror(Model m, P(w))
{
    #pragma omp for schedule(static)
    for (int64_t i = 1; i < m.ny - 1; i++)
        mirror_row(m, w, i);
}

/* One iteration back, from w with its border; the source's cotangent is collected in gb. */
static void relax_back(Model m, C(w), P(gb), P(next), int first)
{
    Weights by = weights(m);
    FOR_ROWS
    {
        INNER(j, m.nx)
        {
            next[i][j] = by.x * (w[i][j + 1] + w[i][j - 1]) + by.y * (w[i + 1][j] + w[i - 1][j]);
            gb[i][j] = (first ? 0.0 : gb[i][j]) - by.b * w[i][j];
        }
        mirror_row(m, next, i);
    }
}

/* What the first iteration of all gives to the argument p: its border counts by itself. */
static void first_pressure(Model m, C(w), P(gb), P(out), int first)
{
    Weights by = weights(m);
    #pragma omp for schedule(static)
    for (int64_t i = 0; i < m.ny; i++)
        for (int64_t j = 0; j < m.nx; j++) {
            int row = i > 0 && i < m.ny - 1, column = j > 0 && j < m.nx - 1;
            double sum = 0.0;
            if (row)
                sum += by.x * ((j < m.nx - 2 ? w[i][j + 1] : 0.0) + (j > 1 ? w[i][j - 1] : 0.0));
            if (column)
                sum += by.y * ((i < m.ny - 2 ? w[i + 1][j] : 0.0) + (i > 1 ? w[i - 1][j] : 0.0));
            out[i][j] = sum;
            if (row && column)
                gb[i][j] = (first ? 0.0 : gb[i][j]) - by.b * w[i][j];
        }
}

/* The cotangents of the four differences in the source. */
static void source_back(Model m, C(u), C(v), C(gb), P(ux), P(uy), P(vx), P(vy))
{
    double cx = 0.5 / m.dx, cy = 0.5 / m.dy, rate = 1.0 / m.dt;
    FOR_ROWS INNER(j, m.nx)
    {
        double g = m.rho * gb[i][j];
        ux[i][j] = g * cx * (rate - 2.0 * cx * (u[i][j + 1] - u[i][j - 1]));
        vy[i][j] = g * cy * (rate - 2.0 * cy * (v[i + 1][j] - v[i - 1][j]));
        uy[i][j] = -2.0 * g * cy * cx * (v[i][j + 1] - v[i][j - 1]);
        vx[i][j] = -2.0 * g * cx * cy * (u[i + 1][j] - u[i - 1][j]);
    }
}

static void add_differences(Model m, C(ux), C(uy), C(vx), C(vy), P(hu), P(hv))
{
    FOR_ROWS INNER(j, m.nx)
    {
        hu[i][j] += ux[i][j - 1] - ux[i][j + 1] + uy[i - 1][j] - uy[i + 1][j];
        hv[i][j] += vx[i][j - 1] - vx[i][j + 1] + vy[i - 1][j] - vy[i + 1][j];
    }
}

/* The border of the arguments of the first step: from `advance` and from the differences. */
static void first_border(Model m, C(u), C(v), C(gu), C(gv), C(ux), C(uy), C(vx), C(vy), P(hu), P(hv))
{
    double a = m.dt / m.dx, c = m.dt / m.dy, ex = m.nu * a / m.dx, ey = m.nu * c / m.dy;
    int64_t last = m.nx - 1, lid = m.ny - 1;
    INNER(i, m.ny)
    {
        double flow = a * u[i][1] + ex;
        hu[i][0] = gu[i][1] * flow - ux[i][1];
        hv[i][0] = gv[i][1] * flow - vx[i][1];
        hu[i][last] = gu[i][last - 1] * ex + ux[i][last - 1];
        hv[i][last] = gv[i][last - 1] * ex + vx[i][last - 1];
    }
    INNER(j, m.nx)
    {
        double flow = c * v[1][j] + ey;
        hu[0][j] = gu[1][j] * flow - uy[1][j];
        hv[0][j] = gv[1][j] * flow - vy[1][j];
        hu[lid][j] = gu[lid - 1][j] * ey + uy[lid - 1][j];
        hv[lid][j] = gv[lid - 1][j] * ey + vy[lid - 1][j];
    }
    hu[0][0] = hu[0][last] = hu[lid][0] = hu[lid][last] = 0.0;
    hv[0][0] = hv[0][last] = hv[lid][0] = hv[lid][last] = 0.0;
}

/* The cotangents at the end: ones, less what the boundary conditions overwrite, plus what they copied. */
static void start(Model m, P(gu), P(gv), P(w))
{
    for (int64_t i = 0; i < m.ny; i++)
        for (int64_t j = 0; j < m.nx; j++) {
            int inner = i > 0 && i < m.ny - 1 && j > 0 && j < m.nx - 1;
            gu[i][j] = gv[i][j] = inner;
            /* A corner reaches its diagonal neighbour through the row or the column beside it. */
            int columns = 1 + (j == 1) + (j == m.nx - 2);
            w[i][j] = inner ? columns * (1 + (i == 1)) : 0.0;
        }
}

enum { PLANES = 11 };

void gradient(const int64_t *size, const double *c, const double *const *x, double *const *out, int threads)
{
    Model m = {size[0], size[1], c[0], c[1], c[2], c[3], c[4]};
    int64_t steps = size[2], turns = size[3], plane = taken(m.nx * m.ny);
    double *work = room((2 * steps + PLANES) * plane), *tape = take(&work, 2 * steps * plane);
    #define AT(p) ((double (*)[m.nx])(p))
    #define STATE(k, t) AT((t) == 0 ? (double *)x[k] : tape + (2 * (t) + (k)) * plane)
    P(b) = AT(take(&work, plane));
    P(ux) = AT(take(&work, plane));
    P(uy) = AT(take(&work, plane));
    P(vx) = AT(take(&work, plane));
    P(vy) = AT(take(&work, plane));
    double *pressure[2] = {take(&work, plane), take(&work, plane)};
    double *gu[2] = {take(&work, plane), take(&work, plane)}, *gv[2] = {take(&work, plane), take(&work, plane)};
    /* Everything that is only ever written inside needs a border of zeros. */
    memset(b, 0, PLANES * plane * sizeof(double));
    memcpy(pressure[0], x[2], m.nx * m.ny * sizeof(double));
    #pragma omp parallel num_threads(threads)
    {
        int now = 0, at = 0;
        for (int64_t t = 0; t < steps - 1; t++) {
            source(m, STATE(0, t), STATE(1, t), b);
            for (int64_t q = 0; q < turns; q++, now = !now)
                relax(m, AT(pressure[now]), b, AT(pressure[!now]));
            advance(m, STATE(0, t), STATE(1, t), AT(pressure[now]), STATE(0, t + 1), STATE(1, t + 1));
        }
        #pragma omp single
        {
            now = 0;
            start(m, AT(gu[0]), AT(gv[0]), AT(pressure[0]));
        }
        now = 0;
        for (int64_t t = steps - 1; t >= 0; t--, at = !at) {
            advance_back(m, STATE(0, t), STATE(1, t), AT(gu[at]), AT(gv[at]), AT(gu[!at]), AT(gv[!at]), AT(pressure[now]));
            mirror(m, AT(pressure[now]));
            for (int64_t q = turns - 1; q >= (t == 0); q--, now = !now)
                relax_back(m, AT(pressure[now]), b, AT(pressure[!now]), q == turns - 1);
            if (t == 0)
                first_pressure(m, AT(pressure[now]), b, AT(out[2]), turns == 1);
            source_back(m, STATE(0, t), STATE(1, t), b, ux, uy, vx, vy);
            add_differences(m, ux, uy, vx, vy, AT(gu[!at]), AT(gv[!at]));
        }
        #pragma omp single
        first_border(m, STATE(0, 0), STATE(1, 0), AT(gu[!at]), AT(gv[!at]), ux, uy, vx, vy, AT(gu[at]), AT(gv[at]));
        #pragma omp for schedule(static)
        for (int64_t e = 0; e < m.nx * m.ny; e++) {
            out[0][e] = gu[at][e];
            out[1][e] = gv[at][e];
        }
    }
}
