/* SPDX-License-Identifier: MIT
 *
 * tare/experimental/packing.h: compression of models. A .wcodec holds the tensors of a model in compressed
 * pieces, and everything needed to restore its files byte for byte; unless loss is asked for
 * (tare_pack_options.lossy), when matrices become the numbers that fit a size best.
 */
#ifndef TARE_EXPERIMENTAL_PACKING_H
#define TARE_EXPERIMENTAL_PACKING_H

#include <tare/base.h>
#include <tare/encoding.h>
#include <tare/experimental/wcodec.h>
#include <tare/importance.h>
#include <tare/model.h>
#include <tare/output.h>

#ifdef __cplusplus
extern "C" {
#endif

/* How hard an encoder tries. */
typedef enum tare_effort {
    TARE_EFFORT_FAST = 0,
    TARE_EFFORT_FULL = 1, /* also tiles, classes of values, the highest level of zstd */
} tare_effort;

/* The result for one layer: a tensor, or other content of a file. */
typedef struct tare_packed_layer {
    tare_str name;
    const tare_encoding *encoding; /* NULL: no tensor; with loss, what the steps are stored as */
    uint64_t from_bytes, to_bytes; /* in the model that is packed, in the output */
    bool is_shared;                /* an earlier layer has the same bytes: to_bytes is 0 */
} tare_packed_layer;

/* Called for each layer in the order of the file, after everything is written, by the calling
 * thread. */
typedef void (*tare_packed_fn)(void *ctx, const tare_packed_layer *layer);

/* Packing with loss: exactly one target, the others 0. A size that cannot be met is ERR_ARG,
 * TARE_CODE_TARGET_TOO_SMALL. */
typedef struct tare_lossy_options {
    size_t size;
    /* What the output takes, which is never more and at most 1 % less: bytes of all of it, or bits
     * of its tensors for each weight of the model. */
    uint64_t target_bytes;
    double target_bpw;
    double target_damage; /* the sum of relative errors, each times what it matters; never more */
    /* How much each column matters; NULL: all the same. */
    const tare_importance *importance;
    tare_str sensitivities; /* measured, as tare_fit_options has them; len 0: none */
} tare_lossy_options;

TARE_DECLARE_INIT(tare_lossy_options)

typedef struct tare_pack_options {
    size_t size;
    /* NULL: the defaults. Progress is of the bytes read: twice those of the model. With
     * `directory`, findings of opening about files that are not part of the model are
     * removed from the report, as they are packed or reported here */
    const tare_context *context;
    /* NULL: the defaults; `strict`: a file that is left out is an error; `dry_run`, with loss: sizes and
     * damage are estimates, and `packed` is called for the tensors that may lose something */
    const tare_output_options *output;
    tare_effort effort;
    tare_coded_mode mode;  /* for every segment that allows it; for tests */
    unsigned log2_segment; /* values of a segment, 14 to 26 (at most 64 MiB); 0: automatic */
    const char *directory; /* pack all that lies in this directory, which the model was opened
                              from, and in the folders in it: files, symbolic links (as links
                              where they stay inside, else their contents), permissions and
                              times; not what is named .git or .cache. NULL: the files that the
                              model consists of */
    /* With `directory`: shell patterns of what is not packed. One without a slash matches names of
     * files and folders anywhere, one with a slash matches paths from the directory on; a trailing
     * slash restricts it to folders. ERR_ARG: it excludes the weights, or there is no `directory`,
     * of which packing with loss takes no notice. */
    const char *const *exclude;
    size_t n_exclude;
    /* Similar models, at most 255: a tensor is stored as its difference from the tensor of the same
     * name, type and shape in the first of them that has one. */
    const tare_model *const *bases;
    const char *const *base_hints; /* their names in messages about a missing base; may be NULL */
    size_t n_bases;
    tare_packed_fn packed;
    void *packed_ctx;
    bool is_for_gpu; /* tensors in shorter segments, without STRUCTURED and ZSTD, for decoders on
                        GPUs; 0.1 to 0.8 % larger */
    tare_tile_limits tiles; /* of STRUCTURED segments, which are tried at full effort */
    /* NULL: without loss. Else matrices lose something, as little as the target allows; norms,
     * vectors and what is small do not. What is written holds the model, not its files. Not with
     * bases, nor a mode, nor tare_pack_to. ERR_ARG: a target that cannot be met. */
    const tare_lossy_options *lossy;
} tare_pack_options;

TARE_DECLARE_INIT(tare_pack_options)

typedef struct tare_pack_summary {
    size_t size;
    size_t n_files, n_tensors; /* links and empty folders are files here */
    size_t n_shared;           /* tensors stored with another of the same bytes */
    size_t n_referring;        /* tensors that need a base */
    uint64_t from_bytes;       /* of all files */
    uint64_t to_bytes;
    size_t n_lossy;         /* tensors that have lost something; from_bytes are those of tensors,
                               metadata and side files then (in a dry
                               run without metadata) */
    double bits_per_weight; /* with loss: that tensors take */
    double damage;          /* with loss: of all tensors, as predicted */
} tare_pack_summary;

TARE_DECLARE_INIT(tare_pack_summary)

/* Packs the files of a model into one .wcodec, which appears whole or not at all; of a model from
 * memory or computed, which has none, its tensors, metadata and resources. The same model and
 * options give the same bytes, at any number of threads. `out` may be NULL. ERR_ARG: the output
 * exists and `force` is off, or it is the input or a base; TRUNCATED: bytes of a tensor are
 * missing. Memory: a few segments a thread and what the directory takes. */
TARE_API tare_status tare_pack(tare_pack_summary *out, const char *out_path, const tare_model *in,
                               const tare_pack_options *options, tare_error *err);
/* The same to an output of the caller's, which must not be `in_order`: the header is written last.
 * The size is known when all is written: summary.to_bytes. */
TARE_API tare_status tare_pack_to(tare_pack_summary *out, const tare_output *output,
                                  const tare_model *in, const tare_pack_options *options,
                                  tare_error *err);

/* How many models lie in a folder and in its folders: GGUF files, of a set of shards the first, and all
 * safetensors together. */
TARE_API tare_status tare_count_models(size_t *out, const char *folder, tare_error *err);
/* Packs a folder with several models, or none: every file in it, as a directory is packed, tensors of GGUF,
 * safetensors and PyTorch's files as what they are. A tensor that an
 * encoder makes of the tensor of the same name in a larger model there, with or without one of the
 * importance matrices there (files with "imatrix" in their names), is not stored, but made when it is
 * read, exactly: blocks that differ are stored. Reports per file "pack.derived" and "pack.not-derived".
 * Of `options` neither bases nor `lossy`. Errors as of tare_pack. */
TARE_API tare_status tare_pack_ladder(tare_pack_summary *out, const char *out_path,
                                      const char *folder, const tare_pack_options *options,
                                      tare_error *err);

/* Adds a file, or all files of a folder, to a container that was packed without loss and without bases, and
 * replaces it when the new one is complete: the same bytes as packing all of them together as a ladder.
 * What is read of the container is decoded. Of `options` neither bases, `lossy`, `directory` nor `force`.
 * ERR_UNSUPPORTED: it has a file of the same name. */
TARE_API tare_status tare_pack_add(tare_pack_summary *out, const char *container, const char *path,
                                   const tare_pack_options *options, tare_error *err);

/* How a model was packed with loss. Strings live as long as the model. */
typedef struct tare_lossy_info {
    size_t size;
    double bits_per_weight; /* that tensors take */
    double target_bpw;      /* what was asked for, of these three */
    uint64_t target_bytes;
    double target_damage;
    double lambda;    /* what a bit was worth, in squared distances between values */
    double damage;    /* as predicted */
    size_t n_tensors; /* that have lost something */
    bool is_weighted; /* an importance matrix was used */
    tare_str method;
    tare_str container; /* the format that was packed, "gguf" */
    uint8_t source[32]; /* its model digest */
} tare_lossy_info;

TARE_DECLARE_INIT(tare_lossy_info)
/* false: the model was not packed with loss, as far as its file tells. */
TARE_API bool tare_model_lossy(tare_lossy_info *out, const tare_model *model);

#ifdef __cplusplus
}
#endif
#endif
