/* SPDX-License-Identifier: MIT
 *
 * Protocol buffers: a message is a row of tags (field number and wire type in one varint) and
 * values. Groups, which proto3 has given up and nothing that is read here has, are refused. */
#include "base/protobuf.h"

#include "base/arith.h"
#include "base/bytes.h"

#define VARINT_BYTES 10                 /* 64 bits, seven in each byte */
#define HEAD_BYTES   (2 * VARINT_BYTES) /* of a tag, and a number or a length */

uint64_t tare_protobuf_varint(tare_cursor *c, const char *what) {
    uint64_t at = tare_cursor_offset(c), value = 0;
    for (unsigned i = 0; i < VARINT_BYTES; i++) {
        uint8_t byte = tare_cursor_u8(c, what);
        if (i == VARINT_BYTES - 1 && byte > 1) break; /* beyond bit 63 */
        value |= (uint64_t)(byte & 0x7f) << (7 * i);
        if (!(byte & 0x80)) return tare_cursor_ok(c) ? value : 0;
    }
    tare_cursor_fail(c, TARE_ERR_CORRUPT, at, "protobuf: a number has more than 64 bits");
    return 0;
}

static bool take_tag(tare_cursor *c, tare_protobuf_field *field) {
    uint64_t tag = tare_protobuf_varint(c, "protobuf: field tag");
    uint64_t number = tag >> 3;
    if (!tare_cursor_ok(c)) return false;
    if (number == 0 || number >= UINT64_C(1) << 29)
        return tare_cursor_fail(c, TARE_ERR_CORRUPT, field->offset,
                                "protobuf: field number is not 1..2^29-1");
    field->number = (uint32_t)number;
    field->wire = (tare_protobuf_wire)(tag & 7);
    return true;
}

/* A tag, and the number or the length after it. False at the end, or after a failure. */
static bool take_head(tare_cursor *c, tare_protobuf_field *field) {
    *field = (tare_protobuf_field){.offset = tare_cursor_offset(c)};
    if (!tare_cursor_ok(c) || tare_cursor_left(c) == 0 || !take_tag(c, field)) return false;
    switch (field->wire) {
    case TARE_PROTOBUF_VARINT:
        field->value = tare_protobuf_varint(c, "protobuf: number");
        break;
    case TARE_PROTOBUF_FIXED64:
        field->value = tare_cursor_u64(c, "protobuf: number of 64 bits");
        break;
    case TARE_PROTOBUF_FIXED32:
        field->value = tare_cursor_u32(c, "protobuf: number of 32 bits");
        break;
    case TARE_PROTOBUF_BYTES:
        field->value = tare_protobuf_varint(c, "protobuf: length");
        break;
    default:
        return tare_cursor_fail(c, TARE_ERR_CORRUPT, field->offset,
                                "protobuf: wire type is not 0, 1, 2 or 5");
    }
    return tare_cursor_ok(c);
}

bool tare_protobuf_next(tare_cursor *c, tare_protobuf_field *field) {
    if (!take_head(c, field)) return false;
    if (field->wire == TARE_PROTOBUF_BYTES)
        field->bytes = tare_cursor_sub(c, field->value, "protobuf: bytes of a field");
    return tare_cursor_ok(c);
}

bool tare_protobuf_expect(tare_cursor *c, const tare_protobuf_field *field, tare_protobuf_wire wire,
                          const char *what) {
    if (field->wire == wire) return true;
    return tare_cursor_fail(c, TARE_ERR_CORRUPT, field->offset, what);
}

/* ---- in a file ------------------------------------------------------------------------------- */

tare_status tare_protobuf_step(tare_protobuf_field *field, bool *more, tare_small_reads *file,
                               tare_protobuf_range *range, tare_error *err) {
    uint8_t head[HEAD_BYTES];
    tare_cursor c;
    *more = range->at < range->end;
    if (!*more) return TARE_OK;
    const uint64_t n = tare_min_u64(range->end - range->at, HEAD_BYTES);
    TARE_TRY(tare_small_read(file, range->at, head, (size_t)n, err));
    tare_cursor_init(&c, head, n, range->at);
    if (!take_head(&c, field)) return tare_cursor_status(&c, err);
    range->at = tare_cursor_offset(&c);
    if (field->wire != TARE_PROTOBUF_BYTES) return TARE_OK;
    if (field->value > range->end - range->at)
        return tare_fail_at(err, TARE_ERR_TRUNCATED, range->at,
                            "protobuf: bytes of a field: they go beyond the end");
    field->range = (tare_protobuf_range){range->at, range->at + field->value};
    range->at += field->value;
    return TARE_OK;
}
