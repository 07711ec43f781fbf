// Discrete Fourier transforms of any length.
//
// Lengths of small prime factors: the self-sorting algorithm of Stockham (Cochran et al., "What is the fast Fourier
// transform?", 1967; Van Loan, "Computational frameworks for the fast Fourier transform", 1992, section 1.7), a few
// signals side by side in vectors. One long signal is a matrix whose columns are such signals, once for each of two
// factors of its length (Bailey, "FFTs in external or hierarchical memory", 1990): two sweeps through memory, the rest in
// the cache. Other lengths are a convolution of a length with small factors (Bluestein, "A linear filtering approach to
// the computation of discrete Fourier transform", 1970). What is needed is made in every call: nothing is kept.
#pragma once
#include "sdfgad.h"

#if !defined(SG_REAL)
namespace sg {

constexpr int kLargestFactor = 31;  // of lengths that are transformed without a convolution; an odd number
constexpr int64_t kShort = 32;      // up to here one signal is not worth two sweeps
constexpr int64_t kBlock = 2048;    // up to here several signals side by side stay in the cache

// exp(-2 pi i k / n) for 0 <= k <= n, from an angle in the first eighth of the circle: large angles lose nothing.
inline std::complex<double> exact_root(int64_t k, int64_t n) {
    const bool below = 2 * k > n;
    int64_t quarters = 4 * (below ? n - k : k);
    const bool left = quarters > n;
    if (left) quarters = 2 * n - quarters;
    const bool steep = 2 * quarters > n;
    const double angle = 1.57079632679489661923 * double(steep ? n - quarters : quarters) / double(n);
    double across, up;
#if defined(__GLIBC__)
    ::sincos(angle, &up, &across);
#else
    across = std::cos(angle), up = std::sin(angle);
#endif
    if (steep) std::swap(across, up);
    return {left ? -across : across, below ? up : -up};
}

// All of them, as products of two of a pair of short tables.
class Roots {
public:
    using C = std::complex<double>;

    Roots(Memory &memory, int64_t n) : bits_(bits(n)), near_(memory, int64_t(1) << bits_), far_(memory, (n >> bits_) + 1) {
        for (int64_t k = 0; k < int64_t(1) << bits_; k++) near_[k] = exact_root(k < n ? k : n, n);
        for (int64_t k = 0; k <= n >> bits_; k++) far_[k] = exact_root(k << bits_, n);
    }
    C operator()(int64_t k) { return mul(near_[k & ((int64_t(1) << bits_) - 1)], far_[k >> bits_]); }

private:
    int bits_;
    Workspace<C> near_, far_;

    static int bits(int64_t n) {
        int found = 0;
        while (int64_t(1) << (2 * found) < n) found++;
        return found;
    }
};

// One number of each of several signals: a line of the cache, real and imaginary parts apart.
template <class R> struct Abreast {
    static constexpr int lanes = 64 / sizeof(std::complex<R>);
    using V = Lanes<R, lanes>;

    V re, im;

    Abreast operator+(const Abreast &b) const { return {re + b.re, im + b.im}; }
    Abreast operator-(const Abreast &b) const { return {re - b.re, im - b.im}; }
    Abreast operator*(std::complex<R> w) const {
        return {re * w.real() - im * w.imag(), re * w.imag() + im * w.real()};
    }
    Abreast operator*(const Abreast &w) const { return {re * w.re - im * w.im, re * w.im + im * w.re}; }
    Abreast times_i() const { return {-im, re}; }
    void add(R factor, const Abreast &b) { re += factor * b.re, im += factor * b.im; }
};

// Signals where the caller has them: the distance of the numbers of one, and of one to the next. The inverse transform is
// the transform with real and imaginary parts exchanged. Of real signals imaginary parts are zero, or not asked for.
template <class C> struct Signals {
    using Number = std::remove_const_t<C>;
    using R = decltype(std::real(Number()));
    static constexpr bool is_real = std::is_same_v<Number, R>;

    C *first;
    int64_t step, next;
    int re;  // which part counts as the real one

    Signals from(int64_t signal) const { return {first + signal * next, step, next, re}; }
    R part(int64_t k, int lane, int which) const {
        const C *place = first + k * step + lane * next;
        if constexpr (is_real) return which == re ? *place : R(0);
        else return reinterpret_cast<const R *>(place)[which == re ? 0 : 1];
    }
    template <bool Add> void put(int64_t k, int lane, R real, R imaginary) const {
        C *place = first + k * step + lane * next;
        const R parts[2] = {re ? imaginary : real, re ? real : imaginary};
        if constexpr (is_real) *place = Add ? *place + parts[0] : parts[0];
        else *place = Add ? *place + C(parts[0], parts[1]) : C(parts[0], parts[1]);
    }
};
template <class C> inline Signals<C> signals(C *first, int64_t step, int64_t next, bool inverse) {
    return {first, step, next, inverse};
}
template <class C> inline Signals<C> as_they_are(const Signals<C> &x) { return {x.first, x.step, x.next, 0}; }

// Transforms of signals of one length with small factors, as many side by side as fit into a vector.
template <class R> class Together {
public:
    using C = std::complex<R>;
    using Line = Abreast<R>;

    Together(Memory &memory, int64_t n) : n_(n), roots_(memory, n), room_(memory, 2 * n) {
        for (int64_t k = 0; k < n; k++) roots_[k] = C(exact_root(k, n));
    }
    // The transforms of `lanes` signals, which lie in the room of this object.
    template <class T> Line *run(const Signals<T> &x, int lanes) {
        for (int64_t k = 0; k < n_; k++) room_[k] = gathered(x, k, lanes);
        return transformed();
    }
    // Two signals in each lane, `first` and `second` of them, where a real part is all there is of what comes in or of
    // what is asked for. Of real signals as one complex one, the transform is told apart by its symmetry. The real part
    // of a transform is the transform of the Hermitian part of the signal; that of two such signals is one complex signal.
    template <bool Add, class T, class C> void run_pairs(const Signals<T> &x, const Signals<C> &y, int first, int second,
                                                         R scale) {
        const R sign = x.re ? R(-1) : R(1);
        const Signals<T> in = as_they_are(x), in_behind = in.from(first);
        const Signals<C> out = as_they_are(y), out_behind = out.from(first);
        if constexpr (Signals<T>::is_real) {
            for (int64_t k = 0; k < n_; k++) {
                Line line{};
                for (int l = 0; l < first; l++) line.re[l] = in.part(k, l, 0);
                for (int l = 0; l < second; l++) line.im[l] = in_behind.part(k, l, 0);
                room_[k] = line;
            }
            const Line *done = transformed();
            for (int64_t k = 0; k < n_; k++) {
                const Line &one = done[k], &other = done[k ? n_ - k : 0];
                const R half = scale / 2, turned = sign * half;
                const auto a = (one.re + other.re) * half, b = (one.im - other.im) * turned;
                const auto c = (one.im + other.im) * half, d = (other.re - one.re) * turned;
                for (int l = 0; l < first; l++) out.template put<Add>(k, l, a[l], b[l]);
                for (int l = 0; l < second; l++) out_behind.template put<Add>(k, l, c[l], d[l]);
            }
        } else {
            for (int64_t k = 0; k < n_; k++) {
                const int64_t back = k ? n_ - k : 0;
                Line line{};
                for (int l = 0; l < first; l++) {
                    line.re[l] = in.part(k, l, 0) + in.part(back, l, 0);
                    line.im[l] = sign * (in.part(k, l, 1) - in.part(back, l, 1));
                }
                for (int l = 0; l < second; l++) {
                    line.re[l] -= sign * (in_behind.part(k, l, 1) - in_behind.part(back, l, 1));
                    line.im[l] += in_behind.part(k, l, 0) + in_behind.part(back, l, 0);
                }
                room_[k] = line;
            }
            const Line *done = transformed();
            for (int64_t k = 0; k < n_; k++) {
                const auto a = done[k].re * (scale / 2), b = done[k].im * (scale / 2);
                for (int l = 0; l < first; l++) out.template put<Add>(k, l, a[l], R(0));
                for (int l = 0; l < second; l++) out_behind.template put<Add>(k, l, b[l], R(0));
            }
        }
    }
    Line *transformed() {
        Line *from = room_.data(), *to = from + n_;
        int64_t left = n_, done = 1;
        while (left > 1) {
            const int radix = factor(left);
            pass(radix, left, done, from, to);
            left /= radix, done *= radix;
            std::swap(from, to);
        }
        return from;
    }
    static int factor(int64_t n) {
        if (n % 4 == 0) return 4;
        for (int p : {2, 3, 5, 7}) if (n % p == 0) return p;
        for (int p = 11; p <= kLargestFactor; p += 2) if (n % p == 0) return p;
        return 0;
    }

private:
    int64_t n_;
    Workspace<C> roots_;
    Workspace<Line> room_;

    template <class T> static Line gathered(const Signals<T> &x, int64_t k, int lanes) {
        Line found{};
        if (lanes == Line::lanes) {
            for (int l = 0; l < Line::lanes; l++) found.re[l] = x.part(k, l, 0), found.im[l] = x.part(k, l, 1);
        } else {
            for (int l = 0; l < lanes; l++) found.re[l] = x.part(k, l, 0), found.im[l] = x.part(k, l, 1);
        }
        return found;
    }
    void pass(int radix, int64_t left, int64_t done, const Line *from, Line *to) {
        switch (radix) {
            case 2: return pass<2>(2, left, done, from, to);
            case 3: return pass<3>(3, left, done, from, to);
            case 4: return pass<4>(4, left, done, from, to);
            case 5: return pass<5>(5, left, done, from, to);
            case 7: return pass<7>(7, left, done, from, to);
            default: return pass<0>(radix, left, done, from, to);
        }
    }
    // One factor of what is left to do, for all of what has been done with the others.
    template <int Known> SG_PIECE void pass(int known, int64_t left, int64_t done, const Line *from, Line *to) {
        const int radix = Known ? Known : known;
        const int64_t parts = left / radix, turn = n_ / left;
        C small[Known ? Known : kLargestFactor], wide[Known ? Known : kLargestFactor];
        for (int k = 0; k < radix; k++) small[k] = roots_[n_ / radix * k];
        for (int64_t p = 0; p < parts; p++) {
            for (int k = 0; k < radix; k++) wide[k] = roots_[turn * p * k];
            for (int64_t q = 0; q < done; q++) {
                Line a[Known ? Known : kLargestFactor], b[Known ? Known : kLargestFactor];
                for (int k = 0; k < radix; k++) a[k] = from[q + done * (p + parts * k)];
                butterfly<Known>(radix, a, b, small);
                to[q + done * radix * p] = b[0];
                for (int k = 1; k < radix; k++) to[q + done * (radix * p + k)] = b[k] * wide[k];
            }
        }
    }
    template <int Known> static void butterfly(int radix, Line *a, Line *b, const C *small) {
        if constexpr (Known == 2) {
            b[0] = a[0] + a[1], b[1] = a[0] - a[1];
        } else if constexpr (Known == 4) {
            const Line sum = a[0] + a[2], other = a[1] + a[3], change = a[0] - a[2], turned = (a[1] - a[3]).times_i();
            b[0] = sum + other, b[1] = change - turned, b[2] = sum - other, b[3] = change + turned;
        } else {
            const int n = Known ? Known : radix;
            Line total = a[0];
            for (int j = 1; 2 * j < n; j++) {
                const Line sum = a[j] + a[n - j], change = a[j] - a[n - j];
                a[j] = sum, a[n - j] = change, total = total + sum;
            }
            b[0] = total;
            for (int k = 1; 2 * k < n; k++) {
                Line even = a[0], odd{};
                for (int j = 1; 2 * j < n; j++) {
                    even.add(small[j * k % n].real(), a[j]);
                    odd.add(small[j * k % n].imag(), a[n - j]);
                }
                const Line turned = odd.times_i();
                b[k] = even + turned, b[n - k] = even - turned;
            }
        }
    }
};

// The transform of one long signal with small factors.
template <class R> class Alone {
public:
    using C = std::complex<R>;
    using Line = Abreast<R>;

    Alone(Memory &memory, int64_t n)
        : n_(n), first_(divisor(n)), columns_(memory, first_), rows_(memory, n / first_), roots_(memory, n),
          middle_(memory, n) {}

    template <bool Add, class T, class Y> void run(const Signals<T> &x, const Signals<Y> &y, R scale) {
        const int64_t second = n_ / first_;
        for (int64_t k = 0; k < second; k += Line::lanes) {
            const int lanes = int(least(Line::lanes, second - k));
            const Line *done = columns_.run(Signals<T>{x.first + k * x.step, x.step * second, x.step, x.re}, lanes);
            turned(done, k, lanes);
        }
        for (int64_t k = 0; k < first_; k += Line::lanes) {
            const int lanes = int(least(Line::lanes, first_ - k));
            const Line *done = rows_.run(Signals<C>{middle_.data() + k, first_, 1, 0}, lanes);
            scattered<Add>(done, second, Signals<Y>{y.first + k * y.step, y.step * first_, y.step, y.re}, lanes, scale);
        }
    }
    template <bool Add, class Y>
    static void scattered(const Line *done, int64_t n, const Signals<Y> &y, int lanes, R scale) {
        for (int64_t k = 0; k < n; k++) {
            const Line line{done[k].re * scale, done[k].im * scale};
            if (lanes == Line::lanes) {
                for (int l = 0; l < Line::lanes; l++) y.template put<Add>(k, l, line.re[l], line.im[l]);
            } else {
                for (int l = 0; l < lanes; l++) y.template put<Add>(k, l, line.re[l], line.im[l]);
            }
        }
    }
    // The largest divisor up to the root.
    static int64_t divisor(int64_t n) {
        int64_t found = 1;
        for (int64_t d = 2; d * d <= n; d++) if (n % d == 0) found = d;
        return found;
    }

private:
    static constexpr int kNear = 16;
    int64_t n_, first_;
    Together<R> columns_, rows_;
    Roots roots_;
    Workspace<C> middle_;

    // Columns from `start` on, times exp(-2 pi i j k / n), as rows.
    void turned(const Line *done, int64_t start, int lanes) {
        Line near[kNear], far{};
        for (int k = 0; k < kNear; k++) near[k] = roots_of(start, lanes, least(k, first_ - 1));
        for (int64_t k = 0; k < first_; k++) {
            if (k % kNear == 0) far = roots_of(start, lanes, k);
            const Line line = done[k] * (near[k % kNear] * far);
            for (int l = 0; l < lanes; l++) middle_[(start + l) * first_ + k] = C(line.re[l], line.im[l]);
        }
    }
    Line roots_of(int64_t start, int lanes, int64_t k) {
        Line found{};
        for (int l = 0; l < lanes; l++) {
            const auto root = roots_((start + l) * k);
            found.re[l] = R(root.real()), found.im[l] = R(root.imag());
        }
        return found;
    }
};

inline bool has_small_factors(int64_t n) {
    while (n > 1) {
        const int p = Together<double>::factor(n);
        if (p == 0) return false;
        n /= p;
    }
    return true;
}
inline int64_t padded(int64_t n) {
    int64_t size = 2 * n - 1;
    for (;; size++) {
        int64_t rest = size;
        for (int p : {2, 3, 5}) while (rest % p == 0) rest /= p;
        if (rest == 1 && size % 4 == 0) return size;
    }
}

// The transform of one signal of any length, as a convolution.
template <class R> class Convolved {
public:
    using C = std::complex<R>;

    Convolved(Memory &memory, int64_t n)
        : n_(n), size_(padded(n)), chirp_(memory, n), kernel_(memory, size_), work_(memory, size_), alone_(memory, size_) {
        Roots roots(memory, 2 * n);
        std::fill_n(kernel_.data(), size_, C(0));
        for (int64_t k = 0, square = 0; k < n; square = (square + 2 * k + 1) % (2 * n), k++) {
            chirp_[k] = C(roots(square));
            kernel_[k] = kernel_[k ? size_ - k : 0] = std::conj(chirp_[k]);
        }
        alone_.template run<false>(side(kernel_, 0), side(kernel_, 0), R(1) / R(size_));
    }
    template <bool Add, class T, class Y> void run(const Signals<T> &x, const Signals<Y> &y, R scale) {
        for (int64_t k = 0; k < n_; k++) work_[k] = mul(C(x.part(k, 0, 0), x.part(k, 0, 1)), chirp_[k]);
        std::fill(work_.data() + n_, work_.data() + size_, C(0));
        alone_.template run<false>(side(work_, 0), side(work_, 0), R(1));
        for (int64_t k = 0; k < size_; k++) work_[k] = mul(work_[k], kernel_[k]);
        alone_.template run<false>(side(work_, 1), side(work_, 1), R(1));
        for (int64_t k = 0; k < n_; k++) {
            const C found = mul(work_[k], chirp_[k]) * scale;
            y.template put<Add>(k, 0, found.real(), found.imag());
        }
    }

private:
    int64_t n_, size_;
    Workspace<C> chirp_, kernel_, work_;
    Alone<R> alone_;

    static Signals<C> side(Workspace<C> &room, int re) { return {room.data(), 1, 0, re}; }
};

// Transforms of `count` signals; scaled: over n. Add: to what is there. Of what comes in, or of what is asked for, there may
// be real parts only.
template <bool Add, class T, class Y>
inline void fft(Memory &memory, int64_t count, int64_t n, Signals<T> x, Signals<Y> y, bool scaled) {
    using R = typename Signals<Y>::R;
    using Line = Abreast<R>;
    if (n <= 0 || count <= 0) return;
    const R scale = scaled ? R(1) / R(n) : R(1);
    if (!has_small_factors(n)) {
        Convolved<R> convolved(memory, n);
        for (int64_t k = 0; k < count; k++) convolved.template run<Add>(x.from(k), y.from(k), scale);
    } else if (n <= kShort || (n <= kBlock && 2 * count > Line::lanes)) {
        Together<R> together(memory, n);
        constexpr bool in_pairs = Signals<T>::is_real || Signals<Y>::is_real;
        for (int64_t k = 0; k < count; k += (1 + in_pairs) * Line::lanes) {
            const int taken = int(least((1 + in_pairs) * Line::lanes, count - k));
            if constexpr (in_pairs)
                together.template run_pairs<Add>(x.from(k), y.from(k), taken - taken / 2, taken / 2, scale);
            else
                Alone<R>::template scattered<Add>(together.run(x.from(k), taken), n, y.from(k), taken, scale);
        }
    } else {
        Alone<R> alone(memory, n);
        for (int64_t k = 0; k < count; k++) alone.template run<Add>(x.from(k), y.from(k), scale);
    }
}

}  // namespace sg
#endif
