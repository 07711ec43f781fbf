// Copies with a checksum, for snapshots on disk: sealed when they are saved, verified when they come back.
//
// The checksum of a block is XXH64 (Y. Collet, xxHash, doc/xxhash_spec.md), written anew here to run along with the copy.
// Four lanes of 64 bits each take every fourth word: enough independent multiplications to keep up with memory. Blocks
// have their number as seed and are added up: their order counts, how the threads share them does not. Damage goes
// unnoticed once in 2^64; nobody is kept from forging. `tests/support/checksum.py` is the same in plain Python.
#pragma once
#include <cstring>
#include "sdfgad_scalars.h"

namespace sg {

constexpr int64_t kBlock = int64_t(1) << 14, kSharedBlocks = 32;

// Reads a number once, so that what is summed is what is copied.
template <class T> inline uint64_t carry(const char *from, char *to) {
    T value;
    std::memcpy(&value, from, sizeof value);
    asm("" : "+r"(value));
    std::memcpy(to, &value, sizeof value);
    return uint64_t(value);
}

// Copies a block and gives its checksum.
inline uint64_t copy_block(const char *from, char *to, int64_t bytes, uint64_t seed) {
    constexpr uint64_t p1 = 0x9E3779B185EBCA87u, p2 = 0xC2B2AE3D27D4EB4Fu, p3 = 0x165667B19E3779F9u,
                       p4 = 0x85EBCA77C2B2AE63u, p5 = 0x27D4EB2F165667C5u;
    const auto mixed = [](uint64_t lane, uint64_t word) { return std::rotl(lane + word * p2, 31) * p1; };
    int64_t k = 0;
    uint64_t sum = seed + p5;
    if (bytes >= 32) {
        uint64_t a = seed + p1 + p2, b = seed + p2, c = seed, d = seed - p1;
        for (; k + 32 <= bytes; k += 32) {
            a = mixed(a, carry<uint64_t>(from + k, to + k));
            b = mixed(b, carry<uint64_t>(from + k + 8, to + k + 8));
            c = mixed(c, carry<uint64_t>(from + k + 16, to + k + 16));
            d = mixed(d, carry<uint64_t>(from + k + 24, to + k + 24));
        }
        sum = std::rotl(a, 1) + std::rotl(b, 7) + std::rotl(c, 12) + std::rotl(d, 18);
        for (uint64_t lane : {a, b, c, d}) sum = (sum ^ mixed(0, lane)) * p1 + p4;
    }
    sum += uint64_t(bytes);
    for (; k + 8 <= bytes; k += 8) sum = std::rotl(sum ^ mixed(0, carry<uint64_t>(from + k, to + k)), 27) * p1 + p4;
    for (; k + 4 <= bytes; k += 4) sum = std::rotl(sum ^ carry<uint32_t>(from + k, to + k) * p1, 23) * p2 + p3;
    for (; k < bytes; k++) sum = std::rotl(sum ^ carry<uint8_t>(from + k, to + k) * p5, 11) * p1;
    sum = (sum ^ (sum >> 33)) * p2;
    sum = (sum ^ (sum >> 29)) * p3;
    return sum ^ (sum >> 32);
}

// Copies and gives the checksum of all blocks.
inline uint64_t copy_blocks(int64_t bytes, const void *origin, void *target) {
    const char *from = static_cast<const char *>(origin);
    char *to = static_cast<char *>(target);
    const int64_t count = (bytes + kBlock - 1) / kBlock;
    uint64_t sum = 0;
#pragma omp parallel for reduction(+ : sum) if (count >= kSharedBlocks)
    for (int64_t k = 0; k < count; k++)
        sum += copy_block(from + k * kBlock, to + k * kBlock, least(kBlock, bytes - k * kBlock), uint64_t(k));
    return sum;
}

inline void seal(int64_t bytes, const void *state, void *slot, uint64_t &sum) { sum = copy_blocks(bytes, state, slot); }

inline void unseal(int64_t bytes, const void *slot, uint64_t sum, void *state, const char *what) {
    if (copy_blocks(bytes, slot, state) != sum) throw Damaged{what};
}

}  // namespace sg
