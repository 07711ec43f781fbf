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
        uint32_t turn = 0;
    };

    Site &at(void (*run)(void *)) {
        const uint64_t place = reinterpret_cast<uintptr_t>(run) * 0x9E3779B97F4A7C15u;
        Site &site = sites_[place >> 54];
        if (site.run != run) site = {run};
        return site;
    }
    // Whether it is better off on one thread.
    static bool better_alone(Site &site, bool asleep) {
        const int64_t shared = site.shared[asleep];
        if (shared == 0 || shared > kShort[asleep]) return false;
        const bool alone = site.alone <= shared;
        return ++site.turn % kRetry == 0 ? !alone : alone;
    }
    // What takes longer than before counts step by step: it may have been somebody else's fault.
    static void note(Site &site, int64_t time, bool alone, bool asleep) {
        int64_t &known = alone ? site.alone : site.shared[asleep];
        known = known == 0 || time < known ? time : known + std::min(time - known, known) / 4;
    }

    static constexpr int64_t kShort[2] = {20'000, 200'000};  // longer ones are shared without asking
    static constexpr uint32_t kRetry = 256;                  // what looked worse is tried again every so many times

private:
    Site sites_[1024];
};

}  // namespace sg
