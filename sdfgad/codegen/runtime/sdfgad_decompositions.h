// Decompositions by LAPACK of row-major matrices with rows of unit stride. Each result is one matrix, part above part.
#pragma once
#include "sdfgad_linalg.h"

namespace sg {

template <class T> struct RealOf {
    using type = T;
};
template <class R> struct RealOf<std::complex<R>> {
    using type = R;
};
template <class T> using real_of = typename RealOf<T>::type;

// Columns that LAPACK's blocked routines work on at once: what they ask for beyond the least.
constexpr int64_t kPanel = 64;

#define SG_DECOMPOSED(T, letter, by) \
    inline int geqrf_(int m, int n, T *a, T *tau, T *work, int size) { \
        return LAPACKE_##letter##geqrf_work(LAPACK_COL_MAJOR, m, n, a, m, tau, work, size); \
    }
SG_EACH_TYPE(SG_DECOMPOSED)
#define SG_DECOMPOSED_REAL(T, letter) \
    inline int syevd_(int n, T *a, T *w, T *work, int size, T *, int, int *integers, int count) { \
        return LAPACKE_##letter##syevd_work(LAPACK_COL_MAJOR, 'V', 'L', n, a, n, w, work, size, integers, count); \
    } \
    inline int gesdd_(int m, int n, T *a, T *s, T *u, T *v, int k, T *work, int size, T *, int *integers) { \
        return LAPACKE_##letter##gesdd_work(LAPACK_COL_MAJOR, 'S', m, n, a, m, s, u, m, v, k, work, size, integers); \
    } \
    inline int orgqr_(int m, int n, T *a, const T *tau, T *work, int size) { \
        return LAPACKE_##letter##orgqr_work(LAPACK_COL_MAJOR, m, n, n, a, m, tau, work, size); \
    }
SG_DECOMPOSED_REAL(double, d) SG_DECOMPOSED_REAL(float, s)
#define SG_DECOMPOSED_COMPLEX(T, R, letter) \
    inline int syevd_(int n, T *a, R *w, T *work, int size, R *reals, int room, int *integers, int count) { \
        return LAPACKE_##letter##heevd_work(LAPACK_COL_MAJOR, 'V', 'L', n, a, n, w, work, size, reals, room, integers, \
                                            count); \
    } \
    inline int gesdd_(int m, int n, T *a, R *s, T *u, T *v, int k, T *work, int size, R *reals, int *integers) { \
        return LAPACKE_##letter##gesdd_work(LAPACK_COL_MAJOR, 'S', m, n, a, m, s, u, m, v, k, work, size, reals, \
                                            integers); \
    } \
    inline int orgqr_(int m, int n, T *a, const T *tau, T *work, int size) { \
        return LAPACKE_##letter##ungqr_work(LAPACK_COL_MAJOR, m, n, n, a, m, tau, work, size); \
    }
SG_DECOMPOSED_COMPLEX(z, double, z) SG_DECOMPOSED_COMPLEX(c, float, c)

// A matrix column by column, as LAPACK has it; `lower`: only that triangle matters.
template <class T> inline void by_columns(int64_t m, int64_t n, const T *a, int64_t lead, T *held, bool lower = false) {
    for (int64_t j = 0; j < n; j++)
        for (int64_t i = 0; i < m; i++) held[j * m + i] = lower && i < j ? T(0) : a[i * lead + j];
}
template <class T> inline bool finite(int64_t count, const T *held) {
    return std::all_of(held, held + count, [](T x) { return std::isfinite(std::abs(x)); });
}

// out (n + 1, n): eigenvectors as columns, and below them the eigenvalues in ascending order.
template <class T> inline void eigh(Memory &memory, int64_t n, const T *a, int64_t lead, T *out, int64_t out_lead) {
    if (n <= 0) return;
    BlasThreads pool(factor_threads(n));
    const int64_t size = is_complex<T> ? 2 * n + n * n : 1 + 6 * n + 2 * n * n;
    const int64_t room = is_complex<T> ? 1 + 5 * n + 2 * n * n : 1, count = 3 + 5 * n;
    Workspace<T> held(memory, n * n), work(memory, size);
    Workspace<real_of<T>> values(memory, n), reals(memory, room);
    Workspace<int32_t> integers(memory, count);
    by_columns(n, n, a, lead, held.data(), true);
    if (!finite(n * n, held.data()) || syevd_(int(n), held.data(), values.data(), work.data(), int(size), reals.data(),
                                              int(room), integers.data(), int(count)) != 0)
        throw Unconverged{};
    for (int64_t i = 0; i < n; i++)
        for (int64_t j = 0; j < n; j++) out[i * out_lead + j] = held[j * n + i];
    for (int64_t j = 0; j < n; j++) out[n * out_lead + j] = T(values[j]);
}

inline int geev_(int n, z *a, z *w, z *v, z *work, int size, double *reals) {
    return LAPACKE_zgeev_work(LAPACK_COL_MAJOR, 'N', 'V', n, a, n, w, nullptr, 1, v, n, work, size, reals);
}
inline int geev_(int n, double *a, double *re, double *im, double *v, double *work, int size) {
    return LAPACKE_dgeev_work(LAPACK_COL_MAJOR, 'N', 'V', n, a, n, re, im, nullptr, 1, v, n, work, size);
}

// The same of a matrix of real numbers: of a pair of conjugate eigenvalues LAPACK gives both parts of one vector.
template <class T> inline bool eig_of_reals(Memory &memory, int64_t n, const T *held, T *values, T *vectors) {
    using R = real_of<T>;
    const int64_t size = (kPanel + 4) * n;
    Workspace<R> a(memory, n * n), v(memory, n * n), re(memory, n), im(memory, n), work(memory, size);
    for (int64_t k = 0; k < n * n; k++) a[k] = held[k].real();
    if (geev_(int(n), a.data(), re.data(), im.data(), v.data(), work.data(), int(size)) != 0) return false;
    for (int64_t j = 0; j < n; j++) {
        const int64_t sign = im[j] > 0 ? 1 : im[j] < 0 ? -1 : 0, first = sign < 0 ? j - 1 : j;
        values[j] = T(re[j], im[j]);
        for (int64_t i = 0; i < n; i++)
            vectors[j * n + i] = T(v[first * n + i], sign == 0 ? R(0) : R(sign) * v[(first + 1) * n + i]);
    }
    return true;
}

// The inverse of a matrix; no numbers where it has none.
template <class T> inline void inverse_or_nan(int64_t n, T *a, int64_t room, T *work, int32_t *pivots) {
    if (getrf_(int(n), a, int(n), pivots) != 0 || getri_(int(n), a, int(n), pivots, work, int(room)) != 0)
        std::fill(a, a + n * n, T(std::numeric_limits<real_of<T>>::quiet_NaN()));
}

// out (2n + 1, n): eigenvectors of length one as columns, their inverse, and below them the eigenvalues, in the order of
// LAPACK. real: all elements are.
template <class T>
inline void eig(Memory &memory, int64_t n, const T *a, int64_t lead, T *out, int64_t out_lead, bool real) {
    if (n <= 0) return;
    BlasThreads pool(factor_threads(n));
    const int64_t size = (kPanel + 2) * n;
    Workspace<T> held(memory, n * n), values(memory, n), vectors(memory, n * n), work(memory, size);
    Workspace<int32_t> pivots(memory, n);
    by_columns(n, n, a, lead, held.data());
    bool found = finite(n * n, held.data());
    if (found && real) found = eig_of_reals(memory, n, held.data(), values.data(), vectors.data());
    else if (found) {
        Workspace<real_of<T>> reals(memory, 2 * n);
        found = geev_(int(n), held.data(), values.data(), vectors.data(), work.data(), int(size), reals.data()) == 0;
    }
    if (!found) throw Unconverged{};
    std::copy(vectors.data(), vectors.data() + n * n, held.data());
    inverse_or_nan(n, held.data(), size, work.data(), pivots.data());
    for (int64_t i = 0; i < n; i++)
        for (int64_t j = 0; j < n; j++) {
            out[i * out_lead + j] = vectors[j * n + i];
            out[(n + i) * out_lead + j] = held[j * n + i];
        }
    for (int64_t j = 0; j < n; j++) out[2 * n * out_lead + j] = values[j];
}

// out (m + n + 1, k): left singular vectors as columns, right ones, and the singular values; k is the smaller extent.
template <class T>
inline void svd(Memory &memory, int64_t m, int64_t n, const T *a, int64_t lead, T *out, int64_t out_lead) {
    const int64_t k = std::min(m, n), most = std::max(m, n);
    if (k <= 0) return;
    BlasThreads pool(factor_threads(k));
    const int64_t size = 4 * k * k + 7 * k + most + kPanel * (k + most);
    const int64_t room = is_complex<T> ? 7 * k * k + 5 * k + 2 * most * k : 1;
    Workspace<T> held(memory, m * n), left(memory, m * k), right(memory, k * n), work(memory, size);
    Workspace<real_of<T>> values(memory, k), reals(memory, room);
    Workspace<int32_t> integers(memory, 8 * k);
    by_columns(m, n, a, lead, held.data());
    if (!finite(m * n, held.data()) || gesdd_(int(m), int(n), held.data(), values.data(), left.data(), right.data(), int(k),
                                              work.data(), int(size), reals.data(), integers.data()) != 0)
        throw Unconverged{};
    for (int64_t l = 0; l < k; l++) {
        for (int64_t i = 0; i < m; i++) out[i * out_lead + l] = left[l * m + i];
        for (int64_t j = 0; j < n; j++) {
            if constexpr (is_complex<T>) out[(m + j) * out_lead + l] = std::conj(right[j * k + l]);
            else out[(m + j) * out_lead + l] = right[j * k + l];
        }
        out[(m + n) * out_lead + l] = T(values[l]);
    }
}

// out (m + n, n): the orthonormal factor of a matrix with no more columns than rows, and the triangular one.
template <class T>
inline void qr(Memory &memory, int64_t m, int64_t n, const T *a, int64_t lead, T *out, int64_t out_lead) {
    if (n <= 0) return;
    BlasThreads pool(factor_threads(n));
    const int64_t size = kPanel * n;
    Workspace<T> held(memory, m * n), tau(memory, n), work(memory, size);
    by_columns(m, n, a, lead, held.data());
    if (geqrf_(int(m), int(n), held.data(), tau.data(), work.data(), int(size)) != 0) throw Unconverged{};
    for (int64_t i = 0; i < n; i++)
        for (int64_t j = 0; j < n; j++) out[(m + i) * out_lead + j] = i <= j ? held[j * m + i] : T(0);
    if (orgqr_(int(m), int(n), held.data(), tau.data(), work.data(), int(size)) != 0) throw Unconverged{};
    for (int64_t i = 0; i < m; i++)
        for (int64_t j = 0; j < n; j++) out[i * out_lead + j] = held[j * m + i];
}

}  // namespace sg
