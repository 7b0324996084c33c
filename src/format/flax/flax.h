/* SPDX-License-Identifier: MIT
 *
 * MessagePack (msgpack/spec.md): values that say of what kind they are, and how long, read one after
 * the other from a file whose long ones are never held. */
#ifndef TARE_FORMAT_FLAX_FLAX_H
#define TARE_FORMAT_FLAX_FLAX_H

#include "base/reader.h"
#include "format/strided.h"

typedef enum tare_msgpack_kind {
    TARE_MSGPACK_NIL = 0,
    TARE_MSGPACK_BOOL = 1,
    TARE_MSGPACK_INT = 2,      /* as.i */
    TARE_MSGPACK_UNSIGNED = 3, /* as.u, beyond as.i */
    TARE_MSGPACK_FLOAT = 4,
    TARE_MSGPACK_TEXT = 5,
    TARE_MSGPACK_BYTES = 6,
    TARE_MSGPACK_LIST = 7, /* n values follow */
    TARE_MSGPACK_MAP = 8,  /* n pairs of values */
    TARE_MSGPACK_EXT = 9,  /* n bytes of the program's own type as.i */
} tare_msgpack_kind;

typedef struct tare_msgpack {
    tare_msgpack_kind kind;
    uint64_t offset;  /* of its first byte */
    uint64_t payload; /* of the bytes of TEXT, BYTES and EXT, which are in the file: n of them */
    uint64_t n;
    union {
        int64_t i;
        uint64_t u;
        double f;
    } as;
} tare_msgpack;

/* Reads what is at *at, which moves behind it: behind the bytes of TEXT, BYTES and EXT, before the
 * values of LIST and MAP. Nothing goes beyond `end`: TRUNCATED. */
tare_status tare_msgpack_next(tare_msgpack *out, const tare_reader *r, uint64_t *at, uint64_t end,
                              tare_error *err);

/* Reads a file, whose reader becomes one of the model's, and adds what is in it to the catalog. After
 * the last of all files, tare_strided_end is the caller's. */
tare_status tare_flax_add_file(tare_strided_set *set, tare_report *report, tare_reader *reader,
                               const char *name, tare_error *err);

#endif
