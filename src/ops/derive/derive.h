/* SPDX-License-Identifier: MIT
 *
 * A tensor as what an encoder makes of another one. */
#ifndef TARE_OPS_DERIVE_DERIVE_H
#define TARE_OPS_DERIVE_DERIVE_H

#include "ops/convert/chunks.h"

/* How a tensor is made. */
typedef struct tare_derivation {
    const tare_model *from;
    size_t source;           /* a tensor of it, of the same shape */
    const float *importance; /* a row for each slice; NULL: none */
    uint64_t slice_rows;     /* with importance: rows of a slice */
    tare_quality quality;
    tare_compat compat;
} tare_derivation;

/* Sets quality and compat to those of encoder *k that may have made tensors of a type, the likeliest first, and
 * counts *k on; false: there are no more. */
bool tare_derive_next_encoder(tare_derivation *how, const tare_encoding *to, unsigned *k);

/* What was found of a range of chunks. */
typedef struct tare_derive_counts {
    uint64_t n_blocks, n_other; /* those that are not what the encoder makes */
    double error,
        expected; /* squared, of the numbers of the tensor and of what the encoder makes */
} tare_derive_counts;

/* Cuts the tensor as it is encoded. UNSUPPORTED: it cannot be. */
tare_status tare_derive_cut(tare_chunks *out, const tare_derivation *how, const tare_encoding *to,
                            tare_error *err);
/* Compares chunk i with tensor `tensor` of `m`, of one plane, and adds to the counts. */
tare_status tare_derive_compare(tare_derive_counts *counts, const tare_derivation *how,
                                const tare_chunks *chunks, uint64_t i, const tare_model *m,
                                size_t tensor, tare_scratch *scratch, tare_error *err);
/* Bytes of chunk i of the encoded tensor. */
uint64_t tare_derive_chunk_bytes(const tare_chunks *chunks, uint64_t i);

#endif
