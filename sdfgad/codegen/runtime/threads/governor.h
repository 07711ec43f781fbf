// How many threads the machine has room for, from what regions observe. No clock of its own: all times are given.
#pragma once
#include <algorithm>
#include <climits>
#include <cstdint>

namespace sg {

// Time for which a thread that had work had no core is lost. Where threads lose more than a part of the time that
// passes, somebody else needs the cores: fewer threads are used for a while. More are tried when it is over; the while
// doubles with every trial that ends like that, and shrinks with those that do not. All times in nanoseconds.
class Governor {
public:
    // The most threads that the next region may have, of so many.
    int limit(int most, int64_t now) const {
        return allowed_ >= most ? most : now < until_ ? allowed_ : std::min(most, 2 * allowed_);
    }
    // So many threads have run for `wall`, and lost `lost` together. Whether fewer are used from now on.
    bool report(int threads, int64_t wall, int64_t lost, int64_t now) {
        debt_ = std::max<int64_t>(0, debt_ + lost - wall / kPart);
        if (debt_ > (pause_ > 0 ? kSoon : kMuch)) {
            fewer(threads, wall, lost, now);
            return true;
        }
        if (lost * kPart > wall) return false;
        if (threads > allowed_) allowed_ = threads;
        pause_ = std::max<int64_t>(0, pause_ - wall / kTrial);
        return false;
    }
    // The machine has work for so many cores already, of so many.
    void begin(int taken, int cores, int64_t now) {
        if (taken == 0) return;
        allowed_ = std::max(1, cores - taken);
        until_ = now + (pause_ = kShortest);
    }

    static constexpr int64_t kPart = 8;                            // of the time that may be lost: one in so many
    static constexpr int64_t kMuch = 2'000'000, kSoon = 500'000;   // lost beyond that: at first, and in a trial
    static constexpr int64_t kTrial = 20;                          // a trial takes one part in so many of the time
    static constexpr int64_t kShortest = 10'000'000, kLongest = 1'000'000'000;

private:
    void fewer(int threads, int64_t wall, int64_t lost, int64_t now) {
        pause_ = std::clamp(std::max(2 * pause_, kTrial * std::min(wall, kLongest)), kShortest, kLongest);
        until_ = now + pause_;
        allowed_ = int(std::max<int64_t>(1, threads - std::max<int64_t>(1, (lost + wall / 2) / std::max<int64_t>(1, wall))));
        debt_ = 0;
    }

    int64_t debt_ = 0, pause_ = 0, until_ = 0;
    int allowed_ = INT_MAX / 2;
};

}  // namespace sg
