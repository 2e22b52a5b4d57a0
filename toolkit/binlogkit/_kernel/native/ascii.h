/* Copies text and says whether it is ASCII, or needs no escape in JSON, in one go. */
#ifndef BINLOGKIT_ASCII_H
#define BINLOGKIT_ASCII_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "ahead.h"

#define BINLOGKIT_HIGH 0x8080808080808080ull

typedef uint64_t binlogkit_pair __attribute__((vector_size(16)));

static inline binlogkit_pair binlogkit_copy_16(uint8_t *out, const uint8_t *p)
{
    binlogkit_pair pair;
    memcpy(&pair, p, 16);
    memcpy(out, &pair, 16);
    return pair;
}

static inline uint64_t binlogkit_copy_8(uint8_t *out, const uint8_t *p)
{
    uint64_t word;
    memcpy(&word, p, 8);
    memcpy(out, &word, 8);
    return word;
}

static inline uint64_t binlogkit_copy_4(uint8_t *out, const uint8_t *p)
{
    uint32_t word;
    memcpy(&word, p, 4);
    memcpy(out, &word, 4);
    return word;
}

static const uint8_t binlogkit_marks[64] = {
    128, 128, 128, 128, 128, 128, 128, 128, 128, 128, 128, 128, 128, 128, 128, 128,
    128, 128, 128, 128, 128, 128, 128, 128, 128, 128, 128, 128, 128, 128, 128, 128,
};

/* Copies size bytes; nonzero when they are ASCII. readable: bytes that there are at p; out has room
 * for 32 bytes more than size: few bytes are copied as 32. What does not fill a word at the end of
 * others is copied with the last whole word, which overlaps the one before. */
static inline int binlogkit_copy_ascii(
    uint8_t *out, const uint8_t *p, size_t size, size_t readable)
{
    uint64_t seen = 0;
    if (size <= 32 && readable >= 32) {
        binlogkit_pair marks[2];
        memcpy(marks, binlogkit_marks + 32 - size, 32);
        marks[0] &= binlogkit_copy_16(out, p);
        marks[1] &= binlogkit_copy_16(out + 16, p + 16);
        marks[0] |= marks[1];
        return !(marks[0][0] | marks[0][1]);
    }
    binlogkit_write_ahead(out, size);
    if (size >= 16) {
        binlogkit_pair first = {0, 0}, second = {0, 0};
        size_t at = 0;
        for (; size - at >= 32; at += 32) {
            first |= binlogkit_copy_16(out + at, p + at);
            second |= binlogkit_copy_16(out + at + 16, p + at + 16);
        }
        if (size - at > 16)
            first |= binlogkit_copy_16(out + at, p + at);
        if (size > at)
            second |= binlogkit_copy_16(out + size - 16, p + size - 16);
        first |= second;
        seen = first[0] | first[1];
    } else if (size >= 8) {
        seen = binlogkit_copy_8(out, p) | binlogkit_copy_8(out + size - 8, p + size - 8);
    } else if (size >= 4) {
        seen = binlogkit_copy_4(out, p) | binlogkit_copy_4(out + size - 4, p + size - 4);
    } else {
        while (size--) {
            seen |= *p;
            *out++ = *p++;
        }
    }
    return !(seen & BINLOGKIT_HIGH);
}

typedef int8_t binlogkit_octets __attribute__((vector_size(16)));

static const int8_t binlogkit_first[32] = {
    -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1,
};

/* Below a space also means: with the high bit set. */
static inline binlogkit_octets binlogkit_unplain(binlogkit_octets x)
{
    return (x < ' ') | (x == '"') | (x == '\\');
}

/* Copies size bytes; nonzero when they are ASCII that stands in a JSON string as it is. readable:
 * bytes that there are at p; out has room for 16 bytes more than size. */
static inline int binlogkit_copy_plain(
    uint8_t *out, const uint8_t *p, size_t size, size_t readable)
{
    binlogkit_octets seen = {0}, some;
    uint64_t words[2];
    if (readable < ((size + 15) & ~(size_t)15)) {
        int plain = 1;
        for (; size; size--, p++) {
            plain &= *p >= ' ' && *p < 0x80 && *p != '"' && *p != '\\';
            *out++ = *p;
        }
        return plain;
    }
    for (; size > 16; size -= 16, p += 16, out += 16) {
        memcpy(&some, p, 16);
        memcpy(out, &some, 16);
        seen |= binlogkit_unplain(some);
    }
    if (size) {
        binlogkit_octets mask;
        memcpy(&mask, binlogkit_first + 16 - size, 16);
        memcpy(&some, p, 16);
        memcpy(out, &some, 16);
        seen |= binlogkit_unplain(some) & mask;
    }
    memcpy(words, &seen, 16);
    return !(words[0] | words[1]);
}

#endif
