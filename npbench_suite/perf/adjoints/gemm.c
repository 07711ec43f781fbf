/* gemm: C = alpha A B + beta C, with the cotangent W of C.  n: rows of C, columns of C, columns of A; c: alpha, beta;
   x: W, A, B; g: C, A, B.

   Nothing runs forward. The gradients are beta W, alpha W B^T and alpha A^T W: two products of the same form, in which one
   factor is read by rows once it is packed. Blocked for the caches, and for the registers with 6 x 32 sums (2 x 8 where
   vectors are short). */
#include "adjoint.h"

#ifdef __AVX512F__
enum { LANES = 8, ROWS = 6, VECTORS = 4 };
#else
enum { LANES = 4, ROWS = 4, VECTORS = 2 };
#endif
enum { COLUMNS = LANES * VECTORS, DEEP = 256, TALL = 96 };
typedef double Vector __attribute__((vector_size(LANES * sizeof(double)), aligned(8)));

/* to[block][k][r] = factor from[block * size + r, k], zeros beyond the end. */
static void pack(int64_t count, int64_t deep, int size, double factor, const double *restrict from, int64_t across,
                 int64_t along, double *restrict to)
{
    for (int64_t block = 0; block < count; block += size)
        for (int64_t k = 0; k < deep; k++)
            for (int r = 0; r < size; r++)
                *to++ = block + r < count ? factor * from[(block + r) * across + k * along] : 0.0;
}

/* c[ROWS x COLUMNS] (+)= a b of packed blocks. */
static void tile(int64_t deep, const double *restrict a, const double *restrict b, double *restrict c)
{
    Vector sum[ROWS][VECTORS] = {{{0}}};
    for (int64_t k = 0; k < deep; k++) {
        Vector right[VECTORS];
        #pragma GCC unroll 8
        for (int v = 0; v < VECTORS; v++)
            right[v] = *(const Vector *)(b + k * COLUMNS + v * LANES);
        #pragma GCC unroll 8
        for (int r = 0; r < ROWS; r++)
            #pragma GCC unroll 8
            for (int v = 0; v < VECTORS; v++)
                sum[r][v] += a[k * ROWS + r] * right[v];
    }
    for (int r = 0; r < ROWS; r++)
        for (int v = 0; v < VECTORS; v++)
            *(Vector *)(c + r * COLUMNS + v * LANES) = sum[r][v];
}

/* c[m x n] = factor a b: a[i, k] lies at a[i * a_row + k * a_deep], b[k, j] at b[k * b_deep + j * b_column]. */
static void product(int64_t m, int64_t n, int64_t deep, double factor, const double *a, int64_t a_row, int64_t a_deep,
                    const double *b, int64_t b_deep, int64_t b_column, double *c, double *right, double *left)
{
    for (int64_t k = 0; k < deep; k += DEEP) {
        int64_t some = deep - k < DEEP ? deep - k : DEEP;
        #pragma omp for schedule(static)
        for (int64_t j = 0; j < n; j += COLUMNS)
            pack(n - j < COLUMNS ? n - j : COLUMNS, some, COLUMNS, 1.0, b + k * b_deep + j * b_column, b_column, b_deep,
                 right + j * some);
        #pragma omp for schedule(static)
        for (int64_t i = 0; i < m; i += TALL) {
            int64_t rows = m - i < TALL ? m - i : TALL;
            pack(rows, some, ROWS, factor, a + i * a_row + k * a_deep, a_row, a_deep, left);
            for (int64_t j = 0; j < n; j += COLUMNS)
                for (int64_t r = 0; r < rows; r += ROWS) {
                    double sums[ROWS * COLUMNS];
                    tile(some, left + r * some, right + j * some, sums);
                    for (int64_t p = 0; p < ROWS && r + p < rows; p++)
                        for (int64_t q = 0; q < COLUMNS && j + q < n; q++) {
                            double *at = c + (i + r + p) * n + j + q;
                            *at = k == 0 ? sums[p * COLUMNS + q] : *at + sums[p * COLUMNS + q];
                        }
                }
        }
    }
}

void gradient(const int64_t *size, const double *c, const double *const *x, double *const *out, int threads)
{
    int64_t ni = size[0], nj = size[1], nk = size[2], wider = (nj > nk ? nj : nk) + COLUMNS;
    double *work = room(taken(wider * DEEP) + threads * taken((TALL + ROWS) * DEEP));
    double *right = take(&work, wider * DEEP);
    const double *w = x[0], *a = x[1], *b = x[2];
    #pragma omp parallel num_threads(threads)
    {
        double *left = work + omp_get_thread_num() * taken((TALL + ROWS) * DEEP);
        #pragma omp for schedule(static)
        for (int64_t e = 0; e < ni * nj; e++)
            out[0][e] = c[1] * w[e];
        product(ni, nk, nj, c[0], w, nj, 1, b, 1, nj, out[1], right, left);
        product(nk, nj, ni, c[0], a, 1, nk, w, nj, 1, out[2], right, left);
    }
}
