// What a compiled program asks of the threads of its process. One table serves all programs.
#pragma once
#include <cstdint>

namespace sg {

// Kinds of parallel regions. Shares of a `kApart` region wait for nothing in another one: any thread may run any of
// them, at any time. All shares of a `kTogether` region are there before one of them waits for another.
enum Kind { kTogether = 0, kApart = 1 };

struct Threads {
    // loop: start, stop, step and chunk of a loop that the region begins with; null without one.
    void (*parallel)(void (*run)(void *), void *data, int threads, Kind kind, const int64_t *loop);
    bool (*loop_start)(const int64_t *loop, int64_t *from, int64_t *to);
    bool (*loop_next)(int64_t *from, int64_t *to);
    void (*loop_end)();
    void (*barrier)();
    void (*lock)();
    void (*unlock)();
    int (*number)();       // of this thread in its region
    int (*count)();        // of the threads of the region
    int (*most)();         // threads that a region may have which this thread begins
    int (*room)();         // threads that a library may start at this moment
    int (*ask)(int most);  // sets that, negative: exactly so many, 0: one a core; gives what was asked before
    // A call that can be interrupted begins and ends: what it looks at, which is not 0 when it has to end.
    const volatile int *(*watch)();
    void (*unwatch)(const volatile int *watched);
};

}  // namespace sg
