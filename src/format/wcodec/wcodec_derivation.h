/* SPDX-License-Identifier: MIT
 *
 * What a layer record says of a tensor that an encoder makes of another (docs/wcodec.md, 4.5). */
#ifndef TARE_FORMAT_WCODEC_WCODEC_DERIVATION_H
#define TARE_FORMAT_WCODEC_WCODEC_DERIVATION_H

#include "base/buffer.h"
#include "base/cursor.h"
#include "model/pieces.h"

typedef struct tare_wcodec_derivation {
    bool is_set;
    uint8_t quality;     /* tare_quality */
    uint16_t version;    /* of the encoder */
    uint8_t depth;       /* once it is checked: 1, if what it is made of is stored */
    uint32_t source;     /* number of a layer before this one; 0 with pieces */
    uint32_t importance; /* 1 + number of a layer of F32; 0: none */
    uint64_t importance_offset;
    const float *divisors; /* of each row of importance; 0: all of it is 1. NULL: it is as it is */
    uint64_t n_divisors;
    const tare_composition *pieces; /* of layers before this one; NULL: of one as it is */
} tare_wcodec_derivation;

/* Appends the part of a record that says it, if it is set. */
void tare_wcodec_derivation_put(tare_buffer *out, const tare_wcodec_derivation *d);
/* Reads it where the rest of a record begins with it; else *out is not set and the cursor stays. */
tare_status tare_wcodec_derivation_read(tare_wcodec_derivation *out, tare_cursor *c,
                                        tare_arena *arena, tare_error *err);

struct tare_wcodec_index;
/* Whether layer i, which is derived, can be: its sources lie before it, have its shape or its elements and
 * are themselves made of stored layers; importance is there for every slice. Those before it were
 * checked; finds its depth. */
tare_status tare_wcodec_derivation_check(struct tare_wcodec_index *index, uint32_t i, uint64_t at,
                                         tare_error *err);

#endif
