/* CRC-32 as zlib and the server compute it (polynomial 0xEDB88320, reflected).
 *
 * Four lanes of 16 bytes, or of 64, are folded by carry-less multiplication where the CPU has it
 * (V. Gopal and others, "Fast CRC Computation for Generic Polynomials Using PCLMULQDQ Instruction",
 * Intel, 2009, whose constants for the reflected polynomial these are: by n bits it is folded with
 * x**(n + 32) and x**(n - 32)); what is left, and everything elsewhere, goes through tables, 16 bytes
 * at a time.
 */
#ifndef BINLOGKIT_CRC32_H
#define BINLOGKIT_CRC32_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

static uint32_t binlogkit_crc_tables[16][256];
static int binlogkit_crc_lane = 0;

static inline uint32_t binlogkit_crc_by_table(uint32_t crc, const uint8_t *p, size_t size)
{
    uint32_t (*table)[256] = binlogkit_crc_tables;
    while (size >= 16) {
        uint32_t words[4];
        memcpy(words, p, 16);
        words[0] ^= crc;
        crc = 0;
        for (int i = 0; i < 4; i++) {
            crc ^= table[15 - 4 * i][words[i] & 0xFF] ^ table[14 - 4 * i][words[i] >> 8 & 0xFF]
                 ^ table[13 - 4 * i][words[i] >> 16 & 0xFF] ^ table[12 - 4 * i][words[i] >> 24];
        }
        p += 16;
        size -= 16;
    }
    if (size >= 8) {
        uint32_t words[2];
        memcpy(words, p, 8);
        words[0] ^= crc;
        crc = 0;
        for (int i = 0; i < 2; i++) {
            crc ^= table[7 - 4 * i][words[i] & 0xFF] ^ table[6 - 4 * i][words[i] >> 8 & 0xFF]
                 ^ table[5 - 4 * i][words[i] >> 16 & 0xFF] ^ table[4 - 4 * i][words[i] >> 24];
        }
        p += 8;
        size -= 8;
    }
    if (size >= 4) {
        uint32_t word;
        memcpy(&word, p, 4);
        word ^= crc;
        crc = table[3][word & 0xFF] ^ table[2][word >> 8 & 0xFF] ^ table[1][word >> 16 & 0xFF]
            ^ table[0][word >> 24];
        p += 4;
        size -= 4;
    }
    while (size--)
        crc = table[0][(crc ^ *p++) & 0xFF] ^ crc >> 8;
    return crc;
}

#if defined(__x86_64__) && (defined(__GNUC__) || defined(__clang__))
#include <immintrin.h>
#define BINLOGKIT_FOLDING __attribute__((target("pclmul,sse4.1")))

static inline BINLOGKIT_FOLDING __m128i binlogkit_fold(__m128i x, __m128i by, __m128i next)
{
    __m128i low = _mm_clmulepi64_si128(x, by, 0x00);
    __m128i high = _mm_clmulepi64_si128(x, by, 0x11);
    return _mm_xor_si128(_mm_xor_si128(low, high), next);
}

static inline BINLOGKIT_FOLDING __m128i binlogkit_lane(const uint8_t *p)
{
    return _mm_loadu_si128((const __m128i *)p);
}

/* 128 bits to 32 */
static inline BINLOGKIT_FOLDING uint32_t binlogkit_reduce(__m128i a)
{
    const __m128i by_128 = _mm_set_epi64x(0x0ccaa009e, 0x1751997d0);
    const __m128i by_64 = _mm_set_epi64x(0, 0x163cd6124);
    const __m128i barrett = _mm_set_epi64x(0x1f7011641, 0x1db710641);
    const __m128i low_words = _mm_setr_epi32(-1, 0, -1, 0);
    __m128i b;
    a = _mm_xor_si128(_mm_srli_si128(a, 8), _mm_clmulepi64_si128(a, by_128, 0x10));
    b = _mm_srli_si128(a, 4);
    a = _mm_xor_si128(_mm_clmulepi64_si128(_mm_and_si128(a, low_words), by_64, 0x00), b);
    b = _mm_clmulepi64_si128(_mm_and_si128(a, low_words), barrett, 0x10);
    b = _mm_clmulepi64_si128(_mm_and_si128(b, low_words), barrett, 0x00);
    return (uint32_t)_mm_extract_epi32(_mm_xor_si128(a, b), 1);
}

/* size: at least 16, a multiple of 16 */
static BINLOGKIT_FOLDING uint32_t binlogkit_crc_by_folding(
    uint32_t crc, const uint8_t *p, size_t size)
{
    const __m128i by_512 = _mm_set_epi64x(0x1c6e41596, 0x154442bd4);
    const __m128i by_128 = _mm_set_epi64x(0x0ccaa009e, 0x1751997d0);
    __m128i a = _mm_xor_si128(binlogkit_lane(p), _mm_cvtsi32_si128((int)crc)), b;
    if (size < 64) {
        p += 16;
        size -= 16;
    } else {
        __m128i c = binlogkit_lane(p + 32), d = binlogkit_lane(p + 48);
        b = binlogkit_lane(p + 16);
        for (p += 64, size -= 64; size >= 64; p += 64, size -= 64) {
            a = binlogkit_fold(a, by_512, binlogkit_lane(p));
            b = binlogkit_fold(b, by_512, binlogkit_lane(p + 16));
            c = binlogkit_fold(c, by_512, binlogkit_lane(p + 32));
            d = binlogkit_fold(d, by_512, binlogkit_lane(p + 48));
        }
        a = binlogkit_fold(a, by_128, b);
        a = binlogkit_fold(a, by_128, c);
        a = binlogkit_fold(a, by_128, d);
    }
    for (; size >= 16; p += 16, size -= 16)
        a = binlogkit_fold(a, by_128, binlogkit_lane(p));
    return binlogkit_reduce(a);
}

#if defined(__clang__) || __GNUC__ >= 8
#define BINLOGKIT_WIDE __attribute__((target("avx512f,vpclmulqdq,pclmul,sse4.1")))

static inline BINLOGKIT_WIDE __m512i binlogkit_fold_wide(__m512i x, __m512i by, __m512i next)
{
    __m512i low = _mm512_clmulepi64_epi128(x, by, 0x00);
    __m512i high = _mm512_clmulepi64_epi128(x, by, 0x11);
    return _mm512_ternarylogic_epi64(low, high, next, 0x96); /* xor of three */
}

/* size: at least 256, a multiple of 16 */
static BINLOGKIT_WIDE uint32_t binlogkit_crc_by_wide_folding(
    uint32_t crc, const uint8_t *p, size_t size)
{
    const __m512i by_2048 = _mm512_broadcast_i32x4(_mm_set_epi64x(0x1322d1430, 0x11542778a));
    const __m512i by_512 = _mm512_broadcast_i32x4(_mm_set_epi64x(0x1c6e41596, 0x154442bd4));
    const __m128i by_128 = _mm_set_epi64x(0x0ccaa009e, 0x1751997d0);
    __m512i a = _mm512_loadu_si512(p), b = _mm512_loadu_si512(p + 64);
    __m512i c = _mm512_loadu_si512(p + 128), d = _mm512_loadu_si512(p + 192);
    __m128i x;
    a = _mm512_xor_si512(a, _mm512_zextsi128_si512(_mm_cvtsi32_si128((int)crc)));
    for (p += 256, size -= 256; size >= 256; p += 256, size -= 256) {
        a = binlogkit_fold_wide(a, by_2048, _mm512_loadu_si512(p));
        b = binlogkit_fold_wide(b, by_2048, _mm512_loadu_si512(p + 64));
        c = binlogkit_fold_wide(c, by_2048, _mm512_loadu_si512(p + 128));
        d = binlogkit_fold_wide(d, by_2048, _mm512_loadu_si512(p + 192));
    }
    b = binlogkit_fold_wide(a, by_512, b);
    c = binlogkit_fold_wide(b, by_512, c);
    a = binlogkit_fold_wide(c, by_512, d);
    for (; size >= 64; p += 64, size -= 64)
        a = binlogkit_fold_wide(a, by_512, _mm512_loadu_si512(p));
    x = binlogkit_fold(_mm512_castsi512_si128(a), by_128, _mm512_extracti32x4_epi32(a, 1));
    x = binlogkit_fold(x, by_128, _mm512_extracti32x4_epi32(a, 2));
    x = binlogkit_fold(x, by_128, _mm512_extracti32x4_epi32(a, 3));
    for (; size >= 16; p += 16, size -= 16)
        x = binlogkit_fold(x, by_128, binlogkit_lane(p));
    return binlogkit_reduce(x);
}
#endif
#endif

/* Call once before binlogkit_crc32; lane: bytes that it may fold at once, 0 (it keeps to the tables),
 * 16 or 64. Returns what it does. */
static int binlogkit_crc_prepare(int lane)
{
    for (uint32_t i = 0; i < 256; i++) {
        uint32_t crc = i;
        for (int bit = 0; bit < 8; bit++)
            crc = crc >> 1 ^ (crc & 1 ? 0xEDB88320u : 0);
        binlogkit_crc_tables[0][i] = crc;
    }
    for (int k = 1; k < 16; k++)
        for (uint32_t i = 0; i < 256; i++) {
            uint32_t crc = binlogkit_crc_tables[k - 1][i];
            binlogkit_crc_tables[k][i] = binlogkit_crc_tables[0][crc & 0xFF] ^ crc >> 8;
        }
#if defined(BINLOGKIT_FOLDING)
    __builtin_cpu_init();
    binlogkit_crc_lane = 0;
    if (lane >= 16 && __builtin_cpu_supports("pclmul") && __builtin_cpu_supports("sse4.1"))
        binlogkit_crc_lane = 16;
#if defined(BINLOGKIT_WIDE)
    if (lane >= 64 && binlogkit_crc_lane && __builtin_cpu_supports("avx512f")
        && __builtin_cpu_supports("vpclmulqdq"))
        binlogkit_crc_lane = 64;
#endif
#else
    (void)lane;
#endif
    return binlogkit_crc_lane;
}

/* crc: 0 at first, else what the call for the bytes before returned */
static uint32_t binlogkit_crc32(uint32_t crc, const uint8_t *p, size_t size)
{
    crc = ~crc;
#if defined(BINLOGKIT_FOLDING)
    if (binlogkit_crc_lane && size >= 32) {
        size_t folded = size & ~(size_t)15;
#if defined(BINLOGKIT_WIDE)
        if (binlogkit_crc_lane == 64 && size >= 256)
            crc = binlogkit_crc_by_wide_folding(crc, p, folded);
        else
#endif
            crc = binlogkit_crc_by_folding(crc, p, folded);
        p += folded;
        size -= folded;
    }
#endif
    return ~binlogkit_crc_by_table(crc, p, size);
}

#endif
