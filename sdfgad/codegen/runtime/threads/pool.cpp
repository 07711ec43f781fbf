// The threads of a process, shared by all compiled programs.
//
// A waiting thread that spins takes a core from the thread that it waits for, as soon as somebody else runs on the
// machine; and the scheduler does not see that the core could be given to that thread. So every wait spins for a short
// time and sleeps after that, no share waits for a thread that is not there, and where threads lose time to others fewer
// of them are used.
#include "governor.h"
#include "others.h"
#include "region.h"
#include "sites.h"
#include "table.h"
#include "waits.h"

#include <csignal>
#include <pthread.h>
#include <sched.h>

namespace sg {
namespace {

constexpr int kMost = 1024;                                      // threads
constexpr int64_t kPatient = 1'000'000, kImpatient = 4'000;      // nanoseconds to spin before sleeping
constexpr int64_t kGap = 50'000, kSample = 500'000;              // between regions of one sample; of a sample
constexpr int64_t kIdle = 20'000;                                // after which a thread without work looks at its clock
constexpr int64_t kMuster = 200'000;                             // until a thread that has been called is there
constexpr int64_t kLook = 100'000'000;                           // between two looks at the cores that may be used
constexpr double kSpare = 0.3;                                   // of a core that others may use, and it counts as free
constexpr size_t kStack = size_t(8) << 20;

// Where a thread is. A region of one thread has no `region`.
struct Here {
    Region *region = nullptr;
    int number = 0, count = 1, depth = 0;
    uint64_t loop = 0;
    int64_t from = 0, to = 0;  // what is left of a loop that it is alone in
    int asked = 0;
    Losses losses;
    int64_t last = 0;          // when its last region was over
    int most = 1;              // threads of a region of the sample
};
thread_local Here here;

struct alignas(64) Seat {
    std::atomic<uint64_t> claimed{0};  // the last region whose share has been taken, by whomever
    int number = 0;                    // of its thread in a region whose threads are together
};

class Pool {
public:
    void parallel(void (*run)(void *), void *data, int threads, Kind kind, const int64_t *loop);
    void barrier(Region &region);
    int most(int asked);
    int room();
    void quota(int cores) { quota_ = cores; }
    void forget();

    pthread_mutex_t critical = PTHREAD_MUTEX_INITIALIZER;

private:
    void alone(void (*run)(void *), void *data, const int64_t *loop);
    void shared(void (*run)(void *), void *data, int count, Kind kind, const int64_t *loop, int64_t begun);
    void together(uint64_t epoch);
    void apart(uint64_t epoch);
    void serve(uint64_t epoch, int count, int seat);
    void share(int number);
    bool claim(int seat, uint64_t epoch);
    void join();
    void hold(Signal &signal, uint32_t old);
    int start(int count);
    void work(int seat);
    static void *begin(void *seat);
    uint32_t idle(uint32_t seen, bool served);
    void sample(int64_t time);
    int64_t patience() const { return patience_.load(std::memory_order_relaxed); }

    Region region_;
    Seat seats_[kMost];
    Signal bell_;
    std::atomic<uint64_t> call_{0};  // the region's number and, in the last 16 bits, its threads
    std::atomic<int64_t> patience_{kPatient}, lost_{0};
    alignas(64) std::atomic_flag taken_ = ATOMIC_FLAG_INIT;
    // All that follows belongs to the thread that has the pool.
    uint64_t epoch_ = 0;
    int started_ = 1;
    Sites sites_;
    Governor governor_;
    Others others_;
    std::atomic<int> quota_{kMost}, cores_{0};
    std::atomic<int64_t> looked_{0};
};
Pool pool;

// Threads that a region may have: as asked, but, unless exactly so many are asked for, no more than there are cores.
int Pool::most(int asked) {
    if (asked < 0) return std::min(-asked, kMost);
    const int64_t time = now();
    if (cores_ == 0 || time - looked_ > kLook) {
        cpu_set_t set;
        cores_ = sched_getaffinity(0, sizeof set, &set) == 0 ? CPU_COUNT(&set) : int(sysconf(_SC_NPROCESSORS_ONLN));
        looked_ = time;
    }
    const int cores = std::clamp(std::min<int>(cores_, quota_), 1, kMost);
    return asked == 0 ? cores : std::min(asked, cores);
}

// Threads for a library that starts its own ones, which spin: only on cores that nobody else needs.
int Pool::room() {
    const int count = here.depth > 0 ? 1 : most(here.asked);
    if (count == 1 || here.asked < 0 || taken_.test_and_set(std::memory_order_acquire)) return here.asked < 0 ? count : 1;
    const int64_t time = now();
    const double free = double(sysconf(_SC_NPROCESSORS_ONLN)) - others_.cores(time);
    const int found = std::max(1, std::min(governor_.limit(count, time), int(free + kSpare)));
    taken_.clear(std::memory_order_release);
    return found;
}

void Pool::parallel(void (*run)(void *), void *data, int threads, Kind kind, const int64_t *loop) {
    if (threads == 1 || here.depth > 0 || here.asked == 1) return alone(run, data, loop);
    int count = most(here.asked);
    if (threads > 0) count = std::min(count, threads);
    if (count == 1 || taken_.test_and_set(std::memory_order_acquire)) return alone(run, data, loop);
    const int64_t begun = now();
    if (epoch_ == 0) governor_.begin(Others::running(), count, begun), epoch_ = 1;
    const bool exact = here.asked < 0, asleep = bell_.sleepers.load() > 0;
    count = start(exact ? count : governor_.limit(count, begun));
    if (count > 1) {
        Sites::Site &site = sites_.at(run);
        const bool single = !exact && Sites::better_alone(site, asleep);
        if (single) alone(run, data, loop);
        else shared(run, data, count, kind, loop, begun);
        Sites::note(site, now() - begun, single, asleep);
        taken_.clear(std::memory_order_release);
    } else {
        taken_.clear(std::memory_order_release);
        alone(run, data, loop);
    }
}

void Pool::shared(void (*run)(void *), void *data, int count, Kind kind, const int64_t *loop, int64_t begun) {
    if (begun - here.last > kGap) here.losses.begin(begun), here.most = 1;
    region_.begin(run, data, count, kind, here.asked < 0);
    if (loop != nullptr) region_.loop_ahead(loop[0], loop[1], loop[2], loop[3]);
    call_.store(++epoch_ << 16 | uint64_t(count));
    bell_.change();
    if (kind == kTogether) together(epoch_);
    else apart(epoch_);
    join();
    here.last = now();
    here.most = std::max(here.most, region_.count);
    if (here.last - here.losses.since >= kSample) sample(here.last);
}

void Pool::alone(void (*run)(void *), void *data, const int64_t *loop) {
    const Here before = here;
    here.region = nullptr, here.number = 0, here.count = 1, here.depth++;
    if (loop != nullptr) here.from = loop[0], here.to = loop[1];
    run(data);
    const int asked = here.asked;
    here = before;
    here.asked = asked;
}

// Who is not there in time stays away: the region begins with the others.
void Pool::together(uint64_t epoch) {
    const int64_t end = now() + (region_.exact ? INT64_MAX / 2 : patience() < kPatient ? kMuster / 8 : kMuster);
    const uint32_t all = uint32_t(region_.count - 1);
    for (uint32_t there; (there = region_.there.read()) != all && now() < end;) {
        if (region_.exact) hold(region_.there, there);
        else region_.there.spin(there, kImpatient);
    }
    int number = 1;
    for (int seat = 1; seat < region_.count; seat++)
        if (region_.exact || !claim(seat, epoch)) seats_[seat].number = number++;
    region_.count = number;
    region_.go.value.store(uint32_t(epoch));
    region_.go.wake();
    share(0);
}

void Pool::apart(uint64_t epoch) {
    share(0);
    if (region_.exact) return;
    const int count = region_.count;
    for (int seat = 1; seat < count && region_.done.read() < uint32_t(count); seat++)
        if (claim(seat, epoch)) share(seat);
}

bool Pool::claim(int seat, uint64_t epoch) {
    std::atomic<uint64_t> &claimed = seats_[seat].claimed;
    uint64_t last = claimed.load();
    return last < epoch && claimed.compare_exchange_strong(last, epoch);
}

// One share of the region, which cannot be over before this one is.
void Pool::share(int number) {
    Region &region = region_;
    const int count = region.count;
    here.region = &region, here.number = number, here.count = count, here.loop = region.looped, here.depth++;
    region.run(region.data);
    here.region = nullptr, here.number = 0, here.count = 1, here.depth--;
    const uint32_t done = region.done.value.fetch_add(1) + 1;
    if (done == uint32_t(count)) region.done.wake();
}

void Pool::join() {
    for (uint32_t done; (done = region_.done.read()) != uint32_t(region_.count);) hold(region_.done, done);
}

// Wait for a thread that works.
void Pool::hold(Signal &signal, uint32_t old) {
    const int64_t limit = patience();
    if (signal.spin(old, limit)) return;
    patience_.store(std::max(kImpatient, limit / 2), std::memory_order_relaxed);
    signal.sleep(old, here.losses);
}

void Pool::barrier(Region &region) {
    const uint32_t passed = region.passed.read();
    if (region.arrived.fetch_add(1) + 1 == uint32_t(region.count)) {
        region.arrived.store(0, std::memory_order_relaxed);
        region.passed.change();
        return;
    }
    while (region.passed.read() == passed) hold(region.passed, passed);
}

void Pool::sample(int64_t time) {
    const int64_t wall = time - here.losses.since, lost = here.losses.lost(time) + lost_.exchange(0);
    if (here.most > 1) {
        if (lost * Governor::kPart <= wall) patience_ = std::min(kPatient, 2 * patience());
        if (here.asked >= 0 && governor_.report(here.most, wall, lost, time)) patience_ = kImpatient;
    }
    here.losses.begin(time);
    here.most = 1;
}

// The number of threads that there are, at most so many.
int Pool::start(int count) {
    if (started_ >= count) return count;
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    pthread_attr_t attributes;
    pthread_attr_init(&attributes);
    pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
    size_t stack = 0;
    if (pthread_attr_getstacksize(&attributes, &stack) == 0 && stack < kStack) pthread_attr_setstacksize(&attributes, kStack);
    pthread_t thread;
    while (started_ < count && pthread_create(&thread, &attributes, begin, reinterpret_cast<void *>(intptr_t(started_))) == 0)
        started_++;
    pthread_attr_destroy(&attributes);
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
    return std::min(started_, count);
}

void *Pool::begin(void *seat) {
    pool.work(int(reinterpret_cast<intptr_t>(seat)));
    return nullptr;
}

void Pool::work(int seat) {
    uint32_t seen = bell_.read() - 1;  // the call that it was started for
    bool served = true;
    for (here.losses.begin(now());;) {
        seen = idle(seen, served);
        const uint64_t call = call_.load();
        served = seat < int(call & 0xffff);
        if (served && claim(seat, call >> 16)) serve(call >> 16, int(call & 0xffff), seat);
    }
}

// Wait until there is something to do. Time that is lost here is nobody's loss.
uint32_t Pool::idle(uint32_t seen, bool served) {
    if (bell_.read() != seen || (served && bell_.spin(seen, std::min(kIdle, patience())))) return bell_.read();
    const int64_t time = now();
    lost_ += here.losses.lost(time);
    if (!served || !bell_.spin(seen, patience() - kIdle))
        while (bell_.read() == seen) bell_.sleep(seen, here.losses);
    here.losses.begin(now());
    return bell_.read();
}

void Pool::serve(uint64_t epoch, int count, int seat) {
    if (region_.kind == kTogether) {
        region_.there.change();
        for (uint32_t last; (last = region_.go.read()) != uint32_t(epoch);) hold(region_.go, last);
        here.number = seats_[seat].number;
    } else {
        here.number = seat;
    }
    const bool all = region_.kind == kApart && !region_.exact;
    // What is lost has to be known before the region is over.
    share(here.number);
    const int64_t time = now();
    if (time - here.losses.since >= kSample) {
        lost_ += here.losses.lost(time);
        here.losses.begin(time);
    }
    for (int other = 1; all && other < count; other++)
        if (claim(other, epoch)) share(other);
}

// In a child process none of the threads is there but the one that goes on.
void Pool::forget() {
    for (Signal *s : {&bell_, &region_.done, &region_.there, &region_.go, &region_.passed}) s->sleepers = 0;
    region_.arrived = 0;
    started_ = 1;
    lost_ = 0;
    here.region = nullptr, here.number = 0, here.count = 1, here.depth = 0;
    pthread_mutex_init(&critical, nullptr);
    taken_.clear();
}

// The table.
void parallel(void (*run)(void *), void *data, int threads, Kind kind, const int64_t *loop) {
    pool.parallel(run, data, threads, kind, loop);
}
bool loop_next(int64_t *from, int64_t *to) {
    if (here.region != nullptr) return here.region->loops[here.loop % Region::kLoops].take(from, to);
    *from = here.from, *to = here.to, here.from = here.to;
    return *from != *to;
}
bool loop_start(const int64_t *loop, int64_t *from, int64_t *to) {
    if (here.region != nullptr) here.region->loop(++here.loop, loop[0], loop[1], loop[2], loop[3]);
    else here.from = loop[0], here.to = loop[1];
    return loop_next(from, to);
}
void loop_end() {
    if (here.region != nullptr) here.region->loops[here.loop % Region::kLoops].left.fetch_add(1);
}
void barrier() {
    if (here.count > 1) pool.barrier(*here.region);
}
void lock() { pthread_mutex_lock(&pool.critical); }
void unlock() { pthread_mutex_unlock(&pool.critical); }
int number() { return here.number; }
int count() { return here.count; }
int most() { return here.depth > 0 ? 1 : pool.most(here.asked); }
int room() { return pool.room(); }
int ask(int threads) {
    const int before = here.asked;
    here.asked = threads;
    return before;
}

const Threads table = {parallel, loop_start, loop_next, loop_end, barrier, lock, unlock, number, count, most, room, ask};
__attribute__((constructor)) void watch_forks() { pthread_atfork(nullptr, nullptr, [] { pool.forget(); }); }

}  // namespace
}  // namespace sg

extern "C" const sg::Threads *sg_threads() { return &sg::table; }
extern "C" void sg_quota(int cores) { sg::pool.quota(cores); }
