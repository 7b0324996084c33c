/* SPDX-License-Identifier: MIT
 *
 * tare/build.h: builds a model in memory. A program's tensors, metadata and resources become a
 * model that every verb accepts as if it had been opened: it can be converted, packed, compared or
 * verified.
 *
 *     tare_build_tensor t = tare_build_tensor_default();
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

/* A model under construction, to be used by one thread at a time. After a failed call it can only
 * be freed. */
typedef struct tare_builder tare_builder;

typedef struct tare_build_options {
    size_t size;
    const tare_context *context; /* NULL: the defaults */
    const char *name;            /* what messages call the model; NULL: "memory" */
    bool has_pairs;              /* a safetensors __metadata__, even if no pair is added */
} tare_build_options;

TARE_DECLARE_INIT(tare_build_options)

/* Fills buf with bytes offset .. offset + n - 1 of a plane, or fails. Called from many threads,
 * possibly several times for the same bytes, which must be the same each time. */
typedef tare_status (*tare_plane_read_fn)(void *ctx, uint32_t plane, uint64_t offset, void *buf,
                                          size_t n);

/* A tensor. Its bytes have the layout of the encoding (tare_encoding_sizes), little-endian on every
 * machine, and are borrowed until tare_model_free; everything else is copied. */
typedef struct tare_build_tensor {
    size_t size;
    tare_str name; /* may be empty, where the container that is written knows such names */
    const tare_encoding *encoding;
    const uint64_t *dims; /* outermost first */
    uint32_t n_dims;
    const void *planes[TARE_MAX_PLANES]; /* of any alignment; used if `read` is NULL */
    uint64_t list_bytes;                 /* of a plane of records (TARE_PLANE_LIST) */
    tare_plane_read_fn read;             /* for bytes that are produced on demand */
    void *read_ctx;
} tare_build_tensor;

TARE_DECLARE_INIT(tare_build_tensor)

TARE_API tare_status tare_builder_new(tare_builder **out, const tare_build_options *options,
                                      tare_error *err);
/* Only for a builder that was not finished. */
TARE_API void tare_builder_free(tare_builder *builder);

/* Appends a tensor. ERR_ARG: no encoding, a plane without bytes, dimensions that the encoding does
 * not allow; LIMIT. */
TARE_API tare_status tare_builder_add_tensor(tare_builder *builder, const tare_build_tensor *tensor,
                                             tare_error *err);
/* Adds a key; the value is copied. Numbers are in `as`, as described for tare_value. The elements
 * of an array are in stored form, little-endian (is_big_endian and has_short_lengths must be
 * false): numbers back to back, each string preceded by its length as a u64. TARE_KEYS_SAFETENSORS
 * takes only strings. ERR_ARG: an array whose elements do not fill its bytes, an unknown type. */
TARE_API tare_status tare_builder_add_key(tare_builder *builder, tare_key_space space, tare_str key,
                                          const tare_value *value, tare_error *err);
/* The same for an array of n strings. */
TARE_API tare_status tare_builder_add_strings(tare_builder *builder, tare_str key,
                                              const tare_str *strings, size_t n, tare_error *err);
/* Adds a side file; the bytes are copied. */
TARE_API tare_status tare_builder_add_resource(tare_builder *builder, tare_str name,
                                               const void *bytes, size_t n, tare_error *err);

/* Makes the model, which is immutable from then on, and frees the builder, even on failure. A
 * record of stand-ins (tare.carried) among the keys has the same effect as when a file is opened.
 * ERR_ARG: two tensors, keys or resources with the same name. */
TARE_API tare_status tare_builder_finish(tare_model **out, tare_builder *builder, tare_error *err);

#ifdef __cplusplus
}
#endif
#endif
