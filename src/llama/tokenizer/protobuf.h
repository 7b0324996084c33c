/* SPDX-License-Identifier: MIT
 *
 * The wire format of protocol buffers, read field by field through a cursor: no schema, no
 * allocation. A message inside a message is a cursor of its own. */
#ifndef TARE_LLAMA_PROTOBUF_H
#define TARE_LLAMA_PROTOBUF_H

#include "base/cursor.h"

typedef enum tare_protobuf_wire {
    TARE_PROTOBUF_VARINT = 0,
    TARE_PROTOBUF_FIXED64 = 1,
    TARE_PROTOBUF_BYTES = 2, /* a string, a message, packed numbers */
    TARE_PROTOBUF_FIXED32 = 5,
} tare_protobuf_wire;

typedef struct tare_protobuf_field {
    uint32_t number;
    tare_protobuf_wire wire;
    uint64_t offset; /* of its tag in the file */
    uint64_t value;  /* VARINT and fixed numbers: their bits */
    tare_cursor bytes;
} tare_protobuf_field;

/* The next field of the message that the cursor is over; false at its end, or after a failure:
 * TRUNCATED, or CORRUPT where a tag is none that this format has. */
bool tare_protobuf_next(tare_cursor *c, tare_protobuf_field *field);
/* Whether the field has this wire type; else latches CORRUPT at its tag. */
bool tare_protobuf_expect(tare_cursor *c, const tare_protobuf_field *field, tare_protobuf_wire wire,
                          const char *what);

#endif
