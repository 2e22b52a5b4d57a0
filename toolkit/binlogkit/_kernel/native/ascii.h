/* Copies text and says whether it is ASCII, in one go. */
#ifndef BINLOGKIT_ASCII_H
#define BINLOGKIT_ASCII_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define BINLOGKIT_HIGH 0x8080808080808080ull

/* Copies size bytes; nonzero when they are ASCII. */
static inline int binlogkit_copy_ascii(uint8_t *out, const uint8_t *p, size_t size)
{
    uint64_t words[4], seen = 0;
    while (size >= 32) {
        memcpy(words, p, 32);
        memcpy(out, words, 32);
        seen |= words[0] | words[1] | words[2] | words[3];
        p += 32;
        out += 32;
        size -= 32;
    }
    while (size >= 8) {
        memcpy(words, p, 8);
        memcpy(out, words, 8);
        seen |= words[0];
        p += 8;
        out += 8;
        size -= 8;
    }
    if (size >= 4) {
        uint32_t word;
        memcpy(&word, p, 4);
        memcpy(out, &word, 4);
        seen |= (uint64_t)word;
        p += 4;
        out += 4;
        size -= 4;
    }
    while (size--) {
        seen |= *p;
        *out++ = *p++;
    }
    return !(seen & BINLOGKIT_HIGH);
}

#endif
