// What regions have cost, for those that are so short that it may not pay to share them.
#pragma once
#include <algorithm>
#include <cstdint>

namespace sg {

// Nanoseconds of the regions of a process, by the function that they run. All times are given.
class Sites {
public:
    struct Site {
        void (*run)(void *) = nullptr;
        int64_t alone = 0;          // on one thread; 0: not known
        int64_t shared[2] = {};     // on several threads that were awake, and that had to be woken
    };

    Site &at(void (*run)(void *)) {
        const uint64_t place = reinterpret_cast<uintptr_t>(run) * 0x9E3779B97F4A7C15u;
        Site &site = sites_[place >> 54];
        if (site.run != run) site = {run};
        return site;
    }
    // Whether it is better off on one thread. asleep: threads would have to be woken first. That pays as well for regions
    // that soon follow each other: each of them adds what it would have gained.
    bool better_alone(Site &site, bool asleep, int64_t time) {
        const int64_t shared = site.shared[asleep];
        if (time - last_ > kSoon) gain_ = 0;
        last_ = time;
        if (shared == 0 || shared > kLong) return false;
        if (const Trial now = next(); now != kNone) return now == kAlone;
        if (site.alone == 0 && shared > kShort[asleep]) return false;
        if (asleep) gain_ += std::max<int64_t>(0, site.alone - (site.shared[0] > 0 ? site.shared[0] : site.alone / 2));
        if (gain_ > kWaking) {
            gain_ = 0;
            return false;
        }
        return pays(site.alone, shared);
    }
    // What takes longer than before counts step by step: it may have been somebody else's fault.
    void note(Site &site, int64_t time, bool alone, bool asleep) {
        spent_ += time;
        useful_ |= trial_ == kAlone && alone && pays(time, site.shared[asleep]);
        int64_t &known = alone ? site.alone : site.shared[asleep];
        known = known == 0 || time < known ? time : known + std::min(time - known, known) / 16;
    }

    static constexpr int64_t kShort[2] = {20'000, 200'000};  // longer ones are shared until a trial shows better
    static constexpr int64_t kLong = 20'000'000;             // and these without asking
    static constexpr int64_t kSoon = 500'000, kWaking = 20'000;  // between regions that follow each other; to be gained
    static constexpr int64_t kTrial = 500'000;               // of regions that run in one way
    static constexpr int64_t kSeldom = 40;                   // a trial takes one part in so many of their time,
    static constexpr int64_t kPatience = 64;                 // or fewer, by up to that, where trials show nothing
    static constexpr uint32_t kRuns = 64;                    // of regions between trials

private:
    enum Trial { kNone, kAlone, kShared };
    static bool pays(int64_t alone, int64_t shared) { return alone * 8 <= shared * 7; }

    // Data that has been in the caches of several threads is dear to one of them, and the other way round: one run tells
    // nothing of what many would take. So for a while all regions run on one thread, at other times on several.
    Trial next() {
        if (trial_ != kNone && spent_ >= kTrial) {
            if (trial_ == kAlone) patience_ = useful_ ? 1 : std::min(2 * patience_, kPatience);
            due_ = kSeldom * patience_ * spent_;
            trial_ = kNone, useful_ = false, runs_ = 0, spent_ = 0;
        }
        if (trial_ == kNone && ++runs_ > kRuns && spent_ >= due_) {
            trial_ = ++trials_ % 4 == 0 ? kShared : kAlone;
            spent_ = 0;
        }
        return trial_;
    }

    Site sites_[1024];
    int64_t last_ = 0, gain_ = 0;
    Trial trial_ = kNone;
    bool useful_ = false;
    int64_t patience_ = 1, spent_ = 0, due_ = 0;  // nanoseconds of regions, in a trial or since
    uint32_t runs_ = 0, trials_ = 0;
};

}  // namespace sg
