/* SPDX-License-Identifier: MIT
 *
 * tare/importance.h: importance matrices: how much each column of a weight matrix matters, as
 * llama.cpp's llama-imatrix measures it. Encoders weigh their errors by it.
 */
#ifndef TARE_IMPORTANCE_H
#define TARE_IMPORTANCE_H

#include <tare/base.h>
#include <tare/model.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Everything a getter returns is borrowed and lives until tare_importance_free. Threads: only
 * tare_importance_select changes it; apart from that any number of threads may use it at once. */
typedef struct tare_importance tare_importance;

/* Opens either form of llama.cpp's matrices, told apart by content: a GGUF file with tensors
 * NAME.in_sum2 and NAME.counts, or the older .dat file. All values are read into memory and
 * divided as llama-quantize does: a slice's sums by its count, a slice that was never used becomes
 * ones; values of a .dat file by its number of calls, unless that is 0. Of `options` the allocator,
 * limits and report count. CORRUPT: a record that cannot be, a value that is not finite; TRUNCATED;
 * LIMIT; UNSUPPORTED: another kind of file. */
TARE_API tare_status tare_importance_open(tare_importance **out, const tare_source *source,
                                          const tare_open_options *options, tare_error *err);
/* The short form for a path. */
TARE_API tare_status tare_importance_open_path(tare_importance **out, const char *path,
                                               const tare_open_options *options, tare_error *err);
TARE_API void tare_importance_free(tare_importance *importance);

typedef struct tare_importance_summary {
    bool is_gguf; /* false: the older .dat form */
    size_t n_entries;
    uint64_t n_values;   /* of all entries */
    uint64_t n_chunks;   /* of text it was measured on; 0: not known */
    uint64_t chunk_size; /* tokens a chunk; 0: not known */
    size_t n_datasets;
} tare_importance_summary;

TARE_API const tare_importance_summary *
tare_importance_summarize(const tare_importance *importance);
/* The name of dataset i; empty beyond the end. */
TARE_API tare_str tare_importance_dataset(const tare_importance *importance, size_t i);

/* The matrix of one tensor: for each slice (expert) a row of as many values as the tensor has
 * columns, slice after slice. */
typedef struct tare_importance_entry {
    tare_str name; /* the tensor's, as GGUF has it */
    const float *values;
    uint64_t n_values;
    uint64_t n_slices; /* that were counted apart; 0: the .dat form does not tell */
} tare_importance_entry;

/* Entry i in the file's order (GGUF: of its sums); NULL beyond the end. */
TARE_API const tare_importance_entry *tare_importance_at(const tare_importance *importance,
                                                         size_t i);
/* The index of a tensor's entry by its whole name, -1 if there is none. O(1). */
TARE_API int64_t tare_importance_find(const tare_importance *importance, tare_str name);

/* Keeps (is_included) or drops the entries whose name contains one of `parts`, as llama-quantize's
 * --include-weights and --exclude-weights do. Before other threads read it. */
TARE_API void tare_importance_select(tare_importance *importance, const char *const *parts,
                                     size_t n_parts, bool is_included);

#ifdef __cplusplus
}
#endif
#endif
