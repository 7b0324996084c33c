/* SPDX-License-Identifier: MIT
 *
 * Which bit patterns of an encoding are no numbers. A probe looks at one member of a plane's unit;
 * the list for an encoding follows from its fields. */
#ifndef TARE_OPS_INSPECT_PROBE_H
#define TARE_OPS_INSPECT_PROBE_H

#include <tare/encoding.h>

typedef enum tare_nonfinite_kind {
    TARE_ODD_NAN = 0,
    TARE_ODD_INF = 1,
    TARE_ODD_SCALE = 2,   /* a scale, minimum or sum that is NaN or Inf */
    TARE_ODD_CODE = 3,    /* a code outside its range */
    TARE_ODD_LOWEST = 4,  /* the code that a symmetric format leaves unused */
    TARE_ODD_PADDING = 5, /* a code beyond the last column that is not 0 */
    TARE_ODD_COUNT = 6,
} tare_nonfinite_kind;

/* A member is odd where (bits & mask) == match, or, if is_inverted, where it is not. */
typedef struct tare_probe_rule {
    uint8_t width; /* bytes: 1, 2, 4, 8 */
    bool is_inverted;
    uint8_t kind; /* tare_nonfinite_kind; NAN with the fraction clear is INF */
    uint64_t mask, match;
    uint64_t fraction; /* NAN only: 0 where the encoding has no Inf */
} tare_probe_rule;

typedef struct tare_probe_site {
    tare_probe_rule rule;
    uint8_t plane;
    uint16_t offset; /* in the unit */
} tare_probe_site;

/* What was found; positions are bytes from the plane's start. */
typedef struct tare_nonfinite_count {
    uint64_t n[TARE_ODD_COUNT];
    uint64_t first[TARE_ODD_COUNT];
} tare_nonfinite_count;

#define TARE_MAX_PROBES 16

/* Looks at the codes of n blocks of 32, of MCF's types, the first of which is block `first` of a
 * tensor of so many columns. Does nothing for other encodings and planes. */
void tare_probe_codes(tare_nonfinite_count *sum, const tare_encoding *encoding, uint32_t plane,
                      uint64_t cols, const uint8_t *bytes, uint64_t first, uint64_t n);

/* Writes the probes of an encoding; returns their number, at most TARE_MAX_PROBES. */
size_t tare_probes_of(tare_probe_site *out, const tare_encoding *encoding);
/* Looks at n units of `unit_bytes`, the first of which lies at `position` of its plane. */
void tare_probe_units(tare_nonfinite_count *sum, const tare_probe_site *site, const uint8_t *bytes,
                      uint64_t n, uint32_t unit_bytes, uint64_t position);

#endif
