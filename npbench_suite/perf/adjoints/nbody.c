/* nbody: gravitation, leapfrog steps; the sum of kinetic and potential energies over time.
   n: bodies, steps; c: dt, G, softening; x: mass, pos, vel; g: mass, pos, vel.

   The tape holds positions, velocities and the two inverse distances of every pair: the roots and divisions cost more
   than reading them again. A pair is visited once, with its second body along the vector; what it adds to either body
   goes to sums of the thread, which are added up afterwards in order. */
#include "adjoint.h"

enum { SUMS = 4 }; /* numbers per body that a sweep over the pairs adds up: force, or cotangents of position and mass */

typedef struct {
    int64_t bodies, padded, pairs;
    double dt, gravity, soft;
    const double *mass;
    double *sums; /* [threads][SUMS][padded] */
    int threads;
} Model;

static inline int64_t first_pair(int64_t bodies, int64_t i) { return i * (2 * bodies - i - 1) / 2 - (i + 1); }

/* Inverse distances with (s) and without (q) softening; forces into sums 0 to 2. */
static void attract(Model m, const double *restrict pos, double *restrict s, double *restrict q, double *restrict own)
{
    int64_t n = m.bodies, p = m.padded;
    const double *x = pos, *y = pos + p, *z = pos + 2 * p, *mass = m.mass;
    double *restrict fx = own, *restrict fy = own + p, *restrict fz = own + 2 * p;
    memset(own, 0, 3 * p * sizeof(double));
    #pragma omp for schedule(static, 1)
    for (int64_t i = 0; i < n; i++) {
        double xi = x[i], yi = y[i], zi = z[i], mi = mass[i], ax = 0, ay = 0, az = 0, e2 = m.soft * m.soft;
        double *restrict si = s + first_pair(n, i), *restrict qi = q + first_pair(n, i);
        #pragma omp simd reduction(+ : ax, ay, az)
        for (int64_t j = i + 1; j < n; j++) {
            double dx = x[j] - xi, dy = y[j] - yi, dz = z[j] - zi, r2 = dx * dx + dy * dy + dz * dz;
            double inverse = 1.0 / sqrt(r2 + e2), cube = m.gravity * inverse * inverse * inverse;
            si[j] = inverse;
            qi[j] = r2 > 0 ? 1.0 / sqrt(r2) : 0.0;
            ax += mass[j] * cube * dx, ay += mass[j] * cube * dy, az += mass[j] * cube * dz;
            fx[j] -= mi * cube * dx, fy[j] -= mi * cube * dy, fz[j] -= mi * cube * dz;
        }
        fx[i] += ax, fy[i] += ay, fz[i] += az;
    }
}

/* What forces (with cotangents ga) and potential energy (1) give to positions (sums 0 to 2) and masses (3). */
static void attract_back(Model m, const double *restrict pos, const double *restrict s, const double *restrict q,
                         const double *restrict ga, double *restrict own)
{
    int64_t n = m.bodies, p = m.padded;
    const double *x = pos, *y = pos + p, *z = pos + 2 * p, *mass = m.mass, *gx = ga, *gy = ga + p, *gz = ga + 2 * p;
    double *restrict hx = own, *restrict hy = own + p, *restrict hz = own + 2 * p, *restrict hm = own + 3 * p;
    memset(own, 0, 4 * p * sizeof(double));
    #pragma omp for schedule(static, 1)
    for (int64_t i = 0; i < n; i++) {
        double xi = x[i], yi = y[i], zi = z[i], mi = mass[i], ux = gx[i], uy = gy[i], uz = gz[i];
        double bx = 0, by = 0, bz = 0, bm = 0;
        const double *restrict si = s + first_pair(n, i), *restrict qi = q + first_pair(n, i);
        #pragma omp simd reduction(+ : bx, by, bz, bm)
        for (int64_t j = i + 1; j < n; j++) {
            double dx = x[j] - xi, dy = y[j] - yi, dz = z[j] - zi, mj = mass[j];
            double s2 = si[j] * si[j], cube = m.gravity * s2 * si[j], potential = m.gravity * qi[j];
            double di = ux * dx + uy * dy + uz * dz, dj = gx[j] * dx + gy[j] * dy + gz[j] * dz;
            double along = mi * mj * potential * qi[j] * qi[j] - 3.0 * cube * s2 * (mj * di - mi * dj);
            double px = cube * (mj * ux - mi * gx[j]) + along * dx;
            double py = cube * (mj * uy - mi * gy[j]) + along * dy;
            double pz = cube * (mj * uz - mi * gz[j]) + along * dz;
            hx[j] += px, hy[j] += py, hz[j] += pz, bx += px, by += py, bz += pz;
            hm[j] += cube * di - mi * potential;
            bm -= cube * dj + mj * potential;
        }
        hx[i] -= bx, hy[i] -= by, hz[i] -= bz, hm[i] += bm;
    }
}

/* out (+)= the threads' sums; `own` is a part of one thread's. Every thread takes some of the numbers. */
static void add_up(Model m, int64_t count, double *restrict out, int add)
{
    #pragma omp for schedule(static)
    for (int64_t e = 0; e < count; e++) {
        double sum = add ? out[e] : 0.0;
        for (int t = 0; t < m.threads; t++)
            sum += m.sums[t * SUMS * m.padded + e];
        out[e] = sum;
    }
}

/* Bodies in rows of three numbers to three arrays, and back. */
static void split(int64_t n, int64_t p, const double *from, double *to)
{
    for (int64_t i = 0; i < n; i++)
        for (int d = 0; d < 3; d++)
            to[d * p + i] = from[3 * i + d];
}

static void join(int64_t n, int64_t p, const double *from, double *to)
{
    for (int64_t i = 0; i < n; i++)
        for (int d = 0; d < 3; d++)
            to[3 * i + d] = from[d * p + i];
}

static void centre(Model m, double *vel, double *mean, double *total)
{
    *total = 0.0;
    for (int64_t i = 0; i < m.bodies; i++)
        *total += m.mass[i];
    for (int d = 0; d < 3; d++) {
        double *v = vel + d * m.padded, sum = 0.0;
        for (int64_t i = 0; i < m.bodies; i++)
            sum += m.mass[i] * v[i];
        mean[d] = sum / *total;
        for (int64_t i = 0; i < m.bodies; i++)
            v[i] -= mean[d];
    }
}

static void centre_back(Model m, const double *vel, double total, double *gv, double *gm)
{
    for (int d = 0; d < 3; d++) {
        const double *v = vel + d * m.padded;
        double *g = gv + d * m.padded, sum = 0.0;
        for (int64_t i = 0; i < m.bodies; i++)
            sum += g[i];
        for (int64_t i = 0; i < m.bodies; i++) {
            g[i] -= m.mass[i] / total * sum;
            gm[i] -= v[i] / total * sum;
        }
    }
}

/* Kinetic energy: gv += m v, gm += v^2 / 2; what the velocity gives to the force: ga += share gv. */
static void kinetic_back(Model m, const double *restrict vel, double share, double *restrict gv, double *restrict ga,
                         double *restrict gm)
{
    #pragma omp for schedule(static)
    for (int64_t i = 0; i < m.bodies; i++)
        for (int d = 0; d < 3; d++) {
            int64_t e = d * m.padded + i;
            gv[e] += m.mass[i] * vel[e];
            gm[i] += 0.5 * vel[e] * vel[e];
            ga[e] += share * gv[e];
        }
}

void gradient(const int64_t *size, const double *c, const double *const *in, double *const *out, int threads)
{
    int64_t n = size[0], steps = size[1], p = taken(n), pairs = n * (n - 1) / 2, state = 3 * p;
    double *work = room((steps + 1) * (2 * state + 2 * taken(pairs)) + 4 * state + p + threads * SUMS * p);
    double *pos = take(&work, (steps + 1) * state), *vel = take(&work, (steps + 1) * state);
    double *s = take(&work, (steps + 1) * taken(pairs)), *q = take(&work, (steps + 1) * taken(pairs));
    double *acc = take(&work, state), *gx = take(&work, state), *gv = take(&work, state), *ga = take(&work, state);
    double *gm = take(&work, p), mean[3], total, dt = c[0];
    Model m = {n, p, taken(pairs), dt, c[1], c[2], in[0], work, threads};
    memset(gx, 0, (3 * state + p) * sizeof(double));
    split(n, p, in[1], pos);
    split(n, p, in[2], vel);
    centre(m, vel, mean, &total);
    #pragma omp parallel num_threads(threads)
    {
        double *own = m.sums + omp_get_thread_num() * SUMS * p;
        attract(m, pos, s, q, own);
        add_up(m, state, acc, 0);
        for (int64_t t = 0; t < steps; t++) {
            double *x = pos + t * state, *v = vel + t * state;
            #pragma omp for schedule(static)
            for (int64_t e = 0; e < state; e++) {
                v[state + e] = v[e] + 0.5 * dt * acc[e];
                x[state + e] = x[e] + dt * v[state + e];
            }
            attract(m, x + state, s + (t + 1) * m.pairs, q + (t + 1) * m.pairs, own);
            add_up(m, state, acc, 0);
            #pragma omp for schedule(static)
            for (int64_t e = 0; e < state; e++)
                v[state + e] += 0.5 * dt * acc[e];
        }
        for (int64_t t = steps; t >= 0; t--) {
            kinetic_back(m, vel + t * state, t > 0 ? 0.5 * dt : 0.0, gv, ga, gm);
            attract_back(m, pos + t * state, s + t * m.pairs, q + t * m.pairs, ga, own);
            add_up(m, state, gx, 1);
            #pragma omp for schedule(static) nowait
            for (int64_t i = 0; i < n; i++)
                for (int k = 0; k < threads; k++)
                    gm[i] += m.sums[k * SUMS * p + 3 * p + i];
            if (t > 0) {
                #pragma omp for schedule(static)
                for (int64_t e = 0; e < state; e++) {
                    gv[e] += dt * gx[e];
                    ga[e] = 0.5 * dt * gv[e];
                }
            } else {
                #pragma omp barrier
            }
        }
    }
    centre_back(m, vel, total, gv, gm);
    memcpy(out[0], gm, n * sizeof(double));
    join(n, p, gx, out[1]);
    join(n, p, gv, out[2]);
}
