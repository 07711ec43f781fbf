// What the compiler calls for OpenMP's pragmas. Linked into every program and seen by nobody else: whatever other OpenMP
// runtime the process has, these threads are our own. What is missing here is an error when a program is linked.
#include "table.h"

static const sg::Threads *table = nullptr;
#define HERE extern "C" __attribute__((visibility("hidden")))

extern "C" __attribute__((visibility("default"))) void sg_attach(const sg::Threads *threads) { table = threads; }
HERE const volatile int *sg_watch() { return table->watch(); }
HERE void sg_unwatch(const volatile int *watched) { table->unwatch(watched); }

#if defined(__clang__)
// Clang compiles to calls of its own runtime, which can be told at any time to sleep at once.
#include <omp.h>
extern "C" __attribute__((weak)) void kmp_set_blocktime(int milliseconds);
HERE int sg_room() { return omp_get_max_threads(); }
HERE int sg_ask(int most) {
    const int before = omp_get_max_threads();
    if (kmp_set_blocktime) kmp_set_blocktime(0);
    if (most != 0) omp_set_num_threads(most < 0 ? -most : most);
    return before;
}
#else

HERE int sg_ask(int most) { return table->ask(most); }
HERE int sg_room() { return table->room(); }

HERE int omp_get_thread_num() { return table->number(); }
HERE int omp_get_num_threads() { return table->count(); }
HERE int omp_get_max_threads() { return table->most(); }

// The binding that the pragma of a region asks for tells its kind: `spread` for `kApart`.
static sg::Kind kind_of(unsigned flags) { return (flags & 7) == 4 ? sg::kApart : sg::kTogether; }

HERE void GOMP_parallel(void (*run)(void *), void *data, unsigned threads, unsigned flags) {
    table->parallel(run, data, int(threads), kind_of(flags), nullptr);
}
HERE void GOMP_barrier() { table->barrier(); }

static bool given(bool found, const int64_t (&part)[2], long *from, long *to) {
    if (found) *from = part[0], *to = part[1];
    return found;
}
static bool start(const int64_t (&loop)[4], long *from, long *to) {
    int64_t part[2];
    return given(table->loop_start(loop, part, part + 1), part, from, to);
}
static bool next(long *from, long *to) {
    int64_t part[2];
    return given(table->loop_next(part, part + 1), part, from, to);
}
#define DYNAMIC(name)                                                                                                  \
    HERE void GOMP_parallel_loop_##name(void (*run)(void *), void *data, unsigned threads, long begin, long end,       \
                                        long step, long chunk, unsigned flags) {                                       \
        const int64_t loop[4] = {begin, end, step, chunk};                                                             \
        table->parallel(run, data, int(threads), kind_of(flags), loop);                                                \
    }                                                                                                                  \
    HERE bool GOMP_loop_##name##_start(long begin, long end, long step, long chunk, long *from, long *to) {            \
        return start({begin, end, step, chunk}, from, to);                                                             \
    }                                                                                                                  \
    HERE bool GOMP_loop_##name##_next(long *from, long *to) { return next(from, to); }
DYNAMIC(dynamic)
DYNAMIC(nonmonotonic_dynamic)
HERE void GOMP_loop_end_nowait() { table->loop_end(); }
HERE void GOMP_loop_end() {
    table->loop_end();
    table->barrier();
}

HERE void GOMP_atomic_start() { table->lock(); }
HERE void GOMP_atomic_end() { table->unlock(); }
HERE void GOMP_critical_start() { table->lock(); }
HERE void GOMP_critical_end() { table->unlock(); }
HERE void GOMP_critical_name_start(void **) { table->lock(); }
HERE void GOMP_critical_name_end(void **) { table->unlock(); }

#endif
