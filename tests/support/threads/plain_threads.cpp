// A program of generated code that runs one call under ThreadSanitizer: the threads that it asks for as plain ones, which
// the sanitizer understands, in place of `runtime/threads`, and a main function that calls with one thread and with several.
//
// Nothing but the start and the end of a team and its barriers puts accesses in order. Iterations that a dynamic schedule
// would hand out are shared in turn: a counter of theirs would order what it must not.
#include <pthread.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <thread>
#include <utility>
#include <vector>

namespace {

struct Team {
    int size;
    pthread_barrier_t barrier;
};

struct Share {
    long next = 0, end = 0, step = 1, chunk = 1;
};

int asked = 0;
int most() { return asked == 0 ? 1 : std::abs(asked); }
thread_local Team* team = nullptr;
thread_local int number = 0;
thread_local Share share;

bool take(long* first, long* last) {
    const bool up = share.step > 0;
    if (up ? share.next >= share.end : share.next <= share.end) return false;
    const long stop = share.next + share.chunk * share.step;
    *first = share.next;
    *last = (up ? stop > share.end : stop < share.end) ? share.end : stop;
    share.next += share.chunk * share.step * (team ? team->size : 1);
    return true;
}

void begin(long start, long end, long step, long chunk) {
    share = {start + number * chunk * step, end, step, chunk};
}

template <class Body> void run(unsigned wanted, Body body) {
    Team own{team ? 1 : wanted ? int(wanted) : most(), {}}, *outer = team;
    const int mine = number;
    pthread_barrier_init(&own.barrier, nullptr, own.size);
    std::vector<std::thread> others;
    for (int k = 1; k < own.size; k++)
        others.emplace_back([&, k] {
            team = &own;
            number = k;
            body();
        });
    team = &own;
    number = 0;
    body();
    team = outer;
    number = mine;
    for (std::thread& other : others) other.join();
    pthread_barrier_destroy(&own.barrier);
}

}  // namespace

extern "C" {

int omp_get_thread_num() { return number; }
int omp_get_num_threads() { return team ? team->size : 1; }
int omp_get_max_threads() { return team ? 1 : most(); }

// What programs ask the threads of a process for (`runtime/threads/openmp.cpp`): so many from now on, a library's own.
int sg_ask(int threads) { return std::exchange(asked, threads); }
int sg_room() { return 1; }
const volatile int* sg_watch() {
    static const volatile int never = 0;
    return &never;
}
void sg_unwatch(const volatile int*) {}

void GOMP_parallel(void (*fn)(void*), void* data, unsigned wanted, unsigned) {
    run(wanted, [&] { fn(data); });
}
void GOMP_parallel_loop_dynamic(void (*fn)(void*), void* data, unsigned wanted, long start, long end, long step,
                                long chunk, unsigned) {
    run(wanted, [&] {
        begin(start, end, step, chunk);
        fn(data);
    });
}
void GOMP_parallel_loop_nonmonotonic_dynamic(void (*fn)(void*), void* data, unsigned wanted, long start, long end,
                                             long step, long chunk, unsigned flags) {
    GOMP_parallel_loop_dynamic(fn, data, wanted, start, end, step, chunk, flags);
}
bool GOMP_loop_dynamic_start(long start, long end, long step, long chunk, long* first, long* last) {
    begin(start, end, step, chunk);
    return take(first, last);
}
bool GOMP_loop_dynamic_next(long* first, long* last) { return take(first, last); }
bool GOMP_loop_nonmonotonic_dynamic_start(long start, long end, long step, long chunk, long* first, long* last) {
    return GOMP_loop_dynamic_start(start, end, step, chunk, first, last);
}
bool GOMP_loop_nonmonotonic_dynamic_next(long* first, long* last) { return take(first, last); }
void GOMP_barrier() {
    if (team) pthread_barrier_wait(&team->barrier);
}
void GOMP_loop_end() { GOMP_barrier(); }
void GOMP_loop_end_nowait() {}
bool GOMP_single_start() { return number == 0; }

void* sg_open();
void sg_close(void*);
int sg_call(void*, void**, int, int64_t);

}  // extern "C"

namespace {

struct Arguments {
    std::vector<size_t> sizes;
    std::vector<void*> places;

    // room: bytes that the program works in.
    Arguments(const char* path, size_t room) {
        std::unique_ptr<FILE, int (*)(FILE*)> file(std::fopen(path, "rb"), std::fclose);
        for (uint64_t size; std::fread(&size, sizeof size, 1, file.get()) == 1;) {
            sizes.push_back(size);
            places.push_back(std::aligned_alloc(64, (size / 64 + 1) * 64));
            if (std::fread(places.back(), 1, size, file.get()) != size) std::abort();
        }
        places.push_back(std::aligned_alloc(64, (room / 64 + 1) * 64));
        places.push_back(reinterpret_cast<void*>(room));
        places.push_back(nullptr);  // where the program says how much it would have taken
    }
    void write(const char* path) const {
        std::unique_ptr<FILE, int (*)(FILE*)> file(std::fopen(path, "wb"), std::fclose);
        for (size_t k = 0; k < sizes.size(); k++) std::fwrite(places[k], 1, sizes[k], file.get());
    }
};

}  // namespace

// arguments: the file with the arrays, each with its size in bytes before it; the number of threads; the bytes that the
// program works in; where the arrays go after the call with one thread and the one with several.
int main(int, char** words) {
    const size_t room = std::strtoul(words[3], nullptr, 10);
    Arguments alone(words[1], room), several(words[1], room);
    void* program = sg_open();
    for (const auto& [threads, given] : {std::pair{1, &alone}, std::pair{std::atoi(words[2]), &several}})
        if (const int status = sg_call(program, given->places.data(), threads, INT64_MAX)) {
            std::printf("status %d\n", status);
            return 2;
        }
    sg_close(program);
    alone.write(words[4]);
    several.write(words[5]);
    return 0;
}
