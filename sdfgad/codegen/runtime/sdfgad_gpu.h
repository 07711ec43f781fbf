// What programs for graphics processors call: sums of a block, sums that others add to as well, numbers for the host; and
// what DaCe's generated code takes from its own header, alone. That one brings libraries with it that no program here
// uses, and takes ten times as long to compile.
#ifndef SDFGAD_GPU_H
#define SDFGAD_GPU_H
#include <cuda_runtime.h>

#define SG_DEVICE
#include "sdfgad_scalars.h"
#include "sdfgad_special.h"

#include <cstdio>
#include <new>
#include <vector>

namespace sg {

// How two numbers are joined, and what changes nothing.
template <class T> struct Sum {
    using type = T;
    SG_FN static T none() { return T(0); }
    SG_FN static T joined(T a, T b) {
        if constexpr (std::is_same_v<T, bool>) return a || b;
        else return T(plus(a, b));
    }
};
template <class T> struct Product {
    using type = T;
    SG_FN static T none() { return T(1); }
    SG_FN static T joined(T a, T b) { return mul(a, b); }
};
template <class T> struct Largest {
    using type = T;
    SG_FN static T none() {
        if constexpr (std::is_floating_point_v<T>) return -std::numeric_limits<T>::infinity();
        else return std::numeric_limits<T>::lowest();
    }
    SG_FN static T joined(T a, T b) { return maximum(a, b); }
};
template <class T> struct Smallest {
    using type = T;
    SG_FN static T none() {
        if constexpr (std::is_floating_point_v<T>) return std::numeric_limits<T>::infinity();
        else return std::numeric_limits<T>::max();
    }
    SG_FN static T joined(T a, T b) { return minimum(a, b); }
};

// What all threads of a block have, joined in an order that never changes. For all threads of the block.
template <int Threads, class How> __device__ typename How::type together(typename How::type mine) {
    constexpr int Groups = 16;
    __shared__ typename How::type parts[Threads], heads[Groups];
    const int thread = threadIdx.x;
    parts[thread] = mine;
    __syncthreads();
    if (thread < Groups) {
        for (int k = thread + Groups; k < Threads; k += Groups) mine = How::joined(mine, parts[k]);
        heads[thread] = mine;
    }
    __syncthreads();
    mine = heads[0];
    for (int k = 1; k < Groups; ++k) mine = How::joined(mine, heads[k]);
    return mine;
}

// *place joined with a value, while other threads may do the same.
template <template <class> class How, class T> __device__ void join_atomically(T *place, std::type_identity_t<T> value) {
    using Bits = std::conditional_t<sizeof(T) == 8, unsigned long long, unsigned>;
    if constexpr (is_complex<T>) {
        static_assert(std::is_same_v<How<T>, Sum<T>>);
        atomicAdd(&place->x, value.x), atomicAdd(&place->y, value.y);  // sums of each part are sums of the whole
    } else if constexpr (std::is_same_v<How<T>, Sum<T>>) {
        static_assert(sizeof(T) == sizeof(Bits));
        if constexpr (std::is_floating_point_v<T>) atomicAdd(place, value);
        else atomicAdd(reinterpret_cast<Bits *>(place), Bits(value));
    } else {
        static_assert(sizeof(T) == sizeof(Bits));
        Bits *bits = reinterpret_cast<Bits *>(place), seen = *bits, expected;
        do {
            expected = seen;
            seen = atomicCAS(bits, expected, std::bit_cast<Bits>(How<T>::joined(std::bit_cast<T>(expected), value)));
        } while (seen != expected);
    }
}

// Lines that DaCe prints: errors are raised, in Python.
inline void unsaid(const char *, ...) {}

// A number of the device, on the host, when all that was started before is done.
template <class T> inline cudaError_t fetch(T *to, const T *from) {
    const cudaError_t started = cudaMemcpyAsync(to, from, sizeof(T), cudaMemcpyDeviceToHost, nullptr);
    return started == cudaSuccess ? cudaStreamSynchronize(nullptr) : started;
}

// A call of the runtime has failed.
struct DeviceError {
    cudaError_t what;
};
inline void must(cudaError_t status) {
    if (status != cudaSuccess) throw DeviceError{status};
}

// One block of the device's memory for a call.
struct Room {
    char *start = nullptr;
    explicit Room(size_t bytes) {
        const cudaError_t status = cudaMalloc(reinterpret_cast<void **>(&start), bytes ? bytes : 1);
        if (status == cudaErrorMemoryAllocation) {
            (void)cudaGetLastError();
            throw std::bad_alloc();
        }
        must(status);
    }
    Room(const Room &) = delete;
    ~Room() { cudaFree(start); }
    template <class T> T *at(int64_t offset) const { return reinterpret_cast<T *>(start + offset); }
};

// The tapes outgrew their limit.
struct Overflow {};

// Stacks of entries on the device, one for each tape. The array of a tape shows one entry: the last one pushed, which is
// on top until it is popped, or the last one popped. What is on top is kept here once another one is pushed over it.
class DeviceTapes {
public:
    int64_t limit = 0, peak = 0, needed = 0;

    ~DeviceTapes() { clear(0); }
    // A call begins, or has ended: all entries are gone.
    void clear(int64_t most) {
        for (Stack &stack : stacks_)
            for (char *entry : stack.kept) (void)cudaFreeAsync(entry, nullptr);
        stacks_.clear();
        limit = most, held_ = 0;
    }
    // The array `here` shows a new entry from now on; so many bytes of it will be used.
    void push(size_t tape, const void *here, int64_t bytes) {
        if (stacks_.size() <= tape) stacks_.resize(tape + 1);
        Stack &stack = stacks_[tape];
        if (held_ + bytes > limit) {
            needed = held_ + bytes;
            throw Overflow{};
        }
        if (stack.shown) {
            char *entry = nullptr;
            const int64_t size = stack.sizes.back();
            if (cudaMallocAsync(reinterpret_cast<void **>(&entry), size ? size : 1, nullptr) != cudaSuccess) {
                (void)cudaGetLastError();
                throw std::bad_alloc();
            }
            stack.kept.push_back(entry);
            must(cudaMemcpyAsync(entry, here, size, cudaMemcpyDeviceToDevice, nullptr));
        }
        stack.sizes.push_back(bytes);
        stack.shown = true;
        held_ += bytes;
        peak = held_ > peak ? held_ : peak;
    }
    // The array `here` shows the entry on top, which is taken off.
    void pop(size_t tape, void *here) {
        Stack &stack = stacks_[tape];
        if (!stack.shown) {
            must(cudaMemcpyAsync(here, stack.kept.back(), stack.sizes.back(), cudaMemcpyDeviceToDevice, nullptr));
            must(cudaFreeAsync(stack.kept.back(), nullptr));
            stack.kept.pop_back();
        }
        held_ -= stack.sizes.back();
        stack.sizes.pop_back();
        stack.shown = false;
    }

private:
    struct Stack {
        std::vector<char *> kept;
        std::vector<int64_t> sizes;
        bool shown = false;  // whether the array shows what is on top
    };
    std::vector<Stack> stacks_;
    int64_t held_ = 0;
};

}  // namespace sg

#define DACE_EXPORTED extern "C"
using gpuStream_t = cudaStream_t;
using gpuEvent_t = cudaEvent_t;
using gpuError_t = cudaError_t;
#define gpuGetErrorString cudaGetErrorString
#define DACE_GPU_CHECK(call) \
    do { \
        const cudaError_t sg_status = (call); \
        if (sg_status != cudaSuccess && __state->gpu_context) __state->gpu_context->note(sg_status); \
    } while (0)
#define DACE_KERNEL_LAUNCH_CHECK(status, ...) DACE_GPU_CHECK(status)

template <class A, class B> SG_FN int64_t Min(A a, B b) { return sg::least(int64_t(a), int64_t(b)); }

namespace dace {
using uint = unsigned int;
namespace cuda {
// The first error of a call; streams that DaCe makes, of which programs use none.
struct Context {
    cudaStream_t *streams, *internal_streams;
    cudaEvent_t *events;
    cudaError_t lasterror = cudaSuccess;
    Context(int streams, int events)
        : streams(new cudaStream_t[streams]), internal_streams(new cudaStream_t[streams]),
          events(new cudaEvent_t[events]) {}
    Context(const Context &) = delete;
    ~Context() {
        delete[] streams;
        delete[] internal_streams;
        delete[] events;
    }
    void note(cudaError_t status) {
        if (lasterror == cudaSuccess) lasterror = status;
    }
};
}  // namespace cuda
}  // namespace dace

#include "sdfgad_gpu_libraries.h"

#endif
