// Typed, checked calls of CBLAS and LAPACKE on row-major operands given by pointer and strides in elements.
// A matrix operand has unit stride along one dimension; the caller has seen to that.
#pragma once
#include "sdfgad.h"
#include "sdfgad_blas.h"
#include <omp.h>

extern "C" int sg_room();

namespace sg {

// The BLAS library's own threads and ours would fight for the cores, each spinning while the other works. So BLAS runs on
// one thread, products and right-hand sides are shared out among ours, and only big factorisations use the library's
// pool, on cores that nobody else needs: its threads never sleep while they wait for each other.
class BlasThreads {
public:
    explicit BlasThreads(int count) : before_(openblas_get_num_threads()) { openblas_set_num_threads(count); }
    ~BlasThreads() { openblas_set_num_threads(before_); }

private:
    int before_;
};
constexpr int64_t kSharedProduct = int64_t(1) << 17, kSharedFactor = 256;
inline int factor_threads(int64_t n) { return n >= kSharedFactor ? sg_room() : 1; }

// Cut `count` rows among the threads when there is enough to do: work(first, rows).
template <class F> inline void shared(int64_t count, int64_t operations, F work) {
    int64_t threads = operations < kSharedProduct ? 1 : std::min<int64_t>(omp_get_max_threads(), count);
    if (threads <= 1) return work(int64_t(0), count);
    int64_t size = ((count + threads - 1) / threads + 7) / 8 * 8, pieces = (count + size - 1) / size;
#pragma omp parallel for schedule(static, 1)
    for (int64_t t = 0; t < pieces; t++) work(t * size, std::min(size, count - t * size));
}

using z = std::complex<double>;
using c = std::complex<float>;

// How BLAS sees a strided row-major matrix: as it is or transposed, with its leading dimension.
struct Layout {
    CBLAS_TRANSPOSE trans;
    int lead;
};
inline Layout layout(int64_t rows, int64_t columns, int64_t s0, int64_t s1) {
    if (s1 == 1 || columns <= 1)
        if (s0 >= columns || rows <= 1) return {CblasNoTrans, int(std::max<int64_t>({s0, columns, 1}))};
    return {CblasTrans, int(std::max<int64_t>({s1, rows, 1}))};
}

// BLAS and LAPACK for each type of numbers, which their names begin with a letter for; `by`: how a factor is passed.
#define SG_EACH_TYPE(define) define(double, d, ) define(float, s, ) define(z, z, &) define(c, c, &)

#define SG_BLAS_OF(T, letter, by) \
    inline void gemm_(CBLAS_TRANSPOSE ta, CBLAS_TRANSPOSE tb, int m, int n, int k, T scale, const T *a, int lda, \
                      const T *b, int ldb, T beta, T *x, int ldx) { \
        cblas_##letter##gemm(CblasRowMajor, ta, tb, m, n, k, by scale, a, lda, b, ldb, by beta, x, ldx); \
    } \
    inline void gemv_(CBLAS_TRANSPOSE t, int m, int n, T scale, const T *a, int lda, const T *x, int ix, T beta, T *y, \
                      int iy) { \
        cblas_##letter##gemv(CblasRowMajor, t, m, n, by scale, a, lda, x, ix, by beta, y, iy); \
    } \
    inline void trsm_(CBLAS_UPLO u, CBLAS_TRANSPOSE t, CBLAS_DIAG d, int m, int n, const T *a, int lda, T *b, int ldb) { \
        const T one = 1; \
        cblas_##letter##trsm(CblasRowMajor, CblasLeft, u, t, d, m, n, by one, a, lda, b, ldb); \
    }
SG_EACH_TYPE(SG_BLAS_OF)

// BLAS takes a scale of zero to mean that the operands do not matter; NaN and infinity in them do. A few rows at a time
// are worked out: product(first, rows, out).
constexpr int64_t kUnscaled = int64_t(1) << 15;
template <class T, class F>
inline void unscaled(Memory &memory, int64_t m, int64_t n, T *x, int64_t x0, int64_t x1, bool add, T scale, F product) {
    const int64_t most = std::min(m, std::max<int64_t>(1, kUnscaled / n));
    Workspace<T> held(memory, most * n);
    for (int64_t first = 0; first < m; first += most) {
        const int64_t rows = std::min(most, m - first);
        product(first, rows, held.data());
        for (int64_t i = 0; i < rows; i++)
            for (int64_t j = 0; j < n; j++) {
                T &out = x[(first + i) * x0 + j * x1];
                out = (add ? out : T(0)) + scale * held[i * n + j];
            }
    }
}

// x (m, n) = scale * a (m, k) @ b (k, n), or += with `add`.
template <class T>
inline void gemm(Memory &memory, int64_t m, int64_t n, int64_t k, const T *a, int64_t a0, int64_t a1, const T *b,
                 int64_t b0, int64_t b1, T *x, int64_t x0, int64_t x1, bool add, T scale = T(1)) {
    if (m <= 0 || n <= 0) return;
    if (k <= 0) {
        for (int64_t i = 0; i < m && !add; i++)
            for (int64_t j = 0; j < n; j++) x[i * x0 + j * x1] = T(0);
        return;
    }
    if (scale == T(0)) {
        const auto some = [=, &memory](int64_t first, int64_t rows, T *out) {
            gemm(memory, rows, n, k, a + first * a0, a0, a1, b, b0, b1, out, n, 1, false);
        };
        return unscaled(memory, m, n, x, x0, x1, add, scale, some);
    }
    Layout lx = layout(m, n, x0, x1);
    if (lx.trans == CblasTrans) return gemm(memory, n, m, k, b, b1, b0, a, a1, a0, x, x1, x0, add, scale);
    Layout la = layout(m, k, a0, a1), lb = layout(k, n, b0, b1);
    if (m >= n)
        shared(m, m * n * k, [=](int64_t i, int64_t rows) {
            gemm_(la.trans, lb.trans, int(rows), int(n), int(k), scale, a + i * a0, la.lead, b, lb.lead, T(add ? 1 : 0),
                  x + i * x0, lx.lead);
        });
    else
        shared(n, m * n * k, [=](int64_t j, int64_t columns) {
            gemm_(la.trans, lb.trans, int(m), int(columns), int(k), scale, a, la.lead, b + j * b1, lb.lead, T(add ? 1 : 0),
                  x + j * x1, lx.lead);
        });
}

// y (m) = scale * a (m, n) @ x (n), or += with `add`. Negative strides are for vectors that run backwards.
template <class T>
inline void gemv(Memory &memory, int64_t m, int64_t n, const T *a, int64_t a0, int64_t a1, const T *x, int64_t x0, T *y,
                 int64_t y0, bool add, T scale = T(1)) {
    if (m <= 0) return;
    if (n <= 0) {
        for (int64_t i = 0; i < m && !add; i++) y[i * y0] = T(0);
        return;
    }
    if (scale == T(0)) {
        const auto some = [=, &memory](int64_t first, int64_t rows, T *out) {
            gemv(memory, rows, n, a + first * a0, a0, a1, x, x0, out, 1, false);
        };
        return unscaled(memory, m, 1, y, y0, 1, add, scale, some);
    }
    Layout la = layout(m, n, a0, a1);
    bool plain = la.trans == CblasNoTrans;
    // BLAS counts a negative increment from the far end.
    if (x0 < 0) x += (n - 1) * x0;
    shared(m, m * n, [=](int64_t i, int64_t rows) {
        T *first = y + (y0 < 0 ? i + rows - 1 : i) * y0;
        gemv_(la.trans, int(plain ? rows : n), int(plain ? n : rows), scale, a + i * a0, la.lead, x, int(x0),
              T(add ? 1 : 0), first, int(y0));
    });
}

// The forms with `work` in their names: the others look for NaN first, and leave everything as it is where there is one.
#define SG_LAPACK_OF(T, letter, by) \
    inline int getrf_(int n, T *a, int lda, int *p) { \
        return LAPACKE_##letter##getrf_work(LAPACK_COL_MAJOR, n, n, a, lda, p); \
    } \
    inline void getrs_(char t, int n, int r, const T *a, int lda, const int *p, T *b, int ldb) { \
        LAPACKE_##letter##getrs_work(LAPACK_COL_MAJOR, t, n, r, a, lda, p, b, ldb); \
    } \
    inline int getri_(int n, T *a, int lda, const int *p, T *work, int size) { \
        return LAPACKE_##letter##getri_work(LAPACK_COL_MAJOR, n, a, lda, p, work, size); \
    } \
    inline int potrf_(int n, T *a, int lda) { return LAPACKE_##letter##potrf_work(LAPACK_COL_MAJOR, 'U', n, a, lda); }
SG_EACH_TYPE(SG_LAPACK_OF)

// Where factors have a pivot of zero, nothing is solved with them. With NaN or infinity in it a matrix counts as none that
// is singular: BLAS factorises the transpose, which may meet such a pivot where NumPy meets none.
template <class T> inline void all_pivots(int64_t n, const T *a, int64_t lead) {
    bool pivots = true, finite = true;
    for (int64_t i = 0; i < n; i++) pivots &= a[i * lead + i] != T(0);
    for (int64_t i = 0; i < n && !pivots; i++)
        for (int64_t j = 0; j < n; j++) finite &= std::isfinite(std::abs(a[i * lead + j]));
    if (!pivots && finite) throw Singular{};
}
// In place on row-major `a` (n, n) with rows `lead` apart, overwritten by its factors: BLAS sees the transpose. A singular
// matrix has factors, too, and a determinant.
template <class T> inline void getrf(int64_t n, T *a, int64_t lead, int32_t *pivots) {
    if (n <= 0) return;
    BlasThreads pool(factor_threads(n));
    getrf_(int(n), a, int(std::max(lead, n)), pivots);
}
// `b` holds right-hand sides as rows, `count` of them, and receives the solutions of a system, or of the transposed one.
template <class T>
inline void getrs(int64_t n, int64_t count, const T *a, int64_t lead, const int32_t *pivots, T *b, int64_t b_lead,
                  bool transposed) {
    if (n <= 0 || count <= 0) return;
    all_pivots(n, a, std::max(lead, n));
    shared(count, n * n * count, [=](int64_t first, int64_t rows) {
        getrs_(transposed ? 'N' : 'T', int(n), int(rows), a, int(std::max(lead, n)), pivots, b + first * b_lead,
               int(std::max(b_lead, n)));
    });
}
template <class T> inline void getri(Memory &memory, int64_t n, T *a, int64_t lead, int32_t *pivots) {
    if (n <= 0) return;
    BlasThreads pool(factor_threads(n));
    const int rows = int(std::max(lead, n));
    if (getrf_(int(n), a, rows, pivots) != 0) {
        all_pivots(n, a, rows);
        for (int64_t i = 0; i < n; i++) std::fill_n(a + i * rows, n, T(std::numeric_limits<double>::quiet_NaN()));
        return;
    }
    T best;  // with size -1 the routine says what it would like
    getri_(int(n), a, rows, pivots, &best, -1);
    const int64_t size = std::max(n, int64_t(std::real(best)));
    Workspace<T> work(memory, size);
    getri_(int(n), a, rows, pivots, work.data(), int(size));
}
// Lower factor in place, where there is one; the strict upper triangle stays as it is.
template <class T> inline bool definite(int64_t n, T *a, int64_t lead) {
    BlasThreads pool(factor_threads(n));
    return n <= 0 || potrf_(int(n), a, int(std::max(lead, n))) == 0;
}
template <class T> inline void potrf(int64_t n, T *a, int64_t lead) {
    if (!definite(n, a, lead)) throw Singular{};
}
// How many rows are zero, from the last one back or from the first one on.
template <class T> inline int64_t zero_rows(int64_t m, int64_t n, const T *x, int64_t lead, bool back) {
    for (int64_t count = 0; count < m; count++) {
        const T *row = x + (back ? m - 1 - count : count) * lead;
        for (int64_t j = 0; j < n; j++)
            if (row[j] != T(0)) return count;
    }
    return m;
}
// Whether solutions are zero where right-hand sides begin with zeros: the triangle is finite and nowhere divides by zero.
template <class T> inline bool keeps_zeros(int64_t n, const T *t, int64_t lead, bool lower, bool unit) {
    const int64_t own = unit ? 0 : 1;
    for (int64_t i = 0; i < n; i++) {
        const T *row = t + i * lead;
        const int64_t first = lower ? 0 : i + 1 - own, end = lower ? i + own : n;
        double sum = 0;  // NaN as soon as one of them is not finite
#pragma omp simd reduction(+ : sum)
        for (int64_t j = first; j < end; j++)
            if constexpr (is_complex<T>)
                sum += row[j].real() * 0 + row[j].imag() * 0;
            else
                sum += row[j] * 0;
        if (sum != 0 || (!unit && row[i] == T(0))) return false;
    }
    return true;
}
// So many columns of right-hand sides are solved together where some begin with zeros, as those of a triangle do; fewer
// columns in all do not pay for a look at the matrix.
constexpr int64_t kFewSolved = 32, kManySolved = 256;

// x (m, n) = t^-1 x, in place, reading one triangle of t. What begins with zeros is solved from there on.
template <class T>
inline void trsm(int64_t m, int64_t n, const T *t, int64_t t0, int64_t t1, bool lower, bool unit, T *x, int64_t x_lead) {
    if (m <= 0 || n <= 0) return;
    Layout lt = layout(m, m, t0, t1);
    const bool stored_lower = lower == (lt.trans == CblasNoTrans);
    const int lead = int(std::max(x_lead, n));
    const auto solve = [=](int64_t skipped, int64_t j, int64_t columns) {
        const int64_t first = lower ? skipped : 0;
        trsm_(stored_lower ? CblasLower : CblasUpper, lt.trans, unit ? CblasUnit : CblasNonUnit, int(m - skipped),
              int(columns), t + first * (t0 + t1), lt.lead, x + first * x_lead + j, lead);
    };
    const int64_t width = std::clamp(n / 8, kFewSolved, kManySolved);
    const auto zeros = [=](int64_t j) { return zero_rows(m, std::min(width, n - j), x + j, x_lead, !lower); };
    int64_t found = 0;
    for (int64_t j = 0; j < n && n >= kFewSolved; j += width) found += zeros(j) * std::min(width, n - j);
    if (8 * found < m * n || !keeps_zeros(m, t, lt.lead, stored_lower, unit))
        return shared(n, m * m * n, [=](int64_t j, int64_t columns) { solve(0, j, columns); });
#pragma omp parallel for schedule(dynamic, 1) if (m * m * n >= kSharedProduct)
    for (int64_t j = 0; j < n; j += width) {
        const int64_t skipped = zeros(j);
        if (skipped < m) solve(skipped, j, std::min(width, n - j));
    }
}

// x (rows, n) = x t^-1, in place, with t lower.
inline void rows_over(int rows, int n, const double *t, int t_lead, double *x, int x_lead) {
    cblas_dtrsm(CblasRowMajor, CblasRight, CblasLower, CblasNoTrans, CblasNonUnit, rows, n, 1.0, t, t_lead, x, x_lead);
}
inline void rows_over(int rows, int n, const float *t, int t_lead, float *x, int x_lead) {
    cblas_strsm(CblasRowMajor, CblasRight, CblasLower, CblasNoTrans, CblasNonUnit, rows, n, 1.0f, t, t_lead, x, x_lead);
}

// Of a Cholesky factor l: its cotangent x, lower as it is, becomes that of the matrix, in place. Row by row from the last.
template <class T> inline void potrf_adjoint_rows(int64_t n, const T *l, int64_t l_lead, T *x, int64_t x_lead) {
    for (int64_t k = n - 1; k >= 0; k--) {
        const T *lk = l + k * l_lead, pivot = lk[k];
        T *xk = x + k * x_lead, sum = T(0);
        for (int64_t i = k + 1; i < n; i++) {
            T &here = x[i * x_lead + k];
            here /= pivot;
            sum += l[i * l_lead + k] * here;
        }
        xk[k] = (xk[k] - sum) / pivot;
        for (int64_t j = 0; j < k; j++) xk[j] -= xk[k] * lk[j];
        for (int64_t i = k + 1; i < n; i++) {
            const T *li = l + i * l_lead, here = x[i * x_lead + k];
            T *xi = x + i * x_lead;
            for (int64_t j = 0; j < k; j++) {
                xk[j] -= here * li[j];
                xi[j] -= here * lk[j];
            }
        }
        xk[k] /= 2;
    }
}

// The same by blocks of rows, in matrix products (I. Murray, "Differentiation of the Cholesky decomposition", 2016): the
// arithmetic of two factorisations, where solving with the factor from both sides costs six and the products one more.
constexpr int64_t kFewFactored = 32, kManyFactored = 128;
template <class T>
inline void potrf_adjoint(Memory &memory, int64_t n, const T *l, int64_t l_lead, T *x, int64_t x_lead) {
    if (n <= kFewFactored) return potrf_adjoint_rows(n, l, l_lead, x, x_lead);
    const int64_t width = n <= 2 * kManyFactored ? kFewFactored : kManyFactored;
    Workspace<T> own(memory, width * width);
    T *sum = own.data();
    for (int64_t first = (n - 1) / width * width; first >= 0; first -= width) {
        const int64_t end = std::min(first + width, n), size = end - first, below = n - end;
        const T *l_rows = l + first * l_lead, *l_below = l + end * l_lead, *l_own = l_rows + first;
        T *x_rows = x + first * x_lead, *x_below = x + end * x_lead, *x_own = x_rows + first;
        shared(below, below * size * size, [=](int64_t i, int64_t rows) {
            rows_over(int(rows), int(size), l_own, int(l_lead), x_below + i * x_lead + first, int(x_lead));
        });
        gemm(memory, below, first, size, x_below + first, x_lead, 1, l_rows, l_lead, 1, x_below, x_lead, 1, true, T(-1));
        gemm(memory, size, size, below, x_below + first, 1, x_lead, l_below + first, l_lead, 1, sum, size, 1, false);
        for (int64_t i = 0; i < size; i++)
            for (int64_t j = 0; j <= i; j++) x_own[i * x_lead + j] -= sum[i * size + j];
        potrf_adjoint(memory, size, l_own, l_lead, x_own, x_lead);
        gemm(memory, size, first, below, x_below + first, 1, x_lead, l_below, l_lead, 1, x_rows, x_lead, 1, true, T(-1));
        for (int64_t i = 0; i < size; i++)
            for (int64_t j = 0; j <= i; j++) {
                sum[i * size + j] = x_own[i * x_lead + j] * (i == j ? 2 : 1);
                sum[j * size + i] = sum[i * size + j];
            }
        gemm(memory, size, first, size, sum, size, 1, l_rows, l_lead, 1, x_rows, x_lead, 1, true, T(-1));
    }
}

}  // namespace sg
