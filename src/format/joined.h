/* SPDX-License-Identifier: MIT
 *
 * Tensors that a checkpoint keeps in chunks, boxes of their elements in any of its files: each is one
 * tensor, read from its chunks without holding it. */
#ifndef TARE_FORMAT_JOINED_H
#define TARE_FORMAT_JOINED_H

#include "model/catalog.h"

#define TARE_NOT_A_CHUNK SIZE_MAX
#define TARE_A_COPY      (SIZE_MAX - 1)

/* A tensor that is stored in chunks. */
typedef struct tare_joined_tensor {
    tare_str name; /* lives as long as the model */
    const tare_encoding *encoding;
    uint32_t n_dims;
    uint64_t dims[TARE_MAX_DIMS];
    uint64_t record; /* offset of what describes it in directory_file; TARE_NO_OFFSET: none */
} tare_joined_tensor;

/* What a tensor of the catalog is. */
typedef struct tare_joined_chunk {
    size_t of;                  /* which of the joined tensors; TARE_NOT_A_CHUNK: one of its own;
                                   TARE_A_COPY: of what another file has, and left out */
    uint64_t at[TARE_MAX_DIMS]; /* of its first element there */
} tare_joined_chunk;

typedef struct tare_joined_set {
    const tare_joined_tensor *tensors;
    size_t n_tensors;
    const tare_joined_chunk *chunks; /* of each tensor of the catalog */
} tare_joined_set;

/* The tensors of a finished model become the joined ones, then those on their own; what its files have
 * is m->stored from then on. Chunks that are of another type or lie outside are CORRUPT. Where chunks do
 * not cover a tensor, or overlap, that is a finding, and reading the tensor fails. With `stored` the
 * model stays as it is, and all this is only checked. */
tare_status tare_join(tare_model *m, const tare_joined_set *set, bool stored, tare_report *report,
                      tare_error *err);

/* The name of the chunk of a tensor that begins at a place: "w@0,128"; of the only one its own. ptr NULL:
 * memory is out. */
tare_str tare_joined_name(tare_arena *arena, tare_str tensor, const uint64_t *at, uint32_t n_dims,
                          bool is_only);

#endif
