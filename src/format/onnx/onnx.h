/* SPDX-License-Identifier: MIT
 *
 * A model of ONNX while it is read. */
#ifndef TARE_FORMAT_ONNX_ONNX_H
#define TARE_FORMAT_ONNX_ONNX_H

#include "base/protobuf.h"
#include "format/format.h"
#include "format/gathered.h"

/* The form in which a tensor states its numbers, where these are not bytes. */
typedef enum tare_onnx_typed {
    TARE_ONNX_TYPED_NONE = 0,
    TARE_ONNX_TYPED_FLOAT = 4,
    TARE_ONNX_TYPED_INT32 = 5,
    TARE_ONNX_TYPED_INT64 = 7,
    TARE_ONNX_TYPED_DOUBLE = 10,
    TARE_ONNX_TYPED_UINT64 = 11,
} tare_onnx_typed;

/* A type of numbers; `why` is not NULL where tare has none such. */
typedef struct tare_onnx_type {
    tare_encoding_id encoding;
    uint8_t bits;          /* of an element in the file */
    uint8_t unit;          /* bytes that a typed number is stored in */
    bool is_signed;        /* with fewer than 8 bits */
    tare_onnx_typed typed; /* the field of its typed numbers */
    uint8_t numbers;       /* of them in an element */
    const char *why;
} tare_onnx_type;

/* What a TensorProto says. */
typedef struct tare_onnx_record {
    tare_str name;
    const tare_onnx_type *type;
    uint32_t n_dims;
    uint64_t dims[TARE_MAX_DIMS];
    tare_protobuf_range all; /* the message */
    tare_protobuf_range raw; /* raw_data */
    tare_protobuf_range run; /* the one run of packed numbers, */
    size_t n_runs;           /* where this is 1 */
    bool has_raw, is_external, is_segment;
    tare_str location; /* of external data */
    uint64_t offset, length;
    bool has_length, has_checksum;
} tare_onnx_record;

typedef struct tare_onnx_model {
    tare_model *m;
    const tare_open_context *ctx;
    tare_report *report;
    tare_arena scratch;
    const char *folder; /* that files beside the model are in, ends with a slash; NULL: none */
    tare_reader main;   /* the model's own file, which is file 0; not ours to close */
    tare_small_reads file;
    tare_gathered lists;
    uint8_t *window;  /* of a run of numbers, in scratch; NULL: none was read */
    tare_str *beside; /* names of the files after it */
    size_t n_beside, beside_capacity;
    uint64_t made;   /* bytes of tensors that are not in the file as bytes */
    uint64_t copied; /* bytes of texts */
    bool has_graph, has_told_checksum;
} tare_onnx_model;

/* What leads to a tensor is said again with each: whether all these texts are too much for the file. */
bool tare_onnx_is_too_much(const tare_onnx_model *o);
/* Bytes of the file, at most so many, in an arena. */
tare_status tare_onnx_copy(tare_str *out, tare_onnx_model *o, tare_protobuf_range range,
                           uint64_t most, tare_arena *arena, const char *what, tare_error *err);
/* A name, in the model's arena. */
tare_status tare_onnx_text(tare_str *out, tare_onnx_model *o, tare_protobuf_range range,
                           const char *what, tare_error *err);
/* That a field has another wire type than the one it is known by. */
tare_status tare_onnx_expect(const tare_protobuf_field *f, tare_protobuf_wire wire,
                             const char *what, tare_error *err);

/* The row of a data type; NULL: there is none of this number. */
bool tare_onnx_has_encoding(tare_encoding_id id);
/* Reads a TensorProto; a name that it has is in r->name. */
tare_status tare_onnx_read_record(tare_onnx_record *r, tare_onnx_model *o,
                                  tare_protobuf_range message, tare_error *err);
/* Adds the tensor, or names it among what is left out. */
tare_status tare_onnx_add(tare_onnx_model *o, const tare_onnx_record *r, tare_error *err);
/* Where the bytes of a record are, or makes them. *why is not NULL: it cannot be read, and this
 * says what it is. */
tare_status tare_onnx_place(tare_strided_tensor *t, const char **why, tare_onnx_model *o,
                            const tare_onnx_record *r, tare_error *err);
/* Gives tensors and metadata to the catalog. */
tare_status tare_onnx_end(tare_onnx_model *o, tare_error *err);

#endif
