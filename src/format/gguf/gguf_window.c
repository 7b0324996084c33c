/* SPDX-License-Identifier: MIT
 *
 * Windows on a directory; see gguf_window.h. */
#include <string.h>

#include "base/arith.h"
#include "format/gguf/gguf_window.h"

/* The first read, which is the whole directory of most files without a vocabulary; the next is long
 * enough for one of 256 thousand tokens, since a truncated record is parsed again. From LARGE on,
 * windows grow only for a single record that is longer. What the last window reads unnecessarily is
 * tensor data, at most LARGE bytes of it. */
#define FIRST ((uint64_t)1 << 20)
#define SPARE ((uint64_t)1 << 18) /* read after the expected end of a record */
#define LARGE ((uint64_t)16 << 20)

/* The end of the part of the file that may be read as a directory. */
static uint64_t last_byte(const tare_gguf_window *w) {
    uint64_t most;
    if (!tare_add_u64(w->m->limits.metadata_bytes, w->skipped, &most)) most = UINT64_MAX;
    return tare_min_u64(most, w->reader->size);
}

/* Opens the window [start, end), the first `n_old` bytes of which are at `old`. */
static tare_status load(tare_gguf_window *w, uint64_t start, uint64_t end, const uint8_t *old,
                        size_t n_old, tare_error *err) {
    bool is_big_endian = w->c.is_big_endian;
    size_t size;
    if (!tare_size_of_u64(end - start, &size)) return tare_fail(err, TARE_ERR_NOMEM, "directory");
    uint8_t *memory = tare_alloc(w->m->allocator, size);
    if (!memory) return tare_fail(err, TARE_ERR_NOMEM, "directory");
    if (n_old) memcpy(memory, old, n_old);
    tare_status s = tare_reader_read(w->reader, start + n_old, memory + n_old, size - n_old, err);
    if (s != TARE_OK) {
        tare_free(w->m->allocator, memory, size);
        return s;
    }
    w->memory = memory;
    w->size = size;
    tare_cursor_init(&w->c, memory, size, start);
    w->c.is_big_endian = is_big_endian;
    w->c.more_follows = end < w->reader->size;
    return TARE_OK;
}

/* The source's own memory from `start` on. */
static void look_at(tare_gguf_window *w, uint64_t start) {
    bool is_big_endian = w->c.is_big_endian;
    uint64_t end = tare_max_u64(last_byte(w), start);
    tare_cursor_init(&w->c, w->reader->map + start, end - start, start);
    w->c.is_big_endian = is_big_endian;
    w->c.more_follows = end < w->reader->size;
}

/* A mapped file is read like any other: its bytes may change while they are parsed. */
static bool is_in_memory(const tare_gguf_window *w) {
    return w->reader->map && !w->reader->owns_map;
}

tare_status tare_gguf_window_begin(tare_gguf_window *w, tare_model *m, uint32_t file,
                                   tare_error *err) {
    *w = (tare_gguf_window){.m = m, .reader = &m->files[file].reader};
    if (is_in_memory(w)) {
        look_at(w, 0);
        return TARE_OK;
    }
    return load(w, 0, tare_min_u64(FIRST, last_byte(w)), NULL, 0, err);
}

/* Leaves the window: the model keeps it if there are records in it. */
static tare_status leave(tare_gguf_window *w, uint8_t *memory, size_t size, bool has_records,
                         tare_error *err) {
    bool keep = has_records && memory && !w->discards;
    tare_status s = keep ? tare_model_keep(w->m, memory, size, err) : TARE_OK;
    if (!keep || s != TARE_OK) tare_free(w->m->allocator, memory, size);
    return s;
}

/* Where the window that begins at `start` shall end, `now` being the end of the one before. It grows
 * by a factor whatever is expected, since what lies before is copied each time. */
static uint64_t next_end(tare_gguf_window *w, uint64_t start, uint64_t now) {
    uint64_t size = (uint64_t)w->size * ((uint64_t)w->size < LARGE / 2 ? 8 : 2), end;
    if (start != w->c.base_offset) size = tare_min_u64(size, LARGE);
    if (!tare_add_u64(tare_max_u64(start + size, now), FIRST, &end)) end = UINT64_MAX;
    uint64_t least = tare_max_u64(start + 2 * (uint64_t)w->size, now + FIRST);
    if (w->expected_end > now && w->expected_end < end - tare_min_u64(end, SPARE))
        end = tare_min_u64(end, tare_max_u64(w->expected_end + SPARE, least));
    w->expected_end = 0;
    return end;
}

tare_status tare_gguf_window_extend(tare_gguf_window *w, uint64_t start, tare_error *err) {
    uint64_t begin = w->c.base_offset, now = begin + (uint64_t)(w->c.end - w->c.base);
    uint64_t end = tare_min_u64(next_end(w, start, now), last_byte(w));
    if (is_in_memory(w) || end <= now)
        return tare_fail_at(err, TARE_ERR_LIMIT, start, "size of the directory");
    uint8_t *memory = w->memory;
    size_t old_size = w->size;
    w->memory = NULL;
    tare_status s = load(w, start, end, memory + (start - begin), (size_t)(now - start), err);
    tare_status left = leave(w, memory, old_size, start > begin, s == TARE_OK ? err : NULL);
    return s == TARE_OK ? left : s;
}

tare_status tare_gguf_window_skip(tare_gguf_window *w, uint64_t n, tare_error *err) {
    uint64_t inside = tare_min_u64(n, tare_cursor_left(&w->c));
    tare_cursor_take(&w->c, inside, "");
    if (inside == n) return TARE_OK;
    uint64_t target = tare_cursor_offset(&w->c) + (n - inside);
    w->skipped += n - inside;
    if (is_in_memory(w)) {
        look_at(w, target);
        return TARE_OK;
    }
    uint8_t *memory = w->memory;
    size_t size = w->size;
    w->memory = NULL;
    TARE_TRY(leave(w, memory, size, true, err));
    return load(w, target, tare_min_u64(target + FIRST, last_byte(w)), NULL, 0, err);
}

uint64_t tare_gguf_window_place(const tare_gguf_window *w, const void *p) {
    return w->c.base_offset + (uint64_t)((const uint8_t *)p - w->c.base);
}

tare_status tare_gguf_window_end(tare_gguf_window *w, tare_error *err) {
    uint8_t *memory = w->memory;
    w->memory = NULL;
    return leave(w, memory, w->size, true, err);
}

void tare_gguf_window_free(tare_gguf_window *w) {
    tare_free(w->m ? w->m->allocator : NULL, w->memory, w->size);
    w->memory = NULL;
}
