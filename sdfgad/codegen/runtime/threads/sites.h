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
    // Whether it is better off on one thread. asleep: threads would have to be woken first. That pays as well for regions
    // that soon follow each other: each of them adds what it would have gained.
    bool better_alone(Site &site, bool asleep, int64_t time) {
        const int64_t shared = site.shared[asleep];
        if (time - last_ > kSoon) gain_ = 0;
        last_ = time;
        if (shared == 0 || shared > kShort[asleep]) return false;
        if (asleep) gain_ += std::max<int64_t>(0, site.alone - (site.shared[0] > 0 ? site.shared[0] : site.alone / 2));
        if (gain_ > kWaking) {
            gain_ = 0;
            return false;
        }
        // Data that has been in the caches of several threads is dear to one of them: it has to be clearly better.
        const bool alone = site.alone * 4 <= shared * 3;
        return ++site.turn % (alone ? kRetryShared : kRetryAlone) == 0 ? !alone : alone;
    }
    // What takes longer than before counts step by step: it may have been somebody else's fault.
    static void note(Site &site, int64_t time, bool alone, bool asleep) {
        int64_t &known = alone ? site.alone : site.shared[asleep];
        known = known == 0 || time < known ? time : known + std::min(time - known, known) / 16;
    }

    static constexpr int64_t kShort[2] = {20'000, 200'000};  // longer ones are shared without asking
    static constexpr uint32_t kRetryShared = 32, kRetryAlone = 256;  // what looked worse is tried again so rarely
    static constexpr int64_t kSoon = 500'000, kWaking = 20'000;  // between regions that follow each other; to be gained

private:
    Site sites_[1024];
    int64_t last_ = 0, gain_ = 0;
};

}  // namespace sg
