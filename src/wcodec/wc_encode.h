/* SPDX-License-Identifier: MIT
 *
 * Encoding a stream, in two passes over its segments: first each is tallied (by any number of
 * threads, each with a tally of its own), then a scheme is made of the sum, which consists of the
 * stream's head and how to code with it; then each segment is encoded, in any order, by any thread.
 * Memory is bounded by segments. The bytes depend on the stream and the options alone. */
#ifndef TARE_WCODEC_ENCODE_H
#define TARE_WCODEC_ENCODE_H

#include "base/buffer.h"
#include "wcodec/wc_segment.h"

typedef struct tare_wc_options {
    bool is_full;         /* try STRUCTURED and ZSTD where they may pay */
    bool is_repetitive;   /* try ZSTD anyway: text, integers, masks */
    bool is_signed;       /* values are two's complement (for tiles and classes) */
    uint32_t width;       /* of the matrix, in values; 0: none, no tiles */
    tare_coded_mode mode; /* to be used wherever it can */
    uint8_t used_bits;    /* that values use at most, without a base; 0: all value_bits */
    uint8_t trellis;      /* 8 or 32: the bytes are steps of a trellis, not values */
    bool no_zstd;         /* not where there is a choice */
    tare_tile_limits tiles;
} tare_wc_options;

#define TARE_WC_OPTIONS_DEFAULT ((tare_wc_options){.mode = TARE_CODED_SMALLEST})

typedef struct tare_wc_tally tare_wc_tally;
typedef struct tare_wc_scheme tare_wc_scheme;

/* NULL: memory is out. The tally of a stream predicted from a base counts differences, too. */
tare_wc_tally *tare_wc_tally_new(const tare_wc_shape *shape, const tare_wc_options *options,
                                 bool has_base, const tare_allocator *allocator);
/* Makes an old one, of the same run, as new; false: it cannot be that of such a stream. */
bool tare_wc_tally_renew(tare_wc_tally *tally, const tare_wc_shape *shape,
                         const tare_wc_options *options, bool has_base);
void tare_wc_tally_free(tare_wc_tally *tally);
/* Whether segment i of n is to be counted: all of them with full effort, else some, spread over the
 * stream. Values that occur in no counted segment can still be encoded. */
bool tare_wc_tally_wants(const tare_wc_options *options, uint64_t i, uint64_t n);
/* Counts one segment (or a sample of segments). With `reference` the tally must have a base. */
tare_status tare_wc_tally_add(tare_wc_tally *tally, const uint8_t *bytes, uint32_t n_bytes,
                              const tare_wc_reference *reference, tare_wc_scratch *scratch,
                              tare_error *err);
/* Adds another tally of the same stream: the order makes no difference. */
void tare_wc_tally_merge(tare_wc_tally *into, const tare_wc_tally *from);

tare_status tare_wc_scheme_new(tare_wc_scheme **out, const tare_wc_tally *tally, tare_error *err);
/* For a stream too small for any table to pay: without rules or a tally. */
bool tare_wc_is_tiny(const tare_wc_options *options, uint64_t n_bytes);
tare_status tare_wc_scheme_tiny(tare_wc_scheme **out, const tare_wc_shape *shape,
                                const tare_wc_options *options, const tare_allocator *allocator,
                                tare_error *err);
void tare_wc_scheme_free(tare_wc_scheme *scheme);
const tare_wc_head *tare_wc_scheme_head(const tare_wc_scheme *scheme);

/* Appends the stored bytes of a segment, a multiple of 64. */
tare_status tare_wc_encode_segment(tare_buffer *out, const tare_wc_scheme *scheme,
                                   const uint8_t *bytes, uint32_t n_bytes,
                                   const tare_wc_reference *reference, tare_wc_scratch *scratch,
                                   tare_error *err);
/* Appends head and segment of a stream that has but one: the head is what that segment needs, and
 * counts when its mode is chosen. */
tare_status tare_wc_encode_alone(tare_buffer *out, uint32_t *head_bytes,
                                 const tare_wc_scheme *scheme, const uint8_t *bytes,
                                 uint32_t n_bytes, const tare_wc_reference *reference,
                                 tare_wc_scratch *scratch, tare_error *err);

/* A suitable segment size for a stream, from its number of values and bits per value. */
uint8_t tare_wc_suggest_log2(uint64_t n_values, double bits);

#endif
