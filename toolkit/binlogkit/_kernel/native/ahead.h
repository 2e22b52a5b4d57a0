/* Asks for memory before it is read or written.
 *
 * A row's bytes and the places that they go to lie in a cache that is far away; one row after the
 * other, the processor would wait for each. Addresses beyond what there is do no harm: nothing is
 * read, and a page that does not exist is not asked for.
 */
#ifndef BINLOGKIT_AHEAD_H
#define BINLOGKIT_AHEAD_H

#include <stddef.h>
#include <stdint.h>

#define BINLOGKIT_LINE 64
#define BINLOGKIT_AHEAD_IN 2048
#define BINLOGKIT_AHEAD_OUT 1024
#define BINLOGKIT_AHEAD_MOST 4096 /* of what is longer, the processor sees the way it goes */

/* What lies some way after p is going to be read as p was, up to end. */
static inline void binlogkit_read_ahead(const uint8_t *p, const uint8_t *end)
{
    if (end - p > BINLOGKIT_AHEAD_MOST)
        p = end - BINLOGKIT_AHEAD_MOST;
    uintptr_t at = ((uintptr_t)p + BINLOGKIT_AHEAD_IN) & ~(uintptr_t)(BINLOGKIT_LINE - 1);
    for (; at < (uintptr_t)end + BINLOGKIT_AHEAD_IN; at += BINLOGKIT_LINE)
        __builtin_prefetch((const void *)at, 0);
}

/* What lies some way after out is going to be written as size bytes there are. */
static inline void binlogkit_write_ahead(const uint8_t *out, size_t size)
{
    if (size > BINLOGKIT_AHEAD_MOST)
        size = BINLOGKIT_AHEAD_MOST;
    uintptr_t at = (uintptr_t)out + BINLOGKIT_AHEAD_OUT;
    for (uintptr_t end = at + size; at < end; at += BINLOGKIT_LINE)
        __builtin_prefetch((const void *)at, 1);
}

#endif
