/* SPDX-License-Identifier: MIT
 *
 * tare/experimental/unpack.h: the files that a .wcodec was packed from, unchanged.
 */
#ifndef TARE_EXPERIMENTAL_UNPACK_H
#define TARE_EXPERIMENTAL_UNPACK_H

#include <tare/base.h>
#include <tare/experimental/wcodec.h>
#include <tare/model.h>
#include <tare/output.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct tare_unpack_options {
    size_t size;
    /* NULL: the defaults. Progress is of the files' bytes; then, if digests of coarse tensors have
     * to be updated, of those tensors' */
    const tare_context *context;
    /* NULL: the defaults; `strict`, with `is_coarse`: a tensor that cannot be coarse is an error;
     * `dry_run`: only with `salvage` is anything decoded, and `n_coarse` and `n_whole` stay 0 */
    const tare_output_options *output;
    bool salvage;    /* damaged segments become zeros, and each is reported; a container that lost
                        its header, its footer or a part of its index is read as far as possible */
    bool is_coarse;  /* read only the first bits of real numbers; damage is not detected then, so
                        not with `salvage` */
    unsigned groups; /* with `is_coarse`: groups of uncoded bits to read */
    const tare_model *const *bases; /* models that this one may have been packed against */
    size_t n_bases;
    struct tare_device *device; /* as in tare_open_options; not used with `is_coarse` */
    const char *file; /* the only one to unpack, by its name; NULL: all. Not with `salvage`, nor
                         `is_coarse` */
} tare_unpack_options;

TARE_DECLARE_INIT(tare_unpack_options)

typedef struct tare_unpack_result {
    size_t size;
    bool is_directory;
    size_t n_files;
    uint64_t n_bytes;         /* of the files */
    uint64_t packed_bytes;    /* of the container */
    size_t n_lost;            /* damaged segments */
    size_t n_coarse, n_whole; /* with `is_coarse`: tensors of which bits are missing, and not */
    size_t n_tensors_damaged; /* with `salvage`: tensors with segments that were damaged */
    size_t n_files_lost;      /* with `salvage`: files of which the index does not tell any more */
    bool is_unchecked;        /* with `salvage`: no CRC vouches for the index */
} tare_unpack_result;

TARE_DECLARE_INIT(tare_unpack_result)

/* Writes the files of a container to `out_path`: the one file it was packed from, or a directory.
 * What is written appears only when it is complete. *out may be NULL. ERR_ARG: the container holds
 * no files (tare_convert makes one from it), the output exists or would replace the container or a
 * base, a base model is missing or the wrong one; ERR_UNSUPPORTED: `is_coarse` and no tensor can be.
 * What is reported: "unpack.lost" (of a tensor: offset of the segment), "unpack.whole",
 * "wcodec.base"; of a damaged directory "unpack.directory", "unpack.files-lost", "wcodec.layer"; and
 * "unpack.not-whole" where what was written is not all that was packed. Memory, beside the directory: at most 64 MiB + 16 MiB a thread, or some segments a
 * thread (up to 64 MiB each, in files of other encoders) if that is more. */
TARE_API tare_status tare_unpack(tare_unpack_result *out, const char *out_path,
                                 const tare_source *in, const tare_unpack_options *options,
                                 tare_error *err);
/* The same into a descriptor, for a container that holds one file; in order, by one thread. */
TARE_API tare_status tare_unpack_fd(tare_unpack_result *out, int fd, const tare_source *in,
                                    const tare_unpack_options *options, tare_error *err);
/* The same to an output of the caller's, with several threads unless it is `in_order`. */
TARE_API tare_status tare_unpack_to(tare_unpack_result *out, const tare_output *output,
                                    const tare_source *in, const tare_unpack_options *options,
                                    tare_error *err);

/* About the .wcodec itself; the model's own functions describe what is packed in it. */
typedef struct tare_container_info {
    size_t size;
    uint32_t major_version, minor_version;
    const char *format; /* of its files, "gguf"; NULL: it has no files, or none of a known format */
    uint32_t format_version; /* of these; 0 where the format has none */
    uint64_t packed_bytes;   /* of the container */
    /* Of its files; without files, of all that it holds; if it was packed with loss, of tensors as
     * they are opened and side files. */
    uint64_t unpacked_bytes;
    bool is_directory; /* unpacking gives a directory */
    size_t n_files, n_bases;
    bool is_for_gpu; /* long tensors are in segments as short as tare_pack_options.is_for_gpu makes
                        them */
    size_t n_layers;
} tare_container_info;

TARE_DECLARE_INIT(tare_container_info)

/* A model it was packed against. */
typedef struct tare_container_base {
    size_t size;
    tare_str name; /* what its file was called */
    uint8_t digest[32];
    size_t n_tensors; /* that may refer to it */
} tare_container_base;

TARE_DECLARE_INIT(tare_container_base)

/* false: the model was not opened from a .wcodec. Time is linear in its layers. */
TARE_API bool tare_model_container(tare_container_info *out, const tare_model *model);
/* Base i of the container; false beyond the last. */
TARE_API bool tare_model_container_base(tare_container_base *out, const tare_model *model,
                                        size_t i);
/* What a layer holds. */
typedef enum tare_layer_kind {
    TARE_LAYER_TENSOR = 0,
    TARE_LAYER_BYTES = 1,    /* those of a file that no tensor has */
    TARE_LAYER_METADATA = 2, /* of a model that was packed without files */
    TARE_LAYER_RESOURCE = 3, /* the same */
} tare_layer_kind;

typedef struct tare_container_layer {
    size_t size;
    tare_layer_kind kind;
    tare_str name;                 /* of the tensor, file or resource */
    const tare_encoding *encoding; /* of a tensor; NULL: none, or not known */
    uint32_t n_dims;
    const uint64_t *dims; /* outermost first */
    bool is_big_endian;
    uint64_t from_bytes; /* decoded */
    uint64_t to_bytes;   /* in the container; layers with equal bytes share them */
    unsigned base;       /* 1 + the index of the base that segments may refer to; 0: none */
} tare_container_layer;

TARE_DECLARE_INIT(tare_container_layer)

/* Layer i of the container, in the order of its index; false beyond the last. */
TARE_API bool tare_model_container_layer(tare_container_layer *out, const tare_model *model,
                                         size_t i);

/* A file that unpacking gives. */
typedef struct tare_container_file {
    size_t size;
    tare_str name;
    uint64_t size_bytes;
    /* In the container: of its tensors, but those whose bytes a tensor before has, and of what
     * else only it has. */
    uint64_t packed_bytes;
    size_t n_tensors, n_derived; /* of these: made of others when they are read, or
                                    stored as others */
    uint64_t n_weights, tensor_bytes;
} tare_container_file;

TARE_DECLARE_INIT(tare_container_file)

/* File i of the container, links and folders among them; false beyond the last. Time is linear in the
 * layers. */
TARE_API bool tare_model_container_file(tare_container_file *out, const tare_model *model,
                                        size_t i);

/* Bytes that a tensor takes in the container (tensors with equal bytes share them); false: it has
 * no layer of its own. */
TARE_API bool tare_tensor_packed_bytes(uint64_t *out, const tare_model *model, size_t tensor);

/* Where the decoded bytes of a plane of a tensor are: in a region of its layer, from `offset` on. */
typedef struct tare_coded_place {
    unsigned region;
    uint64_t offset;
} tare_coded_place;

/* The layer that stores a tensor of an open .wcodec. Only its heads are read and parsed. places[p], one for each plane of the tensor's encoding, may be NULL. The layer needs a base
 * where tare_coded_describe says so; without it (TARE_CODE_NEEDS_BASE) segments that refer to it
 * can be parsed but not decoded. The model must outlive *out; of `options` the allocator counts,
 * and may be NULL. Free with tare_coded_free. ERR_ARG: the model is not a .wcodec; UNSUPPORTED: the
 * tensor has no layer of its own; CORRUPT, LIMIT, IO: err->offset is the place in the file. */
TARE_API tare_status tare_tensor_coded(tare_coded **out, tare_coded_place *places,
                                       const tare_model *model, size_t tensor,
                                       const tare_coded_options *options, tare_error *err);

/* The same for layer i of the container, whatever it holds. ERR_ARG: there is no such layer. */
TARE_API tare_status tare_model_layer_coded(tare_coded **out, const tare_model *model, size_t i,
                                            const tare_coded_options *options, tare_error *err);

#ifdef __cplusplus
}
#endif
#endif
