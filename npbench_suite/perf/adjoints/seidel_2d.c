/* seidel_2d: Gauss-Seidel sweeps of a nine-point average, in place.  n: steps, extent; x: none; g: A.

   Linear, nothing stored. A row's sweep to the right becomes the recurrence z[j] = (g[j] + z[j+1]) / 9 to the left, after
   which z goes to the row and its neighbours. The recurrence waits for itself: rows three apart, each one sweep further,
   touch nothing in common, so they are taken four at a time, and shared out among the threads. */
#include "adjoint.h"

enum { TOGETHER = 4, APART = 3 };

/* The recurrences of `count` rows side by side; z starts at column -1 and ends with column n. */
static void recur(int64_t n, int count, double *const *g, double *const *z)
{
    const double ninth = 1.0 / 9.0;
    if (count == TOGETHER) {
        const double *g0 = g[0], *g1 = g[1], *g2 = g[2], *g3 = g[3];
        double *restrict z0 = z[0] + 1, *restrict z1 = z[1] + 1, *restrict z2 = z[2] + 1, *restrict z3 = z[3] + 1;
        double a = 0.0, b = 0.0, c = 0.0, d = 0.0;
        for (int64_t j = n - 2; j > 0; j--) {
            z0[j] = a = ninth * g0[j] + ninth * a;
            z1[j] = b = ninth * g1[j] + ninth * b;
            z2[j] = c = ninth * g2[j] + ninth * c;
            z3[j] = d = ninth * g3[j] + ninth * d;
        }
        return;
    }
    for (int r = 0; r < count; r++) {
        double last = 0.0;
        for (int64_t j = n - 2; j > 0; j--)
            z[r][j + 1] = last = ninth * g[r][j] + ninth * last;
    }
}

static void spread(int64_t n, const double *restrict z, double *restrict up, double *restrict row,
                   double *restrict down)
{
    for (int64_t k = 0; k < n; k++) {
        double sum = z[k] + z[k + 1] + z[k + 2];
        up[k] += sum;
        down[k] += sum;
    }
    for (int64_t k = 1; k < n - 1; k++)
        row[k] = z[k] + z[k + 1];
    row[0] += z[2];
    row[n - 1] += z[n - 1];
}

void gradient(const int64_t *size, const double *c, const double *const *x, double *const *out, int threads)
{
    int64_t sweeps = size[0] - 1, n = size[1], wide = taken(n + 2);
    double (*g)[n] = (double (*)[n])out[0];
    double *work = room(threads * TOGETHER * wide);
    (void)c, (void)x;
    fill(n * n, out[0], 1.0);
    memset(work, 0, threads * TOGETHER * wide * sizeof(double));
    #pragma omp parallel num_threads(threads)
    for (int64_t wave = 0; wave < APART * (sweeps - 1) + n - 2; wave++) {
        /* Sweep t, counted from the last one, is at row n - 2 - (wave - APART t). */
        int64_t first = wave > n - 3 ? (wave - (n - 3) + APART - 1) / APART : 0;
        int64_t last = wave / APART < sweeps - 1 ? wave / APART : sweeps - 1;
        #pragma omp for schedule(static)
        for (int64_t t = first; t <= last; t += TOGETHER) {
            double *rows[TOGETHER], *z[TOGETHER];
            int count = last - t + 1 < TOGETHER ? (int)(last - t + 1) : TOGETHER;
            for (int r = 0; r < count; r++) {
                rows[r] = g[n - 2 - (wave - APART * (t + r))];
                z[r] = work + (omp_get_thread_num() * TOGETHER + r) * wide;
            }
            recur(n, count, rows, z);
            for (int r = 0; r < count; r++)
                spread(n, z[r], rows[r] - n, rows[r], rows[r] + n);
        }
    }
}
