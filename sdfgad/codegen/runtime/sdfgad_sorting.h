// Sorting.
#pragma once
#include "sdfgad.h"

namespace sg {

constexpr int64_t kFew = 512;  // up to here values are compared; the footprint knows it, too
constexpr int kDigit = 11;     // bits of a digit

// Positions that sort the values, equal ones in their order, NaN last. In place: positions settle ties.
template <class T> inline void argsort_few(int64_t n, const T *values, int64_t *order) {
    std::iota(order, order + n, int64_t(0));
    const auto less = [](T x, T y) {
        if constexpr (std::is_floating_point_v<T>) return x < y || (y != y && x == x);
        else return x < y;
    };
    std::sort(order, order + n, [values, less](int64_t a, int64_t b) {
        T x = values[a], y = values[b];
        return less(x, y) || (a < b && !less(y, x));
    });
}

// An unsigned number that sorts like the value: zeros of both signs are equal, and so is all that is not a number.
template <class T> inline auto sorting_key(T x) {
    using Key = std::conditional_t<sizeof(T) == 8, uint64_t,
                std::conditional_t<sizeof(T) == 4, uint32_t, std::conditional_t<sizeof(T) == 2, uint16_t, uint8_t>>>;
    constexpr Key sign = Key(Key(1) << (8 * sizeof(Key) - 1));
    if constexpr (std::is_floating_point_v<T>) {
        const Key bits = std::bit_cast<Key>(x + T(0));
        return Key(x != x ? Key(-1) : bits & sign ? Key(~bits) : Key(bits | sign));
    } else if constexpr (std::is_signed_v<T>) {
        return Key(Key(x) ^ sign);
    } else {
        return Key(x);
    }
}

// The same for any number of values: by digits, the last one first (Knuth, "The art of computer programming", volume 3,
// 5.2.5); digits that all values share are left out.
template <class T> inline void argsort(Memory &memory, int64_t n, const T *values, int64_t *order) {
    if (n <= kFew) return argsort_few(n, values, order);
    using Key = decltype(sorting_key(T()));
    constexpr int digits = (8 * sizeof(Key) + kDigit - 1) / kDigit, kinds = 1 << kDigit;
    Workspace<Key> keys(memory, 2 * n);
    Workspace<int64_t> places(memory, n), counts(memory, digits * kinds);
    std::fill_n(counts.data(), digits * kinds, int64_t(0));
    const auto digit = [](Key key, int d) { return int64_t(uint64_t(key) >> (d * kDigit)) & (kinds - 1); };
    Key *from = keys.data(), *to = from + n;
    int64_t *at = order, *next = places.data();
    for (int64_t k = 0; k < n; k++) {
        from[k] = sorting_key(values[k]), at[k] = k;
        for (int d = 0; d < digits; d++) counts[d * kinds + digit(from[k], d)]++;
    }
    for (int d = 0; d < digits; d++) {
        int64_t *start = counts.data() + d * kinds;
        if (start[digit(from[0], d)] == n) continue;
        for (int64_t k = 0, sum = 0; k < kinds; k++) {
            const int64_t here = start[k];
            start[k] = sum, sum += here;
        }
        for (int64_t k = 0; k < n; k++) {
            const int64_t place = start[digit(from[k], d)]++;
            to[place] = from[k], next[place] = at[k];
        }
        std::swap(from, to), std::swap(at, next);
    }
    if (at != order) std::copy_n(at, n, order);
}

}  // namespace sg
