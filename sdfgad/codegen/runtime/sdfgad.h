// What generated code calls beyond the C++ standard library. NumPy's meaning of every function.
#pragma once
#include <algorithm>
#include <bit>
#include <cmath>
#include <complex>
#include <cstdint>
#include <cstring>
#include <limits>
#include <numeric>
#include <unistd.h>
#include <type_traits>
#if defined(__AVX__)
#include <immintrin.h>
#endif
#include "sdfgad_memory.h"

// The C library has vector forms of these (4 ulp); without the attribute the compiler may not use them in loops.
#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__) && defined(__GLIBC__)
#define SG_VECTOR(name) \
    __attribute__((simd("notinbranch"), const)) double name(double) noexcept; \
    __attribute__((simd("notinbranch"), const)) float name##f(float) noexcept;
#define SG_VECTOR2(name) \
    __attribute__((simd("notinbranch"), const)) double name(double, double) noexcept; \
    __attribute__((simd("notinbranch"), const)) float name##f(float, float) noexcept;
extern "C" {
SG_VECTOR(exp) SG_VECTOR(log) SG_VECTOR(sin) SG_VECTOR(cos) SG_VECTOR2(pow)
#if __GLIBC_PREREQ(2, 35)
SG_VECTOR(acos) SG_VECTOR(asin) SG_VECTOR(atan) SG_VECTOR(acosh) SG_VECTOR(asinh) SG_VECTOR(atanh) SG_VECTOR(cosh)
SG_VECTOR(sinh) SG_VECTOR(tan) SG_VECTOR(tanh) SG_VECTOR(cbrt) SG_VECTOR(erf) SG_VECTOR(exp2) SG_VECTOR(expm1)
SG_VECTOR(log10) SG_VECTOR(log1p) SG_VECTOR(log2) SG_VECTOR2(atan2) SG_VECTOR2(hypot)
#endif
}
#endif

// A branch must stay a branch: gcc 12 vectorises loads under a condition wrongly (docs/decisions/0004).
#if defined(__CUDA_ARCH__)
#define SG_BRANCH ((void)0)
#else
#define SG_BRANCH asm volatile("")
#endif
// Where iterations of a loop hold loops over complex numbers, gcc 12 would make one loop of those of two iterations and
// load the parts of all numbers apart, which takes longer than two loops.
#define SG_IN_TURN SG_BRANCH

// Part of a long function, which the compiler looks at on its own.
#if defined(__clang__)
#define SG_PIECE __attribute__((noinline))
#else
#define SG_PIECE __attribute__((noinline, noclone))
#endif

namespace sg {

template <class T> inline constexpr bool is_complex = false;
template <class T> inline constexpr bool is_complex<std::complex<T>> = true;

// c ? a : b without a branch, so that loops vectorise; a value that is not picked may be anything.
template <class T> inline T pick(bool c, T a, T b) {
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

// N neighbouring numbers in one vector; a single number is itself.
template <class T, int N> struct LanesOf { typedef T type __attribute__((vector_size(N * sizeof(T)))); };
template <class T> struct LanesOf<T, 1> { using type = T; };
template <class T, int N> using Lanes = typename LanesOf<T, N>::type;

// Numbers of the user's, and vectors of them: integers wrap around, as NumPy's do, which C++ says of unsigned ones
// alone. Subscripts never leave the range, and are quicker where the compiler may count on that: no flag for all.
template <class V> inline auto unsigned_bits(V v) {
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
template <class A, class B> inline auto plus(A a, B b) {
    if constexpr (counts<A>()) return (decltype(a + b))(unsigned_bits(a) + unsigned_bits(b));
    else return a + b;
}
template <class A, class B> inline auto minus(A a, B b) {
    if constexpr (counts<A>()) return (decltype(a - b))(unsigned_bits(a) - unsigned_bits(b));
    else return a - b;
}
template <class A, class B> inline auto times(A a, B b) {
    if constexpr (counts<A>()) return (decltype(a * b))(unsigned_bits(a) * unsigned_bits(b));
    else return a * b;
}
template <class A> inline auto negative(A a) {
    if constexpr (counts<A>()) return (decltype(-a))(-unsigned_bits(a));
    else return -a;
}

inline int64_t least(int64_t a, int64_t b) { return a < b ? a : b; }
inline int64_t greatest(int64_t a, int64_t b) { return a > b ? a : b; }

// Division and remainder round down; by zero gives 0 for integers, as NumPy does.
template <class T> inline T floordiv(T a, T b) {
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
template <class T> inline T mod(T a, T b) {
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
inline double decimal(double x, double digits) {
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
inline int64_t wrap(int64_t a, int64_t b) { return uint64_t(a) < uint64_t(b) && b > 0 ? a : mod(a, b); }

// Plain complex product as NumPy, without C++'s recovery of infinities; division scaled by the larger part.
template <class T> inline T mul(T a, T b) { return T(times(a, b)); }
template <class T> inline std::complex<T> mul(std::complex<T> a, std::complex<T> b) {
    return {a.real() * b.real() - a.imag() * b.imag(), a.real() * b.imag() + a.imag() * b.real()};
}
template <class T> inline T div(T a, T b) { return a / b; }
template <class T> inline std::complex<T> div(std::complex<T> a, std::complex<T> b) {
    if (std::abs(b.real()) >= std::abs(b.imag())) {
        if (b.real() == 0 && b.imag() == 0) return {a.real() / std::abs(b.real()), a.imag() / std::abs(b.real())};
        T ratio = b.imag() / b.real(), scale = T(1) / (b.real() + b.imag() * ratio);
        return {(a.real() + a.imag() * ratio) * scale, (a.imag() - a.real() * ratio) * scale};
    }
    T ratio = b.real() / b.imag(), scale = T(1) / (b.imag() + b.real() * ratio);
    return {(a.real() * ratio + a.imag()) * scale, (a.imag() * ratio - a.real()) * scale};
}

template <int N, class T> inline Lanes<T, N> load(const T* p) {
    Lanes<T, N> v;
    std::memcpy(&v, p, sizeof v);
    return v;
}
template <int N, class T> inline void store(T* p, Lanes<T, N> v) { std::memcpy(p, &v, sizeof v); }
template <class To, class V> inline auto convert(V v) {
    if constexpr (std::is_arithmetic_v<V>) return To(v);
    else return __builtin_convertvector(v, Lanes<To, sizeof(V) / sizeof(v[0])>);
}
// Masks: a bool for one number; for several, integers of the numbers' size, all bits set or none.
template <class V> inline constexpr int lanes_of = sizeof(V) / sizeof(std::declval<V>()[0]);
template <class V> requires std::is_arithmetic_v<V> inline constexpr int lanes_of<V> = 1;
template <class T> using MaskOf = std::conditional_t<sizeof(T) == 8, int64_t, int32_t>;
template <class T, int N, class V> inline Lanes<T, N> spread(V v) {
    if constexpr (std::is_arithmetic_v<V> && N > 1) return T(v) - Lanes<T, N>{};  // 0 is what leaves -0 alone
    else return v;
}
// Two masks of as many lanes of the same size.
template <class A, class B, class F> inline auto combined(A a, B b, F f) {
    if constexpr (std::is_arithmetic_v<A> && std::is_arithmetic_v<B>) return bool(f(a, b));
    else if constexpr (std::is_arithmetic_v<A>) return f(a ? ~B{} : B{}, b);
    else if constexpr (std::is_arithmetic_v<B>) return f(a, b ? ~A{} : A{});
    else if constexpr (sizeof(A) < sizeof(B)) return f(convert<int64_t>(a), b);
    else if constexpr (sizeof(A) > sizeof(B)) return f(a, convert<int64_t>(b));
    else return f(a, b);
}
template <class A, class B> inline auto both(A a, B b) {
    return combined(a, b, [](auto x, auto y) { return x & y; });
}
template <class A, class B> inline auto either(A a, B b) {
    return combined(a, b, [](auto x, auto y) { return x | y; });
}
template <class A> inline auto negated(A a) {
    if constexpr (std::is_arithmetic_v<A>) return !a;
    else return ~a;
}
template <class T, class M> inline auto number_of(M m) {
    if constexpr (std::is_arithmetic_v<M>) return T(m);
    else return convert<T>(-m);
}
template <class T, class M, class A, class B> inline auto choose(M m, A a, B b) {
    constexpr int n = std::max({lanes_of<M>, lanes_of<A>, lanes_of<B>});
    if constexpr (std::is_arithmetic_v<M>) return m ? spread<T, n>(a) : spread<T, n>(b);
    else return convert<MaskOf<T>>(m) ? spread<T, n>(a) : spread<T, n>(b);
}
// The sum of all lanes, by halves. Without the builtin (gcc 11) the halves go through memory.
template <int First, class V, int... K> inline auto lanes_from(V v, std::integer_sequence<int, K...>) {
#if __has_builtin(__builtin_shufflevector)
    return __builtin_shufflevector(v, v, (First + K)...);
#else
    Lanes<std::remove_cvref_t<decltype(v[0])>, sizeof...(K)> part;
    std::memcpy(&part, reinterpret_cast<const char*>(&v) + First * sizeof v[0], sizeof part);
    return part;
#endif
}
template <int N, class V> inline auto total(V v) {
    if constexpr (N == 1) return v;
    else if constexpr (N == 2) return plus(v[0], v[1]);
    else {
        constexpr std::make_integer_sequence<int, N / 2> half;
        return total<N / 2>(plus(lanes_from<0>(v, half), lanes_from<N / 2>(v, half)));
    }
}
// One step of a transposition: halves of S lanes change places between two rows, those that lie across the diagonal.
#if __has_builtin(__builtin_shufflevector)
template <int S, class V, int... K> inline void swap_across(V& a, V& b, std::integer_sequence<int, K...>) {
    constexpr int n = sizeof...(K);
    V low = __builtin_shufflevector(a, b, (K & S ? n + K - S : K)...);
    b = __builtin_shufflevector(a, b, (K & S ? n + K : K + S)...);
    a = low;
}
template <int S, int N, class V> inline void swap_all_across(V (&rows)[N]) {
    if constexpr (S < N) {
        for (int r = 0; r < N; r++)
            if (!(r & S)) swap_across<S>(rows[r], rows[r + S], std::make_integer_sequence<int, N>{});
        swap_all_across<2 * S>(rows);
    }
}
#endif
// Bytes of the widest vectors that the processor turns in registers; wider ones would be taken apart in memory.
#if defined(__AVX512F__)
constexpr int WIDEST = 64;
#elif defined(__AVX__)
constexpr int WIDEST = 32;
#else
constexpr int WIDEST = 16;
#endif
// A whole line of the cache or a vector of it, past the cache. Other threads see it after `settle`.
template <int N, class T> inline void store_past(T* p, Lanes<T, N> v) {
    static_assert(sizeof v == 64 || sizeof v == WIDEST);
#if defined(__AVX512F__)
    _mm512_stream_si512(reinterpret_cast<__m512i*>(p), reinterpret_cast<__m512i>(v));
#elif defined(__AVX__)
    if constexpr (sizeof v == 32) return _mm256_stream_si256(reinterpret_cast<__m256i*>(p), reinterpret_cast<__m256i>(v));
    __m256i halves[2];
    std::memcpy(halves, &v, sizeof v);
    for (int k = 0; k < 2; k++) _mm256_stream_si256(reinterpret_cast<__m256i*>(p) + k, halves[k]);
#else
    store<N>(p, v);
#endif
}
inline void settle() {
#if defined(__AVX__)
    _mm_sfence();
#endif
}
// Wait until another thread has done so much. One that has no core gets this one after a while: to yield would not do,
// where it belongs to another group of processes.
inline void follow(const int64_t* done, int64_t enough) {
    for (int tries = 0; __atomic_load_n(done, __ATOMIC_ACQUIRE) < enough; tries++) {
        if (tries >= 4096) usleep(50);
#if defined(__AVX__)
        else _mm_pause();
#endif
    }
}
// Say to those that follow how much is done: all of it is in memory.
inline void lead(int64_t* done, int64_t count) {
    settle();
    __atomic_store_n(done, count, __ATOMIC_RELEASE);
}
// At most n elements, so that what comes behind them begins a line.
template <class T> inline int64_t whole_lines(const T* first, int64_t n) {
    return n - reinterpret_cast<uintptr_t>(first) / sizeof(T) % (64 / sizeof(T));
}
// to[0:n] = from[0:n], whole lines past the cache.
template <class T> inline void write_past(T* to, const T* from, int64_t n) {
    constexpr int lanes = 64 / sizeof(T);
    const uintptr_t place = reinterpret_cast<uintptr_t>(to);
    const int64_t ahead = place % sizeof(T) ? n : std::min<int64_t>(n, -(place / sizeof(T)) % lanes);
    int64_t k = 0;
    for (; k < ahead; k++) to[k] = from[k];
    for (; k + lanes <= n; k += lanes) store_past<lanes>(to + k, load<lanes>(from + k));
    for (; k < n; k++) to[k] = from[k];
}
template <int N, bool Past, class T> inline void turn_block(T* to, int64_t to_step, const T* from, int64_t from_step) {
#if __has_builtin(__builtin_shufflevector)
    if constexpr (N * sizeof(T) > WIDEST) {
        constexpr int half = N / 2;
        for (int r = 0; r < N; r += half)
            for (int c = 0; c < N; c += half)
                turn_block<half, Past>(to + r * to_step + c, to_step, from + c * from_step + r, from_step);
    } else {
        Lanes<T, N> rows[N];
        for (int r = 0; r < N; r++) rows[r] = load<N>(from + r * from_step);
        swap_all_across<1>(rows);
        for (int r = 0; r < N; r++)
            if constexpr (Past) store_past<N>(to + r * to_step, rows[r]);
            else store<N>(to + r * to_step, rows[r]);
    }
#else
    for (int r = 0; r < N; r++)
        for (int c = 0; c < N; c++) to[c * to_step + r] = from[r * from_step + c];
#endif
}
// to[c * to_step + r] = from[r * from_step + c] for all rows r and columns c, in square blocks of N by N.
template <int N, bool Past = false, class T>
inline void turn(T* to, int64_t to_step, const T* from, int64_t from_step, int64_t rows, int64_t columns) {
    int64_t r = 0;
    for (; r + N <= rows; r += N) {
        int64_t c = 0;
        for (; c + N <= columns; c += N)
            turn_block<N, Past>(to + c * to_step + r, to_step, from + r * from_step + c, from_step);
        for (; c < columns; c++)
            for (int64_t k = r; k < r + N; k++) to[c * to_step + k] = from[k * from_step + c];
    }
    for (; r < rows; r++)
        for (int64_t c = 0; c < columns; c++) to[c * to_step + r] = from[r * from_step + c];
}
// The same past the cache, where blocks consist of whole lines.
template <int N, class T> inline void turn_past(T* to, int64_t to_step, const T* from, int64_t from_step, int64_t rows,
                                                int64_t columns) {
    const bool whole = reinterpret_cast<uintptr_t>(to) % 64 == 0 && to_step * sizeof(T) % 64 == 0;
    if (whole) turn<N, true>(to, to_step, from, from_step, rows, columns);
    else turn<N>(to, to_step, from, from_step, rows, columns);
}
// Line n of `Rows` rows, `Lines` lines long and `step` elements apart, begins its way to the cache: of those that lie `by`
// elements after the ones at hand. It does no harm where nothing is there.
template <bool Write, int64_t Rows, int64_t Lines, class T> inline void fetch(const T* here, int64_t by, int64_t step,
                                                                              int64_t n) {
    const uint64_t k = std::min(n, Rows * Lines - 1);
    const uint64_t there = by + k / Lines * step + k % Lines * (64 / sizeof(T));
    __builtin_prefetch(reinterpret_cast<const void*>(reinterpret_cast<uintptr_t>(here) + there * sizeof(T)), Write, 2);
}

template <int N, class T> inline T power(T x) {
    if constexpr (N < 0) return div(T(1), power<-N>(x));
    else if constexpr (N == 0) return T(1);
    else if constexpr (N == 1) return x;
    else if constexpr (N % 2 == 0) { T h = power<N / 2>(x); return T(mul(h, h)); }
    else return T(mul(x, power<N - 1>(x)));
}
// x to the power of N / 2 for an odd N: a root and products, where `pow` takes tens of times as long. Zeros of both signs
// and infinities give what they give there.
template <int N, class T> inline T half_power(T x) {
    if constexpr (N == -1) return T(1) / half_power<1>(x);
    else if constexpr (N < 0) return half_power<-N>(T(1) / x);  // in this order results may be below the normal range
    else {
        constexpr T most = std::numeric_limits<T>::infinity();
        const T base = x + T(0);
        return pick<T>(x == -most, most, power<N / 2>(base) * std::sqrt(base));
    }
}
template <class T> inline T pow(T x, T y) {
    if constexpr (std::is_integral_v<T>) {
        uint64_t r = 1, b = uint64_t(x);
        for (; y > 0; y = T(y >> 1)) { if (y & 1) r *= b; b *= b; }
        return T(r);
    } else if constexpr (is_complex<T>) {
        if (y == T(0)) return T(1);
        if (x == T(0)) return y.real() > 0 && y.imag() == 0 ? T(0) : std::pow(x, y);
        return std::pow(x, y);
    } else return std::pow(x, y);
}

template <class T> inline T maximum(T a, T b) {
    if constexpr (std::is_floating_point_v<T>) return pick<T>((a > b) | (a != a), a, b);
    else return a > b ? a : b;
}
template <class T> inline T minimum(T a, T b) {
    if constexpr (std::is_floating_point_v<T>) return pick<T>((a < b) | (a != a), a, b);
    else return a < b ? a : b;
}
template <class T> inline T fmax(T a, T b) {
    if constexpr (std::is_floating_point_v<T>) return std::fmax(a, b);
    else return a > b ? a : b;
}
template <class T> inline T fmin(T a, T b) {
    if constexpr (std::is_floating_point_v<T>) return std::fmin(a, b);
    else return a < b ? a : b;
}
// x * x + y with the same bits wherever it stands: nothing is left for the compiler to contract or not.
template <class T> inline T square_plus(T x, T y) {
#if defined(__FP_FAST_FMA) && defined(__FP_FAST_FMAF)
    return std::fma(x, x, y);
#else
    return x * x + y;
#endif
}
// The length of (x, y) without branches, so that loops vectorise: within 1 ulp, no overflow or underflow on the way.
inline double modulus(double x, double y) {
    constexpr double inf = std::numeric_limits<double>::infinity();
    x = std::abs(x), y = std::abs(y);
    const double larger = pick<double>(x > y, x, y);
    const bool big = larger > 0x1p500, small = larger < 0x1p-500;
    const double scale = pick<double>(big, 0x1p-600, pick<double>(small, 0x1p600, 1.0));
    const double back = pick<double>(big, 0x1p600, pick<double>(small, 0x1p-600, 1.0));
    const double a = x * scale, b = y * scale;
    return pick<double>((x == inf) | (y == inf), inf, std::sqrt(square_plus(a, b * b)) * back);
}
inline float modulus(float x, float y) {
    constexpr float inf = std::numeric_limits<float>::infinity();
    const double a = x, b = y;  // squares and their sum stay in range
    return pick<float>((std::abs(x) == inf) | (std::abs(y) == inf), inf, float(std::sqrt(square_plus(a, b * b))));
}
template <class T> inline auto abs(T x) {
    if constexpr (is_complex<T>) return modulus(x.real(), x.imag());
    else if constexpr (std::is_floating_point_v<T>) return std::abs(x);
    else if constexpr (std::is_signed_v<T>) return T(x < 0 ? 0 - std::make_unsigned_t<T>(x) : x);
    else return x;
}
template <class T> inline T sign(T x) {
    if constexpr (is_complex<T>) return x == T(0) ? T(0) : T(x / abs(x));
    else if constexpr (std::is_floating_point_v<T>) return pick<T>(x != x, x, pick<T>(x > 0, T(1), pick<T>(x < 0, T(-1), T(0))));
    else if constexpr (std::is_signed_v<T>) return T((x > 0) - (x < 0));
    else return T(x > 0);
}
template <class T> inline bool isnan(T x) {
    if constexpr (is_complex<T>) return std::isnan(x.real()) || std::isnan(x.imag());
    else if constexpr (std::is_floating_point_v<T>) return std::isnan(x);
    else return false;
}
template <class T> inline bool isinf(T x) {
    if constexpr (is_complex<T>) return std::isinf(x.real()) || std::isinf(x.imag());
    else if constexpr (std::is_floating_point_v<T>) return std::isinf(x);
    else return false;
}
template <class T> inline bool isfinite(T x) {
    if constexpr (is_complex<T>) return std::isfinite(x.real()) && std::isfinite(x.imag());
    else if constexpr (std::is_floating_point_v<T>) return std::isfinite(x);
    else return true;
}
template <class T> inline auto real(T x) { if constexpr (is_complex<T>) return x.real(); else return x; }
template <class T> inline auto imag(T x) { if constexpr (is_complex<T>) return x.imag(); else return T(0); }
template <class T> inline T conj(T x) { if constexpr (is_complex<T>) return std::conj(x); else return x; }

template <class T> inline T exp2(T x) {
    if constexpr (is_complex<T>) return std::exp(x * std::log(typename T::value_type(2)));
    else return std::exp2(x);
}
template <class T> inline T log2(T x) {
    if constexpr (is_complex<T>) return std::log(x) / std::log(typename T::value_type(2));
    else return std::log2(x);
}
template <class T> inline T expm1(T x) {
    if constexpr (is_complex<T>) {
        auto half = std::sin(x.imag() / 2);
        return {std::expm1(x.real()) * std::cos(x.imag()) - 2 * half * half, std::exp(x.real()) * std::sin(x.imag())};
    } else return std::expm1(x);
}
template <class T> inline T log1p(T x) {
    if constexpr (is_complex<T>) return T(std::log(std::hypot(x.real() + 1, x.imag())), std::atan2(x.imag(), x.real() + 1));
    else return std::log1p(x);
}
template <class T> inline T rounded(T x, T (*f)(T)) { return f(x); }

template <class T> inline T shl(T a, T n) {
    using U = std::make_unsigned_t<T>;
    return U(n) < U(8 * sizeof(T)) ? T(U(a) << U(n)) : T(0);
}
template <class T> inline T shr(T a, T n) {
    using U = std::make_unsigned_t<T>;
    return U(n) < U(8 * sizeof(T)) ? T(a >> n) : T(a < 0 ? -1 : 0);
}
// Not the ones of namespace std, which are built in: the compiler makes one call of a sine and a cosine of the same
// argument, and that has no vector form.
inline double sin(double x) { return ::sin(x); }
inline double cos(double x) { return ::cos(x); }
inline float sin(float x) { return ::sinf(x); }
inline float cos(float x) { return ::cosf(x); }
template <class R> inline std::complex<R> sin(std::complex<R> x) { return std::sin(x); }
template <class R> inline std::complex<R> cos(std::complex<R> x) { return std::cos(x); }

// A number without its fraction; the smallest integer for NaN and for what no integer is, as NumPy has it on x86. C++
// says nothing of these. Short integers are the low bits of long ones.
template <class To, class From> inline To whole(From x) {
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
template <class To, class From> inline To cast(From x) {
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

}  // namespace sg

// Extrema in the lanes of a vector; a NaN wins, as in NumPy.
#pragma omp declare reduction(sg_max : float, double : omp_out = sg::maximum(omp_out, omp_in)) \
    initializer(omp_priv = omp_orig)
#pragma omp declare reduction(sg_min : float, double : omp_out = sg::minimum(omp_out, omp_in)) \
    initializer(omp_priv = omp_orig)
