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
        int64_t alone = 0, shared = 0;  // on one thread; on several of them that were awake; 0: not known
        uint32_t turn = 0;
        int threads = 1;
    };

    Site &at(void (*run)(void *)) {
        const uint64_t place = reinterpret_cast<uintptr_t>(run) * 0x9E3779B97F4A7C15u;
        Site &site = sites_[place >> 54];
        if (site.run != run) site = {run};
        return site;
    }
    // Whether it is better off on one thread. `waking`: nanoseconds until sleeping threads are there, 0 if they are.
    static bool better_alone(Site &site, int64_t waking) {
        if (waking > 0) {
            const int64_t time = site.alone > 0 ? site.alone : site.shared * site.threads;
            return time > 0 && time < kWorth * waking;
        }
        if (site.shared == 0 || site.shared > kShort) return false;
        const bool alone = site.alone == 0 || site.alone <= site.shared;
        return ++site.turn % kRetry == 0 ? !alone : alone;
    }
    static void note(Site &site, int64_t time, int threads) {
        int64_t &known = threads > 1 ? site.shared : site.alone;
        known = known == 0 || time < known ? time : known + (time - known) / 4;
        if (threads > 1) site.threads = threads;
    }

    static constexpr int64_t kWorth = 4;        // a region is worth waking threads that takes so many times as long
    static constexpr int64_t kShort = 20'000;   // longer ones are shared without asking
    static constexpr uint32_t kRetry = 64;      // what looked worse is tried again every so many times

private:
    Site sites_[1024];
};

}  // namespace sg
