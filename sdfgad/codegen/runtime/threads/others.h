// What other processes take of the machine.
#pragma once
#include "waits.h"

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>

namespace sg {

// The beginning of a small file of the system; whether there was one.
inline bool beginning(const char *path, char *text, size_t size) {
    const int file = open(path, O_RDONLY | O_CLOEXEC);
    if (file < 0) return false;
    const ssize_t length = read(file, text, size - 1);
    close(file);
    text[std::max<ssize_t>(0, length)] = 0;
    return length > 0;
}

// Cores that others need: what all processes have used of late less what this one has, or, before anything is known
// of that, those that run at this moment.
class Others {
public:
    static int running() {
        char text[128];
        int all = 1;
        return beginning("/proc/loadavg", text, sizeof text) && std::sscanf(text, "%*f %*f %*f %d/", &all) == 1
                   ? std::max(0, all - 1)
                   : 0;
    }
    double cores(int64_t time) {
        if (looked_ != 0 && time - looked_ < kWindow) return cores_;
        char text[256];
        if (!beginning("/proc/stat", text, sizeof text)) return 0;
        const int64_t busy = busy_in(text) * (1'000'000'000 / sysconf(_SC_CLK_TCK));
        const int64_t own = clock_of(CLOCK_PROCESS_CPUTIME_ID);
        cores_ = looked_ == 0 ? running() : std::max(0.0, double(busy - busy_ - (own - own_)) / double(time - looked_));
        looked_ = time, busy_ = busy, own_ = own;
        return cores_;
    }

private:
    static constexpr int64_t kWindow = 100'000'000;  // the system counts in steps of ten milliseconds

    // user, nice, system, idle, iowait, irq, softirq, steal, guest...: guests are counted among the users.
    static int64_t busy_in(const char *text) {
        int64_t sum = 0;
        const char *at = text + std::strcspn(text, " ");
        for (int k = 0; k < 8; k++) {
            char *end;
            const int64_t ticks = std::strtoll(at, &end, 10);
            if (k != 3 && k != 4) sum += ticks;
            at = end;
        }
        return sum;
    }

    int64_t looked_ = 0, busy_ = 0, own_ = 0;
    double cores_ = 0;
};

}  // namespace sg
