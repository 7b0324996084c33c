/* SPDX-License-Identifier: MIT
 *
 * tare/ops.h: the verbs on models: convert, verify, diff, digest, extract, synth, file names.
 */
#ifndef TARE_OPS_H
#define TARE_OPS_H

#include <tare/adapter.h>
#include <tare/base.h>
#include <tare/encoding.h>
#include <tare/importance.h>
#include <tare/model.h>
#include <tare/packing.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- formats --------------------------------------------------------------------------------- */

typedef struct tare_format_info {
    const char *name;        /* what --to takes */
    const char *description; /* a few words */
    const char *suffix;      /* ".gguf"; "" for directories */
    bool can_write;
    bool is_directory;
} tare_format_info;

/* Format i of the table; false beyond the end. */
TARE_API bool tare_format_at(size_t i, tare_format_info *out);
/* The format an output path asks for by its suffix; NULL: none does. Static. */
TARE_API const char *tare_format_of_path(const char *path);
/* Whether files of a format, by its name, hold tensors of a number format as they are. False where
 * they are carried under another one, or not at all, and where there is no such format. */
TARE_API bool tare_format_holds(const char *format, const tare_encoding *encoding);

/* ---- mixes ----------------------------------------------------------------------------------- */

/* A named mix of number formats for the tensors of a model: names, numbers and choice are those of
 * llama.cpp. Static. */
typedef struct tare_mix {
    const char *name;          /* "Q4_K_M" */
    int32_t file_type;         /* what general.file_type says of it; -1: COPY, the model's own */
    const tare_encoding *type; /* what most tensors get; NULL: COPY, all stay as they are */
    bool needs_importance;     /* refused without an importance matrix */
    const char *description;   /* a few words */
} tare_mix;

/* Mix i of the table, in the order of their file types; NULL beyond the end. */
TARE_API const tare_mix *tare_mix_at(size_t i);
/* The mix of a name in any case ("q4_k_m"; "Q4_K" is Q4_K_M), or of its number ("15"); NULL: there
 * is none. */
TARE_API const tare_mix *tare_mix_find(tare_str name);

/* How a mix is applied. */
typedef struct tare_mix_options {
    size_t size;
    const tare_mix *mix;            /* NULL: none */
    const tare_encoding *output;    /* of the output matrix; NULL: as the mix has it */
    const tare_encoding *embedding; /* of the token embeddings; NULL: as the mix has it */
    bool is_pure;                   /* the mix's type for every tensor, without exceptions */
    bool leave_output;              /* the output matrix stays as it is */
    bool allow_requantize;          /* tensors that are quantized already may change their type */
} tare_mix_options;

#define TARE_MIX_OPTIONS_INIT                                                                      \
    { sizeof(tare_mix_options), NULL, NULL, NULL, false, false, false }

/* ---- convert --------------------------------------------------------------------------------- */

/* One REGEX=TYPE rule: a POSIX extended expression, matched anywhere in a tensor's name. */
typedef struct tare_type_rule {
    const char *pattern;
    const tare_encoding *encoding;
} tare_type_rule;

/* Which tensors of the same bytes are stored once, where the format can do that. */
typedef enum tare_dedup {
    TARE_DEDUP_TIED = 0, /* embedding and output matrix, and what the input stores once */
    TARE_DEDUP_ALL = 1,
    TARE_DEDUP_NONE = 2,
} tare_dedup;

/* What encoding a tensor has lost: its values against those it decodes to. */
typedef struct tare_tensor_error {
    double relative_rmse; /* ||a - b|| / ||a|| */
    double max_abs;       /* largest |a - b| */
} tare_tensor_error;

/* Told of tensor i of the plan once all is written, in the plan's order, by the thread that runs
 * the plan. Tensors that are only copied are not measured. */
typedef void (*tare_measured_fn)(void *ctx, size_t i, const tare_tensor_error *error);

typedef struct tare_convert_options {
    size_t size;
    const char *to;              /* format name; NULL: by the path's suffix */
    const tare_encoding *type;   /* every eligible tensor (two or more dimensions, float, not a
                                    norm); NULL: as they are */
    const tare_type_rule *rules; /* first match wins, before `type` */
    size_t n_rules;
    tare_byte_order order;
    tare_quality quality;
    uint64_t shard_size; /* bytes of a whole file; 0: one file */
    uint32_t alignment;  /* 0: the source's where the format has one, else the format's default */
    unsigned threads;    /* 0: what affinity and cgroup allow */
    bool opaque;         /* carry what the target lacks as stored planes, do not decode */
    bool verify;         /* read the result back and compare */
    bool force;          /* replace an existing output */
    bool strict;         /* a loss or an oddity is an error */
    bool no_sync;
    const tare_allocator *allocator;
    const tare_limits *limits;
    tare_report *report;
    tare_progress_fn progress;
    void *progress_ctx;
    const tare_importance *importance; /* weighs the errors of encoders; must outlive the plan */
    const tare_mix_options *mix; /* chooses the type of every tensor that `rules` leave; not beside
                                    `type`. A rule then is for tensors only that a mix may touch */
    tare_measured_fn measured;   /* what encoding loses is measured for it; NULL: it is not */
    void *measured_ctx;
    bool keep_split;                /* as many files as the input has, with its tensors in each */
    const tare_metadata *overrides; /* keys of the model to set: numbers, bools, texts */
    size_t n_overrides;
    tare_compat compat; /* encode as another program does, and write what it rewrites of resources
                           in its container; of the types that `type` and the rules ask for one at
                           least must be one of its */
    tare_dedup dedup;   /* other than TIED only for a format that can store tensors once */
    bool has_clip; /* bounds that values are held to before they are encoded; `type` or a rule must
                      ask for one of MCF's types */
    float clip_min, clip_max;
    const tare_adapter_use *merges; /* added to the tensors they are for, one after the other */
    size_t n_merges;
    const tare_adapter_use *adapters; /* stored beside the tensors, under `name`; INFQ only */
    size_t n_adapters;
    /* Elements that INFQ stores by themselves beside the codes of a tensor: those of a magnitude
     * above a threshold (0: 6, as its public converter; infinite: none), or a share of them, the
     * largest (0.001: one in a thousand; 0: by the threshold). Not both; other formats refuse them.
     */
    float outlier_threshold;
    double outlier_share;
    tare_effort effort; /* other than FAST for .wcodec only */
    /* For .wcodec only, as in tare_pack_options: models that the output is stored against, and
     * needs to be read. */
    const tare_model *const *bases;
    const char *const *base_hints;
    size_t n_bases;
} tare_convert_options;

#define TARE_CONVERT_OPTIONS_INIT                                                                  \
    { .size = sizeof(tare_convert_options) }

/* What a conversion will do, before a byte is written. */
typedef struct tare_plan tare_plan;

typedef enum tare_tensor_action {
    TARE_ACTION_COPY = 0,     /* the bytes cross (perhaps in the other byte order) */
    TARE_ACTION_STAND_IN = 1, /* the bytes cross under a stand-in type, shape or name, on record */
    TARE_ACTION_ENCODE = 2,   /* through f32 into another encoding, as asked */
    TARE_ACTION_LOSSY = 3,    /* the target lacks the encoding: decoded to F16 or F32 */
    TARE_ACTION_REPACK = 4,   /* the same codes and scales in the order of another encoding */
} tare_tensor_action;

typedef struct tare_plan_tensor {
    tare_str name;
    const tare_encoding *from;
    const tare_encoding *becomes; /* what the tensor is in the output */
    const tare_encoding *to;      /* as what it is stored: `becomes`, or what carries that */
    tare_tensor_action action;
    uint64_t from_bytes, to_bytes;
    uint32_t file; /* index of the output file */
} tare_plan_tensor;

typedef struct tare_plan_summary {
    const char *format;
    size_t n_tensors, n_files;
    uint64_t read_bytes;  /* of tensors */
    uint64_t write_bytes; /* of all files */
    bool is_identity;     /* same format, nothing changed: the same bytes */
    bool is_directory;
} tare_plan_summary;

/* Plans the conversion of `in` into `out_path` ("-": no path; `to` must be set). Touches nothing
 * on disk. `in` must outlive the plan. With `strict`, losses that show already are errors. */
TARE_API tare_status tare_plan_new(tare_plan **out, const char *out_path, const tare_model *in,
                                   const tare_convert_options *options, tare_error *err);
TARE_API void tare_plan_free(tare_plan *plan);
TARE_API void tare_plan_summarize(const tare_plan *plan, tare_plan_summary *out);
TARE_API bool tare_plan_tensor_at(const tare_plan *plan, size_t i, tare_plan_tensor *out);
/* Output file i: its name relative to the output directory (or the path itself) and its size. */
TARE_API bool tare_plan_file_at(const tare_plan *plan, size_t i, tare_file_info *out);
/* Whether the output can be written where it is to be: what tare_plan_run finds out before it
 * writes (it exists and `force` is off, its directory is missing, there is no space). Changes
 * nothing. */
TARE_API tare_status tare_plan_check(const tare_plan *plan, tare_error *err);
/* Writes it. On failure nothing new stands under the final name and an old file is whole.
 * Memory: at most 64 MiB + 16 MiB a thread, beside the directories. */
TARE_API tare_status tare_plan_run(const tare_plan *plan, tare_error *err);
/* Writes it into an open file or pipe, for standard output; not atomic. One-file formats only. */
TARE_API tare_status tare_plan_run_fd(const tare_plan *plan, int fd, tare_error *err);

/* Plan and run. ERR_ARG: the output exists and `force` is off, or the output is the input. */
TARE_API tare_status tare_convert(const char *out_path, const tare_model *in,
                                  const tare_convert_options *options, tare_error *err);

/* The same with the mix of that name, whatever options->mix has; the rest of options->mix holds, it
 * may be NULL. ERR_ARG also: there is no such mix; a tensor is quantized already and
 * `allow_requantize` is off; the mix needs an importance matrix. */
TARE_API tare_status tare_quantize(const char *out_path, const tare_model *in, tare_str mix,
                                   const tare_convert_options *options, tare_error *err);

/* ---- digests and manifests ------------------------------------------------------------------- */

typedef struct tare_digest {
    uint8_t bytes[32]; /* SHA-256 */
} tare_digest;

typedef struct tare_run_options {
    size_t size;
    unsigned threads;
    const tare_allocator *allocator;
    tare_report *report;
    tare_progress_fn progress;
    void *progress_ctx;
    bool force;   /* tare_manifest_write: replace an existing file */
    bool no_sync; /* tare_manifest_write: do not wait for the disk */
} tare_run_options;

#define TARE_RUN_OPTIONS_INIT                                                                      \
    { sizeof(tare_run_options), 0, NULL, NULL, NULL, NULL, false, false }

/* SHA-256 over the encoding's canonical name, a NUL, rank and dimensions outermost first (u64
 * LE), then the planes in table order, little-endian, without padding. The same in every
 * container that holds the same encoding. */
TARE_API tare_status tare_tensor_digest(tare_digest *out, const tare_model *model, size_t tensor,
                                        tare_error *err);
/* Reads all of a tensor and holds it against the digest that its container states of it (INFQ
 * does). TARE_ERR_CHECKSUM: it is another. OK: it is the same, or none is stated. */
TARE_API tare_status tare_tensor_check(const tare_model *model, size_t tensor, tare_error *err);
/* One digest a tensor into digests[n_tensors], in parallel, and the digest of the manifest. Either
 * pointer may be NULL. */
TARE_API tare_status tare_model_digest(tare_digest *digests, tare_digest *whole,
                                       const tare_model *model, const tare_run_options *options,
                                       tare_error *err);
/* Writes the manifest: lines "<hex>  <name>\n" sorted by name bytes, in sha256sum's form and with
 * its escapes. Atomic like every file; ERR_ARG: it exists and `force` is off. */
TARE_API tare_status tare_manifest_write(const char *path, const tare_model *model,
                                         const tare_run_options *options, tare_error *err);
/* Checks a model against a manifest; differences become findings of level error in
 * options->report and the result is TARE_ERR_CHECKSUM. A line that is none: TARE_ERR_CORRUPT. */
TARE_API tare_status tare_manifest_check(const char *path, const tare_model *model,
                                         const tare_run_options *options, tare_error *err);

/* ---- verify ---------------------------------------------------------------------------------- */

/* Reads all tensor data and adds to options->report: NaN, Inf, impossible scales, codes out of
 * range, padding that is not zero. The rules of the directory are checked while opening: open with
 * a report to get those findings. Tensors of a .wcodec that refer to a base model which it was
 * not given are left out; "wcodec.base" says how many. TARE_OK even when there are findings. */
TARE_API tare_status tare_verify_data(const tare_model *model, const tare_run_options *options,
                                      tare_error *err);

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
} tare_diff_item;

typedef struct tare_diff_options {
    size_t size;
    double tolerance; /* relative RMSE up to which tensors count as the same; beyond 0 the keys that
                         follow from the types (general.file_type, general.quantization_version)
                         may differ too */
    bool brief;       /* stop at the first difference */
    unsigned threads;
    const tare_allocator *allocator;
    tare_progress_fn progress;
    void *progress_ctx;
    bool directory; /* read no values: tensors differ by name, shape and type, side files by size */
} tare_diff_options;

#define TARE_DIFF_OPTIONS_INIT                                                                     \
    { sizeof(tare_diff_options), 0, false, 0, NULL, NULL, NULL, false }

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
    uint64_t first_row, n_rows; /* n_rows 0: all from first_row on; rows run over all dims but the
                                   last */
    bool force;
    bool no_sync;
    tare_progress_fn progress;
    void *progress_ctx;
} tare_extract_options;

#define TARE_EXTRACT_OPTIONS_INIT                                                                  \
    { sizeof(tare_extract_options), 0, 0, false, false, NULL, NULL }

/* Writes one tensor to a file, atomically; path "-" writes to `fd` instead. */
TARE_API tare_status tare_extract(const char *path, int fd, const tare_model *model, size_t tensor,
                                  tare_extract_form form, const tare_extract_options *options,
                                  tare_error *err);

/* Writes adapters as files of their own, atomically: one pair with the tensors A and B where the
 * path ends in .safetensors (and the scale as text under "scale" in its header), else a PEFT
 * directory of all pairs that `use` names. Factors are F32: nothing of them is lost. ERR_ARG: no
 * such adapter, or a file for several pairs. */
TARE_API tare_status tare_adapters_write(const char *path, const tare_adapter_use *use,
                                         const tare_run_options *options, tare_error *err);

/* ---- bench ----------------------------------------------------------------------------------- */

typedef struct tare_bench_options {
    size_t size;
    bool is_full;     /* effort of the codec: the smallest form, not the fast one */
    bool is_whole;    /* all bytes, not a sample of each tensor */
    bool best_zstd;   /* also zstd -19, of the same bytes; samples are smaller then */
    unsigned threads; /* of the codec, 0: one; zstd and memcpy have one */
    const tare_allocator *allocator;
    tare_progress_fn progress;
    void *progress_ctx;
    const tare_model *const *bases; /* tensors that the first of them has alike are stored as what
                                       they differ in */
    size_t n_bases;
} tare_bench_options;

#define TARE_BENCH_OPTIONS_INIT                                                                    \
    { .size = sizeof(tare_bench_options) }

/* What a tensor, or several of them, become in a .wcodec, and how fast. Sizes of a tensor that was
 * sampled are what the sample comes to for the whole; zero-initialised is nothing. */
typedef struct tare_bench {
    uint64_t n_tensors;
    uint64_t bytes;         /* of the tensors, all planes */
    uint64_t sample_bytes;  /* of them measured; speeds are of these */
    double coded_bytes;     /* heads and segments of the codec */
    double entropy_bytes;   /* order-0 entropy of the values of the planes that are coded, of their
                               differences from a base where these have less: what no coder of
                               single values gets below */
    double zstd_bytes;      /* zstd -3 of the bytes as they lie in the file */
    double best_zstd_bytes; /* zstd -19; 0: not asked for */
    double coded_error, zstd_error, best_zstd_error; /* standard errors of these sizes, in bytes; 0:
                                                        all bytes were measured */
    double encode_seconds, decode_seconds, copy_seconds, zstd_seconds; /* copy: memcpy */
    uint64_t n_alike; /* tensors that a base has, too */
} tare_bench;

/* Measures each tensor into rows[n_tensors], one after the other: encodes it in memory as a .wcodec
 * holds it, decodes and compares it. Of a model of more than 512 MiB (with best_zstd: 32 MiB) a
 * sample is measured: the same share of each tensor, but at least 4 MiB (1 MiB), in 64 runs at
 * random places of equal parts. All sizes are of the same bytes. Memory: a few times 64 MiB.
 * CORRUPT: something else came back. */
TARE_API tare_status tare_bench_run(tare_bench *rows, const tare_model *model,
                                    const tare_bench_options *options, tare_error *err);
/* Adds a row to a sum. */
TARE_API void tare_bench_add(tare_bench *sum, const tare_bench *row);

/* ---- synth ----------------------------------------------------------------------------------- */

/* A deterministic model, computed while it is read: "SHAPE[:VALUES[:SEED]]" with SHAPE llama-tiny,
 * llama-44m, llama-300m, llama-1b, llama-8b and VALUES normal (default), t5, outliers, bf16. All
 * tensors F32 (bf16: BF16), Hugging Face names, config.json as a resource. One digest on every
 * system. */
TARE_API tare_status tare_synth_open(tare_model **out, const char *spec,
                                     const tare_open_options *options, tare_error *err);
/* Shape or value form i, for help texts; NULL beyond the end. Static. */
TARE_API const char *tare_synth_shape(size_t i);
TARE_API const char *tare_synth_values(size_t i);

/* ---- GGUF file names ------------------------------------------------------------------------- */

/* The parts of "Base-8x7B-FineTune-v0.1-Q4_0-LoRA-00001-of-00003.gguf". Empty: absent. */
typedef struct tare_gguf_name {
    tare_str sidecar; /* "mmproj", "mtp": a file beside a model */
    tare_str base_name;
    tare_str size_label;
    tare_str fine_tune;
    tare_str version; /* "v1.0" where the name has none: then is_version_assumed */
    tare_str encoding;
    tare_str type;  /* "LoRA", "vocab" */
    uint32_t shard; /* 1-based; 0: none */
    uint32_t n_shards;
    bool is_version_assumed;
} tare_gguf_name;

/* Parses a file name (no directory). The parts point into `name` (or at static text). False: it
 * does not follow the convention. */
TARE_API bool tare_gguf_name_parse(tare_gguf_name *out, tare_str name);
/* Writes the name for the parts, NUL-terminated, at most size - 1 bytes; returns the whole length.
 */
TARE_API size_t tare_gguf_name_format(char *buf, size_t size, const tare_gguf_name *name);
/* The parts as a model's metadata and tensors tell them; strings live as long as the model, or in
 * buf (at least 64 bytes) for those that are computed. */
TARE_API void tare_gguf_name_of_model(tare_gguf_name *out, char *buf, size_t size,
                                      const tare_model *model);

#ifdef __cplusplus
}
#endif
#endif
