// Sorting and Fourier transforms.
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

#if !defined(SG_REAL)
// Discrete Fourier transforms of one length: powers of two by butterflies, other lengths as a convolution of such.
template <class R> class Fourier {
public:
    using C = std::complex<R>;

    Fourier(Memory &memory, int64_t n)
        : n_(n), size_(padded(n)), turns_(memory, size_ / 2 + 1), chirp_(memory, size_ == n ? 0 : n),
          kernel_(memory, size_ == n ? 0 : size_), work_(memory, size_ == n ? 0 : size_) {
        for (int64_t k = 0; k <= size_ / 2; k++) turns_[k] = turn(k, size_);
        if (size_ == n_) return;
        std::fill_n(kernel_.data(), size_, C(0));
        for (int64_t k = 0; k < n; k++) {
            chirp_[k] = turn((k * k) % (2 * n), 2 * n);
            kernel_[k] = std::conj(chirp_[k]);
            if (k) kernel_[size_ - k] = std::conj(chirp_[k]);
        }
        butterflies(kernel_.data());
    }

    // x becomes its transform with exp(-2 pi i), unscaled.
    void run(C *x) {
        if (size_ == n_) return butterflies(x);
        for (int64_t k = 0; k < n_; k++) work_[k] = mul(x[k], chirp_[k]);
        std::fill(work_.data() + n_, work_.data() + size_, C(0));
        butterflies(work_.data());
        // The inverse transform of the product is the conjugate of the transform of its conjugate.
        for (int64_t k = 0; k < size_; k++) work_[k] = std::conj(mul(work_[k], kernel_[k]));
        butterflies(work_.data());
        for (int64_t k = 0; k < n_; k++) x[k] = mul(std::conj(work_[k]), chirp_[k]) / R(size_);
    }

private:
    int64_t n_, size_;
    Workspace<C> turns_, chirp_, kernel_, work_;

    static int64_t padded(int64_t n) {
        if ((n & (n - 1)) == 0) return n;
        int64_t size = 1;
        while (size < 2 * n - 1) size *= 2;
        return size;
    }
    static C turn(int64_t k, int64_t n) {
        double angle = -2.0 * 3.14159265358979323846 * double(k) / double(n);
        return C(R(std::cos(angle)), R(std::sin(angle)));
    }
    void butterflies(C *x) {
        for (int64_t i = 1, j = 0; i < size_; i++) {
            int64_t bit = size_ >> 1;
            for (; j & bit; bit >>= 1) j ^= bit;
            j ^= bit;
            if (i < j) std::swap(x[i], x[j]);
        }
        for (int64_t half = 1; half < size_; half *= 2) {
            int64_t stride = size_ / (2 * half);
            for (int64_t base = 0; base < size_; base += 2 * half)
                for (int64_t k = 0; k < half; k++) {
                    C odd = mul(x[base + half + k], turns_[k * stride]), even = x[base + k];
                    x[base + k] = even + odd;
                    x[base + half + k] = even - odd;
                }
        }
    }
};

template <class R>
inline void fft(Memory &memory, int64_t count, int64_t n, const std::complex<R> *x, int64_t x_lead, std::complex<R> *y,
                int64_t y_lead, bool inverse) {
    if (n <= 0 || count <= 0) return;
    Fourier<R> transform(memory, n);
    for (int64_t row = 0; row < count; row++) {
        const std::complex<R> *from = x + row * x_lead;
        std::complex<R> *to = y + row * y_lead;
        for (int64_t k = 0; k < n; k++) to[k] = inverse ? std::conj(from[k]) : from[k];
        transform.run(to);
        for (int64_t k = 0; inverse && k < n; k++) to[k] = std::conj(to[k]) / R(n);
    }
}
#endif

}  // namespace sg
