/* SPDX-License-Identifier: MIT */
#include "format/wcodec/wcodec_entry.h"

#include <string.h>

#include "base/str.h"

static const char tag[4] = {'A', 'T', 'T', 'R'};
static const char ends[] = "entry of a file: the record ends inside it";

enum { MODE_MOST = 0777, NANOSECONDS = 1000000000 };

static bool is_up(const char *part, size_t n) {
    return n == 2 && part[0] == '.' && part[1] == '.';
}

bool tare_packed_link_stays(tare_str name, tare_str target) {
    size_t depth = 0, start = 0;
    bool is_below = false; /* after the leading ".." */
    for (size_t i = 0; i < name.len; i++) depth += name.ptr[i] == '/';
    for (size_t i = 0; i <= target.len; i++) {
        if (i < target.len && target.ptr[i] == 0) return false;
        if (i < target.len && target.ptr[i] != '/') continue;
        const char *part = target.ptr + start;
        size_t n = i - start;
        if (n == 0 || (n == 1 && *part == '.')) return false;
        if (is_up(part, n) && (is_below || depth-- == 0)) return false;
        is_below |= !is_up(part, n);
        start = i + 1;
    }
    return true;
}

void tare_wcodec_entry_put(tare_buffer *out, const tare_packed_entry *e) {
    tare_buffer_put(out, tag, sizeof tag);
    tare_buffer_put_u8(out, e->kind);
    tare_buffer_put_u8(out, 0);
    tare_buffer_put_u8(out, (uint8_t)e->mode);
    tare_buffer_put_u8(out, (uint8_t)(e->mode >> 8));
    tare_buffer_put_u32(out, e->nanoseconds, false);
    tare_buffer_put_u64(out, (uint64_t)e->seconds, false);
    tare_buffer_put_u32(out, (uint32_t)e->target.len, false);
    tare_buffer_put_str(out, e->target);
}

static tare_status check(const tare_packed_entry *e, uint8_t reserved, uint64_t at, tare_str name,
                         tare_error *err) {
    if (e->kind >= TARE_PACKED_ENTRY_KIND_COUNT)
        return tare_fail_at(err, TARE_ERR_CORRUPT, at + 4,
                            "entry of a file: expected 0 a file, 1 a link or 2 a folder");
    if (reserved)
        return tare_fail_at(err, TARE_ERR_CORRUPT, at + 5,
                            "entry of a file: a reserved byte is not 0");
    if (e->mode > MODE_MOST)
        return tare_fail_at(err, TARE_ERR_CORRUPT, at + 6,
                            "entry of a file: permissions: expected 0 to 0777");
    if (e->nanoseconds >= NANOSECONDS)
        return tare_fail_at(err, TARE_ERR_CORRUPT, at + 8,
                            "entry of a file: nanoseconds: expected less than 10^9");
    if (e->kind != TARE_PACKED_LINK && e->target.len)
        return tare_fail_at(err, TARE_ERR_CORRUPT, at + 20,
                            "entry of a file: only a link has a target");
    if (e->kind == TARE_PACKED_LINK && !tare_packed_link_stays(name, e->target))
        return tare_fail_at(err, TARE_ERR_CORRUPT, at + 24,
                            "target of a link: expected a relative path that stays inside");
    return TARE_OK;
}

tare_status tare_wcodec_entry_read(tare_packed_entry *out, tare_cursor *c, tare_str name,
                                   tare_arena *arena, tare_error *err) {
    const uint64_t at = tare_cursor_offset(c);
    *out = (tare_packed_entry){.kind = TARE_PACKED_FILE};
    if (tare_cursor_left(c) < sizeof tag || memcmp(c->pos, tag, sizeof tag) != 0) return TARE_OK;
    tare_cursor_take(c, sizeof tag, ends);
    out->is_stated = true;
    out->kind = tare_cursor_u8(c, ends);
    const uint8_t reserved = tare_cursor_u8(c, ends);
    out->mode = tare_cursor_u16(c, ends);
    out->nanoseconds = tare_cursor_u32(c, ends);
    out->seconds = (int64_t)tare_cursor_u64(c, ends);
    out->target.len = tare_cursor_u32(c, ends);
    const uint8_t *target = tare_cursor_take(c, out->target.len, ends);
    TARE_TRY(tare_cursor_status(c, err));
    out->target = tare_arena_str(arena, (tare_str){(const char *)target, out->target.len});
    if (!out->target.ptr) return tare_fail(err, TARE_ERR_NOMEM, "index");
    return check(out, reserved, at, name, err);
}
