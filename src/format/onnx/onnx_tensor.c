/* SPDX-License-Identifier: MIT
 *
 * What a tensor of ONNX says of itself: type, shape, name, and which of its fields has the numbers. */
#include "base/arith.h"
#include "base/report.h"
#include "base/str.h"
#include "format/onnx/onnx.h"

enum {
    TENSOR_DIMS = 1,
    TENSOR_TYPE = 2,
    TENSOR_SEGMENT = 3,
    TENSOR_NAME = 8,
    TENSOR_RAW = 9,
    TENSOR_EXTERNAL = 13,
    TENSOR_LOCATION = 14,
};
enum { PAIR_KEY = 1, PAIR_VALUE = 2 };

/* ---- types ----------------------------------------------------------------------------------- */

#define NONE(why_)                                                                                 \
    { .encoding = TARE_ENCODING_UNKNOWN, .why = why_ }
#define PLAIN(id, bits_, field)                                                                    \
    {                                                                                              \
        .encoding = TARE_ENCODING_##id, .bits = bits_, .unit = (bits_) / 8 ? (bits_) / 8 : 1,      \
        .typed = TARE_ONNX_TYPED_##field, .numbers = 1                                             \
    }
#define CODES(id, bits_, sign)                                                                     \
    {                                                                                              \
        .encoding = TARE_ENCODING_##id, .bits = bits_, .unit = 1, .is_signed = sign,               \
        .typed = TARE_ONNX_TYPED_INT32, .numbers = 1                                               \
    }

/* By number (TensorProto.DataType). */
static const tare_onnx_type types[] = {
    NONE("a tensor without a type"),
    PLAIN(F32, 32, FLOAT),
    PLAIN(U8, 8, INT32),
    PLAIN(I8, 8, INT32),
    PLAIN(U16, 16, INT32),
    PLAIN(I16, 16, INT32),
    PLAIN(I32, 32, INT32),
    PLAIN(I64, 64, INT64),
    NONE("a tensor of texts"),
    PLAIN(BOOL, 8, INT32),
    PLAIN(F16, 16, INT32),
    PLAIN(F64, 64, DOUBLE),
    PLAIN(U32, 32, UINT64),
    PLAIN(U64, 64, UINT64),
    {.encoding = TARE_ENCODING_C64,
     .bits = 64,
     .unit = 4,
     .typed = TARE_ONNX_TYPED_FLOAT,
     .numbers = 2},
    NONE(
        "a tensor of complex numbers of 128 bits, for which no format that tare writes has a type"),
    PLAIN(BF16, 16, INT32),
    PLAIN(F8_E4M3, 8, INT32),
    PLAIN(F8_E4M3FNUZ, 8, INT32),
    PLAIN(F8_E5M2, 8, INT32),
    PLAIN(F8_E5M2FNUZ, 8, INT32),
    CODES(U8, 4, false),
    CODES(I8, 4, true),
    PLAIN(F4, 4, INT32),
    PLAIN(F8_E8M0, 8, INT32),
    CODES(U8, 2, false),
    CODES(I8, 2, true),
    NONE("a tensor of floats of 6 bits"),
    NONE("a tensor of floats of 6 bits"),
};

enum { N_TYPES = sizeof types / sizeof *types };

static const tare_onnx_type *type_of(uint64_t number) {
    return number < N_TYPES ? &types[number] : NULL;
}

bool tare_onnx_has_encoding(tare_encoding_id id) {
    for (size_t i = 0; i < N_TYPES; i++)
        if (types[i].encoding == id && id != TARE_ENCODING_UNKNOWN) return true;
    return false;
}

/* ---- records --------------------------------------------------------------------------------- */

static tare_status add_dim(tare_onnx_record *r, uint64_t size, uint64_t offset, tare_error *err) {
    if (r->n_dims == TARE_MAX_DIMS)
        return tare_fail_at(err, TARE_ERR_LIMIT, offset, "number of dimensions");
    if (size > INT64_MAX)
        return tare_fail_at(err, TARE_ERR_CORRUPT, offset, "dims: a size below 0");
    r->dims[r->n_dims++] = size;
    return TARE_OK;
}

/* One number, or several in a run. */
static tare_status read_dims(tare_onnx_record *r, tare_onnx_model *o, const tare_protobuf_field *f,
                             tare_error *err) {
    uint8_t bytes[10 * TARE_MAX_DIMS];
    tare_cursor c;
    if (f->wire == TARE_PROTOBUF_VARINT) return add_dim(r, f->value, f->offset, err);
    TARE_TRY(tare_onnx_expect(f, TARE_PROTOBUF_BYTES, "dims: numbers expected", err));
    if (f->value > sizeof bytes)
        return tare_fail_at(err, TARE_ERR_LIMIT, f->offset, "number of dimensions");
    TARE_TRY(tare_reader_read(o->file.reader, f->range.at, bytes, (size_t)f->value, err));
    tare_cursor_init(&c, bytes, f->value, f->range.at);
    while (tare_cursor_left(&c)) {
        const uint64_t size = tare_protobuf_varint(&c, "dims");
        if (tare_cursor_ok(&c)) TARE_TRY(add_dim(r, size, f->offset, err));
    }
    return tare_cursor_status(&c, err);
}

static tare_status read_decimal(uint64_t *out, tare_str text, uint64_t offset, tare_error *err) {
    *out = 0;
    for (size_t i = 0; i < text.len; i++)
        if (text.ptr[i] < '0' || text.ptr[i] > '9' || !tare_mul_u64(*out, 10, out) ||
            !tare_add_u64(*out, (uint64_t)(text.ptr[i] - '0'), out))
            return tare_fail_at(err, TARE_ERR_CORRUPT, offset,
                                "external_data: a number of bytes expected");
    if (text.len) return TARE_OK;
    return tare_fail_at(err, TARE_ERR_CORRUPT, offset, "external_data: a number of bytes expected");
}

/* location, offset, length, checksum; others are hints. */
static tare_status read_external(tare_onnx_record *r, tare_onnx_model *o,
                                 const tare_protobuf_field *all, tare_error *err) {
    tare_protobuf_range rest = all->range;
    tare_protobuf_field f;
    tare_str pair[2] = {{"", 0}, {"", 0}};
    bool more;
    TARE_TRY(tare_onnx_expect(all, TARE_PROTOBUF_BYTES, "external_data: a pair expected", err));
    for (;;) {
        TARE_TRY(tare_protobuf_step(&f, &more, &o->file, &rest, err));
        if (!more) break;
        if ((f.number == PAIR_KEY || f.number == PAIR_VALUE) && f.wire == TARE_PROTOBUF_BYTES)
            TARE_TRY(tare_onnx_text(&pair[f.number - 1], o, f.range, "external_data", err));
    }
    if (tare_str_is(pair[0], "location")) r->location = pair[1];
    r->has_checksum |= tare_str_is(pair[0], "checksum");
    if (tare_str_is(pair[0], "offset")) return read_decimal(&r->offset, pair[1], all->offset, err);
    if (!tare_str_is(pair[0], "length")) return TARE_OK;
    r->has_length = true;
    return read_decimal(&r->length, pair[1], all->offset, err);
}

static tare_status read_type(tare_onnx_record *r, const tare_protobuf_field *f, tare_error *err) {
    TARE_TRY(tare_onnx_expect(f, TARE_PROTOBUF_VARINT, "data_type: a number expected", err));
    r->type = type_of(f->value);
    if (r->type) return TARE_OK;
    return tare_fail_at(err, TARE_ERR_UNSUPPORTED, f->offset,
                        "data_type: not the number of a known type of ONNX");
}

static tare_status read_field(tare_onnx_record *r, tare_onnx_model *o, const tare_protobuf_field *f,
                              tare_error *err) {
    switch (f->number) {
    case TENSOR_DIMS:
        return read_dims(r, o, f, err);
    case TENSOR_TYPE:
        return read_type(r, f, err);
    case TENSOR_SEGMENT:
        r->is_segment = true;
        return TARE_OK;
    case TENSOR_NAME:
        TARE_TRY(tare_onnx_expect(f, TARE_PROTOBUF_BYTES, "name: a text expected", err));
        return tare_onnx_text(&r->name, o, f->range, "name of a tensor", err);
    case TENSOR_RAW:
        TARE_TRY(tare_onnx_expect(f, TARE_PROTOBUF_BYTES, "raw_data: bytes expected", err));
        r->raw = f->range;
        r->has_raw = true;
        return TARE_OK;
    case TENSOR_EXTERNAL:
        return read_external(r, o, f, err);
    case TENSOR_LOCATION:
        TARE_TRY(
            tare_onnx_expect(f, TARE_PROTOBUF_VARINT, "data_location: a number expected", err));
        if (f->value > 1)
            return tare_fail_at(err, TARE_ERR_CORRUPT, f->offset, "data_location: neither 0 nor 1");
        r->is_external = f->value == 1;
        return TARE_OK;
    default:
        return TARE_OK;
    }
}

/* The runs of the one field that a type's numbers are in. */
static tare_status find_runs(tare_onnx_record *r, tare_onnx_model *o, tare_error *err) {
    tare_protobuf_range rest = r->all;
    tare_protobuf_field f;
    bool more;
    for (;;) {
        TARE_TRY(tare_protobuf_step(&f, &more, &o->file, &rest, err));
        if (!more) return TARE_OK;
        const bool is_typed =
            f.number == TARE_ONNX_TYPED_FLOAT || f.number == TARE_ONNX_TYPED_INT32 ||
            f.number == TARE_ONNX_TYPED_INT64 || f.number == TARE_ONNX_TYPED_DOUBLE ||
            f.number == TARE_ONNX_TYPED_UINT64;
        if (!is_typed) continue;
        if (f.number != (uint32_t)r->type->typed)
            return tare_fail_at(err, TARE_ERR_CORRUPT, f.offset,
                                "numbers in a field that is of other types than the tensor's");
        if (f.wire == TARE_PROTOBUF_BYTES && f.range.at == f.range.end) continue;
        r->n_runs += f.wire == TARE_PROTOBUF_BYTES ? 1 : 2; /* 2: not one run */
        r->run = f.range;
    }
}

tare_status tare_onnx_read_record(tare_onnx_record *r, tare_onnx_model *o,
                                  tare_protobuf_range message, tare_error *err) {
    tare_protobuf_range rest = message;
    tare_protobuf_field f;
    bool more;
    *r = (tare_onnx_record){.name = {"", 0}, .type = &types[0], .all = message};
    for (;;) {
        TARE_TRY(tare_protobuf_step(&f, &more, &o->file, &rest, err));
        if (!more) break;
        TARE_TRY(read_field(r, o, &f, err));
    }
    return r->type->why ? TARE_OK : find_runs(r, o, err);
}

/* ---- lists ----------------------------------------------------------------------------------- */

tare_status tare_onnx_add(tare_onnx_model *o, const tare_onnx_record *r, tare_error *err) {
    tare_gathered *lists = &o->lists;
    const char *why = NULL;
    TARE_TRY(tare_gather_tensor(lists, r->all.at, err));
    TARE_TRY(tare_onnx_place(&lists->tensors[lists->n_tensors], &why, o, r, err));
    if (why) return tare_gather_left_out(lists, r->name, why, r->all.at, err);
    lists->n_tensors++;
    return TARE_OK;
}
