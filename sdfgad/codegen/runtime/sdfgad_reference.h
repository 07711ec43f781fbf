// What graphs need beside functions of numbers: how values join that are added up in memory, and growable tapes. Behind
// `sdfgad_scalars.h`; the text is pasted into graphs, like that one.
#ifndef SDFGAD_REFERENCE_H
#define SDFGAD_REFERENCE_H
#include <cstring>
#include <memory>
#include <vector>

template <class T> inline T sg_plus(T a, T b) { return T(sg::plus(a, b)); }
template <class T> inline T sg_times(T a, T b) { return sg::mul(a, b); }
template <class T> inline T sg_maximum(T a, T b) { return sg::maximum(a, b); }
template <class T> inline T sg_minimum(T a, T b) { return sg::minimum(a, b); }
inline bool sg_either(bool a, bool b) { return a || b; }

namespace sg {

// The tapes outgrew their limit.
struct Overflow {};

// Stacks of entries, one for each tape. The array of a tape shows one entry: the last one pushed, which is on top until it
// is popped, or the last one popped. What is on top is kept here as soon as another one is pushed over it.
class Stacks {
public:
    int64_t limit = std::numeric_limits<int64_t>::max(), peak = 0, needed = 0;

    explicit Stacks(size_t count) : stacks_(count) {}

    // All entries are gone.
    void clear() {
        for (Stack &s : stacks_) s = Stack{};
        held_ = peak = 0;
    }
    // The array `here` shows a new entry from now on; so many bytes of it will be used.
    void push(size_t tape, const void *here, int64_t bytes) {
        Stack &s = stacks_[tape];
        if (held_ + bytes > limit) {
            needed = held_ + bytes;
            throw Overflow{};
        }
        if (s.shown) {
            const char *from = static_cast<const char *>(here);
            s.kept.emplace_back(from, from + s.sizes.back());
        }
        s.sizes.push_back(bytes);
        s.shown = true;
        held_ += bytes;
        peak = std::max(peak, held_);
    }
    // The array `here` shows the entry on top, which is taken off.
    void pop(size_t tape, void *here) {
        Stack &s = stacks_[tape];
        if (!s.shown) {
            std::copy(s.kept.back().begin(), s.kept.back().end(), static_cast<char *>(here));
            s.kept.pop_back();
        }
        held_ -= s.sizes.back();
        s.sizes.pop_back();
        s.shown = false;
    }

private:
    struct Stack {
        std::vector<std::vector<char>> kept;
        std::vector<int64_t> sizes;
        bool shown = false;  // whether the array shows what is on top
    };
    std::vector<Stack> stacks_;
    int64_t held_ = 0;
};
// Those of a program. Its state is declared before this class is: it keeps them without a name of their type.
inline Stacks &stacks(std::shared_ptr<void> &held, size_t count) {
    if (!held) held = std::make_shared<Stacks>(count);
    return *static_cast<Stacks *>(held.get());
}

}  // namespace sg

#endif
