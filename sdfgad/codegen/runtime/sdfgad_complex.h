// Complex numbers of programs for graphics processors, which the standard library's are not made for: their arithmetic
// there is the compiler's own, and their functions are the C library's. Read by `sdfgad_scalars.h` in their place.
#ifndef SDFGAD_COMPLEX_H
#define SDFGAD_COMPLEX_H

namespace sg {

// Nothing is set at first: the memory that threads share must be so. As large, and as aligned, as CUDA's own.
template <class T> struct alignas(2 * sizeof(T)) Complex {
    using value_type = T;
    T x, y;

    Complex() = default;
    SG_FN constexpr Complex(T real, T imag = T(0)) : x(real), y(imag) {}
    SG_FN constexpr T real() const { return x; }
    SG_FN constexpr T imag() const { return y; }
    SG_FN friend Complex operator+(Complex a, Complex b) { return {a.x + b.x, a.y + b.y}; }
    SG_FN friend Complex operator-(Complex a, Complex b) { return {a.x - b.x, a.y - b.y}; }
    SG_FN friend Complex operator-(Complex a) { return {-a.x, -a.y}; }
    SG_FN friend Complex operator*(Complex a, T b) { return {a.x * b, a.y * b}; }
    SG_FN friend Complex operator/(Complex a, T b) { return {a.x / b, a.y / b}; }
    SG_FN friend bool operator==(Complex a, Complex b) { return a.x == b.x && a.y == b.y; }
    SG_FN Complex &operator+=(Complex b) { return *this = *this + b; }
};

// Functions of them, by `exp`, `log` and `sqrt` of sdfgad_scalars.h. Formulas with branch cuts are those of W. Kahan, "Branch
// cuts for complex elementary functions", 1987.
namespace of_complex {

template <class T> SG_FN Complex<T> times(Complex<T> a, Complex<T> b) {
    return {a.x * b.x - a.y * b.y, a.x * b.y + a.y * b.x};
}
template <class T> SG_FN Complex<T> log10(Complex<T> z) { return log(z) * T(0.43429448190325182765); }
template <class T> SG_FN Complex<T> pow(Complex<T> z, Complex<T> e) { return exp(times(e, log(z))); }

template <class T> SG_FN Complex<T> sinh(Complex<T> z) {
    return {std::sinh(z.x) * std::cos(z.y), std::cosh(z.x) * std::sin(z.y)};
}
template <class T> SG_FN Complex<T> cosh(Complex<T> z) {
    return {std::cosh(z.x) * std::cos(z.y), std::sinh(z.x) * std::sin(z.y)};
}
template <class T> SG_FN Complex<T> tanh(Complex<T> z) {
    if (std::fabs(z.x) > 20)
        return {std::copysign(T(1), z.x), 4 * std::sin(z.y) * std::cos(z.y) * std::exp(-2 * std::fabs(z.x))};
    const T t = std::tan(z.y), b = 1 + t * t, s = std::sinh(z.x), d = 1 + b * s * s;
    return {b * std::sqrt(1 + s * s) * s / d, t / d};
}
// A function of z by one of i z, which is -i times another.
template <class T> SG_FN Complex<T> turned(Complex<T> z) { return {-z.y, z.x}; }
template <class T> SG_FN Complex<T> turned_back(Complex<T> z) { return {z.y, -z.x}; }
template <class T> SG_FN Complex<T> sin(Complex<T> z) { return turned_back(sinh(turned(z))); }
template <class T> SG_FN Complex<T> cos(Complex<T> z) { return cosh(turned(z)); }
template <class T> SG_FN Complex<T> tan(Complex<T> z) { return turned_back(tanh(turned(z))); }

template <class T> SG_FN Complex<T> conj(Complex<T> z) { return {z.x, -z.y}; }
template <class T> SG_FN Complex<T> asin(Complex<T> z) {
    const Complex<T> below = sqrt(Complex<T>(1 - z.x, -z.y)), above = sqrt(Complex<T>(1 + z.x, z.y));
    return {std::atan2(z.x, times(below, above).x), std::asinh(times(conj(below), above).y)};
}
template <class T> SG_FN Complex<T> acos(Complex<T> z) {
    const Complex<T> below = sqrt(Complex<T>(1 - z.x, -z.y)), above = sqrt(Complex<T>(1 + z.x, z.y));
    return {2 * std::atan2(below.x, above.x), std::asinh(times(conj(above), below).y)};
}
template <class T> SG_FN Complex<T> acosh(Complex<T> z) {
    const Complex<T> below = sqrt(Complex<T>(z.x - 1, z.y)), above = sqrt(Complex<T>(z.x + 1, z.y));
    return {std::asinh(times(conj(below), above).x), 2 * std::atan2(below.y, above.x)};
}
template <class T> SG_FN Complex<T> atanh(Complex<T> z) {
    const T square = z.y * z.y;
    return {std::log1p(4 * z.x / ((1 - z.x) * (1 - z.x) + square)) / 4,
            std::atan2(2 * z.y, (1 - z.x) * (1 + z.x) - square) / 2};
}
template <class T> SG_FN Complex<T> asinh(Complex<T> z) { return turned_back(asin(turned(z))); }
template <class T> SG_FN Complex<T> atan(Complex<T> z) { return turned_back(atanh(turned(z))); }

}  // namespace of_complex
}  // namespace sg

namespace dace {
using complex64 = sg::Complex<float>;
using complex128 = sg::Complex<double>;
}  // namespace dace

#endif
