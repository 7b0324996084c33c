/* SPDX-License-Identifier: MIT
 *
 * tare/model.h: an opened model is a catalog: metadata, tensors, resources. Opening reads the
 * directory and nothing else. Everything a getter returns is borrowed and lives until
 * tare_model_free.
 *
 * Threads: a model does not change once it is opened; any number of threads may use it at once.
 */
#ifndef TARE_MODEL_H
#define TARE_MODEL_H

#include <tare/base.h>
#include <tare/encoding.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct tare_model tare_model;

/* ---- sources --------------------------------------------------------------------------------- */

typedef enum tare_source_kind {
    TARE_SOURCE_PATH = 0,   /* name: a file or directory */
    TARE_SOURCE_MEMORY = 1, /* memory, n_bytes: borrowed until tare_model_free */
    TARE_SOURCE_FD = 2,     /* fd: borrowed, read with pread: its position stays, but on Windows */
    TARE_SOURCE_CALLBACK = 3,
    TARE_SOURCE_SHARDS = 4, /* shards, n_shards: the files of one model, in order */
    TARE_SOURCE_URL =
        5, /* name: https://, http:// or hf://; remote: see tare/experimental/remote.h */
    TARE_SOURCE_FOLDER = 6, /* shards, n_shards: the files of a directory, each with its name in it
                               ("config.json", "1_Pooling/config.json"), of any kind for one file */
} tare_source_kind;

/* Fills buf with exactly n bytes from byte `offset`, or fails. Called from many threads. */
typedef tare_status (*tare_read_fn)(void *ctx, uint64_t offset, void *buf, size_t n);

/* A range of a source, and where its bytes go. */
typedef struct tare_read_range {
    uint64_t offset;
    void *buf;
    size_t n;
} tare_read_range;

/* The same for several ranges, ascending and apart from each other, for sources where each call
 * costs a round trip. The library then reads in blocks of 1 MiB, which the files of a model keep in
 * 32 MiB of memory, and reads ahead up to 16 MiB of tensors that are read in order: few calls, with
 * long ranges. A failure may say more in *err, which is set up: `os_error`; `what`, a text that lives
 * as long as the model; `field`, any text, which comes before it; `offset`; `code`, static. The rest
 * is filled in. */
typedef tare_status (*tare_read_many_fn)(void *ctx, const tare_read_range *ranges, size_t n,
                                         tare_error *err);

/* Where a model comes from. What its kind does not ask for is not read. */
typedef struct tare_source {
    size_t size; /* sizeof(tare_source), set by the caller */
    tare_source_kind kind;
    const char *name; /* PATH: the path; else what messages call it, may be NULL */
    const void *memory;
    uint64_t n_bytes; /* MEMORY and CALLBACK */
    int fd;
    tare_read_fn read;
    void *read_ctx;
    const struct tare_source *shards; /* all of the same size */
    size_t n_shards;
    struct tare_remote *remote;  /* URL: the session it is opened through */
    tare_read_many_fn read_many; /* CALLBACK: instead of `read`, with the same read_ctx */
} tare_source;

TARE_DECLARE_INIT(tare_source)

struct tare_device;

typedef struct tare_open_options {
    size_t size;
    /* NULL: the defaults. Its report gets findings that do not prevent opening; its threads read
     * bases, and its progress is of their bytes */
    const tare_context *context;
    const char *format; /* read the input as this format, do not probe; may be NULL */
    tare_map_mode map;  /* map files, so that planes and resources can be borrowed */
    bool one_shard;     /* open a member of a shard set alone */
    /* Models that a .wcodec may have been packed against. The right ones are found by their digests,
     * so all of them are read; they must outlive the model. Other formats need none. A missing base
     * is reported ("wcodec.base"), and what does not refer to it can still be read, unless
     * needs_bases makes it an error: ERR_ARG (TARE_CODE_NEEDS_BASE). */
    const tare_model *const *bases;
    size_t n_bases; /* at most 255 */
    bool needs_bases;
    struct tare_device
        *device; /* tare/experimental/device.h: decodes the layers of a .wcodec; NULL: the CPU. Up
                                   to 512 MiB of decoded layers, or one if it has more, are kept */
    bool
        stored; /* the tensors as they lie in the files: of packed weights (GPTQ, AWQ, FP8 with scales,
                    ...) the codes, scales and zero points, not the weights */
} tare_open_options;

TARE_DECLARE_INIT(tare_open_options)

/* Opens a model. The format is found by content. Any member of a shard set opens the whole set.
 * Errors: any status; err->offset and err->item say where. Time is linear in the directory. */
TARE_API tare_status tare_model_open(tare_model **out, const tare_source *source,
                                     const tare_open_options *options, tare_error *err);
/* The short form for a path. */
TARE_API tare_status tare_open_path(tare_model **out, const char *path,
                                    const tare_open_options *options, tare_error *err);
TARE_API void tare_model_free(tare_model *model);

/* The model as its files have it: the parts of packed weights, not these. The same one where it has
 * none; it lives as long as `model`. */
TARE_API const tare_model *tare_model_as_stored(const tare_model *model);

/* ---- the whole ------------------------------------------------------------------------------- */

typedef struct tare_model_summary {
    const char *format; /* "gguf", "safetensors", "hf" */
    uint32_t version;   /* of the format; 0 where it has none */
    bool is_big_endian; /* byte order of the tensors in the files */
    bool is_truncated;  /* data of some tensor lies beyond the end of its file */
    uint32_t alignment; /* of tensor data; 1 if the format requires none */
    size_t n_tensors, n_metadata, n_resources, n_files;
    uint64_t n_parameters;    /* elements of all tensors */
    uint64_t file_bytes;      /* all files together */
    uint64_t tensor_bytes;    /* all planes of all tensors */
    uint64_t directory_bytes; /* read and parsed by opening */
    bool has_pairs;           /* of a safetensors __metadata__; also true where that is empty */
} tare_model_summary;

/* O(1). */
TARE_API const tare_model_summary *tare_model_summarize(const tare_model *model);

/* One file of the model. The name is the path it was opened by, or the source's name. */
typedef struct tare_file_info {
    const char *name;
    uint64_t size;
} tare_file_info;

/* File i; NULL beyond the end. */
TARE_API const tare_file_info *tare_model_file(const tare_model *model, size_t i);

/* ---- metadata -------------------------------------------------------------------------------- */

/* Numbers are those of GGUF. */
typedef enum tare_value_type {
    TARE_VALUE_U8 = 0,
    TARE_VALUE_I8 = 1,
    TARE_VALUE_U16 = 2,
    TARE_VALUE_I16 = 3,
    TARE_VALUE_U32 = 4,
    TARE_VALUE_I32 = 5,
    TARE_VALUE_F32 = 6,
    TARE_VALUE_BOOL = 7,
    TARE_VALUE_STRING = 8,
    TARE_VALUE_ARRAY = 9,
    TARE_VALUE_U64 = 10,
    TARE_VALUE_I64 = 11,
    TARE_VALUE_F64 = 12,
} tare_value_type;

/* An array in its stored form, checked when the model was opened; nothing is allocated for its
 * elements. Walk it with tare_array_begin / tare_array_next. */
typedef struct tare_array {
    tare_value_type type; /* of the elements; ARRAY: nested */
    uint64_t count;
    const uint8_t *bytes;
    uint64_t size_bytes;
    bool is_big_endian;
    bool has_short_lengths; /* lengths and counts are u32 (GGUF v1) */
} tare_array;

typedef struct tare_value {
    tare_value_type type;
    union {
        uint64_t u; /* U8 U16 U32 U64, BOOL (raw byte: 0 and 1 are legal) */
        int64_t i;  /* I8 I16 I32 I64 */
        double f;   /* F32 F64 */
        tare_str s; /* STRING */
        tare_array a;
    } as;
} tare_value;

/* Which list a key belongs to, in containers with more than one kind. */
typedef enum tare_key_space {
    TARE_KEYS_MODEL = 0,       /* typed keys of the model: GGUF's */
    TARE_KEYS_SAFETENSORS = 1, /* string pairs of a safetensors __metadata__ */
} tare_key_space;

typedef struct tare_metadata {
    tare_str key;
    tare_value value;
    tare_key_space space;
    uint64_t offset; /* of the key's record in its file; TARE_NO_OFFSET: none */
} tare_metadata;

/* Entry i in the file's order; NULL beyond the end. */
TARE_API const tare_metadata *tare_model_metadata(const tare_model *model, size_t i);
/* The index of a key, -1 if there is none. Any space; MODEL keys first. O(1). */
TARE_API int64_t tare_model_find_key(const tare_model *model, tare_str key);

typedef struct tare_array_walk {
    tare_array array;
    uint64_t index;
    uint64_t position; /* bytes into the array */
} tare_array_walk;

TARE_API void tare_array_begin(tare_array_walk *walk, const tare_array *array);
/* The next element; false at the end. */
TARE_API bool tare_array_next(tare_value *out, tare_array_walk *walk);

/* A number as u64: any unsigned type, a signed one that is not negative, or a BOOL. */
TARE_API bool tare_value_u64(uint64_t *out, const tare_value *value);
/* A number as double: any numeric type. */
TARE_API bool tare_value_f64(double *out, const tare_value *value);

/* Hyperparameters of language models, independent of the names of their keys. */
typedef enum tare_param {
    TARE_PARAM_VOCAB_SIZE = 0,
    TARE_PARAM_CONTEXT_LENGTH = 1,
    TARE_PARAM_EMBEDDING_LENGTH = 2,
    TARE_PARAM_HEAD_COUNT = 3,
    TARE_PARAM_HEAD_COUNT_KV = 4,
    TARE_PARAM_LAYER_COUNT = 5,
    TARE_PARAM_FEED_FORWARD_LENGTH = 6,
    TARE_PARAM_KEY_LENGTH = 7,   /* of one head */
    TARE_PARAM_VALUE_LENGTH = 8, /* of one head */
    TARE_PARAM_KV_LORA_RANK = 9, /* latent attention: numbers that keys and values are made of */
    TARE_PARAM_ROPE_LENGTH = 10, /* of a head, how many numbers are rotated */
    TARE_PARAM_COUNT = 11,
} tare_param;

/* Looks, in this order: "ARCH.key" with ARCH from general.architecture, the literal "llm.key",
 * a length (vocabulary: tokenizer.ggml.tokens), config.json of a Hugging Face directory. If a
 * key holds an array (one number for each layer), the largest counts. HEAD_COUNT_KV defaults to
 * HEAD_COUNT. False: not known. */
TARE_API bool tare_model_param(uint64_t *out, const tare_model *model, tare_param param);
/* general.architecture, or model_type of config.json; empty: not known. */
TARE_API tare_str tare_model_architecture(const tare_model *model);

/* ---- tensors --------------------------------------------------------------------------------- */

typedef struct tare_plane {
    uint32_t file;   /* index of the file it lies in */
    uint64_t offset; /* absolute */
    uint64_t size;   /* bytes */
} tare_plane;

typedef struct tare_tensor {
    tare_str name;
    const tare_encoding *encoding; /* never NULL; id UNKNOWN: see native_type */
    uint32_t native_type;          /* the file's own number of the type */
    uint32_t n_dims;
    const uint64_t *dims; /* outermost first: the last one is the row, the fastest */
    uint64_t n_elements;
    uint64_t n_rows; /* product of all dims but the last; a scalar has 1 row of 1 */
    uint64_t cols;
    uint64_t size_bytes;      /* all planes */
    const tare_plane *planes; /* encoding->n_planes of them; UNKNOWN has one */
    uint64_t offset;          /* of the tensor's record in the directory; TARE_NO_OFFSET: none */
} tare_tensor;

/* Tensor i in the directory's order; NULL beyond the end. */
TARE_API const tare_tensor *tare_model_tensor(const tare_model *model, size_t i);
/* The index of a tensor by its whole name, -1 if there is none. O(1). */
TARE_API int64_t tare_model_find_tensor(const tare_model *model, tare_str name);
/* The bytes that a tensor takes in the model's files: of a packed weight, those of all its parts. */
TARE_API uint64_t tare_tensor_stored_bytes(const tare_model *model, size_t tensor);
/* Whether a tensor of one model has a namesake in the other; also where one has no tensors. */
TARE_API bool tare_model_shares_names(const tare_model *a, const tare_model *b);

/* Reads n stored bytes of one plane from byte `offset` of it, in little-endian order whatever the
 * file's. On a big-endian file offset and n must be whole units of the plane. */
TARE_API tare_status tare_tensor_read(void *buf, const tare_model *model, size_t tensor,
                                      uint32_t plane, uint64_t offset, size_t n, tare_error *err);
/* Points at the stored bytes of one plane, without a copy. Needs a MEMORY source or a file that
 * options.map has mapped, in little-endian order, and all bytes there; else TARE_ERR_UNSUPPORTED or
 * TARE_ERR_TRUNCATED: read them instead. The address is a multiple of `alignment` (a power of two; 0
 * and 1: any); if the bytes are not aligned so, UNSUPPORTED with TARE_CODE_NOT_ALIGNED. Maps begin at
 * pages, MEMORY sources where the caller put them; most formats align tensors to 32 bytes,
 * safetensors to the size of an element at best. */
TARE_API tare_status tare_tensor_borrow(const uint8_t **out, const tare_model *model, size_t tensor,
                                        uint32_t plane, size_t alignment, tare_error *err);
/* The same, writable, for a model opened with TARE_MAP_PRIVATE; else UNSUPPORTED. All borrowers see
 * what is written, but calls that read still read the file. Threads: the caller synchronises
 * writers. */
TARE_API tare_status tare_tensor_borrow_mut(uint8_t **out, const tare_model *model, size_t tensor,
                                            uint32_t plane, size_t alignment, tare_error *err);
/* Where the stored bytes of one plane are, for callers who read files themselves: `file` is an index
 * for tare_model_file. False: no file holds them as tare_tensor_read gives them (they are packed,
 * computed, in the other byte order, or truncated). */
TARE_API bool tare_tensor_place(tare_plane *out, const tare_model *model, size_t tensor,
                                uint32_t plane);
/* Decodes rows [first, first + n) to n * cols floats. Allocates a bounded scratch buffer. */
TARE_API tare_status tare_tensor_rows_f32(float *out, const tare_model *model, size_t tensor,
                                          uint64_t first, uint64_t n, tare_error *err);
/* The same as floats, or as numbers of 16 bits: `as` is F32, F16 or BF16. Rounded once, after
 * scales and outliers, as tare_decode_rows_as does; what is stored as `as` passes unchanged. */
TARE_API tare_status tare_tensor_rows_as(void *out, tare_encoding_id as, const tare_model *model,
                                         size_t tensor, uint64_t first, uint64_t n,
                                         tare_error *err);
/* Whether rows_f32 and rows_as can work: the encoding can be decoded, and the tensor does not hold
 * packed codes of a scheme (GPTQ, AWQ, NVFP4 pairs) whose scales are in another tensor. */
TARE_API bool tare_tensor_can_decode(const tare_model *model, size_t tensor);
/* The name of the scheme that a weight is packed by ("gptq"), or of the role that a part of one has
 * ("gptq codes", "fp8 block scales"); NULL for an ordinary tensor. Static. */
TARE_API const char *tare_tensor_scheme(const tare_model *model, size_t tensor);

/* ---- resources ------------------------------------------------------------------------------- */

/* A small file that belongs to the model: config.json, tokenizer.json, ... */
typedef struct tare_resource {
    tare_str name;
    uint64_t size;
} tare_resource;

TARE_API const tare_resource *tare_model_resource(const tare_model *model, size_t i);
TARE_API int64_t tare_model_find_resource(const tare_model *model, tare_str name);
/* Reads n bytes from byte `offset`. */
TARE_API tare_status tare_resource_read(void *buf, const tare_model *model, size_t resource,
                                        uint64_t offset, size_t n, tare_error *err);
/* Its bytes without a copy, and where a file holds them: as for tensors. Resources that opening
 * creates (from the directory of a file) can be borrowed from any source and are in no file. */
TARE_API tare_status tare_resource_borrow(const uint8_t **out, const tare_model *model,
                                          size_t resource, size_t alignment, tare_error *err);
TARE_API bool tare_resource_place(tare_plane *out, const tare_model *model, size_t resource);

#ifdef __cplusplus
}
#endif
#endif
