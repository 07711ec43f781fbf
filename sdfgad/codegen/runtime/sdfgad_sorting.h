// Sorting.
#pragma once
#include "sdfgad.h"

namespace sg {

constexpr int64_t kFewest = 96;  // up to here each value is compared with all
constexpr int64_t kFew = 512;    // up to here the stack has room for what digits need; the footprint knows it, too
constexpr int kDigit = 11;       // bits of a digit
constexpr int kSmallDigit = 8;   // likewise, where counting them would take longer than using them

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

// Positions that sort the values, equal ones in their order, NaN last: each value finds its place by counting those that
// come before it, in vectors.
template <class T> inline void argsort_few(int64_t n, const T *values, int64_t *order) {
    using Key = decltype(sorting_key(T()));
    alignas(64) Key keys[kFewest], ranks[kFewest];
    for (int64_t k = 0; k < n; k++) keys[k] = sorting_key(values[k]), ranks[k] = 0;
    for (int64_t j = 0; j < n; j++) {
        const Key key = keys[j];
        for (int64_t k = 0; k <= j; k++) ranks[k] += Key(key < keys[k]);
        for (int64_t k = j + 1; k < n; k++) ranks[k] += Key(key <= keys[k]);
    }
    for (int64_t k = 0; k < n; k++) order[ranks[k]] = k;
}

// The same for any number of values: by digits, the last one first (Knuth, "The art of computer programming", volume 3,
// 5.2.5); digits that all values share are left out. keys: twice as many as there are values.
template <int bits, class T, class Key, class Count>
inline void argsort_digits(int64_t n, const T *values, int64_t *order, Key *keys, int64_t *places, Count *counts) {
    constexpr int digits = (8 * sizeof(Key) + bits - 1) / bits, kinds = 1 << bits;
    std::fill_n(counts, digits * kinds, Count(0));
    const auto digit = [](Key key, int d) { return int64_t(uint64_t(key) >> (d * bits)) & (kinds - 1); };
    Key *from = keys, *to = from + n;
    int64_t *at = order, *next = places;
    for (int64_t k = 0; k < n; k++) {
        from[k] = sorting_key(values[k]), at[k] = k;
        for (int d = 0; d < digits; d++) counts[d * kinds + digit(from[k], d)]++;
    }
    for (int d = 0; d < digits; d++) {
        Count *start = counts + d * kinds;
        if (start[digit(from[0], d)] == Count(n)) continue;
        Count sum = 0;
        for (int64_t k = 0; k < kinds; k++) {
            const Count here = start[k];
            start[k] = sum, sum = Count(sum + here);
        }
        for (int64_t k = 0; k < n; k++) {
            const int64_t place = start[digit(from[k], d)]++;
            to[place] = from[k], next[place] = at[k];
        }
        std::swap(from, to), std::swap(at, next);
    }
    if (at != order) std::copy_n(at, n, order);
}

template <class T> inline void argsort_real(Memory &memory, int64_t n, const T *values, int64_t *order) {
    using Key = decltype(sorting_key(T()));
    if (n <= kFewest) return argsort_few(n, values, order);
    if (n <= kFew) {
        constexpr int digits = (8 * sizeof(Key) + kSmallDigit - 1) / kSmallDigit;
        Key keys[2 * kFew];
        int64_t places[kFew];
        uint16_t counts[digits << kSmallDigit];
        return argsort_digits<kSmallDigit>(n, values, order, keys, places, counts);
    }
    Workspace<Key> keys(memory, 2 * n);
    Workspace<int64_t> places(memory, n), counts(memory, ((8 * sizeof(Key) + kDigit - 1) / kDigit) << kDigit);
    argsort_digits<kDigit>(n, values, order, keys.data(), places.data(), counts.data());
}

// The same of complex numbers, for which there is no key. Positions tell equal ones apart: nothing else has to be kept.
template <class T> inline void argsort_complex(int64_t n, const T *values, int64_t *order) {
    for (int64_t k = 0; k < n; k++) order[k] = k;
    std::sort(order, order + n, [values](int64_t a, int64_t b) {
        const T x = values[a], y = values[b];
        return comes_before(x, y) || (a < b && !comes_before(y, x));
    });
}

template <class T> inline void argsort(Memory &memory, int64_t n, const T *values, int64_t *order) {
    if constexpr (is_complex<T>) return argsort_complex(n, values, order);
    else argsort_real(memory, n, values, order);
}

}  // namespace sg
