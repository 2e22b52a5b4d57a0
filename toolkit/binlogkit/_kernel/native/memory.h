/* Buffers that are used again: what a consumer drops, the next batch is written to.
 *
 * Fresh memory costs a page fault every 4 KB, which is more than decoding into it. At most
 * BINLOGKIT_POOL_BYTES are kept; a build with sanitizers keeps none, so that they see every buffer's
 * real size and life.
 */
#ifndef BINLOGKIT_MEMORY_H
#define BINLOGKIT_MEMORY_H

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define BINLOGKIT_POOL_SLOTS 256
#define BINLOGKIT_POOL_BYTES ((size_t)64 << 20)
#define BINLOGKIT_FRONT 64 /* in front of a buffer: its size; keeps the alignment Arrow likes */

#if defined(__SANITIZE_ADDRESS__)
#define BINLOGKIT_POOLED 0
#else
#define BINLOGKIT_POOLED 1
#endif

static struct { uint8_t *memory; size_t size; } binlogkit_pool[BINLOGKIT_POOL_SLOTS];
static int binlogkit_pool_count = 0;
static size_t binlogkit_pool_bytes = 0;
static int binlogkit_pool_lock = 0;

/* Whether the pool is ours now. Nobody waits for it: who does not get it does without, also in a
 * process that was forked while a thread of its parent had it. */
static inline int binlogkit_lock(void)
{
    return BINLOGKIT_POOLED && !__atomic_exchange_n(&binlogkit_pool_lock, 1, __ATOMIC_ACQUIRE);
}

static inline void binlogkit_unlock(void)
{
    __atomic_store_n(&binlogkit_pool_lock, 0, __ATOMIC_RELEASE);
}

static inline size_t binlogkit_buffer_size(const void *buffer)
{
    size_t size;
    memcpy(&size, (const uint8_t *)buffer - BINLOGKIT_FRONT, sizeof size);
    return size;
}

/* A buffer of at least size bytes, or NULL. */
static void *binlogkit_buffer_get(size_t size)
{
    uint8_t *memory = NULL;
    if (size > (size_t)1 << 62)
        return NULL;
    if (BINLOGKIT_POOLED)
        size = (size + 63) & ~(size_t)63;
    if (binlogkit_lock()) {
        int best = -1;
        for (int i = 0; i < binlogkit_pool_count; i++)
            if (binlogkit_pool[i].size >= size && binlogkit_pool[i].size / 4 <= size
                && (best < 0 || binlogkit_pool[i].size < binlogkit_pool[best].size))
                best = i;
        if (best >= 0) {
            memory = binlogkit_pool[best].memory;
            binlogkit_pool_bytes -= binlogkit_pool[best].size;
            binlogkit_pool[best] = binlogkit_pool[--binlogkit_pool_count];
        }
        binlogkit_unlock();
        if (memory)
            return memory + BINLOGKIT_FRONT;
    }
    if (BINLOGKIT_POOLED) {
        if (posix_memalign((void **)&memory, 64, size + BINLOGKIT_FRONT))
            return NULL;
    } else
        memory = malloc(size + BINLOGKIT_FRONT);
    if (memory == NULL)
        return NULL;
    memcpy(memory, &size, sizeof size);
    return memory + BINLOGKIT_FRONT;
}

static void binlogkit_buffer_put(void *buffer)
{
    if (buffer == NULL)
        return;
    uint8_t *memory = (uint8_t *)buffer - BINLOGKIT_FRONT;
    size_t size = binlogkit_buffer_size(buffer);
    if (binlogkit_lock()) {
        int kept = 0;
        if (binlogkit_pool_count < BINLOGKIT_POOL_SLOTS
            && size <= BINLOGKIT_POOL_BYTES - binlogkit_pool_bytes) {
            binlogkit_pool[binlogkit_pool_count].memory = memory;
            binlogkit_pool[binlogkit_pool_count++].size = size;
            binlogkit_pool_bytes += size;
            kept = 1;
        }
        binlogkit_unlock();
        if (kept)
            return;
    }
    free(memory);
}

/* The same bytes in a buffer of at least size; the old one stays where that fails. */
static void *binlogkit_buffer_grow(void *buffer, size_t used, size_t size)
{
    if (buffer && binlogkit_buffer_size(buffer) >= size)
        return buffer;
    void *larger = binlogkit_buffer_get(size);
    if (larger && buffer) {
        memcpy(larger, buffer, used);
        binlogkit_buffer_put(buffer);
    }
    return larger;
}

#endif
