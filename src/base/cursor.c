/* SPDX-License-Identifier: MIT
 *
 * Bounds-checked reading with a latched failure. */
#include "base/cursor.h"
#include "base/bytes.h"
#include "base/string_run.h"

void tare_cursor_init(tare_cursor *c, const void *bytes, uint64_t size, uint64_t base_offset) {
    *c = (tare_cursor){.base = bytes,
                       .pos = bytes,
                       .end = (const uint8_t *)bytes + size,
                       .base_offset = base_offset,
                       .err = TARE_ERROR_NONE};
}

uint64_t tare_cursor_offset(const tare_cursor *c) {
    return c->base_offset + (uint64_t)(c->pos - c->base);
}

bool tare_cursor_fail(tare_cursor *c, tare_status status, uint64_t offset, const char *what) {
    if (c->err.status == TARE_OK) tare_fail_at(&c->err, status, offset, what);
    c->pos = c->end;
    return false;
}

const uint8_t *tare_cursor_take(tare_cursor *c, uint64_t n, const char *what) {
    if (!tare_cursor_ok(c)) return NULL;
    if (n > tare_cursor_left(c)) {
        c->ran_out = true;
        tare_cursor_fail(c, TARE_ERR_TRUNCATED, tare_cursor_offset(c), what);
        return NULL;
    }
    const uint8_t *p = c->pos;
    c->pos += n;
    return p;
}

uint8_t tare_cursor_u8(tare_cursor *c, const char *what) {
    const uint8_t *p = tare_cursor_take(c, 1, what);
    return p ? *p : 0;
}

uint16_t tare_cursor_u16(tare_cursor *c, const char *what) {
    const uint8_t *p = tare_cursor_take(c, 2, what);
    return p ? tare_load_u16(p, c->is_big_endian) : 0;
}

uint32_t tare_cursor_u32(tare_cursor *c, const char *what) {
    const uint8_t *p = tare_cursor_take(c, 4, what);
    return p ? tare_load_u32(p, c->is_big_endian) : 0;
}

uint64_t tare_cursor_u64(tare_cursor *c, const char *what) {
    const uint8_t *p = tare_cursor_take(c, 8, what);
    return p ? tare_load_u64(p, c->is_big_endian) : 0;
}

bool tare_cursor_fits(tare_cursor *c, uint64_t count, size_t min_item, uint64_t at,
                      const char *what) {
    if (!tare_cursor_ok(c)) return false;
    if (min_item == 0 || count <= tare_cursor_left(c) / min_item) return true;
    c->ran_out = true;
    return tare_cursor_fail(c, TARE_ERR_TRUNCATED, at, what);
}

uint64_t tare_cursor_count(tare_cursor *c, size_t min_item, const char *what) {
    uint64_t at = tare_cursor_offset(c);
    uint64_t count = tare_cursor_u64(c, what);
    return tare_cursor_fits(c, count, min_item, at, what) ? count : 0;
}

uint64_t tare_cursor_skip_strings(tare_cursor *c, uint64_t n, uint64_t longest, uint64_t *lengths) {
    if (!tare_cursor_ok(c)) return 0;
    tare_string_run run = {c->pos, c->end, c->is_big_endian, longest, *lengths};
    uint64_t skipped = tare_string_run_skip(&run, n);
    c->pos = run.pos;
    *lengths = run.lengths;
    return skipped;
}

tare_cursor tare_cursor_sub(tare_cursor *c, uint64_t n, const char *what) {
    tare_cursor sub = *c;
    uint64_t at = tare_cursor_offset(c);
    const uint8_t *p = tare_cursor_take(c, n, what);
    if (p) {
        sub.base = sub.pos = p;
        sub.end = p + n;
        sub.base_offset = at;
        sub.more_follows = false;
    } else {
        sub = *c;
    }
    return sub;
}

tare_status tare_cursor_status(const tare_cursor *c, tare_error *err) {
    if (err && c->err.status != TARE_OK) *err = c->err;
    return c->err.status;
}
