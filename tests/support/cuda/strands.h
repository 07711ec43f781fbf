// Threads of the device as ThreadSanitizer sees them, in a process that has it: each is a fiber of its own, which nothing
// orders but launches and barriers, although all of them run one after the other. Nothing happens in other processes.
#pragma once
#include <link.h>

#include <cstddef>
#include <cstdint>
#include <map>
#include <vector>

extern "C" {
__attribute__((weak)) void *__tsan_get_current_fiber();
__attribute__((weak)) void *__tsan_create_fiber(unsigned);
__attribute__((weak)) void __tsan_switch_to_fiber(void *, unsigned);
__attribute__((weak)) void __tsan_acquire(void *);
__attribute__((weak)) void __tsan_release(void *);
__attribute__((weak)) void __tsan_java_init(uintptr_t, uintptr_t);
__attribute__((weak)) void __tsan_java_alloc(uintptr_t, uintptr_t);
__attribute__((weak)) void __tsan_java_free(uintptr_t, uintptr_t);
}

namespace cuda_on_cpu {

constexpr size_t STACK_USED = 1 << 14;  // of a thread, at most

class Strands {
public:
    const bool watched = __tsan_create_fiber != nullptr;

    Strands() {
        if (watched) __tsan_java_init(1 << 12, uintptr_t(1) << 46);
    }
    // Where a library of programs keeps what threads of one block share.
    void shares(const void *kernel) {
        if (watched) dl_iterate_phdr(note_segments, const_cast<void *>(kernel));
    }
    void launch(size_t blocks) {
        if (!watched) return;
        host_ = __tsan_get_current_fiber();
        meetings_.assign(2 * (blocks + 1), 0), rounds_.assign(blocks + 1, 0);
        used_ = 0;
        __tsan_release(&launched_);
    }
    void landed() {
        if (watched) __tsan_acquire(&landed_);
    }
    // A block that runs has memory to share to which nobody else has been.
    void enter_block() {
        for (const auto &[start, bytes] : segments_) forget(start, bytes);
    }
    // A thread whose stack ends at an address: a fiber that has served none in this launch, as far as there are so many.
    void *made(const void *end) {
        if (!watched) return nullptr;
        forget(reinterpret_cast<uintptr_t>(end) - STACK_USED, STACK_USED);
        const size_t next = used_++ % MOST;
        if (next == fibers_.size()) fibers_.push_back(__tsan_create_fiber(0));
        return fibers_[next];
    }
    void go_on(void *strand) {
        if (watched) __tsan_switch_to_fiber(strand, UNORDERED);
    }
    void stop() {
        if (watched) __tsan_switch_to_fiber(host_, UNORDERED);
    }
    // What a thread says itself: at its begin and its end, and at a barrier of a block (from 1 on) or of all (0).
    void begin() { come(&launched_); }
    void end() { leave(&landed_); }
    void *meeting(size_t which) { return watched ? &meetings_[2 * which + rounds_[which] % 2] : nullptr; }
    void leave(void *place) {
        if (watched) __tsan_release(place);
    }
    void come(void *place) {
        if (watched) __tsan_acquire(place);
    }
    // All are at a barrier: who goes on to the next one earlier than others is no order for them.
    void passed(size_t which) {
        if (watched) rounds_[which]++;
    }

private:
    static constexpr unsigned UNORDERED = 1;
    static constexpr size_t MOST = 2048;  // fibers, of the 8128 that ThreadSanitizer takes

    static int note_segments(dl_phdr_info *library, size_t, void *kernel);
    static void forget(uintptr_t start, size_t bytes) { __tsan_java_free(start, bytes), __tsan_java_alloc(start, bytes); }

    void *host_ = nullptr;
    char launched_ = 0, landed_ = 0;
    std::vector<void *> fibers_;
    size_t used_ = 0;
    std::vector<char> meetings_;
    std::vector<unsigned> rounds_;
    std::map<uintptr_t, size_t> segments_;
};
inline Strands &strands() {
    static Strands one;
    return one;
}

// Where a library that has this kernel keeps what may be written.
inline int Strands::note_segments(dl_phdr_info *library, size_t, void *kernel) {
    const auto within = [&](const ElfW(Phdr) &part) {
        return part.p_type == PT_LOAD && uintptr_t(kernel) - library->dlpi_addr - part.p_vaddr < part.p_memsz;
    };
    const ElfW(Phdr) *first = library->dlpi_phdr, *last = first + library->dlpi_phnum;
    bool here = false;
    for (const ElfW(Phdr) *part = first; part != last; part++) here |= within(*part);
    for (const ElfW(Phdr) *part = first; here && part != last; part++)
        if (part->p_type == PT_LOAD && part->p_flags & PF_W)
            strands().segments_[(library->dlpi_addr + part->p_vaddr + 7) / 8 * 8] = part->p_memsz / 8 * 8;
    return here;
}

}  // namespace cuda_on_cpu
