// NVIDIA's libraries for tests: the functions that programs for graphics processors call, on the memory and the streams of
// cuda_runtime.h. They look at what they are given (handles, streams, distances, memory that is the device's and large
// enough, room to work in), do the work when somebody waits for it, and compute by LAPACK and by plain loops.
// One object, linked under the names of the three libraries.
#include <algorithm>
#include <complex>
#include <cstring>
#include <limits>
#include <map>
#include <vector>

#include "cuda_runtime.h"
#include "sdfgad_blas.h"

namespace {

using C = std::complex<float>;
using Z = std::complex<double>;
template <class T> struct Real { using type = T; };
template <class R> struct Real<std::complex<R>> { using type = R; };
template <class T> using real_of = typename Real<T>::type;
template <class T> T conjugate(T x) {
    if constexpr (std::is_same_v<T, real_of<T>>) return x;
    else return std::conj(x);
}

struct Handle {
    char kind;
    cudaStream_t stream;
    bool streamed;
};
// Reported as a fault of the device: whoever waits next is told.
bool is(bool fine, const char *otherwise) {
    if (!fine) cuda_on_cpu::report(otherwise);
    return fine;
}
template <class T> bool is_matrix(const T *place, int64_t rows, int64_t columns, int64_t lead) {
    return is(lead >= std::max<int64_t>(1, rows), "a leading dimension that is shorter than a column") &&
           is(cuda_on_cpu::block_of(place, size_t(lead * (columns - 1) + rows) * sizeof(T)),
              "a matrix that is not in the device's memory");
}
template <class T> bool is_room(const T *place, int64_t count) {
    return is(cuda_on_cpu::block_of(place, size_t(count) * sizeof(T)), "room that is not in the device's memory");
}
bool is_handle(void *handle, char kind) {
    const Handle *own = static_cast<Handle *>(handle);
    return is(own && own->kind == kind, "a handle of another library") && is(own->streamed, "a handle without a stream");
}
int given(void *handle, cuda_on_cpu::Task task) {
    cuda_on_cpu::give(static_cast<Handle *>(handle)->stream, std::move(task));
    return 0;
}
// What routines work in holds nothing afterwards that anybody may count on.
template <class T> void spoil(T *room, int count) {
    std::fill(room, room + count, T(std::numeric_limits<real_of<T>>::quiet_NaN()));
}
constexpr int WRONG = 0;  // the fault tells more than a status

template <class T> T element(int how, const T *a, int lead, int i, int j) {
    return how == 0 ? a[i + int64_t(j) * lead] : how == 1 ? a[j + int64_t(i) * lead] : conjugate(a[j + int64_t(i) * lead]);
}
template <class T>
void multiply(int ta, int tb, int m, int n, int k, T alpha, const T *a, int lda, const T *b, int ldb, T beta, T *c, int ldc) {
    for (int j = 0; j < n; ++j)
        for (int i = 0; i < m; ++i) {
            T sum = 0;
            for (int l = 0; l < k; ++l) sum += element(ta, a, lda, i, l) * element(tb, b, ldb, l, j);
            T &out = c[i + int64_t(j) * ldc];
            out = alpha * sum + (beta == T(0) ? T(0) : beta * out);
        }
}
template <class T>
int gemm(void *h, int ta, int tb, int m, int n, int k, const T *alpha, const T *a, int lda, long long an, const T *b, int ldb,
         long long bn, const T *beta, T *c, int ldc, long long cn, int count) {
    for (int r = 0; r < count; r += std::max(1, count - 1))
        if (!is_handle(h, 'b') || !is_matrix(a + r * an, ta ? k : m, ta ? m : k, lda) ||
            !is_matrix(b + r * bn, tb ? n : k, tb ? k : n, ldb) || !is_matrix(c + r * cn, m, n, ldc))
            return WRONG;
    if (!is(!cuda_on_cpu::block_of(alpha) && !cuda_on_cpu::block_of(beta), "a factor that is not the host's")) return WRONG;
    return given(h, [=, alpha = *alpha, beta = *beta] {
        for (int r = 0; r < count; ++r) multiply(ta, tb, m, n, k, alpha, a + r * an, lda, b + r * bn, ldb, beta, c + r * cn, ldc);
    });
}
// x op(t) = b for x, in place, each row of it alone.
template <class T>
int trsm(void *h, int side, int uplo, int how, int diag, int m, int n, const T *alpha, const T *t, int ldt, T *x, int ldx) {
    if (!is_handle(h, 'b') || !is_matrix(t, n, n, ldt) || !is_matrix(x, m, n, ldx) || !is(side == 1, "a side that is not used"))
        return WRONG;
    return given(h, [=, alpha = *alpha] {
        const bool upper = (uplo == 1) == (how == 0);
        for (int i = 0; i < m; ++i)
            for (int s = 0; s < n; ++s) {
                const int j = upper ? s : n - 1 - s;
                T &here = x[i + int64_t(j) * ldx];
                here *= alpha;
                for (int l = upper ? 0 : j + 1; l < (upper ? j : n); ++l)
                    here -= x[i + int64_t(l) * ldx] * element(how, t, ldt, l, j);
                if (!diag) here /= element(how, t, ldt, j, j);
            }
    });
}
// Factorisations do not look for NaN first, as NVIDIA's do not (`_work`): LAPACKE would leave pivots unwritten.
// Sizes that no routine of LAPACK's would ask for: only what was asked for may be used.
int wished(int m, int n) { return 5 * n + 3 * m + 1; }

template <class T> int getrs(void *h, int how, int n, int count, const T *a, int lda, const int *pivots, T *b, int ldb, int *info) {
    if (!is_handle(h, 's') || !is_matrix(a, n, n, lda) || !is_matrix(b, n, count, ldb) || !is_room(pivots, n) ||
        !is_room(info, 1))
        return WRONG;
    return given(h, [=] {
        const auto exchange = [=](T *x, int i) { std::swap(x[i], x[pivots[i] - 1]); };
        for (int r = 0; r < count; ++r) {
            T *x = b + int64_t(r) * ldb;
            for (int i = 0; i < n && !how; ++i) exchange(x, i);
            for (int pass = 0; pass < 2; ++pass) {
                const bool unit = pass == (how ? 1 : 0), forward = pass == 0;
                for (int s = 0; s < n; ++s) {
                    const int i = forward ? s : n - 1 - s;
                    for (int l = forward ? 0 : i + 1; l < (forward ? i : n); ++l) x[i] -= element(how, a, lda, i, l) * x[l];
                    if (!unit) x[i] /= element(how, a, lda, i, i);
                }
            }
            for (int i = n - 1; i >= 0 && how; --i) exchange(x, i);
        }
        *info = 0;
    });
}

struct Plan {
    int n, from_step, from_next, to_step, to_next, type, count;
    cudaStream_t stream;
    bool streamed, own_room;
    char *room;
};
std::map<int, Plan> &plans() {
    static std::map<int, Plan> all;
    return all;
}
size_t room_of(const Plan &plan) { return size_t(plan.n) * plan.count * 16 + 32; }
template <class T> int transform(int number, T *from, T *to, int direction) {
    const Plan p = plans().at(number);
    const auto last = [&](int step, int next) { return size_t(int64_t(p.n - 1) * step + int64_t(p.count - 1) * next + 1) * sizeof(T); };
    if (!is(p.streamed && !p.own_room, "a plan without a stream, or with memory of its own") || !is_room(p.room, room_of(p)) ||
        !is(p.type == (sizeof(T) == 8 ? 0x29 : 0x69), "a plan for other numbers") ||
        !is(cuda_on_cpu::block_of(from, last(p.from_step, p.from_next)) && cuda_on_cpu::block_of(to, last(p.to_step, p.to_next)),
            "signals that are not in the device's memory"))
        return WRONG;
    cuda_on_cpu::give(p.stream, [=] {
        std::fill(p.room, p.room + room_of(p), char(-1));
        for (int r = 0; r < p.count; ++r)
            for (int j = 0; j < p.n; ++j) {
                Z sum = 0;
                for (int k = 0; k < p.n; ++k)
                    sum += Z(from[int64_t(r) * p.from_next + int64_t(k) * p.from_step]) *
                           std::polar(1.0, direction * 2 * 3.14159265358979323846 * double(int64_t(j) * k % p.n) / p.n);
                to[int64_t(r) * p.to_next + int64_t(j) * p.to_step] = T(sum);
            }
    });
    return 0;
}
int made(void **handle, char kind) { return *handle = new Handle{kind, nullptr, false}, 0; }
int on(void *handle, cudaStream_t stream) {
    static_cast<Handle *>(handle)->stream = stream, static_cast<Handle *>(handle)->streamed = true;
    return 0;
}
int gone(void *handle) { return delete static_cast<Handle *>(handle), 0; }

}  // namespace

extern "C" {

int cublasCreate_v2(void **handle) { return made(handle, 'b'); }
int cublasDestroy_v2(void *handle) { return gone(handle); }
int cublasSetStream_v2(void *handle, cudaStream_t stream) { return on(handle, stream); }
int cublasSetWorkspace_v2(void *handle, void *room, size_t bytes) {
    const bool fine = is_handle(handle, 'b') && is(bytes >= 1 << 14, "too little room") &&
                      is(reinterpret_cast<uintptr_t>(room) % 256 == 0, "room at an odd place") &&
                      is_room(static_cast<char *>(room), int64_t(bytes));
    if (!fine) return WRONG;
    return given(handle, [=] { std::memset(room, 0xff, bytes); });
}
int cusolverDnCreate(void **handle) { return made(handle, 's'); }
int cusolverDnDestroy(void *handle) { return gone(handle); }
int cusolverDnSetStream(void *handle, cudaStream_t stream) { return on(handle, stream); }

#define PRODUCTS(U, T) \
    int cublas##U##gemm_v2(void *h, int ta, int tb, int m, int n, int k, const T *alpha, const T *a, int lda, const T *b, \
                           int ldb, const T *beta, T *c, int ldc) { \
        return gemm(h, ta, tb, m, n, k, alpha, a, lda, 0, b, ldb, 0, beta, c, ldc, 0, 1); \
    } \
    int cublas##U##gemmStridedBatched(void *h, int ta, int tb, int m, int n, int k, const T *alpha, const T *a, int lda, \
                                      long long an, const T *b, int ldb, long long bn, const T *beta, T *c, int ldc, \
                                      long long cn, int count) { \
        return gemm(h, ta, tb, m, n, k, alpha, a, lda, an, b, ldb, bn, beta, c, ldc, cn, count); \
    } \
    int cublas##U##trsm_v2(void *h, int side, int uplo, int how, int diag, int m, int n, const T *alpha, const T *t, int ldt, \
                           T *x, int ldx) { \
        return trsm(h, side, uplo, how, diag, m, n, alpha, t, ldt, x, ldx); \
    } \
    int cusolverDn##U##getrs(void *h, int how, int n, int count, const T *a, int lda, const int *pivots, T *b, int ldb, \
                             int *info) { \
        return getrs(h, how, n, count, a, lda, pivots, b, ldb, info); \
    }
PRODUCTS(S, float) PRODUCTS(D, double) PRODUCTS(C, C) PRODUCTS(Z, Z)

#define FACTORS(U, L, T, R, ORG, SYEVD) \
    int cusolverDn##U##potrf_bufferSize(void *h, int, int n, T *a, int lda, int *size) { \
        return *size = wished(n, n), is_handle(h, 's') && is_matrix(a, n, n, lda) ? 0 : WRONG; \
    } \
    int cusolverDn##U##potrf(void *h, int uplo, int n, T *a, int lda, T *room, int size, int *info) { \
        if (!is_handle(h, 's') || !is_matrix(a, n, n, lda) || !is_room(info, 1) || !is(size >= wished(n, n), "too little room") || \
            !is_room(room, size)) \
            return WRONG; \
        return given(h, [=] { spoil(room, size), *info = LAPACKE_##L##potrf_work(LAPACK_COL_MAJOR, uplo ? 'U' : 'L', n, a, lda); }); \
    } \
    int cusolverDn##U##getrf_bufferSize(void *h, int m, int n, T *a, int lda, int *size) { \
        return *size = wished(m, n), is_handle(h, 's') && is_matrix(a, m, n, lda) ? 0 : WRONG; \
    } \
    int cusolverDn##U##getrf(void *h, int m, int n, T *a, int lda, T *room, int *pivots, int *info) { \
        if (!is_handle(h, 's') || !is_matrix(a, m, n, lda) || !is_room(info, 1) || !is_room(pivots, std::min(m, n)) || \
            !is_room(room, wished(m, n))) \
            return WRONG; \
        return given(h, [=] { spoil(room, wished(m, n)), *info = LAPACKE_##L##getrf_work(LAPACK_COL_MAJOR, m, n, a, lda, pivots); }); \
    } \
    int cusolverDn##U##geqrf_bufferSize(void *h, int m, int n, T *a, int lda, int *size) { \
        return *size = wished(m, n), is_handle(h, 's') && is_matrix(a, m, n, lda) ? 0 : WRONG; \
    } \
    int cusolverDn##U##geqrf(void *h, int m, int n, T *a, int lda, T *tau, T *room, int size, int *info) { \
        if (!is_handle(h, 's') || !is_matrix(a, m, n, lda) || !is_room(info, 1) || !is_room(tau, std::min(m, n)) || \
            !is(size >= wished(m, n), "too little room") || !is_room(room, size)) \
            return WRONG; \
        return given(h, [=] { spoil(room, size), *info = LAPACKE_##L##geqrf(LAPACK_COL_MAJOR, m, n, a, lda, tau); }); \
    } \
    int cusolverDn##U##ORG##_bufferSize(void *h, int m, int n, int, const T *a, int lda, const T *, int *size) { \
        return *size = wished(m, n), is_handle(h, 's') && is_matrix(a, m, n, lda) ? 0 : WRONG; \
    } \
    int cusolverDn##U##ORG(void *h, int m, int n, int k, T *a, int lda, const T *tau, T *room, int size, int *info) { \
        if (!is_handle(h, 's') || !is_matrix(a, m, n, lda) || !is_room(info, 1) || !is_room(tau, k) || \
            !is(size >= wished(m, n), "too little room") || !is_room(room, size)) \
            return WRONG; \
        return given(h, [=] { spoil(room, size), *info = LAPACKE_##L##ORG(LAPACK_COL_MAJOR, m, n, k, a, lda, tau); }); \
    } \
    int cusolverDn##U##SYEVD##_bufferSize(void *h, int, int, int n, const T *a, int lda, const R *, int *size) { \
        return *size = wished(n, n), is_handle(h, 's') && is_matrix(a, n, n, lda) ? 0 : WRONG; \
    } \
    int cusolverDn##U##SYEVD(void *h, int how, int uplo, int n, T *a, int lda, R *values, T *room, int size, int *info) { \
        if (!is_handle(h, 's') || !is_matrix(a, n, n, lda) || !is_room(info, 1) || !is_room(values, n) || \
            !is(size >= wished(n, n), "too little room") || !is_room(room, size)) \
            return WRONG; \
        return given(h, [=] { \
            spoil(room, size); \
            *info = LAPACKE_##L##SYEVD(LAPACK_COL_MAJOR, how ? 'V' : 'N', uplo ? 'U' : 'L', n, a, lda, values); \
        }); \
    } \
    int cusolverDn##U##gesvd_bufferSize(void *h, int m, int n, int *size) { \
        return *size = wished(m, n), is_handle(h, 's') ? 0 : WRONG; \
    } \
    int cusolverDn##U##gesvd(void *h, signed char left, signed char right, int m, int n, T *a, int lda, R *values, T *u, int ldu, \
                             T *v, int ldv, T *room, int size, R *rest, int *info) { \
        if (!is_handle(h, 's') || !is(m >= n, "more columns than rows") || !is_matrix(a, m, n, lda) || !is_room(info, 1) || \
            !is_room(values, n) || !is_matrix(u, m, n, ldu) || !is_matrix(v, n, n, ldv) || \
            !is(size >= wished(m, n), "too little room") || !is_room(room, size) || !is(!rest, "more room than is used")) \
            return WRONG; \
        return given(h, [=] { \
            spoil(room, size); \
            std::vector<R> beyond(n); \
            *info = LAPACKE_##L##gesvd(LAPACK_COL_MAJOR, left, right, m, n, a, lda, values, u, ldu, v, ldv, beyond.data()); \
        }); \
    }
FACTORS(S, s, float, float, orgqr, syevd)
FACTORS(D, d, double, double, orgqr, syevd)
FACTORS(C, c, C, float, ungqr, heevd)
FACTORS(Z, z, Z, double, ungqr, heevd)

int cufftCreate(int *plan) {
    static int last = 40;
    return plans()[*plan = ++last] = Plan{.own_room = true}, 0;
}
int cufftDestroy(int plan) { return plans().erase(plan) ? 0 : 1; }
int cufftSetStream(int plan, cudaStream_t stream) {
    return plans().at(plan).stream = stream, plans().at(plan).streamed = true, 0;
}
int cufftSetAutoAllocation(int plan, int own) { return plans().at(plan).own_room = own, 0; }
int cufftSetWorkArea(int plan, void *room) { return plans().at(plan).room = static_cast<char *>(room), 0; }
int cufftMakePlanMany(int plan, int rank, int *n, int *from, int from_step, int from_next, int *to, int to_step, int to_next,
                      int type, int count, size_t *size) {
    if (!is(rank == 1 && from && to && from_step > 0 && to_step > 0, "a plan that is not used")) return WRONG;
    Plan &made = plans().at(plan);
    made.n = *n, made.from_step = from_step, made.from_next = from_next, made.to_step = to_step, made.to_next = to_next;
    made.type = type, made.count = count;
    return *size = room_of(made), 0;
}
int cufftExecC2C(int plan, C *from, C *to, int direction) { return transform(plan, from, to, direction); }
int cufftExecZ2Z(int plan, Z *from, Z *to, int direction) { return transform(plan, from, to, direction); }

}  // extern "C"
