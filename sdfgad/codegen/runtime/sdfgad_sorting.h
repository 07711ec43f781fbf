// Sorting.
#pragma once
#include "sdfgad.h"

namespace sg {

// Positions that sort the values, equal ones in their order, NaN last. In place: positions settle ties.
template <class T> inline void argsort(int64_t n, const T *values, int64_t *order) {
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

}  // namespace sg
