// The memory of a compiled program: whatever holds elements of arrays is taken here, so that its bytes are counted.
#pragma once
#include <algorithm>
#include <atomic>
#include <cstdint>
#include <deque>
#include <limits>
#include <new>
#include <vector>

namespace sg {

// Bytes alive now and the most since `begin`. Several threads may take and give at once.
class Memory {
public:
    Memory() = default;
    Memory(const Memory &) = delete;

    void begin() { peak_.store(alive_.load(kOrder), kOrder); }
    int64_t peak() const { return peak_.load(kOrder); }
    bool failed() const { return failed_.load(kOrder); }

    void take(int64_t bytes) {
        int64_t now = alive_.fetch_add(bytes, kOrder) + bytes, most = peak_.load(kOrder);
        while (now > most && !peak_.compare_exchange_weak(most, now, kOrder)) {}
    }
    void give(int64_t bytes) { alive_.fetch_sub(bytes, kOrder); }

    // Room with undefined content at the start of a cache line; null when there is none.
    template <class T> T *array(int64_t count) {
        const int64_t bytes = count * int64_t(sizeof(T));
        void *start = ::operator new(size_t(bytes) + kLine, std::align_val_t(kLine), std::nothrow);
        if (start == nullptr) {
            failed_.store(true, kOrder);
            return nullptr;
        }
        *static_cast<int64_t *>(start) = bytes;
        take(bytes);
        return reinterpret_cast<T *>(static_cast<char *>(start) + kLine);
    }
    void drop(void *array) {
        if (array == nullptr) return;
        void *start = static_cast<char *>(array) - kLine;
        give(*static_cast<int64_t *>(start));
        ::operator delete(start, std::align_val_t(kLine));
    }

private:
    static constexpr size_t kLine = 64;  // before each array: its size
    static constexpr auto kOrder = std::memory_order_relaxed;
    std::atomic<int64_t> alive_{0}, peak_{0};
    std::atomic<bool> failed_{false};
};

// One block for the arrays that a program keeps for itself; those that are never in use at once share bytes.
class Arena {
public:
    Arena(Memory &memory, int64_t bytes) : memory_(memory), start_(memory.array<char>(bytes)) {}
    Arena(const Arena &) = delete;
    ~Arena() { memory_.drop(start_); }
    template <class T> T *at(int64_t offset) { return start_ ? reinterpret_cast<T *>(start_ + offset) : nullptr; }

private:
    Memory &memory_;
    char *start_;
};

// Room for as long as a routine runs.
template <class T> class Workspace {
public:
    Workspace(Memory &memory, int64_t count) : memory_(memory), data_(memory.array<T>(count)) {
        if (data_ == nullptr) throw std::bad_alloc{};
    }
    Workspace(const Workspace &) = delete;
    ~Workspace() { memory_.drop(data_); }
    T *data() { return data_; }
    T &operator[](int64_t k) { return data_[k]; }

private:
    Memory &memory_;
    T *data_;
};

// Counts what lives on the stacks of the threads while a program runs.
class Charge {
public:
    Charge(Memory &memory, int64_t bytes) : memory_(memory), bytes_(bytes) { memory_.take(bytes_); }
    Charge(const Charge &) = delete;
    ~Charge() { memory_.give(bytes_); }

private:
    Memory &memory_;
    int64_t bytes_;
};

// The tape outgrew its limit: leaves the program, the caller reports it.
struct Overflow {};

// Growable stacks of entries. Blocks are kept between calls; the limit holds for entries and for blocks.
class Tapes {
public:
    int64_t used = 0, peak = 0;

    explicit Tapes(Memory &memory) : memory_(memory) {}
    Tapes(const Tapes &) = delete;
    ~Tapes() { clear(); }

    void reset(int64_t limit) {
        limit_ = limit, used = peak = 0;
        if (held_ > limit_) clear();
        for (auto &tape : tapes_) tape.block = 0, tape.fill = 0;
    }

    void *push(size_t tape, int64_t bytes) {
        if (tape >= tapes_.size()) tapes_.resize(tape + 1);
        bytes = rounded(bytes);
        used += bytes;
        if (used > limit_) throw Overflow{};
        peak = std::max(peak, used);
        return room(tapes_[tape], bytes);
    }
    void *pop(size_t tape, int64_t bytes) {
        bytes = rounded(bytes);
        used -= bytes;
        Tape &t = tapes_[tape];
        while (t.fill < bytes) t.fill = t.blocks[--t.block].end;
        t.fill -= bytes;
        return t.blocks.empty() ? nullptr : t.blocks[t.block].data + t.fill;
    }

private:
    static constexpr int64_t kSmallest = 1 << 12, kUsual = 1 << 20;
    struct Block {
        char *data;
        int64_t size, end;  // end: how far it is filled, while a later block is in use
    };
    struct Tape {
        std::vector<Block> blocks;
        size_t block = 0;
        int64_t fill = 0;
    };
    Memory &memory_;
    std::deque<Tape> tapes_;
    int64_t limit_ = std::numeric_limits<int64_t>::max(), held_ = 0;

    static int64_t rounded(int64_t bytes) { return (bytes + 15) / 16 * 16; }

    void *room(Tape &t, int64_t bytes) {
        while (t.block < t.blocks.size() && t.fill + bytes > t.blocks[t.block].size) {
            t.blocks[t.block++].end = t.fill;
            t.fill = 0;
        }
        if (t.block == t.blocks.size()) t.blocks.push_back(fresh(bytes));
        void *entry = t.blocks[t.block].data + t.fill;
        t.fill += bytes;
        return entry;
    }
    // Blocks double up to 1 MiB and then stay below 1 % of what is held, so that little lies idle.
    Block fresh(int64_t bytes) {
        int64_t size = std::max(bytes, std::clamp(held_, kSmallest, std::max(kUsual, held_ / 128)));
        if (size > limit_ - held_) size = bytes;
        if (size > limit_ - held_) throw Overflow{};
        char *data = memory_.array<char>(size);
        if (data == nullptr) throw std::bad_alloc{};
        held_ += size;
        return {data, size, 0};
    }
    void clear() {
        for (auto &tape : tapes_)
            for (auto &block : tape.blocks) memory_.drop(block.data);
        tapes_.clear();
        held_ = 0;
    }
};

}  // namespace sg
