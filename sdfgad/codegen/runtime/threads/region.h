// A parallel region: the work that its threads share, and where they meet.
#pragma once
#include <algorithm>
#include "table.h"
#include "waits.h"

namespace sg {

// A loop whose iterations threads take chunk by chunk, in order. Chunks are a share of what is left (guided
// self-scheduling, Polychronopoulos and Kuck 1987): many short iterations, taken one by one, cost more than they are worth,
// and the results of neighbours lie in one line of the caches.
struct alignas(64) Chunks {
    static constexpr int kEach = 8;  // chunks to a thread, of what is left

    std::atomic<int64_t> next{0};
    int64_t stop = 0, step = 1, least = 1, parts = 1;
    std::atomic<uint64_t> turn{0};  // twice the number of the loop that it serves; one less while that is being set
    std::atomic<int> left{0};       // threads that are done with it

    void set(int64_t start, int64_t end, int64_t by, int64_t size, int threads) {
        stop = end, step = by, least = size, parts = kEach * threads;
        next.store(start, std::memory_order_relaxed);
        left.store(0, std::memory_order_relaxed);
    }
    bool over(int64_t k) const { return step > 0 ? k >= stop : k <= stop; }
    bool take(int64_t *from, int64_t *to) {
        int64_t at = next.load(std::memory_order_relaxed), end;
        do {
            if (over(at)) return false;
            end = at + std::max(least, (stop - at) / step / parts) * step;
        } while (!next.compare_exchange_weak(at, end, std::memory_order_relaxed));
        *from = at, *to = over(end) ? stop : end;
        return true;
    }
};

struct Region {
    static constexpr int kLoops = 4;  // that threads may be in at once

    void (*run)(void *) = nullptr;
    void *data = nullptr;
    std::atomic<int> count{1};
    Kind kind = kTogether;
    bool looped = false;  // a loop has been set before it begins
    bool exact = false;
    std::atomic<bool> dirty{false};
    Chunks loops[kLoops];
    Signal done, there, go, passed;
    std::atomic<uint32_t> arrived{0};

    void begin(void (*what)(void *), void *with, int threads, Kind which, bool all) {
        run = what, data = with, count = threads, kind = which, exact = all, looped = false;
        for (Signal *s : {&done, &there}) s->value.store(0, std::memory_order_relaxed);
        if (!dirty.exchange(false, std::memory_order_relaxed)) return;
        for (Chunks &c : loops) c.turn.store(0, std::memory_order_relaxed);
    }
    void loop_ahead(int64_t start, int64_t stop, int64_t step, int64_t chunk) {
        looped = true;
        dirty.store(true, std::memory_order_relaxed);
        loops[1].set(start, stop, step, chunk, count);
        loops[1].turn.store(2, std::memory_order_release);
    }
    // The loop of this number, set by the first thread that comes to it. Not before all have left the one that had its
    // place.
    Chunks &loop(uint64_t number, int64_t start, int64_t stop, int64_t step, int64_t chunk) {
        Chunks &c = loops[number % kLoops];
        dirty.store(true, std::memory_order_relaxed);
        for (int64_t tries = 0;; tries++) {
            uint64_t turn = c.turn.load(std::memory_order_acquire);
            if (turn == 2 * number) return c;
            const bool free = turn % 2 == 0 && (turn == 0 || c.left.load(std::memory_order_acquire) == count);
            if (free && c.turn.compare_exchange_strong(turn, 2 * number - 1)) {
                c.set(start, stop, step, chunk, count);
                c.turn.store(2 * number, std::memory_order_release);
                return c;
            }
            if (tries < 1000) rest();
            else usleep(50);
        }
    }
};

}  // namespace sg
