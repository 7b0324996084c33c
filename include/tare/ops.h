/* SPDX-License-Identifier: MIT
 *
 * tare/ops.h: operations on models: convert (tare/convert.h), digest, verify, diff, extract, bench,
 * synth, file names.
 */
#ifndef TARE_OPS_H
#define TARE_OPS_H

#include <tare/adapter.h>
#include <tare/base.h>
#include <tare/convert.h>
#include <tare/encoding.h>
#include <tare/model.h>
#include <tare/output.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- digests and manifests ------------------------------------------------------------------- */

typedef struct tare_digest {
    uint8_t bytes[32]; /* SHA-256 */
} tare_digest;

/* Writes n bytes to a file atomically, like every output. ERR_ARG: it exists and `force` is off, or
 * it is a file of `model` (which may be NULL). */
TARE_API tare_status tare_file_write(const char *path, const void *bytes, size_t n,
                                     const tare_model *model, const tare_output_options *output,
                                     const tare_context *context, tare_error *err);

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

/* Reads the side files of a model that are JSON by their names (config.json, tokenizer.json, index
 * files) and adds to context->report an error for each that is not ("resource.json"). Opening reads
 * only those that it needs. TARE_OK even when there are findings. */
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
} tare_extract_options;

TARE_DECLARE_INIT(tare_extract_options)

/* Writes one tensor to a file, atomically; path "-" writes to `fd` instead. */
TARE_API tare_status tare_extract(const char *path, int fd, const tare_model *model, size_t tensor,
                                  tare_extract_form form, const tare_extract_options *options,
                                  tare_error *err);

/* Writes adapters to their own files, atomically: if the path ends in .safetensors, a single pair
 * as the tensors A and B (with the scale as text under "scale" in the header), else a PEFT
 * directory of all pairs that `use` names. Factors are F32, which loses nothing. ERR_ARG: no such
 * adapter, or a file for several pairs. */
TARE_API tare_status tare_adapters_write(const char *path, const tare_adapter_use *use,
                                         const tare_output_options *output,
                                         const tare_context *context, tare_error *err);

/* ---- bench ----------------------------------------------------------------------------------- */

typedef struct tare_bench_options {
    size_t size;
    /* NULL: the defaults. Threads are for the codec, 0: one; zstd and memcpy run on one */
    const tare_context *context;
    bool is_full;                   /* the codec's full effort instead of the fast one */
    bool is_whole;                  /* measure all bytes, not a sample of each tensor */
    bool best_zstd;                 /* also measure zstd -19, on the same bytes; samples are smaller
                                       then */
    const tare_model *const *bases; /* similar models: tensors are stored as differences from the
                                       one that has the most similar */
    size_t n_bases;
    struct tare_device *device; /* tare/device.h: decodes each layer, too; may be NULL */
} tare_bench_options;

TARE_DECLARE_INIT(tare_bench_options)

/* Size and speed of one or several tensors in a .wcodec. Sizes of a sampled tensor are extrapolated
 * to the whole; with n_tensors 0 this is an empty sum. */
typedef struct tare_bench {
    size_t size;
    uint64_t n_tensors;
    uint64_t bytes;         /* of the tensors, all planes */
    uint64_t sample_bytes;  /* those that were measured; speeds refer to them */
    double coded_bytes;     /* heads and segments of the codec */
    double entropy_bytes;   /* order-0 entropy of the values of the coded planes, or of their
                               differences from a base if that is less: a lower bound for any
                               coder of single values */
    double zstd_bytes;      /* zstd -3 of the bytes as stored in the file */
    double best_zstd_bytes; /* zstd -19; 0: not requested */
    double coded_error, zstd_error, best_zstd_error; /* standard errors of these sizes, in bytes; 0:
                                                        all bytes were measured */
    double encode_seconds, decode_seconds, copy_seconds, zstd_seconds; /* copy: memcpy */
    uint64_t n_alike;      /* tensors that a base also has */
    double device_seconds; /* decoding by the device, from its memory to its memory; 0: not
                              requested */
} tare_bench;

TARE_DECLARE_INIT(tare_bench)

/* The results, one row per tensor. Immutable: any number of threads may read it. */
typedef struct tare_bench_rows tare_bench_rows;

/* Measures the tensors one after another: encodes each in memory as in a .wcodec, decodes it and
 * compares. A model of more than 512 MiB (with best_zstd: 32 MiB) is sampled: the same share of
 * each tensor, but at least 4 MiB (1 MiB), in 64 runs, one at a random place in each of 64 equal
 * parts. All sizes refer to the same bytes. Memory: a few times 64 MiB. CORRUPT: the decoded bytes
 * differ. */
TARE_API tare_status tare_bench_run(tare_bench_rows **out, const tare_model *model,
                                    const tare_bench_options *options, tare_error *err);
TARE_API void tare_bench_free(tare_bench_rows *rows);
/* The row of a tensor; NULL beyond the last. Valid as long as the rows. */
TARE_API const tare_bench *tare_bench_row(const tare_bench_rows *rows, size_t tensor);
/* Adds a row to a sum; members beyond sum->size are left out. */
TARE_API void tare_bench_add(tare_bench *sum, const tare_bench *row);

/* ---- synth ----------------------------------------------------------------------------------- */

/* A deterministic model, computed as it is read: "SHAPE[:VALUES[:SEED]]" with SHAPE llama-tiny,
 * llama-chat (has a tokenizer), llama-44m, llama-300m, llama-1b, llama-8b and VALUES normal (default), t5, outliers, bf16. All
 * tensors F32 (bf16: BF16), Hugging Face names, config.json as a resource. The digest is the same
 * on every system. */
TARE_API tare_status tare_synth_open(tare_model **out, const char *spec,
                                     const tare_open_options *options, tare_error *err);
/* Shape or value form i, for help texts; NULL beyond the end. Static. */
TARE_API const char *tare_synth_shape(size_t i);
TARE_API const char *tare_synth_values(size_t i);

/* ---- GGUF file names ------------------------------------------------------------------------- */

/* The parts of "Base-8x7B-FineTune-v0.1-Q4_0-LoRA-00001-of-00003.gguf". Empty: absent. */
typedef struct tare_gguf_name {
    size_t size;
    tare_str sidecar; /* "mmproj", "mtp": a file that accompanies a model */
    tare_str base_name;
    tare_str size_label;
    tare_str fine_tune;
    tare_str version; /* "v1.0" if the name has none; is_version_assumed is set then */
    tare_str encoding;
    tare_str type;  /* "LoRA", "vocab" */
    uint32_t shard; /* 1-based; 0: none */
    uint32_t n_shards;
    bool is_version_assumed;
} tare_gguf_name;

TARE_DECLARE_INIT(tare_gguf_name)

/* Parses a file name (no directory). Of *out only `size` is read. The parts point into `name` (or
 * at static text). False: the name does not follow the convention. */
TARE_API bool tare_gguf_name_parse(tare_gguf_name *out, tare_str name);
/* Writes the name made of the parts, NUL-terminated, at most size - 1 bytes; returns the full
 * length. */
TARE_API size_t tare_gguf_name_format(char *buf, size_t size, const tare_gguf_name *name);
/* Derives the parts from a model's metadata and tensors, into *out as above. The strings are valid
 * as long as the model, or are in buf (at least 64 bytes) if computed. */
TARE_API void tare_gguf_name_of_model(tare_gguf_name *out, char *buf, size_t size,
                                      const tare_model *model);

#ifdef __cplusplus
}
#endif
#endif
