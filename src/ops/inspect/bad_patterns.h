/* SPDX-License-Identifier: MIT
 *
 * Which bit patterns of an encoding are not numbers. A rule tests one member of a plane's unit; the
 * list for an encoding follows from its fields. */
#ifndef TARE_OPS_INSPECT_BAD_PATTERNS_H
#define TARE_OPS_INSPECT_BAD_PATTERNS_H

#include <tare/encoding.h>

typedef enum tare_bad_kind {
    TARE_BAD_NAN = 0,
    TARE_BAD_INF = 1,
    TARE_BAD_SCALE = 2,   /* a scale, minimum or sum that is NaN or Inf */
    TARE_BAD_CODE = 3,    /* a code outside its range */
    TARE_BAD_LOWEST = 4,  /* the code that a symmetric format leaves unused */
    TARE_BAD_PADDING = 5, /* a code beyond the last column that is not 0 */
    TARE_BAD_COUNT = 6,
} tare_bad_kind;

/* A member is bad where (bits & mask) == match, or, if is_inverted, where it is not. */
typedef struct tare_pattern_rule {
    uint8_t width; /* bytes: 1, 2, 4, 8 */
    bool is_inverted;
    uint8_t kind; /* tare_bad_kind; NAN with the fraction clear is INF */
    uint64_t mask, match;
    uint64_t fraction; /* NAN only: 0 where the encoding has no Inf */
} tare_pattern_rule;

typedef struct tare_pattern_site {
    tare_pattern_rule rule;
    uint8_t plane;
    uint16_t offset; /* in the unit */
} tare_pattern_site;

/* What was found; positions are bytes from the plane's start. */
typedef struct tare_bad_patterns {
    uint64_t n[TARE_BAD_COUNT];
    uint64_t first[TARE_BAD_COUNT];
} tare_bad_patterns;

#define TARE_MAX_PATTERNS 16

/* Checks the codes of n blocks of 32, of MCF's types, beginning at block `first` of a tensor with
 * the given number of columns. Does nothing for other encodings and planes. */
void tare_find_bad_codes(tare_bad_patterns *sum, const tare_encoding *encoding, uint32_t plane,
                         uint64_t cols, const uint8_t *bytes, uint64_t first, uint64_t n);

/* Writes the patterns to look for in an encoding; returns their number, at most TARE_MAX_PATTERNS.
 */
size_t tare_patterns_of(tare_pattern_site *out, const tare_encoding *encoding);
/* Checks n units of `unit_bytes`, the first one at `position` of its plane. */
void tare_find_bad_units(tare_bad_patterns *sum, const tare_pattern_site *site,
                         const uint8_t *bytes, uint64_t n, uint32_t unit_bytes, uint64_t position);

#endif
