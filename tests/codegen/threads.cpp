// Regions of every kind that programs have, with what the threads of the process decide; see test_threads.py.
#include "governor.h"
#include "region.h"
#include "sites.h"
#include <cstdint>
#include <memory>
#include <omp.h>
#include <sched.h>

extern "C" int sg_ask(int threads);

namespace {

// Every thread has a number of its own, below the count.
int64_t numbered() {
    int64_t seen = 0, count = 0;
#pragma omp parallel reduction(+ : seen) reduction(max : count)
    {
        seen += int64_t(1) << (6 * omp_get_thread_num());
        count = omp_get_num_threads();
    }
    for (int64_t k = 0; k < count; k++) seen -= int64_t(1) << (6 * k);
    return seen == 0 ? count : -1;
}

// Two fields that threads write in turn, each from the neighbours in the other one.
int64_t phases(int steps) {
    constexpr int n = 64;
    int64_t a[n] = {}, b[n] = {}, wrong = 0;
#pragma omp parallel reduction(+ : wrong)
    for (int k = 0; k < steps; k++) {
#pragma omp for schedule(static) nowait
        for (int i = 0; i < n; i++) b[i] = a[(i + 1) % n] + 1;
#pragma omp barrier
#pragma omp for schedule(dynamic, 3) nowait
        for (int i = 0; i < n; i++) a[i] = b[(i + n - 1) % n] + 1;
#pragma omp barrier
#pragma omp for schedule(dynamic)
        for (int i = 0; i < n; i++) wrong += a[i] != 2 * k + 2;
#pragma omp master
        b[0] = 0;
#pragma omp barrier
    }
    return wrong;
}

int64_t apart(int n) {
    int64_t total = 0, down = 0, inner = 0;
#pragma omp parallel for proc_bind(spread) reduction(+ : total)
    for (int i = 0; i < n; i++) total += i;
#pragma omp parallel for proc_bind(spread) schedule(dynamic, 2) reduction(+ : down)
    for (int i = n; i > 0; i -= 3) down += i;
#pragma omp parallel for proc_bind(spread) reduction(+ : inner)
    for (int i = 0; i < 8; i++) {
        int64_t sum = 0;
#pragma omp parallel for schedule(dynamic) reduction(+ : sum)
        for (int j = 0; j < n; j++) sum += omp_get_num_threads() == 1;
#pragma omp critical
        inner += sum;
    }
    for (int i = n; i > 0; i -= 3) down -= i;
    return total - int64_t(n) * (n - 1) / 2 + down + inner - 8 * n;
}

}  // namespace

extern "C" {
// The chunks in which a loop is taken; -1 where they are not its iterations in order.
int64_t chunks(int64_t start, int64_t stop, int64_t step, int64_t least, int threads) {
    sg::Chunks loop;
    loop.set(start, stop, step, least, threads);
    int64_t found = 0, at = start, from = 0, to = 0;
    for (; loop.take(&from, &to); found++) {
        if (from != at || (to - from) * step <= 0 || ((to - from) % step != 0 && to != stop)) return -1;
        at = to;
    }
    return at == stop ? found : -1;
}
int64_t numbers(int threads) {
    const int before = sg_ask(threads);
    const int64_t found = numbered();
    sg_ask(before);
    return found;
}
int core() { return sched_getcpu(); }
// Whether two threads begin on one core.
bool meet() {
    const int before = sg_ask(-2);
    int cores[2];
#pragma omp parallel
    cores[omp_get_thread_num()] = sched_getcpu();
    sg_ask(before);
    return cores[0] == cores[1];
}
// The number of errors in so many rounds.
int64_t rounds(int threads, int count) {
    const int before = sg_ask(threads);
    int64_t wrong = 0;
    for (int k = 0; k < count; k++) wrong += phases(5) + (apart(1 + k % 40) != 0) + (numbered() < 1);
    sg_ask(before);
    return wrong;
}

sg::Governor *governor() { return new sg::Governor; }
void dismiss(sg::Governor *g) { delete g; }
int limit(sg::Governor *g, int most, int64_t now) { return g->limit(most, now); }
bool report(sg::Governor *g, int threads, int64_t wall, int64_t lost, int64_t now) {
    return g->report(threads, wall, lost, now);
}

// How many of so many runs of a region are on one thread, with what they take there and shared, and the time between them.
// cold: what a run on one thread takes besides where the last one was shared.
int alone(int runs, int64_t on_one, int64_t on_all, bool asleep, int64_t gap, int64_t cold) {
    auto sites = std::make_unique<sg::Sites>();
    sg::Sites::Site &site = sites->at(nullptr);
    int found = 0;
    bool before = false;
    for (int64_t k = 0; k < runs; k++) {
        const bool one = sites->better_alone(site, asleep, k * gap);
        sites->note(site, one ? on_one + (before ? 0 : cold) : on_all, one, asleep);
        before = one;
        found += one;
    }
    return found;
}
}
