/* SPDX-License-Identifier: MIT
 *
 * Tensors that an encoder makes of others (docs/wcodec.md, 4.5): the bytes that segments of such a layer
 * refer to, computed when they are read. */
#ifndef TARE_FORMAT_WCODEC_WCODEC_DERIVED_H
#define TARE_FORMAT_WCODEC_WCODEC_DERIVED_H

#include <tare/encoding.h>

#include "base/reader.h"
#include "model/pieces.h"

/* What is computed: each of the two readers holds numbers of the machine's files, little-endian. */
typedef struct tare_wcodec_derived {
    const tare_allocator *allocator;
    const tare_encoding *from, *to;
    uint64_t n_elements, cols, slice_rows;
    const tare_reader *source;
    uint64_t start;                /* of the source's bytes */
    const tare_reader *importance; /* a row of F32 for each slice; NULL: none */
    uint64_t importance_start;
    const float *divisors; /* of each row; 0: all are 1. NULL: rows are as they are */
    tare_quality quality;
    tare_compat compat;
    tare_reader reader; /* of the bytes that are computed */
} tare_wcodec_derived;

/* Numbers that are pieces of others': what `source` of the above reads then. */
typedef struct tare_wcodec_composed {
    const tare_composition *of;
    tare_piece_sources from;
    tare_reader reader;
} tare_wcodec_composed;

/* Versions of encoders: of all; of those that ggml had otherwise up to 0.21. */
enum { TARE_WCODEC_ENCODERS = 1, TARE_WCODEC_OLDER_ENCODERS = 2 };

/* Sets up d->reader, of all bytes of the tensor; everything else is set. *d must outlive it. */
void tare_wcodec_derived_open(tare_wcodec_derived *d, const char *name);
/* The same of c->reader, of n_elements numbers. */
void tare_wcodec_composed_open(tare_wcodec_composed *c, uint64_t n_elements, const char *name);

#endif
