// Functions of single numbers that generated code calls, with NumPy's meaning, and what a program may throw. Good by
// itself: the text of this file is pasted into graphs that leave this package. With SG_REAL there are no complex
// numbers; with SG_DEVICE they are those of `sdfgad_complex.h`.
#ifndef SDFGAD_SCALARS_H
#define SDFGAD_SCALARS_H
#include <algorithm>
#include <bit>
#include <cmath>
#if !defined(SG_REAL) && !defined(SG_DEVICE)
// The header of complex numbers includes that of string streams for two operators which nobody calls here, and g++ 12
// makes some 400 functions of strings anew for every program. What the two need to be read is declared instead.
#if defined(_GLIBCXX_RELEASE) && _GLIBCXX_RELEASE == 12 && !defined(_GLIBCXX_SSTREAM) && !defined(_GLIBCXX_COMPLEX)
#include <iosfwd>
namespace std { struct sg_ios_base { enum { failbit }; }; }
#define _GLIBCXX_SSTREAM 1
#define ios_base sg_ios_base
#include <complex>
#undef ios_base
#undef _GLIBCXX_SSTREAM
#else
#include <complex>
#endif
#endif
#include <cstdint>
#include <limits>
#include <type_traits>
#include <utility>

// Graphics processors have functions of their own.
#if defined(__CUDACC__)
#define SG_FN __host__ __device__ inline
#else
#define SG_FN inline
#endif

// A branch must stay a branch: gcc 12 vectorises loads under a condition wrongly (docs/decisions/0004).
#if defined(__CUDA_ARCH__)
#define SG_BRANCH ((void)0)
#else
#define SG_BRANCH asm volatile("")
#endif

#if defined(SG_DEVICE)
#include "sdfgad_complex.h"
#else
namespace sg {
namespace of_complex = std;
#if !defined(SG_REAL)
template <class T> using Complex = std::complex<T>;
#endif
}  // namespace sg
#endif

#if !defined(SG_REAL)
// NumPy's order of complex numbers, of which C++ has none: by real parts, equal ones by imaginary parts; false where
// one is not a number. The operators belong to no namespace, as generated code does.
template <class R> SG_FN bool operator<(const sg::Complex<R> &a, const sg::Complex<R> &b) {
    return ((a.real() < b.real()) & (a.imag() == a.imag()) & (b.imag() == b.imag())) |
           ((a.real() == b.real()) & (a.imag() < b.imag()));
}
template <class R> SG_FN bool operator<=(const sg::Complex<R> &a, const sg::Complex<R> &b) {
    return ((a.real() < b.real()) & (a.imag() == a.imag()) & (b.imag() == b.imag())) |
           ((a.real() == b.real()) & (a.imag() <= b.imag()));
}
template <class R> SG_FN bool operator>(const sg::Complex<R> &a, const sg::Complex<R> &b) { return b < a; }
template <class R> SG_FN bool operator>=(const sg::Complex<R> &a, const sg::Complex<R> &b) { return b <= a; }
#endif

namespace sg {

template <class T> inline constexpr bool is_complex = false;
#if !defined(SG_REAL)
template <class T> inline constexpr bool is_complex<Complex<T>> = true;
#endif

// c ? a : b without a branch, so that loops vectorise; a value that is not picked may be anything.
template <class T> SG_FN T pick(bool c, T a, T b) {
    if constexpr (std::is_same_v<T, double>) {
        const int64_t mask = -int64_t(c);
        return std::bit_cast<double>((std::bit_cast<int64_t>(a) & mask) | (std::bit_cast<int64_t>(b) & ~mask));
    } else if constexpr (std::is_same_v<T, float>) {
        const int32_t mask = -int32_t(c);
        return std::bit_cast<float>((std::bit_cast<int32_t>(a) & mask) | (std::bit_cast<int32_t>(b) & ~mask));
    } else if constexpr (is_complex<T>) {
        using R = typename T::value_type;
        return T(pick<R>(c, a.real(), b.real()), pick<R>(c, a.imag(), b.imag()));
    } else if constexpr (std::is_same_v<T, bool>) {
        return bool((c & a) | (!c & b));
    } else {
        const T mask = T(-T(c));
        return T((a & mask) | (b & T(~mask)));
    }
}

// Whether the bits of a number under a mask are these. Of `(number & 1) != 0` gcc makes a truth that is no comparison, and
// vectors have truths of comparisons alone.
template <class T, T mask, T bits> SG_FN bool has_bits(T number) {
    if constexpr (bits == mask) return T(number | ~mask) == T(-1);
    else if constexpr (bits == 0 && (mask & (mask - 1)) == 0) return !has_bits<T, mask, mask>(number);
    else return T(number & mask) == bits;
}

// N neighbouring numbers in one vector; a single number is itself.
template <class T, int N> struct LanesOf { typedef T type __attribute__((vector_size(N * sizeof(T)))); };
template <class T> struct LanesOf<T, 1> { using type = T; };
template <class T, int N> using Lanes = typename LanesOf<T, N>::type;

// Numbers of the user's, and vectors of them: integers wrap around, as NumPy's do, which C++ says of unsigned ones
// alone. Subscripts never leave the range, and are quicker where the compiler may count on that: no flag for all.
template <class V> SG_FN auto unsigned_bits(V v) {
    if constexpr (std::is_arithmetic_v<V>) return static_cast<std::make_unsigned_t<decltype(v + 0)>>(v);
    else {
        using T = std::remove_cvref_t<decltype(v[0])>;
        return (Lanes<std::make_unsigned_t<T>, sizeof(V) / sizeof(T)>)v;
    }
}
template <class V> constexpr bool counts() {
    if constexpr (std::is_arithmetic_v<V>) return std::is_integral_v<V> && !std::is_same_v<V, bool>;
    else if constexpr (is_complex<V>) return false;
    else return std::is_integral_v<std::remove_cvref_t<decltype(std::declval<V>()[0])>>;
}
template <class A, class B> SG_FN auto plus(A a, B b) {
    if constexpr (counts<A>()) return (decltype(a + b))(unsigned_bits(a) + unsigned_bits(b));
    else return a + b;
}
template <class A, class B> SG_FN auto minus(A a, B b) {
    if constexpr (counts<A>()) return (decltype(a - b))(unsigned_bits(a) - unsigned_bits(b));
    else return a - b;
}
template <class A, class B> SG_FN auto times(A a, B b) {
    if constexpr (counts<A>()) return (decltype(a * b))(unsigned_bits(a) * unsigned_bits(b));
    else return a * b;
}
template <class A> SG_FN auto negative(A a) {
    if constexpr (counts<A>()) return (decltype(-a))(-unsigned_bits(a));
    else return -a;
}

SG_FN int64_t least(int64_t a, int64_t b) { return a < b ? a : b; }
SG_FN int64_t greatest(int64_t a, int64_t b) { return a > b ? a : b; }

// Division and remainder round down; by zero gives 0 for integers, as NumPy does.
template <class T> SG_FN T floordiv(T a, T b) {
    if constexpr (std::is_floating_point_v<T>) {
        if (b == 0) return a / b;
        T rest = std::fmod(a, b);
        T quotient = (a - rest) / b;
        if (rest != 0 && (b < 0) != (rest < 0)) quotient -= 1;
        if (quotient == 0) return std::copysign(T(0), a / b);
        T down = std::floor(quotient);
        return quotient - down > T(0.5) ? down + 1 : down;
    } else {
        if (b == 0) return 0;
        if constexpr (std::is_signed_v<T>) {
            if (b == T(-1)) return T(0 - std::make_unsigned_t<T>(a));
            T q = T(a / b);
            return (a % b != 0 && (a < 0) != (b < 0)) ? T(q - 1) : q;
        } else return T(a / b);
    }
}
template <class T> SG_FN T mod(T a, T b) {
    if constexpr (std::is_floating_point_v<T>) {
        T rest = std::fmod(a, b);
        if (b == 0) return rest;
        if (rest == 0) return std::copysign(T(0), b);
        return (b < 0) != (rest < 0) ? rest + b : rest;
    } else {
        if (b == 0) return 0;
        if constexpr (std::is_signed_v<T>) {
            if (b == T(-1)) return 0;
            T r = T(a % b);
            return (r != 0 && (r < 0) != (b < 0)) ? T(r + b) : r;
        } else return T(a % b);
    }
}
// Python's round(x, digits): the decimal next to x, the even one of two. Where the product looks like a half, what it
// lost decides, which a fused operation tells exactly.
SG_FN double decimal(double x, double digits) {
  double scale = 1;
  for (int k = 0; k < std::abs(int(digits)); ++k) scale *= 10;
  const double near = digits < 0 ? x / scale : x * scale;
  if (!(std::abs(near) < 9007199254740992.0)) return x;
  const double half = std::floor(near) + 0.5;
  double whole = std::rint(near);
  if (near == half) {
    const double rest = digits < 0 ? std::fma(-half, scale, x) : std::fma(x, scale, -half);
    if (rest != 0) whole = rest > 0 ? half + 0.5 : half - 0.5;
  }
  return std::copysign(digits < 0 ? whole * scale : whole / scale, x);
}

// mod for indices: nearly all are in range, and a remainder costs more than to see that.
SG_FN int64_t wrap(int64_t a, int64_t b) { return uint64_t(a) < uint64_t(b) && b > 0 ? a : mod(a, b); }

// The same where data decide the index, which Python looks at: one that leaves its array is noted, and ends the call.
#if defined(__CUDACC__) || defined(SG_DEVICE)
SG_FN int64_t place(int64_t a, int64_t b) { return wrap(a, b); }
inline bool has_strayed() { return false; }
#else
struct Strayed {
    int64_t index = 0, extent = 0;  // 0: none has left its array
};
struct Looking : Strayed {
    int64_t calls = 0;  // that are running: all of them have this note, which is blank before the first one
    bool busy = false;
};
[[gnu::visibility("hidden")]] inline Looking strayed;
[[gnu::visibility("hidden")]] inline thread_local Strayed told;  // what the last call of this thread has found
// Said to be constant, though it leaves a note: whoever looks need not think that memory changes.
[[gnu::cold, gnu::noinline, gnu::const]] inline int64_t stray(int64_t a, int64_t b) {
    if (a < -b || a >= b) {
        __atomic_store_n(&strayed.index, a, __ATOMIC_RELAXED);
        __atomic_store_n(&strayed.extent, b, __ATOMIC_RELAXED);
    }
    return b > 0 ? mod(a, b) : 0;
}
SG_FN int64_t place(int64_t a, int64_t b) { return uint64_t(a) < uint64_t(b) && b > 0 ? a : stray(a, b); }
inline bool has_strayed() { return __atomic_load_n(&strayed.extent, __ATOMIC_RELAXED) != 0; }
inline void look_on(int64_t more) {
    while (__atomic_test_and_set(&strayed.busy, __ATOMIC_ACQUIRE)) {}
    if (strayed.calls == 0) __atomic_store_n(&strayed.extent, 0, __ATOMIC_RELAXED);
    strayed.calls += more;
    told = {__atomic_load_n(&strayed.index, __ATOMIC_RELAXED), __atomic_load_n(&strayed.extent, __ATOMIC_RELAXED)};
    __atomic_clear(&strayed.busy, __ATOMIC_RELEASE);
}
inline void begin_looking() { look_on(1); }
// Whether an index has left its array in this call, or in another one that ran meanwhile.
inline bool end_looking() {
    look_on(-1);
    return told.extent != 0;
}
#endif

// Plain complex product as NumPy, without C++'s recovery of infinities; division scaled by the larger part.
template <class T> SG_FN T mul(T a, T b) { return T(times(a, b)); }
template <class T> SG_FN T div(T a, T b) { return a / b; }
#if !defined(SG_REAL)
template <class T> SG_FN Complex<T> mul(Complex<T> a, Complex<T> b) {
    return {a.real() * b.real() - a.imag() * b.imag(), a.real() * b.imag() + a.imag() * b.real()};
}
template <class T> SG_FN Complex<T> div(Complex<T> a, Complex<T> b) {
    const bool wide = std::abs(b.real()) >= std::abs(b.imag()), none = (b.real() == 0) & (b.imag() == 0);
    const T large = pick<T>(wide, b.real(), b.imag()), small = pick<T>(wide, b.imag(), b.real());
    const T ratio = small / large, x = a.real(), y = a.imag();
    const T scale = pick<T>(none, std::numeric_limits<T>::infinity(), T(1) / (large + small * ratio));
    const T across = pick<T>(none, T(0), pick<T>(wide, y, x) * ratio), up = pick<T>(none, T(0), pick<T>(wide, -x, y) * ratio);
    return {(pick<T>(wide, x, y) + across) * scale, (pick<T>(wide, y, -x) + up) * scale};
}
template <class T> SG_FN Complex<T> div(Complex<T> a, T b) {
    const T scale = pick<T>(b == 0, std::numeric_limits<T>::infinity(), T(1) / b);
    const T ratio = std::copysign(T(0), b), across = pick<T>(b == 0, T(0), a.imag() * ratio);
    return {(a.real() + across) * scale, (a.imag() - pick<T>(b == 0, T(0), a.real() * ratio)) * scale};
}
#endif

template <int N, class T> SG_FN T power(T x) {
    if constexpr (N < 0) return div(T(1), power<-N>(x));
    else if constexpr (N == 0) return T(1);
    else if constexpr (N == 1) return x;
    else if constexpr (N % 2 == 0) { T h = power<N / 2>(x); return T(mul(h, h)); }
    else return T(mul(x, power<N - 1>(x)));
}
// x to the power of N / 2 for an odd N: a root and products, where `pow` takes tens of times as long. Zeros of both signs
// and infinities give what they give there.
template <int N, class T> SG_FN T half_power(T x) {
    if constexpr (N == -1) return T(1) / half_power<1>(x);
    else if constexpr (N < 0) return half_power<-N>(T(1) / x);  // in this order results may be below the normal range
    else {
        constexpr T most = std::numeric_limits<T>::infinity();
        const T base = x + T(0);
        return pick<T>(x == -most, most, power<N / 2>(base) * std::sqrt(base));
    }
}
template <class T> SG_FN T pow(T x, T y) {
    if constexpr (std::is_integral_v<T>) {
        uint64_t r = 1, b = uint64_t(x);
        for (; y > 0; y = T(y >> 1)) { if (y & 1) r *= b; b *= b; }
        return T(r);
    } else if constexpr (is_complex<T>) {
        if (y == T(0)) return T(1);
        if (x == T(0)) return y.real() > 0 && y.imag() == 0 ? T(0) : of_complex::pow(x, y);
        return of_complex::pow(x, y);
    } else return std::pow(x, y);
}

// Of equal complex numbers the first one; what is not a number wins, or in fmax and fmin the other one does.
template <class T> SG_FN T maximum(T a, T b) {
    if constexpr (std::is_floating_point_v<T>) return pick<T>((a > b) | (a != a), a, b);
    else if constexpr (is_complex<T>) return pick<T>((a >= b) | (a != a), a, b);
    else return a > b ? a : b;
}
template <class T> SG_FN T minimum(T a, T b) {
    if constexpr (std::is_floating_point_v<T>) return pick<T>((a < b) | (a != a), a, b);
    else if constexpr (is_complex<T>) return pick<T>((a <= b) | (a != a), a, b);
    else return a < b ? a : b;
}
template <class T> SG_FN T fmax(T a, T b) {
    if constexpr (std::is_floating_point_v<T>) return std::fmax(a, b);
    else if constexpr (is_complex<T>) return pick<T>((a >= b) | (b != b), a, b);
    else return a > b ? a : b;
}
template <class T> SG_FN T fmin(T a, T b) {
    if constexpr (std::is_floating_point_v<T>) return std::fmin(a, b);
    else if constexpr (is_complex<T>) return pick<T>((a <= b) | (b != b), a, b);
    else return a < b ? a : b;
}
// x * x + y with the same bits wherever it stands: nothing is left for the compiler to contract or not.
template <class T> SG_FN T square_plus(T x, T y) {
#if defined(__FP_FAST_FMA) && defined(__FP_FAST_FMAF)
    return std::fma(x, x, y);
#else
    return x * x + y;
#endif
}
// The length of (x, y) without branches, so that loops vectorise: within 1 ulp, no overflow or underflow on the way.
SG_FN double modulus(double x, double y) {
    constexpr double inf = std::numeric_limits<double>::infinity();
    x = std::abs(x), y = std::abs(y);
    const double larger = pick<double>(x > y, x, y);
    const bool big = larger > 0x1p500, small = larger < 0x1p-500;
    const double scale = pick<double>(big, 0x1p-600, pick<double>(small, 0x1p600, 1.0));
    const double back = pick<double>(big, 0x1p600, pick<double>(small, 0x1p-600, 1.0));
    const double a = x * scale, b = y * scale;
    return pick<double>((x == inf) | (y == inf), inf, std::sqrt(square_plus(a, b * b)) * back);
}
SG_FN float modulus(float x, float y) {
    constexpr float inf = std::numeric_limits<float>::infinity();
    const double a = x, b = y;  // squares and their sum stay in range
    return pick<float>((std::abs(x) == inf) | (std::abs(y) == inf), inf, float(std::sqrt(square_plus(a, b * b))));
}
template <class T> SG_FN auto abs(T x) {
    if constexpr (is_complex<T>) return modulus(x.real(), x.imag());
    else if constexpr (std::is_floating_point_v<T>) return std::abs(x);
    else if constexpr (std::is_signed_v<T>) return T(x < 0 ? 0 - std::make_unsigned_t<T>(x) : x);
    else return x;
}
template <class T> SG_FN T sign(T x) {
    if constexpr (is_complex<T>) return x == T(0) ? T(0) : T(x / abs(x));
    else if constexpr (std::is_floating_point_v<T>) return pick<T>(x != x, x, pick<T>(x > 0, T(1), pick<T>(x < 0, T(-1), T(0))));
    else if constexpr (std::is_signed_v<T>) return T((x > 0) - (x < 0));
    else return T(x > 0);
}
template <class T> SG_FN bool isnan(T x) {
    if constexpr (is_complex<T>) return std::isnan(x.real()) || std::isnan(x.imag());
    else if constexpr (std::is_floating_point_v<T>) return std::isnan(x);
    else return false;
}
// Whether x comes before y where values are sorted. NaN comes last; of complex numbers, which are in the order of their
// real parts, equal ones in that of their imaginary parts, what has a part that is NaN, and last such real parts.
template <class T> SG_FN bool comes_before(T x, T y) {
    if constexpr (is_complex<T>) {
        const bool xr = std::isnan(x.real()), yr = std::isnan(y.real());
        const bool xi = std::isnan(x.imag()), yi = std::isnan(y.imag());
        if (xr != yr) return yr;
        if (xi != yi) return yi;
        if (!xr && x.real() != y.real()) return x.real() < y.real();
        return x.imag() < y.imag();
    } else if constexpr (std::is_floating_point_v<T>) return x < y || (y != y && x == x);
    else return x < y;
}
template <class T> SG_FN bool isinf(T x) {
    if constexpr (is_complex<T>) return std::isinf(x.real()) || std::isinf(x.imag());
    else if constexpr (std::is_floating_point_v<T>) return std::isinf(x);
    else return false;
}
template <class T> SG_FN bool isfinite(T x) {
    if constexpr (is_complex<T>) return std::isfinite(x.real()) && std::isfinite(x.imag());
    else if constexpr (std::is_floating_point_v<T>) return std::isfinite(x);
    else return true;
}
template <class T> SG_FN auto real(T x) { if constexpr (is_complex<T>) return x.real(); else return x; }
template <class T> SG_FN auto imag(T x) { if constexpr (is_complex<T>) return x.imag(); else return T(0); }
template <class T> SG_FN T conj(T x) { if constexpr (is_complex<T>) return T(x.real(), -x.imag()); else return x; }

template <class T> SG_FN T exp2(T x) {
    if constexpr (is_complex<T>) return exp(x * std::log(typename T::value_type(2)));
    else return std::exp2(x);
}
template <class T> SG_FN T log2(T x) {
    if constexpr (is_complex<T>) return log(x) / std::log(typename T::value_type(2));
    else return std::log2(x);
}
template <class T> SG_FN T expm1(T x) {
    if constexpr (is_complex<T>) {
        auto half = std::sin(x.imag() / 2);
        return {std::expm1(x.real()) * std::cos(x.imag()) - 2 * half * half, std::exp(x.real()) * std::sin(x.imag())};
    } else return std::expm1(x);
}
template <class T> SG_FN T log1p(T x) {
    if constexpr (is_complex<T>) return T(std::log(std::hypot(x.real() + 1, x.imag())), std::atan2(x.imag(), x.real() + 1));
    else return std::log1p(x);
}
template <class T> SG_FN T rounded(T x, T (*f)(T)) { return f(x); }

template <class T> SG_FN T shl(T a, T n) {
    using U = std::make_unsigned_t<T>;
    return U(n) < U(8 * sizeof(T)) ? T(U(a) << U(n)) : T(0);
}
template <class T> SG_FN T shr(T a, T n) {
    using U = std::make_unsigned_t<T>;
    return U(n) < U(8 * sizeof(T)) ? T(a >> n) : T(a < 0 ? -1 : 0);
}
// Not the ones of namespace std, which are built in: the compiler makes one call of a sine and a cosine of the same
// argument, and that has no vector form.
SG_FN double sin(double x) { return ::sin(x); }
SG_FN double cos(double x) { return ::cos(x); }
SG_FN float sin(float x) { return ::sinf(x); }
SG_FN float cos(float x) { return ::cosf(x); }
#if !defined(SG_REAL)
template <class R> SG_FN Complex<R> sin(Complex<R> x) { return of_complex::sin(x); }
template <class R> SG_FN Complex<R> cos(Complex<R> x) { return of_complex::cos(x); }
// Without branches, so that loops vectorise. Infinite parts as annex G of the C standard has them.
template <class R> SG_FN Complex<R> exp(Complex<R> z) {
    constexpr R inf = std::numeric_limits<R>::infinity(), much = R(6.2351490808116168e27);  // exp(64)
    const R x = z.real(), y = z.imag();
    const bool large = x > 64;  // the whole may be too large where the result is not
    const R size = std::exp(x - pick<R>(large, R(64), R(0))), rest = pick<R>(large, much, R(1));
    const bool nowhere = !(y - y == 0), nothing = nowhere & (x == -inf);
    const R across = cos(y), up = sin(y), re = size * across * rest, im = size * up * rest;
    return {pick<R>(nothing, R(0), pick<R>(nowhere & (x == inf), inf, re)), pick<R>(y == 0, up, pick<R>(nothing, R(0), im))};
}
// Likewise. Near one the modulus has lost what its logarithm is made of: there, that of x * x + y * y - 1 + 1, and of the
// squares what products lose.
template <class R> SG_FN Complex<R> log(Complex<R> z) {
    const R x = std::abs(z.real()), y = std::abs(z.imag()), a = maximum(x, y), b = minimum(x, y);
    constexpr R most = std::numeric_limits<R>::max() / 4, least = std::numeric_limits<R>::min() * 4096;
    constexpr R up = R(1 << 24), shift = R(16.635532333438687);  // log(2**24)
    const bool large = a > most, small = a < least;
    const R scale = pick<R>(large, 1 / up, pick<R>(small, up, R(1)));
    const R size = modulus(x * scale, y * scale), far = std::log(size) + pick<R>(large, shift, pick<R>(small, -shift, R(0)));
    const R across = a * a, high = b * b, sum = (across - 1) + high, rest = high - (sum - (across - 1));
#if defined(__FP_FAST_FMA) && defined(__FP_FAST_FMAF)
    const R lost = std::fma(a, a, -across) + std::fma(b, b, -high);
#else
    const R lost = 0;
#endif
    const R near = std::log1p(sum + (rest + lost)) / 2;
    return {pick<R>((size > R(0.5)) & (size < R(2)), near, far), std::atan2(z.imag(), z.real())};
}
// The formula of W. Kahan, "Branch cuts for complex elementary functions", 1987.
template <class R> SG_FN Complex<R> sqrt(Complex<R> z) {
    const R x = std::abs(z.real()), y = std::abs(z.imag()), most = maximum(x, y);
    const bool large = most > std::numeric_limits<R>::max() / 8, small = most < std::numeric_limits<R>::min() * 16;
    const R scale = pick<R>(large, R(0.0625), pick<R>(small, R(1 << 24), R(1)));
    const R back = pick<R>(large, R(4), pick<R>(small, R(1) / (1 << 12), R(1)));
    const bool none = most == 0, all = y == std::numeric_limits<R>::infinity(), right = z.real() >= 0;
    const R root = std::sqrt((x * scale + modulus(x * scale, y * scale)) / 2), other = y * scale / (2 * root);
    const R re = pick<R>(right, root, other) * back, im = pick<R>(right, other, root) * back;
    return {pick<R>(none, R(0), pick<R>(all, y, re)), std::copysign(pick<R>(none, R(0), pick<R>(all, y, im)), z.imag())};
}
#endif

// A number without its fraction; the smallest integer for NaN and for what no integer is, as NumPy has it on x86. C++
// says nothing of these. Short integers are the low bits of long ones.
template <class To, class From> SG_FN To whole(From x) {
    if constexpr (sizeof(To) < 4) return static_cast<To>(whole<int32_t>(x));
    else if constexpr (std::is_same_v<To, uint32_t>) return static_cast<To>(whole<int64_t>(x));
    else if constexpr (std::is_same_v<To, uint64_t>) {
        constexpr From half = From(uint64_t(1) << 63);
        return x < half ? To(whole<int64_t>(x)) : To(whole<int64_t>(From(x - half))) ^ (To(1) << 63);
    } else {
        constexpr To lowest = std::numeric_limits<To>::lowest();
        // The next smaller double may still have a fraction only.
        const bool fits = (sizeof(To) < sizeof(From) ? x > From(lowest) - 1 : x >= From(lowest)) && x < -From(lowest);
        return pick<To>(fits, static_cast<To>(pick<From>(fits, x, From(0))), lowest);
    }
}
template <class To, class From> SG_FN To cast(From x) {
    if constexpr (std::is_same_v<To, From>) return x;
    else if constexpr (std::is_same_v<To, bool>) return x != From(0);
    else if constexpr (is_complex<To>) {
        using R = typename To::value_type;
        if constexpr (is_complex<From>) return To(R(x.real()), R(x.imag()));
        else return To(R(x), R(0));
    } else if constexpr (is_complex<From>) return cast<To>(x.real());
    else if constexpr (std::is_floating_point_v<From> && std::is_integral_v<To>) return whole<To>(x);
    else return static_cast<To>(x);
}

// A matrix that has no inverse or is not positive definite.
struct Singular {};

// An iteration of LAPACK's that found no end, as of numbers that are not finite.
struct Unconverged {};

// What came back from disk is not what was written: a snapshot of the array named.
struct Damaged {
    const char *what;
};

// An exception of the program's own: its number among them.
struct Failed {
    int which;
};

// The call has been interrupted, or an index has left its array: it ends here, and what it has written is of no use.
// Looks at what `sg_watch` gave.
struct Interrupted {};
[[noreturn, gnu::cold, gnu::noinline]] inline void interrupted() { throw Interrupted{}; }
inline bool stopped(const volatile int *stop) { return __builtin_expect((*stop != 0) | has_strayed(), 0); }
inline void heed(const volatile int *stop) {
    if (stopped(stop)) interrupted();
}

// A function that stays Python: it says whether it has failed.
inline void call_python(int64_t address, std::initializer_list<void *> places, int which) {
    if (reinterpret_cast<int (*)(void *const *)>(address)(places.begin())) throw Failed{which};
}

}  // namespace sg

#endif
