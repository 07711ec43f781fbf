/* vadv: one tridiagonal system per column of a weather model.
   n: I, J, K; c: dtr_stage; x: utens_stage, u_stage, wcon, u_pos, utens; g: the same.

   The adjoint of a solve is a solve with the transposed matrix, for which the factors are at hand: nothing of the
   elimination is differentiated. Per column: with s = x + u_stage and the solution l of the transposed system,
   every coefficient's cotangent is a product of l and a difference of s. Columns lie side by side in buffers, so that the
   recurrences along k become vectors. wcon couples neighbours in i only: each thread takes some of the planes, and hands
   what its last one gives to the next over at the end. */
#include "adjoint.h"

enum { W = 16, PARTS = 9 };
typedef double Row[W];

/* Elimination and back substitution: sup, x hold the factor above the diagonal and the solution, inv the pivots. */
static void solve(int64_t kk, double dtr, const Row *restrict a, const Row *restrict us, const Row *restrict rhs,
                  Row *restrict sup, Row *restrict inv, Row *restrict x)
{
    for (int64_t k = 0; k < kk; k++)
        #pragma omp simd
        for (int q = 0; q < W; q++) {
            /* sub diagonal a[k], super diagonal -a[k + 1]; a[0] = a[kk] = 0 */
            double below = a[k][q], above = -a[k + 1][q], u = us[k][q];
            double before = k > 0 ? us[k - 1][q] : u, after = k < kk - 1 ? us[k + 1][q] : u;
            double r = rhs[k][q] - below * (before - u) - above * (after - u);
            double c0 = k > 0 ? sup[k - 1][q] : 0.0, x0 = k > 0 ? x[k - 1][q] : 0.0;
            inv[k][q] = 1.0 / (dtr - below - above - c0 * below);
            sup[k][q] = above * inv[k][q];
            x[k][q] = (r - x0 * below) * inv[k][q];
        }
    for (int64_t k = kk - 2; k >= 0; k--)
        #pragma omp simd
        for (int q = 0; q < W; q++)
            x[k][q] -= sup[k][q] * x[k + 1][q];
}

/* The transposed system with the same factors; every output has the cotangent dtr. */
static void solve_transposed(int64_t kk, double dtr, const Row *restrict a, const Row *restrict sup,
                             const Row *restrict inv, Row *restrict l)
{
    for (int64_t k = 0; k < kk; k++)
        #pragma omp simd
        for (int q = 0; q < W; q++)
            l[k][q] = dtr - (k > 0 ? sup[k - 1][q] * l[k - 1][q] : 0.0);
    for (int64_t k = kk - 1; k >= 0; k--)
        #pragma omp simd
        for (int q = 0; q < W; q++)
            l[k][q] = (l[k][q] - (k < kk - 1 ? a[k + 1][q] * l[k + 1][q] : 0.0)) * inv[k][q];
}

/* Cotangents of u_stage (gus) and of the sum of both wcon (gw), from s = x + u_stage and l. */
static void collect(int64_t kk, const Row *restrict a, const Row *restrict us, const Row *restrict x,
                    const Row *restrict l, Row *restrict gus, Row *restrict gw)
{
    for (int64_t k = 0; k < kk; k++)
        #pragma omp simd
        for (int q = 0; q < W; q++) {
            double sum = (a[k][q] - a[k + 1][q]) * l[k][q];
            if (k < kk - 1)
                sum -= a[k + 1][q] * l[k + 1][q];
            if (k > 0) {
                sum += a[k][q] * l[k - 1][q];
                /* sub diagonal of row k, super diagonal of row k - 1 */
                double step = x[k][q] + us[k][q] - x[k - 1][q] - us[k - 1][q];
                gw[k][q] = -0.125 * step * (l[k][q] + l[k - 1][q]);
            } else
                gw[0][q] = 0.0;
            gus[k][q] = sum;
        }
}

/* Columns j .. j + width of plane i; above: the cotangents of wcon that plane i - 1 gave to this plane, here replaced by
   those that this one gives to the next. */
static void block(int64_t jj, int64_t kk, int64_t i, int64_t j, int width, double dtr, const double *const *in,
                  double *const *out, Row *buffer, double *above)
{
    Row *part[PARTS];
    for (int p = 0; p < PARTS; p++)
        part[p] = buffer + p * (kk + 1);
    Row *us = part[0], *a = part[1], *rhs = part[2], *sup = part[3], *inv = part[4], *x = part[5], *l = part[6],
        *gus = part[7], *gw = part[8];
    int64_t at = (i * jj + j) * kk;
    for (int q = 0; q < W; q++) {
        int64_t e = at + (q < width ? q : width - 1) * kk;
        const double *restrict w0 = in[2] + e, *restrict w1 = w0 + jj * kk, *restrict u = in[1] + e;
        const double *restrict pos = in[3] + e, *restrict tens = in[4] + e, *restrict stage = in[0] + e;
        for (int64_t k = 0; k < kk; k++) {
            a[k][q] = -0.125 * (w0[k] + w1[k]);
            us[k][q] = u[k];
            rhs[k][q] = dtr * pos[k] + tens[k] + stage[k];
        }
        a[0][q] = a[kk][q] = 0.0;
    }
    solve(kk, dtr, a, us, rhs, sup, inv, x);
    solve_transposed(kk, dtr, a, sup, inv, l);
    collect(kk, a, us, x, l, gus, gw);
    for (int q = 0; q < width; q++) {
        int64_t e = at + q * kk;
        double *restrict g0 = out[0] + e, *restrict g1 = out[1] + e, *restrict g2 = out[2] + e;
        double *restrict g3 = out[3] + e, *restrict g4 = out[4] + e, *restrict ahead = above + (j + q) * kk;
        for (int64_t k = 0; k < kk; k++) {
            g0[k] = g4[k] = l[k][q];
            g3[k] = dtr * l[k][q] - dtr;
            g1[k] = gus[k][q];
            g2[k] = ahead[k] + gw[k][q];
            ahead[k] = gw[k][q];
        }
    }
}

void gradient(const int64_t *size, const double *c, const double *const *x, double *const *out, int threads)
{
    int64_t ii = size[0], jj = size[1], kk = size[2], each = PARTS * (kk + 1) * W, plane = taken(jj * kk);
    double *work = room(threads * (each + plane)), *edges = take(&work, threads * plane);
    #pragma omp parallel num_threads(threads)
    {
        int me = omp_get_thread_num();
        int64_t from = ii * me / threads, to = ii * (me + 1) / threads;
        double *edge = edges + me * plane;
        memset(edge, 0, plane * sizeof(double));
        for (int64_t i = from; i < to; i++)
            for (int64_t j = 0; j < jj; j += W)
                block(jj, kk, i, j, jj - j < W ? (int)(jj - j) : W, c[0], x, out, (Row *)(work + me * each), edge);
        #pragma omp barrier
        for (int64_t e = 0; from < to && e < jj * kk; e++)
            out[2][to * jj * kk + e] = (to < ii ? out[2][to * jj * kk + e] : 0.0) + edge[e];
    }
}
