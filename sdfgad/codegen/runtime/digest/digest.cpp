// A number made of bytes, at the speed of memory: NH of UMAC (J. Black, S. Halevi, H. Krawczyk, T. Krovetz, P. Rogaway,
// CRYPTO 1999) over blocks, with fixed keys. Where two blocks differ, their sums do for all keys but one in 2^32; from block
// to block sums are mixed by a bijection. Integers alone: the same on every processor.
#include <cstdint>
#include <cstring>

namespace {

constexpr int kLanes = 8, kBlock = 512;  // words of eight bytes: a block and its keys stay in the nearest cache

constexpr uint64_t mixed(uint64_t n) {  // a bijection: SplitMix64
    n = (n ^ (n >> 30)) * 0xBF58476D1CE4E5B9u;
    n = (n ^ (n >> 27)) * 0x94D049BB133111EBu;
    return n ^ (n >> 31);
}

struct Keys {
    uint32_t low[kBlock], high[kBlock];
    constexpr Keys() : low(), high() {
        for (int n = 0; n < kBlock; n++) {
            const uint64_t key = mixed((n + 1) * 0x9E3779B97F4A7C15u);
            low[n] = uint32_t(key);
            high[n] = uint32_t(key >> 32);
        }
    }
};

constexpr Keys keys;

void add_block(const char *bytes, uint64_t *sums) {
    for (int n = 0; n < kBlock; n += kLanes)
        for (int k = 0; k < kLanes; k++) {
            uint64_t word;
            std::memcpy(&word, bytes + 8 * (n + k), 8);
            sums[k] += uint64_t(uint32_t(word) + keys.low[n + k]) * uint64_t(uint32_t(word >> 32) + keys.high[n + k]);
        }
    for (int k = 0; k < kLanes; k++) sums[k] = mixed(sums[k] + 0x9E3779B97F4A7C15u);
}

}  // namespace

extern "C" uint64_t sg_digest(const char *bytes, int64_t size) {
    uint64_t sums[kLanes] = {};
    const int64_t whole = size - size % (8 * kBlock);
    for (int64_t n = 0; n < whole; n += 8 * kBlock) add_block(bytes + n, sums);
    char rest[8 * kBlock] = {};
    std::memcpy(rest, bytes + whole, size - whole);
    add_block(rest, sums);
    uint64_t found = uint64_t(size);
    for (int k = 0; k < kLanes; k++) found = mixed(found + sums[k]);
    return found;
}
