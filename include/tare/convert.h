/* SPDX-License-Identifier: MIT
 *
 * tare/convert.h: convert a model into another container, with the same or other number formats.
 *
 * Threads: a plan does not change once it is made; any number of threads may use it at once.
 */
#ifndef TARE_CONVERT_H
#define TARE_CONVERT_H

#include <tare/base.h>
#include <tare/encoding.h>
#include <tare/importance.h>
#include <tare/model.h>
#include <tare/output.h>

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

TARE_DECLARE_INIT(tare_format_info)

/* Format i of the table; false beyond the end, or where out->size is not set. */
TARE_API bool tare_format_at(tare_format_info *out, size_t i);
/* The format that an output path's suffix stands for; NULL: none. Static. */
TARE_API const char *tare_format_of_path(const char *path);
/* Whether files of the named format can hold tensors of a number format as such. False if they are
 * carried under another one or not at all, and if there is no such format. */
TARE_API bool tare_format_holds(const char *format, const tare_encoding *encoding);

/* ---- mixes ----------------------------------------------------------------------------------- */

/* A named mix of number formats for the tensors of a model. Names, numbers and choices are
 * llama.cpp's. Static. */
typedef struct tare_mix {
    const char *name;          /* "Q4_K_M" */
    int32_t file_type;         /* its general.file_type; -1: COPY, the model's own */
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
    const tare_encoding *output;    /* of the output matrix; NULL: the mix's choice */
    const tare_encoding *embedding; /* of the token embeddings; NULL: the mix's choice */
    bool is_pure;                   /* the mix's type for every tensor, without exceptions */
    bool leave_output;              /* the output matrix stays as it is */
    bool allow_requantize;          /* tensors that are quantized already may change their type */
    bool is_of_rules; /* rules choose the types; the output is not named after `mix`, which stands
                         in where no rule matches: general.file_type is left out */
} tare_mix_options;

TARE_DECLARE_INIT(tare_mix_options)

/* ---- convert --------------------------------------------------------------------------------- */

/* One REGEX=TYPE rule: an expression (tare/experimental/pattern.h), matched anywhere in a tensor's name. */
typedef struct tare_type_rule {
    const char *pattern;
    const tare_encoding *encoding;
} tare_type_rule;

/* The error of encoding: a tensor's values compared with what it decodes to. */
typedef struct tare_tensor_error {
    double relative_rmse; /* ||a - b|| / ||a|| */
    double max_abs;       /* largest |a - b| */
} tare_tensor_error;

/* Called for tensor i of the plan after everything is written, in the plan's order, by the thread
 * that runs the plan. Tensors that are only copied are not measured. */
typedef void (*tare_measured_fn)(void *ctx, size_t i, const tare_tensor_error *error);

/* Options of one container each: tare/experimental/containers.h. */
struct tare_convert_mcf_options;
struct tare_convert_infq_options;
struct tare_convert_wcodec_options;
struct tare_adapter_use;             /* tare/experimental/adapter.h */
struct tare_llama_translate_options; /* tare/experimental/llama.h */

typedef struct tare_convert_options {
    size_t size;
    const tare_context *context; /* NULL: the defaults */
    /* NULL: the defaults. `force` also writes what llama.cpp would not run; `strict`: losses, NaN
     * and overflow are errors */
    const tare_output_options *output;
    const char *to;              /* format name; NULL: by the path's suffix */
    const tare_encoding *type;   /* every eligible tensor (two or more dimensions, float, not a
                                    norm); NULL: as they are */
    const tare_type_rule *rules; /* first match wins, before `type` */
    size_t n_rules;
    const tare_mix_options *mix; /* chooses the type of each tensor that no rule matches; excludes
                                    `type`. Rules then apply only to tensors that a mix may
                                    change */
    const tare_importance *importance; /* weighs the errors of encoders; must outlive the plan */
    const tare_metadata *overrides;    /* keys of the model to set: numbers, bools, texts */
    size_t n_overrides;
    const struct tare_adapter_use *merges; /* added to their tensors, in this order */
    size_t n_merges;
    tare_byte_order order;
    tare_quality quality;
    uint64_t shard_size; /* bytes of a whole file; 0: one file */
    uint32_t alignment;  /* 0: the source's where the format has one, else the format's default */
    bool keep_split;     /* as many files as the input has, with its tensors in each */
    bool opaque;         /* carry types that the target lacks as stored planes, do not decode */
    bool verify;         /* read the result back and compare */
    tare_measured_fn measured; /* if set, errors of encoding are measured and passed to it */
    void *measured_ctx;
    /* Options of one container each; NULL: its defaults. */
    const struct tare_convert_mcf_options *mcf;
    const struct tare_convert_infq_options *infq;
    const struct tare_convert_wcodec_options *wcodec;
    bool weighs_output; /* an output matrix without an entry in `importance` is weighed by what the
                           last layer reads (docs/behaviour.md, "Importance matrices"), as with
                           TARE_QUALITY_BEST. llama.cpp does not, so its bytes are others */
    /* Whose names tare_convert and tare_quantize give; of a plan only `keep_names` counts. NULL: the
     * defaults. Its context, `opaque` and `type` are not read: those above count */
    const struct tare_llama_translate_options *names;
} tare_convert_options;

TARE_DECLARE_INIT(tare_convert_options)

/* The error of a plan whose output would need other tensor names than its input has. */
#define TARE_CODE_NEEDS_NAMES "convert.needs-names"

/* What a conversion will do, before a byte is written. */
typedef struct tare_plan tare_plan;

typedef enum tare_tensor_action {
    TARE_ACTION_COPY = 0,     /* the bytes are copied (perhaps in the other byte order) */
    TARE_ACTION_STAND_IN = 1, /* the bytes are copied as another type or shape, on record */
    TARE_ACTION_ENCODE = 2,   /* through f32 into another encoding, or a scale made beside it */
    TARE_ACTION_LOSSY = 3,    /* the target lacks the encoding: decoded to F16 or F32 */
    TARE_ACTION_REPACK = 4,   /* the same codes and scales in the order of another encoding */
} tare_tensor_action;

typedef struct tare_plan_tensor {
    tare_str name;
    const tare_encoding *from;
    const tare_encoding *becomes; /* what the tensor is in the output */
    const tare_encoding *to; /* how it is stored: as `becomes`, or as the type that carries it */
    tare_tensor_action action;
    uint64_t from_bytes, to_bytes;
    uint32_t file; /* index of the output file */
    size_t source; /* index in the input model */
} tare_plan_tensor;

typedef struct tare_plan_summary {
    const char *format;
    size_t n_tensors, n_files;
    uint64_t read_bytes;  /* of tensors */
    uint64_t write_bytes; /* of all files; of a .wcodec before it is packed */
    bool is_identity;     /* same format, nothing changed: the same bytes */
    bool is_directory;
} tare_plan_summary;

/* Plans the conversion of `in` into `out_path` (NULL: it is written elsewhere, tare_plan_run_fd; `to`
 * must be set). Touches nothing on disk. UNSUPPORTED (TARE_CODE_NOT_RUNNABLE): the output is GGUF that
 * llama.cpp would not run, and the input is mapped (tare_llama_map) or a GGUF file that it runs; not
 * with `force`. UNSUPPORTED (TARE_CODE_NEEDS_NAMES): a Hugging Face model that becomes GGUF, or the
 * reverse, which tare_convert and tare_llama_translate give the names that it needs; not with
 * names->keep_names. `in` must outlive the plan. With `strict`, losses that are known by then are errors.
 * The plan keeps a copy of the context and the options that it needs to run: what they point to,
 * `importance` and the bases must outlive it, too. */
TARE_API tare_status tare_plan_new(tare_plan **out, const char *out_path, const tare_model *in,
                                   const tare_convert_options *options, tare_error *err);
TARE_API void tare_plan_free(tare_plan *plan);
TARE_API const tare_plan_summary *tare_plan_summarize(const tare_plan *plan);
/* What becomes of tensor i; NULL beyond the end. */
TARE_API const tare_plan_tensor *tare_plan_tensor_at(const tare_plan *plan, size_t i);
/* Output file i: its name relative to the output directory (or the path itself) and its size; NULL
 * beyond the end. */
TARE_API const tare_file_info *tare_plan_file_at(const tare_plan *plan, size_t i);
/* Whether the output can be written: the checks that tare_plan_run makes before it writes (it exists
 * and `force` is off, its directory is missing, there is no space). Changes nothing. */
TARE_API tare_status tare_plan_check(const tare_plan *plan, tare_error *err);

/* What was written. */
typedef struct tare_convert_result {
    size_t size;
    uint64_t written_bytes; /* of all files; of a dry run as the plan has them */
} tare_convert_result;

TARE_DECLARE_INIT(tare_convert_result)

/* Runs the plan. On failure nothing new has the final name, and an old file is untouched. The plan
 * does not change and may be run again. `out` may be NULL.
 * Memory: at most 64 MiB + 16 MiB for each thread, plus the directories. */
TARE_API tare_status tare_plan_run(tare_convert_result *out, const tare_plan *plan,
                                   tare_error *err);
/* Runs several plans of the same input together: each part of it is read for all outputs while it is
 * at hand, so that a large or remote model is passed over once. Each output gets its name when all
 * bytes of all of them are written; if that fails midway, those before have theirs. out[i] (`out` may
 * be NULL) is that of plan i. Threads, progress and a dry run are those of the first plan; memory is as for one.
 * UNSUPPORTED: a format that is packed. */
TARE_API tare_status tare_plans_run(tare_convert_result *out, const tare_plan *const *plans,
                                    size_t n, tare_error *err);
/* Writes it into an open file or pipe, for standard output; not atomic. One-file formats only. */
TARE_API tare_status tare_plan_run_fd(tare_convert_result *out, const tare_plan *plan, int fd,
                                      tare_error *err);

/* Writes it to an output of the caller's: formats of one file, whose size tare_plan_file_at tells, and
 * none that is packed (tare_pack_to). `verify` cannot be asked for. */
TARE_API tare_status tare_plan_run_to(tare_convert_result *out, const tare_plan *plan,
                                      const tare_output *output, tare_error *err);

/* Translates (tare_llama_translate: a Hugging Face model that becomes GGUF gets llama.cpp's names, keys and
 * tokenizer, and one of llama.cpp that becomes a directory those of Hugging Face), plans and runs. A file of
 * weights that was opened by itself is no Hugging Face model: open its directory, which the command takes in
 * its place; "convert.not-llama-cpp" is the finding that llama.cpp does not run the result.
 * Errors of all three. ERR_ARG: the output exists and `force` is off, or the output is the input. */
TARE_API tare_status tare_convert(const char *out_path, const tare_model *in,
                                  const tare_convert_options *options, tare_error *err);

/* The same with the mix of that name instead of options->mix->mix; the rest of options->mix applies,
 * and it may be NULL. ERR_ARG also: unknown mix; a tensor is quantized already and
 * `allow_requantize` is off; the mix needs an importance matrix. */
TARE_API tare_status tare_quantize(const char *out_path, const tare_model *in, tare_str mix,
                                   const tare_convert_options *options, tare_error *err);

#ifdef __cplusplus
}
#endif
#endif
