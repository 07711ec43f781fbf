// SIGINT during a call of the main thread: the call looks at a number now and then, and ends where that is not 0.
//
// Our handler stands before the one that was there, which it calls, so that all goes on as before: Python's own handler
// of the signal raises when the call has returned. Whether that one raises, only Python knows; it says so in
// `listen_to_interrupts`, at the first call and whenever somebody else has put another handler in our place.
#pragma once
#include <csignal>
#include <cstdint>
#include <ctime>
#include <sys/syscall.h>
#include <unistd.h>

namespace sg {

struct Interrupts {
    using Handler = void (*)(int, siginfo_t *, void *);

    volatile sig_atomic_t stop = 0, running = 0, inside = 0;
    bool listening = false, raises = false;
    struct sigaction first = {}, before = {};  // what was there when ours came, the first and the last time
    Handler known = nullptr;                   // what is there, unless somebody has changed it
    int64_t looked = 0;                        // when that was last true, by a clock that is cheap to read
};
inline Interrupts interrupts;
inline const volatile sig_atomic_t never = 0;
inline thread_local int is_main = -1;

inline void on_interrupt(int number, siginfo_t *info, void *context) {
    Interrupts &i = interrupts;
    if (i.running) i.stop = 1;
    // One that was put before ours calls ours in its turn.
    const struct sigaction &next = i.inside ? i.first : i.before;
    i.inside = i.inside + 1;
    if (next.sa_flags & SA_SIGINFO) next.sa_sigaction(number, info, context);
    else next.sa_handler(number);
    i.inside = i.inside - 1;
}

// raises: whether the handler that is there raises, so that a call may end without a result.
inline void listen_to_interrupts(bool raises) {
    Interrupts &i = interrupts;
    struct sigaction there;
    sigaction(SIGINT, nullptr, &there);
    const bool function = (there.sa_flags & SA_SIGINFO) || (there.sa_handler != SIG_IGN && there.sa_handler != SIG_DFL);
    if (function && there.sa_sigaction != on_interrupt) {
        i.before = there;
        if (i.first.sa_sigaction == nullptr) i.first = there;
        there.sa_flags |= SA_SIGINFO;
        there.sa_sigaction = on_interrupt;
        sigaction(SIGINT, &there, nullptr);
    }
    i.known = there.sa_sigaction;
    i.raises = raises && function;
    i.listening = true;
}

inline bool changed_since(Interrupts &i) {
    timespec t;
    clock_gettime(CLOCK_MONOTONIC_COARSE, &t);
    const int64_t time = t.tv_sec * int64_t(1'000'000'000) + t.tv_nsec;
    if (time == i.looked) return false;
    i.looked = time;
    struct sigaction there;
    sigaction(SIGINT, nullptr, &there);
    return there.sa_sigaction != i.known;
}

// A call begins: what it looks at; null where `listen_to_interrupts` is to be called first. Ends with `unwatch`.
inline const volatile sig_atomic_t *watch() {
    Interrupts &i = interrupts;
    if (is_main < 0) is_main = syscall(SYS_gettid) == getpid();
    if (!i.listening || !is_main) return &never;
    if (changed_since(i)) return nullptr;
    if (i.running == 0) i.stop = 0;
    i.running = i.running + i.raises;
    return i.raises ? &i.stop : &never;
}
inline void unwatch(const volatile sig_atomic_t *watched) {
    if (watched == &interrupts.stop) interrupts.running = interrupts.running - 1;
}
// In a child process.
inline void forget_interrupts() { interrupts.stop = interrupts.running = interrupts.inside = 0, is_main = -1; }

}  // namespace sg
