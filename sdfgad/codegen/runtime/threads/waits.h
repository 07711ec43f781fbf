// Waits that spin for a short time and sleep after that, and the clocks of a thread.
#pragma once
#include <algorithm>
#include <atomic>
#include <cstdint>
#include <ctime>
#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>
#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace sg {

inline int64_t clock_of(clockid_t which) {
    timespec t;
    clock_gettime(which, &t);
    return t.tv_sec * int64_t(1'000'000'000) + t.tv_nsec;
}
inline int64_t now() { return clock_of(CLOCK_MONOTONIC); }

inline void rest() {
#if defined(__x86_64__)
    _mm_pause();
#elif defined(__aarch64__)
    asm volatile("isb" ::: "memory");
#endif
}

// How long a thread had work and no core: what passes on the machine's clock and not on the thread's own, sleeping
// aside. All in nanoseconds.
struct Losses {
    int64_t since = 0, busy = 0, slept = 0;
    void begin(int64_t time) { since = time, busy = clock_of(CLOCK_THREAD_CPUTIME_ID), slept = 0; }
    int64_t lost(int64_t time) const {
        return std::max<int64_t>(0, time - since - slept - (clock_of(CLOCK_THREAD_CPUTIME_ID) - busy));
    }
};

// A number that threads wait for to change.
struct alignas(64) Signal {
    std::atomic<uint32_t> value{0}, sleepers{0};

    uint32_t read() const { return value.load(std::memory_order_acquire); }
    // Spin for so long; whether the value is another one now.
    bool spin(uint32_t old, int64_t nanoseconds) const {
        for (int64_t tries = 1, begun = 0; read() == old; tries++) {
            rest();
            if (tries % 32) continue;
            const int64_t time = now();
            if (begun == 0) begun = time;
            if (time - begun >= nanoseconds) return false;
        }
        return true;
    }
    // Whoever changes the value afterwards sees that somebody sleeps, or the sleeper sees the change.
    void sleep(uint32_t old, Losses &losses) {
        const int64_t begun = now();
        sleepers.fetch_add(1);
        if (value.load() == old) syscall(SYS_futex, &value, FUTEX_WAIT_PRIVATE, old, nullptr, nullptr, 0);
        sleepers.fetch_sub(1);
        losses.slept += now() - begun;
    }
    void wake() {
        if (sleepers.load() > 0) syscall(SYS_futex, &value, FUTEX_WAKE_PRIVATE, INT32_MAX, nullptr, nullptr, 0);
    }
    void change() {
        value.fetch_add(1);
        wake();
    }
};

}  // namespace sg
