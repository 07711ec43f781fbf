/* burgers_2d: Burgers' equation, explicit steps, the sum of squares of both velocities at the end.
   n: steps, rows, columns; x: u, v; g: u, v.

   Both velocities of every step are the tape; the forward sweep runs in it. The reverse sweep gathers: an inner point
   adds up what it gave to itself and its four neighbours. As in jacobi_2d the cotangents have a border of zeros. */
#include "adjoint.h"

typedef struct {
    double *top, *bottom, *left, *right;
} Border;

static void forward(int64_t m, int64_t n, const double (*restrict u)[n], const double (*restrict v)[n],
                    double (*restrict u1)[n], double (*restrict v1)[n])
{
    #pragma omp for schedule(static)
    for (int64_t i = 0; i < m; i++) {
        if (i == 0 || i == m - 1) {
            memcpy(u1[i], u[i], n * sizeof(double));
            memcpy(v1[i], v[i], n * sizeof(double));
            continue;
        }
        u1[i][0] = u[i][0], u1[i][n - 1] = u[i][n - 1];
        v1[i][0] = v[i][0], v1[i][n - 1] = v[i][n - 1];
        for (int64_t j = 1; j < n - 1; j++) {
            double uc = u[i][j], vc = v[i][j];
            u1[i][j] = uc - 0.1 * uc * (uc - u[i - 1][j]) - 0.1 * vc * (uc - u[i][j - 1])
                       + 0.01 * (u[i + 1][j] + u[i - 1][j] + u[i][j + 1] + u[i][j - 1] - 4 * uc);
            v1[i][j] = vc - 0.1 * uc * (vc - v[i - 1][j]) - 0.1 * vc * (vc - v[i][j - 1])
                       + 0.01 * (v[i + 1][j] + v[i - 1][j] + v[i][j + 1] + v[i][j - 1] - 4 * vc);
        }
    }
}

/* One step back: from the cotangents gu, gv of its results to those of its arguments u, v. */
static void reverse(int64_t m, int64_t n, const double (*restrict u)[n], const double (*restrict v)[n],
                    const double (*restrict gu)[n], const double (*restrict gv)[n], double (*restrict hu)[n],
                    double (*restrict hv)[n], Border bu, Border bv)
{
    #pragma omp for schedule(static)
    for (int64_t i = 1; i < m - 1; i++) {
        for (int64_t j = 1; j < n - 1; j++) {
            double uc = u[i][j], vc = v[i][j], across = 0.01 + 0.1 * v[i][j + 1], along = 0.01 + 0.1 * u[i + 1][j];
            double from_top = uc - u[i - 1][j], from_left = vc - v[i][j - 1], rest = 0.96 - 0.1 * (uc + vc);
            hu[i][j] = gu[i][j] * (rest - 0.1 * from_top) + along * gu[i + 1][j] + across * gu[i][j + 1]
                       + 0.01 * (gu[i - 1][j] + gu[i][j - 1]) - 0.1 * (vc - v[i - 1][j]) * gv[i][j];
            hv[i][j] = gv[i][j] * (rest - 0.1 * from_left) + along * gv[i + 1][j] + across * gv[i][j + 1]
                       + 0.01 * (gv[i - 1][j] + gv[i][j - 1]) - 0.1 * (uc - u[i][j - 1]) * gu[i][j];
        }
        double across = 0.01 + 0.1 * v[i][1];
        bu.left[i] += across * gu[i][1];
        bv.left[i] += across * gv[i][1];
        bu.right[i] += 0.01 * gu[i][n - 2];
        bv.right[i] += 0.01 * gv[i][n - 2];
        if (i == 1)
            for (int64_t j = 1; j < n - 1; j++) {
                bu.top[j] += (0.01 + 0.1 * u[1][j]) * gu[1][j];
                bv.top[j] += (0.01 + 0.1 * u[1][j]) * gv[1][j];
            }
        if (i == m - 2)
            for (int64_t j = 1; j < n - 1; j++) {
                bu.bottom[j] += 0.01 * gu[m - 2][j];
                bv.bottom[j] += 0.01 * gv[m - 2][j];
            }
    }
}

/* The cotangent of the sum of squares: the border to b, the interior to g, which gets and h has a border of zeros. */
static void start(int64_t m, int64_t n, const double (*u)[n], double (*g)[n], double (*h)[n], Border b)
{
    #pragma omp for schedule(static)
    for (int64_t i = 0; i < m; i++) {
        int inside = i > 0 && i < m - 1;
        for (int64_t j = 0; j < n; j++)
            g[i][j] = inside && j > 0 && j < n - 1 ? 2 * u[i][j] : 0.0;
        h[i][0] = h[i][n - 1] = 0.0;
        b.left[i] = 2 * u[i][0];
        b.right[i] = 2 * u[i][n - 1];
        if (!inside)
            for (int64_t j = 0; j < n; j++) {
                h[i][j] = 0.0;
                (i == 0 ? b.top : b.bottom)[j] = 2 * u[i][j];
            }
    }
}

static void finish(int64_t m, int64_t n, const double (*g)[n], double (*out)[n], Border b)
{
    #pragma omp for schedule(static)
    for (int64_t i = 0; i < m; i++) {
        if (i == 0 || i == m - 1) {
            memcpy(out[i], i == 0 ? b.top : b.bottom, n * sizeof(double));
            continue;
        }
        if (g != (const double (*)[n])out)
            memcpy(out[i], g[i], n * sizeof(double));
        out[i][0] = b.left[i];
        out[i][n - 1] = b.right[i];
    }
}

void gradient(const int64_t *size, const double *c, const double *const *x, double *const *out, int threads)
{
    int64_t steps = size[0], m = size[1], n = size[2], plane = taken(m * n);
    double *work = room((2 * steps + 2) * plane + 4 * (taken(m) + taken(n)));
    double *tape = take(&work, 2 * steps * plane);
    double *h[2] = {take(&work, plane), take(&work, plane)};
    Border b[2];
    for (int k = 0; k < 2; k++)
        b[k] = (Border){take(&work, n), take(&work, n), take(&work, m), take(&work, m)};
    (void)c;
    /* States before step t; the first one is the arguments themselves. */
    #define STATE(k, t) ((double (*)[n])((t) == 0 ? (double *)x[k] : tape + (2 * ((t) - 1) + (k)) * plane))
    #define PLANE(p) ((double (*)[n])(p))
    #pragma omp parallel num_threads(threads)
    {
        for (int64_t t = 0; t < steps; t++)
            forward(m, n, STATE(0, t), STATE(1, t), STATE(0, t + 1), STATE(1, t + 1));
        /* The last of the planes that take turns is the caller's. */
        double *from[2], *to[2];
        for (int k = 0; k < 2; k++) {
            from[k] = steps % 2 ? h[k] : out[k];
            to[k] = steps % 2 ? out[k] : h[k];
            start(m, n, STATE(k, steps), PLANE(from[k]), PLANE(to[k]), b[k]);
        }
        for (int64_t t = steps - 1; t >= 0; t--) {
            reverse(m, n, STATE(0, t), STATE(1, t), PLANE(from[0]), PLANE(from[1]), PLANE(to[0]), PLANE(to[1]), b[0],
                    b[1]);
            for (int k = 0; k < 2; k++) {
                double *swap = from[k];
                from[k] = to[k], to[k] = swap;
            }
        }
        for (int k = 0; k < 2; k++)
            finish(m, n, PLANE(from[k]), PLANE(out[k]), b[k]);
    }
}
