/* SPDX-License-Identifier: MIT
 *
 * A tensor cut into chunks of bounded size, each decoded by itself: what conversion, scanning and
 * comparing share. */
#ifndef TARE_OPS_CONVERT_CHUNKS_H
#define TARE_OPS_CONVERT_CHUNKS_H

#include "encoding/outliers.h"
#include "encoding/slab.h"
#include "model/catalog.h"
#include "ops/scratch_slots.h"

/* 128 Ki elements: half a MiB of floats stays in the second-level cache, along with its encoded
 * form, from reading to encoding, and is large enough to make the cost of one system call per chunk
 * negligible. */
#define TARE_CHUNK_ELEMENTS (UINT64_C(1) << 17)

struct tare_merge;

typedef struct tare_chunks {
    const tare_model *model;
    size_t tensor;
    const tare_encoding *from, *to; /* to NULL: only decoded */
    uint64_t row_length;            /* a tensor whose rows need not be distinguished is one row */
    uint64_t n_rows;
    uint64_t step;           /* rows per chunk or, where rows are cut into pieces, elements */
    uint64_t chunks_per_row; /* 0: a chunk is whole rows */
    uint64_t n_chunks;
    uint64_t slice_rows; /* rows that share an importance: a chunk is whole rows of one slice; 0: it
                            need not be */
    struct tare_merge *merge; /* adds to what is decoded; NULL: nothing */
} tare_chunks;

/* One decoded chunk. */
typedef struct tare_chunk {
    float *values;  /* in the scratch */
    uint64_t first; /* element of the tensor */
    tare_slab at;
    tare_outliers outliers; /* n 0: none */
} tare_chunk;

/* Elements of a chunk. */
static inline uint64_t tare_chunk_count(const tare_chunk *chunk) {
    return chunk->at.n_rows * chunk->at.n_cols;
}

/* UNSUPPORTED: the tensor cannot be decoded, or `to` not be encoded chunk by chunk. */
tare_status tare_chunks_init(tare_chunks *s, const tare_model *model, size_t tensor,
                             const tare_encoding *to, tare_error *err);
/* Cuts the chunks so that each is whole rows of one slice of `rows` > 0 rows, for encoders that
 * weigh columns. */
void tare_chunks_keep_slices(tare_chunks *s, uint64_t rows);
/* The slice that chunk i lies in. */
uint64_t tare_chunks_slice(const tare_chunks *s, uint64_t i);
/* Reads and decodes chunk i, and adds what is to be merged into it. */
tare_status tare_chunks_decode(tare_chunk *out, const tare_chunks *s, uint64_t i,
                               tare_scratch *scratch, tare_error *err);
/* Reads the stored planes of chunk i of a linear tensor. */
tare_status tare_chunks_read(tare_rows *out, const tare_chunks *s, uint64_t i,
                             tare_scratch *scratch, tare_error *err);
/* Reads chunk i and repacks it into the scratch memory: *out is the position of its elements, rows
 * its planes. */
tare_status tare_chunks_repack(tare_chunk *out, tare_rows_mut *rows, const tare_chunks *s,
                               uint64_t i, tare_scratch *scratch, tare_error *err);
/* The bytes of plane p of the encoded tensor that chunk i makes. */
void tare_chunks_range(const tare_chunks *s, uint64_t i, uint32_t plane, uint64_t *offset,
                       uint64_t *size);
/* Where plane p of a decoded chunk goes in the encoded tensor, and how many bytes it takes: a plane
 * that exists once for the whole tensor belongs to the first chunk. */
void tare_chunks_place(const tare_chunks *s, const tare_chunk *chunk, uint32_t plane,
                       uint64_t *offset, uint64_t *size);
/* Finds the n outliers of a decoded chunk, and takes them out of its values for as long as it is
 * encoded. IO: there are not as many as before. */
tare_status tare_chunks_take_outliers(tare_chunk *chunk, const tare_chunks *s,
                                      const tare_outlier_rule *rule, uint64_t n,
                                      tare_scratch *scratch, tare_error *err);
/* Encodes a decoded chunk into the scratch: planes[p] for each plane of s->to. Outliers are back in
 * its values afterwards. */
tare_status tare_chunks_encode(tare_rows_mut *out, const tare_chunks *s, const tare_chunk *chunk,
                               const tare_encode_params *params, tare_scratch *scratch,
                               tare_error *err);

#endif
