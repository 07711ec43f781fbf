// Calls of NVIDIA's libraries for matrices and Fourier transforms, which are loaded when a program needs the first of them:
// nothing is linked, and no header of theirs is read. The types of their functions, with plain numbers for enumerations
// and plain pointers for handles, are those of `cublas_api.h`, `cusolverDn.h` and `cufft.h`; a test compares them.
// Operands are row-major, as everywhere: the libraries, which count columns first, see each of them transposed. Whoever
// calls this has seen to it that matrices have unit stride along one dimension. Work is done in the order of the stream;
// the host waits for nothing.
#ifndef SDFGAD_GPU_LIBRARIES_H
#define SDFGAD_GPU_LIBRARIES_H
#include <dlfcn.h>

#include <cstdlib>
#include <initializer_list>
#include <string>
#include <vector>

namespace sg {

// A library that cannot be loaded, or has no function of this name.
struct Missing {
    std::string what;
};
// A routine asks for more to work in than the plan has, and a limit is to be kept.
struct Crowded {
    std::string what;
};
// A library says that it cannot do something.
struct Refused {
    std::string what;
};

template <class T> struct RealOf {
    using type = T;
};
template <class R> struct RealOf<Complex<R>> {
    using type = R;
};
template <class T> using real_of = typename RealOf<T>::type;

namespace library {

using Handle = void *;
template <class T> using Gemm = int(Handle, int, int, int, int, int, const T *, const T *, int, const T *, int, const T *,
                                    T *, int);
template <class T> using GemmStridedBatched = int(Handle, int, int, int, int, int, const T *, const T *, int, long long,
                                                  const T *, int, long long, const T *, T *, int, long long, int);
template <class T> using Trsm = int(Handle, int, int, int, int, int, int, const T *, const T *, int, T *, int);
template <class T> using PotrfSize = int(Handle, int, int, T *, int, int *);
template <class T> using Potrf = int(Handle, int, int, T *, int, T *, int, int *);
template <class T> using GetrfSize = int(Handle, int, int, T *, int, int *);
template <class T> using Getrf = int(Handle, int, int, T *, int, T *, int *, int *);
template <class T> using Getrs = int(Handle, int, int, int, const T *, int, const int *, T *, int, int *);
template <class T> using GeqrfSize = int(Handle, int, int, T *, int, int *);
template <class T> using Geqrf = int(Handle, int, int, T *, int, T *, T *, int, int *);
template <class T> using OrgqrSize = int(Handle, int, int, int, const T *, int, const T *, int *);
template <class T> using Orgqr = int(Handle, int, int, int, T *, int, const T *, T *, int, int *);
template <class T> using SyevdSize = int(Handle, int, int, int, const T *, int, const real_of<T> *, int *);
template <class T> using Syevd = int(Handle, int, int, int, T *, int, real_of<T> *, T *, int, int *);
using GesvdSize = int(Handle, int, int, int *);
template <class T> using Gesvd = int(Handle, signed char, signed char, int, int, T *, int, real_of<T> *, T *, int, T *, int,
                                     T *, int, real_of<T> *, int *);
using Create = int(Handle *);
using Destroy = int(Handle);
using SetStream = int(Handle, cudaStream_t);
using SetWorkspace = int(Handle, void *, size_t);
using FftCreate = int(int *);
using FftDestroy = int(int);
using FftSetStream = int(int, cudaStream_t);
using FftSetAutoAllocation = int(int, int);
using FftSetWorkArea = int(int, void *);
using FftMakePlanMany = int(int, int, int *, int *, int, int, int *, int, int, int, int, size_t *);
template <class T> using FftExec = int(int, T *, T *, int);

enum { None = 0, Transposed = 1 };  // of an operand
enum { Lower = 0, Upper = 1 };
enum { Left = 0, Right = 1 };
enum { Vectors = 1 };
enum { SingleToSingle = 0x29, DoubleToDouble = 0x69 };

// `lib<stem>.so.<version>`, by what the system looks for it in and then in the toolkit that CUDA_HOME names; one that the
// process has loaded already is that one.
inline void *opened(const char *stem, std::initializer_list<int> versions) {
    const char *home = std::getenv("CUDA_HOME");
    std::string names;
    for (int version : versions) {
        const std::string name = std::string("lib") + stem + ".so." + std::to_string(version);
        if (void *found = dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL)) return found;
        if (home)
            if (void *found = dlopen((std::string(home) + "/lib64/" + name).c_str(), RTLD_NOW | RTLD_LOCAL)) return found;
        names += (names.empty() ? "" : ", ") + name;
    }
    throw Missing{"none of " + names + " can be loaded"};
}
inline void *blas() {
    static void *const found = opened("cublas", {13, 12, 11});
    return found;
}
inline void *solver() {
    static void *const found = opened("cusolver", {12, 11, 10});
    return found;
}
inline void *fourier() {
    static void *const found = opened("cufft", {12, 11, 10});
    return found;
}
template <class F> F *entry(void *library, const std::string &name) {
    void *found = dlsym(library, name.c_str());
    if (!found) throw Missing{"a library of CUDA that can be loaded has no function " + name};
    return reinterpret_cast<F *>(found);
}
template <class T> constexpr const char *letter() {
    if constexpr (std::is_same_v<T, float>) return "S";
    else if constexpr (std::is_same_v<T, double>) return "D";
    else if constexpr (std::is_same_v<T, Complex<float>>) return "C";
    else return "Z";
}
inline void done(int status, const char *what) {
    if (status) throw Refused{std::string(what) + " has failed with status " + std::to_string(status)};
}
// A function of cuBLAS or cuSOLVER for numbers of type T, looked up once.
#define SG_BLAS(type, name) \
    ([] { static const auto found = library::entry<type>(library::blas(), std::string("cublas") + library::letter<T>() + name); \
          return found; }())
#define SG_SOLVER(type, name) \
    ([] { static const auto found = library::entry<type>(library::solver(), std::string("cusolverDn") + library::letter<T>() + name); \
          return found; }())
#define SG_FOURIER(type, name) \
    ([] { static const auto found = library::entry<type>(library::fourier(), name); return found; }())

}  // namespace library

// How a library sees a strided row-major matrix: as it is or transposed, with the distance of its rows.
struct Rows {
    bool turned;
    int lead;
};
inline Rows rows_of(int64_t rows, int64_t columns, int64_t s0, int64_t s1) {
    if ((s1 == 1 || columns <= 1) && (s0 >= columns || rows <= 1)) return {false, int(std::max<int64_t>({s0, columns, 1}))};
    return {true, int(std::max<int64_t>({s1, rows, 1}))};
}

// What the calls of a program share. stream: of the call that runs. limited: whether the call has promised to keep within
// its plan. peak: the most bytes that a routine took to work in beyond it.
template <class = void> class LibrariesOf {
public:
    int64_t peak = 0;
    bool limited = false;

    LibrariesOf() = default;
    LibrariesOf(const LibrariesOf &) = delete;
    ~LibrariesOf() { forget(); }
    // Handles belong to the device on which they were made.
    LibrariesOf &on(cudaStream_t stream) {
        int device = 0;
        must(cudaGetDevice(&device));
        if (device != device_) forget();
        device_ = device, stream_ = stream;
        return *this;
    }

    // x (m, n) = scale * a (m, k) @ b (k, n), or += with `add`.
    template <class T>
    void gemm(int64_t m, int64_t n, int64_t k, const T *a, int64_t a0, int64_t a1, const T *b, int64_t b0, int64_t b1, T *x,
              int64_t x0, int64_t x1, bool add, T scale, T *room, int64_t most) {
        if (m <= 0 || n <= 0 || k <= 0) return;
        const Rows lx = rows_of(m, n, x0, x1);
        if (lx.turned) return gemm(n, m, k, b, b1, b0, a, a1, a0, x, x1, x0, add, scale, room, most);
        const Rows la = rows_of(m, k, a0, a1), lb = rows_of(k, n, b0, b1);
        const T sum = T(add ? 1 : 0);
        library::done(SG_BLAS(library::Gemm<T>, "gemm_v2")(blas(room, most), lb.turned, la.turned, int(n), int(m), int(k), &scale, b,
                                                           lb.lead, a, la.lead, &sum, x, lx.lead), "a matrix product");
    }
    // The same for `count` matrices, each so many elements behind the one before.
    template <class T>
    void gemm_batched(int64_t count, int64_t m, int64_t n, int64_t k, const T *a, int64_t a0, int64_t a1, int64_t a_next,
                      const T *b, int64_t b0, int64_t b1, int64_t b_next, T *x, int64_t x0, int64_t x1, int64_t x_next,
                      bool add, T scale, T *room, int64_t most) {
        if (m <= 0 || n <= 0 || k <= 0 || count <= 0) return;
        const Rows lx = rows_of(m, n, x0, x1);
        if (lx.turned)
            return gemm_batched(count, n, m, k, b, b1, b0, b_next, a, a1, a0, a_next, x, x1, x0, x_next, add, scale,
                                room, most);
        const Rows la = rows_of(m, k, a0, a1), lb = rows_of(k, n, b0, b1);
        const T sum = T(add ? 1 : 0);
        library::done(SG_BLAS(library::GemmStridedBatched<T>, "gemmStridedBatched")(
            blas(room, most), lb.turned, la.turned, int(n), int(m), int(k), &scale, b, lb.lead, b_next, a, la.lead, a_next, &sum, x,
            lx.lead, x_next, int(count)), "a product of several matrices");
    }
    // x (m, n) = t^-1 x, in place, reading one triangle of t.
    template <class T>
    void trsm(int64_t m, int64_t n, const T *t, int64_t t0, int64_t t1, bool lower, bool unit, T *x, int64_t lead,
              T *room, int64_t most) {
        if (m <= 0 || n <= 0) return;
        const Rows lt = rows_of(m, m, t0, t1);
        const T one = T(1);
        library::done(SG_BLAS(library::Trsm<T>, "trsm_v2")(
            blas(room, most), library::Right, lower == lt.turned ? library::Lower : library::Upper, lt.turned, unit, int(n), int(m),
            &one, t, lt.lead, x, int(std::max(lead, n))), "a triangular system");
    }
    // In place on a (n, n), overwritten by its factors; info is not zero where it is singular.
    template <class T> void getrf(int64_t n, T *a, int64_t lead, int32_t *pivots, int32_t *info, T *room, int64_t most) {
        if (n <= 0) return;
        int size = 0;
        const int l = int(std::max(lead, n));
        library::done(SG_SOLVER(library::GetrfSize<T>, "getrf_bufferSize")(solver(), int(n), int(n), a, l, &size), kLu);
        const Room<T> work(*this, room, most, size, kLu);
        library::done(SG_SOLVER(library::Getrf<T>, "getrf")(solver(), int(n), int(n), a, l, work.start, pivots, info), kLu);
    }
    // b holds right-hand sides as rows, `count` of them, and receives the solutions of a system, or of the transposed one.
    template <class T>
    void getrs(int64_t n, int64_t count, const T *a, int64_t lead, const int32_t *pivots, T *b, int64_t b_lead,
               int32_t *info, bool turned) {
        if (n <= 0 || count <= 0) return;
        library::done(SG_SOLVER(library::Getrs<T>, "getrs")(
            solver(), turned ? library::None : library::Transposed, int(n), int(count), a, int(std::max(lead, n)), pivots, b,
            int(std::max(b_lead, n)), info), kLu);
    }
    // The lower factor in place; the strict upper triangle stays as it is.
    template <class T> void potrf(int64_t n, T *a, int64_t lead, int32_t *info, T *room, int64_t most) {
        if (n <= 0) return;
        int size = 0;
        const int l = int(std::max(lead, n));
        library::done(SG_SOLVER(library::PotrfSize<T>, "potrf_bufferSize")(solver(), library::Upper, int(n), a, l, &size),
                      kCholesky);
        const Room<T> work(*this, room, most, size, kCholesky);
        library::done(SG_SOLVER(library::Potrf<T>, "potrf")(solver(), library::Upper, int(n), a, l, work.start, size, info),
                      kCholesky);
    }
    // a (n, m) holds the columns of a matrix (m, n), m >= n, as rows: reflections, and what belongs to them in tau (n).
    template <class T> void geqrf(int64_t m, int64_t n, T *a, T *tau, int32_t *info, T *room, int64_t most) {
        if (n <= 0) return;
        int size = 0;
        library::done(SG_SOLVER(library::GeqrfSize<T>, "geqrf_bufferSize")(solver(), int(m), int(n), a, int(m), &size), kQr);
        const Room<T> work(*this, room, most, size, kQr);
        library::done(SG_SOLVER(library::Geqrf<T>, "geqrf")(solver(), int(m), int(n), a, int(m), tau, work.start, size,
                                                            info), kQr);
    }
    // Reflections become the orthonormal columns.
    template <class T> void orgqr(int64_t m, int64_t n, T *a, const T *tau, int32_t *info, T *room, int64_t most) {
        if (n <= 0) return;
        int size = 0;
        const int rows = int(m), columns = int(n);
        library::done(SG_SOLVER(library::OrgqrSize<T>, (is_complex<T> ? "ungqr_bufferSize" : "orgqr_bufferSize"))(
            solver(), rows, columns, columns, a, rows, tau, &size), kQr);
        const Room<T> work(*this, room, most, size, kQr);
        library::done(SG_SOLVER(library::Orgqr<T>, (is_complex<T> ? "ungqr" : "orgqr"))(
            solver(), rows, columns, columns, a, rows, tau, work.start, size, info), kQr);
    }
    // a (n, n) holds the columns of a Hermitian matrix as rows, of which the lower triangle counts; then its eigenvectors,
    // one a row, by ascending values.
    template <class T> void syevd(int64_t n, T *a, real_of<T> *values, int32_t *info, T *room, int64_t most) {
        if (n <= 0) return;
        int size = 0;
        library::done(SG_SOLVER(library::SyevdSize<T>, (is_complex<T> ? "heevd_bufferSize" : "syevd_bufferSize"))(
            solver(), library::Vectors, library::Lower, int(n), a, int(n), values, &size), kEigen);
        const Room<T> work(*this, room, most, size, kEigen);
        library::done(SG_SOLVER(library::Syevd<T>, (is_complex<T> ? "heevd" : "syevd"))(
            solver(), library::Vectors, library::Lower, int(n), a, int(n), values, work.start, size, info), kEigen);
    }
    // a (n, m) holds the columns of a matrix (m, n), m >= n, as rows and is lost. left (n, m) has the left vectors as rows,
    // right (n, n) column l of it the conjugate of the right vector l, as a library does that counts columns first.
    template <class T>
    void gesvd(int64_t m, int64_t n, T *a, real_of<T> *values, T *left, T *right, int32_t *info, T *room, int64_t most) {
        if (n <= 0) return;
        int size = 0;
        library::done(SG_SOLVER(library::GesvdSize, "gesvd_bufferSize")(solver(), int(m), int(n), &size), kSingular);
        const Room<T> work(*this, room, most, size, kSingular);
        library::done(SG_SOLVER(library::Gesvd<T>, "gesvd")(solver(), 'S', 'S', int(m), int(n), a, int(m), values, left,
                                                            int(m), right, int(n), work.start, size, nullptr, info),
                      kSingular);
    }
    // `count` transforms of n complex numbers each, not divided by n.
    template <class T>
    void fft(int64_t count, int64_t n, const T *a, int64_t a_step, int64_t a_next, T *x, int64_t x_step, int64_t x_next,
             bool inverse, T *room, int64_t most) {
        if (count <= 0 || n <= 0) return;
        const Plan &plan = planned({int(n), int(count), int(a_step), int(a_next), int(x_step), int(x_next),
                                    sizeof(T) == 8 ? library::SingleToSingle : library::DoubleToDouble});
        const Room<T> work(*this, room, most, int64_t((plan.bytes + sizeof(T) - 1) / sizeof(T)), kFourier);
        library::done(SG_FOURIER(library::FftSetStream, "cufftSetStream")(plan.handle, stream_), kFourier);
        library::done(SG_FOURIER(library::FftSetWorkArea, "cufftSetWorkArea")(plan.handle, work.start), kFourier);
        const auto run = SG_FOURIER(library::FftExec<T>, (sizeof(T) == 8 ? "cufftExecC2C" : "cufftExecZ2Z"));
        library::done(run(plan.handle, const_cast<T *>(a), x, inverse ? 1 : -1), kFourier);
    }

private:
    static constexpr const char *kLu = "an LU factorisation", *kCholesky = "a Cholesky factorisation",
                                *kQr = "a QR factorisation", *kEigen = "an eigenvalue problem",
                                *kSingular = "a singular value decomposition", *kFourier = "a Fourier transform";
    struct Plan {
        int numbers[7];
        int handle;
        size_t bytes;
    };
    // What a routine works in: the part of the program's block that the plan has for it. Where that is too little, memory of
    // its own, in the order of the stream, unless a limit has been promised.
    template <class T> struct Room {
        LibrariesOf &all;
        T *start, *own = nullptr;
        Room(LibrariesOf &libraries, T *room, int64_t most, int64_t count, const char *what) : all(libraries), start(room) {
            if (count <= most) return;
            const int64_t bytes = count * int64_t(sizeof(T));
            if (all.limited)
                throw Crowded{std::string(what) + " asks for " + std::to_string(bytes) + " bytes to work in, and the plan has " +
                              std::to_string(most * int64_t(sizeof(T)))};
            if (cudaMallocAsync(reinterpret_cast<void **>(&own), size_t(bytes), all.stream_) != cudaSuccess) {
                (void)cudaGetLastError();
                throw std::bad_alloc();
            }
            start = own;
            all.peak = std::max(all.peak, bytes);
        }
        Room(const Room &) = delete;
        ~Room() {
            if (own) (void)cudaFreeAsync(own, all.stream_);
        }
    };

    void forget() {
        using namespace library;
        if (blas_) (void)entry<Destroy>(library::blas(), "cublasDestroy_v2")(blas_);
        if (solver_) (void)entry<Destroy>(library::solver(), "cusolverDnDestroy")(solver_);
        for (const Plan &plan : plans_) (void)entry<FftDestroy>(fourier(), "cufftDestroy")(plan.handle);
        blas_ = solver_ = nullptr;
        plans_.clear();
    }
    // Its routines work in what they are given, at addresses that are multiples of 256.
    template <class T> library::Handle blas(T *room, int64_t most) {
        constexpr uintptr_t kAligned = 256;
        if (!blas_) library::done(library::entry<library::Create>(library::blas(), "cublasCreate_v2")(&blas_), "cuBLAS");
        library::done(library::entry<library::SetStream>(library::blas(), "cublasSetStream_v2")(blas_, stream_), "cuBLAS");
        const uintptr_t first = reinterpret_cast<uintptr_t>(room), start = (first + kAligned - 1) / kAligned * kAligned;
        library::done(library::entry<library::SetWorkspace>(library::blas(), "cublasSetWorkspace_v2")(
            blas_, reinterpret_cast<void *>(start), size_t(most) * sizeof(T) - (start - first)), "cuBLAS");
        return blas_;
    }
    library::Handle solver() {
        if (!solver_)
            library::done(library::entry<library::Create>(library::solver(), "cusolverDnCreate")(&solver_), "cuSOLVER");
        library::done(library::entry<library::SetStream>(library::solver(), "cusolverDnSetStream")(solver_, stream_),
                      "cuSOLVER");
        return solver_;
    }
    const Plan &planned(const int (&numbers)[7]) {
        for (const Plan &plan : plans_)
            if (std::equal(numbers, numbers + 7, plan.numbers)) return plan;
        Plan plan{};
        std::copy(numbers, numbers + 7, plan.numbers);
        int n[] = {numbers[0]};  // distances count where the sizes of what holds the signals are given
        library::done(SG_FOURIER(library::FftCreate, "cufftCreate")(&plan.handle), kFourier);
        library::done(SG_FOURIER(library::FftSetAutoAllocation, "cufftSetAutoAllocation")(plan.handle, 0), kFourier);
        library::done(SG_FOURIER(library::FftMakePlanMany, "cufftMakePlanMany")(
            plan.handle, 1, n, n, numbers[2], numbers[3], n, numbers[4], numbers[5], numbers[6], numbers[1], &plan.bytes),
            kFourier);
        plans_.push_back(plan);
        return plans_.back();
    }

    library::Handle blas_ = nullptr, solver_ = nullptr;
    std::vector<Plan> plans_;
    cudaStream_t stream_ = nullptr;
    int device_ = -1;
};
using Libraries = LibrariesOf<>;

// What has gone wrong so far in a program's factorisations: raised where it is looked at, behind all that was started.
inline void look(const int32_t *trouble, cudaStream_t stream) {
    int32_t found = 0;
    must(cudaMemcpyAsync(&found, trouble, sizeof found, cudaMemcpyDeviceToHost, stream));
    must(cudaStreamSynchronize(stream));
    if (found == 1) throw Singular{};
    if (found == 2) throw Unconverged{};
}

// Where an element stands when two sorted runs of `width` become one: behind those of its own run that stand before it,
// and behind those of the other run that come first, equal ones of the left run among them.
template <class Values, class Order>
SG_FN int64_t merged_place(Values values, Order order, int64_t n, int64_t width, int64_t at) {
    const int64_t own = at / width * width, left = own / (2 * width) * (2 * width);
    const bool is_left = own == left;
    int64_t low = is_left ? least(left + width, n) : left, high = is_left ? least(left + 2 * width, n) : own;
    const int64_t first = low;
    const auto mine = values[order[at]];
    while (low < high) {
        const int64_t middle = low + (high - low) / 2;
        const auto other = values[order[middle]];
        const bool before = is_left ? comes_before(other, mine) : !comes_before(mine, other);
        if (before) low = middle + 1;
        else high = middle;
    }
    return left + (at - own) + (low - first);
}

}  // namespace sg
#endif
