// What cuda_runtime.h declares, for tests; see there. It is compiled once and shared by all programs.
#include "cuda_runtime.h"
#include "strands.h"

#include <setjmp.h>
#include <signal.h>
#include <sys/mman.h>
#include <ucontext.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <map>
#include <memory>
#include <random>
#include <set>
#include <unordered_map>
#include <vector>

namespace cuda_on_cpu {

struct Stream {
    std::deque<Task> tasks;
};
// done: whether what was given to the stream before the last record is; shared by those that wait for that.
struct Event {
    Stream *stream = nullptr;
    std::shared_ptr<bool> done = std::make_shared<bool>(true);
};
struct Block {
    char *pages;
    size_t mapped, bytes;
    int device;
};
constexpr int DEVICES = 2;
constexpr unsigned AT_ONCE = 3;  // blocks that a device runs: few, so that each has several points of most kernels
constexpr size_t FENCE = 1 << 20;
struct Launched {
    Start start;
    bool barriers;
};

// All of the devices. One for the process: libraries that are loaded share it.
struct Device {
    Stream standard;
    std::set<Stream *> streams;
    int current = 0, running = 0;
    bool guarded = false;
    std::map<char *, Block> memory;
    std::map<const void *, Launched> kernels;
    std::mt19937 random;
    const char *fault = nullptr;
    int64_t launches = 0, waits = 0, copies = 0;
};
Device &device() {
    static Device one;
    return one;
}

uint3 thread_index, block_index;
dim3 grid_size;
sigjmp_buf out_of_kernel;
volatile bool in_kernel = false;

void announce(const void *kernel, const Start &start, bool barriers) {
    device().kernels[kernel] = {start, barriers};
    strands().shares(kernel);
}

// A kernel with the arguments that it is started with.
Task bound(const void *kernel, const Start &start, void **args) {
    std::vector<uint64_t> values(start.count);
    start.keep(args, values.data());
    return [kernel, call = start.call, values = std::move(values)] { call(kernel, values.data()); };
}

cudaError_t report(const char *what) {
    if (!device().fault) device().fault = what;
    if (in_kernel) siglongjmp(out_of_kernel, 1);
    return cudaErrorIllegalAddress;
}
void stepped_outside(int) { report("access outside of the device's memory"); }

const Block *block_of(const void *address, size_t bytes) {
    auto &memory = device().memory;
    auto after = memory.upper_bound(static_cast<char *>(const_cast<void *>(address)));
    if (after == memory.begin()) return nullptr;
    const auto &[start, block] = *--after;
    return static_cast<const char *>(address) + bytes <= start + block.bytes ? &block : nullptr;
}

bool is_here(const void *address) {
    const Block *block = block_of(address, 1);
    return block && block->device == device().current;
}
// Memory of the devices is open to the host, or to what runs there alone.
void open_memory(bool open) {
    for (auto &[start, block] : device().memory)
        mprotect(block.pages + FENCE, block.mapped - 2 * FENCE, open ? PROT_READ | PROT_WRITE : PROT_NONE);
}

// Who has touched an element, a thread or a block, and what was there before.
struct Touched {
    unsigned who;
    bool several, changed;
    size_t bytes;
    char before[16];
};
using Touches = std::unordered_map<const char *, Touched>;
Touches by_threads;  // of the block that runs, since its last barrier
Touches by_blocks;   // since the last barrier of all of them
void note(const void *place, size_t bytes) {
    const char *at = static_cast<const char *>(place);
    if (!block_of(at, bytes)) report("access outside of the device's memory");
    if (strands().watched) return;
    auto [found, first] = by_threads.try_emplace(at, Touched{thread_index.x, false, false, bytes, {}});
    if (first) std::memcpy(found->second.before, at, bytes);
    else found->second.several |= found->second.who != thread_index.x;
}
void look_for_races(const Touches &touches) {
    for (const auto &[at, one] : touches)
        if (one.several && one.changed) report("two threads touch an element that one of them changes");
}
// The block that runs is at a barrier, or done: what its threads have done, the block has.
void pass_barrier() {
    for (auto &[at, one] : by_threads) {
        one.changed = std::memcmp(at, one.before, one.bytes);
        auto [found, first] = by_blocks.try_emplace(at, Touched{block_index.x, false, one.changed, one.bytes, {}});
        found->second.several |= found->second.who != block_index.x;
        found->second.changed |= one.changed;
    }
    look_for_races(by_threads);
    by_threads.clear();
}
void pass_barrier_of_all() {
    look_for_races(by_blocks);
    by_blocks.clear();
}

// Threads that wait for each other: each has a stack of its own, and may be at a barrier of all blocks.
struct Fiber {
    ucontext_t context;
    std::unique_ptr<char[]> stack;
    bool done, away;
    size_t block;
    void *strand;
};
struct Team {
    std::vector<Fiber> fibers;
    ucontext_t scheduler;
    Fiber *now = nullptr;
    const Task *body = nullptr;
    int seen = 0, agreed = 0;
    bool at_once = false;  // all blocks have been started together
};
Team &team() {
    static Team one;
    return one;
}
void run_fiber() {
    strands().begin();
    (*team().body)();
    strands().end();
    team().now->done = true;
}
void barrier() {
    Team &all = team();
    if (!all.now) report("a barrier in a kernel that was said to have none");
    Fiber *mine = all.now;
    void *meeting = strands().meeting(mine->away ? 0 : 1 + mine->block);
    strands().leave(meeting);
    swapcontext(&mine->context, &all.scheduler);
    strands().come(meeting);
}
void wait_for_grid() {
    if (!team().at_once || !team().now) report("a barrier of all blocks, which were not started at once");
    team().now->away = true;
    barrier();
}
constexpr size_t STACK = 1 << 16;
// block: the first one; threads: of each.
void prepare(const Task &body, size_t count, size_t block, size_t threads) {
    Team &all = team();
    all.body = &body;
    while (all.fibers.size() < count) {
        all.fibers.emplace_back();
        all.fibers.back().stack.reset(new char[STACK]);
    }
    for (size_t k = 0; k < count; ++k) {
        Fiber &fiber = all.fibers[k];
        getcontext(&fiber.context);
        fiber.context.uc_stack.ss_sp = fiber.stack.get();
        fiber.context.uc_stack.ss_size = STACK;
        fiber.context.uc_link = &all.scheduler;
        fiber.done = fiber.away = false;
        fiber.block = block + k / threads;
        fiber.strand = strands().made(fiber.stack.get() + STACK);
        makecontext(&fiber.context, run_fiber, 0);
    }
}
// The threads of one block, from the first of these fibers on, until they are done or wait for other blocks.
void run_together(Fiber *fibers, std::vector<unsigned> turns) {
    Team &all = team();
    all.seen = 0;
    strands().enter_block();
    for (bool waiting = true; waiting;) {
        size_t left = 0, some = 0;
        all.agreed = all.seen, all.seen = 0;
        for (unsigned k : turns) {
            if (fibers[k].done) continue;
            all.now = &fibers[k];
            thread_index = {k, 0, 0};
            strands().go_on(all.now->strand);
            swapcontext(&all.scheduler, &all.now->context);
            strands().stop();
            left += !all.now->done, some += !all.now->done && !all.now->away;
        }
        all.now = nullptr;
        strands().passed(1 + fibers->block);
        pass_barrier();
        if (left && (left != turns.size() || (some && some != left)))
            report("a thread has left its block before a barrier");
        waiting = some;
        std::shuffle(turns.begin(), turns.end(), device().random);
    }
}
std::vector<unsigned> drawn(size_t count);
// All blocks of a launch, one after the other between two of their common barriers.
void run_at_once(const Task &body, size_t blocks, size_t threads) {
    Team &all = team();
    prepare(body, blocks * threads, 0, threads);
    for (size_t left = blocks; left;) {
        size_t behind = 0;
        for (unsigned k : drawn(blocks)) {
            block_index = {k, 0, 0};
            Fiber *first = &all.fibers[k * threads];
            run_together(first, drawn(threads));
            behind += first->away;
        }
        for (size_t k = 0; k < blocks * threads; ++k) all.fibers[k].away = false;
        strands().passed(0);
        pass_barrier_of_all();
        if (behind && behind != blocks) report("a block has left before a barrier of all blocks");
        left = behind;
    }
}

std::vector<unsigned> drawn(size_t count) {
    std::vector<unsigned> order(count);
    for (size_t k = 0; k < count; ++k) order[k] = unsigned(k);
    std::shuffle(order.begin(), order.end(), device().random);
    return order;
}
// A thread that waits for nobody.
void run_alone(const Task &body) {
    strands().go_on(strands().made(__builtin_frame_address(0)));
    strands().begin();
    body();
    strands().end();
    strands().stop();
}
void run_grid(const Task &body, bool barriers, bool at_once, dim3 grid, dim3 threads) {
    struct sigaction mine = {}, segv, bus;
    mine.sa_handler = stepped_outside;
    mine.sa_flags = SA_NODEFER;
    sigaction(SIGSEGV, &mine, &segv);
    sigaction(SIGBUS, &mine, &bus);
    const size_t blocks = size_t(grid.x) * grid.y * grid.z;
    grid_size = grid;
    team().at_once = at_once;
    strands().launch(blocks);
    if (!sigsetjmp(out_of_kernel, 1)) {
        in_kernel = true;
        if (at_once) run_at_once(body, blocks, threads.x);
        else for (unsigned k : drawn(blocks)) {
            block_index = {k % grid.x, k / grid.x % grid.y, k / (grid.x * grid.y)};
            const auto order = drawn(threads.x);
            if (barriers) prepare(body, threads.x, k, threads.x), run_together(team().fibers.data(), order);
            else for (unsigned t : order) thread_index = {t, 0, 0}, run_alone(body);
            pass_barrier();
        }
    }
    in_kernel = false;
    strands().landed();
    team().now = nullptr;
    if (!device().fault) pass_barrier_of_all();
    by_threads.clear(), by_blocks.clear();
    sigaction(SIGSEGV, &segv, nullptr);
    sigaction(SIGBUS, &bus, nullptr);
}

cudaError_t status() { return device().fault ? cudaErrorIllegalAddress : cudaSuccess; }
void run_next(Stream &stream) {
    Task task = std::move(stream.tasks.front());
    stream.tasks.pop_front();
    Device &all = device();
    if (all.guarded && !all.running++) open_memory(true);
    task();
    if (all.guarded && !--all.running) open_memory(false);
}
void finish(Stream &stream) {
    while (!stream.tasks.empty()) run_next(stream);
}
void finish_all() {
    finish(device().standard);
    for (Stream *stream : device().streams) finish(*stream);
}
void finish_until(Stream *stream, const std::shared_ptr<bool> &done) {
    while (!*done) run_next(*stream);
}
void release(void *place) {
    auto &all = device();
    auto found = all.memory.find(static_cast<char *>(place));
    if (found == all.memory.end()) {
        report("what is given back is not the device's memory");
        return;
    }
    munmap(found->second.pages, found->second.mapped);
    all.memory.erase(found);
}
}  // namespace cuda_on_cpu
cuda_on_cpu::Stream &cuda_stream(cudaStream_t stream);
namespace cuda_on_cpu {
// What is given to a stream; behind a fault nothing but what others wait for.
void give(cudaStream_t stream, Task task) {
    cuda_stream(stream).tasks.push_back([task = std::move(task)] {
        if (!device().fault) task();
    });
}

}  // namespace cuda_on_cpu

// Small numbers are the names of the standard stream.
cuda_on_cpu::Stream &cuda_stream(cudaStream_t stream) {
    return reinterpret_cast<uintptr_t>(stream) > 2 ? *stream : cuda_on_cpu::device().standard;
}
extern "C" {
cudaError_t cudaGetDeviceCount(int *count) { return *count = cuda_on_cpu::DEVICES, cudaSuccess; }
cudaError_t cudaGetDevice(int *device) { return *device = cuda_on_cpu::device().current, cudaSuccess; }
cudaError_t cudaSetDevice(int device) {
    if (device < 0 || device >= cuda_on_cpu::DEVICES) return cudaErrorInvalidDevice;
    return cuda_on_cpu::device().current = device, cudaSuccess;
}
cudaError_t cudaPointerGetAttributes(cudaPointerAttributes *found, const void *place) {
    const cuda_on_cpu::Block *block = cuda_on_cpu::block_of(place, 1);
    *found = {block ? cudaMemoryTypeDevice : cudaMemoryTypeUnregistered, block ? block->device : 0};
    return cudaSuccess;
}
cudaError_t cudaGetLastError() {
    // A new call begins with a sound device.
    return std::exchange(cuda_on_cpu::device().fault, nullptr) ? cudaErrorIllegalAddress : cudaSuccess;
}
const char *cudaGetErrorString(cudaError_t status) {
    const char *fault = cuda_on_cpu::device().fault;
    return status == cudaErrorIllegalAddress && fault ? fault : status == cudaSuccess ? "no error" : "another error";
}

// The memory ends where a page ends, behind which nobody may step.
cudaError_t cudaMalloc(void **place, size_t bytes) {
    constexpr size_t ALIGNED = 64;
    using cuda_on_cpu::FENCE;
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
    all.memory[start] = {static_cast<char *>(pages), mapped, bytes, all.current};
    if (all.guarded && !all.running) mprotect(open, inner, PROT_NONE);
    return *place = start, cudaSuccess;
}
cudaError_t cudaFree(void *place) {
    cuda_on_cpu::finish_all();
    if (place) cuda_on_cpu::release(place);
    return cuda_on_cpu::status();
}
// Pinned memory of the host, which holds NaN at first, too: who looks at a copy before it is there finds that.
cudaError_t cudaMallocHost(void **place, size_t bytes) {
    *place = std::malloc(bytes ? bytes : 1);
    if (!*place) return cudaErrorMemoryAllocation;
    std::memset(*place, 0xff, bytes);
    return cudaSuccess;
}
cudaError_t cudaFreeHost(void *place) {
    cuda_on_cpu::finish_all();
    std::free(place);
    return cudaSuccess;
}
cudaError_t cudaMallocAsync(void **place, size_t bytes, cudaStream_t) { return cudaMalloc(place, bytes); }
cudaError_t cudaFreeAsync(void *place, cudaStream_t stream) {
    // Memory is given back behind a fault as well.
    cuda_stream(stream).tasks.push_back([=] { cuda_on_cpu::release(place); });
    return cudaSuccess;
}
cudaError_t cudaStreamSynchronize(cudaStream_t stream) {
    cuda_on_cpu::device().waits++;
    cuda_on_cpu::finish(cuda_stream(stream));
    return cuda_on_cpu::status();
}
cudaError_t cudaDeviceSynchronize() {
    cuda_on_cpu::device().waits++;
    cuda_on_cpu::finish_all();
    return cuda_on_cpu::status();
}
cudaError_t cudaMemsetAsync(void *place, int value, size_t bytes, cudaStream_t stream) {
    if (!cuda_on_cpu::block_of(place, bytes)) return cuda_on_cpu::report("memory that is set is not the device's");
    cuda_on_cpu::give(stream, [=] { std::memset(place, value, bytes); });
    return cudaSuccess;
}
cudaError_t cudaMemcpyAsync(void *to, const void *from, size_t bytes, cudaMemcpyKind kind,
                                   cudaStream_t stream) {
    const bool to_device = kind != cudaMemcpyDeviceToHost, from_device = kind != cudaMemcpyHostToDevice;
    if (to_device != !!cuda_on_cpu::block_of(to, bytes) || from_device != !!cuda_on_cpu::block_of(from, bytes))
        return cuda_on_cpu::report("a copy from or to a place of the wrong kind");
    if (kind != cudaMemcpyDeviceToDevice) cuda_on_cpu::device().copies++;
    cuda_on_cpu::give(stream, [=] { std::memcpy(to, from, bytes); });
    return cudaSuccess;
}
cudaError_t cudaMemcpy(void *to, const void *from, size_t bytes, cudaMemcpyKind kind) {
    const cudaError_t started = cudaMemcpyAsync(to, from, bytes, kind);
    return started == cudaSuccess ? cudaStreamSynchronize(nullptr) : started;
}
cudaError_t cudaStreamCreateWithFlags(cudaStream_t *stream, unsigned) {
    cuda_on_cpu::device().streams.insert(*stream = new cuda_on_cpu::Stream);
    return cudaSuccess;
}
cudaError_t cudaStreamDestroy(cudaStream_t stream) {
    if (!cuda_on_cpu::device().streams.erase(stream)) return cudaErrorInvalidResourceHandle;
    cuda_on_cpu::finish(*stream);
    delete stream;
    return cudaSuccess;
}
cudaError_t cudaEventCreateWithFlags(cudaEvent_t *event, unsigned) {
    return *event = new cuda_on_cpu::Event, cudaSuccess;
}
cudaError_t cudaEventDestroy(cudaEvent_t event) {
    delete event;
    return cudaSuccess;
}
cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream) {
    event->stream = &cuda_stream(stream), event->done = std::make_shared<bool>(false);
    event->stream->tasks.push_back([done = event->done] { *done = true; });
    return cudaSuccess;
}
cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned) {
    cuda_stream(stream).tasks.push_back([other = event->stream, done = event->done] {
        cuda_on_cpu::finish_until(other, done);
    });
    return cudaSuccess;
}
cudaError_t cudaEventSynchronize(cudaEvent_t event) {
    cuda_on_cpu::device().waits++;
    cuda_on_cpu::finish_until(event->stream, event->done);
    return cuda_on_cpu::status();
}
cudaError_t cudaEventQuery(cudaEvent_t event) { return *event->done ? cudaSuccess : cudaErrorNotReady; }

static cudaError_t started(const void *kernel, dim3 grid, dim3 threads, void **args, cudaStream_t stream, bool at_once) {
    auto &all = cuda_on_cpu::device();
    auto found = all.kernels.find(kernel);
    if (found == all.kernels.end()) return cuda_on_cpu::report("a kernel that was not announced");
    if (!grid.x || grid.x > 0x7fffffffu || !grid.y || grid.y > 65535 || !grid.z || grid.z > 65535 || !threads.x ||
        threads.x > 1024 || threads.y != 1 || threads.z != 1)
        return cudaErrorInvalidConfiguration;
    all.launches++;
    const auto &[start, barriers] = found->second;
    cuda_on_cpu::give(stream, [=, body = cuda_on_cpu::bound(kernel, start, args), barriers = barriers] {
        cuda_on_cpu::run_grid(body, barriers, at_once, grid, threads);
    });
    return cuda_on_cpu::status();
}
cudaError_t cudaLaunchKernel(const void *kernel, dim3 grid, dim3 threads, void **args, size_t, cudaStream_t stream) {
    return started(kernel, grid, threads, args, stream, false);
}
cudaError_t cudaLaunchCooperativeKernel(const void *kernel, dim3 grid, dim3 threads, void **args, size_t,
                                        cudaStream_t stream) {
    if (grid.y != 1 || grid.z != 1 || grid.x > cuda_on_cpu::AT_ONCE) return cudaErrorCooperativeLaunchTooLarge;
    return started(kernel, grid, threads, args, stream, true);
}
cudaError_t cudaDeviceGetAttribute(int *value, cudaDeviceAttr, int) {
    return *value = cuda_on_cpu::AT_ONCE, cudaSuccess;
}
cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessor(int *blocks, const void *, int, size_t) {
    return *blocks = 1, cudaSuccess;
}
}  // extern "C"

void __syncthreads() { cuda_on_cpu::barrier(); }
int __syncthreads_or(int mine) {
    cuda_on_cpu::team().seen |= mine;
    cuda_on_cpu::barrier();
    return cuda_on_cpu::team().agreed;
}
// Kernels started, and times that the host has waited, since this was asked last.
extern "C" void cuda_on_cpu_counts(int64_t *found) {
    auto &all = cuda_on_cpu::device();
    found[0] = std::exchange(all.launches, 0), found[1] = std::exchange(all.waits, 0);
}
// Copies between host and device since this was asked last.
extern "C" int64_t cuda_on_cpu_copies() { return std::exchange(cuda_on_cpu::device().copies, 0); }
// Blocks of memory that are taken.
extern "C" int64_t cuda_on_cpu_blocks() { return int64_t(cuda_on_cpu::device().memory.size()); }
// From now on the host may touch memory of the devices, or not.
extern "C" void cuda_on_cpu_guard(int guarded) {
    cuda_on_cpu::open_memory(!guarded);
    cuda_on_cpu::device().guarded = guarded;
}
