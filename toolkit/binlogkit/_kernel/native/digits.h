/* Integers as decimal digits, two at a time. */
#ifndef BINLOGKIT_DIGITS_H
#define BINLOGKIT_DIGITS_H

#include <stdint.h>
#include <string.h>

static const char binlogkit_pairs[] =
    "00010203040506070809101112131415161718192021222324252627282930313233343536373839"
    "40414243444546474849505152535455565758596061626364656667686970717273747576777879"
    "8081828384858687888990919293949596979899";

static const uint32_t binlogkit_powers[10] = {
    1, 10, 100, 1000, 10000, 100000, 1000000, 10000000, 100000000, 1000000000,
};

/* The last width digits of value, with zeros in front. */
static inline void binlogkit_put_digits(uint8_t *out, uint64_t value, int width)
{
    for (; width >= 2; width -= 2) {
        memcpy(out + width - 2, binlogkit_pairs + 2 * (value % 100), 2);
        value /= 100;
    }
    if (width)
        out[0] = (uint8_t)('0' + value % 10);
}

/* The same of a number of 32 bits, which is quicker. */
static inline void binlogkit_put_group(uint8_t *out, uint32_t value, int width)
{
    for (; width >= 2; width -= 2) {
        memcpy(out + width - 2, binlogkit_pairs + 2 * (value % 100), 2);
        value /= 100;
    }
    if (width)
        out[0] = (uint8_t)('0' + value % 10);
}

/* How many digits a number has. */
static inline int binlogkit_count_digits(uint64_t value)
{
    int count = 1;
    while (value >= 1000000000) {
        value /= 1000000000;
        count += 9;
    }
    for (int k = 1; k < 10 && value >= binlogkit_powers[k]; k++)
        count++;
    return count;
}

/* A number without zeros in front, 20 digits at most; how many. */
static inline int binlogkit_put_number(uint8_t *out, uint64_t value)
{
    int count = binlogkit_count_digits(value);
    if (value >> 32)
        binlogkit_put_digits(out, value, count);
    else
        binlogkit_put_group(out, (uint32_t)value, count);
    return count;
}

#endif
