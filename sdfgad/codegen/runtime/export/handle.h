// What an exported library does around its program: the memory of a handle, checks of arguments, one call.
// Everything but the threads belongs to a handle, so that calls on different handles know nothing of each other.
#pragma once
#include "../sdfgad_memory.h"
#include "../threads/table.h"
#include <atomic>
#include <cstring>
#include <initializer_list>

extern "C" {
void *sg_open();
void sg_close(void *program);
int sg_call(void *program, void **places, int threads, int64_t limit);
int64_t sg_peak_bytes(void *program);
void sg_attach(const sg::Threads *threads);
const sg::Threads *sg_threads();
}

namespace sg {

// What is wrong with a call, beside what the program itself reports: the numbers are those of the header.
enum Status { kDone = 0, kNoMemory = 3, kNull = 10, kMisaligned, kOverlap, kBusy, kIndex, kThreads, kUnknown };

// An array of the caller's. width: bytes of what its address has to be a multiple of.
struct Given {
    const void *start;
    int64_t bytes;
    size_t width;
};

// Bytes of a program: its arena, copies and results that the caller does not see, constants; and of the caller's arrays.
struct Sizes {
    int64_t room, held, constants, outside;
    int64_t limit;  // of tapes that grow
    int threads;    // at most; negative: exactly so many
};

class Handle {
public:
    explicit Handle(const Sizes &sizes) : sizes_(sizes), threads_(sizes.threads) {
        program_ = sg_open();
        held_ = memory_.array<char>(std::max<int64_t>(1, sizes.held));
        if (program_ == nullptr || held_ == nullptr || !make_room(sizes.room)) {
            close();
            throw std::bad_alloc{};
        }
    }
    Handle(const Handle &) = delete;
    ~Handle() { close(); }

    // Whether a call may begin. Until `end` no other one begins.
    int begin(std::initializer_list<Given> inputs, std::initializer_list<Given> outputs) {
        if (int status = checked(inputs, outputs)) return status;
        return busy_.exchange(true) ? kBusy : kDone;
    }
    int end(int status) {
        busy_.store(false);
        return status;
    }
    char *held(int64_t offset) { return held_ + offset; }
    char *copied(int64_t offset, const void *from, int64_t bytes) {
        std::memcpy(held_ + offset, from, size_t(bytes));
        return held_ + offset;
    }

    // places: one for each array of the program, and three more.
    int run(void **places, int count) {
        const int64_t wanted = std::min(wanted_ - sizes_.room, sizes_.limit) + sizes_.room;
        if (wanted > room_bytes_) make_room(wanted) || make_room(sizes_.room);
        if (room_ == nullptr) return kNoMemory;
        places[count] = room_;
        places[count + 1] = reinterpret_cast<void *>(intptr_t(room_bytes_));
        try {
            const int status = sg_call(program_, places, threads_, sizes_.limit);
            wanted_ = reinterpret_cast<intptr_t>(places[count + 2]);
            peak_ = sg_peak_bytes(program_) + sizes_.held + sizes_.constants + sizes_.outside;
            return status;
        } catch (const std::bad_alloc &) {
            return kNoMemory;
        } catch (...) {
            return kUnknown;
        }
    }
    int set_threads(int count) {
        const int most = sizes_.threads < 0 ? -sizes_.threads : sizes_.threads;
        if (count < 1 || count > most) return kThreads;
        threads_ = sizes_.threads < 0 ? -count : count;
        return kDone;
    }
    int64_t peak() const { return peak_; }

private:
    static int checked(std::initializer_list<Given> inputs, std::initializer_list<Given> outputs) {
        for (const auto &all : {inputs, outputs})
            for (const Given &g : all) {
                if (g.start == nullptr && g.bytes > 0) return kNull;
                if (reinterpret_cast<uintptr_t>(g.start) % g.width) return kMisaligned;
            }
        for (const Given *out = outputs.begin(); out != outputs.end(); ++out) {
            for (const Given &in : inputs)
                if (meet(*out, in)) return kOverlap;
            for (const Given *other = outputs.begin(); other != out; ++other)
                if (meet(*out, *other)) return kOverlap;
        }
        return kDone;
    }
    static bool meet(const Given &a, const Given &b) {
        const auto first = reinterpret_cast<uintptr_t>(a.start), second = reinterpret_cast<uintptr_t>(b.start);
        return a.bytes > 0 && b.bytes > 0 && first < second + uintptr_t(b.bytes) && second < first + uintptr_t(a.bytes);
    }
    bool make_room(int64_t bytes) {
        memory_.drop(room_);
        room_ = memory_.array<char>(std::max<int64_t>(1, bytes));
        room_bytes_ = room_ == nullptr ? 0 : bytes;
        return room_ != nullptr;
    }
    void close() {
        memory_.drop(room_);
        memory_.drop(held_);
        if (program_ != nullptr) sg_close(program_);
    }

    const Sizes sizes_;
    int threads_;
    Memory memory_;
    void *program_ = nullptr;
    char *room_ = nullptr, *held_ = nullptr;
    int64_t room_bytes_ = 0, wanted_ = 0, peak_ = 0;
    std::atomic<bool> busy_{false};
};

// Whether every element of an index array, times a factor and moved, is an index into so many elements.
template <class T> inline bool inside(const T *index, int64_t count, int64_t factor, int64_t offset, int64_t extent) {
    for (int64_t k = 0; k < count; k++) {
        const __int128 place = __int128(index[k]) * factor + offset;
        if (place < -extent || place >= extent) return false;
    }
    return true;
}

// What indices are made of: Python's meaning of each.
inline int64_t floor_divide(int64_t a, int64_t b) { return b == 0 ? 0 : a / b - (a % b != 0 && (a < 0) != (b < 0)); }
inline int64_t modulo(int64_t a, int64_t b) { return b == 0 ? 0 : a - floor_divide(a, b) * b; }
inline int64_t smaller(int64_t a, int64_t b) { return std::min(a, b); }
inline int64_t larger(int64_t a, int64_t b) { return std::max(a, b); }
inline int64_t trips(int64_t from, int64_t to, int64_t step) {
    const int64_t gap = step > 0 ? to - from : from - to, size = step > 0 ? step : -step;
    return gap <= 0 ? 0 : (gap + size - 1) / size;
}
inline int64_t every(int64_t) { return 1; }
inline int64_t ends(int64_t count) { return std::max<int64_t>(1, count - 1); }
template <class T, size_t N>
inline int64_t element(const T *array, const int64_t (&shape)[N], const int64_t (&index)[N], bool &fine) {
    int64_t at = 0;
    for (size_t d = 0; d < N; d++) {
        if (index[d] < -shape[d] || index[d] >= shape[d]) return fine = false;
        at = at * shape[d] + index[d] + (index[d] < 0 ? shape[d] : 0);
    }
    return int64_t(array[at]);
}

}  // namespace sg
