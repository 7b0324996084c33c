/* SPDX-License-Identifier: MIT
 *
 * tare/convert.h: a model into another container, with other number formats or the same ones.
 *
 * Threads: a plan does not change once it is made; any number of threads may use it at once.
 */
#ifndef TARE_CONVERT_H
#define TARE_CONVERT_H

#include <tare/adapter.h>
#include <tare/base.h>
#include <tare/encoding.h>
#include <tare/importance.h>
#include <tare/model.h>
#include <tare/output.h>
#include <tare/packing.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- formats --------------------------------------------------------------------------------- */

typedef struct tare_format_info {
    size_t size;
    const char *name;        /* what --to takes */
    const char *description; /* a few words */
    const char *suffix;      /* ".gguf"; "" for directories */
    bool can_write;
    bool is_directory;
} tare_format_info;

#define TARE_FORMAT_INFO_INIT                                                                      \
    { sizeof(tare_format_info), NULL, NULL, NULL, false, false }
TARE_API void tare_format_info_init(tare_format_info *info, size_t size);

/* Format i of the table; false beyond the end, or where out->size is not set. */
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
TARE_API void tare_mix_options_init(tare_mix_options *options, size_t size);

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

/* What only MCF understands; other formats refuse all but the defaults. */
typedef struct tare_convert_mcf_options {
    size_t size;
    tare_compat compat; /* encode as another program does, and write what it rewrites of resources
                           in its container; of the types that `type` and the rules ask for one at
                           least must be one of its */
    tare_dedup dedup;
    bool has_clip; /* bounds that values are held to before they are encoded; `type` or a rule must
                      ask for one of MCF's types */
    float clip_min, clip_max;
} tare_convert_mcf_options;

#define TARE_CONVERT_MCF_OPTIONS_INIT                                                              \
    { sizeof(tare_convert_mcf_options), TARE_COMPAT_NONE, TARE_DEDUP_TIED, false, 0, 0 }
TARE_API void tare_convert_mcf_options_init(tare_convert_mcf_options *options, size_t size);

/* What only INFQ understands; other formats refuse all but the defaults. */
typedef struct tare_convert_infq_options {
    size_t size;
    const tare_adapter_use *adapters; /* stored beside the tensors, under `name` */
    size_t n_adapters;
    /* Elements that are stored by themselves beside the codes of a tensor: those of a magnitude
     * above a threshold (0: 6, as its public converter; infinite: none), or a share of them, the
     * largest (0.001: one in a thousand; 0: by the threshold). Not both. */
    float outlier_threshold;
    double outlier_share;
} tare_convert_infq_options;

#define TARE_CONVERT_INFQ_OPTIONS_INIT                                                             \
    { sizeof(tare_convert_infq_options), NULL, 0, 0, 0 }
TARE_API void tare_convert_infq_options_init(tare_convert_infq_options *options, size_t size);

/* What only .wcodec understands, as in tare_pack_options; other formats refuse all but the
 * defaults. */
typedef struct tare_convert_wcodec_options {
    size_t size;
    tare_effort effort;
    const tare_model *const *bases; /* what the output is stored against, and needs to be read */
    const char *const *base_hints;
    size_t n_bases;
} tare_convert_wcodec_options;

#define TARE_CONVERT_WCODEC_OPTIONS_INIT                                                           \
    { sizeof(tare_convert_wcodec_options), TARE_EFFORT_FAST, NULL, NULL, 0 }
TARE_API void tare_convert_wcodec_options_init(tare_convert_wcodec_options *options, size_t size);

typedef struct tare_convert_options {
    size_t size;
    const char *to;              /* format name; NULL: by the path's suffix */
    const tare_encoding *type;   /* every eligible tensor (two or more dimensions, float, not a
                                    norm); NULL: as they are */
    const tare_type_rule *rules; /* first match wins, before `type` */
    size_t n_rules;
    const tare_mix_options *mix; /* chooses the type of every tensor that `rules` leave; not beside
                                    `type`. A rule then is for tensors only that a mix may touch */
    const tare_importance *importance; /* weighs the errors of encoders; must outlive the plan */
    const tare_metadata *overrides;    /* keys of the model to set: numbers, bools, texts */
    size_t n_overrides;
    const tare_adapter_use *merges; /* added to the tensors they are for, one after the other */
    size_t n_merges;
    tare_byte_order order;
    tare_quality quality;
    uint64_t shard_size; /* bytes of a whole file; 0: one file */
    uint32_t alignment;  /* 0: the source's where the format has one, else the format's default */
    bool keep_split;     /* as many files as the input has, with its tensors in each */
    bool opaque;         /* carry what the target lacks as stored planes, do not decode */
    bool verify;         /* read the result back and compare */
    bool force;          /* replace an existing output */
    bool strict;         /* a loss or an oddity is an error */
    bool no_sync;
    tare_measured_fn measured; /* what encoding loses is measured for it; NULL: it is not */
    void *measured_ctx;
    unsigned threads;          /* 0: what affinity and cgroup allow */
    tare_parallel_fn parallel; /* the caller's threads; NULL: some that live as long as the call */
    void *parallel_ctx;
    tare_progress_fn progress;
    void *progress_ctx;
    const tare_cancel *cancel; /* may be NULL */
    const tare_allocator *allocator;
    const tare_limits *limits;
    tare_report *report;
    /* What one container understands; NULL: its defaults. */
    const tare_convert_mcf_options *mcf;
    const tare_convert_infq_options *infq;
    const tare_convert_wcodec_options *wcodec;
} tare_convert_options;

#define TARE_CONVERT_OPTIONS_INIT                                                                  \
    {                                                                                              \
        sizeof(tare_convert_options), NULL, NULL, NULL, 0, NULL, NULL, NULL, 0, NULL, 0,           \
            TARE_ORDER_KEEP, TARE_QUALITY_DEFAULT, 0, 0, false, false, false, false, false, false, \
            NULL, NULL, 0, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL        \
    }
TARE_API void tare_convert_options_init(tare_convert_options *options, size_t size);

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
    uint64_t read_bytes; /* of tensors */
    uint64_t
        write_bytes;  /* of all files; of a .wcodec what goes into it: tare_plan_run knows more */
    bool is_identity; /* same format, nothing changed: the same bytes */
    bool is_directory;
} tare_plan_summary;

/* Plans the conversion of `in` into `out_path` ("-": no path; `to` must be set). Touches nothing
 * on disk. `in` must outlive the plan. With `strict`, losses that show already are errors. Of the
 * options the plan keeps what running it needs: threads, progress, cancel, report and `importance`
 * must outlive it, too, and so must the bases. */
TARE_API tare_status tare_plan_new(tare_plan **out, const char *out_path, const tare_model *in,
                                   const tare_convert_options *options, tare_error *err);
TARE_API void tare_plan_free(tare_plan *plan);
TARE_API const tare_plan_summary *tare_plan_summarize(const tare_plan *plan);
/* What becomes of tensor i; NULL beyond the end. */
TARE_API const tare_plan_tensor *tare_plan_tensor_at(const tare_plan *plan, size_t i);
/* Output file i: its name relative to the output directory (or the path itself) and its size; NULL
 * beyond the end. */
TARE_API const tare_file_info *tare_plan_file_at(const tare_plan *plan, size_t i);
/* Whether the output can be written where it is to be: what tare_plan_run finds out before it
 * writes (it exists and `force` is off, its directory is missing, there is no space). Changes
 * nothing. */
TARE_API tare_status tare_plan_check(const tare_plan *plan, tare_error *err);

/* What was written. */
typedef struct tare_convert_result {
    size_t size;
    uint64_t written_bytes; /* of all files */
} tare_convert_result;

#define TARE_CONVERT_RESULT_INIT                                                                   \
    { sizeof(tare_convert_result), 0 }
TARE_API void tare_convert_result_init(tare_convert_result *result, size_t size);

/* Writes it. On failure nothing new stands under the final name and an old file is whole. The plan
 * stays as it is and may be run again. `out` may be NULL.
 * Memory: at most 64 MiB + 16 MiB a thread, beside the directories. */
TARE_API tare_status tare_plan_run(tare_convert_result *out, const tare_plan *plan,
                                   tare_error *err);
/* Writes it into an open file or pipe, for standard output; not atomic. One-file formats only. */
TARE_API tare_status tare_plan_run_fd(tare_convert_result *out, const tare_plan *plan, int fd,
                                      tare_error *err);

/* Writes it to an output of the caller's: formats of one file, whose size tare_plan_file_at tells, and
 * none that is packed (tare_pack_to). `verify` cannot be asked for. */
TARE_API tare_status tare_plan_run_to(tare_convert_result *out, const tare_plan *plan,
                                      const tare_output *output, tare_error *err);

/* Plan and run. ERR_ARG: the output exists and `force` is off, or the output is the input. */
TARE_API tare_status tare_convert(const char *out_path, const tare_model *in,
                                  const tare_convert_options *options, tare_error *err);

/* The same with the mix of that name, whatever options->mix has; the rest of options->mix holds, it
 * may be NULL. ERR_ARG also: there is no such mix; a tensor is quantized already and
 * `allow_requantize` is off; the mix needs an importance matrix. */
TARE_API tare_status tare_quantize(const char *out_path, const tare_model *in, tare_str mix,
                                   const tare_convert_options *options, tare_error *err);

#ifdef __cplusplus
}
#endif
#endif
