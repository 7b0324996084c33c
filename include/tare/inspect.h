/* SPDX-License-Identifier: MIT
 *
 * tare/inspect.h: facts about a model: digests, what verifying finds, differences from another, single
 * tensors as files, statistics of its values, the role of each tensor, the memory needed to run it.
 */
#ifndef TARE_INSPECT_H
#define TARE_INSPECT_H

#include <tare/base.h>
#include <tare/model.h>
#include <tare/output.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- digests and manifests ------------------------------------------------------------------- */

typedef struct tare_digest {
    uint8_t bytes[32]; /* SHA-256 */
} tare_digest;

/* SHA-256 over the encoding's canonical name, a NUL, rank and dimensions outermost first (u64
 * LE), then the planes in table order, little-endian, without padding. The same in every
 * container that holds the same encoding. */
TARE_API tare_status tare_tensor_digest(tare_digest *out, const tare_model *model, size_t tensor,
                                        const tare_context *context, tare_error *err);
/* Reads all of a tensor and compares it with the digest that its container states (INFQ does).
 * TARE_ERR_CHECKSUM: they differ. OK: they are equal, or none is stated. Both calls use only
 * progress and `cancel` of the context: a digest is computed by one thread. */
TARE_API tare_status tare_tensor_check(const tare_model *model, size_t tensor,
                                       const tare_context *context, tare_error *err);
/* Writes one digest per tensor to digests[n_tensors], in parallel, and the digest of the manifest
 * to *whole. Either pointer may be NULL. */
TARE_API tare_status tare_model_digest(tare_digest *digests, tare_digest *whole,
                                       const tare_model *model, const tare_context *context,
                                       tare_error *err);
/* Writes the manifest: lines "<hex>  <name>\n" sorted by name bytes, in sha256sum's form and with
 * its escapes. Atomic like every file; ERR_ARG: it exists and `force` is off. */
TARE_API tare_status tare_manifest_write(const char *path, const tare_model *model,
                                         const tare_output_options *output,
                                         const tare_context *context, tare_error *err);
/* Checks a model against a manifest; differences become findings of level error in
 * context->report and the result is TARE_ERR_CHECKSUM. A malformed line: TARE_ERR_CORRUPT. */
TARE_API tare_status tare_manifest_check(const char *path, const tare_model *model,
                                         const tare_context *context, tare_error *err);

/* ---- verify ---------------------------------------------------------------------------------- */

/* Reads the side files of a model that are JSON, text or a tokenizer by their names (config.json,
 * merges.txt, tokenizer.model) and adds to context->report an error for each that is not
 * ("resource.json", "resource.text", "resource.tokenizer"). Opening reads only those that it needs.
 * TARE_OK even when there are findings. */
TARE_API tare_status tare_verify_resources(const tare_model *model, const tare_context *context,
                                           tare_error *err);

/* Reads all tensor data and adds to context->report: NaN, Inf, impossible scales, codes out of
 * range, padding that is not zero. The rules of the directory are checked while opening: open with
 * a report to get those findings. Tensors of a .wcodec that refer to a missing base model are
 * skipped; "wcodec.base" says how many. TARE_OK even when there are findings. */
TARE_API tare_status tare_verify_data(const tare_model *model, const tare_context *context,
                                      tare_error *err);

/* Adds to context->report what `model` lost of `source`, the model it was made from, reading all of
 * both; the rules and codes are those of tare_convert and tare_pack. Warnings: numbers that differ
 * ("convert.lossy"), side files that are missing or different, and those that opening the source
 * left out ("left-out"), adapters ("convert.adapters-left"), keys ("lost.key") except those that
 * follow from the types. Errors: tensors that are missing ("lost.tensor") or have a different shape
 * ("lost.shape"). Additions to the source are not a loss. TARE_OK even when there are findings. */
TARE_API tare_status tare_verify_against(const tare_model *model, const tare_model *source,
                                         const tare_context *context, tare_error *err);

/* ---- diff ------------------------------------------------------------------------------------ */

typedef enum tare_diff_kind {
    TARE_DIFF_KEY_ONLY_A = 0,
    TARE_DIFF_KEY_ONLY_B = 1,
    TARE_DIFF_KEY_VALUE = 2,
    TARE_DIFF_TENSOR_ONLY_A = 3,
    TARE_DIFF_TENSOR_ONLY_B = 4,
    TARE_DIFF_SHAPE = 5,
    TARE_DIFF_ENCODING = 6, /* types differ; values compared as decoded */
    TARE_DIFF_VALUE = 7,    /* same type, other bytes */
    TARE_DIFF_RESOURCE_ONLY_A = 8,
    TARE_DIFF_RESOURCE_ONLY_B = 9,
    TARE_DIFF_RESOURCE = 10,
} tare_diff_kind;

typedef struct tare_diff_item {
    tare_diff_kind kind;
    tare_str name;
    int64_t a, b;         /* indexes in the models' lists; -1: not there */
    bool is_decoded;      /* the numbers below hold */
    bool is_tolerated;    /* within the tolerance: does not make the models differ */
    double relative_rmse; /* ||a - b|| / ||a|| over decoded values */
    double max_abs;       /* largest |a - b| */
    uint64_t n_different; /* elements */
    double norm_a;        /* ||a||: weighs the error against those of other tensors */
} tare_diff_item;

typedef struct tare_diff_options {
    size_t size;
    const tare_context *context; /* NULL: the defaults */
    double tolerance; /* relative RMSE up to which tensors count as the same; beyond 0 the keys that
                         follow from the types (general.file_type, general.quantization_version)
                         may differ too */
    bool brief;       /* stop at the first difference */
    bool directory; /* read no values: tensors differ by name, shape and type, side files by size */
} tare_diff_options;

TARE_DECLARE_INIT(tare_diff_options)

typedef struct tare_diff tare_diff;

/* Compares two models of any formats: metadata, then the tensor set, shapes, types, values.
 * Items: keys, tensor set, then tensors, worst relative RMSE first. Both models must outlive it. */
TARE_API tare_status tare_diff_new(tare_diff **out, const tare_model *a, const tare_model *b,
                                   const tare_diff_options *options, tare_error *err);
TARE_API void tare_diff_free(tare_diff *diff);
/* Whether nothing differs beyond the tolerance. */
TARE_API bool tare_diff_is_same(const tare_diff *diff);
TARE_API const tare_diff_item *tare_diff_at(const tare_diff *diff, size_t i);

/* ---- extract --------------------------------------------------------------------------------- */

typedef enum tare_extract_form {
    TARE_EXTRACT_NPY = 0, /* decoded: integers as they are, the rest f32 */
    TARE_EXTRACT_BIN = 1, /* the stored planes in table order, little-endian */
} tare_extract_form;

typedef struct tare_extract_options {
    size_t size;
    const tare_context *context;       /* NULL: the defaults */
    const tare_output_options *output; /* NULL: the defaults */
    uint64_t first_row, n_rows; /* n_rows 0: all from first_row on; rows run over all dims but the
                                   last */
    uint64_t *written_bytes;    /* becomes the size of the output; NULL: not wanted */
} tare_extract_options;

TARE_DECLARE_INIT(tare_extract_options)

/* Writes one tensor to a file, atomically. NaN and Inf among decoded numbers are warnings in
 * context->report ("extract.nan", "extract.inf"), TARE_ERR_UNSUPPORTED under output->strict. */
TARE_API tare_status tare_extract(const char *path, const tare_model *model, size_t tensor,
                                  tare_extract_form form, const tare_extract_options *options,
                                  tare_error *err);
/* The same into an open file or pipe; not atomic. */
TARE_API tare_status tare_extract_fd(int fd, const tare_model *model, size_t tensor,
                                     tare_extract_form form, const tare_extract_options *options,
                                     tare_error *err);

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
 * allocator and progress are used. ERR_ARG: there is no such tensor; CHECKSUM: the file states another
 * checksum of one of them; else as for reading it. */
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
    size_t size;
    uint64_t weights;     /* all tensors as they are stored */
    uint64_t context;     /* tokens that `cache` is for */
    uint64_t cache;       /* keys and values of attention, 16 bits each, not reduced by sliding
                             windows; 0: not known, no attention, or an encoder, which
                             sees all tokens at once */
    uint64_t state;       /* of recurrent layers for one sequence, 32 bits each number */
    bool is_latent_cache; /* one compressed row a token and layer (multi-head latent attention) */
} tare_memory_needs;
TARE_DECLARE_INIT(tare_memory_needs)

/* `context` 0: the length that the model was trained for. False: the metadata do not determine the
 * size of a cache, or the numbers overflow; `weights` is valid in any case. Of *out only `size` is read. */
TARE_API bool tare_model_memory(tare_memory_needs *out, const tare_model *model, uint64_t context);

#ifdef __cplusplus
}
#endif
#endif
