// CUDA's runtime on the processor, for tests: the part of it that generated programs use, so that g++ compiles the very
// text that nvcc compiles. It is slow and strict:
//  - copies and kernels are done when somebody waits for them, and not before;
//  - blocks, and the threads of a block between two barriers, run in an order drawn at random (CUDA_ON_CPU_SEED);
//  - memory of the device holds NaN at first, and lies between pages that nobody may touch: who steps outside is reported;
//  - two threads that touch one element which one of them changes are reported, where pointers are `Watched`: threads
//    between two barriers run one after the other here, so that a lost sum would not show otherwise;
//  - a kernel that is given a pointer to anything else is reported, a barrier that not all threads reach is, too: of a
//    block, or of all blocks, which must have been started at once, and not more of them than there is room for;
//  - streams wait for each other where an event says so, and nowhere else; there are two devices;
//  - the host may not touch memory of the device at all, once a test has called `cuda_on_cpu_guard(1)`.
// What it takes is in cuda_runtime.cpp, which is compiled once for all programs.
// What is reported is the status of every later call, and the text of `cudaGetErrorString`.
// CUDA_ON_CPU_KERNEL(name, barriers) behind the definition of a kernel says that there is one, and whether it has any.
#pragma once
#include <cstdint>
#include <functional>
#include <type_traits>
#include <utility>

#define __global__
#define __device__
#define __host__
#define __launch_bounds__(...)
#define __shared__ static

struct uint3 {
    unsigned x, y, z;
};
struct dim3 {
    unsigned x, y, z;
    constexpr dim3(unsigned a = 1, unsigned b = 1, unsigned c = 1) : x(a), y(b), z(c) {}
};
enum cudaError_t {
    cudaSuccess = 0, cudaErrorInvalidValue = 1, cudaErrorMemoryAllocation = 2, cudaErrorInvalidConfiguration = 9,
    cudaErrorNoDevice = 100, cudaErrorInvalidDevice = 101, cudaErrorInvalidResourceHandle = 400, cudaErrorNotReady = 600,
    cudaErrorIllegalAddress = 700, cudaErrorCooperativeLaunchTooLarge = 720
};
enum cudaMemcpyKind { cudaMemcpyHostToDevice = 1, cudaMemcpyDeviceToHost = 2, cudaMemcpyDeviceToDevice = 3 };
enum { cudaStreamNonBlocking = 1, cudaEventDisableTiming = 2 };
enum cudaDeviceAttr { cudaDevAttrMultiProcessorCount = 16 };
enum cudaMemoryType { cudaMemoryTypeUnregistered, cudaMemoryTypeHost, cudaMemoryTypeDevice, cudaMemoryTypeManaged };
struct cudaPointerAttributes {
    cudaMemoryType type;
    int device;
};

namespace cuda_on_cpu {

using Task = std::function<void()>;
struct Stream;
struct Event;
struct Block;
extern uint3 thread_index, block_index;
extern dim3 grid_size;

// Wait for all threads of all blocks.
void wait_for_grid();

// What is done behind all that a stream was given before.
void give(struct Stream *stream, Task task);

// Report, and leave the kernel that runs, if one does.
cudaError_t report(const char *what);

// The block of a device's memory that holds so many bytes from an address on.
const Block *block_of(const void *address, size_t bytes = 1);

// Whether an address belongs to the memory of the device that kernels are started on now.
bool is_here(const void *address);

// Remember that the thread that runs touches an element.
void note(const void *place, size_t bytes);
template <class T> struct Watched {
    T *plain;
    explicit Watched(T *here) : plain(here) {}
    T &operator[](int64_t k) const {
        note(plain + k, sizeof(T));
        return plain[k];
    }
};

// A kernel's arguments are copied when it is started, into eight bytes each. Plain functions do that: what the standard
// library has for it takes the compiler longer than the kernel itself, for each list of arguments anew.
template <class P> void keep(void *place, uint64_t *kept) {
    static_assert(sizeof(P) <= sizeof(uint64_t) && std::is_trivially_copyable_v<P>);
    __builtin_memcpy(kept, place, sizeof(P));
    if constexpr (std::is_pointer_v<P>)
        if (!is_here(*static_cast<P *>(place))) report("a kernel is given a pointer that is not to the device's memory");
}
template <class P> P kept(const uint64_t *place) {
    P value;
    __builtin_memcpy(&value, place, sizeof(P));
    return value;
}
template <class... P> void keep_all(void **args, uint64_t *values) { (keep<P>(*args++, values++), ...); }
template <class... P, size_t... K>
void call(void (*kernel)(P...), const uint64_t *values, std::index_sequence<K...>) {
    kernel(kept<P>(values + K)...);
}
template <class... P> void call_with(const void *kernel, const uint64_t *values) {
    call(reinterpret_cast<void (*)(P...)>(const_cast<void *>(kernel)), values, std::index_sequence_for<P...>{});
}
struct Start {
    void (*keep)(void **args, uint64_t *values);
    void (*call)(const void *kernel, const uint64_t *values);
    size_t count;
};
void announce(const void *kernel, const Start &start, bool barriers);
struct Kernel {
    template <class... P> Kernel(void (*kernel)(P...), bool barriers) {
        announce(reinterpret_cast<const void *>(kernel), {keep_all<P...>, call_with<P...>, sizeof...(P)}, barriers);
    }
};

}  // namespace cuda_on_cpu

#define CUDA_ON_CPU_KERNEL(name, barriers) static const cuda_on_cpu::Kernel announced_##name(name, barriers);
#define threadIdx (cuda_on_cpu::thread_index)
#define blockIdx (cuda_on_cpu::block_index)
#define gridDim (cuda_on_cpu::grid_size)

using cudaStream_t = cuda_on_cpu::Stream *;
using cudaEvent_t = cuda_on_cpu::Event *;
extern "C" {

cudaError_t cudaGetDeviceCount(int *count);
cudaError_t cudaSetDevice(int);
cudaError_t cudaGetLastError();
const char *cudaGetErrorString(cudaError_t status);
cudaError_t cudaMalloc(void **place, size_t bytes);
cudaError_t cudaFree(void *place);
cudaError_t cudaMallocHost(void **place, size_t bytes);
cudaError_t cudaFreeHost(void *place);
cudaError_t cudaMallocAsync(void **place, size_t bytes, cudaStream_t);
cudaError_t cudaFreeAsync(void *place, cudaStream_t stream);
cudaError_t cudaStreamSynchronize(cudaStream_t stream);
cudaError_t cudaDeviceSynchronize();
cudaError_t cudaMemcpyAsync(void *to, const void *from, size_t bytes, cudaMemcpyKind kind, cudaStream_t stream = nullptr);
cudaError_t cudaMemcpy(void *to, const void *from, size_t bytes, cudaMemcpyKind kind);
cudaError_t cudaStreamCreateWithFlags(cudaStream_t *stream, unsigned);
cudaError_t cudaStreamDestroy(cudaStream_t stream);
cudaError_t cudaEventCreateWithFlags(cudaEvent_t *event, unsigned);
cudaError_t cudaEventDestroy(cudaEvent_t);
cudaError_t cudaEventRecord(cudaEvent_t, cudaStream_t);
cudaError_t cudaStreamWaitEvent(cudaStream_t, cudaEvent_t, unsigned);
cudaError_t cudaEventSynchronize(cudaEvent_t);
cudaError_t cudaEventQuery(cudaEvent_t);
cudaError_t cudaMemsetAsync(void *place, int value, size_t bytes, cudaStream_t);
cudaError_t cudaPointerGetAttributes(cudaPointerAttributes *found, const void *place);
cudaError_t cudaGetDevice(int *device);
cudaError_t cudaLaunchKernel(const void *kernel, dim3 grid, dim3 threads, void **args, size_t, cudaStream_t stream);
cudaError_t cudaLaunchCooperativeKernel(const void *kernel, dim3 grid, dim3 threads, void **args, size_t,
                                        cudaStream_t stream);
cudaError_t cudaDeviceGetAttribute(int *value, cudaDeviceAttr, int device);
cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessor(int *blocks, const void *kernel, int threads, size_t);
}
void __syncthreads();
int __syncthreads_or(int mine);

template <class T> cudaError_t cudaMalloc(T **place, size_t bytes) {
    return cudaMalloc(reinterpret_cast<void **>(place), bytes);
}
// Atomic to sanitizers, too.
template <class T> T atomicAdd(T *place, std::type_identity_t<T> value) {
    T before, sum;
    __atomic_load(place, &before, __ATOMIC_RELAXED);
    sum = before + value;
    __atomic_store(place, &sum, __ATOMIC_RELAXED);
    return before;
}
template <class T> T atomicCAS(T *place, std::type_identity_t<T> expected, std::type_identity_t<T> value) {
    __atomic_compare_exchange(place, &expected, &value, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED);
    return expected;
}
