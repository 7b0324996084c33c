/* SPDX-License-Identifier: MIT
 *
 * Importance matrices behind the public handle. They are filled by two readers, importance_dat.c
 * and importance_gguf.c; planning looks up what belongs to a tensor. */
#ifndef TARE_OPS_MIX_IMPORTANCE_MATRIX_H
#define TARE_OPS_MIX_IMPORTANCE_MATRIX_H

#include <tare/importance.h>

#include "model/catalog.h"
#include "ops/mix/mix.h"

/* Where the values of an entry come from: rows of its file, each divided by a count. */
typedef struct tare_importance_origin {
    const float *values; /* of the entry */
    uint64_t n_values;
    uint64_t offset;     /* in the file, where they are F32 */
    const float *counts; /* 0: the values are 1 */
    uint64_t n_counts;   /* each is of as many values */
} tare_importance_origin;

struct tare_importance {
    const tare_allocator *allocator;
    tare_limits limits;
    tare_report *report;
    tare_arena arena;
    tare_importance_entry *entries;
    size_t n_entries;
    tare_importance_origin *origins; /* of all, in the file's order */
    size_t n_left_out;               /* by tare_importance_select; they lie after the others */
    tare_name_index index;           /* of all */
    tare_str *datasets;
    size_t n_datasets;
    uint64_t n_chunks, chunk_size;
    bool is_gguf;
    tare_importance_summary summary;
};

/* The .dat form; CORRUPT and TRUNCATED carry the offset and the field. */
tare_status tare_importance_read_dat(tare_importance *m, const tare_reader *reader,
                                     tare_error *err);
/* The GGUF form, from an opened model. */
tare_status tare_importance_read_gguf(tare_importance *m, const tare_model *model, tare_error *err);

/* Whether all n values are finite, and none is so large that sums are not; *at is the first that is
 * otherwise. A warning goes to the report where some are negative, which no sum of squares is. */
bool tare_importance_check(const tare_importance *m, const tare_importance_entry *entry,
                           uint64_t *at);

typedef enum tare_importance_fit {
    TARE_IMPORTANCE_NONE = 0,  /* no entry */
    TARE_IMPORTANCE_WRONG = 1, /* an entry of another size */
    TARE_IMPORTANCE_FITS = 2,
    TARE_IMPORTANCE_LEFT_OUT = 3, /* an entry that is not to count */
} tare_importance_fit;

/* The number of matrices in a tensor, each with its own row of importance: the product of all
 * dimensions but the last two. */
uint64_t tare_importance_slices(const tare_tensor *tensor);

/* The values of a tensor, slice after slice. Its entry is found by its name, else by the name that
 * GGUF has for its role; a matrix of one expert takes its slice of the entry for all of them. */
tare_importance_fit tare_importance_of_tensor(const float **values, const tare_importance *m,
                                              const tare_tensor *tensor);
/* Where `values`, which were found for a tensor of so many slices, stand in the file, and what each of their
 * rows is divided by there: *divisors lies in the arena. False: they are of another matrix, or rows have
 * several counts. */
bool tare_importance_find_origin(uint64_t *offset, const float **divisors, const tare_importance *m,
                                 const float *values, uint64_t n_slices, uint64_t cols,
                                 tare_arena *arena);
/* An estimate for the output matrix, or the token embeddings that are one too, where the matrix has
 * no entry for it: *values of tensor->cols numbers, allocated in the arena; NULL: nothing to tell it
 * from. For other tensors NULL. */
tare_status tare_importance_of_output(const float **values, const tare_importance *m,
                                      const tare_mix_model *model, const tare_model *in,
                                      size_t tensor, tare_arena *arena, tare_error *err);
/* How many columns, in n_rows rows of importance, lie in blocks of a type that have none. */
uint64_t tare_importance_unseen(const float *values, uint64_t n_rows, uint64_t cols,
                                const tare_encoding *type);
/* A row of importance with a small part of the mean where there is none, so that no number becomes 0
 * because nobody looked at it. */
void tare_importance_floor(float *out, const float *values, uint64_t cols);
/* Whether a tensor has an entry that counts, of whatever size; `m` may be NULL. */
bool tare_importance_has(const tare_importance *m, const tare_tensor *tensor);

#endif
