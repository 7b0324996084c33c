/* SPDX-License-Identifier: MIT
 *
 * Protocol buffers: a message is a row of tags (field number and wire type in one varint) and
 * values. Groups, which proto3 has given up and no tokenizer uses, are refused. */
#include "llama/tokenizer/protobuf.h"

#include "base/bytes.h"

#define VARINT_BYTES 10 /* 64 bits, seven in each byte */

static uint64_t take_varint(tare_cursor *c, const char *what) {
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
    uint64_t tag = take_varint(c, "protobuf: field tag");
    uint64_t number = tag >> 3;
    if (!tare_cursor_ok(c)) return false;
    if (number == 0 || number >= UINT64_C(1) << 29)
        return tare_cursor_fail(c, TARE_ERR_CORRUPT, field->offset,
                                "protobuf: field number is not 1..2^29-1");
    field->number = (uint32_t)number;
    field->wire = (tare_protobuf_wire)(tag & 7);
    return true;
}

bool tare_protobuf_next(tare_cursor *c, tare_protobuf_field *field) {
    *field = (tare_protobuf_field){.offset = tare_cursor_offset(c)};
    if (!tare_cursor_ok(c) || tare_cursor_left(c) == 0 || !take_tag(c, field)) return false;
    switch (field->wire) {
    case TARE_PROTOBUF_VARINT:
        field->value = take_varint(c, "protobuf: number");
        break;
    case TARE_PROTOBUF_FIXED64:
        field->value = tare_cursor_u64(c, "protobuf: number of 64 bits");
        break;
    case TARE_PROTOBUF_FIXED32:
        field->value = tare_cursor_u32(c, "protobuf: number of 32 bits");
        break;
    case TARE_PROTOBUF_BYTES:
        field->value = take_varint(c, "protobuf: length");
        field->bytes = tare_cursor_sub(c, field->value, "protobuf: bytes of a field");
        break;
    default:
        return tare_cursor_fail(c, TARE_ERR_CORRUPT, field->offset,
                                "protobuf: wire type is not 0, 1, 2 or 5");
    }
    return tare_cursor_ok(c);
}

bool tare_protobuf_expect(tare_cursor *c, const tare_protobuf_field *field, tare_protobuf_wire wire,
                          const char *what) {
    if (field->wire == wire) return true;
    return tare_cursor_fail(c, TARE_ERR_CORRUPT, field->offset, what);
}
