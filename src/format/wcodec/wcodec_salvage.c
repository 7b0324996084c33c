/* SPDX-License-Identifier: MIT
 *
 * Header and footer both give the location of the index, so that one of them is enough
 * (docs/wcodec.md, 10). Nothing here is covered by the CRC of the directory: records are checked for
 * contradictions as far as possible, and the CRCs of layers and segments cover the rest. */
#include "format/wcodec/wcodec_salvage.h"

#include <string.h>

#include "base/arith.h"
#include "base/bytes.h"

/* ---- a file without its beginning ------------------------------------------------------------ */

typedef struct shifted {
    const tare_allocator *allocator;
    tare_reader file;
    uint64_t n_missing;
} shifted;

static tare_status fetch_shifted(void *ctx, uint64_t offset, void *buf, size_t n, tare_error *err) {
    const shifted *s = ctx;
    if (offset < s->n_missing)
        return tare_fail_at(err, TARE_ERR_TRUNCATED, offset, "the beginning of the file is gone");
    tare_status status = tare_reader_read(&s->file, offset - s->n_missing, buf, n, err);
    if (status != TARE_OK && err && err->offset != TARE_NO_OFFSET) err->offset += s->n_missing;
    return status;
}

static void close_shifted(void *ctx) {
    shifted *s = ctx;
    tare_reader_close(&s->file);
    tare_free(s->allocator, s, sizeof *s);
}

static tare_status shift(tare_reader *file, uint64_t n_missing, const tare_allocator *allocator,
                         tare_error *err) {
    shifted *s = tare_alloc(allocator, sizeof *s);
    if (!s) return tare_fail(err, TARE_ERR_NOMEM, "reader");
    *s = (shifted){allocator, *file, n_missing};
    *file = (tare_reader){.name = s->file.name,
                          .size = s->file.size + n_missing,
                          .fd = -1,
                          .has_identity = s->file.has_identity,
                          .device = s->file.device,
                          .inode = s->file.inode,
                          .fetch = fetch_shifted,
                          .read_ctx = s,
                          .close = close_shifted};
    return TARE_OK;
}

/* ---- where the index lies -------------------------------------------------------------------- */

typedef struct place {
    uint64_t offset, size, n; /* n: bytes of it that are there */
} place;

/* The index ends where the file's last 32 bytes begin, whatever is missing before it. */
static bool place_by_footer(place *p, uint64_t *n_missing, const uint8_t *footer,
                            uint64_t file_size) {
    uint64_t end;
    p->offset = tare_load_le64(footer);
    p->size = p->n = tare_load_le64(footer + 8);
    if (memcmp(footer + 24, "WCODEC\0\1", 8) != 0 || p->offset % TARE_WC_LAYER_ALIGN ||
        p->offset < TARE_WCODEC_HEADER || !tare_add_u64(p->offset, p->size, &end) ||
        !tare_add_u64(end, TARE_WCODEC_FOOTER, &end) || end < file_size ||
        p->size > file_size - TARE_WCODEC_FOOTER)
        return false;
    *n_missing = end - file_size;
    return true;
}

static tare_status place_by_header(place *p, const uint8_t *header, uint64_t file_size,
                                   const tare_limits *limits, tare_error *err) {
    /* What the file's own size has to be is looked at below. */
    TARE_TRY(tare_wcodec_find_index(&p->offset, &p->size, header, tare_load_le64(header + 64),
                                    limits, err));
    if (p->offset >= file_size)
        return tare_fail_at(err, TARE_ERR_TRUNCATED, file_size,
                            "file: ends before its index, without which nothing can be salvaged");
    p->n = tare_min_u64(p->size, file_size - p->offset);
    return TARE_OK;
}

/* The location of the index according to either of them. */
typedef struct places {
    place by_header, by_footer;
    uint64_t n_missing; /* by the footer */
    bool has_header, has_footer;
} places;

static tare_status find(places *p, uint8_t header[TARE_WCODEC_HEADER], const tare_reader *file,
                        const tare_limits *limits, tare_error *err) {
    uint8_t footer[TARE_WCODEC_FOOTER];
    *p = (places){.has_header = false};
    if (file->size < TARE_WCODEC_HEADER)
        return tare_fail_at(err, TARE_ERR_TRUNCATED, file->size,
                            "file: shorter than a header: nothing can be salvaged");
    TARE_TRY(tare_reader_read(file, 0, header, TARE_WCODEC_HEADER, err));
    TARE_TRY(tare_reader_read(file, file->size - sizeof footer, footer, sizeof footer, err));
    p->has_footer = place_by_footer(&p->by_footer, &p->n_missing, footer, file->size) &&
                    p->by_footer.size <= limits->metadata_bytes;
    tare_status status = place_by_header(&p->by_header, header, file->size, limits, err);
    p->has_header = status == TARE_OK;
    return p->has_header || p->has_footer ? TARE_OK : status;
}

/* Reads the index at a place; `header` NULL: by the footer. */
static tare_status read_at(tare_wcodec_index *out, uint32_t *n_files_lost, const place *p,
                           const uint8_t *header, const tare_reader *file,
                           const tare_limits *limits, tare_arena *arena, tare_error *err) {
    size_t n;
    if (!tare_size_of_u64(p->n, &n))
        return tare_fail(err, TARE_ERR_LIMIT, "size of the index: larger than memory can be");
    uint8_t *bytes = tare_alloc(arena->allocator, n ? n : 1);
    if (!bytes) return tare_fail(err, TARE_ERR_NOMEM, "index");
    tare_status status = tare_reader_read(file, p->offset, bytes, n, err);
    if (status == TARE_OK)
        status = tare_wcodec_index_salvage(out, n_files_lost, header, bytes, p->offset, n, limits,
                                           arena, err);
    tare_free(arena->allocator, bytes, n ? n : 1);
    return status;
}

tare_status tare_wcodec_salvage(tare_wcodec_index *out, tare_packed_damage *damage,
                                uint64_t *directory_bytes, tare_reader *file,
                                const tare_limits *limits, tare_arena *arena, tare_error *err) {
    uint8_t header[TARE_WCODEC_HEADER];
    places p;
    tare_status status = find(&p, header, file, limits, err);
    *damage = (tare_packed_damage){.is_unchecked = true, .has_header = p.has_header};
    *directory_bytes = TARE_WCODEC_HEADER + TARE_WCODEC_FOOTER;
    if (status == TARE_OK && p.has_header) {
        status =
            read_at(out, &damage->n_files_lost, &p.by_header, header, file, limits, arena, err);
        *directory_bytes += p.by_header.n;
        damage->is_cut = p.by_header.n < p.by_header.size;
        damage->has_footer = p.has_footer && !p.n_missing &&
                             p.by_footer.offset == p.by_header.offset &&
                             p.by_footer.size == p.by_header.size;
        if (status == TARE_OK || !tare_status_is_loss(status) || !p.has_footer) return status;
    }
    if (!p.has_footer) return status;
    /* A header that contradicts the index is treated as missing. */
    *damage =
        (tare_packed_damage){.is_unchecked = true, .has_footer = true, .n_missing = p.n_missing};
    *directory_bytes += p.by_footer.n;
    if (p.n_missing) TARE_TRY(shift(file, p.n_missing, arena->allocator, err));
    return read_at(out, &damage->n_files_lost, &p.by_footer, NULL, file, limits, arena, err);
}
