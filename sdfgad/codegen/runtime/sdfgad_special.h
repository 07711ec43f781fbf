// Special functions of one real number, with SciPy's meaning. Behind `sdfgad_scalars.h`, and like it good by itself: the
// text is pasted into graphs. What the C library has is taken from there.
#ifndef SDFGAD_SPECIAL_H
#define SDFGAD_SPECIAL_H

namespace sg {

// A polynomial, the constant term first.
template <int N> SG_FN double horner(const double (&c)[N], double x) {
    double sum = c[N - 1];
    for (int k = N - 2; k >= 0; k--) sum = sum * x + c[k];
    return sum;
}

SG_FN double gammaln(double x) {
#if defined(__GLIBC__) && !defined(__CUDA_ARCH__)
    int sign;  // the other form stores it where all threads write
    return ::lgamma_r(x, &sign);
#else
    return ::lgamma(x);
#endif
}
SG_FN double gamma(double x) {
    if (x == -std::numeric_limits<double>::infinity()) return std::numeric_limits<double>::quiet_NaN();
    return ::tgamma(x);
}

// The logarithmic derivative of the gamma function: around its positive root a Taylor series; elsewhere the reflection,
// the recurrence up to 10, and from there on the asymptotic series (Abramowitz and Stegun, 6.3.5, 6.3.7, 6.3.18).
SG_FN double digamma(double x) {
    constexpr double near[] = {
        0.96767224544762117, -0.442763168983592106, 0.258499760955651011, -0.163942705442406528, 0.107824050691262366,
        -0.0721995612564547109, 0.0488042881641431072, -0.0331611264748473593, 0.0225976482322181047,
        -0.0154247659049489591, 0.0105387916166121754, -0.00720453438635686824, 0.00492678139572985345,
        -0.00336980165543932808, 0.00230512632673492784, -0.00157693677143019726, 0.00107882520191629658,
        -0.00073807093899600513, 0.000504953265834602035, -0.0003454680251063077};
    constexpr double far[] = {1.0 / 12, -1.0 / 120, 1.0 / 252, -1.0 / 240, 1.0 / 132, -691.0 / 32760, 1.0 / 12};
    if (std::abs(x - 1.5) < 0.2) {
        const double away = (x - 1.4616321449683622) - 9.549995429965697e-17;
        return away * horner(near, away);
    }
    if (x == 0) return -std::copysign(std::numeric_limits<double>::infinity(), x);
    double sum = 0;
    if (x < 0) {
        const double part = x - std::rint(x);
        if (!(part != 0)) return std::numeric_limits<double>::quiet_NaN();
        sum = -3.14159265358979323846 / ::tan(3.14159265358979323846 * part);
        x = 1 - x;
    }
    for (; x < 10; x += 1) sum -= 1 / x;
    const double square = 1 / (x * x);
    return sum + (::log(x) - 0.5 / x - square * horner(far, square));
}

// Its derivatives, n > 0 of them: sums of powers by Euler and Maclaurin (Abramowitz and Stegun, 6.4.10, 23.1.30). Left of
// zero every number is a summand; where these are more than a million there is no result.
SG_FN double polygamma(double x, double order) {
    constexpr double bernoulli[] = {1.0 / 12, -1.0 / 720, 1.0 / 30240, -1.0 / 1209600, 1.0 / 47900160,
                                    -691.0 / 1307674368000, 1.0 / 74724249600};  // B(2k) / (2k)!
    const int n = int(order);
    if (n == 0) return digamma(x);
    if (!(x >= -1e6) || n < 0) return std::numeric_limits<double>::quiet_NaN();
    double sum = 0;
    for (x += 0.0; x < 12 + 2 * n; x += 1) sum += ::pow(x, -(n + 1));
    const double last = ::pow(x, -n), square = 1 / (x * x);
    double tail = 0, rising = n + 1;  // (n + 1) (n + 2) ... over powers of x
    for (int k = 0; k < 7; k++) {
        tail += bernoulli[k] * rising * square;
        rising *= (n + 2 * k + 2) * square * (n + 2 * k + 3);
    }
    sum += last * (1.0 / n + 0.5 / x + tail);
    return (n % 2 ? 1 : -1) * ::tgamma(double(n + 1)) * sum;
}

SG_FN double erfc(double x) { return ::erfc(x); }

// exp(x * x) * erfc(x). The square is taken with what it loses; where erfc leaves the normal numbers, the asymptotic
// series (Abramowitz and Stegun, 7.1.23).
SG_FN double erfcx(double x) {
    if (x < 25) {
        const double square = x * x;
        const double factor = ::exp(square);
        if (factor == std::numeric_limits<double>::infinity()) return factor;
        return factor * ::erfc(x) * (1 + std::fma(x, x, -square));
    }
    constexpr double series[] = {1.0, -0.5, 0.75, -1.875, 6.5625, -29.53125, 162.421875, -1055.7421875};
    const double over = 1 / x;
    return 0.56418958354775628695 * over * horner(series, over * over);
}

// The number below which a standard normal variable is with a probability of 1/2 + middle; `tail`, which is the smaller
// of that and its complement, is given apart, as it may be tiny. Wichura, algorithm AS 241 (PPND16), 1988.
SG_FN double normal_quantile(double middle, double tail) {
    constexpr double a[] = {3.3871328727963666080e0, 1.3314166789178437745e+2, 1.9715909503065514427e+3,
                            1.3731693765509461125e+4, 4.5921953931549871457e+4, 6.7265770927008700853e+4,
                            3.3430575583588128105e+4, 2.5090809287301226727e+3};
    constexpr double b[] = {1.0, 4.2313330701600911252e+1, 6.8718700749205790830e+2, 5.3941960214247511077e+3,
                            2.1213794301586595867e+4, 3.9307895800092710610e+4, 2.8729085735721942674e+4,
                            5.2264952788528545610e+3};
    constexpr double c[] = {1.42343711074968357734e0, 4.63033784615654529590e0, 5.76949722146069140550e0,
                            3.64784832476320460504e0, 1.27045825245236838258e0, 2.41780725177450611770e-1,
                            2.27238449892691845833e-2, 7.74545014278341407640e-4};
    constexpr double d[] = {1.0, 2.05319162663775882187e0, 1.67638483018380384940e0, 6.89767334985100004550e-1,
                            1.48103976427480074590e-1, 1.51986665636164571966e-2, 5.47593808499534494600e-4,
                            1.05075007164441684324e-9};
    constexpr double e[] = {6.65790464350110377720e0, 5.46378491116411436990e0, 1.78482653991729133580e0,
                            2.96560571828504891230e-1, 2.65321895265761230930e-2, 1.24266094738807843860e-3,
                            2.71155556874348757815e-5, 2.01033439929228813265e-7};
    constexpr double f[] = {1.0, 5.99832206555887937690e-1, 1.36929880922735805310e-1, 1.48753612908506148525e-2,
                            7.86869131145613259100e-4, 1.84631831751005468180e-5, 1.42151175831644588870e-7,
                            2.04426310338993978564e-15};
    if (std::abs(middle) <= 0.425) {
        const double r = 0.180625 - middle * middle;
        return middle * horner(a, r) / horner(b, r);
    }
    if (!(tail > 0)) {
        return tail == 0 ? std::copysign(std::numeric_limits<double>::infinity(), middle)
                         : std::numeric_limits<double>::quiet_NaN();
    }
    const double r = std::sqrt(-::log(tail));
    const double size = r <= 5 ? horner(c, r - 1.6) / horner(d, r - 1.6) : horner(e, r - 5) / horner(f, r - 5);
    return std::copysign(size, middle);
}
SG_FN double ndtri(double p) { return normal_quantile(p - 0.5, p < 0.5 ? p : 1 - p); }
SG_FN double erfinv(double y) {
    return 0.70710678118654752440 * normal_quantile(0.5 * y, 0.5 * (1 - std::abs(y)));
}

// Bessel functions of whole orders.
SG_FN double bessel_j(double x, double order) { return ::jn(int(order), x); }
SG_FN double bessel_y(double x, double order) {
    if (x < 0) return std::numeric_limits<double>::quiet_NaN();
    return ::yn(int(order), x);
}
// The modified ones of the first kind over exp(|x|): their power series, all of whose terms have one sign, or beyond it
// the asymptotic series (Abramowitz and Stegun, 9.6.10, 9.7.1).
SG_FN double bessel_ie(double x, double order) {
    const int n = std::abs(int(order));
    const double size = std::abs(x), sign = n % 2 && x < 0 ? -1 : 1;
    if (size < 30 || size < double(n) * n) {
        const double quarter = size * size / 4;
        double term = 1, sum = 0;
        for (int k = 1; k <= n; k++) term *= size / (2 * k);
        for (int k = 1; sum + term != sum; k++) sum += term, term *= quarter / (double(k) * (k + n));
        return sign * sum * ::exp(-size);
    }
    double term = 1, sum = 1;
    for (int k = 1; k <= 30 && std::abs(term) > 1e-17 * sum; k++) {
        const double odd = 2 * k - 1;
        term *= (odd * odd - 4.0 * n * n) / (8 * k * size);
        sum += term;
    }
    return sign * sum / std::sqrt(6.28318530717958647693 * size);
}
SG_FN double bessel_i(double x, double order) {
    const double half = ::exp(std::abs(x) / 2);  // the whole may be too large
    return std::isinf(x) ? std::copysign(half, int(order) % 2 ? x : 1.0) : bessel_ie(x, order) * half * half;
}

// Those of the second kind, of any real order: the integral of exp(-x cosh t) cosh(v t), which decays so fast that the
// trapezoidal rule has all digits at a third of its width (Trefethen and Weideman, SIAM Review 56, 2014). DLMF 10.32.9.
SG_FN double bessel_k(double x, double order) {
    if (!(x > 0)) {
        return x == 0 ? std::numeric_limits<double>::infinity() : std::numeric_limits<double>::quiet_NaN();
    }
    if (std::isinf(x)) return 0;
    const double v = std::abs(order), width = std::sqrt(std::sqrt(x * x + v * v));
    const double step = width < 3.5 ? 0.2 : 0.7 / width;
    double sum = 0.5;
    for (int k = 1; k < 100000; k++) {
        const double t = k * step, half = ::sinh(0.5 * t);
        const double above = v * t - 2 * x * half * half;  // cosh t - 1 without cancellation
        const double term = 0.5 * (::exp(above) + ::exp(above - 2 * v * t));
        sum += term;
        if (term < 1e-18 * sum && x * ::sinh(t) > v) break;
    }
    return step * sum * ::exp(-x);
}

// The exponential integral from x to infinity: its series, or a continued fraction. DLMF 6.6.2, 6.9.1.
SG_FN double exp1(double x) {
    if (!(x > 0)) {
        return x == 0 ? std::numeric_limits<double>::infinity() : std::numeric_limits<double>::quiet_NaN();
    }
    if (x < 1) {
        double term = -1, sum = 0;
        for (int k = 1; k < 40; k++) term *= -x / k, sum += term / k;
        return sum - 0.57721566490153286061 - ::log(x);
    }
    if (x > 740) return ::exp(-x) / x;
    double rest = 0;
    for (int k = 20 + int(80 / x); k > 0; k--) rest = k / (1 + k / (x + rest));
    return ::exp(-x) / (x + rest);
}

// The exponential integral from minus infinity to x: its series, or the divergent one up to its least term. DLMF 6.6.1,
// 6.12.2.
SG_FN double expi(double x) {
    if (!(x > 0)) return x == 0 ? -std::numeric_limits<double>::infinity() : -exp1(-x);
    if (std::isinf(x)) return x;
    double term = 1, sum = 0;
    if (x < 40) {
        for (int k = 1; k < 200 && !(term < 1e-18 * sum); k++) term *= x / k, sum += term / k;
        return sum + 0.57721566490153286061 + ::log(x);
    }
    for (int k = 1; k < x && term > 1e-18; k++) sum += term, term *= k / x;
    return x > 700 ? ::exp(x - ::log(x)) * sum : ::exp(x) / x * sum;
}

// The real branches 0 and -1 of w exp(w) = x: Halley's method from the series at the branch point, or from logarithms.
// DLMF 4.13.6, 4.13.10.
SG_FN double lambertw(double x, double branch) {
    const double gap = 2.7182818284590452354 * x + 1;
    if (!(gap > -1e-15) || (branch == 0 ? false : branch != -1 || x > 0)) {
        return std::numeric_limits<double>::quiet_NaN();
    }
    if (x == 0) return branch == 0 ? x : -std::numeric_limits<double>::infinity();
    if (std::isinf(x)) return x;
    if (gap <= 0) return -1;
    const double p = (branch == 0 ? 1 : -1) * std::sqrt(2 * gap);
    const double away = branch == 0 ? ::log(x > 3 ? x : 3.0) : ::log(-x);
    const double twice = ::log(branch == 0 ? away : -away);
    double w = gap < 0.3 ? -1 + p * (1 - p * (1.0 / 3 - p * (11.0 / 72)))
               : branch == 0 && x <= 3 ? ::log1p(x) * (x > 0 ? 0.8 : 1.0) : away - twice + twice / away;
    for (int k = 0; k < 40; k++) {
        const double power = ::exp(w), miss = w * power - x;
        const double step = miss / (power * (w + 1) - (w + 2) * miss / (2 * w + 2));
        if (!std::isfinite(step)) break;
        w -= step;
        if (std::abs(step) <= 1e-16 * std::abs(w)) break;
    }
    return w;
}

// r - log(1 + r), without what nearly cancels.
SG_FN double gap_of_logarithm(double r) {
    if (std::abs(r) > 1e-2) return r - ::log1p(r);
    return r * r * (1.0 / 2 - r * (1.0 / 3 - r * (1.0 / 4 - r * (1.0 / 5 - r * (1.0 / 6 - r * (1.0 / 7 - r / 8))))));
}
// What x^a exp(-x) / Gamma(a) is; from a = 20 on by Stirling's series, as the exponents nearly cancel.
SG_FN double gamma_factor(double x, double a) {
    if (a < 20) return ::exp(a * ::log(x) - x - gammaln(a));
    const double away = (x - a) / a, over = 1 / a, square = over * over;
    const double rest = over * (1.0 / 12 - square * (1.0 / 360 - square * (1.0 / 1260 - square / 1680)));
    const double gap = std::abs(away) < 0.5 ? gap_of_logarithm(away) : away - ::log(x / a);
    return ::exp(-a * gap - rest) * std::sqrt(a * 0.15915494309189533577);
}
// The same share for large a, where the sums below are long: Temme's uniform expansion, whose second term is beyond the
// last digit. DLMF 8.12.3, 8.12.4.
SG_FN double gamma_share_far(double x, double a, bool above) {
    const double away = (x - a) / a, gap = std::abs(away) < 0.5 ? gap_of_logarithm(away) : away - ::log(x / a);
    const double eta = ::copysign(std::sqrt(2 * gap), away);
    const double first = std::abs(eta) < 1e-3 ? -1.0 / 3 + eta * (1.0 / 12 - eta * 2 / 135) : 1 / away - 1 / eta;
    const double rest = ::exp(-a * gap) * first / std::sqrt(a * 6.28318530717958647693);
    const double side = eta * std::sqrt(a / 2);
    return above ? 0.5 * ::erfc(side) + rest : 0.5 * ::erfc(-side) - rest;
}
// The share of the gamma function's integral below x, or above it: the power series left of the maximum, a continued
// fraction right of it. DLMF 8.11.4, 8.9.2.
SG_FN double gamma_share(double x, double a, bool above) {
    if (!(x >= 0) || !(a > 0)) return std::numeric_limits<double>::quiet_NaN();
    if (x == 0) return above;
    if (std::isinf(x)) return std::isinf(a) ? std::numeric_limits<double>::quiet_NaN() : double(!above);
    if (std::isinf(a)) return above;
    if (a > 1e10) return gamma_share_far(x, a, above);
    const double factor = gamma_factor(x, a);
    if (x < a + 1 && (a >= 1 || x < 0.5)) {
        double term = 1 / a, sum = term;
        for (double k = a + 1; term > 1e-17 * sum; k += 1) sum += term *= x / k;
        return above ? 1 - factor * sum : factor * sum;
    }
    double b = x + 1 - a, c = 1e300, d = 1 / b, found = d;
    for (double k = 1; k < 1e6; k += 1) {
        const double part = k * (a - k);
        b += 2;
        d = 1 / (part * d + b);
        c = b + part / c;
        found *= c * d;
        if (std::abs(c * d - 1) < 1e-16) break;
    }
    return above ? factor * found : 1 - factor * found;
}
SG_FN double gammainc(double x, double a) { return gamma_share(x, a, false); }
SG_FN double gammaincc(double x, double a) { return gamma_share(x, a, true); }

// The share of the beta function's integral below x: the continued fraction on the side of the mean where it converges
// fast. DLMF 8.17.22.
SG_FN double beta_part(double x, double rest, double a, double b) {
    double c = 1, d = 1 / (1 - (a + b) * x / (a + 1)), found = d;
    for (double k = 1; k < 1e6; k += 1) {
        const double even = k * (b - k) * x / ((a + 2 * k - 1) * (a + 2 * k));
        d = 1 / (1 + even * d);
        c = 1 + even / c;
        found *= c * d;
        const double odd = -(a + k) * (a + b + k) * x / ((a + 2 * k) * (a + 2 * k + 1));
        d = 1 / (1 + odd * d);
        c = 1 + odd / c;
        found *= c * d;
        if (std::abs(c * d - 1) < 1e-16) break;
    }
    return found / a * ::exp(a * ::log(x) + b * ::log(rest) - (gammaln(a) + gammaln(b) - gammaln(a + b)));
}
SG_FN double betainc(double x, double a, double b) {
    if (!(x >= 0 && x <= 1) || !(a > 0) || !(b > 0)) return std::numeric_limits<double>::quiet_NaN();
    if (x == 0 || x == 1) return x;
    return x * (a + b + 2) < a + 1 ? beta_part(x, 1 - x, a, b) : 1 - beta_part(1 - x, x, b, a);
}

// Of single precision: through double precision.
SG_FN float bessel_k(float x, float order) { return float(bessel_k(double(x), double(order))); }
SG_FN float lambertw(float x, float branch) { return float(lambertw(double(x), double(branch))); }
SG_FN float expi(float x) { return float(expi(double(x))); }
SG_FN float exp1(float x) { return float(exp1(double(x))); }
SG_FN float gammainc(float x, float a) { return float(gammainc(double(x), double(a))); }
SG_FN float gammaincc(float x, float a) { return float(gammaincc(double(x), double(a))); }
SG_FN float betainc(float x, float a, float b) { return float(betainc(double(x), double(a), double(b))); }
SG_FN float gammaln(float x) { return float(gammaln(double(x))); }
SG_FN float gamma(float x) { return float(gamma(double(x))); }
SG_FN float digamma(float x) { return float(digamma(double(x))); }
SG_FN float polygamma(float x, float order) { return float(polygamma(double(x), double(order))); }
SG_FN float erfc(float x) { return ::erfcf(x); }
SG_FN float erfcx(float x) { return float(erfcx(double(x))); }
SG_FN float ndtri(float p) { return float(ndtri(double(p))); }
SG_FN float erfinv(float y) { return float(erfinv(double(y))); }
SG_FN float bessel_j(float x, float order) { return float(bessel_j(double(x), double(order))); }
SG_FN float bessel_y(float x, float order) { return float(bessel_y(double(x), double(order))); }
SG_FN float bessel_i(float x, float order) { return float(bessel_i(double(x), double(order))); }
SG_FN float bessel_ie(float x, float order) { return float(bessel_ie(double(x), double(order))); }

}  // namespace sg

#endif
