// What generated code calls beyond the C++ standard library. NumPy's meaning of every function.
#pragma once
#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <numeric>
#include <unistd.h>
#include <type_traits>
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
SG_VECTOR(sinh) SG_VECTOR(tan) SG_VECTOR(tanh) SG_VECTOR(cbrt) SG_VECTOR(erf) SG_VECTOR(erfc) SG_VECTOR(exp2)
SG_VECTOR(expm1) SG_VECTOR(log10) SG_VECTOR(log1p) SG_VECTOR(log2) SG_VECTOR2(atan2) SG_VECTOR2(hypot)
#endif
}
#endif

#include "sdfgad_scalars.h"
#include "sdfgad_special.h"
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
    if constexpr (WIDEST == 16) store<N>(p, v);
    else {
        using Words = Lanes<long long, WIDEST / 8>;
        Words parts[sizeof v / WIDEST];
        std::memcpy(parts, &v, sizeof v);
        for (size_t k = 0; k < sizeof v / WIDEST; k++) {
            Words* place = reinterpret_cast<Words*>(p) + k;
#if defined(__clang__)
            __builtin_nontemporal_store(parts[k], place);
#elif defined(__AVX512F__)
            __builtin_ia32_movntdq512(place, parts[k]);
#elif defined(__AVX__)
            __builtin_ia32_movntdq256(place, parts[k]);
#endif
        }
    }
}
inline void settle() {
#if defined(__AVX__)
    __builtin_ia32_sfence();
#endif
}
// Wait until another thread has done so much. One that has no core gets this one after a while: to yield would not do,
// where it belongs to another group of processes. stop: as in `heed`, where the call may end meanwhile.
inline void follow(const int64_t* done, int64_t enough, const volatile int* stop = nullptr) {
    for (int tries = 0; __atomic_load_n(done, __ATOMIC_ACQUIRE) < enough; tries++) {
        if (tries >= 4096) {
            if (stop != nullptr) heed(stop);
            usleep(50);
        }
#if defined(__AVX__)
        else __builtin_ia32_pause();
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

}  // namespace sg

// Extrema in the lanes of a vector; a NaN wins, as in NumPy.
#pragma omp declare reduction(sg_max : float, double : omp_out = sg::maximum(omp_out, omp_in)) \
    initializer(omp_priv = omp_orig)
#pragma omp declare reduction(sg_min : float, double : omp_out = sg::minimum(omp_out, omp_in)) \
    initializer(omp_priv = omp_orig)
