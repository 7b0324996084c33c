/* SPDX-License-Identifier: MIT
 *
 * tare/build.h: a model from memory: tensors, metadata and resources of a program become a model
 * that every verb takes, as if it had been opened: to convert, pack, compare, verify.
 *
 *     tare_build_tensor t = TARE_BUILD_TENSOR_INIT;
 *     t.name = name, t.encoding = tare_encoding_get(TARE_ENCODING_BF16);
 *     t.dims = dims, t.n_dims = 2, t.planes[0] = weights;
 *     tare_builder_new(&builder, NULL, &err);
 *     tare_builder_add_tensor(builder, &t, &err);
 *     tare_builder_finish(&model, builder, &err);
 *     tare_convert("out.safetensors", model, NULL, &err);
 *     tare_model_free(model);
 */
#ifndef TARE_BUILD_H
#define TARE_BUILD_H

#include <tare/base.h>
#include <tare/encoding.h>
#include <tare/model.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A model in the making. One thread at a time. After a call that failed it can only be freed. */
typedef struct tare_builder tare_builder;

typedef struct tare_build_options {
    size_t size;
    const tare_allocator *allocator; /* NULL: malloc */
    const tare_limits *limits;       /* NULL: the defaults */
    const char *name;                /* what messages call the model; NULL: "memory" */
} tare_build_options;

#define TARE_BUILD_OPTIONS_INIT                                                                    \
    { sizeof(tare_build_options), NULL, NULL, NULL }
TARE_API void tare_build_options_init(tare_build_options *options, size_t size);

/* Fills buf with bytes offset .. offset + n - 1 of a plane, or fails. Called from many threads,
 * perhaps several times for the same bytes, which must not change. */
typedef tare_status (*tare_plane_read_fn)(void *ctx, uint32_t plane, uint64_t offset, void *buf,
                                          size_t n);

/* A tensor. Its bytes are those of the encoding (tare_encoding_sizes), little-endian whatever the
 * machine, and are borrowed until tare_model_free; all else is copied. */
typedef struct tare_build_tensor {
    size_t size;
    tare_str name; /* not empty */
    const tare_encoding *encoding;
    const uint64_t *dims; /* outermost first */
    uint32_t n_dims;
    const void *planes[TARE_MAX_PLANES]; /* at any address; looked at where `read` is NULL */
    uint64_t list_bytes;                 /* of a plane of records (TARE_PLANE_LIST) */
    tare_plane_read_fn read;             /* bytes that are made when they are asked for */
    void *read_ctx;
} tare_build_tensor;

#define TARE_BUILD_TENSOR_INIT                                                                     \
    { sizeof(tare_build_tensor), {NULL, 0}, NULL, NULL, 0, {NULL, NULL, NULL, NULL}, 0, NULL, NULL }
TARE_API void tare_build_tensor_init(tare_build_tensor *tensor, size_t size);

TARE_API tare_status tare_builder_new(tare_builder **out, const tare_build_options *options,
                                      tare_error *err);
/* For a builder that is not finished. */
TARE_API void tare_builder_free(tare_builder *builder);

/* Adds a tensor behind those before it. ERR_ARG: no encoding, a plane without bytes, dimensions that
 * it cannot have; LIMIT. */
TARE_API tare_status tare_builder_add_tensor(tare_builder *builder, const tare_build_tensor *tensor,
                                             tare_error *err);
/* Adds a key; the value is copied. Numbers in `as` as tare_value says. An array has its elements in
 * stored form, little-endian (is_big_endian and has_short_lengths must be false): numbers one behind
 * the other, strings each behind its length as a u64. TARE_KEYS_SAFETENSORS takes strings. ERR_ARG:
 * an array whose elements do not fill its bytes, an unknown type. */
TARE_API tare_status tare_builder_add_key(tare_builder *builder, tare_key_space space, tare_str key,
                                          const tare_value *value, tare_error *err);
/* The same for an array of n strings. */
TARE_API tare_status tare_builder_add_strings(tare_builder *builder, tare_str key,
                                              const tare_str *strings, size_t n, tare_error *err);
/* Adds a side file; the bytes are copied. */
TARE_API tare_status tare_builder_add_resource(tare_builder *builder, tare_str name,
                                               const void *bytes, size_t n, tare_error *err);

/* Makes the model, which does not change any more, and frees the builder, also when it fails. A
 * record of stand-ins (tare.carried) among the keys is taken as when a file is opened. ERR_ARG: two
 * tensors, keys or resources of one name. */
TARE_API tare_status tare_builder_finish(tare_model **out, tare_builder *builder, tare_error *err);

#ifdef __cplusplus
}
#endif
#endif
