/* SPDX-License-Identifier: MIT
 *
 * The parts of a stream of a .wcodec, as described in docs/wcodec.md: sizes, the head with its
 * rules, tables and contexts, the header of a segment. Parsed heads are immutable; any number of
 * threads may decode segments with one. */
#ifndef TARE_WCODEC_FORMAT_H
#define TARE_WCODEC_FORMAT_H

#include <tare/experimental/wcodec.h>

#include "base/alloc.h"

enum {
    TARE_WC_SEGMENT_HEADER = 32, /* bytes */
    TARE_WC_LANES = 64,
    TARE_WC_STATES = 4 * TARE_WC_LANES, /* bytes */
    TARE_WC_CLASS_RUN = 256,            /* positions of one class */
    TARE_WC_MAX_CLASSES = 16,
    TARE_WC_MAX_RULES = 16,
    TARE_WC_MAX_TABLES = 64, /* of each alphabet */
    TARE_WC_MIN_LOG2 = 14,
    TARE_WC_MAX_LOG2 = 26,
    TARE_WC_MAX_BYTES = 1 << 26,  /* of a decoded segment */
    TARE_WC_MAX_VALUES = 1 << 20, /* of a DIRECT or STRUCTURED segment */
    TARE_WC_MAX_CELLS = 1 << 21,  /* positions in the tiles of a STRUCTURED segment */
    TARE_WC_MAX_MAGNITUDE = 12,   /* bits */
    TARE_WC_BYPASS_GROUPS = 5,    /* at most: 15 = 4 + 4 + 4 + 2 + 1 */
    TARE_WC_READ_AHEAD = 64,      /* bytes behind a segment that kernels may read */
};

/* How a stream is cut. */
typedef struct tare_wc_shape {
    uint8_t value_bits; /* bits of a value: 4, 6, 8, 16 */
    uint8_t log2_segment;
    bool is_big_endian; /* 16-bit values */
    bool is_scales;     /* 6-bit values: packed scales (wc_scales.h) */
} tare_wc_shape;

/* Half of a bucket: what its slots stand for. Eight bytes, so that it is found by a shift. */
typedef struct tare_wc_half {
    uint16_t freq, symbol;
    int32_t adj; /* the rank that comes of it is never below 0 or above 65535 */
} tare_wc_half;

/* A table of 64 or 16 symbols: what is stored, and what follows from it. Vector kernels look up
 * bytes, so the byte rows of tables of 16 symbols are repeated to fill 64 entries. */
typedef struct tare_wc_table {
    uint8_t thr[64], alias[64]; /* alias[b] = b where the bucket has one symbol */
    uint8_t freq_low[64], freq_high[64];
    uint8_t adj_low[64], adj_high[64]; /* 0 where alias[b] = b */
    uint16_t freq[64];
    tare_wc_half half[64][2]; /* of a bucket: slots below thr, the others */
    uint8_t alphabet, log2_alphabet;
    uint8_t cheapest; /* the symbol with the largest frequency */
} tare_wc_table;

typedef struct tare_wc_rule {
    uint8_t form; /* tare_coded_form */
    uint8_t k;    /* bypass bits */
    bool has_map;
    uint8_t trellis;  /* 0, 8, 32 */
    uint16_t map[64]; /* symbol -> top; also filled where the rule has none */
} tare_wc_rule;

typedef struct tare_wc_head {
    tare_wc_shape shape;
    uint8_t n_rules, n_t64, n_t16;
    uint16_t n_contexts;
    uint8_t max_magnitude; /* bits, from n_contexts */
    tare_wc_rule *rules;
    tare_wc_table *t64, *t16;
    const uint8_t *contexts;
} tare_wc_head;

/* The 32 bytes that a segment begins with; `a` .. `d` as the mode means them. */
typedef struct tare_wc_segment {
    uint8_t mode; /* tare_coded_mode; in the file one less */
    uint8_t predictor;
    uint8_t rule;  /* DIRECT; tile shape of STRUCTURED */
    uint8_t table; /* DIRECT: the first; bits of magnitude of STRUCTURED */
    uint32_t crc;
    uint32_t size_a, size_b;   /* words; bytes of a frame */
    uint32_t count;            /* patches; bytes of raw bits */
    uint32_t extent;           /* bytes of patches; view width */
    uint8_t n_classes, option; /* option: table of the classes; whether values are signed */
    uint8_t rice;              /* bits of a patch's distance that are as they are */
    uint8_t pattern[4];
} tare_wc_segment;

/* Bytes that n values fill, n being a whole number of bytes' worth; and the reverse. */
static inline uint64_t tare_wc_bytes_of(uint8_t value_bits, uint64_t n_values) {
    return n_values / 8 * value_bits + n_values % 8 * value_bits / 8;
}
static inline uint64_t tare_wc_values_of(uint8_t value_bits, uint64_t n_bytes) {
    return value_bits == 6   ? n_bytes / 3 * 4
           : value_bits == 4 ? n_bytes * 2
                             : n_bytes / (value_bits / 8);
}
/* Decoded bytes of a segment that is not the stream's last. */
static inline uint64_t tare_wc_whole_bytes(const tare_wc_shape *shape) {
    return tare_wc_bytes_of(shape->value_bits, UINT64_C(1) << shape->log2_segment);
}
static inline uint32_t tare_wc_align(uint32_t n) {
    return (n + TARE_CODED_UNIT - 1) / TARE_CODED_UNIT * TARE_CODED_UNIT;
}
/* Symbols of the tables that code values of so many bits. */
static inline uint8_t tare_wc_alphabet(uint8_t value_bits) {
    return value_bits == 4 ? 16 : 64;
}
/* Positions that DIRECT codes for some bytes, padding included. */
static inline uint32_t tare_wc_positions(uint8_t value_bits, uint32_t n_bytes) {
    if (value_bits == 4) return 2 * tare_wc_align(n_bytes);
    return tare_wc_align((uint32_t)tare_wc_values_of(value_bits, n_bytes));
}

#endif
