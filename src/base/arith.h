/* SPDX-License-Identifier: MIT
 *
 * Checked arithmetic: sizes from files are added and multiplied only through these. */
#ifndef TARE_BASE_ARITH_H
#define TARE_BASE_ARITH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

static inline bool tare_add_u64(uint64_t a, uint64_t b, uint64_t *out) {
    return !__builtin_add_overflow(a, b, out);
}

static inline bool tare_mul_u64(uint64_t a, uint64_t b, uint64_t *out) {
    return !__builtin_mul_overflow(a, b, out);
}

/* The smallest multiple of `unit` that is >= a. */
static inline bool tare_align_u64(uint64_t a, uint64_t unit, uint64_t *out) {
    uint64_t rest = a % unit;
    return tare_add_u64(a, rest ? unit - rest : 0, out);
}

/* The only conversion from file quantities to memory sizes. */
static inline bool tare_size_of_u64(uint64_t a, size_t *out) {
    *out = (size_t)a;
    return a <= SIZE_MAX;
}

static inline uint64_t tare_min_u64(uint64_t a, uint64_t b) {
    return a < b ? a : b;
}
static inline uint64_t tare_max_u64(uint64_t a, uint64_t b) {
    return a > b ? a : b;
}
static inline uint64_t tare_ceil_div_u64(uint64_t a, uint64_t b) {
    return a / b + (a % b != 0);
}
/* The least common multiple of two small numbers, neither 0. */
static inline uint64_t tare_common_multiple(uint64_t a, uint64_t b) {
    uint64_t x = a, y = b;
    while (y) {
        uint64_t rest = x % y;
        x = y;
        y = rest;
    }
    return a / x * b;
}
/* Which part of a row a position belongs to: the last of n ascending starts, `stride` bytes apart,
 * that is at most `place`; 0 if there is none. */
static inline size_t tare_part_of(const uint64_t *starts, size_t n, size_t stride, uint64_t place) {
    size_t low = 0, high = n;
    while (high - low > 1) {
        size_t middle = low + (high - low) / 2;
        uint64_t start;
        memcpy(&start, (const char *)starts + middle * stride, sizeof start);
        if (start <= place)
            low = middle;
        else
            high = middle;
    }
    return low;
}
/* How many of n numbers, ascending and `stride` bytes apart, are below `x`. */
static inline size_t tare_count_below(const void *numbers, size_t n, size_t stride, size_t x) {
    size_t low = 0, high = n;
    while (low < high) {
        size_t middle = low + (high - low) / 2, number;
        memcpy(&number, (const char *)numbers + middle * stride, sizeof number);
        if (number < x)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

#endif
