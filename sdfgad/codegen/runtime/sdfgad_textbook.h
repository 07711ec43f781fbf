// Library operations as textbooks have them, for matrices by rows: short, and of any size, not quick. Behind
// `sdfgad_scalars.h`; the text is pasted into graphs that need it. Golub and Van Loan, "Matrix computations", 4th edition.
#ifndef SDFGAD_TEXTBOOK_H
#define SDFGAD_TEXTBOOK_H
#include <cstring>
#include <numeric>
#include <vector>

namespace sg {

template <class T> struct RealPart { using type = T; };
template <class R> struct RealPart<std::complex<R>> { using type = R; };
template <class T> using real_part = typename RealPart<T>::type;

// A matrix by rows that holds its own elements.
template <class T> struct Square {
    int64_t n, m;
    std::vector<T> held;
    Square(int64_t n, int64_t m) : n(n), m(m), held(size_t(n * m), T(0)) {}
    Square(int64_t n, int64_t m, const T *a, int64_t lead) : Square(n, m) {
        for (int64_t i = 0; i < n; i++)
            for (int64_t j = 0; j < m; j++) (*this)(i, j) = a[i * lead + j];
    }
    T &operator()(int64_t i, int64_t j) { return held[size_t(i * m + j)]; }
    void put(T *out, int64_t lead) {
        for (int64_t i = 0; i < n; i++)
            for (int64_t j = 0; j < m; j++) out[i * lead + j] = (*this)(i, j);
    }
};
template <class T> inline bool all_finite(const std::vector<T> &held) {
    return std::all_of(held.begin(), held.end(), [](T x) { return isfinite(x); });
}

// Factors of a matrix whose rows change places: row k with row pivots[k]. Doolittle, with partial pivoting (3.4).
template <class T> inline void lu(int64_t n, const T *a, int64_t a_lead, T *f, int64_t lead, int32_t *pivots) {
    Square<T> held(n, n, a, a_lead);
    held.put(f, lead);
    for (int64_t k = 0; k < n; k++) {
        int64_t best = k;
        for (int64_t i = k + 1; i < n; i++)
            if (std::abs(f[i * lead + k]) > std::abs(f[best * lead + k])) best = i;
        pivots[k] = int32_t(best);
        if (f[best * lead + k] == T(0)) continue;  // singular; the column is zero from there on
        for (int64_t j = 0; j < n && best != k; j++) std::swap(f[k * lead + j], f[best * lead + j]);
        for (int64_t i = k + 1; i < n; i++) {
            const T factor = f[i * lead + k] = div(f[i * lead + k], f[k * lead + k]);
            for (int64_t j = k + 1; j < n; j++) f[i * lead + j] -= mul(factor, f[k * lead + j]);
        }
    }
}
// x = T^-1 x for one triangle of `t`, in place. by: the element of the triangle in a row and a column.
template <class T, class At>
inline void substitute(int64_t n, int64_t columns, At by, T *x, int64_t lead, bool lower, bool unit) {
    for (int64_t step = 0; step < n; step++) {
        const int64_t i = lower ? step : n - 1 - step;
        for (int64_t c = 0; c < columns; c++) {
            T sum = x[i * lead + c];
            for (int64_t j = lower ? 0 : i + 1; j < (lower ? i : n); j++) sum -= mul(by(i, j), x[j * lead + c]);
            x[i * lead + c] = unit ? sum : div(sum, by(i, i));
        }
    }
}
template <class T>
inline void move(int64_t n, int64_t columns, const T *b, int64_t b_lead, T *x, int64_t lead) {
    for (int64_t i = 0; i < n; i++)
        for (int64_t c = 0; c < columns; c++) x[i * lead + c] = b[i * b_lead + c];
}
// A x = b, or A^H x = b, by the factors of A.
template <class T>
inline void solve(int64_t n, int64_t columns, const T *f, int64_t f_lead, const int32_t *pivots, const T *b,
                  int64_t b_lead, T *x, int64_t lead, bool adjoint) {
    for (int64_t k = 0; k < n; k++)
        if (f[k * f_lead + k] == T(0)) throw Singular{};
    move(n, columns, b, b_lead, x, lead);
    const auto exchange = [&](int64_t k) {
        for (int64_t c = 0; c < columns && pivots[k] != k; c++) std::swap(x[k * lead + c], x[pivots[k] * lead + c]);
    };
    const auto plain = [&](int64_t i, int64_t j) { return f[i * f_lead + j]; };
    const auto turned = [&](int64_t i, int64_t j) { return conj(f[j * f_lead + i]); };
    if (adjoint) {
        substitute(n, columns, turned, x, lead, true, false);
        substitute(n, columns, turned, x, lead, false, true);
        for (int64_t k = n - 1; k >= 0; k--) exchange(k);
    } else {
        for (int64_t k = 0; k < n; k++) exchange(k);
        substitute(n, columns, plain, x, lead, true, true);
        substitute(n, columns, plain, x, lead, false, false);
    }
}
template <class T>
inline void trsolve(int64_t n, int64_t columns, const T *t, int64_t t_lead, const T *b, int64_t b_lead, T *x,
                    int64_t lead, bool lower, bool unit) {
    move(n, columns, b, b_lead, x, lead);
    substitute(n, columns, [&](int64_t i, int64_t j) { return t[i * t_lead + j]; }, x, lead, lower, unit);
}
template <class T> inline void inv(int64_t n, const T *a, int64_t a_lead, T *x, int64_t lead) {
    Square<T> factors(n, n), one(n, n);
    std::vector<int32_t> pivots(size_t(n), 0);
    lu(n, a, a_lead, factors.held.data(), n, pivots.data());
    for (int64_t i = 0; i < n; i++) one(i, i) = T(1);
    solve(n, n, factors.held.data(), n, pivots.data(), one.held.data(), n, x, lead, false);
}

template <class T> inline void det(int64_t n, const T *f, int64_t lead, const int32_t *pivots, T *out) {
    T product(1);
    for (int64_t k = 0; k < n; k++) product = mul(product, pivots[k] == k ? f[k * lead + k] : T(-f[k * lead + k]));
    *out = product;
}
template <class T> inline void logdet(int64_t n, const T *f, int64_t lead, const int32_t *, T *out) {
    real_part<T> sum(0);
    for (int64_t k = 0; k < n; k++) sum += std::log(std::abs(f[k * lead + k]));
    *out = T(sum);
}
template <class T> inline void detsign(int64_t n, const T *f, int64_t lead, const int32_t *pivots, T *out) {
    T product(1);
    for (int64_t k = 0; k < n; k++) {
        const T pivot = pivots[k] == k ? f[k * lead + k] : T(-f[k * lead + k]);
        product = pivot == T(0) ? T(0) : mul(product, T(pivot / std::abs(pivot)));
    }
    *out = product;
}

// The lower factor of a matrix of which the lower triangle is looked at (4.2).
template <class T> inline void cholesky(int64_t n, const T *a, int64_t a_lead, T *out, int64_t lead) {
    Square<T> l(n, n);
    for (int64_t j = 0; j < n; j++) {
        real_part<T> rest = std::real(a[j * a_lead + j]);
        for (int64_t k = 0; k < j; k++) rest -= std::norm(l(j, k));
        if (!(rest > 0)) throw Singular{};
        l(j, j) = T(std::sqrt(rest));
        for (int64_t i = j + 1; i < n; i++) {
            T sum = a[i * a_lead + j];
            for (int64_t k = 0; k < j; k++) sum -= mul(l(i, k), conj(l(j, k)));
            l(i, j) = sum / std::real(l(j, j));
        }
    }
    l.put(out, lead);
}
template <class T> inline void definite(int64_t n, const T *a, int64_t a_lead, bool *out) {
    Square<T> l(n, n);
    try {
        cholesky(n, a, a_lead, l.held.data(), n);
        *out = true;
    } catch (const Singular &) {
        *out = false;
    }
}
// L' = L phi(L^-1 S L^-T), S the symmetric matrix with the lower triangle of A'; phi halves the diagonal.
template <class T>
inline void cholesky_tangent(int64_t n, const T *l, int64_t l_lead, const T *a, int64_t a_lead, T *out, int64_t lead) {
    Square<T> s(n, n), half(n, n), done(n, n);
    const auto by = [&](int64_t i, int64_t j) { return l[i * l_lead + j]; };
    for (int64_t i = 0; i < n; i++)
        for (int64_t j = 0; j < n; j++) s(i, j) = i >= j ? a[i * a_lead + j] : a[j * a_lead + i];
    substitute(n, n, by, s.held.data(), n, true, false);
    for (int64_t i = 0; i < n; i++)
        for (int64_t j = 0; j < n; j++) half(i, j) = s(j, i);
    substitute(n, n, by, half.held.data(), n, true, false);
    for (int64_t i = 0; i < n; i++)
        for (int64_t j = 0; j <= i; j++)
            for (int64_t k = j; k <= i; k++) done(i, j) += by(i, k) * (k == j ? half(k, j) / 2 : half(k, j));
    done.put(out, lead);
}
// Back through the factorisation, row by row (Smith: Differentiation of the Cholesky algorithm, 1995).
template <class T>
inline void cholesky_adjoint(int64_t n, const T *l, int64_t l_lead, const T *b, int64_t b_lead, T *out, int64_t lead) {
    Square<T> x(n, n);
    const auto f = [&](int64_t i, int64_t j) { return l[i * l_lead + j]; };
    for (int64_t i = 0; i < n; i++)
        for (int64_t j = 0; j <= i; j++) x(i, j) = b[i * b_lead + j];
    for (int64_t k = n - 1; k >= 0; k--) {
        for (int64_t i = k + 1; i < n; i++) x(i, k) /= f(k, k);
        for (int64_t i = k + 1; i < n; i++) x(k, k) -= f(i, k) * x(i, k);
        x(k, k) /= f(k, k);
        for (int64_t j = 0; j < k; j++)
            for (int64_t i = k; i < n; i++) x(k, j) -= x(i, k) * f(i, j);
        for (int64_t i = k + 1; i < n; i++)
            for (int64_t j = 0; j < k; j++) x(i, j) -= x(i, k) * f(k, j);
        x(k, k) /= 2;
    }
    x.put(out, lead);
}

// A rotation of columns p and q that makes an inner product of theirs zero: `inner` is that product, `first` and
// `second` are their squares (8.5). A phase makes complex products real.
template <class T> struct Rotation {
    real_part<T> c = 1, s = 0;
    T phase = T(1);
    Rotation(real_part<T> first, real_part<T> second, T inner) {
        const real_part<T> size = std::abs(inner), tau = (second - first) / (2 * size);
        const real_part<T> t = (tau < 0 ? -1 : 1) / (std::abs(tau) + std::hypot(real_part<T>(1), tau));
        c = 1 / std::hypot(real_part<T>(1), t);
        s = t * c;
        phase = conj(T(inner / size));
    }
    void turn(T &p, T &q) const {
        const T other = phase * q;
        q = s * p + c * other;
        p = c * p - s * other;
    }
};
constexpr int kSweeps = 60;

// out (n + 1, n): eigenvectors as columns, and below them the eigenvalues in ascending order. Cyclic Jacobi (8.5).
template <class T> inline void eigh(int64_t n, const T *from, int64_t from_lead, T *out, int64_t lead) {
    using R = real_part<T>;
    Square<T> a(n, n), v(n, n);
    R scale = 0;
    for (int64_t i = 0; i < n; i++)
        for (int64_t j = 0; j < n; j++) {
            a(i, j) = i > j ? from[i * from_lead + j] : i < j ? conj(from[j * from_lead + i]) : T(real(from[i * from_lead + i]));
            scale = std::max(scale, std::abs(a(i, j)));
            v(i, j) = T(i == j);
        }
    if (!all_finite(a.held)) throw Unconverged{};
    const R least = scale * std::numeric_limits<R>::epsilon() / 16;
    bool busy = true;
    for (int sweep = 0; busy; sweep++) {
        if (sweep == kSweeps) throw Unconverged{};
        busy = false;
        for (int64_t p = 0; p < n; p++)
            for (int64_t q = p + 1; q < n; q++) {
                if (std::abs(a(p, q)) <= least) continue;
                busy = true;
                const Rotation<T> turn(real(a(p, p)), real(a(q, q)), a(p, q));
                for (int64_t k = 0; k < n; k++) turn.turn(a(k, p), a(k, q)), turn.turn(v(k, p), v(k, q));
                for (int64_t k = 0; k < n; k++) a(p, k) = conj(a(p, k)), a(q, k) = conj(a(q, k));
                for (int64_t k = 0; k < n; k++) turn.turn(a(p, k), a(q, k));
                for (int64_t k = 0; k < n; k++) a(p, k) = conj(a(p, k)), a(q, k) = conj(a(q, k));
                a(p, q) = a(q, p) = T(0);
            }
    }
    std::vector<int64_t> order(size_t(n), 0);
    std::iota(order.begin(), order.end(), int64_t(0));
    std::stable_sort(order.begin(), order.end(), [&](int64_t i, int64_t j) { return real(a(i, i)) < real(a(j, j)); });
    for (int64_t j = 0; j < n; j++) {
        for (int64_t i = 0; i < n; i++) out[i * lead + j] = v(i, order[size_t(j)]);
        out[n * lead + j] = T(real(a(order[size_t(j)], order[size_t(j)])));
    }
}

// Makes column j of `u` a unit vector that is orthogonal to those before it: Gram and Schmidt, twice, of unit vectors.
template <class T> inline void complete(Square<T> &u, int64_t j) {
    for (int64_t axis = 0; axis < u.n; axis++) {
        for (int64_t i = 0; i < u.n; i++) u(i, j) = T(i == axis);
        for (int64_t k = 0; k < 2 * j; k++) {
            T inner(0);
            for (int64_t i = 0; i < u.n; i++) inner += conj(u(i, k % j)) * u(i, j);
            for (int64_t i = 0; i < u.n; i++) u(i, j) -= inner * u(i, k % j);
        }
        real_part<T> square = 0;
        for (int64_t i = 0; i < u.n; i++) square += std::norm(u(i, j));
        if (square * u.n < real_part<T>(0.5)) continue;
        for (int64_t i = 0; i < u.n; i++) u(i, j) /= std::sqrt(square);
        return;
    }
}
// out (m + n + 1, k): left singular vectors as columns, right ones, and the singular values, for k columns of the taller
// one of a matrix and its adjoint. One-sided Jacobi (8.6.3).
template <class T> inline void svd(int64_t m, int64_t n, const T *from, int64_t from_lead, T *out, int64_t lead) {
    using R = real_part<T>;
    const bool turned = m < n;
    const int64_t rows = std::max(m, n), k = std::min(m, n);
    Square<T> u(rows, k), v(k, k);
    for (int64_t i = 0; i < rows; i++)
        for (int64_t j = 0; j < k; j++) u(i, j) = turned ? conj(from[j * from_lead + i]) : from[i * from_lead + j];
    if (!all_finite(u.held)) throw Unconverged{};
    R scale = 0;
    for (const T &x : u.held) scale = std::max(scale, std::abs(x));
    if (scale == 0) scale = 1;
    for (T &x : u.held) x /= scale;
    for (int64_t j = 0; j < k; j++) v(j, j) = T(1);
    bool busy = true;
    for (int sweep = 0; busy; sweep++) {
        if (sweep == kSweeps) throw Unconverged{};
        busy = false;
        for (int64_t p = 0; p < k; p++)
            for (int64_t q = p + 1; q < k; q++) {
                R first = 0, second = 0;
                T inner(0);
                for (int64_t i = 0; i < rows; i++) {
                    first += std::norm(u(i, p)), second += std::norm(u(i, q));
                    inner += conj(u(i, p)) * u(i, q);
                }
                if (!(std::abs(inner) > 4 * std::numeric_limits<R>::epsilon() * std::sqrt(first) * std::sqrt(second)) ||
                    std::abs(inner) < std::numeric_limits<R>::min())
                    continue;
                busy = true;
                const Rotation<T> turn(first, second, inner);
                for (int64_t i = 0; i < rows; i++) turn.turn(u(i, p), u(i, q));
                for (int64_t i = 0; i < k; i++) turn.turn(v(i, p), v(i, q));
            }
    }
    std::vector<R> values(size_t(k), 0);
    for (int64_t j = 0; j < k; j++) {
        R most = 0, square = 0;
        for (int64_t i = 0; i < rows; i++) most = std::max(most, std::abs(u(i, j)));
        for (int64_t i = 0; i < rows && most > 0; i++) square += std::norm(T(u(i, j) / most));
        values[size_t(j)] = most * std::sqrt(square);
    }
    std::vector<int64_t> order(size_t(k), 0);
    std::iota(order.begin(), order.end(), int64_t(0));
    std::stable_sort(order.begin(), order.end(), [&](int64_t i, int64_t j) { return values[size_t(i)] > values[size_t(j)]; });
    Square<T> left(rows, k);
    for (int64_t j = 0; j < k; j++) {
        const int64_t at = order[size_t(j)];
        const R size = values[size_t(at)];
        const bool gone = size <= rows * std::numeric_limits<R>::epsilon() * values[size_t(order[0])];
        for (int64_t i = 0; i < rows; i++) left(i, j) = u(i, at) / (gone ? R(1) : size);
        if (gone) complete(left, j);
        for (int64_t i = 0; i < rows; i++) out[(turned ? m + i : i) * lead + j] = left(i, j);
        for (int64_t i = 0; i < k; i++) out[(turned ? i : m + i) * lead + j] = v(i, at);
        out[(m + n) * lead + j] = T(size * scale);
    }
}
// Singular values that are at most `least` times the largest one count as zero (5.5.2).
template <class T>
inline void pinv(int64_t m, int64_t n, const T *a, int64_t a_lead, T *out, int64_t lead, real_part<T> least) {
    const int64_t k = std::min(m, n);
    Square<T> parts(m + n + 1, k);
    svd(m, n, a, a_lead, parts.held.data(), k);
    for (int64_t i = 0; i < n; i++)
        for (int64_t j = 0; j < m; j++) {
            T sum(0);
            for (int64_t l = 0; l < k; l++)
                if (real(parts(m + n, l)) > least * real(parts(m + n, 0)))
                    sum += parts(m + i, l) / real(parts(m + n, l)) * conj(parts(j, l));
            out[i * lead + j] = sum;
        }
}

// out (m + n, n): the orthonormal factor of a matrix with no more columns than rows, and the triangular one. Householder
// (5.2), with the signs that LAPACK chooses.
template <class T> inline void qr(int64_t m, int64_t n, const T *from, int64_t from_lead, T *out, int64_t lead) {
    using R = real_part<T>;
    Square<T> a(m, n, from, from_lead), q(m, n);
    std::vector<T> factor(size_t(n), T(0));
    for (int64_t k = 0; k < n; k++) {
        R below = 0;
        for (int64_t i = k + 1; i < m; i++) below = std::hypot(below, std::abs(a(i, k)));
        const T alpha = a(k, k);
        if (below == 0 && imag(alpha) == 0) continue;
        const R beta = -std::copysign(std::hypot(std::abs(alpha), below), real(alpha));
        factor[size_t(k)] = T(beta - alpha) / beta;
        for (int64_t i = k + 1; i < m; i++) a(i, k) = div(a(i, k), T(alpha - beta));
        a(k, k) = T(beta);
        for (int64_t j = k + 1; j < n; j++) {
            T inner = a(k, j);
            for (int64_t i = k + 1; i < m; i++) inner += conj(a(i, k)) * a(i, j);
            inner *= conj(factor[size_t(k)]);
            a(k, j) -= inner;
            for (int64_t i = k + 1; i < m; i++) a(i, j) -= inner * a(i, k);
        }
    }
    for (int64_t j = 0; j < n; j++) q(j, j) = T(1);
    for (int64_t k = n - 1; k >= 0; k--)
        for (int64_t j = 0; j < n; j++) {
            T inner = q(k, j);
            for (int64_t i = k + 1; i < m; i++) inner += conj(a(i, k)) * q(i, j);
            inner *= factor[size_t(k)];
            q(k, j) -= inner;
            for (int64_t i = k + 1; i < m; i++) q(i, j) -= inner * a(i, k);
        }
    q.put(out, lead);
    for (int64_t i = 0; i < n; i++)
        for (int64_t j = 0; j < n; j++) out[(m + i) * lead + j] = i <= j ? a(i, j) : T(0);
}

// Positions that sort the values, equal ones in their order, NaN last.
template <class T> inline void argsort(int64_t n, const T *values, int64_t *order) {
    std::iota(order, order + n, int64_t(0));
    std::stable_sort(order, order + n, [values](int64_t a, int64_t b) {
        return comes_before(values[a], values[b]);
    });
}

// x, n elements `step` apart, becomes its transform, by the smallest factor of n (Cooley and Tukey). turns: the powers of
// exp(-2 pi i / whole), of which every (whole / n)-th is one of this length.
template <class R>
inline std::vector<std::complex<R>> transformed(int64_t n, const std::complex<R> *x, int64_t step,
                                                const std::vector<std::complex<R>> &turns) {
    using C = std::complex<R>;
    const int64_t whole = int64_t(turns.size());
    int64_t parts = 2;
    while (parts * parts <= n && n % parts != 0) parts++;
    if (n % parts != 0) parts = n;
    const int64_t size = n > 1 ? n / parts : 1;
    std::vector<C> done(size_t(n), n == 1 ? x[0] : C(0));
    for (int64_t p = 0; p < parts && n > 1; p++) {
        const std::vector<C> part = transformed(size, x + p * step, step * parts, turns);
        for (int64_t k = 0; k < n; k++)
            done[size_t(k)] += mul(part[size_t(k % size)], turns[size_t(p * k % n * (whole / n))]);
    }
    return done;
}
// Of what comes in, or of what is asked for, there may be real parts only.
template <class X, class Y>
inline void fft(int64_t count, int64_t n, const X *x, int64_t x_lead, Y *y, int64_t lead, bool inverse, bool scaled) {
    using R = decltype(std::real(Y()));
    using C = std::complex<R>;
    const R over = scaled ? R(n) : R(1);
    std::vector<C> turns(size_t(n), C(1)), row(size_t(n), C(0));
    for (int64_t k = 0; k < n; k++) {
        const double angle = -2.0 * 3.14159265358979323846 * double(k) / double(n);
        turns[size_t(k)] = C(R(std::cos(angle)), R(std::sin(angle)));
    }
    for (int64_t r = 0; r < count && n > 0; r++) {
        for (int64_t k = 0; k < n; k++) row[size_t(k)] = inverse ? std::conj(C(x[r * x_lead + k])) : C(x[r * x_lead + k]);
        const std::vector<C> done = transformed(n, row.data(), 1, turns);
        for (int64_t k = 0; k < n; k++) {
            const C found = (inverse ? std::conj(done[size_t(k)]) : done[size_t(k)]) / over;
            if constexpr (std::is_same_v<Y, R>) y[r * lead + k] = found.real();
            else y[r * lead + k] = found;
        }
    }
}

}  // namespace sg

#endif
