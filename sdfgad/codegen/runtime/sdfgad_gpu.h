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

// The same number, of which the compiler knows nothing: what is computed of it in a loop is not computed before the loop
// and kept. Kernels of many parts would want more registers than there are for the indices of all of them.
SG_FN int64_t unknown(int64_t number) {
#ifdef __CUDA_ARCH__
    asm volatile("" : "+l"(number));
#endif
    return number;
}

// A truth value as the byte that it is. A tape keeps what is overwritten, which may never have been written: to look at
// such a truth value, and be it to copy it, is undefined.
SG_FN void copy_truth(bool &to, const bool &from) {
    reinterpret_cast<unsigned char &>(to) = reinterpret_cast<const unsigned char &>(from);
}

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

// The same of the threads that have the same number up to multiples of Width, for the first of which it is right.
template <int Threads, int Width, class How> __device__ typename How::type beside(typename How::type mine) {
    __shared__ typename How::type parts[Threads];
    const int thread = threadIdx.x;
    for (int half = Threads / 2; half >= Width; half /= 2) {
        parts[thread] = mine;
        __syncthreads();
        if (thread < half) mine = How::joined(mine, parts[thread + half]);
        __syncthreads();
    }
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
        // A plain load of what others change might be done twice, with two numbers: the first one is guessed.
        Bits *bits = reinterpret_cast<Bits *>(place), seen = std::bit_cast<Bits>(How<T>::none()), expected;
        do {
            expected = seen;
            seen = atomicCAS(bits, expected, std::bit_cast<Bits>(How<T>::joined(std::bit_cast<T>(expected), value)));
        } while (seen != expected);
    }
}

// Lines that DaCe prints: errors are raised, in Python.
inline void unsaid(const char *, ...) {}

// A number of the device, on the host, when all that was started before is done.
template <class T> inline cudaError_t fetch(T *to, const T *from, cudaStream_t stream) {
    const cudaError_t started = cudaMemcpyAsync(to, from, sizeof(T), cudaMemcpyDeviceToHost, stream);
    return started == cudaSuccess ? cudaStreamSynchronize(stream) : started;
}

// A call of the runtime has failed.
struct DeviceError {
    cudaError_t what;
};
inline void must(cudaError_t status) {
    if (status != cudaSuccess) throw DeviceError{status};
}

// The device of what follows; the one of before comes back.
class OnDevice {
public:
    explicit OnDevice(int device) {
        must(cudaGetDevice(&before_));
        if (device >= 0 && device != before_) must(cudaSetDevice(device));
    }
    OnDevice(const OnDevice &) = delete;
    ~OnDevice() { (void)cudaSetDevice(before_); }

private:
    int before_ = 0;
};

// What a call is given beside its arrays. there: which of them lie on the device; null where none does, and the call
// waits for its results. stream: on which everything is done, in the order in which it is started.
struct Given {
    const char *there;
    cudaStream_t stream;
    bool on_device(int k) const { return there && there[k]; }
};

// One block of the device's memory for a call; it is given back when what was started before is done.
class Room {
public:
    int64_t copied = 0;  // bytes, to the device and from it

    Room(size_t bytes, const Given &given) : given_(given) {
        const cudaError_t status = cudaMallocAsync(reinterpret_cast<void **>(&start_), bytes ? bytes : 1, given.stream);
        if (status == cudaErrorMemoryAllocation) {
            (void)cudaGetLastError();
            throw std::bad_alloc();
        }
        must(status);
    }
    Room(const Room &) = delete;
    ~Room() { (void)cudaFreeAsync(start_, given_.stream); }
    template <class T> T *at(int64_t offset) const { return reinterpret_cast<T *>(start_ + offset); }
    // Where the k-th array of the caller is during the call: where it is, or at this offset.
    char *place(void **args, int k, int64_t offset) const {
        return given_.on_device(k) ? static_cast<char *>(args[k]) : start_ + offset;
    }
    void bring(char *place, void **args, int k, int64_t bytes) {
        if (!given_.on_device(k)) copy(place, args[k], bytes, cudaMemcpyHostToDevice);
    }
    void take(void **args, const char *place, int k, int64_t bytes) {
        if (!given_.on_device(k)) copy(args[k], place, bytes, cudaMemcpyDeviceToHost);
    }

private:
    void copy(void *to, const void *from, int64_t bytes, cudaMemcpyKind kind) {
        must(cudaMemcpyAsync(to, from, bytes, kind, given_.stream));
        copied += bytes;
    }
    Given given_;
    char *start_ = nullptr;
};

// The tapes outgrew their limit.
struct Overflow {};

// Stacks of entries on the device, one for each tape. The array of a tape shows one entry: the last one pushed, which is
// on top until it is popped, or the last one popped. What is on top is kept here once another one is pushed over it.
template <class = void> class DeviceTapesOf {
public:
    int64_t limit = 0, peak = 0, needed = 0;

    ~DeviceTapesOf() { clear(0, stream_); }
    // A call on a stream begins, or has ended: all entries are gone.
    void clear(int64_t most, cudaStream_t stream) {
        for (Stack &stack : stacks_)
            for (char *entry : stack.kept) (void)cudaFreeAsync(entry, stream_);
        stacks_.clear();
        limit = most, held_ = 0, stream_ = stream;
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
            if (cudaMallocAsync(reinterpret_cast<void **>(&entry), size ? size : 1, stream_) != cudaSuccess) {
                (void)cudaGetLastError();
                throw std::bad_alloc();
            }
            stack.kept.push_back(entry);
            must(cudaMemcpyAsync(entry, here, size, cudaMemcpyDeviceToDevice, stream_));
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
            must(cudaMemcpyAsync(here, stack.kept.back(), stack.sizes.back(), cudaMemcpyDeviceToDevice, stream_));
            must(cudaFreeAsync(stack.kept.back(), stream_));
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
    cudaStream_t stream_ = nullptr;
};
using DeviceTapes = DeviceTapesOf<>;

// What the arrays of a call ask of the device: the status of something that is done there. The standard stream is another
// one on each device.
template <class Call> int on_device(int device, const Call &call) {
    try {
        const OnDevice there(device);
        return int(call());
    } catch (const DeviceError &error) {
        return int(error.what);
    }
}
// Who dropped them may do so at any time, and has nobody to tell what fails.
inline cudaError_t given_back(void *place, cudaStream_t stream) {
    if (cudaFreeAsync(place, stream) == cudaSuccess) return cudaSuccess;
    (void)cudaGetLastError();
    return cudaFree(place);
}
// A copy between host and device, and a wait for it.
inline cudaError_t moved(void *to, const void *from, size_t bytes, cudaMemcpyKind kind, cudaStream_t stream) {
    const cudaError_t status = cudaMemcpyAsync(to, from, bytes, kind, stream);
    return status == cudaSuccess ? cudaStreamSynchronize(stream) : status;
}
// What is started on a stream from now on waits for what another one has been given.
inline cudaError_t after(cudaStream_t stream, cudaStream_t other) {
    cudaEvent_t event;
    cudaError_t status = cudaEventCreateWithFlags(&event, cudaEventDisableTiming);
    if (status != cudaSuccess) return status;
    status = cudaEventRecord(event, other);
    if (status == cudaSuccess) status = cudaStreamWaitEvent(stream, event, 0);
    (void)cudaEventDestroy(event);
    return status;
}
// A mark behind what a stream has been given; null where there is none to be had.
inline void *mark(cudaStream_t stream) {
    cudaEvent_t event;
    if (cudaEventCreateWithFlags(&event, cudaEventDisableTiming) != cudaSuccess) return nullptr;
    if (cudaEventRecord(event, stream) == cudaSuccess) return event;
    (void)cudaEventDestroy(event);
    return nullptr;
}
// Whether everything before a mark is done; the mark is gone then. wait: until it is.
inline int passed(void *mark, int wait) {
    const cudaEvent_t event = static_cast<cudaEvent_t>(mark);
    const cudaError_t status = wait ? cudaEventSynchronize(event) : cudaEventQuery(event);
    if (status == cudaErrorNotReady) return 0;
    (void)cudaEventDestroy(event);
    return 1;
}
// The number of the device whose memory an address belongs to; -1 for none.
inline int device_of(const void *place) {
    cudaPointerAttributes found;
    if (cudaPointerGetAttributes(&found, place) != cudaSuccess) return (void)cudaGetLastError(), -1;
    const bool there = found.type == cudaMemoryTypeDevice || found.type == cudaMemoryTypeManaged;
    return there ? found.device : -1;
}

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
// The stream of a call, the kernels that it has started, and its first error; streams that DaCe makes, of which programs
// use none.
struct Context {
    cudaStream_t stream = nullptr;
    int64_t launches = 0;
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
    void begin(cudaStream_t on) { stream = on, launches = 0; }
    cudaError_t launch(void *kernel, dim3 blocks, dim3 threads, void **args) {
        ++launches;
        return cudaLaunchKernel(kernel, blocks, threads, args, 0, stream);
    }
    // All blocks at once, which wait for each other: so many, or as many as the device has room for.
    cudaError_t launch_together(void *kernel, dim3 blocks, dim3 threads, void **args) {
        int device = 0, processors = 0, each = 0;
        cudaError_t status = cudaGetDevice(&device);
        if (status == cudaSuccess) status = cudaDeviceGetAttribute(&processors, cudaDevAttrMultiProcessorCount, device);
        if (status == cudaSuccess)
            status = cudaOccupancyMaxActiveBlocksPerMultiprocessor(&each, (const void *)kernel, int(threads.x), 0);
        if (status != cudaSuccess) return status;
        blocks.x = unsigned(sg::least(int64_t(blocks.x), int64_t(each) * processors));
        ++launches;
        return cudaLaunchCooperativeKernel(kernel, blocks, threads, args, 0, stream);
    }
};
}  // namespace cuda
}  // namespace dace

namespace sg {

// One step of Batcher's network: the at-th pair that lies `gap` apart is put in order, which is upwards in every other
// run. Behind `count` numbers of elements are those of their terms, which decide where elements are the same.
SG_FN void sort_step(int64_t *pairs, int64_t count, int64_t run, int64_t gap, int64_t at) {
    int64_t *const terms = pairs + count;
    const int64_t low = at / gap * (2 * gap) + at % gap, high = low + gap;
    const bool up = !(low & run);
    const int64_t a = pairs[low], b = pairs[high], s = terms[low], t = terms[high];
    if ((a > b || (a == b && s > t)) == up) pairs[low] = b, pairs[high] = a, terms[low] = t, terms[high] = s;
}
// Where a run of terms of one element begins, all of them are joined to it.
template <class How> SG_FN void add_run(typename How::type *target, const int64_t *pairs, const typename How::type *terms,
                                        int64_t count, int64_t none, int64_t at) {
    const int64_t element = pairs[at];
    if (element == none || (at && pairs[at - 1] == element)) return;
    typename How::type sum = target[element];
    for (int64_t k = at; k < count && pairs[k] == element; ++k) sum = How::joined(sum, terms[pairs[count + k]]);
    target[element] = sum;
}
// Sort, and add up: kernels of a program are started by it.
template <int Block> void sum_in_order(dace::cuda::Context *context, void *step, void *add, void *target, void *pairs,
                                       void *terms, int64_t count, int64_t none) {
    const auto blocks = [](int64_t threads) { return dim3(unsigned((threads + Block - 1) / Block)); };
    for (int64_t run = 2; run <= count; run *= 2)
        for (int64_t gap = run / 2; gap; gap /= 2) {
            void *args[] = {&pairs, &count, &run, &gap};
            context->note(context->launch(step, blocks(count / 2), dim3(Block), args));
        }
    void *args[] = {&target, &pairs, &terms, &count, &none};
    context->note(context->launch(add, blocks(count), dim3(Block), args));
}

}  // namespace sg

#include "sdfgad_gpu_libraries.h"
#include "sdfgad_gpu_snapshots.h"

#endif
