/* SPDX-License-Identifier: MIT
 *
 * tare/inspect.h: facts about a model: statistics of its values, the role of each tensor, the memory
 * needed to run it.
 */
#ifndef TARE_INSPECT_H
#define TARE_INSPECT_H

#include <tare/base.h>
#include <tare/model.h>
#include <tare/ops.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- statistics of values -------------------------------------------------------------------- */

#define TARE_STATS_BINS 256

/* The values of a tensor as floats; integers of more than 24 bits are rounded. Only finite values
 * count for all but n_nan and n_inf. */
typedef struct tare_tensor_stats {
    bool is_decoded; /* false: the tensor cannot be decoded, and all else is 0 */
    uint64_t n_finite, n_zero, n_nan, n_inf;
    double min, max, mean;
    double std_dev; /* of the whole population: the divisor is n_finite */
    /* Bin i counts the values from (i - 128) * reach / 128 up to, but without, the next bin's
     * first. reach is the smallest power of two above every magnitude; 0: all values are 0. */
    double reach;
    uint64_t histogram[TARE_STATS_BINS];
} tare_tensor_stats;

/* Called for each tensor after it was read, in any order, from any thread but never by two at once;
 * `stats` lives as long as the call. */
typedef void (*tare_stats_fn)(void *ctx, size_t tensor, const tare_tensor_stats *stats);

/* Reads tensors[0 .. n_tensors - 1] (indexes; NULL: all of the model) once, in parallel, and reports
 * statistics of their values. The numbers do not depend on threads or CPU. Of `options`, threads,
 * allocator and progress are used. ERR_ARG: there is no such tensor; else as for reading it. */
TARE_API tare_status tare_model_stats(const tare_model *model, const size_t *tensors,
                                      size_t n_tensors, tare_stats_fn fn, void *ctx,
                                      const tare_context *context, tare_error *err);

/* Shares of the range from stats->min to stats->max, from a histogram: columns[i] becomes the
 * number of values in the i-th of n_columns equal parts. A bin that lies across a border is divided
 * by length, so that the sums are rounded. */
TARE_API void tare_stats_columns(uint64_t *columns, size_t n_columns,
                                 const tare_tensor_stats *stats);

/* ---- what a tensor is for -------------------------------------------------------------------- */

/* Derived from a tensor's name: names of GGUF and of common architectures of Hugging Face. */
typedef struct tare_tensor_part {
    size_t size;
    const char *role; /* "attention query", "feed-forward down", "norm"; NULL: unknown
                         name. Static */
    int32_t layer;    /* -1: none */
    int32_t expert;   /* -1: none, or all experts in one tensor */
    bool is_expert;   /* a feed-forward matrix of one expert or of all */
    bool is_shared;   /* of the expert that every token goes through */
    bool is_bias;
} tare_tensor_part;

TARE_DECLARE_INIT(tare_tensor_part)

/* O(length of the name). ERR_ARG: `out` is not set up. */
TARE_API tare_status tare_tensor_part_of_name(tare_tensor_part *out, tare_str name,
                                              tare_error *err);

/* ---- memory to run a model ------------------------------------------------------------------- */

/* Bytes that a program needs for a language model and for what it keeps between tokens, as far as
 * the metadata say. The program's own buffers come on top. */
typedef struct tare_memory_needs {
    uint64_t weights;     /* all tensors as they are stored */
    uint64_t context;     /* tokens that `cache` is for */
    uint64_t cache;       /* keys and values of attention, 16 bits each, not reduced by sliding
                             windows; 0: not known, no attention, or an encoder, which
                             sees all tokens at once */
    uint64_t state;       /* of recurrent layers for one sequence, 32 bits each number */
    bool is_latent_cache; /* one compressed row a token and layer (multi-head latent attention) */
} tare_memory_needs;

/* `context` 0: the length that the model was trained for. False: the metadata do not determine the
 * size of a cache, or the numbers overflow; `weights` is valid in any case. */
TARE_API bool tare_model_memory(tare_memory_needs *out, const tare_model *model, uint64_t context);

#ifdef __cplusplus
}
#endif
#endif
