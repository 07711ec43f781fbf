/* adi: alternating direction implicit steps.  n: steps, extent; x: none; g: u.

   Linear in u, and the coefficients p depend on neither u nor the step: they are computed once. Nothing runs forward,
   nothing is stored. A step back is a transposed solve along the rows, for some rows side by side in a buffer, then one
   along the columns, for which each thread takes some of the columns. */
#include "adjoint.h"

enum { W = 16 };
typedef double Row[W];

/* p[j] and one over the pivot of a solve with off-diagonal a and diagonal b. */
static void factor(int64_t n, double a, double b, double *p, double *inv)
{
    p[0] = 0.0;
    for (int64_t j = 1; j < n - 1; j++) {
        inv[j] = 1.0 / (a * p[j - 1] + b);
        p[j] = -a * inv[j];
    }
}

/* The explicit part of a step back, along row h. */
static inline void explicit_part(int64_t n, double d, const double *restrict h, double *restrict g)
{
    for (int64_t j = 1; j < n - 1; j++)
        g[j] = (1.0 + 2.0 * d) * h[j] - d * (h[j - 1] + h[j + 1]);
}

/* r = the transposed solve along rows i .. i + width of the cotangents of u: what the explicit part makes of h, or ones
   at the end of the program. */
static void along_rows(int64_t n, int64_t i, int width, double d, int last, const double *restrict p,
                       const double *restrict inv, const double (*restrict h)[n], double (*restrict r)[n],
                       Row *restrict s, double *restrict g)
{
    for (int q = 0; q < W; q++) {
        if (last)
            fill(n, g, 1.0);
        else
            explicit_part(n, d, h[i + (q < width ? q : width - 1)], g);
        for (int64_t j = 1; j < n - 1; j++)
            s[j][q] = g[j];
        s[n - 1][q] = 0.0;
    }
    for (int64_t j = 2; j < n - 1; j++)
        #pragma omp simd
        for (int q = 0; q < W; q++)
            s[j][q] += p[j - 1] * s[j - 1][q];
    for (int64_t j = n - 2; j > 0; j--)
        #pragma omp simd
        for (int q = 0; q < W; q++)
            s[j][q] = (s[j][q] - d * s[j + 1][q]) * inv[j];
    for (int q = 0; q < width; q++)
        for (int64_t j = 1; j < n - 1; j++)
            r[i + q][j] = s[j][q];
}

/* h = the transposed solve along the columns from..to of what the explicit part makes of r, rows one after the other. */
static void along_columns(int64_t n, int64_t from, int64_t to, double a, const double *restrict p,
                          const double *restrict inv, const double (*restrict r)[n], double (*restrict h)[n])
{
    for (int64_t i = 1; i < n - 1; i++)
        for (int64_t j = from; j < to; j++)
            h[i][j] = (1.0 + 2.0 * a) * r[i][j] - a * (r[i - 1][j] + r[i + 1][j]) + p[i - 1] * h[i - 1][j];
    for (int64_t i = n - 2; i > 0; i--)
        for (int64_t j = from; j < to; j++)
            h[i][j] = (h[i][j] - a * h[i + 1][j]) * inv[i];
}

void gradient(const int64_t *size, const double *c, const double *const *x, double *const *out, int threads)
{
    int64_t steps = size[0], n = size[1], each = taken((W + 1) * n);
    double (*g)[n] = (double (*)[n])out[0];
    double *work = room(2 * taken(n * n) + 4 * taken(n) + threads * each);
    double (*r)[n] = (double (*)[n])take(&work, n * n), (*h)[n] = (double (*)[n])take(&work, n * n);
    double *p1 = take(&work, n), *i1 = take(&work, n), *p2 = take(&work, n), *i2 = take(&work, n);
    double m2 = (double)n * n / steps, a = -m2, d = -m2 / 2.0, b = 1.0 + m2;
    (void)c, (void)x;
    factor(n, a, b, p1, i1);
    factor(n, d, b, p2, i2);
    /* The first and the last row and column stay 0: nothing is solved there. */
    memset(r, 0, n * n * sizeof(double));
    memset(h, 0, n * n * sizeof(double));
    #pragma omp parallel num_threads(threads)
    {
        Row *columns = (Row *)(work + omp_get_thread_num() * each);
        double *row = (double *)(columns + n);
        int64_t part = (n - 2 + threads - 1) / threads, from = 1 + omp_get_thread_num() * part;
        int64_t to = from + part < n - 1 ? from + part : n - 1;
        for (int64_t t = steps; t > 0; t--) {
            #pragma omp for schedule(static)
            for (int64_t i = 1; i < n - 1; i += W)
                along_rows(n, i, n - 1 - i < W ? (int)(n - 1 - i) : W, d, t == steps, p2, i2, h, r, columns, row);
            along_columns(n, from, to, a, p1, i1, r, h);
            #pragma omp barrier
        }
        /* The first and the last column are 1 after every step: only the arguments of the first step see them. */
        #pragma omp for schedule(static)
        for (int64_t i = 0; i < n; i++) {
            if (i == 0 || i == n - 1) {
                fill(n, g[i], 1.0);
                continue;
            }
            explicit_part(n, d, h[i], g[i]);
            g[i][0] = -d * h[i][1];
            g[i][n - 1] = -d * h[i][n - 2];
        }
    }
}
