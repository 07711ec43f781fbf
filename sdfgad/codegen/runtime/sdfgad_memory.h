// The memory of a compiled program: whatever holds elements of arrays is taken here, so that its bytes are counted.
#pragma once
#include <algorithm>
#include <cstdint>
#include <limits>
#include <new>
#include <vector>
#ifdef __linux__
#include <sys/mman.h>
#endif

namespace sg {

// Bytes alive now and the most since `begin`. Several threads may take and give at once.
class Memory {
public:
    Memory() = default;
    Memory(const Memory &) = delete;

    void begin() { __atomic_store_n(&peak_, __atomic_load_n(&alive_, kOrder), kOrder); }
    int64_t peak() const { return __atomic_load_n(&peak_, kOrder); }

    void take(int64_t bytes) {
        int64_t now = __atomic_add_fetch(&alive_, bytes, kOrder), most = peak();
        while (now > most && !__atomic_compare_exchange_n(&peak_, &most, now, true, kOrder, kOrder)) {}
    }
    void give(int64_t bytes) { __atomic_fetch_sub(&alive_, bytes, kOrder); }

    // Room with undefined content at the start of a cache line; null when there is none.
    template <class T> T *array(int64_t count) {
        const int64_t bytes = count * int64_t(sizeof(T));
        void *start = ::operator new(size_t(bytes) + kLine, alignment(bytes), std::nothrow);
        if (start == nullptr) return nullptr;
        ask_for_large_pages(start, bytes);
        *static_cast<int64_t *>(start) = bytes;
        take(bytes);
        return reinterpret_cast<T *>(static_cast<char *>(start) + kLine);
    }
    void drop(void *array) {
        if (array == nullptr) return;
        void *start = static_cast<char *>(array) - kLine;
        const int64_t bytes = *static_cast<int64_t *>(start);
        give(bytes);
        ::operator delete(start, alignment(bytes));
    }

private:
    static constexpr size_t kLine = 64, kPage = 1 << 21;  // before each array, a line with its size
    static constexpr int64_t kLarge = 1 << 22;
    static constexpr int kOrder = __ATOMIC_RELAXED;
    static std::align_val_t alignment(int64_t bytes) { return std::align_val_t(bytes < kLarge ? kLine : kPage); }
    // With pages of 4 kB a large array costs a fault each when it is new, and more than the processor keeps track of.
    static void ask_for_large_pages([[maybe_unused]] void *start, [[maybe_unused]] int64_t bytes) {
#ifdef MADV_HUGEPAGE
        if (bytes >= kLarge) madvise(start, size_t(bytes) / kPage * kPage, MADV_HUGEPAGE);
#endif
    }
    int64_t alive_ = 0, peak_ = 0;  // the header of atomics takes the compiler longer than most programs do
};

// What the caller gives a program to work in: the arrays that the program keeps for itself lie at its front, those that
// are never in use at once on the same bytes, and growable tapes in the rest of it.
class Arena {
public:
    Arena() = default;
    Arena(const Arena &) = delete;
    void place(void *start) { start_ = static_cast<char *>(start); }
    template <class T> T *at(int64_t offset) { return reinterpret_cast<T *>(start_ + offset); }

private:
    char *start_ = nullptr;
};

// What each thread has of its own beside its stack, for a call.
class Rooms {
public:
    void place(char *start, int64_t each) { start_ = start, each_ = each; }
    template <class T> T *at(int thread, int64_t offset) {
        return reinterpret_cast<T *>(start_ + thread * each_ + offset);
    }

private:
    char *start_ = nullptr;
    int64_t each_ = 0;
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

// In place of tapes where a program has none: the same questions, and nothing to compile for them.
struct NoTapes {
    void begin(int64_t, char *, int64_t) {}
    void end() {}
    static constexpr int64_t wanted() { return 0; }
    static constexpr int64_t needed() { return 0; }
    static constexpr int64_t peak() { return 0; }
};

// Growable stacks of entries, one for each tape, for one call. Their blocks come from the room that the caller gives, as
// long as there is some, so that the next call finds the same pages; the limit holds for blocks. A template, as g++ makes
// all that a class of its own needs of `std::vector` anew for every program that includes this.
template <class = void> class GrowableTapes {
public:
    GrowableTapes(Memory &memory, size_t count) : memory_(memory), tapes_(count) {}
    GrowableTapes(const GrowableTapes &) = delete;
    ~GrowableTapes() { end(); }

    void begin(int64_t limit, char *room, int64_t bytes) {
        limit_ = limit;
        room_ = room;
        left_ = bytes;
        wanted_ = held_ = 0;
        for (Tape &t : tapes_) t = Tape{};
    }
    // All entries are gone; what they took is still known.
    void end() {
        for (Tape &t : tapes_) {
            t.settle();
            for (Block &block : t.blocks)
                if (block.own) memory_.drop(block.data);
            t.close();
        }
        memory_.give(shared_);
        shared_ = 0;
    }
    // The bytes of room that all blocks of the last call would have filled.
    int64_t wanted() const { return wanted_; }

    // The entry that the name of a tape stands for.
    template <class T> T *here(size_t tape) const { return reinterpret_cast<T *>(tapes_[tape].here); }

    template <class T> T *push(size_t tape, int64_t count) {
        Tape &t = tapes_[tape];
        const int64_t bytes = rounded(count * int64_t(sizeof(T)));
        if (bytes > t.end - t.next) enter(t, bytes);
        t.here = t.next;
        t.next += bytes;
        return reinterpret_cast<T *>(t.here);
    }
    template <class T> T *pop(size_t tape, int64_t count) {
        Tape &t = tapes_[tape];
        const int64_t bytes = rounded(count * int64_t(sizeof(T)));
        if (t.next > t.mark) t.mark = t.next;
        if (t.next - t.begin < bytes) t.leave(bytes);
        t.next -= bytes;
        t.here = t.next;
        return reinterpret_cast<T *>(t.here);
    }

    // The bytes that would have been held when the limit was reached.
    int64_t needed() const { return needed_; }

    // The most bytes of entries since the last reset, each tape at its longest.
    int64_t peak() {
        int64_t total = 0;
        for (Tape &t : tapes_) {
            t.settle();
            total += t.longest;
        }
        return total;
    }

private:
    static constexpr int64_t kSmallest = 1 << 12, kUsual = 1 << 20, kLine = 64;
    struct Block {
        char *data;
        int64_t size, fill;  // fill: how far, while a later block is in use
        bool own;            // not of the room that the caller gives
    };
    struct Tape {
        char *next = nullptr, *end = nullptr, *here = nullptr;  // in the current block
        char *begin = nullptr, *mark = nullptr;                 // mark: the furthest that `next` has been in it
        size_t block = 0;
        int64_t below = 0, longest = 0, held = 0;  // below: bytes of entries in earlier blocks; held: of all blocks
        std::vector<Block> blocks;

        void settle() { longest = std::max(longest, below + (std::max(mark, next) - begin)); }
        void open(size_t number, int64_t fill) {
            block = number;
            begin = blocks[block].data;
            next = mark = begin + fill;
            end = begin + blocks[block].size;
        }
        void close() {
            blocks.clear();
            next = end = here = begin = mark = nullptr;
            below = 0;
        }
        void leave(int64_t bytes) {
            settle();
            while (next - begin < bytes) {
                open(block - 1, blocks[block - 1].fill);
                below -= blocks[block].fill;
            }
        }
    };
    Memory &memory_;
    std::vector<Tape> tapes_;
    char *room_ = nullptr;
    int64_t limit_ = std::numeric_limits<int64_t>::max(), left_ = 0, shared_ = 0, wanted_ = 0, held_ = 0, needed_ = 0;

    // Long entries start at cache lines.
    static int64_t rounded(int64_t bytes) {
        return bytes < kSmallest ? bytes : (bytes + kLine - 1) / kLine * kLine;
    }

    [[gnu::noinline]] void enter(Tape &t, int64_t bytes) {
        t.settle();
        size_t number = t.block;
        if (!t.blocks.empty()) {
            t.below += t.blocks[number++].fill = t.next - t.begin;
            for (; number < t.blocks.size() && t.blocks[number].size < bytes; ++number) t.blocks[number].fill = 0;
        }
        if (number == t.blocks.size()) fresh(t, bytes);
        t.open(number, 0);
    }
    // A block is a sixteenth of its tape, and from 1 MiB on less than 1 % of what is held, so that little lies idle.
    // Entries of one size fill it.
    void fresh(Tape &t, int64_t bytes) {
        int64_t size = std::clamp(t.held / 16, kSmallest, std::max(kUsual, held_ / 128)) / bytes * bytes;
        if (size == 0 || size > limit_ - held_) size = bytes;
        if (size > limit_ - held_) {
            needed_ = held_ + size;
            throw Overflow{};
        }
        const int64_t lines = (size + kLine - 1) / kLine * kLine;
        const bool own = lines > left_;
        char *data = own ? memory_.array<char>(size) : room_;
        if (data == nullptr) throw std::bad_alloc{};
        if (!own) {
            room_ += lines;
            left_ -= lines;
            shared_ += size;
            memory_.take(size);
        }
        wanted_ += lines;
        held_ += size;
        t.held += size;
        t.blocks.push_back({data, size, 0, own});
    }
};
using Tapes = GrowableTapes<>;

}  // namespace sg
