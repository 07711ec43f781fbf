// CUDA's runtime on the processor, for tests: the part of it that generated programs use, so that g++ compiles the very
// text that nvcc compiles. It is slow and strict:
//  - copies and kernels are done when somebody waits for them, and not before;
//  - blocks, and the threads of a block between two barriers, run in an order drawn at random (CUDA_ON_CPU_SEED);
//  - memory of the device holds NaN at first, and lies between pages that nobody may touch: who steps outside is reported;
//  - two threads that touch one element which one of them changes are reported, where pointers are `Watched`: threads
//    between two barriers run one after the other here, so that a lost sum would not show otherwise;
//  - a kernel that is given a pointer to anything else is reported, a barrier that not all threads reach is, too.
// What is reported is the status of every later call, and the text of `cudaGetErrorString`.
// CUDA_ON_CPU_KERNEL(name, barriers) behind the definition of a kernel says that there is one, and whether it has any.
#pragma once
#include <setjmp.h>
#include <signal.h>
#include <sys/mman.h>
#include <ucontext.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <random>
#include <tuple>
#include <type_traits>
#include <unordered_map>
#include <utility>
#include <vector>

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
    cudaErrorNoDevice = 100, cudaErrorIllegalAddress = 700
};
enum cudaMemcpyKind { cudaMemcpyHostToDevice = 1, cudaMemcpyDeviceToHost = 2, cudaMemcpyDeviceToDevice = 3 };
enum { cudaStreamNonBlocking = 1, cudaEventDisableTiming = 2 };

namespace cuda_on_cpu {

using Task = std::function<void()>;
struct Stream {
    std::deque<Task> tasks;
};
struct Block {
    char *pages;
    size_t mapped, bytes;
};
struct Launched {
    std::function<Task(void **)> with;
    bool barriers;
};

// All of the device. One for the process: libraries that are loaded share it.
struct Device {
    Stream standard;
    std::map<char *, Block> memory;
    std::map<const void *, Launched> kernels;
    std::mt19937 random;
    const char *fault = nullptr;
    int64_t launches = 0, waits = 0;
};
inline Device &device() {
    static Device one;
    return one;
}

inline uint3 thread_index, block_index;
inline sigjmp_buf out_of_kernel;
inline volatile bool in_kernel = false;

// Report, and leave the kernel that runs, if one does.
inline cudaError_t report(const char *what) {
    if (!device().fault) device().fault = what;
    if (in_kernel) siglongjmp(out_of_kernel, 1);
    return cudaErrorIllegalAddress;
}
inline void stepped_outside(int) { report("access outside of the device's memory"); }

// The block of memory that an address belongs to.
inline const Block *block_of(const void *address, size_t bytes = 1) {
    auto &memory = device().memory;
    auto after = memory.upper_bound(static_cast<char *>(const_cast<void *>(address)));
    if (after == memory.begin()) return nullptr;
    const auto &[start, block] = *--after;
    return static_cast<const char *>(address) + bytes <= start + block.bytes ? &block : nullptr;
}

// Who has touched an element in the kernel that runs, and what was there before.
struct Touched {
    int64_t thread;
    bool several;
    size_t bytes;
    char before[8];
};
inline std::unordered_map<const char *, Touched> touched;
inline void note(const void *place, size_t bytes) {
    const int64_t thread = int64_t(block_index.x) * 1024 + thread_index.x;
    const char *at = static_cast<const char *>(place);
    if (!block_of(at, bytes)) report("access outside of the device's memory");
    auto [found, first] = touched.try_emplace(at, Touched{thread, false, bytes, {}});
    if (first) std::memcpy(found->second.before, at, bytes);
    else found->second.several |= found->second.thread != thread;
}
inline void look_for_races() {
    for (const auto &[at, one] : touched)
        if (one.several && std::memcmp(at, one.before, one.bytes))
            report("two threads touch an element that one of them changes");
    touched.clear();
}
template <class T> struct Watched {
    T *plain;
    explicit Watched(T *here) : plain(here) {}
    T &operator[](int64_t k) const {
        note(plain + k, sizeof(T));
        return plain[k];
    }
};

// Threads of a block that wait for each other: each has a stack of its own.
struct Fiber {
    ucontext_t context;
    std::unique_ptr<char[]> stack;
    bool done;
};
struct Team {
    std::vector<Fiber> fibers;
    ucontext_t scheduler;
    Fiber *now = nullptr;
    const Task *body = nullptr;
    int seen = 0, agreed = 0;
};
inline Team &team() {
    static Team one;
    return one;
}
inline void run_fiber() {
    (*team().body)();
    team().now->done = true;
}
inline void barrier() {
    Team &all = team();
    if (!all.now) report("a barrier in a kernel that was said to have none");
    Fiber *mine = all.now;
    swapcontext(&mine->context, &all.scheduler);
}
constexpr size_t STACK = 1 << 16;
inline void run_together(const Task &body, const std::vector<unsigned> &order) {
    Team &all = team();
    all.body = &body;
    while (all.fibers.size() < order.size()) {
        all.fibers.emplace_back();
        all.fibers.back().stack.reset(new char[STACK]);
    }
    for (size_t k = 0; k < order.size(); ++k) {
        Fiber &fiber = all.fibers[k];
        getcontext(&fiber.context);
        fiber.context.uc_stack.ss_sp = fiber.stack.get();
        fiber.context.uc_stack.ss_size = STACK;
        fiber.context.uc_link = &all.scheduler;
        fiber.done = false;
        makecontext(&fiber.context, run_fiber, 0);
    }
    std::vector<unsigned> turns = order;
    for (size_t left = order.size(), before = left; left; before = left) {
        all.agreed = all.seen, all.seen = 0;
        for (unsigned k : turns) {
            if (all.fibers[k].done) continue;
            all.now = &all.fibers[k];
            thread_index = {k, 0, 0};
            swapcontext(&all.scheduler, &all.now->context);
            left -= all.now->done;
        }
        all.now = nullptr;
        if (left && left != before) report("a thread has left its block before a barrier");
        std::shuffle(turns.begin(), turns.end(), device().random);
    }
}

inline std::vector<unsigned> drawn(size_t count) {
    std::vector<unsigned> order(count);
    for (size_t k = 0; k < count; ++k) order[k] = unsigned(k);
    std::shuffle(order.begin(), order.end(), device().random);
    return order;
}
inline void run_grid(const Task &body, bool barriers, dim3 grid, dim3 threads) {
    struct sigaction mine = {}, segv, bus;
    mine.sa_handler = stepped_outside;
    mine.sa_flags = SA_NODEFER;
    sigaction(SIGSEGV, &mine, &segv);
    sigaction(SIGBUS, &mine, &bus);
    if (!sigsetjmp(out_of_kernel, 1)) {
        in_kernel = true;
        for (unsigned k : drawn(size_t(grid.x) * grid.y * grid.z)) {
            block_index = {k % grid.x, k / grid.x % grid.y, k / (grid.x * grid.y)};
            const auto order = drawn(threads.x);
            if (barriers) run_together(body, order);
            else for (unsigned t : order) thread_index = {t, 0, 0}, body();
        }
    }
    in_kernel = false;
    team().now = nullptr;
    look_for_races();
    sigaction(SIGSEGV, &segv, nullptr);
    sigaction(SIGBUS, &bus, nullptr);
}

inline cudaError_t status() { return device().fault ? cudaErrorIllegalAddress : cudaSuccess; }
inline void finish(Stream &stream) {
    while (!stream.tasks.empty()) {
        Task task = std::move(stream.tasks.front());
        stream.tasks.pop_front();
        if (!device().fault) task();
    }
}

// A kernel's arguments are copied when it is started.
template <class T> T argument(void *place) {
    T value = *static_cast<T *>(place);
    if constexpr (std::is_pointer_v<T>)
        if (!block_of(value)) report("a kernel is given a pointer that is not to the device's memory");
    return value;
}
template <class... P, size_t... K> Task bound(void (*kernel)(P...), void **args, std::index_sequence<K...>) {
    return [kernel, values = std::make_tuple(argument<P>(args[K])...)] { std::apply(kernel, values); };
}
struct Kernel {
    template <class... P> Kernel(void (*kernel)(P...), bool barriers) {
        device().kernels[reinterpret_cast<const void *>(kernel)] = {
            [kernel](void **args) { return bound(kernel, args, std::index_sequence_for<P...>{}); }, barriers};
    }
};

}  // namespace cuda_on_cpu

#define CUDA_ON_CPU_KERNEL(name, barriers) static const cuda_on_cpu::Kernel announced_##name(name, barriers);
#define threadIdx (cuda_on_cpu::thread_index)
#define blockIdx (cuda_on_cpu::block_index)

using cudaStream_t = cuda_on_cpu::Stream *;
using cudaEvent_t = void *;

inline cuda_on_cpu::Stream &cuda_stream(cudaStream_t stream) {
    return stream ? *stream : cuda_on_cpu::device().standard;
}
inline cudaError_t cudaGetDeviceCount(int *count) { return *count = 1, cudaSuccess; }
inline cudaError_t cudaSetDevice(int) { return cudaSuccess; }
inline cudaError_t cudaGetLastError() {
    // A new call begins with a sound device.
    return std::exchange(cuda_on_cpu::device().fault, nullptr) ? cudaErrorIllegalAddress : cudaSuccess;
}
inline const char *cudaGetErrorString(cudaError_t status) {
    const char *fault = cuda_on_cpu::device().fault;
    return status == cudaErrorIllegalAddress && fault ? fault : status == cudaSuccess ? "no error" : "another error";
}

// The memory ends where a page ends, behind which nobody may step.
inline cudaError_t cudaMalloc(void **place, size_t bytes) {
    constexpr size_t ALIGNED = 64, FENCE = 1 << 20;
    auto &all = cuda_on_cpu::device();
    if (all.memory.empty()) {
        const char *seed = std::getenv("CUDA_ON_CPU_SEED");
        all.random.seed(seed ? unsigned(std::atoi(seed)) : 1);
    }
    const size_t page = size_t(sysconf(_SC_PAGESIZE)), room = (bytes + ALIGNED - 1) / ALIGNED * ALIGNED;
    const size_t inner = (room + page - 1) / page * page, mapped = inner + 2 * FENCE;
    void *pages = mmap(nullptr, mapped, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (pages == MAP_FAILED) return cudaErrorMemoryAllocation;
    char *open = static_cast<char *>(pages) + FENCE;
    if (mprotect(open, inner, PROT_READ | PROT_WRITE)) return cudaErrorMemoryAllocation;
    std::memset(open, 0xff, inner);
    char *start = open + inner - room;
    all.memory[start] = {static_cast<char *>(pages), mapped, bytes};
    return *place = start, cudaSuccess;
}
template <class T> inline cudaError_t cudaMalloc(T **place, size_t bytes) {
    return cudaMalloc(reinterpret_cast<void **>(place), bytes);
}
inline cudaError_t cudaFree(void *place) {
    auto &all = cuda_on_cpu::device();
    auto found = all.memory.find(static_cast<char *>(place));
    if (!place) return cudaSuccess;
    if (found == all.memory.end()) return cuda_on_cpu::report("what is given back is not the device's memory");
    cuda_on_cpu::finish(all.standard);
    munmap(found->second.pages, found->second.mapped);
    all.memory.erase(found);
    return cudaSuccess;
}
inline cudaError_t cudaMallocAsync(void **place, size_t bytes, cudaStream_t) { return cudaMalloc(place, bytes); }
inline cudaError_t cudaFreeAsync(void *place, cudaStream_t stream) {
    cuda_stream(stream).tasks.push_back([=] { cudaFree(place); });
    return cudaSuccess;
}
inline cudaError_t cudaStreamSynchronize(cudaStream_t stream) {
    cuda_on_cpu::device().waits++;
    cuda_on_cpu::finish(cuda_stream(stream));
    return cuda_on_cpu::status();
}
inline cudaError_t cudaDeviceSynchronize() { return cudaStreamSynchronize(nullptr); }
inline cudaError_t cudaMemcpyAsync(void *to, const void *from, size_t bytes, cudaMemcpyKind kind,
                                   cudaStream_t stream = nullptr) {
    const bool to_device = kind != cudaMemcpyDeviceToHost, from_device = kind != cudaMemcpyHostToDevice;
    if (to_device != !!cuda_on_cpu::block_of(to, bytes) || from_device != !!cuda_on_cpu::block_of(from, bytes))
        return cuda_on_cpu::report("a copy from or to a place of the wrong kind");
    cuda_stream(stream).tasks.push_back([=] { std::memcpy(to, from, bytes); });
    return cudaSuccess;
}
inline cudaError_t cudaMemcpy(void *to, const void *from, size_t bytes, cudaMemcpyKind kind) {
    const cudaError_t started = cudaMemcpyAsync(to, from, bytes, kind);
    return started == cudaSuccess ? cudaStreamSynchronize(nullptr) : started;
}
inline cudaError_t cudaStreamCreateWithFlags(cudaStream_t *stream, unsigned) {
    return *stream = new cuda_on_cpu::Stream, cudaSuccess;
}
inline cudaError_t cudaStreamDestroy(cudaStream_t stream) {
    delete stream;
    return cudaSuccess;
}
inline cudaError_t cudaEventCreateWithFlags(cudaEvent_t *event, unsigned) { return *event = nullptr, cudaSuccess; }
inline cudaError_t cudaEventDestroy(cudaEvent_t) { return cudaSuccess; }

inline cudaError_t cudaLaunchKernel(const void *kernel, dim3 grid, dim3 threads, void **args, size_t,
                                    cudaStream_t stream) {
    auto &all = cuda_on_cpu::device();
    auto found = all.kernels.find(kernel);
    if (found == all.kernels.end()) return cuda_on_cpu::report("a kernel that was not announced");
    if (!grid.x || grid.x > 0x7fffffffu || !grid.y || grid.y > 65535 || !grid.z || grid.z > 65535 || !threads.x ||
        threads.x > 1024 || threads.y != 1 || threads.z != 1)
        return cudaErrorInvalidConfiguration;
    all.launches++;
    cuda_stream(stream).tasks.push_back([=, body = found->second.with(args), barriers = found->second.barriers] {
        cuda_on_cpu::run_grid(body, barriers, grid, threads);
    });
    return cuda_on_cpu::status();
}

inline void __syncthreads() { cuda_on_cpu::barrier(); }
inline int __syncthreads_or(int mine) {
    cuda_on_cpu::team().seen |= mine;
    cuda_on_cpu::barrier();
    return cuda_on_cpu::team().agreed;
}
template <class T> T atomicAdd(T *place, std::type_identity_t<T> value) {
    return std::exchange(*place, T(*place + value));
}
template <class T> T atomicCAS(T *place, std::type_identity_t<T> expected, std::type_identity_t<T> value) {
    return *place == expected ? std::exchange(*place, value) : *place;
}

// Kernels started, and times that the host has waited, since this was asked last.
extern "C" inline __attribute__((used)) void cuda_on_cpu_counts(int64_t *found) {
    auto &all = cuda_on_cpu::device();
    found[0] = std::exchange(all.launches, 0), found[1] = std::exchange(all.waits, 0);
}
