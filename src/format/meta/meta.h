/* SPDX-License-Identifier: MIT
 *
 * What the files of Meta's ranks are together. The names are those of llama/model.py, which also says
 * which of its layers are parallel by rows and which by columns. */
#ifndef TARE_FORMAT_META_META_H
#define TARE_FORMAT_META_META_H

#include "format/joined.h"

/* What params.json says; 0: nothing. */
typedef struct tare_meta_params {
    uint64_t width;      /* dim */
    uint64_t query_rows; /* of wq: those of all heads */
    uint64_t key_rows;   /* of wk and wv */
    uint64_t vocabulary;
} tare_meta_params;

/* A model whose ranks are being joined. */
typedef struct tare_meta {
    tare_model *m;
    tare_arena scratch; /* until it is read */
    tare_meta_params params;
    size_t n_ranks;
    size_t *first; /* tensor of each rank in the catalog, and their number at the end */
    const char **paths;
    tare_joined_tensor *tensors; /* of the model's arena, n_tensors, as the first rank has them */
    size_t n_tensors;
    tare_joined_chunk
        *chunks;  /* of each tensor of the catalog; those of one rank follow each other */
    size_t *same; /* with it: the tensor that it is a copy of, its own number if of none */
} tare_meta;

/* meta_ranks.c: before tare_model_finish: finds what the tensors of the catalog are chunks of, and gives
 * each a name of its own. A tensor that not all ranks have, or whose shape is not that of its part, is
 * CORRUPT. */
tare_status tare_meta_join(tare_meta *r, tare_error *err);
/* After it: a copy that differs from the first rank's is CORRUPT. */
tare_status tare_meta_compare(tare_meta *r, tare_error *err);

#endif
