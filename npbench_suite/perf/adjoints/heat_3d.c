/* heat_3d: seven-point sums from A to B and back.  n: steps, and the three extents; x: none; g: A, B.

   As jacobi_2d: linear, nothing stored, a border of zeros around both cotangents, its own sums beside. */
#include "adjoint.h"

typedef struct {
    double *low[3], *high[3]; /* the two faces across each direction */
} Border;

static inline void add_face(int64_t count, double *restrict face, const double *restrict w)
{
    for (int64_t e = 0; e < count; e++)
        face[e] += 0.125 * w[e];
}

/* g = the transposed sums of w, plus g where `add`. A plane is one long row: the columns at its border are computed along
   with the rest and then set back to 0. */
static inline __attribute__((always_inline)) void spread(int64_t l, int64_t m, int64_t n,
                                                         const double (*restrict w)[m][n], double (*restrict g)[m][n],
                                                         Border b, int add)
{
    #pragma omp for schedule(static)
    for (int64_t i = 1; i < l - 1; i++) {
        const double *restrict here = w[i][0], *restrict below = w[i - 1][0], *restrict above = w[i + 1][0];
        double *restrict to = g[i][0];
        for (int64_t e = n + 1; e < (m - 1) * n - 1; e++) {
            double sum = 0.25 * here[e] + 0.125 * (here[e - 1] + here[e + 1] + here[e - n] + here[e + n] + below[e]
                                                   + above[e]);
            to[e] = add ? to[e] + sum : sum;
        }
        for (int64_t j = 1; j < m - 1; j++) {
            b.low[2][i * m + j] += 0.125 * w[i][j][1];
            b.high[2][i * m + j] += 0.125 * w[i][j][n - 2];
            g[i][j][0] = g[i][j][n - 1] = 0.0;
        }
        for (int64_t k = 1; k < n - 1; k++) {
            b.low[1][i * n + k] += 0.125 * w[i][1][k];
            b.high[1][i * n + k] += 0.125 * w[i][m - 2][k];
        }
        if (i == 1)
            add_face(m * n, b.low[0], here);
        if (i == l - 2)
            add_face(m * n, b.high[0], here);
    }
}

static void start(int64_t l, int64_t m, int64_t n, double (*g)[m][n])
{
    #pragma omp for schedule(static)
    for (int64_t i = 0; i < l; i++)
        for (int64_t j = 0; j < m; j++)
            for (int64_t k = 0; k < n; k++)
                g[i][j][k] = i > 0 && i < l - 1 && j > 0 && j < m - 1 && k > 0 && k < n - 1;
}

/* The border as it was collected; the interior is 0 where the program overwrites it first. Edges and corners take part
   in nothing and keep their 1. */
static void finish(int64_t l, int64_t m, int64_t n, double (*g)[m][n], Border b, int overwritten)
{
    #pragma omp single
    {
        memcpy(g[0], b.low[0], m * n * sizeof(double));
        memcpy(g[l - 1], b.high[0], m * n * sizeof(double));
    }
    #pragma omp for schedule(static)
    for (int64_t i = 1; i < l - 1; i++) {
        if (overwritten)
            memset(g[i], 0, m * n * sizeof(double));
        memcpy(g[i][0], b.low[1] + i * n, n * sizeof(double));
        memcpy(g[i][m - 1], b.high[1] + i * n, n * sizeof(double));
        for (int64_t j = 1; j < m - 1; j++) {
            g[i][j][0] = b.low[2][i * m + j];
            g[i][j][n - 1] = b.high[2][i * m + j];
        }
    }
}

static Border border(int64_t l, int64_t m, int64_t n, double **work)
{
    Border b;
    int64_t faces[3] = {m * n, l * n, l * m};
    for (int d = 0; d < 3; d++) {
        b.low[d] = take(work, faces[d]);
        b.high[d] = take(work, faces[d]);
        fill(faces[d], b.low[d], 1.0);
        fill(faces[d], b.high[d], 1.0);
    }
    return b;
}

void gradient(const int64_t *size, const double *c, const double *const *x, double *const *out, int threads)
{
    int64_t steps = size[0], l = size[1], m = size[2], n = size[3];
    double (*a)[m][n] = (double (*)[m][n])out[0], (*b)[m][n] = (double (*)[m][n])out[1];
    double *work = room(4 * (taken(m * n) + taken(l * n) + taken(l * m)));
    Border of_a = border(l, m, n, &work), of_b = border(l, m, n, &work);
    (void)c, (void)x;
    #pragma omp parallel num_threads(threads)
    {
        start(l, m, n, a);
        start(l, m, n, b);
        for (int64_t t = 1; t < steps; t++) {
            if (t == 1)
                spread(l, m, n, a, b, of_b, 1);
            else
                spread(l, m, n, a, b, of_b, 0);
            spread(l, m, n, b, a, of_a, 0);
        }
        finish(l, m, n, a, of_a, 0);
        finish(l, m, n, b, of_b, steps > 1);
    }
}
