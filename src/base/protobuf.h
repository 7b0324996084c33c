/* SPDX-License-Identifier: MIT
 *
 * The wire format of protocol buffers, read field by field: no schema, no allocation. A message in
 * memory is read through a cursor, and a message inside it is a cursor of its own; one in a file of
 * any size is a range of it, of which only the tags are read. */
#ifndef TARE_BASE_PROTOBUF_H
#define TARE_BASE_PROTOBUF_H

#include "base/cursor.h"
#include "base/small_reads.h"

typedef enum tare_protobuf_wire {
    TARE_PROTOBUF_VARINT = 0,
    TARE_PROTOBUF_FIXED64 = 1,
    TARE_PROTOBUF_BYTES = 2, /* a string, a message, packed numbers */
    TARE_PROTOBUF_FIXED32 = 5,
} tare_protobuf_wire;

/* Bytes of a file: the message that is read, what is left of it. */
typedef struct tare_protobuf_range {
    uint64_t at, end;
} tare_protobuf_range;

typedef struct tare_protobuf_field {
    uint32_t number;
    tare_protobuf_wire wire;
    uint64_t offset;           /* of its tag in the file */
    uint64_t value;            /* VARINT and fixed numbers: their bits; BYTES: how many */
    tare_cursor bytes;         /* read through a cursor */
    tare_protobuf_range range; /* in a file; of numbers it is empty */
} tare_protobuf_field;

/* The next field of the message that the cursor is over; false at its end, or after a failure:
 * TRUNCATED, or CORRUPT where a tag is none that this format has. */
bool tare_protobuf_next(tare_cursor *c, tare_protobuf_field *field);
/* Whether the field has this wire type; else latches CORRUPT at its tag. */
bool tare_protobuf_expect(tare_cursor *c, const tare_protobuf_field *field, tare_protobuf_wire wire,
                          const char *what);
/* A number of packed ones: the next varint. */
uint64_t tare_protobuf_varint(tare_cursor *c, const char *what);

/* The next field of a message, which is the whole range; *more is false at its end. TRUNCATED and
 * CORRUPT as above. */
tare_status tare_protobuf_step(tare_protobuf_field *field, bool *more, tare_small_reads *file,
                               tare_protobuf_range *range, tare_error *err);

#endif
