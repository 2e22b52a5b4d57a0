/* XXH64 (Yann Collet, xxhash_spec.md), and split-block Bloom filters as Parquet has them
 * (parquet-format, BloomFilter.md): a filter is some blocks of 32 bytes, eight words each. The upper
 * half of a hash gives the block, the lower half a bit in each of its words.
 */
#ifndef BINLOGKIT_XXH64_H
#define BINLOGKIT_XXH64_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define BINLOGKIT_XXH1 0x9E3779B185EBCA87ull
#define BINLOGKIT_XXH2 0xC2B2AE3D27D4EB4Full
#define BINLOGKIT_XXH3 0x165667B19E3779F9ull
#define BINLOGKIT_XXH4 0x85EBCA77C2B2AE63ull
#define BINLOGKIT_XXH5 0x27D4EB2F165667C5ull

static inline uint64_t binlogkit_rotated(uint64_t x, int by) { return x << by | x >> (64 - by); }

static inline uint64_t binlogkit_word(const uint8_t *p)
{
    uint64_t word;
    memcpy(&word, p, 8);
    return word;
}

static inline uint64_t binlogkit_round(uint64_t lane, uint64_t word)
{
    return binlogkit_rotated(lane + word * BINLOGKIT_XXH2, 31) * BINLOGKIT_XXH1;
}

static inline uint64_t binlogkit_merged(uint64_t hash, uint64_t lane)
{
    return (hash ^ binlogkit_round(0, lane)) * BINLOGKIT_XXH1 + BINLOGKIT_XXH4;
}

static inline uint64_t binlogkit_xxh64(const uint8_t *p, size_t size)
{
    const uint8_t *end = p + size;
    uint64_t hash = BINLOGKIT_XXH5;
    if (size >= 32) {
        uint64_t lanes[4] = {BINLOGKIT_XXH1 + BINLOGKIT_XXH2, BINLOGKIT_XXH2, 0, 0 - BINLOGKIT_XXH1};
        for (; end - p >= 32; p += 32) {
            for (int i = 0; i < 4; i++) {
                lanes[i] = binlogkit_round(lanes[i], binlogkit_word(p + 8 * i));
            }
        }
        hash = binlogkit_rotated(lanes[0], 1) + binlogkit_rotated(lanes[1], 7)
             + binlogkit_rotated(lanes[2], 12) + binlogkit_rotated(lanes[3], 18);
        for (int i = 0; i < 4; i++) {
            hash = binlogkit_merged(hash, lanes[i]);
        }
    }
    hash += size;
    for (; end - p >= 8; p += 8) {
        hash ^= binlogkit_round(0, binlogkit_word(p));
        hash = binlogkit_rotated(hash, 27) * BINLOGKIT_XXH1 + BINLOGKIT_XXH4;
    }
    if (end - p >= 4) {
        uint32_t half;
        memcpy(&half, p, 4);
        hash = binlogkit_rotated(hash ^ half * BINLOGKIT_XXH1, 23) * BINLOGKIT_XXH2 + BINLOGKIT_XXH3;
        p += 4;
    }
    for (; p < end; p++) {
        hash = binlogkit_rotated(hash ^ *p * BINLOGKIT_XXH5, 11) * BINLOGKIT_XXH1;
    }
    hash = (hash ^ hash >> 33) * BINLOGKIT_XXH2;
    hash = (hash ^ hash >> 29) * BINLOGKIT_XXH3;
    return hash ^ hash >> 32;
}

static const uint32_t binlogkit_salts[8] = {
    0x47B6137B, 0x44974D91, 0x8824AD5B, 0xA2B7289D, 0x705495C7, 0x2DF1424B, 0x9EFC4947, 0x5C6BFB31,
};

/* ``blocks``: how many there are, at most 2**32. */
static inline uint8_t *binlogkit_block(const uint8_t *filter, uint64_t blocks, uint64_t hash)
{
    return (uint8_t *)filter + ((hash >> 32) * blocks >> 32) * 32;
}

static inline void binlogkit_put_hash(uint8_t *filter, uint64_t blocks, uint64_t hash)
{
    uint8_t *block = binlogkit_block(filter, blocks, hash);
    uint32_t words[8];
    memcpy(words, block, 32);
    for (int i = 0; i < 8; i++) {
        words[i] |= UINT32_C(1) << ((uint32_t)hash * binlogkit_salts[i] >> 27);
    }
    memcpy(block, words, 32);
}

static inline int binlogkit_has_hash(const uint8_t *filter, uint64_t blocks, uint64_t hash)
{
    uint32_t words[8];
    memcpy(words, binlogkit_block(filter, blocks, hash), 32);
    for (int i = 0; i < 8; i++) {
        if (!(words[i] >> ((uint32_t)hash * binlogkit_salts[i] >> 27) & 1)) {
            return 0;
        }
    }
    return 1;
}

#endif
