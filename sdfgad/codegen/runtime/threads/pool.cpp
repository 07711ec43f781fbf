// The threads of a process, shared by all compiled programs.
//
// A waiting thread that spins takes a core from the thread that it waits for, as soon as somebody else runs on the
// machine; and the scheduler does not see that the core could be given to that thread. So every wait spins for a short
// time and sleeps after that, no share waits for a thread that is not there, and where threads lose time to others fewer
// of them are used.
#include "governor.h"
#include "interrupts.h"
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
constexpr int64_t kGlance = 100'000;                             // between two looks at the clocks while it spins
constexpr int64_t kBrief = 200'000;                              // lost at once where it is crowded
constexpr int64_t kCrowded = 1'000'000, kCrowdedMost = 20'000'000;  // for so long then: at first, and at most
constexpr int64_t kGap = 50'000, kSample = 500'000;              // between regions of one sample; of a sample
constexpr int64_t kIdle = 20'000;                                // after which a thread without work looks at its clock
constexpr int64_t kMuster = 200'000;                             // until a thread that has been called is there
constexpr int64_t kLook = 100'000'000;                           // between two looks at the cores that may be used
constexpr double kSpare = 0.5, kSpareToSpin = 0.3;               // see `affordable`
constexpr size_t kStack = size_t(8) << 20;

struct alignas(64) Seat {
    std::atomic<uint64_t> claimed{0};  // the last region whose share has been taken, by whomever
    int number = 0;                    // of its thread in a region whose threads are together
    pid_t thread = 0;
    std::atomic<int> core{-1};         // where its thread last began to wait
    std::atomic<bool> asleep{false}, bound{false};  // whether its thread sleeps; may not run on the caller's core
};

// Where a thread is. A region of one thread has no `region`.
struct Here {
    Region *region = nullptr;
    Seat *seat = nullptr;      // of a thread of the pool
    int number = 0, count = 1, depth = 0;
    uint64_t loop = 0;
    int64_t from = 0, to = 0;  // what is left of a loop that it is alone in
    int asked = 0;
    Losses losses;
    int64_t last = 0;          // when its last region was over
    int most = 1;              // threads of a region of the sample
    bool slept = false;        // since its last region began
};
thread_local Here here;

class Pool {
public:
    void parallel(void (*run)(void *), void *data, int threads, Kind kind, const int64_t *loop);
    void barrier(Region &region);
    int most(int asked);
    int room();
    int affordable(int count, int64_t time, double spare);
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
    void sleep(Signal &signal, uint32_t old);
    void keep_off();
    void unbind();
    void crowd(int64_t time);
    int start(int count);
    void work(int seat);
    static void *begin(void *seat);
    uint32_t idle(uint32_t seen, bool served);
    void sample(int64_t time);
    int64_t patience(int64_t time) const { return time < crowded_.load(std::memory_order_relaxed) ? kImpatient : kPatient; }

    Region region_;
    Seat seats_[kMost];
    Signal bell_;
    std::atomic<uint64_t> call_{0};  // the region's number and, in the last 16 bits, its threads
    std::atomic<int64_t> crowded_{0}, lost_{0};  // until when the machine counts as crowded; what threads have lost
    std::atomic<int64_t> crowding_{kCrowded};    // for how long it counts as that
    std::atomic<pid_t> caller_{0};               // the thread that others were kept off last
    alignas(64) std::atomic_flag taken_ = ATOMIC_FLAG_INIT;
    // All that follows belongs to the thread that has the pool.
    uint64_t epoch_ = 0;
    int started_ = 1;
    Sites sites_;
    Governor governor_;
    Others others_;
    const double online_ = double(sysconf(_SC_NPROCESSORS_ONLN));
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

// Of so many threads those that have a core. spare: of a core that others may use, and it counts as free.
int Pool::affordable(int count, int64_t time, double spare) {
    const double free = online_ - others_.cores(time);
    return std::max(1, std::min(governor_.limit(count, time), int(free + spare)));
}

// Threads for a library that starts its own ones, which spin: only on cores that nobody else needs.
int Pool::room() {
    const int count = here.depth > 0 ? 1 : most(here.asked);
    if (count == 1 || here.asked < 0 || taken_.test_and_set(std::memory_order_acquire)) return here.asked < 0 ? count : 1;
    const int found = affordable(count, now(), kSpareToSpin);
    taken_.clear(std::memory_order_release);
    return found;
}

void Pool::parallel(void (*run)(void *), void *data, int threads, Kind kind, const int64_t *loop) {
    if (threads == 1 || here.depth > 0 || here.asked == 1) return alone(run, data, loop);
    int count = most(here.asked);
    if (threads > 0) count = std::min(count, threads);
    if (count == 1 || taken_.test_and_set(std::memory_order_acquire)) return alone(run, data, loop);
    const int64_t begun = now();
    const bool exact = here.asked < 0, asleep = bell_.sleepers.load() > 0;
    count = start(exact ? count : affordable(count, begun, kSpare));
    if (count > 1) {
        Sites::Site &site = sites_.at(run);
        const bool single = !exact && sites_.better_alone(site, asleep, begun);
        if (single) alone(run, data, loop);
        else shared(run, data, count, kind, loop, begun);
        sites_.note(site, now() - begun, single, asleep);
        taken_.clear(std::memory_order_release);
    } else {
        taken_.clear(std::memory_order_release);
        alone(run, data, loop);
    }
}

void Pool::shared(void (*run)(void *), void *data, int count, Kind kind, const int64_t *loop, int64_t begun) {
    if (begun - here.last > kGap) {
        // What is too short for a look at the clocks is taken to have lost nothing.
        if (here.most > 1 && here.asked >= 0) governor_.report(here.most, here.last - here.losses.since, 0, begun);
        here.losses.begin(begun);
        here.most = 1;
    }
    if (bell_.sleepers.load() > 0 || here.slept) keep_off();
    here.slept = false;
    region_.begin(run, data, count, kind, here.asked < 0);
    if (loop != nullptr) region_.loop_ahead(loop[0], loop[1], loop[2], loop[3]);
    call_.store(++epoch_ << 16 | uint64_t(count));
    bell_.change();
    if (kind == kTogether) together(epoch_);
    else apart(epoch_);
    join();
    here.last = now();
    here.most = std::max(here.most, region_.count.load());
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
    const int64_t end = now() + (region_.exact ? INT64_MAX / 2 : kMuster);
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

// Wait for a thread that works. Where the threads of the region, which work or spin, have used less time than has passed
// for them, one has no core: it may get this one.
void Pool::hold(Signal &signal, uint32_t old) {
    if (signal.spin(old, now() < crowded_ ? kImpatient : kGlance)) return;
    const int64_t begun = now(), busy = clock_of(CLOCK_PROCESS_CPUTIME_ID);
    for (int64_t time = begun; time >= crowded_ && time - begun < kPatient;) {
        if (signal.spin(old, kGlance)) return;
        time = now();
        const int64_t awake = region_.count - int64_t(signal.sleepers.load());
        if (2 * (clock_of(CLOCK_PROCESS_CPUTIME_ID) - busy) < (2 * awake - 1) * (time - begun)) crowd(time);
    }
    sleep(signal, old);
}

void Pool::sleep(Signal &signal, uint32_t old) {
    here.slept = true;
    if (here.seat != nullptr) here.seat->asleep = true;
    signal.sleep(old, here.losses);
    if (here.seat != nullptr) here.seat->asleep = false;
    unbind();
}

// What has not happened for a while may be a moment's work of the system.
void Pool::crowd(int64_t time) {
    if (time < crowded_) return;
    crowding_ = time - crowded_ > kCrowdedMost ? kCrowded : std::min(2 * crowding_, kCrowdedMost);
    crowded_ = time + crowding_;
}

// Threads that are about to be woken must not be put on the core of who wakes them, to wait there until it sleeps. Linux
// does so on virtual machines, where a core without work counts as taken away by the host (`vcpu_is_preempted`).
void Pool::keep_off() {
    const int core = sched_getcpu();
    cpu_set_t others;
    if (sched_getaffinity(0, sizeof others, &others) != 0) return;
    CPU_CLR(core, &others);
    if (CPU_COUNT(&others) == 0) return;
    caller_ = pid_t(syscall(SYS_gettid));
    for (int seat = 1; seat < started_; seat++) {
        Seat &s = seats_[seat];
        if ((s.asleep || s.core == core) && sched_setaffinity(s.thread, sizeof others, &others) == 0) s.bound = true;
    }
}

// A thread of the pool that runs may go wherever its caller may.
void Pool::unbind() {
    cpu_set_t all;
    if (here.seat == nullptr || !here.seat->bound || sched_getaffinity(caller_, sizeof all, &all) != 0) return;
    here.seat->bound = false;
    sched_setaffinity(0, sizeof all, &all);
}

void Pool::barrier(Region &region) {
    const uint32_t passed = region.passed.read();
    if (region.arrived.fetch_add(1) + 1 == uint32_t(region.count)) {
        region.arrived.store(0, std::memory_order_relaxed);
        if (here.seat == nullptr && region.passed.sleepers.load() > 0) keep_off();
        region.passed.change();
        return;
    }
    while (region.passed.read() == passed) hold(region.passed, passed);
}

void Pool::sample(int64_t time) {
    const int64_t wall = time - here.losses.since, lost = here.losses.lost(time) + lost_.exchange(0);
    if (here.most > 1) {
        if (lost * Governor::kPart > wall && lost > kBrief) crowd(time);
        if (here.asked >= 0) governor_.report(here.most, wall, lost, time);
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
    here.seat = &seats_[seat];
    here.seat->thread = pid_t(syscall(SYS_gettid));
    for (here.losses.begin(now());;) {
        seen = idle(seen, served);
        unbind();
        const uint64_t call = call_.load();
        served = seat < int(call & 0xffff);
        if (served && claim(seat, call >> 16)) serve(call >> 16, int(call & 0xffff), seat);
    }
}

// Wait until there is something to do. Time that is lost here is nobody's loss.
uint32_t Pool::idle(uint32_t seen, bool served) {
    if (bell_.read() != seen || (served && bell_.spin(seen, kIdle))) return bell_.read();
    const int64_t time = now();
    lost_ += here.losses.lost(time);
    here.seat->core = sched_getcpu();
    if (!served || !bell_.spin(seen, patience(time) - kIdle))
        while (bell_.read() == seen) sleep(bell_, seen);
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
    for (int seat = 1; seat < started_; seat++) seats_[seat].asleep = false, seats_[seat].bound = false, seats_[seat].core = -1;
    started_ = 1;
    lost_ = 0;
    others_ = Others();
    here.region = nullptr, here.seat = nullptr, here.number = 0, here.count = 1, here.depth = 0;
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

const Threads table = {parallel, loop_start, loop_next, loop_end, barrier, lock, unlock, number, count, most, room, ask,
                       watch, unwatch};
__attribute__((constructor)) void watch_forks() {
    pthread_atfork(nullptr, nullptr, [] { pool.forget(), forget_interrupts(); });
}

}  // namespace
}  // namespace sg

extern "C" const sg::Threads *sg_threads() { return &sg::table; }
extern "C" void sg_quota(int cores) { sg::pool.quota(cores); }
extern "C" void sg_listen(bool raises) { sg::listen_to_interrupts(raises); }
