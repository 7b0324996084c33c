/* SPDX-License-Identifier: MIT
 *
 * The only way to read untrusted bytes. The first failure latches status, offset and field name and
 * moves to the end; later reads give 0. Read a whole record, then test once; but always test before
 * a value is used as a size, an index or a loop bound. */
#ifndef TARE_BASE_CURSOR_H
#define TARE_BASE_CURSOR_H

#include "base/status.h"

typedef struct tare_cursor {
    const uint8_t *base, *pos, *end;
    uint64_t base_offset; /* of base[0] in the file */
    bool is_big_endian;
    bool
        more_follows; /* end is only the end of what has been read: running out is no verdict yet */
    bool ran_out;     /* a read went past end */
    tare_error err;
} tare_cursor;

void tare_cursor_init(tare_cursor *c, const void *bytes, uint64_t size, uint64_t base_offset);
static inline bool tare_cursor_ok(const tare_cursor *c) {
    return c->err.status == TARE_OK;
}
/* Offset in the file of the next byte. */
uint64_t tare_cursor_offset(const tare_cursor *c);
static inline uint64_t tare_cursor_left(const tare_cursor *c) {
    return (uint64_t)(c->end - c->pos);
}
/* The only pointer move. NULL after a failure (TRUNCATED if fewer than n bytes are left). */
const uint8_t *tare_cursor_take(tare_cursor *c, uint64_t n, const char *what);
uint8_t tare_cursor_u8(tare_cursor *c, const char *what);
uint16_t tare_cursor_u16(tare_cursor *c, const char *what);
uint32_t tare_cursor_u32(tare_cursor *c, const char *what);
uint64_t tare_cursor_u64(tare_cursor *c, const char *what);
/* A u64 count, of items of at least min_item bytes each, all of which fit in what is left; else
 * TRUNCATED. */
uint64_t tare_cursor_count(tare_cursor *c, size_t min_item, const char *what);
/* The same for a count that has already been read, at offset `at`. */
bool tare_cursor_fits(tare_cursor *c, uint64_t count, size_t min_item, uint64_t at,
                      const char *what);
/* Skips up to n consecutive strings, each a u64 length and its bytes, as long as they are complete
 * in what is left and have at most `longest` bytes, a 2^k - 1; returns how many, and adds the bits of
 * their lengths to *lengths. Never fails: reading the next string reports what stopped it. */
uint64_t tare_cursor_skip_strings(tare_cursor *c, uint64_t n, uint64_t longest, uint64_t *lengths);
/* A cursor over the next n bytes, which this one skips, so that a section cannot read past its end.
 */
tare_cursor tare_cursor_sub(tare_cursor *c, uint64_t n, const char *what);
/* Latches a failure at byte `offset` (unless one is latched already); returns false. */
bool tare_cursor_fail(tare_cursor *c, tare_status status, uint64_t offset, const char *what);
/* Copies a latched failure to *err; returns the status. */
tare_status tare_cursor_status(const tare_cursor *c, tare_error *err);

#endif
