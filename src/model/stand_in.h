/* SPDX-License-Identifier: MIT
 *
 * Stand-ins: a tensor whose type, shape or name the target container does not support is stored
 * under others, and a record says what it was. The record is the metadata key "tare.carried" (MODEL
 * space), a JSON text; it is written last, and taken out of the visible metadata while opening. */
#ifndef TARE_MODEL_STAND_IN_H
#define TARE_MODEL_STAND_IN_H

#include "model/catalog.h"

#define TARE_STAND_IN_KEY "tare.carried"

/* What a container can hold; each format driver states it once. */
typedef struct tare_format_caps {
    bool (*has_encoding)(const tare_encoding *encoding);
    uint32_t (*rank_of)(const tare_encoding *encoding); /* dimensions that tensors of an encoding
                                                           must have, 0: any; NULL: any, all */
    bool lacks_empty; /* tensors have at least one element there */
    bool lacks_odd;   /* quantized numbers are finite there: NaN, Inf, overflow are errors */
    /* The type in which the program loads a tensor; NULL: any. */
    tare_fixed_type (*fixed_type)(tare_str name, uint32_t n_dims);
    uint32_t max_dims;
    uint32_t max_name;               /* bytes */
    bool takes_empty_name;           /* a tensor may be called "" */
    bool (*has_name)(tare_str name); /* further rules for names; NULL: none */
    const tare_encoding *bytes_type; /* what opaque bytes stand under (U8, or I8 for GGUF) */
} tare_format_caps;

/* Whether tensors of this encoding may have this number of dimensions there. */
bool tare_format_caps_has_rank(const tare_format_caps *h, const tare_encoding *encoding,
                               uint32_t n_dims);
/* Whether it may have its name and shape there. */
bool tare_format_caps_has_shape(const tare_format_caps *h, const tare_tensor *t);
/* Whether a tensor may have this name there. */
bool tare_format_caps_has_name(const tare_format_caps *h, tare_str name);
/* Gives a tensor that is being derived an encoding and a shape: counts, sizes, planes (sizes only;
 * the writer decides where they go). `dims` are copied. */
tare_status tare_tensor_derive(tare_tensor *t, const tare_encoding *encoding, const uint64_t *dims,
                               uint32_t n_dims, tare_arena *arena, tare_error *err);
/* The type of the same width that a plain type stands under, or bytes_type for whole opaque
 * tensors; NULL: a block type, to be decoded unless `opaque`. */
const tare_encoding *tare_stand_in_encoding(const tare_format_caps *h,
                                            const tare_encoding *encoding, bool opaque);
/* Makes *out the stand-in of *t for a container: encoding (t's own where only shape or name do not
 * fit), dims (the outer ones flattened into one where there are too many; a single one where the
 * bytes are; a single byte for a tensor without elements where there are none), name (where it must
 * change: cut and "~number" after it), sizes; the writer decides where the planes go. Different
 * numbers give different names; the caller makes sure that none is the name of another tensor, by
 * choosing another number. */
tare_status tare_stand_in_tensor(tare_tensor *out, const tare_tensor *t, const tare_format_caps *h,
                                 const tare_encoding *stand_in, size_t number, tare_arena *arena,
                                 tare_error *err);
/* The record for some tensors: pairs of the true and the stored description. */
tare_status tare_stand_in_record(tare_metadata *out, const tare_tensor *const *true_tensors,
                                 const tare_tensor *const *stored, size_t n, tare_arena *arena,
                                 tare_error *err);
/* Reads the record of an opened model, checks each entry against the stored tensor (same number of
 * bytes, a type that may stand for the other, else the entry is reported and ignored) and restores;
 * the record's key leaves the metadata. Call it before names are indexed. */
tare_status tare_stand_in_restore(tare_model *m, tare_report *report, tare_error *err);

#endif
