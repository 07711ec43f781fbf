/* lu: factorisation without pivoting.  n: extent; x: A; g: A.

   The factors are all that the reverse sweep reads, and they are intact. Rows go four at a time, so that a row of the rest
   is loaded once for four of them. Forward: four rows are eliminated from all below. Back, from the last four rows: the
   cotangents of their multipliers by a triangular recurrence with the factors, then an update of every row above. The rest
   is shared out by rows. */
#include "adjoint.h"

enum { B = 4 };

/* Take the pivot rows p .. end off a row. */
static void eliminate(int64_t n, int64_t p, int64_t end, const double (*restrict a)[n], double *restrict row)
{
    double f[B];
    for (int64_t k = p; k < end; k++) {
        f[k - p] = row[k] /= a[k][k];
        for (int64_t j = k + 1; j < end; j++)
            row[j] -= f[k - p] * a[k][j];
    }
    if (end - p == B)
        for (int64_t j = end; j < n; j++)
            row[j] -= f[0] * a[p][j] + f[1] * a[p + 1][j] + f[2] * a[p + 2][j] + f[3] * a[p + 3][j];
}

static void factorise(int64_t n, double (*a)[n])
{
    for (int64_t p = 0; p < n; p += B) {
        int64_t end = p + B < n ? p + B : n;
        #pragma omp single
        for (int64_t i = p + 1; i < end; i++)
            for (int64_t k = p; k < i; k++) {
                double f = a[i][k] /= a[k][k];
                for (int64_t j = k + 1; j < n; j++)
                    a[i][j] -= f * a[k][j];
            }
        #pragma omp for schedule(static)
        for (int64_t i = end; i < n; i++)
            eliminate(n, p, end, (const double (*)[n])a, a[i]);
    }
}

/* s[r] += the products of row k of the factors with rows r of g, between two columns. */
static inline void products(int64_t from, int64_t to, const double *restrict row, const double *const *g, double *s)
{
    const double *restrict g0 = g[0], *restrict g1 = g[1], *restrict g2 = g[2], *restrict g3 = g[3];
    double s0 = 0.0, s1 = 0.0, s2 = 0.0, s3 = 0.0;
    #pragma omp simd reduction(+ : s0, s1, s2, s3)
    for (int64_t j = from; j < to; j++) {
        s0 += row[j] * g0[j];
        s1 += row[j] * g1[j];
        s2 += row[j] * g2[j];
        s3 += row[j] * g3[j];
    }
    s[0] += s0, s[1] += s1, s[2] += s2, s[3] += s3;
}

/* Within rows from .. to: as for all of them below, row by row. */
static void inside(int64_t n, int64_t from, int64_t to, const double (*a)[n], double (*g)[n])
{
    for (int64_t i = to - 1; i > from; i--)
        for (int64_t k = i - 1; k >= from; k--) {
            double sum = g[i][k];
            #pragma omp simd reduction(- : sum)
            for (int64_t j = k + 1; j < n; j++)
                sum -= g[i][j] * a[k][j];
            g[i][k] = sum / a[k][k];
            for (int64_t j = k; j < n; j++)
                g[k][j] -= a[i][k] * g[i][j];
        }
}

void gradient(const int64_t *size, const double *c, const double *const *x, double *const *out, int threads)
{
    int64_t n = size[0];
    double (*g)[n] = (double (*)[n])out[0];
    double *work = room(taken(n * n) + taken(B * n));
    double (*a)[n] = (double (*)[n])take(&work, n * n), (*s)[B] = (double (*)[B])take(&work, B * n);
    (void)c;
    memcpy(a, x[0], n * n * sizeof(double));
    fill(n * n, out[0], 1.0);
    #pragma omp parallel num_threads(threads)
    {
        factorise(n, a);
        for (int64_t to = n; to > 0; to -= B) {
            int64_t from = to > B ? to - B : 0;
            #pragma omp single
            inside(n, from, to, (const double (*)[n])a, g);
            if (from == 0)
                break;
            const double *rows[B] = {g[from], g[from + 1], g[from + 2], g[from + 3]};
            #pragma omp for schedule(static)
            for (int64_t k = 0; k < from; k++) {
                memset(s[k], 0, B * sizeof(double));
                products(from, n, a[k], rows, s[k]);
            }
            #pragma omp single
            for (int64_t k = from - 1; k >= 0; k--) {
                products(k + 1, from, a[k], rows, s[k]);
                for (int r = 0; r < B; r++)
                    g[from + r][k] = (g[from + r][k] - s[k][r]) / a[k][k];
            }
            #pragma omp for schedule(static)
            for (int64_t k = 0; k < from; k++) {
                double *restrict above = g[k];
                double f0 = a[from][k], f1 = a[from + 1][k], f2 = a[from + 2][k], f3 = a[from + 3][k];
                for (int64_t j = k; j < n; j++)
                    above[j] -= f0 * rows[0][j] + f1 * rows[1][j] + f2 * rows[2][j] + f3 * rows[3][j];
            }
        }
    }
}
