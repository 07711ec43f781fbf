/* jacobi_2d: five-point averages from A to B and back.  n: steps, rows, columns; x: none; g: A, B.

   Linear, so nothing runs forward and nothing is stored. Each half step overwrites the interior of one array: its
   cotangent is what the transposed average makes of the other's. The arrays of the cotangents keep a border of zeros,
   which makes all interior points alike; what reaches the border collects in four vectors per array. */
#include "adjoint.h"

typedef struct {
    double *top, *bottom, *left, *right;
} Border;

/* g = the transposed average of w, plus g where `add`. */
static inline __attribute__((always_inline)) void spread(int64_t m, int64_t n, const double (*restrict w)[n],
                                                         double (*restrict g)[n], Border b, int add)
{
    #pragma omp for schedule(static)
    for (int64_t i = 1; i < m - 1; i++) {
        for (int64_t j = 1; j < n - 1; j++) {
            double sum = 0.2 * (w[i][j] + w[i][j - 1] + w[i][j + 1] + w[i - 1][j] + w[i + 1][j]);
            g[i][j] = add ? g[i][j] + sum : sum;
        }
        b.left[i] += 0.2 * w[i][1];
        b.right[i] += 0.2 * w[i][n - 2];
        if (i == 1)
            for (int64_t j = 1; j < n - 1; j++)
                b.top[j] += 0.2 * w[1][j];
        if (i == m - 2)
            for (int64_t j = 1; j < n - 1; j++)
                b.bottom[j] += 0.2 * w[m - 2][j];
    }
}

static void start(int64_t m, int64_t n, double (*g)[n])
{
    #pragma omp for schedule(static)
    for (int64_t i = 0; i < m; i++)
        for (int64_t j = 0; j < n; j++)
            g[i][j] = i > 0 && i < m - 1 && j > 0 && j < n - 1;
}

/* The border as it was collected; the interior is 0 where the program overwrites it first. */
static void finish(int64_t m, int64_t n, double (*g)[n], Border b, int overwritten)
{
    #pragma omp single
    {
        memcpy(g[0], b.top, n * sizeof(double));
        memcpy(g[m - 1], b.bottom, n * sizeof(double));
    }
    #pragma omp for schedule(static)
    for (int64_t i = 1; i < m - 1; i++) {
        if (overwritten)
            memset(g[i], 0, n * sizeof(double));
        g[i][0] = b.left[i];
        g[i][n - 1] = b.right[i];
    }
}

static Border border(int64_t m, int64_t n, double **work)
{
    Border b = {take(work, n), take(work, n), take(work, m), take(work, m)};
    fill(n, b.top, 1.0);
    fill(n, b.bottom, 1.0);
    fill(m, b.left, 1.0);
    fill(m, b.right, 1.0);
    return b;
}

void gradient(const int64_t *size, const double *c, const double *const *x, double *const *out, int threads)
{
    int64_t steps = size[0], m = size[1], n = size[2];
    double (*a)[n] = (double (*)[n])out[0], (*b)[n] = (double (*)[n])out[1];
    double *work = room(4 * (taken(m) + taken(n)));
    Border of_a = border(m, n, &work), of_b = border(m, n, &work);
    (void)c, (void)x;
    #pragma omp parallel num_threads(threads)
    {
        start(m, n, a);
        start(m, n, b);
        for (int64_t t = 1; t < steps; t++) {
            if (t == 1)
                spread(m, n, a, b, of_b, 1);
            else
                spread(m, n, a, b, of_b, 0);
            spread(m, n, b, a, of_a, 0);
        }
        finish(m, n, a, of_a, 0);
        finish(m, n, b, of_b, steps > 1);
    }
}
